//! What is on its way out of the sidecar: behind the gate of the journal, or in the hands of the transport.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use mcpl_codec::Lane;
use mcpl_policy::engine::{Answer, Seq};

/// What waits for its step to be on disk.
#[derive(Debug)]
pub(super) enum Gated {
    Answer {
        ticket: u64,
        answer: Answer,
    },
    Forward(Way),
    Render(Ask),
    /// Since when it waits.
    Pass {
        ticket: u64,
        since_ms: u64,
    },
    Resolved {
        request: u64,
    },
}

/// A render that its producer is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) render: u64,
    /// The number of the occurrence.
    pub(super) number: u64,
    /// When the engine made it.
    pub(super) made_ms: u64,
    /// When it left.
    pub(super) left_ms: u64,
}

/// A forward on its way.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) forward: u64,
    pub(super) id: String,
    /// The number of the occurrence; `None`: it is written through.
    pub(super) number: Option<u64>,
    pub(super) lane: Lane,
    pub(super) body: Bytes,
    /// When the engine made it: what depends on a time was decided then.
    pub(super) made_ms: u64,
    /// Its bytes were handed over at this time.
    pub(super) handed_ms: Option<u64>,
    pub(super) written: bool,
    /// The host dealt with it; its answer is lost.
    pub(super) deaf: bool,
}

#[derive(Debug, Default)]
pub(super) struct Wire {
    gate: VecDeque<(Seq, Gated)>,
    /// Forwards whose step is on disk, by number.
    pub(super) ways: BTreeMap<u64, Way>,
    /// Renders that left in this session.
    pub(super) asks: BTreeMap<u64, Ask>,
    /// The newest render there was.
    pub(super) newest: u64,
}

impl Wire {
    pub(super) fn push(&mut self, after: Seq, gated: Gated) {
        let at = self.gate.partition_point(|(other, _)| *other <= after);
        self.gate.insert(at, (after, gated));
    }

    /// The next whose step is on disk.
    pub(super) fn due(&mut self, durable: Seq) -> Option<Gated> {
        self.gate.front().filter(|(after, _)| *after <= durable)?;
        self.gate.pop_front().map(|(_, gated)| gated)
    }

    /// Everything that waits: its step will not be on disk.
    pub(super) fn take(&mut self) -> Vec<Gated> {
        std::mem::take(&mut self.gate).into_iter().map(|(_, gated)| gated).collect()
    }

    /// Something of the producer's waits to pass: it is not read on.
    pub(super) fn blocks(&self) -> bool {
        self.gate.iter().any(|(_, gated)| matches!(gated, Gated::Pass { .. }))
    }

    /// What passes and has waited since `before_ms`, or longer.
    pub(super) fn late(&mut self, before_ms: u64) -> Vec<Gated> {
        self.extract(|gated| matches!(gated, Gated::Pass { since_ms, .. } if *since_ms <= before_ms))
    }

    /// The session is over: what waits for the host goes no more; an operator is told all the same, and the
    /// producer if it `listens`.
    pub(super) fn end(&mut self, listens: bool) {
        self.extract(|gated| match gated {
            Gated::Forward(_) | Gated::Render(_) | Gated::Pass { .. } => true,
            Gated::Answer { .. } => !listens,
            Gated::Resolved { .. } => false,
        });
    }

    fn extract(&mut self, wanted: impl Fn(&Gated) -> bool) -> Vec<Gated> {
        let (taken, left): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.gate).into_iter().partition(|(_, gated)| wanted(gated));
        self.gate = left;
        taken.into_iter().map(|(_, gated)| gated).collect()
    }

    /// Forwards that the host was given and has not answered.
    pub(super) fn handed(&self) -> Vec<u64> {
        self.ways.values().filter(|way| way.handed_ms.is_some() && !way.deaf).map(|way| way.forward).collect()
    }
}
