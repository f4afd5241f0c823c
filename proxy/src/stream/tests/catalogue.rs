//! What there is, what the documentation says there is, and what is told, are the same.

use std::collections::BTreeSet;

use mcpl_codec::Refusal;
use mcpl_policy::fate::Deferral;
use serde_json::Value;

use super::*;
use crate::stream::catalogue::{Delivery, Kind, TYPES};
use crate::stream::entry::Entry;

const PAGE: &str = include_str!("../../../../docs/stream.md");

fn fates() -> Vec<Fate> {
    vec![
        Fate::Held,
        Fate::Deferred(Deferral::Backpressure),
        Fate::Submitted,
        Fate::SubmittedAfter(Deferral::Other),
        Fate::InDoubt,
        Fate::InDoubtAfter(Deferral::Other),
        Fate::Delivered,
        Fate::Replaced,
        Fate::Withdrawn,
        Fate::Empty,
        Fate::Lapsed,
        Fate::Dropped,
        Fate::Expired,
        Fate::Dead(Refusal::not_permitted()),
    ]
}

/// Every observation of every fate, with all that can be known.
fn observations() -> Vec<Observation> {
    let producer: Arc<str> = "chat".into();
    let mut all = Vec::new();
    for fate in fates() {
        for (handed, operator) in [(false, false), (true, false), (true, true)] {
            let displaced = matches!(fate, Fate::Replaced | Fate::Withdrawn);
            let open = !fate.is_end() || matches!(fate, Fate::Dead(_));
            let of = Seen {
                fate: fate.clone(),
                open,
                waits: if open { Waits::of(&fate, false) } else { None },
                handed,
                operator,
                by: if displaced { 9 } else { 0 },
                prior: Some("e0".into()),
                not_before_ms: if open { 9_000 } else { 0 },
                expires_ms: Some(0),
                attempts: 2,
                notices: 3,
                ..seen(7)
            };
            all.push(Observation::new(&producer, Now { mono_ms: 5_000, wall_ms: 1_800_000_000_000 }, of));
        }
    }
    all
}

fn members(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_type_is_explained_with_its_members_and_its_rule() {
    let facts = TYPES[0].always;
    let facts_line: Vec<String> = facts.iter().map(|name| format!("`{name}`")).collect();
    assert!(PAGE.replace('\n', " ").contains(&format!("*The facts* are {}.", facts_line.join(", "))));
    for kind in &TYPES {
        let list = |names: &[&str]| match names {
            [] => "nothing".to_owned(),
            names if names == facts => "the facts".to_owned(),
            names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        };
        let row = format!(
            "| `{}` | {} | {} | {} | {} |",
            kind.name,
            kind.delivery.as_str(),
            kind.says,
            list(kind.always),
            list(kind.maybe)
        );
        assert!(PAGE.lines().any(|line| line == row), "docs/stream.md has no row\n{row}");
    }
    let told = PAGE
        .lines()
        .filter(|line| line.starts_with("| `occurrence.") || line.starts_with("| `producer."))
        .count();
    assert_eq!(told, TYPES.len(), "nothing is explained that there is not");
}

#[test]
fn every_observation_has_the_members_that_its_type_has_and_no_other() {
    let mut kinds = BTreeSet::new();
    for observation in observations() {
        let kind = observation.kind();
        kinds.insert(kind);
        let about = kind.about();
        assert_eq!(about.delivery, Delivery::Sequenced);
        let data = serde_json::to_value(Entry::of(&observation)).unwrap();
        let has = members(&data);
        let always: BTreeSet<String> = about.always.iter().map(ToString::to_string).collect();
        let known = always.iter().cloned().chain(about.maybe.iter().map(ToString::to_string)).collect();
        assert!(has.is_superset(&always), "{}: {data}", about.name);
        assert!(has.is_subset(&known), "{}: {:?} in {data}", about.name, has.difference(&known));
    }
    let sequenced = TYPES.iter().filter(|kind| kind.delivery == Delivery::Sequenced).count();
    assert_eq!(kinds.len(), sequenced, "every type is there: {kinds:?}");
    assert!(Kind::Status.about().name == "producer.status" && Kind::Diary.about().name == "producer.diary");
}

#[test]
fn every_limit_is_told_with_its_number() {
    let limits = &PAGE[PAGE.find("## Limits").unwrap()..];
    for bound in [
        OBSERVATIONS,
        RING_BYTES,
        BATCH_EVENTS,
        BATCH_BYTES,
        READER_BYTES,
        DELTA_BYTES,
        SCOPES,
        REQUEST_BYTES,
        READERS,
        SUBSCRIPTIONS,
        crate::stream::snapshot::SNAPSHOT_PART,
    ] {
        let mut digits = bound.to_string();
        for at in (1..digits.len()).rev().filter(|at| (digits.len() - at) % 3 == 0).collect::<Vec<_>>() {
            digits.insert(at, ',');
        }
        assert!(limits.contains(&format!(" {digits}")), "{digits} is not told");
    }
}

#[test]
fn the_facts_that_are_told_are_those_of_the_fate() {
    for observation in observations() {
        let data = serde_json::to_value(Entry::of(&observation)).unwrap();
        let facts = observation.seen.fate.facts();
        assert_eq!(data["delivery"], facts.delivery().as_str());
        assert_eq!(data["decision"]["state"], facts.decision().state().as_str());
        assert_eq!(data["decision"]["reason"].as_str(), facts.decision().reason());
        assert_eq!(data["state"], observation.seen.fate.state());
        assert!(!observation.past().says.is_empty());
    }
}
