//! Forwards the host has not answered (contract 7.4).

use super::output::{Fate, Seq};
use super::subject::SubjectKey;
use super::work::WorkKey;

/// A forward unanswered this long, in ms of the host being read, holds its subject back no longer.
pub const ANSWER_MS: u64 = 25_000;

/// One forward.
#[derive(Debug)]
pub(super) struct Out {
    pub(super) work: WorkKey,
    /// The number of the occurrence; 0 where it is written through.
    pub(super) occurrence: u64,
    /// The step that wrote it down: no byte leaves before that is on disk.
    pub(super) step: Seq,
    pub(super) subject: Option<SubjectKey>,
    /// A newer version, or a withdrawal, came meanwhile: refused, it is not tried again but ends so.
    pub(super) superseded: Option<Superseded>,
    /// A byte of it was handed to the transport.
    pub(super) handed: bool,
    /// What the reading clock showed when its last byte was written.
    pub(super) written_ms: Option<u64>,
    /// The moment of its timer, while one is set.
    pub(super) timer_ms: Option<u64>,
}

/// How a forward ends that is refused, since something newer came while it was out; and by which steps, for
/// some of them may be lost.
#[derive(Clone, Debug)]
pub(super) struct Superseded {
    first: (Fate, Seq, u64),
    last: (Fate, Seq, u64),
}

impl Superseded {
    /// It ends as what came last says.
    pub(super) fn fate(&self) -> &Fate {
        &self.last.0
    }

    /// The number of what came last.
    pub(super) fn by(&self) -> u64 {
        self.last.2
    }

    /// What is left of it when no step after `durable` ever was.
    pub(super) fn still(mut self, durable: Seq) -> Option<Self> {
        if self.last.1 > durable {
            self.last = self.first.clone();
        }
        (self.first.1 <= durable).then_some(self)
    }
}

impl Out {
    /// Something newer came by `step`, under the number `by`.
    pub(super) fn supersede(&mut self, fate: &Fate, step: Seq, by: u64) {
        let now = (fate.clone(), step, by);
        match &mut self.superseded {
            Some(superseded) => superseded.last = now,
            None => self.superseded = Some(Superseded { first: now.clone(), last: now }),
        }
    }

    pub(super) fn new(work: WorkKey, subject: Option<SubjectKey>, (occurrence, step): (u64, Seq)) -> Self {
        Self {
            work,
            occurrence,
            step,
            subject,
            superseded: None,
            handed: false,
            written_ms: None,
            timer_ms: None,
        }
    }
}
