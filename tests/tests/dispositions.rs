//! What is told of one occurrence: the three facts, the revision and the history, in words that a person reads
//! (contract 9.2, 10.3).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

mod control;

use mcpl_tests::{Reply, Session, StreamSocket, World, outcome, push};
use serde_json::Value;

const BUSY: Reply = Reply::Error(-32030, "busy");

/// What `journal show` says, for people.
async fn page(world: &World, what: &str) -> String {
    let said = world.output(&["journal", "show", what, "--config", "sidecar.toml"]).await;
    assert!(said.status.success(), "{what}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

/// What `journal show --json` says.
async fn shown(world: &World, what: &str) -> Value {
    let said = world.output(&["journal", "show", what, "--config", "sidecar.toml", "--json"]).await;
    assert!(said.status.success(), "{what}: {}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).unwrap()
}

/// What `GET /v1/occurrences/{eventId}` says.
async fn asked(world: &World, event_id: &str) -> Value {
    let (status, told) = control::get(&world.state(), &format!("/v1/occurrences/{event_id}")).await;
    assert_eq!(status, 200, "{event_id}: {told}");
    told
}

/// Waits until it stands so, and gives what is told of it.
async fn becomes(world: &World, event_id: &str, state: &str) -> Value {
    let wanted = async {
        loop {
            let told = asked(world, event_id).await;
            if told["state"] == state {
                return told;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(mcpl_tests::PATIENCE, wanted).await.expect("it comes to stand so")
}

/// The four facts of an answer: delivery, decision with its reason, outcome, revision.
fn facts(told: &Value) -> [String; 4] {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let decision = &told["decision"];
    let reason = decision["reason"].as_str().map_or_else(String::new, |reason| format!(" ({reason})"));
    let revision = told["revision"].as_u64().expect("a revision").to_string();
    [text(&told["delivery"]), text(&decision["state"]) + &reason, text(&told["outcome"]), revision]
}

/// What an answer says in words: how it stands, then its history.
fn words(told: &Value) -> (&str, Vec<&str>) {
    let history = told["history"].as_array().expect("a history");
    let says = |past: &Value| past["says"].as_str().expect("it says something").to_owned();
    assert!(history.iter().all(|past| !says(past).is_empty()));
    (
        told["says"].as_str().expect("says"),
        history.iter().map(|past| past["says"].as_str().unwrap()).collect(),
    )
}

/// The page for people has the facts and the words of the answer for programs, each on its line.
async fn agree(world: &World, what: &str) -> Value {
    let (told, json, page) = (asked(world, what).await, shown(world, what).await, page(world, what).await);
    assert_eq!(facts(&told), facts(&json), "the two answers for programs");
    assert_eq!(told["says"], json["says"]);
    assert_eq!(told["history"], json["history"]);
    let id = told["id"].as_str().unwrap();
    assert!(page.starts_with(&format!("{id}: {}\n", told["says"].as_str().unwrap())), "{page}");
    for (name, value) in ["delivery", "decision", "outcome", "revision"].into_iter().zip(facts(&told)) {
        assert!(page.contains(&format!("\n  {name:<12} {value}\n")), "{name} {value}: {page}");
    }
    for past in told["history"].as_array().unwrap() {
        let revision =
            past["revision"].as_u64().map_or_else(String::new, |revision| format!("rev {revision}"));
        let line = format!(" {revision:<6} {}\n", past["says"].as_str().unwrap());
        assert!(page.contains(&line), "{line:?}: {page}");
    }
    told
}

/// A program that notes what happens from now on: somebody watches.
async fn watched(lines: &str) -> (World, Session) {
    let mut world =
        World::new().await.watched("").table("coalesce", "quiet_ms = 600000\nmax_hold_ms = 600000");
    if !lines.is_empty() {
        world = world.table("host", lines);
    }
    let mut world = world.start().await;
    let session = world.session().await;
    (world, session)
}

#[tokio::test]
async fn what_is_held_and_what_it_displaced_say_so() {
    let (world, session) = watched("").await;
    assert_eq!(outcome(&session.push(push("a", "A").key("k").initial()).await), Some("first"));
    session.push(push("b", "B").key("k")).await;
    session.push(push("c", "C").key("other").initial()).await;
    session.push(push("d", "D").key("other").retract()).await;
    let told = agree(&world, "b").await;
    assert_eq!(facts(&told), ["durably-received", "pending", "not-observed", "1"]);
    let (says, history) = words(&told);
    assert_eq!(says, "held: nothing asks for it yet; a newer one may still take its place");
    assert_eq!(history, ["accepted, and took the place of a"]);
    let told = agree(&world, "a").await;
    assert_eq!(facts(&told), ["failed", "stale (stale-objective)", "not-observed", "2"]);
    let (says, history) = words(&told);
    let b = told["replacedBy"]["id"].as_str().unwrap();
    assert_eq!(says, format!("displaced: b ({b}) took its place"));
    assert_eq!(history[0], "accepted, the first of its subject");
    assert!(history[1].starts_with("displaced: ") && history[1].contains(b), "{history:?}");
    let told = agree(&world, "c").await;
    assert_eq!(facts(&told), ["failed", "revoked (revoked)", "not-observed", "2"]);
    assert!(
        words(&told).0.starts_with("displaced: d (") && words(&told).0.ends_with("withdrew it"),
        "{told}"
    );
    let told = agree(&world, "d").await;
    assert_eq!(words(&told).0, "a withdrawal: it did its work, and the host is given nothing");
    assert!(words(&told).1[0].contains("it withdrew c"), "it took nobody's place: {told}");
}

#[tokio::test]
async fn what_was_tried_again_and_delivered_says_how_often() {
    let (world, session) = watched("").await;
    session.host.script.then(BUSY);
    session.push(push("a", "A").key("k").initial()).await;
    session.assemble().await;
    let told = becomes(&world, "a", "deferred").await;
    assert_eq!(facts(&told), ["durably-received", "deferred (backpressure)", "not-observed", "3"]);
    assert_eq!(words(&told).0, "the host could not take it yet; it is tried again");
    let told = becomes(&world, "a", "delivered").await;
    assert_eq!(facts(&told)[..3], ["adapter-submitted", "accepted (accepted)", "not-observed"]);
    assert_eq!(told["waits"], Value::Null, "it waits for nothing any more");
    agree(&world, "a").await;
}

#[tokio::test]
async fn what_is_refused_for_good_says_why_and_what_can_be_typed() {
    let (world, session) = watched("").await;
    session.host.script.then(Reply::Error(-32602, "no"));
    session.push(push("a", "A").key("k").initial()).await;
    session.assemble().await;
    becomes(&world, "a", "dead-letter").await;
    let told = agree(&world, "a").await;
    assert_eq!(facts(&told), ["failed", "rejected (other)", "not-observed", "3"]);
    assert_eq!(words(&told).0, "refused by the host for good: invalid");
    let page = page(&world, "a").await;
    let typed =
        page.lines().find_map(|line| line.trim().strip_prefix("mcpl-sidecar ")).expect("what to type");
    let typed = typed.split(" #").next().unwrap().trim();
    assert!(typed.starts_with("journal resolve ") && typed.contains(" --again --expect 3 "), "{typed}");
    let done = world.output(&typed.split(' ').collect::<Vec<_>>()).await;
    assert!(done.status.success(), "as it is printed: {}", String::from_utf8_lossy(&done.stderr));
    session.host.is_given("A").await;
    becomes(&world, "a", "delivered").await;
}

#[tokio::test]
async fn what_is_in_doubt_and_then_settled_says_who_settled_it() {
    let (mut world, mut session) = watched("dedup = \"none\"").await;
    // Whoever reads the stream has what happens noted from then on.
    let _reader = StreamSocket::open(world.admin_port()).await;
    session.host.script.always(Reply::Silence);
    session.push(push("a", "A").key("k").initial()).await;
    session.assemble_unanswered().await;
    session.host.is_given("A").await;
    session.host.close().await;
    becomes(&world, "a", "manual-reconciliation").await;
    let told = agree(&world, "a").await;
    assert_eq!(facts(&told), ["durably-received", "pending", "not-observed", "3"]);
    assert_eq!(words(&told).0, "given to the host, which never answered: say whether it has it");
    let page_ = page(&world, "a").await;
    for flag in ["--submitted", "--not-submitted", "--drop"] {
        assert!(page_.contains(&format!(" {flag} --expect 3 --config sidecar.toml ")), "{page_}");
    }
    let id = told["id"].as_str().unwrap();
    let resolve = ["journal", "resolve", id, "--submitted", "--expect", "2", "--config", "sidecar.toml"];
    let wrong = world.output(&resolve).await;
    assert_eq!(wrong.status.code(), Some(65));
    assert_eq!(agree(&world, "a").await, told, "nothing is changed by a word about another revision");
    let right = world.output(&resolve.map(|word| if word == "2" { "3" } else { word })).await;
    assert!(right.status.success());
    let told = agree(&world, "a").await;
    assert_eq!(facts(&told), ["adapter-submitted", "accepted (accepted)", "not-observed", "4"]);
    let before = facts(&told);
    let (_, history) = words(&told);
    let seen = [
        "accepted, the first of its subject",
        "given to the host",
        "given to the host, which never answered: say whether it has it",
        "an operator said that the host has it",
    ];
    assert_eq!(history, seen);
    for (at, past) in told["history"].as_array().unwrap().iter().enumerate() {
        assert_eq!(past["revision"], at + 1);
        assert!(past["at"].as_str().unwrap().ends_with('Z'), "{past}");
    }
    world.restart().await;
    world.says("listening", 2).await;
    // What it saw is gone with the process; what it wrote is not.
    let told = agree(&world, "a").await;
    assert_eq!(facts(&told), before);
    let (says, history) = words(&told);
    assert_eq!((says, history), ("delivered", vec!["accepted, the first of its subject", "delivered"]));
    assert_eq!(told["history"][1]["revision"], 4);
    assert!(!page(&world, "a").await.contains("journal resolve"), "nothing is to be settled any more");
}

#[tokio::test]
async fn what_nobody_knows_is_said_so() {
    let mut world = World::started().await;
    world.says("listening", 1).await;
    let (status, told) = control::get(&world.state(), "/v1/occurrences/never").await;
    assert_eq!(status, 404);
    assert!(told["hint"].as_str().unwrap().contains("retry_window_ms"), "{told}");
    let said = world.output(&["journal", "show", "never", "--config", "sidecar.toml"]).await;
    assert_eq!(said.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&said.stderr).contains("nothing is known of \"never\""));
}
