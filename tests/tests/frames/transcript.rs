//! However the frames are cut, both sides read what they would have read on lines.

use mcpl_tests::{
    BareSocket, Carrier, Chance, Host, Message, PATIENCE, Push, Session, World, frayed, message, push,
};
use regex::Regex;
use serde_json::json;
use tokio::time::{Duration, Instant, sleep};

const SEEDS: u64 = 50;

/// One line of one side, of a kind of chance.
fn line(chance: &mut Chance, side: &str, n: u64) -> String {
    let text: String = (0..chance.below(60))
        .map(|_| ["x", "é", "—", "🎉", "\\n", "\\ud83d", " "][chance.below(7) as usize])
        .collect();
    let id = match chance.below(4) {
        0 => format!("{n}"),
        1 => format!("\"{side}-{n}\""),
        2 => format!("{n}.50"),
        _ => format!("\"\\u0061{n}\""),
    };
    match chance.below(10) {
        0..=3 => format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"n":{n},"t":"{text}"}}}}"#),
        4 | 5 => format!(r#"{{"id":{id},"jsonrpc":"2.0" ,"method":"tools/call","params":["{text}",1.0e5]}}"#),
        6 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"t":"{text}"}}}}"#),
        7 => format!(r#"[{{"jsonrpc":"2.0","method":"n"}},{{"jsonrpc":"2.0","id":{id},"method":"b"}}]"#),
        8 => format!("noise {text}"),
        _ => {
            let fill = "y".repeat(chance.below(90_000) as usize);
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"large","params":{{"x":"{fill}"}}}}"#)
        }
    }
}

/// An event of the producer's: each under a few keys, so that they fold.
fn event(chance: &mut Chance, n: u64, run: u64) -> String {
    let (name, key) = (format!("e{run}-{n}"), format!("k{}", chance.below(4)));
    let text = format!("{n} — 🎉");
    let (method, params) = if chance.percent(60) {
        let event: Push = push(&name, &text).key(&key);
        let event = if chance.percent(30) { event.retract() } else { event };
        ("push/event", event.params())
    } else {
        let event: Message = message(&format!("m{}", chance.below(5)), &text).key(&key, &name);
        ("channels/incoming", json!({"messages": [event.value()]}))
    };
    format!(r#"{{"jsonrpc":"2.0","id":"{name}","method":"{method}","params":{params}}}"#)
}

/// What each side read of the same conversation.
async fn transcript(world: &mut World, seed: u64) -> (Vec<String>, Vec<String>) {
    let is_frayed = world.carrier() == Carrier::WebSocket;
    let mut chance = Chance::new(seed);
    let (for_host, for_producer) = (Chance::new(seed + 1000), Chance::new(seed + 2000));
    let host = if is_frayed {
        Host::on(frayed(BareSocket::knock(world.dial().await, "/host").await, for_host))
    } else {
        world.host().await
    };
    world.fray(is_frayed.then_some(for_producer));
    let session = Session::open(host, world).await;
    let marks = (session.host.count(), session.producer.count());
    session.host.script.mute(true);
    session.producer.script.mute(true);
    // One direction after the other: how the two meet is nobody's promise.
    for (from, to, side) in
        [(&*session.host, &*session.producer, "h"), (&*session.producer, &*session.host, "p")]
    {
        for n in 0..12 {
            from.send(line(&mut chance, side, n)).await;
        }
        from.send(r#"{"jsonrpc":"2.0","method":"that/is/all"}"#).await;
        to.until(0, "the last line", |said| said.str().contains("that/is/all")).await;
    }
    session.host.script.mute(false);
    session.producer.script.mute(false);
    for n in 0..12 {
        let (mark, text) = (session.producer.count(), event(&mut chance, n, seed));
        session.producer.send(&text).await;
        session.producer.answer(mark, &format!("\"e{seed}-{n}\"")).await;
    }
    session.assemble().await;
    // All of it has been given when the journal holds nothing of it any more.
    let end = Instant::now() + PATIENCE;
    while !world.listed(&[]).await.is_empty() {
        assert!(Instant::now() < end, "something is not given");
        sleep(Duration::from_millis(5)).await;
    }
    session.sync().await;
    (session.host.texts(marks.0), session.producer.texts(marks.1))
}

/// Our ids and the fakes' are new in each session.
fn common(lines: &[String]) -> Vec<String> {
    let ids = Regex::new(r#""mcpl-sidecar/[^/"]*/|"t-\d+""#).expect("a pattern");
    lines.iter().map(|line| ids.replace_all(line, "<id>").into_owned()).collect()
}

/// What the program says by itself comes last.
fn apart(lines: Vec<String>) -> Vec<String> {
    let (ours, passed): (Vec<String>, Vec<String>) = lines
        .into_iter()
        .partition(|line| line.starts_with(r#"{"jsonrpc":"2.0","id":<id>"#) && line.contains("eventId"));
    [passed, ours].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_ways_of_cutting_frames_are_read_as_lines() {
    // Held work of one conversation is no part of the next: each has keys that were told.
    let limits = "max_message_bytes = 60000";
    let mut lines = World::new().await.over(Carrier::Lines).table("limits", limits).start().await;
    let mut messages = World::new().await.over(Carrier::WebSocket).table("limits", limits).start().await;
    for seed in 0..SEEDS {
        let expected = transcript(&mut lines, seed).await;
        let got = transcript(&mut messages, seed).await;
        for (side, expected, got) in [("host", &expected.0, &got.0), ("producer", &expected.1, &got.1)] {
            // When a forward leaves is a matter of when the disk was done: each kind has an order of its own.
            let (expected, got) = (apart(common(expected)), apart(common(got)));
            let differ = expected.iter().zip(&got).position(|(one, other)| one != other);
            let at = differ.unwrap_or(expected.len().min(got.len()));
            let brief =
                |lines: &[String]| lines.get(at).map(|line| line.chars().take(300).collect::<String>());
            assert!(
                expected == got,
                "seed {seed}: the {side} read something else at line {at}\non lines: {:?}\nin frames: {:?}",
                brief(&expected),
                brief(&got)
            );
        }
    }
}
