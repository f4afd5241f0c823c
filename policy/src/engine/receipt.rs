//! Admitted occurrences, remembered so that a retry has no second effect (contract 6.2).
//!
//! Memory only decides; what an occurrence was answered is in its row of the journal, under its number. A
//! receipt takes 24 bytes here, and with its place in the index at most 32 where there are millions.

mod entry;
mod segment;

use std::collections::VecDeque;
use std::hash::BuildHasher;

use foldhash::quality::FixedState;
use mcpl_codec::Digest;

use self::segment::Segment;

/// The receipts, and the numbers of all occurrences: each is given once, in order of admission.
///
/// They lie in segments, each with an index of its own: the oldest is given back whole, nothing is taken out of
/// an index one by one, and what doubles when it is full is never more than a segment's index.
#[derive(Debug)]
pub(super) struct Receipts {
    /// Oldest first; none is empty.
    segments: VecDeque<Segment>,
    hasher: FixedState,
    /// The number that the next occurrence gets.
    next: u64,
    /// Numbers below it are forgotten.
    below: u64,
    /// `below` is to be said (again).
    untold: bool,
    /// Seconds of the newest: time only goes forward.
    newest: u64,
}

/// What is remembered of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its number.
    pub(super) number: u64,
    digest: u64,
}

impl Found {
    /// Whether it had this digest: nobody without the key finds one that agrees in 48 bits.
    pub(super) fn is(&self, digest: &Digest) -> bool {
        self.digest == entry::short(digest)
    }
}

impl Receipts {
    /// None yet; the first occurrence gets the number `next`.
    pub(super) fn new(seed: u64, next: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        Self { segments: VecDeque::new(), hasher, next, below: next, untold: false, newest: 0 }
    }

    /// The newest of this fingerprint that was inside the window when last pruned.
    pub(super) fn find(&self, fingerprint: u128) -> Option<Found> {
        let hash = self.hasher.hash_one(fingerprint as u64);
        self.segments.iter().rev().find_map(|segment| segment.find(hash, fingerprint))
    }

    /// Gives an occurrence its number; one without a fingerprint is never found, and takes no memory.
    pub(super) fn remember(&mut self, fingerprint: Option<u128>, digest: Digest, admitted_ms: u64) -> u64 {
        let number = self.next;
        self.next += 1;
        if let Some(fingerprint) = fingerprint {
            self.push(number, fingerprint, &digest, admitted_ms);
        }
        number
    }

    /// Takes back what the journal knows of an occurrence. Numbers come in ascending order: what is not above
    /// all before it is not taken.
    pub(super) fn restore(
        &mut self,
        number: u64,
        fingerprint: Option<u128>,
        digest: Digest,
        admitted_ms: u64,
    ) {
        if number >= self.next {
            self.skip_to(number);
            self.remember(fingerprint, digest, admitted_ms);
        }
    }

    /// Numbers below `next` are not given any more.
    pub(super) fn skip_to(&mut self, next: u64) {
        self.next = self.next.max(next);
        if self.segments.is_empty() {
            self.below = self.next;
        }
    }

    fn push(&mut self, number: u64, fingerprint: u128, digest: &Digest, admitted_ms: u64) {
        // A second that has begun counts whole, here and in `prune`: the window is never shorter for it.
        self.newest = self.newest.max(admitted_ms.div_ceil(1000));
        if !self.segments.back().is_some_and(|segment| segment.takes(number, self.newest)) {
            self.segments.push_back(Segment::new(self.hasher.clone(), number, self.newest));
        }
        if let Some(segment) = self.segments.back_mut() {
            segment.push(number, fingerprint, digest, self.newest);
        }
    }

    /// Forgets the numbers from `from` on: what gave them did not come to be, and they are given again.
    pub(super) fn truncate(&mut self, from: u64) {
        while self.segments.pop_back_if(|newest| newest.first() >= from).is_some() {}
        if let Some(segment) = self.segments.back_mut() {
            segment.truncate(from);
        }
        self.segments.pop_back_if(|newest| newest.len() == 0);
        self.next = self.next.min(from);
        self.below = self.below.min(from);
        // What said so last may not have come to be either.
        self.untold = true;
    }

    /// Forgets what was admitted longer than `window_ms` ago, by less than a second too late. Says below which
    /// number none is remembered, if that is news.
    pub(super) fn prune(&mut self, now_ms: u64, window_ms: u64) -> Option<u64> {
        let edge = now_ms.saturating_sub(window_ms).div_ceil(1000);
        while let Some(below) = self.segments.front_mut().and_then(|oldest| oldest.forget(edge)) {
            (self.below, self.untold) = (below, true);
            if self.segments.pop_front_if(|oldest| oldest.len() == 0).is_none() {
                break;
            }
        }
        std::mem::take(&mut self.untold).then_some(self.below)
    }

    /// When the oldest will have been remembered for `window_ms`, in ms.
    pub(super) fn over_ms(&self, window_ms: u64) -> Option<u64> {
        let oldest = self.segments.front()?.oldest()?;
        Some((oldest + 1) * 1_000 + window_ms)
    }

    /// Whether a number was given and is not forgotten yet; one that was never to be found is forgotten with
    /// the next that was.
    pub(super) fn keeps(&self, number: u64) -> bool {
        (self.below..self.next).contains(&number)
    }

    /// The number that the next occurrence gets.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// How many can be found, or could if none had been remembered anew.
    pub(super) fn len(&self) -> usize {
        self.segments.iter().map(Segment::len).sum()
    }

    /// What they take on the heap, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let own = self.segments.capacity() * size_of::<Segment>();
        own + self.segments.iter().map(Segment::memory_bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
