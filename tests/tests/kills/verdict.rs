//! The end of a course: a host that takes everything, and an account of every occurrence.

use std::collections::HashMap;

use mcpl_tests::World;
use serde_json::Value;
use tokio::time::{Duration, Instant, sleep};

use crate::host::Model;
use crate::load::{Load, Occurrence, Part};

const PATIENCE: Duration = Duration::from_mins(1);

fn text<'a>(account: &'a Value, name: &str) -> &'a str {
    account[name].as_str().unwrap_or_default()
}

/// Waits until nothing is left to do but what is an operator's.
async fn at_rest(world: &World) -> Vec<Value> {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = world.listed(&[]).await;
        if left.iter().all(|account| account["state"] == "manual-reconciliation") {
            return left;
        }
        let dead = left.iter().any(|account| account["state"] == "dead-letter");
        assert!(!dead && Instant::now() < end, "it does not come to rest: {left:#?}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// After a kill: of whatever reached the host in its last session the journal knows that it left (contract 9.3).
pub(crate) async fn knows_what_left(world: &World, model: &Model) {
    let mut given = model.given();
    for account in world.listed(&["--all"]).await {
        let unavailable = given.remove(text(&account, "eventId"));
        let wrong = match text(&account, "state") {
            "held" => unavailable.is_some(),
            "deferred" => unavailable == Some(false),
            _ => false,
        };
        assert!(!wrong, "the host was given it, and the journal says: {account}");
    }
    given.retain(|id, _| id.starts_with('e'));
    assert!(given.is_empty(), "the host was given them, and the journal knows nothing of it: {given:?}");
}

/// How often each was shown, by `eventId`, and in what order first.
fn shown(model: &Model) -> HashMap<String, usize> {
    let mut times = HashMap::new();
    for id in model.shown() {
        *times.entry(id).or_default() += 1;
    }
    times
}

/// Asserts everything that was promised.
pub(crate) async fn settle(world: &mut World, model: &Model, load: &mut Load, resends: bool) {
    let session = load.session(world, model, Part::Stay, 0).await;
    session.assemble().await;
    let doubtful = at_rest(world).await;
    model.content();
    assert!(!resends || doubtful.is_empty(), "{doubtful:#?}");
    account_for(world, model, load, resends).await;
    settle_doubt(world, model, &doubtful).await;
    session.assemble().await;
    assert_eq!(at_rest(world).await, Vec::<Value>::new(), "what was settled is still open");
    model.content();
    let times = shown(model);
    for account in &doubtful {
        assert_eq!(times.get(text(account, "eventId")), Some(&1), "in doubt, then settled: {account}");
    }
    // The host had most of them settled before the end, or nothing above means much.
    assert!(model.settled() > load.all.len() / 50, "{} settled of {}", model.settled(), load.all.len());
    eprintln!("{}; {} shown, {} in doubt at the end", load.stand(), model.shown().len(), doubtful.len());
}

/// Every occurrence ended as its account says, and the host's memory agrees.
async fn account_for(world: &World, model: &Model, load: &Load, resends: bool) {
    let accounts: HashMap<String, Value> = world
        .listed(&["--all"])
        .await
        .into_iter()
        .map(|account| (text(&account, "eventId").to_owned(), account))
        .collect();
    let nth: HashMap<&str, usize> =
        load.all.iter().enumerate().map(|(nth, it)| (it.event_id.as_str(), nth)).collect();
    let times = shown(model);
    for (at, occurrence) in load.all.iter().enumerate() {
        let id = occurrence.event_id.as_str();
        let Some(account) = accounts.get(id) else { panic!("{id} was accepted, and nobody knows of it") };
        let often = times.get(id).copied().unwrap_or_default();
        match text(account, "state") {
            "delivered" if resends => assert!(often >= 1, "{id} never reached the host: {account}"),
            "delivered" => assert_eq!(often, 1, "{id} was shown so often: {account}"),
            "manual-reconciliation" => assert!(often <= 1, "{id} was shown {often} times: {account}"),
            state @ ("replaced" | "withdrawn") => {
                assert_eq!(often, 0, "{id} was shown, but: {account}");
                let by = if state == "replaced" { "replacedBy" } else { "withdrawnBy" };
                let by = account[by]["eventId"].as_str();
                let of_subject = |other: &Occurrence| other.subject == occurrence.subject;
                let later = match by.and_then(|by| nth.get(by)) {
                    Some(&later) => later,
                    // A withdrawal with nothing to tell ends with itself.
                    None if occurrence.retract => continue,
                    // It was out when the newer one came.
                    None => (at + 1..load.all.len())
                        .find(|&other| of_subject(&load.all[other]))
                        .unwrap_or_else(|| panic!("{id} gave way to nothing: {account}")),
                };
                assert!(later > at, "{id} gave way to an older one: {account}");
                assert!(of_subject(&load.all[later]), "{id} gave way to another subject: {account}");
                assert!(accounts.contains_key(&load.all[later].event_id), "{id}: {account}");
            }
            _ => panic!("{id} ended otherwise: {account}"),
        }
    }
}

/// The operator asks the host, and says what it says.
async fn settle_doubt(world: &World, model: &Model, doubtful: &[Value]) {
    let times = shown(model);
    for account in doubtful {
        let word =
            if times.contains_key(text(account, "eventId")) { "--submitted" } else { "--not-submitted" };
        let revision = account["revision"].to_string();
        let arguments = [
            "journal",
            "resolve",
            "--config",
            "sidecar.toml",
            text(account, "id"),
            word,
            "--expect",
            &revision,
        ];
        let said = world.output(&arguments).await;
        assert!(said.status.success(), "{account}: {}", String::from_utf8_lossy(&said.stderr));
    }
}
