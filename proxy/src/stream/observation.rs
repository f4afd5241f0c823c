//! One change of one occurrence, once it is on disk.

use std::sync::Arc;

use mcpl_policy::Now;
use mcpl_policy::engine::{Seen, Waits};

use super::catalogue::Kind;
use crate::journal::account::{By, Past, rfc3339, says, says_of_withdrawal};

/// What a step said of an occurrence, of whom and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub(super) producer: Arc<str>,
    /// When the step was made, in ms since 1970.
    pub(super) at_ms: i64,
    /// How far the calendar is ahead of the running time, in ms.
    ahead_ms: i64,
    pub(super) seen: Seen,
}

impl Observation {
    /// What a step of that moment said.
    pub fn new(producer: &Arc<str>, now: Now, seen: Seen) -> Self {
        let ahead_ms = now.wall_ms.saturating_sub_unsigned(now.mono_ms);
        Self { producer: Arc::clone(producer), at_ms: now.wall_ms, ahead_ms, seen }
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::of(&self.seen)
    }

    /// The calendar time of a moment of running time.
    pub(super) fn wall_ms(&self, mono_ms: u64) -> i64 {
        self.ahead_ms.saturating_add_unsigned(mono_ms)
    }

    /// When it was made, as running time.
    pub(super) fn mono_ms(&self) -> u64 {
        u64::try_from(self.at_ms.saturating_sub(self.ahead_ms)).unwrap_or(0)
    }

    /// It in a sentence for people.
    pub(crate) fn past(&self) -> Past {
        let by = (self.seen.by > 0)
            .then(|| By { id: format!("{}/{}", self.producer, self.seen.by), event_id: None });
        let says = says_of_withdrawal(&self.seen.fate, self.seen.outcome, by.is_some())
            .unwrap_or_else(|| says(&self.seen.fate, self.seen.waits.map(Waits::as_str), by.as_ref()));
        let says = match (self.seen.operator, self.seen.fate.state()) {
            (true, "delivered") => "an operator said that the host has it".to_owned(),
            (true, "dropped") => says,
            (true, "dead-letter") if !self.seen.open => "dropped by an operator".to_owned(),
            (true, _) if self.seen.open => format!("an operator had it sent again; {says}"),
            (true, _) => format!("an operator settled it: {says}"),
            // Whether it was answered is in what came after.
            _ if self.seen.fate.is_submitted() => "given to the host".to_owned(),
            _ => says,
        };
        Past { at: rfc3339(self.at_ms), revision: Some(self.seen.revision), says }
    }

    /// About what it takes of memory.
    pub(super) fn bytes(&self) -> usize {
        let texts = [Some(&self.seen.event_id), self.seen.prior.as_ref()];
        let texts: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        let scope = self.seen.scope.as_ref().map_or(0, |scope| scope.id().len());
        size_of::<Self>() + 64 + texts + scope
    }
}
