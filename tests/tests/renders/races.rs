//! What comes while a batch is rendered, or while what was rendered waits.

use mcpl_tests::{Reply, push};
use serde_json::{Value, json};

use super::scene::{
    answer, asked, ids, is_asked, nothing_is_left, notice, renders, says, session, settles, tells,
};

#[tokio::test]
async fn a_plain_event_during_a_render_takes_the_place_of_all_of_it() {
    let (_world, session, render) = asked().await;
    tells(&session, notice("n2", "FALLBACK 2"), "first").await;
    tells(&session, push("p", "PLAIN").key("k"), "replaced").await;
    session.producer.send(answer(&render, &says("LATE"))).await;
    session.sync().await;
    assert_eq!(session.host.given(), Vec::<String>::new(), "it waits for a reason of its own");
    settles(&session).await;
    assert_eq!(session.host.given(), ["PLAIN"]);
    assert_eq!(renders(&session.producer).len(), 1);
}

#[tokio::test]
async fn a_withdrawal_during_a_render_takes_all_of_it_away() {
    let (world, session, render) = asked().await;
    tells(&session, notice("n2", "FALLBACK 2"), "first").await;
    tells(&session, push("w", "DELETED").key("k").retract(), "retracted").await;
    tells(&session, notice("n3", "FALLBACK 3"), "first").await;
    session.producer.send(answer(&render, &says("LATE"))).await;
    session.sync().await;
    assert_eq!(world.listed(&[]).await.len(), 1, "the notice after it is new work");
    settles(&session).await;
    session.host.is_given("RENDERED").await;
    assert_eq!(session.host.given(), ["RENDERED"]);
    let asked = renders(&session.producer);
    assert_eq!((asked.len(), ids(&asked[1])), (2, vec!["n3"]));
}

/// What was rendered is a delta that nobody tells twice.
#[tokio::test]
async fn a_notice_does_not_displace_what_was_rendered() {
    let (_world, session, render) = asked().await;
    session.host.script.then(Reply::Result(
        json!({"accepted": false, "refusal": "unavailable", "retryable": true, "retryAfterMs": 400}),
    ));
    session.producer.send(answer(&render, &says("ONE"))).await;
    session.host.is_given("ONE").await;
    session.sync().await;
    tells(&session, notice("n2", "FALLBACK 2"), "first").await;
    tells(&session, notice("n3", "FALLBACK 3"), "replaced").await;
    settles(&session).await;
    session.host.is_given("RENDERED").await;
    settles(&session).await;
    assert_eq!(session.host.given(), ["ONE", "ONE", "RENDERED"]);
    let asked = renders(&session.producer);
    assert_eq!((asked.len(), ids(&asked[1])), (2, vec!["n2", "n3"]));
}

#[tokio::test]
async fn a_plain_event_or_a_withdrawal_displaces_what_was_rendered() {
    for withdrawn in [false, true] {
        let (world, session, render) = asked().await;
        let wait =
            json!({"accepted": false, "refusal": "unavailable", "retryable": true, "retryAfterMs": 300});
        session.host.script.then(Reply::Result(wait));
        session.producer.send(answer(&render, &says("ONE"))).await;
        session.host.is_given("ONE").await;
        session.sync().await;
        tells(&session, notice("n2", "FALLBACK 2"), "first").await;
        if withdrawn {
            tells(&session, push("w", "DELETED").key("k").retract(), "retracted").await;
            nothing_is_left(&world).await;
            settles(&session).await;
            assert_eq!(session.host.given(), ["ONE"]);
        } else {
            tells(&session, push("p", "PLAIN").key("k"), "replaced").await;
            session.host.is_given("PLAIN").await;
            settles(&session).await;
            assert_eq!(session.host.given(), ["ONE", "PLAIN"]);
        }
        assert_eq!(renders(&session.producer).len(), 1);
    }
}

/// Authority is checked again before anything comes of a batch.
#[tokio::test]
async fn authority_that_lapses_during_a_render_drops_the_batch() {
    let (world, session, render) = asked().await;
    session.host_asks("featureSets/update", &json!({"effectiveCapabilities": [], "enabled": []})).await;
    session.producer.send(answer(&render, &says("ONE"))).await;
    settles(&session).await;
    assert_eq!(session.host.given(), Vec::<String>::new());
    nothing_is_left(&world).await;
}

#[tokio::test]
async fn a_batch_whose_authority_is_gone_is_not_rendered() {
    let (world, session) = session().await;
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    session.host_asks("featureSets/update", &json!({"effectiveCapabilities": ["tools"]})).await;
    settles(&session).await;
    assert_eq!(renders(&session.producer), Vec::<Value>::new());
    assert_eq!(session.host.given(), Vec::<String>::new());
    nothing_is_left(&world).await;
}

/// A retry of a notice is a retry, whatever became of its batch.
#[tokio::test]
async fn a_notice_that_is_sent_again_joins_nothing() {
    let (_world, session, render) = asked().await;
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    session.producer.send(answer(&render, &says("ONE"))).await;
    session.host.is_given("ONE").await;
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    settles(&session).await;
    tells(&session, notice("n2", "FALLBACK 2"), "first").await;
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    settles(&session).await;
    is_asked(&session.producer, 2).await;
    session.host.is_given("RENDERED").await;
    assert_eq!(session.host.given(), ["ONE", "RENDERED"]);
    assert_eq!(ids(&renders(&session.producer)[1]), ["n2"]);
}
