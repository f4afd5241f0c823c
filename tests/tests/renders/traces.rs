//! Content leaves nothing behind: not on disk once it is dealt with, and never in a log (contract 9.5, 12).

use std::path::Path;
use std::time::Duration;

use mcpl_tests::{PATIENCE, Render, World, push};
use rustix::process::Signal;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::scene::{answer, is_asked, notice, says, settles, tells};

const SECRETS: [&str; 8] = [
    "SECRET-DATA-DROPPED",
    "SECRET-DATA-KEPT",
    "SECRET-FALLBACK",
    "SECRET-RENDERED",
    "SECRET-DATA-WITHDRAWN",
    "SECRET-DATA-CANCELLED",
    "SECRET-LATE",
    "SECRET-UNFIT",
];

fn on_disk(folder: &Path, what: &str) -> bool {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).any(|entry| {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        bytes.windows(what.len()).any(|window| window == what.as_bytes())
    })
}

#[tokio::test]
async fn notices_and_what_was_rendered_leave_every_file_and_are_in_no_log() {
    let mut world = World::new().await.top("[telemetry]\nlog = \"trace\"").start().await;
    let session = world.session().await;
    let secret = |nth: usize| json!(SECRETS[nth]);
    // Given, with more notices than are kept.
    for n in 0..100 {
        let event = notice(&format!("n{n}"), SECRETS[2]).coalesce("data", secret(usize::from(n > 50)));
        tells(&session, event, if n == 0 { "first" } else { "replaced" }).await;
    }
    assert!(on_disk(&world.state(), SECRETS[1]), "it is looked for in the wrong place");
    session.producer.script.render(Render::Text(SECRETS[3]));
    session.assemble().await;
    session.host.is_given(SECRETS[3]).await;
    // Withdrawn, never given.
    tells(
        &session,
        push("w1", SECRETS[2]).key("w").deferred().initial().coalesce("data", secret(4)),
        "first",
    )
    .await;
    tells(&session, push("w2", "").key("w").retract(), "retracted").await;
    // Cancelled, and answered late with what cannot be used.
    session.producer.script.render(Render::Silence);
    tells(
        &session,
        push("c1", SECRETS[2]).key("c").deferred().initial().coalesce("data", secret(5)),
        "first",
    )
    .await;
    session.assemble().await;
    let render = is_asked(&session.producer, 2).await;
    tells(&session, push("c2", "").key("c").retract(), "retracted").await;
    session.producer.send(answer(&render, &says(SECRETS[6]))).await;
    session.producer.script.render(Render::Result(r#"{"content":{"SECRET-UNFIT":1}}"#));
    tells(&session, push("u", SECRETS[2]).key("u").deferred(), "first").await;
    settles(&session).await;
    session.host.is_given(SECRETS[2]).await;
    settles(&session).await;
    let end = Instant::now() + PATIENCE;
    while let Some(secret) = SECRETS.iter().find(|secret| on_disk(&world.state(), secret)) {
        assert!(Instant::now() < end, "{secret} is still on disk");
        sleep(Duration::from_millis(50)).await;
    }
    drop(session);
    world.program().signal(Signal::TERM);
    world.program().exit().await;
    let log = world.program().stderr();
    assert!(log.contains("was given up, or cancelled: discarded"), "a late answer is recorded as such");
    assert!(log.contains(", 1 renders answered late"), "{log}");
    assert!(!log.contains("SECRET"), "content is in the log");
}
