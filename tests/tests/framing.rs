//! Lines survive every cut and every size up to the limit, and noise does no harm (contract section 3.2).

use std::time::Duration;

use mcpl_tests::{Carrier, Peer, Session, World, error_code, resident_bytes};

async fn muted() -> (World, Session) {
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    (world, session)
}

/// Writes `text` cut at `cuts`, each part a write of its own.
async fn in_parts(from: &Peer, to: &Peer, text: &str, cuts: &[usize]) {
    let mark = to.count();
    let line = format!("{text}\n").into_bytes();
    let mut start = 0;
    for &cut in cuts.iter().chain([&line.len()]) {
        from.send_bytes(&line[start..cut]).await;
        // Long enough for the reader to take this part alone; a cut that is missed is a weaker test, not a red one.
        tokio::time::sleep(Duration::from_micros(300)).await;
        start = cut;
    }
    let got = to.until(mark, "the line", |_| true).await.str();
    assert_eq!(got, text);
}

#[tokio::test]
async fn a_line_may_come_byte_by_byte() {
    let (_world, session) = muted().await;
    let text = r#"{"jsonrpc":"2.0","id":2,"result":{"t":"héllo — 読取 🎉"}}"#;
    let every: Vec<usize> = (1..=text.len()).collect();
    in_parts(&session.producer, &session.host, text, &every).await;
    in_parts(&session.host, &session.producer, text, &every).await;
}

#[tokio::test]
async fn a_line_may_be_cut_inside_any_character() {
    let (_world, session) = muted().await;
    let text = r#"{"jsonrpc":"2.0","id":2,"result":{"t":"é—取🎉\u00e9\\\""}}"#;
    for cut in (1..text.len()).filter(|&at| !text.is_char_boundary(at) || text.as_bytes()[at - 1] == b'\\') {
        in_parts(&session.producer, &session.host, text, &[cut]).await;
    }
}

#[tokio::test]
async fn lines_may_share_writes() {
    let (_world, session) = muted().await;
    let line = |n: usize| format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"n":{n}}}}}"#);
    let mark = session.host.count();
    let text: String = (0..60).map(|n| line(n) + "\n").collect();
    // One and a half lines a write.
    let step = (line(10).len() + 1) * 3 / 2;
    for part in text.as_bytes().chunks(step) {
        session.producer.send_bytes(part).await;
    }
    session.host.reach(mark + 60, "sixty lines").await;
    let expected: Vec<String> = (0..60).map(line).collect();
    assert_eq!(session.host.texts(mark), expected);
}

#[tokio::test]
async fn large_messages_pass_and_their_memory_is_given_back() {
    let (mut world, session) = muted().await;
    let before = resident_bytes(world.program().pid());
    for size in [65_535, 65_536, 1_048_576, 16_777_216] {
        let data = "A".repeat(size);
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":{{"content":[{{"type":"image","mimeType":"image/png","data":"{data}"}}]}}}}"#
        );
        session.passes(&[&line, r#"{"jsonrpc":"2.0","method":"small/one"}"#]).await;
    }
    let after = resident_bytes(world.program().pid());
    assert!(after < before + (24 << 20), "memory was kept: {before} bytes before, {after} after");
}

#[tokio::test]
async fn the_line_end_may_be_crlf_and_blank_lines_are_nothing() {
    let (_world, session) = muted().await;
    let text = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    for (from, to) in [(&*session.producer, &*session.host), (&*session.host, &*session.producer)] {
        let mark = to.count();
        from.send_bytes(format!("\n   \n\r\n{text}\r\n\n{text}\n").as_bytes()).await;
        to.reach(mark + 2, "two lines").await;
        // Of a line `\r` is part of its end; of a message it is white space behind the text, and between WebSockets
        // all of a message is kept. What is blank is nothing in both.
        let first = if Carrier::here() == Carrier::Lines { text.to_owned() } else { format!("{text}\r") };
        assert_eq!(to.texts(mark), [&first, text]);
    }
}

#[tokio::test]
async fn noise_is_dropped_and_the_lines_around_it_arrive() {
    let (_world, session) = muted().await;
    let noise: [&[u8]; 9] = [
        b"Server v1.2 started",
        b"42",
        b"\"hi\"",
        b"null",
        br#"{"jsonrpc":"2.0","id":2,"result":{}} trailing"#,
        br#"{"jsonrpc":"2.0","id":"#,
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"\xff\xfe\"}",
        b"{'a':1}",
        b"[1,2",
    ];
    for (from, to) in [(&*session.producer, &*session.host), (&*session.host, &*session.producer)] {
        let mark = to.count();
        // A text message that is no UTF-8 ends its connection with 1007 (RFC 6455 section 8.1): see `websocket`.
        let is_text = |junk: &[u8]| Carrier::here() == Carrier::Lines || std::str::from_utf8(junk).is_ok();
        let noise: Vec<&[u8]> = noise.iter().copied().filter(|junk| is_text(junk)).collect();
        for (nth, junk) in noise.iter().enumerate() {
            from.send(junk).await;
            from.send(format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"n":{nth}}}}}"#)).await;
        }
        to.reach(mark + noise.len(), "the lines around the noise").await;
        let expected: Vec<String> = (0..noise.len())
            .map(|n| format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"n":{n}}}}}"#))
            .collect();
        assert_eq!(to.texts(mark), expected);
    }
}

#[tokio::test]
async fn noise_that_goes_on_is_told_of_once_for_each_side() {
    let (mut world, session) = muted().await;
    for (from, to) in [(&*session.producer, &*session.host), (&*session.host, &*session.producer)] {
        let mark = to.count();
        for nth in 0..5 {
            from.send(format!("progress {nth}")).await;
        }
        from.send(r#"{"jsonrpc":"2.0","method":"after"}"#).await;
        to.reach(mark + 1, "the line after the noise").await;
    }
    drop(session);
    // Lines of the log keep their order.
    world.says("the session is over", 1).await;
    let log = world.program().stderr();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("dropped a line")).collect();
    assert_eq!(told.len(), 2, "{log}");
    assert!(told.iter().all(|line| line.contains("progress 0")), "{told:?}");
}

#[tokio::test]
async fn a_message_over_the_limit_is_answered_and_the_session_goes_on() {
    let mut world = World::new().await.table("limits", "max_message_bytes = 20000").start().await;
    let session = world.session().await;
    session.mute();
    let sized = |id: &str, size: usize| {
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"x":""#);
        let fill = "y".repeat(size - head.len() - 3);
        format!(r#"{head}{fill}"}}}}"#)
    };
    for (from, to) in [(&*session.producer, &*session.host), (&*session.host, &*session.producer)] {
        let mark = to.count();
        from.send(sized("\"fits\"", 20_000)).await;
        let answer = from.ask("0.50", &sized("0.50", 20_001)).await;
        assert_eq!(error_code(&answer), Some(-32600), "{answer}");
        from.send(r#"{"jsonrpc":"2.0","method":"after"}"#).await;
        to.reach(mark + 2, "the message that fits and the one after").await;
        assert_eq!(to.texts(mark)[0].len(), 20_000);
        assert_eq!(to.texts(mark)[1], r#"{"jsonrpc":"2.0","method":"after"}"#);
    }
}

#[tokio::test]
async fn an_over_long_response_becomes_an_error_for_its_requester() {
    let mut world = World::new().await.table("limits", "max_message_bytes = 20000").start().await;
    let session = world.session().await;
    session.mute();
    for (from, to) in [(&*session.producer, &*session.host), (&*session.host, &*session.producer)] {
        let (mark, there) = (from.count(), to.count());
        from.send(r#"{"jsonrpc":"2.0","id":4.5,"method":"tools/call"}"#).await;
        to.reach(there + 1, "the request").await;
        to.send(format!(r#"{{"jsonrpc":"2.0","id":4.5,"result":{{"x":"{}"}}}}"#, "y".repeat(30_000))).await;
        let answer = from.answer(mark, "4.5").await.json();
        assert_eq!(error_code(&answer), Some(-32600), "{answer}");
        from.send(r#"{"jsonrpc":"2.0","method":"after"}"#).await;
        to.reach(there + 2, "the line after").await;
    }
}
