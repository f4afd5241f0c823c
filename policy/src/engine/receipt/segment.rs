//! A run of receipts with an index of its own, which goes as a whole.

use std::hash::BuildHasher;

use foldhash::quality::FixedState;
use hashbrown::HashTable;
use mcpl_codec::Digest;

use super::Found;
use super::entry::{Entries, Entry};

/// The most that a segment holds: what a table of 2^20 places takes before it doubles.
pub(super) const MAX_ENTRIES: usize = (1 << 20) / 8 * 7;

/// Receipts in order of number and time.
#[derive(Debug)]
pub(super) struct Segment {
    entries: Entries,
    /// Places by fingerprint, the newest of each; also of those that are forgotten.
    index: HashTable<u32>,
    hasher: FixedState,
    /// How many are forgotten, from the front.
    forgotten: usize,
    /// The number from which entries count.
    first: u64,
    /// The time from which entries count, in seconds.
    since: u64,
}

impl Segment {
    /// Empty, for what comes at this number and second, and later.
    pub(super) fn new(hasher: FixedState, first: u64, since: u64) -> Self {
        Self { entries: Entries::default(), index: HashTable::new(), hasher, forgotten: 0, first, since }
    }

    /// The number of its first, forgotten or not.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// How many are not forgotten.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.forgotten
    }

    /// Whether it takes another. Once it began to forget it does not: so what is forgotten is given back
    /// within a window, however few come.
    pub(super) fn takes(&self, number: u64, second: u64) -> bool {
        let near = |from: u64, to: u64| u32::try_from(to - from).is_ok();
        self.entries.len() < MAX_ENTRIES
            && self.forgotten == 0
            && near(self.first, number)
            && near(self.since, second)
    }

    /// Adds what it [`takes`](Self::takes).
    pub(super) fn push(&mut self, number: u64, fingerprint: u128, digest: &Digest, second: u64) {
        let (seconds, offset) = ((second - self.since) as u32, (number - self.first) as u32);
        self.entries.push(Entry::new(fingerprint, digest, seconds, offset));
        self.enter(self.entries.len() - 1);
    }

    pub(super) fn find(&self, hash: u64, fingerprint: u128) -> Option<Found> {
        let is = |&place: &u32| self.entries.get(place as usize).is_some_and(|entry| entry.is(fingerprint));
        let place = *self.index.find(hash, is)? as usize;
        let entry = self.entries.get(place).filter(|_| place >= self.forgotten)?;
        Some(Found { number: self.first + u64::from(entry.offset), digest: entry.digest() })
    }

    /// The second of the oldest that is not forgotten.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.entries.get(self.forgotten).map(|entry| self.since + u64::from(entry.seconds))
    }

    /// Forgets what is before a second, and says below which number nothing is left of it; `None` if there
    /// was no such thing.
    pub(super) fn forget(&mut self, second: u64) -> Option<u64> {
        let since = self.since;
        let before = |entry: &Entry| since + u64::from(entry.seconds) < second;
        if !self.entries.get(self.forgotten).is_some_and(before) {
            return None;
        }
        let forgotten = self.entries.partition_point(self.forgotten, before);
        let last = self.entries.get(forgotten - 1)?.offset;
        self.entries.release(self.forgotten, forgotten);
        self.forgotten = forgotten;
        Some(self.first + u64::from(last) + 1)
    }

    /// Drops the numbers from `from` on.
    pub(super) fn truncate(&mut self, from: u64) {
        let first = self.first;
        let before = |entry: &Entry| first + u64::from(entry.offset) < from;
        let len = self.entries.partition_point(self.forgotten, before);
        if len == self.entries.len() {
            return;
        }
        self.entries.truncate(len);
        // What was remembered anew is found by its older receipt again.
        self.index = HashTable::with_capacity(len - self.forgotten);
        (self.forgotten..len).for_each(|place| self.enter(place));
    }

    /// Enters an entry into the index, where it displaces an older one of its fingerprint.
    fn enter(&mut self, place: usize) {
        let Some(entry) = self.entries.get(place) else { return };
        let hash_of = |entry: &Entry| self.hasher.hash_one(entry.low);
        let same = |&other: &u32| self.entries.get(other as usize).is_some_and(|other| other.matches(entry));
        let hash = |&other: &u32| self.entries.get(other as usize).map_or(0, hash_of);
        let place = place as u32;
        self.index.entry(hash_of(entry), same, hash).and_modify(|older| *older = place).or_insert(place);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes() + self.index.allocation_size()
    }
}
