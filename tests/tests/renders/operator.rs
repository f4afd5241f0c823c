//! What an operator sees and does, and what the configuration says, with batches about.

use std::time::Duration;

use mcpl_tests::{PATIENCE, Render, Reply, World, error_code, push, refusal};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::scene::{answer, asked, ids, is_asked, notice, renders, says, session, settles, tells};

/// On a lane where the host does not drop repeats an operator decides; what was rendered is kept for it.
#[tokio::test]
async fn what_was_rendered_and_is_in_doubt_is_sent_again_when_an_operator_says_so() {
    let mut world = World::new().await.table("host", "dedup = \"none\"").start().await;
    let session = world.session().await;
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    session.host.script.then(Reply::Silence);
    session.assemble().await;
    session.host.is_given("RENDERED").await;
    session.sync().await;
    world.restart().await;
    drop(session);
    let again = world.session().await;
    tells(&again, notice("n2", "FALLBACK 2"), "first").await;
    again.producer.script.render(Render::Text("SECOND"));
    settles(&again).await;
    again.host.is_given("SECOND").await;
    let listed = world.listed(&[]).await;
    let doubtful = listed.iter().find(|it| it["state"] == "manual-reconciliation");
    let doubtful = doubtful.unwrap_or_else(|| panic!("nothing is in doubt: {listed:?}"));
    assert_eq!(doubtful["eventId"], json!("n1"), "{listed:?}");
    let (id, revision) = (doubtful["id"].to_string(), doubtful["revision"].to_string());
    let id = id.trim_matches('"');
    let resolve =
        ["journal", "resolve", id, "--not-submitted", "--expect", &revision, "--config", "sidecar.toml"];
    let said = world.output(&resolve).await;
    assert!(said.status.success(), "{said:?}");
    again.assemble().await;
    again.host.is_given("RENDERED").await;
    settles(&again).await;
    assert_eq!(again.host.given(), ["SECOND", "RENDERED"]);
    assert_eq!(renders(&again.producer).len(), 1, "it was rendered again");
}

#[tokio::test]
async fn an_operator_can_show_the_notices_of_a_batch_and_export_it() {
    let (world, session) = session().await;
    tells(&session, notice("n1", "FALLBACK 1").coalesce("data", json!("DATA 1")), "first").await;
    tells(&session, notice("n2", "FALLBACK 2").coalesce("data", json!("DATA 2")), "replaced").await;
    let listed = world.listed(&[]).await;
    let id = listed[0]["id"].to_string();
    let id = id.trim_matches('"');
    let shown = world.output(&["journal", "show", id, "--config", "sidecar.toml"]).await;
    assert!(shown.status.success(), "{shown:?}");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("n2"), "{shown}");
    let exported = world.output(&["journal", "export", "--config", "sidecar.toml"]).await;
    assert!(exported.status.success(), "{exported:?}");
    let exported = String::from_utf8_lossy(&exported.stdout).into_owned();
    assert!(exported.contains("n2"), "{exported}");
}

/// Its time is over while it is rendered: nothing comes of it.
#[tokio::test]
async fn a_batch_that_expires_during_its_render_is_over() {
    let keys = "expires_after_ms = 700";
    let mut world = World::new().await.keys(keys).start().await;
    let session = world.session().await;
    session.producer.script.render(Render::Silence);
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    session.assemble().await;
    let render = is_asked(&session.producer, 1).await;
    let end = std::time::Instant::now() + mcpl_tests::PATIENCE;
    while !world.listed(&[]).await.is_empty() {
        assert!(std::time::Instant::now() < end, "it does not expire");
    }
    session.producer.send(answer(&render, &says("LATE"))).await;
    settles(&session).await;
    assert_eq!(session.host.given(), Vec::<String>::new());
    tells(&session, notice("n2", "FALLBACK 2"), "first").await;
}

/// Room runs short: batches are rendered early, new notices are told to come again, and nothing is stuck.
#[tokio::test]
async fn a_batch_is_rendered_when_room_runs_short_and_then_there_is_room() {
    let coalesce = "quiet_ms = 60000\nmax_hold_ms = 600000\nmax_held_bytes = 50000";
    let world = World::new().await.table("coalesce", coalesce).table("refusals", "retry_after_ms = 50");
    let mut world = world.start().await;
    let session = world.session().await;
    session.producer.script.render(Render::Silence);
    let data = json!("d".repeat(4000));
    let end = Instant::now() + PATIENCE;
    for n in 0..24 {
        let event = push(&format!("n{n}"), &"F".repeat(3000)).key(&format!("k{}", n % 4)).deferred();
        let event = event.coalesce("data", data.clone());
        loop {
            let told = session.push(event.clone()).await;
            if told["result"]["accepted"] == json!(true) {
                break;
            }
            assert_eq!(refusal(&told)["refusal"], json!("unavailable"), "{told}");
            assert!(Instant::now() < end, "there is no room for notice {n}");
            sleep(Duration::from_millis(50)).await;
        }
    }
    is_asked(&session.producer, 2).await;
    session.host.is_given("RENDERED").await;
}

#[tokio::test]
async fn one_id_with_other_data_is_another_notice_and_a_conflict() {
    let (_world, session) = session().await;
    tells(&session, notice("n1", "F").coalesce("data", json!(1)), "first").await;
    tells(&session, notice("n1", "F").coalesce("data", json!(1)), "first").await;
    let told = session.push(notice("n1", "F").coalesce("data", json!(1.0))).await;
    assert_eq!(error_code(&told), Some(-32602), "{told}");
    assert_eq!(told["error"]["data"]["reason"], json!("event_id_conflict"), "{told}");
    settles(&session).await;
    session.host.is_given("RENDERED").await;
    assert_eq!(ids(&renders(&session.producer)[0]), ["n1"]);
}

#[tokio::test]
async fn authority_that_came_back_before_a_batch_goes_was_never_gone() {
    let (_world, session) = session().await;
    tells(&session, notice("n1", "F").initial(), "first").await;
    session.host_asks("featureSets/update", &json!({"effectiveCapabilities": []})).await;
    let all = json!({"effectiveCapabilities": ["pushEvents"], "enabled": ["doc"]});
    session.host_asks("featureSets/update", &all).await;
    session.assemble().await;
    session.host.is_given("RENDERED").await;
}

/// `mode = "always"`: it is legacy to us, whatever it says.
#[tokio::test]
async fn always_is_always() {
    let mut world = World::new().await.table("coalesce", "quiet_ms = 60000\nmode = \"always\"").start().await;
    let host = world.host().await;
    let session = mcpl_tests::Session::introduced(host, &mut world, &json!({"eventCoalescing": true})).await;
    let session = session.granted().await;
    tells(&session, notice("n1", "F").initial(), "first").await;
    session.assemble().await;
    session.host.is_given("RENDERED").await;
    assert!(!session.host.texts(0).concat().contains(r#""coalesce":{"#));
}

#[tokio::test]
async fn a_producer_that_is_removed_during_a_render_drains() {
    let (mut world, session, render) = asked().await;
    tells(&session, notice("n2", "FALLBACK 2"), "first").await;
    let other = World::unreachable();
    world.reload(&[other.producer_named("bystander")]).await;
    session.producer.send(answer(&render, &says("ONE"))).await;
    session.host.is_given("ONE").await;
    session.host.is_given("RENDERED").await;
    session.host.ended().await;
    assert_eq!(session.host.given(), ["ONE", "RENDERED"]);
    assert!(world.program().runs());
}

/// One side has said its last: that is its end for releases and answers (contract 3.1).
#[tokio::test]
async fn a_half_close_during_a_render_leaves_the_fallback() {
    for of_host in [false, true] {
        let (mut world, session, render) = asked().await;
        if of_host {
            session.host.half_close().await;
            session.producer.ended().await;
            session.producer.send(answer(&render, &says("LATE"))).await;
        } else {
            session.producer.half_close().await;
            session.host.ended().await;
        }
        drop(session);
        let again = world.session().await;
        settles(&again).await;
        again.host.is_given("FALLBACK").await;
        assert_eq!(renders(&again.producer), Vec::<Value>::new());
    }
}

/// Past `max_subjects` nothing is refused for that: the fallback is appended.
#[tokio::test]
async fn without_a_slot_a_notice_is_told_as_its_fallback() {
    let coalesce = "quiet_ms = 60000\nmax_hold_ms = 600000\nmax_subjects = 2";
    let mut world = World::new().await.table("coalesce", coalesce).start().await;
    let session = world.session().await;
    tells(&session, push("a1", "A").key("a").deferred().initial(), "first").await;
    tells(&session, push("b1", "B").key("b").deferred().initial(), "first").await;
    tells(&session, push("c1", "C1").key("c").deferred().initial(), "appended").await;
    tells(&session, push("c2", "C2").key("c").deferred().initial(), "appended").await;
    tells(&session, push("a2", "A").key("a").deferred(), "replaced").await;
    settles(&session).await;
    session.host.until(0, "the batch of a", |said| said.str().contains("\"a2\"")).await;
    session.host.until(0, "the batch of b", |said| said.str().contains("\"b1\"")).await;
    let mut given = session.host.given();
    given.sort();
    assert_eq!(given, ["C1", "C2", "RENDERED", "RENDERED"]);
    assert_eq!(renders(&session.producer).len(), 2);
}

/// Contract 8.8: joining adds no load.
#[tokio::test]
async fn a_notice_that_joins_takes_no_token_and_one_that_opens_a_batch_does() {
    let mut world = World::new().await.table("limits", "rate_per_s = 0.001\nburst = 2").start().await;
    let session = world.session().await;
    tells(&session, push("a1", "A").key("a").deferred().initial(), "first").await;
    for n in 2..10 {
        tells(&session, push(&format!("a{n}"), "A").key("a").deferred(), "replaced").await;
    }
    tells(&session, push("b1", "B").key("b").initial(), "first").await;
    tells(&session, push("b2", "B").key("b").deferred(), "replaced").await;
    let refused = session.push(push("c1", "C").key("c").deferred()).await;
    assert_eq!(refusal(&refused)["refusal"], json!("unavailable"), "{refused}");
    tells(&session, push("a10", "A").key("a").deferred(), "replaced").await;
    session.assemble().await;
    is_asked(&session.producer, 2).await;
}
