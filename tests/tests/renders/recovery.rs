//! Batches outlive sessions and the program.

use mcpl_tests::{Render, Reply, Session, World, push};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::scene::{
    answer, asked, ids, is_asked, nothing_is_left, notice, renders, says, session, settles, tells,
};

/// Nothing of a subject is given, asked or kept any more.
async fn is_over(world: &World, session: &Session, given: &[&str], asked: usize) {
    settles(session).await;
    assert_eq!(session.host.given(), given);
    assert_eq!(renders(&session.producer).len(), asked);
    nothing_is_left(world).await;
}

#[tokio::test]
async fn after_a_kill_every_notice_of_a_pending_batch_comes_back() {
    let (mut world, session) = session().await;
    for n in 0..70 {
        let event = notice(&format!("n{n}"), &format!("FALLBACK {n}")).initial();
        tells(&session, event.coalesce("data", json!({"n": n})), if n == 0 { "first" } else { "replaced" })
            .await;
    }
    world.restart().await;
    let again = world.session().await;
    tells(&again, notice("n70", "FALLBACK 70"), "replaced").await;
    again.assemble().await;
    is_asked(&again.producer, 1).await;
    let asked = &renders(&again.producer)[0];
    let expected: Vec<String> = (7..71).map(|n| format!("n{n}")).collect();
    assert_eq!((ids(asked), &asked["dropped"]), (expected.iter().map(String::as_str).collect(), &json!(7)));
    assert_eq!(asked["notices"][0]["data"], json!({"n": 7}));
    again.host.is_given("RENDERED").await;
    is_over(&world, &again, &["RENDERED"], 1).await;
    // A retry of the first of them, from before the kill.
    tells(&again, notice("n0", "FALLBACK 0").initial().coalesce("data", json!({"n": 0})), "first").await;
    is_over(&world, &again, &["RENDERED"], 1).await;
}

#[tokio::test]
async fn a_kill_during_a_render_leaves_the_fallback_and_nobody_is_asked_again() {
    let (mut world, session, _) = asked().await;
    tells(&session, notice("n2", "FALLBACK 2"), "first").await;
    world.restart().await;
    drop(session);
    let again = world.session().await;
    again.assemble().await;
    again.host.is_given("FALLBACK").await;
    again.sync().await;
    again.assemble().await;
    again.host.is_given("RENDERED").await;
    assert_eq!(ids(&renders(&again.producer)[0]), ["n2"]);
    is_over(&world, &again, &["FALLBACK", "RENDERED"], 1).await;
}

#[tokio::test]
async fn a_kill_while_rendered_content_waits_loses_nothing_of_it() {
    let (mut world, session, render) = asked().await;
    let wait = json!({"accepted": false, "refusal": "unavailable", "retryable": true, "retryAfterMs": 2_000});
    session.host.script.then(Reply::Result(wait));
    session.producer.send(answer(&render, &says("ONE"))).await;
    session.host.is_given("ONE").await;
    session.sync().await;
    tells(&session, notice("n2", "FALLBACK 2"), "first").await;
    world.restart().await;
    drop(session);
    let again = world.session().await;
    tells(&again, notice("n3", "FALLBACK 3"), "replaced").await;
    again.assemble().await;
    again.host.is_given("ONE").await;
    again.assemble().await;
    again.host.is_given("RENDERED").await;
    assert_eq!(ids(&renders(&again.producer)[0]), ["n2", "n3"]);
    is_over(&world, &again, &["ONE", "RENDERED"], 1).await;
}

/// In doubt, on a lane on which the host drops what it has had: the same again, and no second render.
#[tokio::test]
async fn what_was_rendered_and_never_answered_for_is_sent_again_as_it_was() {
    let (mut world, session, render) = asked().await;
    session.host.script.then(Reply::Silence);
    session.producer.send(answer(&render, &says("ONE"))).await;
    let first = session.host.is_given("ONE").await.json();
    world.restart().await;
    drop(session);
    let again = world.session().await;
    let second = again.host.is_given("ONE").await.json();
    assert_eq!(first["params"], second["params"]);
    is_over(&world, &again, &["ONE"], 0).await;
}

/// An answer that is on disk with nothing of it is no fallback after a kill.
#[tokio::test]
async fn after_a_kill_nothing_is_left_of_what_was_rendered_empty() {
    let (mut world, session, render) = asked().await;
    session.producer.send(answer(&render, r#""result":{"content":[]}"#)).await;
    session.sync().await;
    nothing_is_left(&world).await;
    world.restart().await;
    drop(session);
    let again = world.session().await;
    is_over(&world, &again, &[], 0).await;
}

#[tokio::test]
async fn a_cancelled_render_stays_cancelled_after_a_kill() {
    for withdrawn in [false, true] {
        let (mut world, session, _) = asked().await;
        tells(&session, notice("n2", "FALLBACK 2"), "first").await;
        let event = push("x", "PLAIN").key("k");
        let (event, outcome) = if withdrawn { (event.retract(), "retracted") } else { (event, "replaced") };
        tells(&session, event, outcome).await;
        world.restart().await;
        drop(session);
        let again = world.session().await;
        settles(&again).await;
        let given: &[&str] = if withdrawn { &[] } else { &["PLAIN"] };
        is_over(&world, &again, given, 0).await;
    }
}

/// A host that reconnects ends the session, not the batch.
#[tokio::test]
async fn a_pending_batch_waits_for_the_next_session() {
    let (mut world, session) = session().await;
    tells(&session, notice("n1", "FALLBACK 1").initial(), "first").await;
    drop(session);
    let again = world.session().await;
    tells(&again, notice("n2", "FALLBACK 2"), "replaced").await;
    settles(&again).await;
    again.host.is_given("RENDERED").await;
    assert_eq!(ids(&renders(&again.producer)[0]), ["n1", "n2"]);
    is_over(&world, &again, &["RENDERED"], 1).await;
}

/// A drain is a reason to release, and it waits for what it asked for.
#[tokio::test]
async fn while_the_program_ends_batches_are_rendered_and_given() {
    let (mut world, session) = session().await;
    session.producer.script.render(Render::Silence);
    tells(&session, notice("n1", "FALLBACK 1").initial(), "first").await;
    tells(&session, push("o", "FALLBACK O").key("other").deferred(), "first").await;
    world.program().signal(Signal::TERM);
    let render = is_asked(&session.producer, 1).await;
    session.host.is_given("RENDERED").await;
    session.producer.send(answer(&render, &says("SLOW"))).await;
    session.host.is_given("SLOW").await;
    session.host.ended().await;
    assert_eq!(world.program().exit().await.code(), Some(0));
    assert_eq!(session.host.given(), ["RENDERED", "SLOW"]);
    nothing_is_left(&world).await;
}

/// Nobody answers: the drain ends with the fallback.
#[tokio::test]
async fn while_the_program_ends_an_unanswered_render_leaves_the_fallback() {
    let coalesce = "quiet_ms = 60000\nmax_hold_ms = 600000\nrender_timeout_ms = 500";
    let mut world = World::new().await.table("coalesce", coalesce).start().await;
    let session = world.session().await;
    session.producer.script.render(Render::Silence);
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    world.program().signal(Signal::TERM);
    is_asked(&session.producer, 1).await;
    session.host.is_given("FALLBACK").await;
    session.host.ended().await;
    assert_eq!(world.program().exit().await.code(), Some(0));
    nothing_is_left(&world).await;
}

/// It is not worth the whole drain, and not lost either.
#[tokio::test]
async fn a_render_that_outlasts_the_drain_is_given_as_its_fallback_by_the_next_run() {
    let coalesce = "quiet_ms = 60000\nmax_hold_ms = 600000\nrender_timeout_ms = 3600000";
    let mut world = World::new().await.table("coalesce", coalesce).start().await;
    let session = world.session().await;
    session.producer.script.render(Render::Silence);
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    world.program().signal(Signal::TERM);
    is_asked(&session.producer, 1).await;
    assert_eq!(world.program().exit().await.code(), Some(0));
    let given = session.host.given();
    world.restart().await;
    let again = world.session().await;
    settles(&again).await;
    let given = [given, again.host.given()].concat();
    assert_eq!(given, ["FALLBACK"]);
    assert_eq!(renders(&again.producer), Vec::<Value>::new());
}

/// Its newest notice's time is the batch's.
#[tokio::test]
async fn a_batch_ends_with_the_time_of_its_newest_notice() {
    let (world, session) = session().await;
    let ends = |event: mcpl_tests::Push, at: &str| event.with("expiresAt", json!(at));
    tells(&session, ends(notice("n1", "F").initial(), "2101-01-01T00:00:00Z"), "first").await;
    tells(&session, notice("n2", "F"), "replaced").await;
    tells(&session, ends(notice("n3", "F"), "2001-01-01T00:00:00Z"), "replaced").await;
    is_over(&world, &session, &[], 0).await;
    tells(&session, ends(notice("n4", "F"), "2001-01-01T00:00:00Z"), "first").await;
    is_over(&world, &session, &[], 0).await;
    let later = ends(notice("n5", "F"), "2101-01-01T00:00:00Z");
    tells(&session, later, "first").await;
    session.assemble().await;
    let given = session.host.is_given("RENDERED").await.json();
    assert_eq!(given["params"]["expiresAt"], json!("2101-01-01T00:00:00Z"), "it is passed on");
    is_over(&world, &session, &["RENDERED"], 1).await;
}

#[tokio::test]
async fn an_operator_sees_a_pending_batch_and_what_it_stands_for() {
    let (world, session) = session().await;
    for n in 0..66 {
        let event = notice(&format!("n{n}"), "SECRET FALLBACK").coalesce("data", json!("SECRET DATA"));
        tells(&session, event, if n == 0 { "first" } else { "replaced" }).await;
    }
    let listed = world.listed(&[]).await;
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["eventId"], json!("n65"), "{listed:?}");
    assert_eq!(listed[0]["batch"], json!({"notices": 66, "kept": 64}), "{listed:?}");
    assert_eq!(listed[0]["delivery"], json!("durably-received"), "{listed:?}");
    assert!(!json!(listed).to_string().contains("SECRET"), "{listed:?}");
    session.producer.script.render(Render::Silence);
    session.assemble().await;
    is_asked(&session.producer, 1).await;
    let listed = world.listed(&[]).await;
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].get("batch"), None, "it is rendered: {listed:?}");
}
