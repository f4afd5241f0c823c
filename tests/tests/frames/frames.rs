//! What frames may be, and what they may not be.

use mcpl_tests::{BareFrame, BareSocket, Carrier, PATIENCE, World};
use tokio::time::timeout;

use super::{bare, hears, is_closed, world};

const MASK: [u8; 4] = [9, 8, 7, 6];

#[tokio::test]
async fn a_ping_between_fragments_is_answered_and_is_no_part_of_the_message() {
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    for (from, to) in [(&mut host, &mut producer)] {
        from.send(BareFrame::new(0x01, r#"{"jsonrpc":"2.0","#)).await;
        from.send(BareFrame::new(BareFrame::PING, "x")).await;
        from.send(BareFrame::new(0x00, "")).await;
        let pong = timeout(PATIENCE, from.heard()).await.expect("a pong in time").expect("a pong");
        assert_eq!(pong, BareFrame::new(BareFrame::PONG, "x"));
        let rest = r#""id":2,"result":{"t":"é🎉"}}"#.as_bytes();
        // Cut inside a character.
        let cut = rest.len() - 6;
        from.send(BareFrame::new(0x00, &rest[..cut])).await;
        from.send(BareFrame::new(0x80, &rest[cut..])).await;
        assert_eq!(hears(to).await, r#"{"jsonrpc":"2.0","id":2,"result":{"t":"é🎉"}}"#);
    }
}

/// Between two sockets a message is what it was; towards lines its line breaks are spaces.
#[tokio::test]
async fn a_pretty_printed_message_is_one_message() {
    let pretty =
        "{\n  \"jsonrpc\": \"2.0\",\r\n  \"method\": \"n\",\n  \"params\": {\"t\": \"a\\nb\\u000a\"}\n}\n";
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    for (from, to) in [(&mut host, &mut producer)] {
        from.say(pretty).await;
        let got = hears(to).await;
        assert_eq!(got.trim_end(), pretty.trim_end());
    }
    for (from, to) in [(&mut producer, &mut host)] {
        from.say(pretty).await;
        assert_eq!(hears(to).await.trim_end(), pretty.trim_end());
    }
}

/// Two texts in one message are none, as two on a line; so are a scalar, nothing, and a binary message.
#[tokio::test]
async fn what_is_no_message_is_dropped_and_the_session_goes_on() {
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    let text = r#"{"jsonrpc":"2.0","method":"n"}"#;
    for (from, to) in [(&mut host, &mut producer)] {
        for junk in ["", " ", "\n", "42", "hello", &format!("{text}\n{text}"), &format!("{text}{text}")] {
            from.say(junk).await;
        }
        from.send(BareFrame::new(0x82, text)).await;
        from.send(BareFrame::new(BareFrame::PONG, "unasked")).await;
        from.say(r#"{"jsonrpc":"2.0","method":"after"}"#).await;
        assert_eq!(hears(to).await, r#"{"jsonrpc":"2.0","method":"after"}"#);
    }
}

/// What breaks the rules ends the connection with a code that says so; the other side is told that it is lost.
#[tokio::test]
async fn whoever_breaks_the_rules_is_told_which_and_is_gone() {
    let text = r#"{"jsonrpc":"2.0","method":"n"}"#;
    let masked = |head: u8, payload: &[u8]| BareFrame::new(head, payload).bytes(Some(MASK));
    let cases: [(&str, Vec<u8>, u16); 12] = [
        ("not masked", BareFrame::new(BareFrame::TEXT, text).bytes(None), 1002),
        ("a reserved bit", masked(0xc1, text.as_bytes()), 1002),
        ("an unknown opcode", masked(0x83, b""), 1002),
        ("an unknown control frame", masked(0x8b, b""), 1002),
        ("a ping in fragments", masked(0x09, b"p"), 1002),
        ("a long ping", masked(0x89, &[b'p'; 126]), 1002),
        ("a continuation of nothing", masked(0x80, b""), 1002),
        ("a message in a message", [masked(0x01, b"{"), masked(0x81, b"}")].concat(), 1002),
        ("no UTF-8", masked(0x81, b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"), 1007),
        ("half a character at the end", masked(0x81, "é".as_bytes().split_last().expect("two").1), 1007),
        ("no UTF-8 in fragments", [masked(0x01, b"\xe2"), masked(0x80, b"\x28\xa1")].concat(), 1007),
        ("a length of 2^63", [&[0x81, 0xff, 0x80][..], &[0; 7], &MASK].concat(), 1002),
    ];
    for (case, bytes, code) in cases {
        let mut world = world().await;
        let (mut host, mut producer) = bare(&mut world).await;
        // What came before it counts.
        host.say(r#"{"jsonrpc":"2.0","method":"before"}"#).await;
        host.send_bytes(&bytes).await;
        let (told, reason) = is_closed(&mut host).await;
        assert_eq!(told, code, "{case}: {reason}");
        assert!(!reason.is_empty(), "{case}: no reason is said");
        assert!(hears(&mut producer).await.contains("before"), "{case}");
        assert_eq!(is_closed(&mut producer).await.0, 1011, "{case}");
        bare(&mut world).await;
    }
}

/// A server's frame that is masked is as bad as a client's that is not.
#[tokio::test]
async fn a_producer_that_masks_is_told() {
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    producer.send_bytes(&BareFrame::new(BareFrame::TEXT, "{}").bytes(Some(MASK))).await;
    assert_eq!(is_closed(&mut producer).await.0, 1002);
    assert_eq!(is_closed(&mut host).await.0, 1011);
}

/// A message that says it is larger than any limit costs nothing but its bytes.
#[tokio::test]
async fn a_message_over_the_limit_is_answered_while_it_still_comes() {
    let world = World::new().await.over(Carrier::WebSocket).table("limits", "max_message_bytes = 20000");
    let mut world = world.start().await;
    let (mut host, mut producer) = bare(&mut world).await;
    for (from, to) in [(&mut host, &mut producer)] {
        over_long(from, to).await;
    }
    for (from, to) in [(&mut producer, &mut host)] {
        over_long(from, to).await;
    }
}

async fn over_long(from: &mut BareSocket, to: &mut BareSocket) {
    // A request, in fragments; its end is a terabyte away in the head of a frame that is cut short by no one.
    let head = r#"{"jsonrpc":"2.0","id":"long","method":"m","params":{"x":""#;
    from.send(BareFrame::new(0x01, head)).await;
    for _ in 0..10 {
        from.send(BareFrame::new(0x00, vec![b'y'; 3000])).await;
        from.send(BareFrame::new(BareFrame::PING, "")).await;
    }
    from.send(BareFrame::new(0x80, r#""}}"#)).await;
    let answer = loop {
        let frame = timeout(PATIENCE, from.heard()).await.expect("an answer in time").expect("an answer");
        if frame.head == BareFrame::TEXT {
            break String::from_utf8(frame.payload).expect("text");
        }
    };
    assert!(answer.contains(r#""id":"long""#) && answer.contains("-32600"), "{answer}");
    // A response, in one frame: its requester gets the error.
    to.say(r#"{"jsonrpc":"2.0","id":4.5,"method":"tools/call"}"#).await;
    assert!(hears(from).await.contains("4.5"));
    from.say(&format!(r#"{{"jsonrpc":"2.0","id":4.5,"result":{{"x":"{}"}}}}"#, "y".repeat(70_000))).await;
    let answer = hears(to).await;
    assert!(answer.contains(r#""id":4.5"#) && answer.contains("-32600"), "{answer}");
    from.say(r#"{"jsonrpc":"2.0","method":"after"}"#).await;
    assert_eq!(hears(to).await, r#"{"jsonrpc":"2.0","method":"after"}"#);
}

/// Of pings faster than they can be answered the newest is.
#[tokio::test]
async fn a_flood_of_pings_is_survived_and_the_last_is_answered() {
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    let flood: Vec<u8> = (0..20_000)
        .flat_map(|n: u32| BareFrame::new(BareFrame::PING, n.to_string()).bytes(Some(MASK)))
        .collect();
    host.send_bytes(&flood).await;
    host.say(r#"{"jsonrpc":"2.0","method":"after"}"#).await;
    assert!(hears(&mut producer).await.contains("after"));
    loop {
        let pong = timeout(PATIENCE, host.heard()).await.expect("a pong in time").expect("a pong");
        assert_eq!(pong.head, BareFrame::PONG);
        if pong.payload == b"19999" {
            break;
        }
    }
}
