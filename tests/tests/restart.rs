//! What a kill and a new start leave as it was (contract sections 6.2, 9.2 to 9.5).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use mcpl_tests::{PATIENCE, Reply, Session, World, message, outcome, push};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

async fn again(world: &mut World) -> Session {
    world.restart().await;
    world.session().await
}

/// Whatever the host has answered is on disk: something that was accepted after it was read is.
async fn durable(session: &Session) {
    session.sync().await;
    let answer = session.push(push("barrier", "").key("barrier").retract()).await;
    assert_eq!(outcome(&answer), Some("consumed"), "{answer}");
}

/// How the occurrence stands.
async fn shown(world: &World, event_id: &str) -> Value {
    let said = world.output(&["journal", "show", event_id, "--config", "sidecar.toml", "--json"]).await;
    assert!(said.status.success(), "{event_id}: {}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).expect("an object")
}

#[tokio::test]
async fn held_work_is_there_after_a_kill_and_a_retry_gets_its_first_answer() {
    let mut world = World::started().await;
    let session = world.session().await;
    let first = session.push(push("e1", "ONE").key("k").initial()).await;
    let second = session.push(push("e2", "TWO").key("k")).await;
    let mine = session.incoming([message("m1", "MESSAGE").key("m", "e3")]).await;
    let session = again(&mut world).await;
    let retried = session.push(push("e1", "ONE").key("k").initial()).await;
    assert_eq!(retried["result"], first["result"]);
    let retried = session.push(push("e2", "TWO").key("k")).await;
    assert_eq!(retried["result"], second["result"]);
    let retried = session.incoming([message("m1", "MESSAGE").key("m", "e3")]).await;
    assert_eq!(retried["result"], mine["result"]);
    let conflict = session.push(push("e2", "OTHER").key("k")).await;
    assert_eq!(conflict["error"]["data"]["reason"], json!("event_id_conflict"), "{conflict}");
    assert_eq!(outcome(&session.push(push("e4", "FOUR").key("k")).await), Some("replaced"));
    session.assemble().await;
    assert_eq!(session.host.given(), ["MESSAGE", "FOUR"]);
    // Delivered is delivered.
    durable(&session).await;
    let session = again(&mut world).await;
    assert_eq!(outcome(&session.push(push("e5", "FIVE").key("k")).await), Some("appended"));
    session.assemble().await;
    assert_eq!(session.host.given(), ["FIVE"]);
}

#[tokio::test]
async fn what_expires_while_nobody_runs_is_never_released() {
    let mut world = World::started().await;
    let session = world.session().await;
    let soon = rfc3339(Duration::from_millis(1200));
    let event = push("e1", "EXPIRES").key("k1").initial().with("expiresAt", json!(soon));
    assert_eq!(outcome(&session.push(event).await), Some("first"));
    session.push(push("e2", "STAYS").key("k2").initial()).await;
    world.kill().await;
    assert_eq!(shown(&world, "e1").await["state"], json!("held"));
    sleep(Duration::from_millis(1300)).await;
    let session = again(&mut world).await;
    session.assemble().await;
    session.host.is_given("STAYS").await;
    durable(&session).await;
    assert_eq!(session.host.given(), ["STAYS"]);
    let account = shown(&world, "e1").await;
    assert_eq!(account["state"], json!("expired"), "{account}");
    assert_eq!((&account["delivery"], &account["decision"]["state"]), (&json!("expired"), &json!("expired")));
}

/// So much from now, as RFC 3339 in UTC.
fn rfc3339(from_now: Duration) -> String {
    let at = std::time::SystemTime::now() + from_now;
    let said = std::process::Command::new("date")
        .args(["-u", "+%Y-%m-%dT%H:%M:%S.%NZ", "-d"])
        .arg(format!("@{}", at.duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs_f64()))
        .output()
        .expect("date runs");
    String::from_utf8(said.stdout).expect("text").trim().to_owned()
}

/// One event of each lane that a deaf host was given before the program was killed.
async fn doubtful(world: &mut World) {
    let session = world.session().await;
    session.host.script.always(Reply::Silence);
    session.push(push("e1", "PUSH").key("k1").initial()).await;
    session.incoming([message("m1", "MESSAGE").key("m1", "e2")]).await;
    session.assemble().await;
    session.host.is_given("PUSH").await;
    session.host.is_given("MESSAGE").await;
    world.kill().await;
    for id in ["e1", "e2"] {
        let account = shown(world, id).await;
        assert_eq!(account["state"], json!("outcome-unknown"), "{account}");
    }
}

#[tokio::test]
async fn in_doubt_over_a_kill_is_settled_by_the_lane() {
    let mut world = World::started().await;
    doubtful(&mut world).await;
    world.restart().await;
    let host = world.host().await;
    host.script.always(Reply::Refuse("duplicate"));
    let session = Session::open(host, &mut world).await;
    let sent = session.host.is_given("PUSH").await;
    assert_eq!(sent.json()["params"]["eventId"], json!("e1"));
    session.assemble().await;
    assert_eq!(session.host.given(), ["PUSH"], "the lane without dedup was given it again");
    durable(&session).await;
    assert_eq!(shown(&world, "e1").await["state"], json!("delivered"));
    let account = shown(&world, "e2").await;
    assert_eq!(account["state"], json!("manual-reconciliation"), "{account}");

    // Two see it, and both decide: the second is told that it changed.
    let (id, revision) = (account["id"].as_str().expect("an id"), account["revision"].to_string());
    let resolve =
        ["journal", "resolve", id, "--not-submitted", "--expect", &revision, "--config", "sidecar.toml"];
    let said = world.output(&resolve).await;
    assert_eq!(said.status.code(), Some(0), "{}", String::from_utf8_lossy(&said.stderr));
    let late = world.output(&resolve).await;
    assert_eq!(late.status.code(), Some(65), "{}", String::from_utf8_lossy(&late.stderr));
    session.host.is_given("MESSAGE").await;
}

#[tokio::test]
async fn in_doubt_over_a_kill_is_sent_again_where_it_is_told_to() {
    let mut world = World::new().await.table("host", "in_doubt = \"resend\"").start().await;
    doubtful(&mut world).await;
    let session = again(&mut world).await;
    session.host.is_given("PUSH").await;
    session.host.is_given("MESSAGE").await;
    durable(&session).await;
    let session = again(&mut world).await;
    session.assemble().await;
    assert_eq!(session.host.given(), Vec::<String>::new(), "what was answered came again");
}

#[tokio::test]
async fn content_that_was_withdrawn_or_delivered_leaves_every_file() {
    let mut world = World::started().await;
    let session = world.session().await;
    let secrets = ["SECRET-WITHDRAWN", "SECRET-REPLACED", "SECRET-DELIVERED"];
    session.push(push("e1", secrets[0]).key("k1").initial()).await;
    session.push(push("e2", secrets[1]).key("k2").initial()).await;
    session.push(push("e3", "HELD").key("k3").initial()).await;
    session.sync().await;
    let there = |what: &str| files(&world.state()).iter().any(|(_, bytes)| contains(bytes, what.as_bytes()));
    assert!(there(secrets[0]) && there(secrets[1]), "this test looks in the wrong place");
    session.push(push("e4", "").key("k1").retract()).await;
    session.push(push("e5", secrets[2]).key("k2")).await;
    session.assemble().await;
    session.host.is_given(secrets[2]).await;
    session.push(push("e6", "STILL HELD").key("k3")).await;
    session.sync().await;
    // Nothing more is asked of it: it is idle.
    let end = Instant::now() + PATIENCE;
    while let Some(secret) = secrets.iter().find(|secret| there(secret)) {
        assert!(Instant::now() < end, "{secret} is still on disk");
        sleep(Duration::from_millis(50)).await;
    }
    drop(session);
    world.program().signal(Signal::TERM);
    world.program().exit().await;
    for secret in secrets {
        assert!(
            !files(&world.state()).iter().any(|(_, bytes)| contains(bytes, secret.as_bytes())),
            "{secret}"
        );
    }
}

#[tokio::test]
async fn state_is_for_its_owner_alone() {
    let mut world = World::new().await.behind(["sh", "-c", "umask 0; exec \"$0\" \"$@\""]).start().await;
    let session = world.session().await;
    session.push(push("e1", "HELD").key("k").initial()).await;
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&world.state()), 0o700);
    let names = files(&world.state());
    assert!(
        names.iter().any(|(name, _)| name == "journal.db-wal"),
        "{:?}",
        names.iter().map(|(name, _)| name)
    );
    for (name, _) in names {
        let mode = mode(&world.state().join(&name));
        assert_eq!(mode, 0o600, "{name}: {mode:o}");
    }
    let control = world.state().join("control");
    assert_eq!(mode(&control), 0o600, "control");
}

/// Every regular file of a folder, by name; as it is at this moment.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let regular = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    regular
        .map(|entry| {
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect()
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}
