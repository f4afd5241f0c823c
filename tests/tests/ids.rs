//! Ids are their spelling: of any type, in two spaces, answered exactly as they were asked (contract section 3.3).

use mcpl_tests::{Reply, World, error_code, push, refusal};
use serde_json::json;

/// Every spelling an id may have, and some that it should not.
const IDS: [&str; 14] = [
    "1",
    "\"1\"",
    "\"007\"",
    "\"\"",
    "\"1e2\"",
    "0",
    "-1",
    "1.5",
    "1.0",
    "1e3",
    "9007199254740993",
    "18446744073709551616",
    "\"\\u0031\"",
    "\"a b\"",
];

#[tokio::test]
async fn requests_and_answers_keep_ids_of_every_type() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    for id in IDS {
        let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
        let answer = format!(r#"{{"result":{{"n":1.00}},"id":{id},"jsonrpc":"2.0"}}"#);
        session.passes(&[&request]).await;
        session.passes(&[&answer]).await;
    }
}

#[tokio::test]
async fn our_own_answers_spell_the_id_as_it_was_asked() {
    let mut world = World::started().await;
    let session = world.session().await;
    for (nth, id) in IDS.iter().enumerate() {
        let params = push(&format!("held-{nth}"), "X").key(&format!("k{nth}")).params();
        let mark = session.producer.count();
        let held = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"push/event","params":{params}}}"#);
        session.producer.send(held).await;
        let answer = session.producer.answer(mark, id).await;
        assert_eq!(answer.json()["result"]["accepted"], json!(true), "{}", answer.str());

        let mark = session.producer.count();
        let malformed = push(&format!("bad-{nth}"), "X").key("").params();
        session
            .producer
            .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"push/event","params":{malformed}}}"#))
            .await;
        let answer = session.producer.answer(mark, id).await;
        assert_eq!(error_code(&answer.json()), Some(-32602), "{}", answer.str());
    }
}

#[tokio::test]
async fn a_refusal_for_rate_carries_the_id() {
    let mut world = World::new().await.table("limits", "rate_per_s = 0.001\nburst = 1").start().await;
    let session = world.session().await;
    session.push(push("first", "X")).await;
    for (nth, id) in IDS.iter().enumerate() {
        let mark = session.producer.count();
        let params = push(&format!("over-{nth}"), "X").params();
        session
            .producer
            .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"push/event","params":{params}}}"#))
            .await;
        let answer = session.producer.answer(mark, id).await.json();
        assert_eq!(refusal(&answer)["refusal"], json!("unavailable"), "{answer}");
    }
}

#[tokio::test]
async fn zero_is_an_ordinary_id() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.host.script.then(Reply::Error(-32000, "busy"));
    let params = push("zero", "X").params();
    let text = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"push/event","params":{params}}}"#);
    let answer = session.producer.ask("0", &text).await;
    assert_eq!(refusal(&answer)["refusal"], json!("unavailable"), "{answer}");
    session.mute();
    session
        .passes_to_producer(&[
            r#"{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"slow"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#,
        ])
        .await;
    session
        .passes_to_host(&[r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32800,"message":"cancelled"}}"#])
        .await;
}

#[tokio::test]
async fn the_two_sides_ids_are_two_spaces() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    session
        .passes_to_producer(&[r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"ask"}}"#])
        .await;
    session
        .passes_to_host(&[
            r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}}"#,
            r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#,
            r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"ok?","requestedSchema":{"type":"object","properties":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":10,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":11,"method":"inference/request","params":{"featureSet":"doc"}}"#,
        ])
        .await;
    session
        .passes_to_producer(&[
            r#"{"jsonrpc":"2.0","id":9,"result":{"role":"assistant"}}"#,
            r#"{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}"#,
            r#"{"jsonrpc":"2.0","id":"e1","result":{"action":"accept"}}"#,
            r#"{"jsonrpc":"2.0","id":10,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":11,"error":{"code":-32603,"message":"no model"}}"#,
        ])
        .await;
    session.passes_to_host(&[r#"{"jsonrpc":"2.0","id":9,"result":{"content":[]}}"#]).await;
}
