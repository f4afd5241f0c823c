//! What the tests of renders have in common.

use std::sync::Arc;
use std::time::Duration;

use mcpl_tests::{PATIENCE, Producer, Push, Render, Said, Session, World, outcome, push};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

pub(crate) const RENDER: &str = "push/render";

/// A notice of subject `k`.
pub(crate) fn notice(event_id: &str, text: &str) -> Push {
    push(event_id, text).key("k").deferred()
}

pub(crate) async fn session() -> (World, Session) {
    let mut world = World::started().await;
    let session = world.session().await;
    (world, session)
}

/// A session whose producer has a render of the batch `n1` that it does not answer by itself.
pub(crate) async fn asked() -> (World, Session, Arc<Said>) {
    let (world, session) = session().await;
    session.producer.script.render(Render::Silence);
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    session.assemble().await;
    let render = is_asked(&session.producer, 1).await;
    (world, session, render)
}

/// The producer pushes, and is told this outcome.
pub(crate) async fn tells(session: &Session, event: Push, as_what: &str) {
    let answer = session.push(event).await;
    assert_eq!(outcome(&answer), Some(as_what), "{answer}");
}

pub(crate) fn is_render(said: &Said) -> bool {
    said.method().as_deref() == Some(RENDER)
}

/// Waits for the producer's `nth` render.
pub(crate) async fn is_asked(producer: &Producer, nth: usize) -> Arc<Said> {
    let mut left = nth;
    let found = |said: &Said| {
        left -= usize::from(is_render(said));
        left == 0
    };
    producer.until(0, &format!("render number {nth}"), found).await
}

/// What the producer was asked to render so far.
pub(crate) fn renders(producer: &Producer) -> Vec<Value> {
    let lines = producer.since(0);
    lines.iter().filter(|said| is_render(said)).map(|said| said.json()["params"].clone()).collect()
}

/// The ids of a render's notices.
pub(crate) fn ids(params: &Value) -> Vec<&str> {
    let notices = params["notices"].as_array().expect("notices");
    notices.iter().map(|notice| notice["eventId"].as_str().expect("an eventId")).collect()
}

/// The answer to a render, as text: `outcome` is its `"result":…` or `"error":…`.
pub(crate) fn answer(render: &Said, outcome: &str) -> String {
    let id = render.raw("id").expect("a render is a request");
    format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#)
}

/// A result with one block of text.
pub(crate) fn says(text: &str) -> String {
    format!(r#""result":{}"#, json!({"content": [{"type": "text", "text": text}]}))
}

/// Waits until the journal holds nothing any more.
pub(crate) async fn nothing_is_left(world: &World) {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = world.listed(&[]).await;
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "something is left: {left:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// A second reason to give everything that is held, and all that may have come of it has arrived.
pub(crate) async fn settles(session: &Session) {
    session.assemble().await;
    session.sync().await;
}
