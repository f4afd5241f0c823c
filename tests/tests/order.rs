//! Order within a direction is kept, and a cancellation overtakes nothing and waits for nothing (contract 3.3).

#![allow(clippy::format_push_string)] // A write of many lines is built by appending them.

use std::collections::HashMap;

use mcpl_tests::{World, outcome, push};

#[tokio::test]
async fn progress_comes_before_the_answer_it_belongs_to() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    let mut write = String::new();
    let mut expected = Vec::new();
    for n in 1..200 {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"p1","progress":{n}}}}}"#
        );
        write += &format!("{line}\n");
        expected.push(line);
        if n % 4 == 0 {
            let params = push(&format!("e{n}"), "X").key(&format!("k{}", n % 3)).params();
            write += &format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"e{n}\",\"method\":\"push/event\",\"params\":{params}}}\n"
            );
        }
    }
    let result = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
    write += &format!("{result}\n");
    expected.push(result.to_owned());
    let (mark, asked) = (session.host.count(), session.producer.count());
    session.producer.send_bytes(write.as_bytes()).await;
    session.host.until(mark, "the result", |said| said.answers("3")).await;
    assert_eq!(session.host.texts(mark), expected);
    session.producer.reach(asked + 49, "an answer to each event").await;
}

#[tokio::test]
async fn thousands_of_lines_keep_their_order_in_both_directions() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    let line = |n: usize| format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"n":{n}}}}}"#);
    let all: String = (0..20_000).map(|n| line(n) + "\n").collect();
    let (host, producer) = (session.host.count(), session.producer.count());
    tokio::join!(session.host.send_bytes(all.as_bytes()), session.producer.send_bytes(all.as_bytes()));
    session.host.reach(host + 20_000, "all lines").await;
    session.producer.reach(producer + 20_000, "all lines").await;
    assert!(session.host.texts(host).iter().enumerate().all(|(n, text)| *text == line(n)));
    assert!(session.producer.texts(producer).iter().enumerate().all(|(n, text)| *text == line(n)));
}

#[tokio::test]
async fn a_cancellation_passes_whatever_the_limits_say() {
    let limits = "rate_per_s = 0.001\nburst = 1\nin_flight = 1\nforward_rate_per_s = 0.001";
    let mut world = World::new().await.table("limits", limits).start().await;
    let session = world.session().await;
    session.push(push("a", "X")).await;
    let refused = session.push(push("b", "X")).await;
    assert_eq!(refused["result"]["refusal"], "unavailable", "the limit is not exhausted: {refused}");
    session.mute();
    session
        .passes_to_producer(&[
            r#"{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"slow"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":20,"reason":"x"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never asked"}}"#,
        ])
        .await;
    // The producer answers all the same, and cancels an event of its own.
    session
        .passes_to_host(&[
            r#"{"jsonrpc":"2.0","id":20,"result":{"late":true}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}"#,
        ])
        .await;
}

#[tokio::test]
async fn cancelling_a_held_event_changes_nothing_of_it() {
    let mut world = World::started().await;
    let session = world.session().await;
    let held = session.push(push("a", "HELD").key("k").initial()).await;
    assert_eq!(outcome(&held), Some("first"), "{held}");
    session
        .passes_to_host(&[
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"t-9"}}"#,
        ])
        .await;
    session.assemble().await;
    session.host.is_given("HELD").await;
}

#[tokio::test]
async fn parallel_calls_are_answered_once_each_in_any_order() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    let (host, producer) = (session.host.count(), session.producer.count());
    let calls: Vec<String> =
        (0..50).map(|n| format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call"}}"#)).collect();
    session.host.send(calls.join("\n")).await;
    session.producer.reach(producer + 50, "fifty calls").await;
    for n in (0..50).map(|n| n * 37 % 50) {
        session.producer.send(format!(r#"{{"jsonrpc":"2.0","id":{n},"result":{{"n":{n}}}}}"#)).await;
    }
    session.host.reach(host + 50, "fifty answers").await;
    let mut count: HashMap<String, usize> = HashMap::new();
    for said in session.host.since(host) {
        *count.entry(said.raw("id").unwrap_or_default()).or_default() += 1;
    }
    assert_eq!(count.len(), 50);
    assert!(count.values().all(|&times| times == 1), "{count:?}");
}
