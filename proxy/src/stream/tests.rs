//! What a reader is told, over a WebSocket in memory.

use std::sync::Arc;

use mcpl_codec::Lane;
use mcpl_policy::Now;
use mcpl_policy::engine::{Belongs, Fate, Outcome, Seen, Waits};

use super::*;

/// An observation of the occurrence of that number.
pub(super) fn observation(number: u64) -> Observation {
    let producer: Arc<str> = "chat".into();
    Observation::new(&producer, Now { mono_ms: 5_000, wall_ms: 1_800_000_000_000 }, seen(number))
}

pub(super) fn seen(number: u64) -> Seen {
    Seen {
        number,
        event_id: format!("e{number}").into(),
        lane: Lane::Push,
        scope: Some(Belongs::FeatureSet("chat.messages".into())),
        subject: Some(3),
        fate: Fate::Held,
        revision: 1,
        open: true,
        waits: Some(Waits::Reason),
        handed: false,
        operator: false,
        by: 0,
        outcome: Some(Outcome::First),
        prior: None,
        admitted_ms: 4_000,
        not_before_ms: 0,
        expires_ms: None,
        attempts: 0,
        notices: 0,
    }
}

mod bounds;
mod catalogue;
mod ending;
mod readers;
mod snapshots;
mod stage;
