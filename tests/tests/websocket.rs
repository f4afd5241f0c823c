//! WebSocket on both sides (contract 3.1, 3.2, 12): frames, closes, and who is let in.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

use std::fmt::Write as _;

use mcpl_tests::{Answer, World, WsPeer};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A world with a WebSocket on both sides.
async fn both() -> World {
    World::new().await.listen("ws", "/host").connect("ws", "/producer?world=a%20b")
}

async fn dial(world: &mut World, headers: &[&str]) -> Result<WsPeer, Answer> {
    WsPeer::dial(world.dial().await, "/host", headers).await
}

/// A host and a producer that have heard of each other.
async fn pair(world: &mut World) -> (WsPeer, WsPeer) {
    let mut host = dial(world, &[]).await.unwrap();
    host.send(r#"{"jsonrpc":"2.0","id":0,"method":"first"}"#).await;
    let mut producer = WsPeer::accept(world.reached_bare().await, &[]).await;
    assert_eq!(producer.text().await, r#"{"jsonrpc":"2.0","id":0,"method":"first"}"#);
    (host, producer)
}

/// A host on a WebSocket and a producer on a line transport.
async fn host_and_lines(world: &mut World) -> (WsPeer, BufReader<TcpStream>) {
    let mut host = dial(world, &[]).await.unwrap();
    host.send(r#"{"jsonrpc":"2.0","id":0,"method":"first"}"#).await;
    let mut producer = BufReader::new(world.reached_bare().await);
    assert_eq!(line(&mut producer).await, r#"{"jsonrpc":"2.0","id":0,"method":"first"}"#);
    (host, producer)
}

async fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    let read = tokio::time::timeout(mcpl_tests::PATIENCE, stream.read_line(&mut line)).await;
    assert!(read.expect("no line came in time").unwrap() > 0, "the connection ended");
    line.pop();
    line
}

#[tokio::test]
async fn between_two_websockets_every_byte_is_kept() {
    let mut world = both().await.start().await;
    let (mut host, mut producer) = pair(&mut world).await;
    assert!(
        producer.hello.head.starts_with("GET /producer?world=a%20b HTTP/1.1\r\n"),
        "{}",
        producer.hello.head
    );
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"h\u00e9llo — 読取 🎉","n":1e400}}"#.to_owned(),
        "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 2,\n  \"method\": \"x\"\n}\n".to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":3,"method":"x","params":"{}"}}"#, "A".repeat(125)),
        format!(r#"{{"jsonrpc":"2.0","id":4,"method":"x","params":"{}"}}"#, "B".repeat(70_000)),
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"x","params":"{}"}}"#, "C".repeat(9 << 20)),
    ] {
        host.send(&text).await;
        assert!(producer.text().await == text, "towards the producer: {text:.80}");
        producer.send(&text).await;
        assert!(host.text().await == text, "towards the host: {text:.80}");
    }
}

#[tokio::test]
async fn towards_lines_a_message_is_one_line_and_its_strings_are_untouched() {
    let mut world = World::new().await.listen("ws", "/host").start().await;
    let (mut host, mut producer) = host_and_lines(&mut world).await;
    host.send("{\n  \"jsonrpc\": \"2.0\",\r\n\"id\":1,\"method\":\"a\\nb\"}\n").await;
    assert_eq!(line(&mut producer).await, r#"{   "jsonrpc": "2.0",  "id":1,"method":"a\nb"} "#);
    producer.get_mut().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n").await.unwrap();
    assert_eq!(host.text().await, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

#[tokio::test]
async fn fragments_are_joined_and_a_ping_between_them_is_answered_and_no_part_of_them() {
    let mut world = World::new().await.listen("ws", "/host").start().await;
    let (mut host, mut producer) = host_and_lines(&mut world).await;
    host.send_frame(0x01, br#"{"jsonrpc":"2.0","#).await;
    host.send_frame(0x89, b"x").await;
    let pong = host.frame().await.unwrap();
    assert_eq!((pong.first, &pong.payload[..]), (0x8a, &b"x"[..]));
    host.send_frame(0x00, b"").await;
    host.send_frame(0x80, br#""id":2,"result":{}}"#).await;
    assert_eq!(line(&mut producer).await, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    // Split everywhere, in the middle of characters too.
    let text = r#"{"jsonrpc":"2.0","id":3,"result":"é€🎉"}"#;
    let bytes = text.as_bytes();
    for cut in 1..bytes.len() {
        host.send_frame(0x01, &bytes[..cut]).await;
        host.send_frame(0x80, &bytes[cut..]).await;
        assert_eq!(line(&mut producer).await, text, "{cut}");
    }
    // An empty last frame ends the message at once.
    host.send_frame(0x01, bytes).await;
    host.send_frame(0x80, b"").await;
    assert_eq!(line(&mut producer).await, text);
}

#[tokio::test]
async fn what_is_no_json_text_is_dropped_and_the_session_goes_on() {
    let mut world = both().await.start().await;
    let (mut host, mut producer) = pair(&mut world).await;
    let binary = r#"{"jsonrpc":"2.0","id":1,"method":"binary"}"#;
    host.send_frame(0x82, binary.as_bytes()).await;
    host.send("").await;
    host.send(" \r\n").await;
    // Two texts in one message are none.
    host.send(format!("{binary}\n{binary}")).await;
    host.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\nb\"}").await;
    host.send(r#"{"jsonrpc":"2.0","id":2,"method":"after"}"#).await;
    assert_eq!(producer.text().await, r#"{"jsonrpc":"2.0","id":2,"method":"after"}"#);
}

#[tokio::test]
async fn a_message_over_the_limit_is_answered_and_the_session_goes_on() {
    let mut world = both().await.table("limits", "max_message_bytes = 200000").start().await;
    let (mut host, mut producer) = pair(&mut world).await;
    let long = |id: u32| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"long","params":"{}"}}"#, "x".repeat(300_000))
    };
    for (id, pieces) in [(1, 1), (2, 3), (3, 1000)] {
        let text = long(id);
        let size = text.len().div_ceil(pieces);
        for (at, piece) in text.as_bytes().chunks(size).enumerate() {
            let last = (at + 1) * size >= text.len();
            let first = if last { 0x80 } else { 0 } | u8::from(at == 0);
            host.send_frame(first, piece).await;
        }
        let answer = host.text().await;
        assert!(answer.contains(&format!("\"id\":{id},")) && answer.contains("-32600"), "{answer}");
        let after = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"after"}}"#);
        host.send(&after).await;
        assert_eq!(producer.text().await, after);
    }
}

#[tokio::test]
async fn a_peer_that_breaks_the_rules_is_told_which_and_the_other_side_that_it_is_lost() {
    let unmasked = [&[0x81, 2][..], b"{}"].concat();
    let long_control = [&[0x89, 0xfe, 0, 126, 0, 0, 0, 0][..], &[b'x'; 126]].concat();
    let masked = |first: u8, payload: &[u8]| {
        let mut frame = vec![first, 0x80 | u8::try_from(payload.len()).unwrap(), 0, 0, 0, 0];
        frame.extend(payload);
        frame
    };
    for (what, bytes, code) in [
        ("not masked", unmasked, 1002),
        ("a reserved bit", masked(0xc1, b"{}"), 1002),
        ("an opcode", masked(0x83, b"{}"), 1002),
        ("a control opcode", masked(0x8b, b""), 1002),
        ("a ping in fragments", masked(0x09, b""), 1002),
        ("a long ping", long_control, 1002),
        ("a continuation of nothing", masked(0x80, b"{}"), 1002),
        ("a message in a message", [masked(0x01, b"{"), masked(0x81, b"{}")].concat(), 1002),
        ("half a close code", masked(0x88, b"x"), 1002),
        ("a close code that may not be sent", masked(0x88, &999_u16.to_be_bytes()), 1002),
        ("a close code that is reserved", masked(0x88, &1006_u16.to_be_bytes()), 1002),
        ("a reason that is no text", masked(0x88, b"\x03\xe8\xff"), 1007),
        ("a message that is no text", masked(0x81, b"[\"\xff\"]"), 1007),
        ("half a character at the end", masked(0x81, b"[\"\xe2\x82"), 1007),
    ] {
        let mut world = both().await.start().await;
        let (mut host, mut producer) = pair(&mut world).await;
        // What came before it counts.
        let before = r#"{"jsonrpc":"2.0","id":1,"method":"before"}"#;
        let whole = [host.frame_of(0x81, before.as_bytes()), bytes].concat();
        host.send_bytes(&whole).await;
        assert_eq!(producer.text().await, before, "{what}");
        let (told, reason) = host.closed().await;
        assert_eq!(told, code, "{what}: {reason}");
        assert!(!reason.is_empty());
        assert_eq!(producer.closed().await.0, 1011, "{what}");
    }
}

#[tokio::test]
async fn a_close_is_answered_and_mirrored_to_the_other_side() {
    let long = "é".repeat(61);
    for (code, reason) in
        [(1000, ""), (1012, "restart"), (4404, "gone"), (3000, "a"), (1001, &*long), (1013, "later")]
    {
        for by_host in [true, false] {
            let mut world = both().await.start().await;
            let (host, producer) = pair(&mut world).await;
            let (mut one, mut other) = if by_host { (host, producer) } else { (producer, host) };
            one.send_close(code, reason).await;
            assert_eq!(other.closed().await, (code, reason.to_owned()));
            other.send_close(code, reason).await;
            assert_eq!(one.closed().await.0, code);
            assert_eq!(one.frame().await, None, "the connection is closed");
        }
    }
}

#[tokio::test]
async fn a_close_without_a_code_is_a_normal_one_and_a_lost_peer_an_error() {
    let mut world = both().await.start().await;
    let (mut host, mut producer) = pair(&mut world).await;
    producer.send_frame(0x88, b"").await;
    assert_eq!(host.closed().await, (1000, String::new()));
    assert_eq!(producer.closed().await.0, 1000);
    let (mut host, producer) = pair(&mut world).await;
    drop(producer);
    assert_eq!(host.closed().await.0, 1011);
}

#[tokio::test]
async fn both_sides_may_close_at_once() {
    let mut world = both().await.start().await;
    let (mut host, mut producer) = pair(&mut world).await;
    tokio::join!(host.send_close(4001, "h"), producer.send_close(4002, "p"));
    let (by_host, by_producer) = tokio::join!(host.closed(), producer.closed());
    // Each hears its own word again, or the other's, if that was read first.
    assert!(
        [by_host.0, by_producer.0].iter().all(|code| [4001, 4002].contains(code)),
        "{by_host:?} {by_producer:?}"
    );
    assert_eq!((host.frame().await, producer.frame().await), (None, None), "both connections are closed");
}

#[tokio::test]
async fn the_end_of_a_line_transport_is_a_normal_close() {
    let mut world = World::new().await.listen("ws", "/host").start().await;
    let (mut host, producer) = host_and_lines(&mut world).await;
    let mut producer = producer.into_inner();
    producer.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n").await.unwrap();
    producer.shutdown().await.unwrap();
    assert_eq!(host.text().await, r#"{"jsonrpc":"2.0","id":0,"result":{}}"#);
    assert_eq!(host.closed().await, (1000, String::new()));
    let mut rest = Vec::new();
    host.send_close(1000, "").await;
    producer.read_to_end(&mut rest).await.unwrap();
}

#[tokio::test]
async fn a_host_that_closes_is_given_the_answers_it_is_owed_first() {
    let mut world = both().await.start().await;
    let (mut host, mut producer) = pair(&mut world).await;
    host.send_close(1000, "").await;
    assert_eq!(producer.closed().await.0, 1000);
    producer.send(r#"{"jsonrpc":"2.0","id":0,"result":"late"}"#).await;
    producer.send_close(1000, "").await;
    assert_eq!(host.text().await, r#"{"jsonrpc":"2.0","id":0,"result":"late"}"#);
    assert_eq!(host.closed().await.0, 1000);
}

#[tokio::test]
async fn a_newer_host_takes_over_and_the_older_is_told() {
    let mut world = both().await.start().await;
    let (mut older, mut producer) = pair(&mut world).await;
    let (_newer, _) = pair(&mut world).await;
    let (code, reason) = older.closed().await;
    assert_eq!(code, 1000);
    assert!(reason.contains("another connection"), "{reason}");
    assert_eq!(producer.closed().await.0, 1000);
}

#[tokio::test]
async fn a_producer_that_is_not_reached_is_told_in_an_error_and_in_the_close() {
    let mut world = World::unreachable()
        .listen("ws", "/host")
        .connect("ws", "/?token=hush")
        .keys("connect_timeout_ms = 300")
        .start()
        .await;
    let mut host = dial(&mut world, &[]).await.unwrap();
    host.send(r#"{"jsonrpc":"2.0","id":7,"method":"first"}"#).await;
    let answer = host.text().await;
    assert!(answer.contains("\"id\":7") && answer.contains("connection refused"), "{answer}");
    assert!(!answer.contains("hush"), "{answer}");
    let (code, reason) = host.closed().await;
    assert_eq!(code, 1013);
    assert!(reason.contains("was not reached"), "{reason}");
}

/// What a listener answers to a request for a WebSocket at a path, with these headers.
async fn refused(world: &mut World, target: &str, headers: &[&str]) -> (u16, String) {
    match WsPeer::dial(world.dial().await, target, headers).await {
        Ok(_) => (101, String::new()),
        Err(answer) => {
            let body: serde_json::Value = serde_json::from_str(&answer.body).expect("a JSON body");
            assert!(body["error"].is_string() && body["hint"].is_string(), "{body}");
            (answer.status, answer.head)
        }
    }
}

#[tokio::test]
async fn only_the_path_and_the_query_that_are_configured_are_taken() {
    let mut world = World::new().await.listen("ws", "/host?room=1").start().await;
    for (target, status) in [
        ("/host?room=1", 101),
        ("/host?room=1&token=x", 101),
        ("/host", 404),
        ("/host?room=2", 404),
        ("/", 404),
        ("/host/", 404),
        ("/HOST?room=1", 404),
    ] {
        assert_eq!(refused(&mut world, target, &[]).await.0, status, "{target}");
    }
}

#[tokio::test]
async fn a_token_is_asked_for_in_any_form_and_told_nowhere() {
    let auth = "token_file = \"token\"";
    let world = World::new().await.listen("ws", "/host").table("listen_auth", auth);
    std::fs::write(world.folder().join("token"), "hush-hush\n").unwrap();
    let mut world = world.start().await;
    let right = "Sec-WebSocket-Protocol: mcpl, mcpl.bearer.aHVzaC1odXNo";
    for (target, headers, status) in [
        ("/host", &["Authorization: Bearer hush-hush"][..], 101),
        ("/host", &[right], 101),
        ("/host?token=hush%2Dhush", &[], 101),
        ("/host", &[], 401),
        ("/host", &["Authorization: Bearer hush-hus"], 401),
        ("/host?token=other", &["Authorization: Bearer hush-hush"], 401),
        ("/host", &["Sec-WebSocket-Protocol: mcpl, mcpl.bearer.aHVzaC1odXN"], 401),
    ] {
        let (given, head) = refused(&mut world, target, headers).await;
        assert_eq!(given, status, "{target} {headers:?}: {head}");
    }
    let peer = WsPeer::dial(world.dial().await, "/host", &[right]).await.unwrap();
    assert_eq!(peer.hello.header("sec-websocket-protocol"), Some("mcpl"));
    assert!(!world.program().stderr().contains("hush"));
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused() {
    let auth = "origins = [\"https://app.example\"]";
    let mut world = World::new().await.listen("ws", "/host").table("listen_auth", auth).start().await;
    for (headers, status) in [
        (&[][..], 101),
        (&["Origin: https://app.example"], 101),
        (&["Origin: https://evil.example"], 403),
        (&["Origin: null"], 403),
        (&["Origin: https://app.example", "Origin: https://app.example"], 403),
    ] {
        assert_eq!(refused(&mut world, "/host", headers).await.0, status, "{headers:?}");
    }
    let mut world = World::new().await.listen("ws", "/host").start().await;
    assert_eq!(refused(&mut world, "/host", &["Origin: http://127.0.0.1"]).await.0, 403, "none is listed");
}

#[tokio::test]
async fn what_asks_for_no_websocket_is_told_what_this_is() {
    let mut world = World::new().await.listen("ws", "/host").start().await;
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n";
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let version = "Sec-WebSocket-Version: 13\r\n";
    for (request, headers, status) in [
        ("GET /host HTTP/1.1", String::new(), 426),
        ("GET /host HTTP/1.1", format!("{upgrade}{key}Sec-WebSocket-Version: 8\r\n"), 426),
        ("GET /host HTTP/1.1", format!("{upgrade}{version}"), 400),
        ("GET /host HTTP/1.1", format!("{upgrade}{version}Sec-WebSocket-Key: x\r\n"), 400),
        ("POST /host HTTP/1.1", format!("{upgrade}{version}{key}"), 400),
        ("GET /host HTTP/1.1", format!("{upgrade}{version}{key}X: {}\r\n", "x".repeat(40_000)), 431),
    ] {
        let mut text = String::new();
        write!(text, "{request}\r\nHost: x\r\n{headers}\r\n").unwrap();
        let answer = WsPeer::ask(&mut world.dial().await, &text).await;
        assert_eq!(answer.status, status, "{request} {headers:.200}: {answer:?}");
        if status == 426 {
            assert_eq!(answer.header("sec-websocket-version"), Some("13"));
        }
    }
}

#[tokio::test]
async fn several_producers_share_a_port_by_path() {
    let mut world = World::new().await.listen("ws", "/one").connect("ws", "/one").start().await;
    let one = world.producer_named("main");
    let two = one.replace("\"main\"", "\"two\"").replace("/one", "/two");
    world.reload(&[one.clone(), two.clone()]).await;
    for path in ["/one", "/two"] {
        let mut host = WsPeer::dial(world.dial().await, path, &[]).await.unwrap();
        host.send(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#).await;
        let producer = WsPeer::accept(world.reached_bare().await, &[]).await;
        assert!(producer.hello.head.starts_with(&format!("GET {path} ")), "{}", producer.hello.head);
    }
    world.reload(&[two]).await;
    assert_eq!(refused(&mut world, "/one", &[]).await.0, 404);
    assert_eq!(refused(&mut world, "/two", &[]).await.0, 101);
}
