//! What a session did, counted for metrics: by lane, outcome, kind and direction (contract 10.2).

use std::ops::AddAssign;

use mcpl_codec::Lane;
use mcpl_policy::engine::{Answer, Fate, Outcome};

use super::Side;
use crate::telemetry::names::{Came, Direction, End, Refusal, Rendered, Source};

/// Counts of one or several sessions; each index is a number of a closed set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Events, by lane (push, channel) and by what became of them.
    pub events: [[u64; Came::COUNT]; 2],
    /// Refusals, by who refused and by kind.
    pub refusals: [[u64; Refusal::COUNT]; Source::COUNT],
    /// Accepted occurrences that ended, by how.
    pub ends: [u64; End::COUNT],
    /// Messages that went through, by direction.
    pub passed: [u64; Direction::COUNT],
    /// Their bytes.
    pub passed_bytes: [u64; Direction::COUNT],
    /// Lines that were not passed on, by direction.
    pub dropped: [u64; Direction::COUNT],
    /// Renders, by what came of them.
    pub renders: [u64; Rendered::COUNT],
    /// Sessions.
    pub sessions: u64,
}

impl Figures {
    pub(super) fn came(&mut self, lane: Lane, came: Came) {
        self.events[place(lane)][came as usize] += 1;
    }

    pub(super) fn refused(&mut self, source: Source, kind: Refusal) {
        self.refusals[source as usize][kind as usize] += 1;
    }

    pub(super) fn passed(&mut self, from: Side, bytes: usize) {
        let direction = direction(from) as usize;
        self.passed[direction] += 1;
        self.passed_bytes[direction] += bytes as u64;
    }

    pub(super) fn dropped(&mut self, from: Side) {
        self.dropped[direction(from) as usize] += 1;
    }

    pub(super) fn rendered(&mut self, rendered: Rendered) {
        self.renders[rendered as usize] += 1;
    }

    pub(super) fn ended(&mut self, fate: &Fate) {
        if let Some(end) = End::named(fate.state()) {
            self.ends[end as usize] += 1;
        }
    }
}

fn direction(from: Side) -> Direction {
    match from {
        Side::Host => Direction::ToProducer,
        Side::Producer => Direction::ToHost,
    }
}

fn place(lane: Lane) -> usize {
    match lane {
        Lane::Push => 0,
        Lane::Channel => 1,
    }
}

/// What became of an event that is answered so.
pub(super) fn came(answer: &Answer) -> Came {
    match answer {
        Answer::Accepted { outcome, .. } | Answer::Host { outcome: Some((outcome, _)), .. } => {
            match outcome {
                Outcome::First => Came::First,
                Outcome::Replaced => Came::Replaced,
                Outcome::Appended => Came::Appended,
                Outcome::Retracted => Came::Retracted,
                Outcome::Noted => Came::Noted,
                Outcome::Consumed => Came::Consumed,
            }
        }
        Answer::Refused(_) | Answer::Host { outcome: None, .. } => Came::Refused,
        Answer::Unanswered => Came::Unanswered,
        Answer::Again(_) => Came::Again,
        Answer::Stored => Came::Stored,
    }
}

fn add(these: &mut [u64], those: &[u64]) {
    for (this, that) in these.iter_mut().zip(those) {
        *this += that;
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        let Self { events, refusals, ends, passed, passed_bytes, dropped, renders, sessions } = other;
        add(self.events.as_flattened_mut(), events.as_flattened());
        add(self.refusals.as_flattened_mut(), refusals.as_flattened());
        add(&mut self.ends, &ends);
        add(&mut self.passed, &passed);
        add(&mut self.passed_bytes, &passed_bytes);
        add(&mut self.dropped, &dropped);
        add(&mut self.renders, &renders);
        self.sessions += sessions;
    }
}
