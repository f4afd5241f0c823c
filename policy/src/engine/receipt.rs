//! Admitted occurrences, remembered so that a retry has no second effect (contract 6.2).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use foldhash::quality::FixedState;
use mcpl_codec::Digest;

use super::output::{Answer, Outcome};

/// Receipts kept at most; past it the oldest go before their window is over.
pub const MAX_RECEIPTS: usize = 1 << 18;

/// Bytes of ids and of hosts' answers in the receipts at most; past it the oldest go, too.
pub const MAX_RECEIPT_BYTES: usize = 32 << 20;

/// What an admitted occurrence was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    pub(super) digest: Digest,
    pub(super) admitted_ms: u64,
    pub(super) answer: Answered,
}

/// The answer, small where it is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// Ours.
    Ours(Outcome, Option<Box<str>>),
    /// The host's own, of a write-through.
    Host(Bytes, Outcome, Option<Box<str>>),
}

impl Receipt {
    /// What it holds beside itself.
    fn bytes(&self) -> usize {
        let prior = |prior: &Option<Box<str>>| prior.as_ref().map_or(0, |id| id.len());
        match &self.answer {
            Answered::Ours(_, id) => prior(id),
            Answered::Host(text, _, id) => text.len() + prior(id),
        }
    }

    pub(super) fn answer(&self) -> Answer {
        match &self.answer {
            Answered::Ours(outcome, prior) => Answer::Accepted { outcome: *outcome, prior: prior.clone() },
            Answered::Host(text, outcome, prior) => {
                Answer::Host { text: text.clone(), error: false, outcome: Some((*outcome, prior.clone())) }
            }
        }
    }
}

/// Receipts forgotten at once where there is no room: together they wait for memory less than one by one.
const FORGOTTEN: usize = 64;

/// The receipts. Admissions are in order of time, and a receipt is never moved: the oldest go first.
#[derive(Debug)]
pub(super) struct Receipts {
    /// Oldest first, with their fingerprints.
    kept: VecDeque<(u128, Receipt)>,
    /// The number of the oldest. Numbers wrap; there are never so many at a time.
    oldest: u32,
    /// Numbers by half a fingerprint: a table half the size. Of two occurrences that share it, which takes
    /// 2^64 of them, the older is forgotten early.
    numbers: HashMap<u64, u32, FixedState>,
    bytes: usize,
}

impl Receipts {
    pub(super) fn new(seed: u64) -> Self {
        let numbers = HashMap::with_hasher(FixedState::with_seed(seed));
        Self { kept: VecDeque::new(), oldest: 0, numbers, bytes: 0 }
    }

    /// The receipt of an occurrence, if it is inside the window.
    pub(super) fn find(&self, fingerprint: u128) -> Option<&Receipt> {
        let number = self.numbers.get(&(fingerprint as u64))?;
        let (found, receipt) = self.kept.get(number.wrapping_sub(self.oldest) as usize)?;
        (*found == fingerprint).then_some(receipt)
    }

    pub(super) fn remember(&mut self, fingerprint: u128, receipt: Receipt) {
        if self.kept.len() >= MAX_RECEIPTS {
            (0..FORGOTTEN).for_each(|_| self.forget_oldest());
        }
        self.bytes += receipt.bytes();
        while self.bytes > MAX_RECEIPT_BYTES && !self.kept.is_empty() {
            self.forget_oldest();
        }
        self.numbers.insert(fingerprint as u64, self.oldest.wrapping_add(self.kept.len() as u32));
        self.kept.push_back((fingerprint, receipt));
    }

    /// Forgets what was admitted longer than `window_ms` ago; admissions are in order of time.
    pub(super) fn prune(&mut self, now_ms: u64, window_ms: u64) {
        while self.kept.front().is_some_and(|(_, oldest)| oldest.admitted_ms + window_ms < now_ms) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((fingerprint, receipt)) = self.kept.pop_front() {
            self.bytes -= receipt.bytes();
            // Where the same occurrence was remembered anew, it is the newer receipt that counts.
            if let Entry::Occupied(number) = self.numbers.entry(fingerprint as u64)
                && *number.get() == self.oldest
            {
                number.remove();
            }
            self.oldest = self.oldest.wrapping_add(1);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(number: u128) -> Receipt {
        let answer = Answered::Ours(Outcome::First, None);
        Receipt { digest: Digest(number), admitted_ms: number as u64, answer }
    }

    #[test]
    fn past_the_bound_the_oldest_are_forgotten() {
        let mut receipts = Receipts::new(1);
        // The numbers wrap on the way.
        receipts.oldest = u32::MAX - 1000;
        for number in 0..=MAX_RECEIPTS as u128 {
            receipts.remember(number, receipt(number));
            assert!(receipts.len() <= MAX_RECEIPTS);
        }
        assert_eq!(receipts.len(), MAX_RECEIPTS - FORGOTTEN + 1);
        assert_eq!(receipts.numbers.len(), receipts.len());
        let forgotten = FORGOTTEN as u128;
        assert_eq!(receipts.find(forgotten - 1), None);
        for number in [forgotten, 5_000, MAX_RECEIPTS as u128] {
            assert_eq!(receipts.find(number).map(|receipt| receipt.digest), Some(Digest(number)));
        }
    }

    #[test]
    fn past_the_bytes_the_oldest_are_forgotten_and_the_newest_never() {
        let mut receipts = Receipts::new(1);
        for number in 0..100 {
            let text = Bytes::from(vec![b' '; MAX_RECEIPT_BYTES / 10]);
            let answer = Answered::Host(text, Outcome::First, Some("prior".into()));
            receipts.remember(number, Receipt { answer, ..receipt(number) });
            assert!(receipts.bytes <= MAX_RECEIPT_BYTES && receipts.find(number).is_some());
        }
        assert_eq!(receipts.len(), 9);
        receipts.prune(u64::MAX, 0);
        assert_eq!((receipts.len(), receipts.bytes), (0, 0));
    }

    #[test]
    fn what_is_past_the_window_is_forgotten_and_what_shares_half_a_fingerprint_is_not_taken_for_it() {
        let mut receipts = Receipts::new(1);
        for number in [10, 20, 30] {
            receipts.remember(number, receipt(number));
        }
        receipts.prune(30, 10);
        assert_eq!((receipts.len(), receipts.find(10)), (2, None));
        assert!(receipts.find(20).is_some());
        assert_eq!(receipts.find((1 << 64) + 20), None);
        // Remembered anew, the first of the two ages without taking the other along.
        receipts.remember(20, receipt(40));
        receipts.prune(45, 10);
        assert_eq!(receipts.find(20).map(|receipt| receipt.digest), Some(Digest(40)));
    }
}
