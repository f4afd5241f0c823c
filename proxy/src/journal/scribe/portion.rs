//! What becomes one transaction.

use std::collections::HashMap;
use std::sync::Arc;

use mcpl_policy::engine::Seq;

use super::super::desk::Desk;
use super::super::{Batch, Report};

/// What becomes one transaction.
#[derive(Default)]
pub(super) struct Portion {
    pub(super) batch: Batch,
    pub(super) steps: usize,
    /// The ledgers with steps in it.
    parts: Vec<Part>,
    by_binding: HashMap<u64, usize>,
}

struct Part {
    desk: Arc<Desk>,
    epoch: u64,
    seq: Seq,
    bytes: usize,
    /// Answers that must not leave before the steps that were before them are durable.
    answers: Vec<Report>,
}

impl Portion {
    /// Whether there is nothing to commit.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Takes in a step, but for its changes.
    pub(super) fn part(&mut self, desk: &Arc<Desk>, epoch: u64, seq: Seq, bytes: usize) {
        self.steps += 1;
        let at = *self.by_binding.entry(desk.binding).or_insert(self.parts.len());
        match self.parts.get_mut(at) {
            Some(part) => (part.seq, part.bytes) = (seq, part.bytes + bytes),
            None => self.parts.push(Part { desk: Arc::clone(desk), epoch, seq, bytes, answers: Vec::new() }),
        }
    }

    /// A report that must not leave before the steps that were before it are durable; given back if there are none.
    pub(super) fn hold(&mut self, desk: &Desk, answer: Report) -> Result<(), Report> {
        match self.by_binding.get(&desk.binding).and_then(|at| self.parts.get_mut(*at)) {
            Some(part) => {
                part.answers.push(answer);
                Ok(())
            }
            None => Err(answer),
        }
    }

    /// Tells whose steps they are that they are on disk.
    pub(super) fn durable(self) {
        for part in self.parts {
            part.desk.durable(part.epoch, part.seq, part.bytes);
            for answer in part.answers {
                part.desk.tell(part.epoch, answer);
            }
        }
    }

    /// Tells whose steps they are that they are not.
    pub(super) fn fail(self, why: &str) {
        for part in self.parts {
            part.desk.fail(part.epoch, why);
        }
    }
}
