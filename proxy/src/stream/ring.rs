//! The last observations, numbered without a gap.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Observation;

/// So many observations can be replayed (contract 10.4).
pub const OBSERVATIONS: usize = 100_000;
/// And no more of them than take about this much memory, in bytes.
pub const RING_BYTES: usize = 64 << 20;

/// A cursor that the ring cannot go on from: what follows it is gone, or never was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beyond;

/// Observations in order; numbers begin with 1.
#[derive(Debug)]
pub(super) struct Ring {
    kept: VecDeque<Arc<Observation>>,
    /// The number of the first that is kept, or of the next one there will be.
    first: u64,
    bytes: usize,
    most: usize,
    most_bytes: usize,
    /// What is to be taken next. Its room is used again.
    next: Vec<Observation>,
}

impl Ring {
    pub(super) fn new(most: usize, most_bytes: usize) -> Self {
        Self { kept: VecDeque::new(), first: 1, bytes: 0, most, most_bytes, next: Vec::new() }
    }

    /// Puts what is to be taken next aside for [`Ring::take`], and leaves an empty list for it.
    pub(super) fn swap(&mut self, next: &mut Vec<Observation>) {
        std::mem::swap(&mut self.next, next);
    }

    /// Takes what was put aside, in order.
    pub(super) fn take(&mut self) {
        let mut next = std::mem::take(&mut self.next);
        next.drain(..).for_each(|observation| self.push(observation));
        self.next = next;
    }

    /// Takes the next; the oldest go for it.
    pub(super) fn push(&mut self, observation: Observation) {
        self.bytes += observation.bytes();
        self.kept.push_back(Arc::new(observation));
        while self.kept.len() > self.most || (self.bytes > self.most_bytes && self.kept.len() > 1) {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.bytes -= oldest.bytes();
            self.first += 1;
        }
    }

    /// The number of the newest; 0: there was none.
    pub(super) fn last(&self) -> u64 {
        self.first + self.kept.len() as u64 - 1
    }

    /// The number of the oldest that is kept.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// What follows number `after`, up to number `until`: `most` of it at the most.
    pub(super) fn read(&self, after: u64, until: u64, most: usize) -> Result<Vec<Arc<Observation>>, Beyond> {
        if after.saturating_add(1) < self.first || after > self.last() {
            return Err(Beyond);
        }
        let from = (after + 1 - self.first) as usize;
        let count = (until.min(self.last()).saturating_sub(after) as usize).min(most);
        Ok(self.kept.range(from..from + count).cloned().collect())
    }

    /// The same, of what is kept of it: the number that the first of it follows, and `most` of it at the most.
    pub(super) fn rest(&self, after: u64, until: u64, most: usize) -> (u64, Vec<Arc<Observation>>) {
        let after = after.max(self.first - 1);
        (after, self.read(after, until, most).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::tests::observation;

    #[test]
    fn numbers_are_dense_and_what_is_gone_is_told_from_what_is_not_there_yet() {
        let mut ring = Ring::new(3, usize::MAX);
        assert_eq!((ring.first(), ring.last(), ring.read(0, 9, 9).unwrap().len()), (1, 0, 0));
        for number in 1..=5 {
            ring.push(observation(number));
        }
        assert_eq!((ring.first(), ring.last()), (3, 5));
        let numbers =
            |read: Vec<Arc<Observation>>| read.iter().map(|one| one.seen.number).collect::<Vec<_>>();
        assert_eq!(numbers(ring.read(2, 9, 9).unwrap()), [3, 4, 5]);
        assert_eq!(numbers(ring.read(3, 9, 1).unwrap()), [4]);
        assert_eq!(numbers(ring.read(3, 4, 9).unwrap()), [4]);
        assert_eq!(numbers(ring.read(5, 9, 9).unwrap()), [] as [u64; 0]);
        assert_eq!(ring.read(1, 9, 9), Err(Beyond), "2 is gone");
        let rest = |after, until, most| {
            let (from, read) = ring.rest(after, until, most);
            (from, numbers(read))
        };
        assert_eq!(rest(0, 9, 9), (2, vec![3, 4, 5]), "what is gone is left out");
        assert_eq!((rest(0, 4, 9), rest(3, 9, 1)), ((2, vec![3, 4]), (3, vec![4])));
        assert_eq!((rest(5, 9, 9), rest(0, 2, 9)), ((5, vec![]), (2, vec![])));
        assert_eq!(ring.read(6, 9, 9), Err(Beyond), "6 never was");
        assert_eq!(ring.read(u64::MAX, 9, 9), Err(Beyond));
    }

    #[test]
    fn it_is_bounded_by_bytes_as_well_and_always_has_the_newest() {
        let each = observation(1).bytes();
        let mut ring = Ring::new(100, 2 * each + 1);
        for number in 1..=10 {
            ring.push(observation(number));
        }
        assert_eq!((ring.first(), ring.last()), (9, 10));
        let mut ring = Ring::new(100, 1);
        ring.push(observation(1));
        ring.push(observation(2));
        assert_eq!((ring.first(), ring.last()), (2, 2));
    }
}
