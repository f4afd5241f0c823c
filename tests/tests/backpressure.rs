//! A side that does not read stops the other from being read, and memory stays (contract section 3.6).

#![allow(clippy::format_push_string)] // A write of many lines is built by appending them.

use std::time::Duration;

use mcpl_tests::{Carrier, Session, World, push, resident_bytes};
use serde_json::Value;
use tokio::io::AsyncWriteExt;

const STALLED: Duration = Duration::from_secs(2);
const FILL: usize = 500;

fn line(n: usize, lane: &str) -> String {
    let fill = "x".repeat(FILL);
    match lane {
        "notification" => format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"n":{n},"x":"{fill}"}}}}"#),
        _ => format!(
            r#"{{"jsonrpc":"2.0","id":{n},"method":"push/event","params":{{"featureSet":"doc","eventId":"e{n}","payload":{{"content":[{{"type":"text","text":"{fill}"}}]}}}}}}"#
        ),
    }
}

/// Floods one side while the other does not read; then lets it read and checks that nothing was lost.
async fn flood(lane: &'static str, to_host: bool) {
    const COUNT: usize = 200_000;
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    let (from, to) = ends(&session, to_host);
    let before = resident_bytes(world.program().pid());
    let mark = to.count();
    to.pause();
    // One line gets through so that the read under way at the pause is over.
    from.send(line(0, lane)).await;
    let mut sent = 1;
    let mut rest = Vec::new();
    while sent < COUNT {
        let part: String = (sent..sent + 1000).map(|n| line(n, lane) + "\n").collect();
        sent += 1000;
        rest = part.into_bytes();
        if !from.offer_bytes(&rest, STALLED).await {
            break;
        }
    }
    assert!(sent < COUNT, "everything was taken from a side whose peer does not read");
    let stalled = resident_bytes(world.program().pid());
    assert!(stalled < before + (48 << 20), "memory grew from {before} to {stalled} bytes");

    // The other direction still moves.
    to.send(r#"{"jsonrpc":"2.0","method":"still/here"}"#).await;
    from.until(0, "a line of the other direction", |said| said.method().as_deref() == Some("still/here"))
        .await;

    to.resume();
    // How much of the last part was taken is not known, so only whole parts before it are counted.
    let sure = sent - 1000;
    to.reach(mark + sure, "what was taken").await;
    for (n, said) in to.since(mark).iter().take(sure).enumerate() {
        assert!(said.text == line(n, lane).as_bytes(), "line {n} was lost or changed");
    }
    drop(rest);
}

fn ends(session: &Session, to_host: bool) -> (&mcpl_tests::Peer, &mcpl_tests::Peer) {
    if to_host { (&session.producer, &session.host) } else { (&session.host, &session.producer) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_does_not_read_stops_the_producers_notifications() {
    flood("notification", true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_does_not_read_stops_the_producers_plain_events() {
    flood("event", true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_that_does_not_read_stops_the_host() {
    flood("notification", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_of_one_subject_cost_no_memory_and_the_last_arrives() {
    // What is remembered of each does not depend on what carried it: over WebSocket a few will do.
    let count = if Carrier::here() == Carrier::Lines { 200_000 } else { 10_000 };
    let mut world = World::started().await;
    let session = world.session().await;
    session.push(push("warm", "warm").key("k")).await;
    let before = resident_bytes(world.program().pid());
    session.host.pause();
    let mark = session.producer.count();
    let fill = "x".repeat(200);
    for part in 0..count / 1000 {
        let mut text = String::new();
        for n in part * 1000..(part + 1) * 1000 {
            let params = push(&format!("e{n}"), &format!("{n} {fill}")).key("k").params();
            text += &format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"push/event\",\"params\":{params}}}\n"
            );
        }
        session.producer.send_bytes(text.as_bytes()).await;
        // Each thousand is answered before the next is sent, as a producer with a bound of its own does.
        session.producer.reach(mark + (part + 1) * 1000, "an answer to each event").await;
    }
    let after = resident_bytes(world.program().pid());
    assert!(after < before + (160 << 20), "memory grew from {before} to {after} bytes");
    session.host.resume();
    session.assemble().await;
    let given = session.host.given();
    assert_eq!(given.last(), Some(&format!("{} {fill}", count - 1)));
    assert!(given.len() <= 2, "{} versions of one unread subject were given", given.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_is_unavailable_and_what_was_accepted_arrives() {
    const COUNT: usize = 20_000;
    let mut world = World::new()
        .await
        .table("coalesce", "quiet_ms = 60000\nmax_hold_ms = 600000\nmax_held_bytes = 1000000")
        .start()
        .await;
    let session = world.session().await;
    let before = resident_bytes(world.program().pid());
    session.host.pause();
    let mark = session.producer.count();
    let fill = "x".repeat(300);
    let mut text = String::new();
    for n in 0..COUNT {
        let params = push(&format!("e{n}"), &format!("{n} {fill}")).key(&format!("k{n}")).params();
        text +=
            &format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"push/event\",\"params\":{params}}}\n");
    }
    session.producer.send_bytes(text.as_bytes()).await;
    session.producer.reach(mark + COUNT, "an answer to each event").await;
    let after = resident_bytes(world.program().pid());
    assert!(after < before + (96 << 20), "memory grew from {before} to {after} bytes");

    let answers: Vec<Value> = session.producer.since(mark).iter().map(|said| said.json()).collect();
    let (accepted, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|it| it["result"]["accepted"] == true);
    assert!(accepted.len() > 1000, "only {} accepted", accepted.len());
    assert!(!refused.is_empty(), "one megabyte held all of it");
    for answer in refused {
        assert_eq!(answer["result"]["refusal"], "unavailable", "{answer}");
    }
    session.host.resume();
    session.assemble().await;
    for answer in &accepted {
        let n = answer["id"].as_u64().expect("a number");
        session.host.is_given(&format!("{n} {fill}")).await;
        if n > 40 {
            break;
        }
    }
    let last = accepted.iter().filter_map(|it| it["id"].as_u64()).max().expect("some");
    session.host.is_given(&format!("{last} {fill}")).await;
}

#[tokio::test]
async fn a_host_that_never_reads_is_ended_by_its_producers_end() {
    let mut world = World::started().await;
    let mut session = world.session().await;
    session.mute();
    session.host.pause();
    let text: String = (0..4000).map(|n| line(n, "notification") + "\n").collect();
    session.producer.offer_bytes(text.as_bytes(), STALLED).await;
    session.producer.close().await;
    // The next session is not held up by the one whose host is stuck.
    let next = world.session().await;
    next.push(push("a", "A").key("k").initial()).await;
    next.assemble().await;
    next.host.is_given("A").await;
}

#[tokio::test]
async fn probes_that_flood_before_a_first_message_cost_nothing() {
    let mut world = World::started().await;
    let session = world.session().await;
    let before = resident_bytes(world.program().pid());
    let mut probe = world.wire().await;
    let junk = vec![b'x'; 1 << 20];
    for _ in 0..100 {
        if tokio::time::timeout(STALLED, probe.write_all(&junk)).await.is_err() {
            break;
        }
    }
    let after = resident_bytes(world.program().pid());
    assert!(after < before + (80 << 20), "memory grew from {before} to {after} bytes");
    session.sync().await;
}
