//! A full disk: new work is refused, old work goes on, and the space that comes back is noticed.

use std::time::Duration;

use mcpl_tests::{PATIENCE, Session, World, outcome, push};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::ground::Bed;

async fn bed() -> (Bed, Session) {
    let mut bed = Bed::over(World::new().await);
    let session = bed.session().await;
    (bed, session)
}

fn assert_unavailable(answer: &Value) {
    let result = &answer["result"];
    assert_eq!(result["refusal"], json!("unavailable"), "{answer}");
    assert_eq!(result["retryable"], json!(true), "{answer}");
    assert!(result["retryAfterMs"].as_u64().is_some_and(|ms| ms > 0), "{answer}");
}

/// Sends an event until it is taken.
async fn taken(session: &Session, id: &str) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let answer = session.push(push(id, id).key(id).initial()).await;
        if answer["result"]["accepted"] == json!(true) {
            return answer;
        }
        assert!(Instant::now() < end, "the space was not noticed: {answer}");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn on_a_full_disk_new_work_is_refused_and_old_work_is_handed_over_and_settled() {
    let (bed, session) = bed().await;
    for n in 0..10 {
        session.push(push(&format!("old{n}"), &format!("OLD {n}")).key(&format!("k{n}")).initial()).await;
    }
    bed.faults.fill(1000);
    // The commit that meets it has the space of the reserve: what it promises is kept.
    let last = session.push(push("last", "LAST").key("last").initial()).await;
    assert_eq!(outcome(&last), Some("first"), "{last}");
    for n in 0..5 {
        assert_unavailable(&session.push(push(&format!("new{n}"), "NEW").key(&format!("n{n}"))).await);
    }
    // A retry is answered what it was answered, and what passes passes.
    let again = session.push(push("last", "LAST").key("last").initial()).await;
    assert_eq!(again["result"], last["result"]);
    let plain = session.push(push("plain", "PLAIN")).await;
    assert_eq!(plain["result"]["accepted"], json!(true), "{plain}");
    session.push(push("gone", "").key("k3").retract()).await;
    session.assemble().await;
    session.host.is_given("LAST").await;
    let mut expected: Vec<String> = (0..10).filter(|n| *n != 3).map(|n| format!("OLD {n}")).collect();
    expected.insert(0, "PLAIN".to_owned());
    expected.push("LAST".to_owned());
    assert_eq!(session.host.given(), expected);
    bed.faults.mend();
    let answer = taken(&session, "after").await;
    assert_eq!(outcome(&answer), Some("first"), "a refused attempt left something: {answer}");
    assert_eq!(bed.end().await.held, 1, "what was handed over was not settled");
}

#[tokio::test]
async fn where_not_even_the_reserve_helps_nothing_is_promised_and_nothing_lost() {
    let (bed, session) = bed().await;
    for n in 0..10 {
        session.push(push(&format!("old{n}"), &format!("OLD {n}")).key(&format!("k{n}")).initial()).await;
    }
    bed.faults.fill(0);
    for n in 0..5 {
        assert_unavailable(&session.push(push(&format!("new{n}"), "NEW").key("k1")).await);
        session.sync().await;
    }
    let plain = session.push(push("plain", "PLAIN")).await;
    assert_eq!(plain["result"]["accepted"], json!(true), "{plain}");
    session.assemble().await;
    assert_eq!(session.host.given(), ["PLAIN"], "something left that could not be written down");
    bed.faults.mend();
    taken(&session, "after").await;
    session.assemble().await;
    session.host.is_given("after").await;
    let mut expected: Vec<String> = (0..10).map(|n| format!("OLD {n}")).collect();
    expected.insert(0, "PLAIN".to_owned());
    expected.push("after".to_owned());
    assert_eq!(session.host.given(), expected);
    bed.end().await;
}
