//! After a broken link nothing accepted is lost and nothing settled comes twice (contract sections 6.2, 7.5, 9.3).

use mcpl_tests::{Reply, Session, World, outcome, push};
use serde_json::json;

async fn deaf_to_the_second(world: &mut World) -> Session {
    let session = world.session().await;
    session.host.script.then(Reply::Accept);
    session.host.script.then(Reply::Silence);
    session.push(push("e1", "ONE").key("k1").initial()).await;
    session.push(push("e2", "TWO").key("k2").initial()).await;
    session.assemble().await;
    session.host.is_given("ONE").await;
    session.host.is_given("TWO").await;
    session.sync().await;
    session
}

#[tokio::test]
async fn what_was_in_doubt_is_settled_by_the_next_session_and_never_again() {
    let mut world = World::started().await;
    let mut first = deaf_to_the_second(&mut world).await;
    first.host.close().await;
    first.producer.ended().await;

    // The host had it: it says so, and that is a receipt.
    let host = world.host().await;
    host.script.always(Reply::Refuse("duplicate"));
    let mut second = Session::open(host, &mut world).await;
    let again = second.host.is_given("TWO").await;
    assert_eq!(again.json()["params"]["eventId"], json!("e2"), "{}", again.str());
    second.sync().await;
    assert_eq!(second.host.given(), ["TWO"], "what was settled came again");
    second.host.close().await;
    second.producer.ended().await;

    let third = world.session().await;
    third.assemble().await;
    assert_eq!(third.host.given(), Vec::<String>::new());
}

#[tokio::test]
async fn a_retry_after_the_reconnect_gets_the_first_answer_and_has_no_effect() {
    let mut world = World::started().await;
    let mut first = world.session().await;
    let original = first.push(push("e1", "ONE").key("k1").initial()).await;
    assert_eq!(outcome(&original), Some("first"), "{original}");
    first.assemble().await;
    first.host.is_given("ONE").await;
    first.sync().await;
    first.host.close().await;
    first.producer.ended().await;

    let second = world.session().await;
    let retried = second.push(push("e1", "ONE").key("k1").initial().with("_meta", json!({"retry": 1}))).await;
    assert_eq!(retried["result"], original["result"]);
    second.assemble().await;
    assert_eq!(second.host.given(), Vec::<String>::new());
}

#[tokio::test]
async fn held_work_waits_for_the_next_host() {
    let mut world = World::started().await;
    let mut first = world.session().await;
    for n in 0..50 {
        let answer =
            first.push(push(&format!("e{n}"), &format!("text {n}")).key(&format!("k{n}")).initial()).await;
        assert_eq!(outcome(&answer), Some("first"), "{answer}");
    }
    first.push(push("gone", "").key("k7").retract()).await;
    first.host.close().await;
    first.producer.ended().await;

    let second = world.session().await;
    second.assemble().await;
    second.host.is_given("text 49").await;
    let expected: Vec<String> = (0..50).filter(|n| *n != 7).map(|n| format!("text {n}")).collect();
    assert_eq!(second.host.given(), expected);
}

#[tokio::test]
async fn an_uncoalesced_event_whose_host_went_is_answered_without_a_classification() {
    let mut world = World::started().await;
    let mut session = world.session().await;
    session.host.script.always(Reply::Silence);
    let params = push("plain", "PLAIN").params();
    let mark = session.producer.count();
    session
        .producer
        .send(format!(r#"{{"jsonrpc":"2.0","id":"p","method":"push/event","params":{params}}}"#))
        .await;
    session.host.is_given("PLAIN").await;
    session.host.close().await;
    session.producer.ended().await;
    let answer = session.producer.answer(mark, "\"p\"").await.json();
    assert_eq!(answer["error"]["code"], json!(-32000), "{answer}");
    assert!(answer["error"]["data"].get("refusal").is_none(), "{answer}");
}

#[tokio::test]
async fn twenty_reconnects_give_each_event_once() {
    let mut world = World::started().await;
    let mut given = Vec::new();
    for n in 0..20 {
        let mut session = world.session().await;
        session.push(push(&format!("e{n}"), &format!("text {n}")).key("k")).await;
        session.assemble().await;
        session.host.is_given(&format!("text {n}")).await;
        session.sync().await;
        given.extend(session.host.given());
        session.host.close().await;
        session.producer.ended().await;
    }
    let expected: Vec<String> = (0..20).map(|n| format!("text {n}")).collect();
    assert_eq!(given, expected);
}
