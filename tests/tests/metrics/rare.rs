//! What takes a slow disk or a pace to happen.

use mcpl_tests::{World, outcome, push};
use serde_json::json;

use super::{MAIN, watched};

#[tokio::test]
async fn a_message_that_goes_ahead_of_held_work_is_counted_once() {
    let world = World::new().await.top("journal_wait_ms = 50");
    let mut watched = watched(world).await;
    let session = watched.world.session().await;
    // Whoever writes to the journal's file keeps the program waiting, as a slow disk does.
    let file = watched.world.state().join("journal.db");
    let slow = rusqlite::Connection::open(file).expect("the journal");
    slow.execute_batch("BEGIN IMMEDIATE").expect("the only writer");
    let held = push("a1", "HELD").key("a").initial().params();
    let held = json!({"jsonrpc": "2.0", "id": "held", "method": "push/event", "params": held});
    let mark = session.producer.count();
    session.producer.send(held.to_string()).await;
    // It was read: what comes behind it passes.
    session.producer_asks("ping", &json!({})).await;
    session.assemble_unanswered().await;
    let ahead = |scrape: &super::Scrape| scrape.value("mcpl_journal_overtaken_total", &[MAIN]) == 1.0;
    watched.scrape_until("it went ahead", ahead).await;
    slow.execute_batch("ROLLBACK").expect("it ends");
    let answer = session.producer.answer(mark, "\"held\"").await;
    assert_eq!(outcome(&answer.json()), Some("first"));
    session.host.is_given("HELD").await;
    assert!(ahead(&watched.scrape().await));
}

#[tokio::test]
async fn work_that_waits_for_the_pace_is_counted() {
    let world = World::new()
        .await
        .table("coalesce", "quiet_ms = 600000\nmax_hold_ms = 1")
        .table("limits", "forward_rate_per_s = 0.5");
    let mut watched = watched(world).await;
    let session = watched.world.session().await;
    for id in ["a", "b", "c"] {
        assert_eq!(outcome(&session.push(push(id, id).key(id).initial()).await), Some("first"));
    }
    session.host.is_given("a").await;
    // The second is due, and there is no room for two seconds.
    let waits = |scrape: &super::Scrape| scrape.value("mcpl_forward_waits_total", &[MAIN]) == 1.0;
    watched.scrape_until("it waits", waits).await;
    assert_eq!(session.host.given(), ["a"]);
}
