//! Input that nobody should send: each line is survived, and what is healthy around it arrives.

use std::time::{Duration, Instant};

use mcpl_tests::{Reply, Session, World, Wrap, error_code, outcome, push, resident_bytes};
use serde_json::json;

const AFTER: &str = r#"{"jsonrpc":"2.0","method":"after"}"#;
const LIMIT: usize = 67_108_864;

async fn session() -> (World, Session) {
    let mut world = World::started().await;
    let session = world.session().await;
    (world, session)
}

async fn muted() -> (World, Session) {
    let (world, session) = session().await;
    session.mute();
    (world, session)
}

#[tokio::test]
async fn half_a_line_at_the_end_is_no_message() {
    let (_world, session) = muted().await;
    let mark = session.host.count();
    session.producer.send_bytes(format!("{AFTER}\n{{\"jsonrpc\":\"2.0\",\"meth").as_bytes()).await;
    session.producer.half_close().await;
    session.host.ended().await;
    assert_eq!(session.host.texts(mark), [AFTER]);
}

#[tokio::test]
async fn a_whole_last_line_without_its_end_is_a_message() {
    let (_world, session) = muted().await;
    let mark = session.producer.count();
    session.host.send_bytes(AFTER.as_bytes()).await;
    session.host.half_close().await;
    session.producer.ended().await;
    assert_eq!(session.producer.texts(mark), [AFTER]);
}

#[tokio::test]
async fn the_largest_message_passes_and_a_larger_one_is_answered() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    let before = resident_bytes(world.program().pid());
    let (head, tail) = (r#"{"jsonrpc":"2.0","id":"big","method":"m","params":{"x":""#, r#""}}"#);
    let mark = session.host.count();
    let fits = format!("{head}{}{tail}", "y".repeat(LIMIT - head.len() - tail.len()));
    session.producer.send(&fits).await;
    let got = session.host.until(mark, "64 MiB", |_| true).await;
    assert!(got.text == fits.as_bytes(), "{} bytes of {} arrived", got.text.len(), fits.len());
    drop((got, fits));

    let answers = session.producer.count();
    let over = format!("{head}{}{tail}\n{AFTER}\n", "y".repeat(LIMIT + (1 << 20)));
    session.producer.send_bytes(over.as_bytes()).await;
    let answer = session.producer.answer(answers, "\"big\"").await.json();
    assert_eq!(error_code(&answer), Some(-32600), "{answer}");
    session.host.reach(mark + 2, "the line after").await;
    assert_eq!(session.host.texts(mark + 1), [AFTER]);
    let after = resident_bytes(world.program().pid());
    assert!(after < before + (48 << 20), "memory was kept: {before} bytes before, {after} after");
}

#[tokio::test]
async fn ten_thousand_nested_arrays_pass() {
    let (_world, session) = muted().await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    session.passes(&[&format!(r#"{{"jsonrpc":"2.0","method":"deep","params":{deep}}}"#), AFTER]).await;
    // In an event as well, and in its content.
    let event = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"push/event","params":{{"featureSet":"doc","eventId":"d","payload":{{"content":{deep}}}}}}}"#
    );
    session.passes_to_host(&[&event]).await;
    session.passes_to_producer(&[r#"{"jsonrpc":"2.0","id":1,"result":{"accepted":true}}"#]).await;
}

#[tokio::test]
async fn nesting_that_never_closes_is_dropped() {
    let (_world, session) = muted().await;
    let mark = session.host.count();
    session.producer.send("[".repeat(1_000_000)).await;
    session.producer.send(r#"{"a":"#.repeat(200_000)).await;
    session.producer.send(AFTER).await;
    session.host.reach(mark + 1, "the line after").await;
    assert_eq!(session.host.texts(mark), [AFTER]);
}

#[tokio::test]
async fn a_coalesce_of_any_type_is_answered_once() {
    let (_world, session) = session().await;
    for (n, coalesce) in [
        json!(null),
        json!([]),
        json!({}),
        json!("k"),
        json!(5),
        json!(true),
        json!({"key": 5}),
        json!({"key": null}),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = session.push(push(&format!("e{n}"), "X").with("coalesce", coalesce.clone())).await;
        if coalesce.is_null() {
            continue; // None or malformed: either way one answer, which came.
        }
        assert_eq!(error_code(&answer), Some(-32602), "{coalesce}: {answer}");
        assert_eq!(answer["error"]["data"]["refusal"], json!("invalid"), "{coalesce}: {answer}");
    }
    for (n, flag) in ["deferred", "retract", "initial"].iter().enumerate() {
        let answer = session.push(push(&format!("f{n}"), "X").key("k").coalesce(flag, json!("yes"))).await;
        assert_eq!(error_code(&answer), Some(-32602), "{flag}: {answer}");
    }
    session.sync().await;
}

#[tokio::test]
async fn an_event_id_of_any_type_is_answered_once() {
    let (_world, session) = session().await;
    for (n, id) in
        [json!(5), json!(null), json!([]), json!({"a": 1}), json!(""), json!(true)].into_iter().enumerate()
    {
        let coalesced = session.push(push("x", "X").key(&format!("k{n}")).with("eventId", id.clone())).await;
        assert_eq!(error_code(&coalesced), Some(-32602), "{id}: {coalesced}");
        let plain = session.push(push("x", "X").with("eventId", id.clone())).await;
        assert_eq!(
            plain["result"]["accepted"],
            json!(true),
            "an uncoalesced event is the host's to judge: {plain}"
        );
    }
}

#[tokio::test]
async fn request_ids_that_are_no_ids_are_answered_as_they_are() {
    let (_world, session) = session().await;
    for id in ["{\"a\":1}", "[1,2]", "true"] {
        let params = push(&format!("e{id}"), "X").key("k").params();
        let mark = session.producer.count();
        session
            .producer
            .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"push/event","params":{params}}}"#))
            .await;
        session.producer.send(r#"{"jsonrpc":"2.0","id":"barrier","method":"ping"}"#).await;
        session.producer.answer(mark, "\"barrier\"").await;
        let answers = session.producer.since(mark).iter().filter(|said| said.answers(id)).count();
        assert!(answers <= 1, "{id} was answered {answers} times");
    }
    session.sync().await;
}

#[tokio::test]
async fn answers_that_nobody_asked_for_pass() {
    let (_world, session) = muted().await;
    session
        .passes(&[
            r#"{"jsonrpc":"2.0","id":"never asked","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":99,"error":{"code":-32000,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":"mcpl-sidecar/0/1","result":{"accepted":true}}"#,
        ])
        .await;
    session.passes_to_producer(&[r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#]).await;
    let twice = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    session.passes_to_host(&[twice, twice]).await;
}

#[tokio::test]
async fn a_second_answer_to_a_forward_of_ours_goes_nowhere() {
    let (_world, session) = session().await;
    session.host.script.always(Reply::Silence);
    session.push(push("e1", "one").key("k")).await;
    session.assemble().await;
    let id = session.host.is_given("one").await.raw("id").expect("an id");
    let mark = session.producer.count();
    for outcome in [
        r#""result":{"accepted":true}"#,
        r#""result":{"accepted":false}"#,
        r#""error":{"code":-32603,"message":"late"}"#,
    ] {
        session.host.send(format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#)).await;
    }
    session.sync().await;
    let strays: Vec<String> =
        session.producer.texts(mark).into_iter().filter(|text| text.contains("mcpl-sidecar/")).collect();
    assert!(strays.is_empty(), "{strays:?}");
    // The first answer counted.
    assert_eq!(outcome(&session.push(push("e2", "two").key("k")).await), Some("appended"));
    session.host.script.always(Reply::Accept);
    session.assemble().await;
    session.host.is_given("two").await;
    assert_eq!(session.host.given(), ["one", "two"]);
}

#[tokio::test]
async fn two_answers_to_one_event_reach_the_producer_but_only_the_first_is_classified() {
    let (_world, session) = muted().await;
    let mark = session.producer.count();
    session
        .passes_to_host(&[r#"{"jsonrpc":"2.0","id":5,"method":"push/event","params":{"featureSet":"doc","eventId":"e","payload":{"content":[]}}}"#])
        .await;
    let refusal = r#"{"jsonrpc":"2.0","id":5,"result":{"accepted":false}}"#;
    session.host.send(refusal).await;
    session.host.send(refusal).await;
    session.host.send(AFTER).await;
    session.producer.until(mark, "the line after", |said| said.text == AFTER.as_bytes()).await;
    let texts = session.producer.texts(mark);
    assert!(texts[0].contains("not_permitted"), "{texts:?}");
    assert!(texts.len() <= 3, "{texts:?}");
}

#[tokio::test]
async fn batches_of_none_and_of_ten_thousand_are_survived() {
    let (_world, session) = muted().await;
    let (host, producer) = (session.host.count(), session.producer.count());
    session.producer.send("[]").await;
    let plain: Vec<String> =
        (0..10_000).map(|n| format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"n":{n}}}}}"#)).collect();
    let batch = format!("[{}]", plain.join(","));
    session.producer.send(&batch).await;
    session.host.until(host, "the batch", |said| said.text == batch.as_bytes()).await;

    let events: Vec<String> = (0..10_000)
        .map(|n| {
            let params = push(&format!("e{n}"), "X").key(&format!("k{}", n % 100)).params();
            format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"push/event","params":{params}}}"#)
        })
        .collect();
    session.producer.send(format!("[{}]", events.join(","))).await;
    let answer =
        session.producer.until(producer, "one array of answers", |said| said.text.starts_with(b"[{")).await;
    let answers = answer.json();
    let answers = answers.as_array().expect("an array");
    assert_eq!(answers.len(), 10_000);
    let mut ids: Vec<u64> = answers.iter().filter_map(|it| it["id"].as_u64()).collect();
    ids.sort_unstable();
    assert!(ids.iter().enumerate().all(|(n, id)| n as u64 == *id), "each id once");
}

#[tokio::test]
async fn a_producer_that_never_answers_holds_nothing_up() {
    let mut world = World::started().await;
    world.producer.mute(true);
    let host = world.host().await;
    let hello = mcpl_tests::initialize_params(&json!({}));
    host.send(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{hello}}}"#)).await;
    let producer = world.reached().await;
    for n in 0..1000 {
        host.send(format!(r#"{{"jsonrpc":"2.0","id":"q{n}","method":"tools/call"}}"#)).await;
    }
    producer.reach(1001, "every request").await;
    assert_eq!(host.count(), 0, "something was answered on the producer's behalf");
    // Its events are carried although it has not answered initialize.
    let params = push("e", "EVENT").params();
    let answer = producer
        .ask("1", &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"push/event","params":{params}}}"#))
        .await;
    assert_eq!(answer["result"]["accepted"], json!(true), "{answer}");
}

#[tokio::test]
async fn a_child_that_dies_between_request_and_answer_ends_the_stream_at_once() {
    let mut wrap = Wrap::shell("read line; echo \"$line\" > seen; exit 9");
    let started = Instant::now();
    wrap.host.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
    wrap.host.ended().await;
    assert_eq!(wrap.exit().await.code(), Some(9));
    assert!(started.elapsed() < Duration::from_secs(3));
    assert_eq!(wrap.host.count(), 0);
    let seen = std::fs::read_to_string(wrap.folder().join("seen")).expect("the child got the line");
    assert_eq!(seen.trim(), r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
}

#[tokio::test]
async fn a_million_lines_of_noise_are_survived() {
    let (mut world, session) = muted().await;
    let before = resident_bytes(world.program().pid());
    let mark = session.host.count();
    let noise = "level=info msg=\"still here\"\n".repeat(1000);
    for _ in 0..1000 {
        session.producer.send_bytes(noise.as_bytes()).await;
    }
    session.producer.send(AFTER).await;
    session.host.reach(mark + 1, "the line after").await;
    let after = resident_bytes(world.program().pid());
    assert!(after < before + (16 << 20), "memory grew from {before} to {after} bytes");
    let log = world.program().stderr().len();
    assert!(log < (64 << 20), "a repeated line filled {log} bytes of log");
}
