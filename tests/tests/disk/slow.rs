//! While a commit is under way, what rests on it waits, and nothing else does.

use std::time::{Duration, Instant};

use mcpl_tests::{Session, World, message, outcome, push};
use serde_json::{Value, json};

use crate::ground::{Bed, WAIT};

const ASSEMBLE: &str = r#"{"jsonrpc":"2.0","id":"a","method":"context/beforeInference","params":{"inferenceId":"i","conversationId":"c","turnIndex":0,"userMessage":null}}"#;

async fn bed() -> (Bed, Session) {
    let mut bed = Bed::over(World::new().await);
    let session = bed.session().await;
    (bed, session)
}

/// Sends a request of the producer's without waiting for its answer.
async fn send(session: &Session, id: &str, method: &str, params: &Value) {
    let line = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":{params}}}"#);
    session.producer.send(line).await;
}

#[tokio::test]
async fn an_answer_and_a_forward_wait_for_their_commit_and_nothing_else_does() {
    let (bed, session) = bed().await;
    bed.faults.hold();
    let mark = session.producer.count();
    let urgent = push("e1", "URGENT").key("k").with("tags", json!(["chat:addressed"]));
    send(&session, "one", "push/event", &urgent.params()).await;
    bed.held().await;
    for n in 0..20 {
        send(
            &session,
            &format!("h{n}"),
            "push/event",
            &push(&format!("h{n}"), "HELD").key(&format!("k{n}")).params(),
        )
        .await;
        // What is read after it passes, both ways, and an uncoalesced event of another channel.
        session.sync().await;
    }
    let passed = session.push(push("plain", "PLAIN")).await;
    assert_eq!(passed["result"]["accepted"], json!(true), "{passed}");
    let answered = session.producer.since(mark).iter().filter(|said| said.answers("\"one\"")).count();
    assert_eq!(answered, 0, "it was answered before it was on disk");
    assert_eq!(session.host.given(), ["PLAIN"], "it was forwarded before it was on disk");
    bed.faults.release();
    let first = session.producer.answer(mark, "\"one\"").await.json();
    assert_eq!(first["result"]["accepted"], json!(true), "{first}");
    for n in 0..20 {
        session.producer.answer(mark, &format!("\"h{n}\"")).await;
    }
    session.host.is_given("URGENT").await;
    session.sync().await;
    assert_eq!(session.host.given(), ["PLAIN", "URGENT"]);
    assert_eq!(bed.end().await.tally.ahead, 0);
}

#[tokio::test]
async fn an_event_behind_held_work_waits_a_bounded_time_for_the_journal_and_then_goes_ahead() {
    let (bed, session) = bed().await;
    session.incoming([message("m1", "HELD").key("m1", "e1")]).await;
    bed.faults.hold();
    let (mark, sent) = (session.host.count(), Instant::now());
    let plain = json!({"messages": [message("m2", "PLAIN").value()]});
    send(&session, "plain", "channels/incoming", &plain).await;
    session.producer.send(r#"{"jsonrpc":"2.0","method":"after/it"}"#).await;
    bed.held().await;
    // The other direction does not wait.
    session.passes_to_producer(&[r#"{"jsonrpc":"2.0","method":"other/way"}"#]).await;
    assert!(sent.elapsed() < WAIT, "the other direction waited: {:?}", sent.elapsed());
    let came = session.host.is_given("PLAIN").await;
    let waited = came.at - sent;
    assert!(waited >= WAIT, "it went ahead after {waited:?}");
    assert!(waited < WAIT + Duration::from_secs(2), "it waited {waited:?}");
    let heard = |said: &mcpl_tests::Said| said.method().as_deref() == Some("after/it");
    let after = session.host.until(mark, "what came after it", heard).await;
    assert!(after.at >= came.at);
    let texts = session.host.texts(mark);
    assert!(texts[0].contains("PLAIN") && texts[1].contains("after/it"), "the order was not kept: {texts:?}");
    assert_eq!(session.host.given(), ["PLAIN"], "held work left before its submission was on disk");
    bed.faults.release();
    session.host.is_given("HELD").await;
    let tally = bed.end().await.tally;
    assert_eq!(tally.ahead, 1, "{tally}");
    assert!(tally.to_string().ends_with("1 went ahead of a slow journal"), "{tally}");
}

#[tokio::test]
async fn a_host_that_is_about_to_assemble_waits_a_bounded_time_for_the_journal() {
    let (bed, session) = bed().await;
    session.push(push("e1", "HELD").key("k")).await;
    bed.faults.hold();
    let (mark, sent) = (session.producer.count(), Instant::now());
    session.host.send(ASSEMBLE).await;
    bed.held().await;
    let method = "context/beforeInference";
    let heard = move |said: &mcpl_tests::Said| said.method().as_deref() == Some(method);
    let came = session.producer.until(mark, method, heard).await;
    assert!(came.at - sent >= WAIT, "it went ahead after {:?}", came.at - sent);
    assert!(came.at - sent < WAIT + Duration::from_secs(2), "it waited {:?}", came.at - sent);
    assert_eq!(session.host.given(), Vec::<String>::new());
    bed.faults.release();
    session.host.is_given("HELD").await;
    assert_eq!(bed.end().await.tally.ahead, 1);
}

#[tokio::test]
async fn where_the_journal_is_in_time_held_work_goes_first() {
    let (bed, session) = bed().await;
    session.incoming([message("m1", "HELD").key("m1", "e1")]).await;
    bed.faults.hold();
    let plain = json!({"messages": [message("m2", "PLAIN").value()]});
    let mark = session.producer.count();
    send(&session, "plain", "channels/incoming", &plain).await;
    bed.held().await;
    bed.faults.release();
    session.producer.answer(mark, "\"plain\"").await;
    assert_eq!(session.host.given(), ["HELD", "PLAIN"]);
    assert_eq!(bed.end().await.tally.ahead, 0);
}

#[tokio::test]
async fn a_commit_that_fails_makes_its_answers_unavailable_and_the_session_goes_on() {
    let (bed, session) = bed().await;
    session.push(push("e1", "ONE").key("k1").initial()).await;
    bed.faults.hold();
    let mark = session.producer.count();
    send(&session, "two", "push/event", &push("e2", "TWO").key("k2").initial().params()).await;
    bed.held().await;
    send(&session, "three", "push/event", &push("e3", "THREE").key("k1").params()).await;
    session.sync().await;
    bed.faults.fail_next(1);
    bed.faults.release();
    for id in ["\"two\"", "\"three\""] {
        let answer = session.producer.answer(mark, id).await.json();
        assert_eq!(answer["result"]["refusal"], json!("unavailable"), "{answer}");
        assert!(answer["result"]["retryAfterMs"].is_u64(), "{answer}");
    }
    session.sync().await;
    // Nothing of it happened: the same events are new, and what was accepted before is there.
    loop {
        let again = session.push(push("e2", "TWO").key("k2").initial()).await;
        if again["result"]["accepted"] == json!(true) {
            assert_eq!(outcome(&again), Some("first"), "{again}");
            break;
        }
    }
    session.assemble().await;
    session.host.is_given("TWO").await;
    assert_eq!(session.host.given(), ["ONE", "TWO"]);
    bed.end().await;
}
