//! An unread event may be replaced or withdrawn; a read one is history (contract sections 6 and 7).

use std::time::Duration;

use mcpl_tests::{Session, World, error_code, message, outcome, push, refusal};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

async fn session() -> (World, Session) {
    let mut world = World::started().await;
    let session = world.session().await;
    (world, session)
}

fn result(answer: &Value, nth: usize) -> &Value {
    &answer["result"]["results"][nth]
}

#[tokio::test]
async fn a_newer_version_is_no_retry() {
    let (_world, session) = session().await;
    assert_eq!(outcome(&session.push(push("e1", "v1").key("doc").initial()).await), Some("first"));
    session.assemble().await;
    session.host.is_given("v1").await;
    assert_eq!(outcome(&session.push(push("e2", "v2").key("doc")).await), Some("appended"));
    session.assemble().await;
    assert_eq!(session.host.given(), ["v1", "v2"]);

    let first = session.incoming([message("m1", "c one").key("m", "c1")]).await;
    assert_eq!(result(&first, 0)["accepted"], json!(true), "{first}");
    let second = session.incoming([message("m1", "c two").key("m", "c2")]).await;
    assert_eq!(outcome(result(&second, 0)), Some("replaced"), "{second}");
    let retry = session.incoming([message("m1", "c one").key("m", "c1")]).await;
    assert_eq!(retry["result"], first["result"]);
    session.assemble().await;
    assert_eq!(session.host.given(), ["v1", "v2", "c two"]);

    let reused = session.push(push("e2", "other text").key("doc")).await;
    assert_eq!(error_code(&reused), Some(-32602), "{reused}");
    assert_eq!(reused["error"]["data"]["reason"], json!("event_id_conflict"), "{reused}");
    assert_eq!(refusal(&reused)["refusal"], json!("invalid"));
}

#[tokio::test]
async fn what_was_refused_was_not_seen() {
    let mut world = World::new().await.table("limits", "rate_per_s = 4\nburst = 1").start().await;
    let session = world.session().await;
    assert_eq!(outcome(&session.push(push("a", "A").key("a").initial()).await), Some("first"));
    let refused = session.push(push("b", "B").key("b").initial()).await;
    assert_eq!(refused["result"]["refusal"], json!("unavailable"), "{refused}");
    let wait = refused["result"]["retryAfterMs"].as_u64().expect("a time to wait");
    assert!((1..=1000).contains(&wait), "{wait}");
    sleep(Duration::from_millis(wait)).await;
    let again = session.push(push("b", "B").key("b").initial().with("_meta", json!({"retry": 1}))).await;
    assert_eq!(outcome(&again), Some("first"), "the time it was told was not honest: {again}");
}

#[tokio::test]
async fn an_edit_of_what_was_never_seen_is_shown() {
    let (_world, session) = session().await;
    assert_eq!(outcome(&session.push(push("edit", "EDIT").key("message:9")).await), Some("appended"));
    session.assemble().await;
    assert_eq!(session.host.given(), ["EDIT"]);
}

#[tokio::test]
async fn a_withdrawal_of_what_was_never_seen_is_told_before_a_late_create() {
    let (_world, session) = session().await;
    let withdrawal = push("del", "message 10 was deleted").key("message:10").channel("chat").retract();
    assert_eq!(outcome(&session.push(withdrawal).await), Some("noted"));
    let late = session.push(push("late", "LATE").key("message:10").channel("chat")).await;
    assert_eq!(late["result"]["accepted"], json!(true), "{late}");
    session.assemble().await;
    // One forward of a subject at a time: the second follows the host's answer to the first.
    session.host.is_given("LATE").await;
    assert_eq!(session.host.given(), ["message 10 was deleted", "LATE"]);
}

#[tokio::test]
async fn a_withdrawal_of_the_unread_leaves_no_trace() {
    let (_world, session) = session().await;
    session.push(push("a", "A").key("k").initial()).await;
    assert_eq!(
        outcome(&session.push(push("del", "A was deleted").key("k").retract()).await),
        Some("retracted")
    );
    session.assemble().await;
    assert_eq!(session.host.given(), Vec::<String>::new());
}

#[tokio::test]
async fn the_last_to_arrive_wins_whatever_its_clock_says() {
    let (_world, session) = session().await;
    let stamps = [
        "2026-01-01T10:00:05Z",
        "2026-01-01T10:00:01Z",
        "2026-01-01T10:00:01Z",
        "1970-01-01T00:00:00Z",
        "2099-01-01T00:00:00Z",
        "no time at all",
        "2026-01-01T10:00:01+02:00",
    ];
    for (n, stamp) in stamps.iter().enumerate() {
        let answer = session
            .push(push(&format!("e{n}"), &format!("v{n}")).key("k").with("timestamp", json!(stamp)))
            .await;
        assert_eq!(answer["result"]["accepted"], json!(true), "{stamp}: {answer}");
    }
    session.assemble().await;
    assert_eq!(session.host.given(), ["v6"]);
}

#[tokio::test]
async fn a_stream_that_never_rests_is_told_at_the_latest_when_promised() {
    let mut world = World::new().await.table("coalesce", "quiet_ms = 80\nmax_hold_ms = 400").start().await;
    let session = world.session().await;
    let started = Instant::now();
    session.push(push("once", "ONCE").key("rare")).await;
    let mut n = 0;
    while started.elapsed() < Duration::from_secs(2) {
        n += 1;
        session.push(push(&format!("e{n}"), &format!("v{n}")).key("busy")).await;
        sleep(Duration::from_millis(20)).await;
    }
    session.host.is_given("ONCE").await;
    session.host.is_given(&format!("v{n}")).await;
    let times: Vec<_> = session
        .host
        .since(0)
        .iter()
        .filter(|said| said.method().as_deref() == Some("push/event"))
        .map(|said| said.at)
        .collect();
    let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // 400 ms promised, the rest is for a busy machine.
    assert!(gaps.iter().all(|gap| *gap < Duration::from_millis(900)), "{gaps:?}");
    let given = session.host.given();
    assert!(given.len() < n / 4, "{} of {n} versions were told: nothing was folded", given.len());
}

#[tokio::test]
async fn a_channel_is_told_in_order() {
    let (_world, session) = session().await;
    session.incoming([message("m1", "one").key("m1", "e1")]).await;
    session.incoming([message("m2", "two").key("m2", "e2")]).await;
    session.incoming([message("m1", "one, edited").key("m1", "e3")]).await;
    let urgent = message("m3", "three").key("m3", "e4").with("tags", json!(["chat:mention"]));
    session.incoming([urgent]).await;
    session.host.is_given("three").await;
    assert_eq!(session.host.given(), ["one, edited", "two", "three"]);
}

#[tokio::test]
async fn uncoalesced_events_pass_at_once_and_release_their_channel_first() {
    let (_world, session) = session().await;
    session.incoming([message("m1", "held").key("m1", "e1")]).await;
    session.push(push("elsewhere", "still held").key("k")).await;
    let plain = session.incoming([message("m2", "plain")]).await;
    assert_eq!(result(&plain, 0)["accepted"], json!(true), "{plain}");
    assert_eq!(session.host.given(), ["held", "plain"]);
}

#[tokio::test]
async fn what_the_host_is_given_carries_no_coalesce() {
    let (_world, session) = session().await;
    session.push(push("e1", "one").key("k")).await;
    session.incoming([message("m1", "two").key("m", "e2")]).await;
    session.assemble().await;
    let one = session.host.is_given("one").await;
    let two = session.host.is_given("two").await;
    assert!(!one.str().contains("coalesce") && !two.str().contains("coalesce"));
    assert!(one.raw("id").is_some_and(|id| id.starts_with("\"mcpl-sidecar/")), "{}", one.str());
}

#[tokio::test]
async fn an_edit_before_release_keeps_the_message_it_edits() {
    let (_world, session) = session().await;
    session.incoming([message("m1", "draft").key("m", "e1").with("threadId", json!("t"))]).await;
    let edit = session.push(push("e2", "final").key("m").channel("chat")).await;
    assert_eq!(outcome(&edit), Some("replaced"), "{edit}");
    session.assemble().await;
    let given = session.host.is_given("final").await.json();
    assert_eq!(given["method"], json!("channels/incoming"), "{given}");
    let message = &given["params"]["messages"][0];
    assert_eq!(
        (&message["messageId"], &message["threadId"], &message["eventId"]),
        (&json!("m1"), &json!("t"), &json!("e2"))
    );
}
