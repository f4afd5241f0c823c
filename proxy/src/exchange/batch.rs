//! JSON-RPC batches that hold something of ours: answered as one array once all of it is (contract 3.3).

use std::collections::HashMap;

use mcpl_codec::Line;

use super::Side;

/// Batches being answered at once for each session; past it a batch with events passes as it is.
pub const MAX_BATCHES: usize = 1024;

/// One batch.
#[derive(Debug)]
struct Batch {
    /// Who sent it, and is answered.
    of: Side,
    waits_for: usize,
    answers: Vec<u8>,
    /// The elements are all known, so that it may be answered.
    sealed: bool,
    after: Option<u64>,
}

/// The answer to a whole batch.
pub(super) struct Whole {
    pub(super) to: Side,
    pub(super) line: Line,
    /// The step it waits for.
    pub(super) after: Option<u64>,
}

/// The batches whose answer the sidecar puts together.
#[derive(Debug, Default)]
pub(super) struct Batches {
    next: u64,
    open: HashMap<u64, Batch>,
}

impl Batches {
    pub(super) fn begin(&mut self, of: Side) -> Option<u64> {
        if self.open.len() >= MAX_BATCHES {
            return None;
        }
        self.next += 1;
        let batch = Batch { of, waits_for: 0, answers: Vec::new(), sealed: false, after: None };
        self.open.insert(self.next, batch);
        Some(self.next)
    }

    /// One more element will be answered.
    pub(super) fn expect(&mut self, batch: u64) {
        if let Some(batch) = self.open.get_mut(&batch) {
            batch.waits_for += 1;
        }
    }

    /// All elements are known. The whole answer, if it is complete; `after` as in [`Self::answer`].
    pub(super) fn seal(&mut self, batch: u64) -> Option<Whole> {
        if let Some(batch) = self.open.get_mut(&batch) {
            batch.sealed = true;
        }
        self.finish(batch)
    }

    /// The answer to one element, as a whole response. The whole answer, if it is complete, and the step it
    /// waits for.
    pub(super) fn answer(&mut self, number: u64, response: &[u8], after: Option<u64>) -> Option<Whole> {
        let batch = self.open.get_mut(&number)?;
        batch.answers.push(if batch.answers.is_empty() { b'[' } else { b',' });
        batch.answers.extend_from_slice(response);
        batch.waits_for = batch.waits_for.saturating_sub(1);
        batch.after = batch.after.max(after);
        self.finish(number)
    }

    fn finish(&mut self, number: u64) -> Option<Whole> {
        let batch = self.open.get(&number)?;
        if !batch.sealed || batch.waits_for > 0 {
            return None;
        }
        let mut batch = self.open.remove(&number)?;
        if batch.answers.is_empty() {
            return None;
        }
        batch.answers.push(b']');
        Some(Whole { to: batch.of, line: Line::from_vec(batch.answers), after: batch.after })
    }
}
