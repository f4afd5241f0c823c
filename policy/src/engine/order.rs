//! Places: the order in which the host is told (contract 7.1a, 7.3).

use std::collections::{BTreeMap, HashMap};

use foldhash::quality::FixedState;

use super::work::WorkKey;

/// Work by place, for each thing it may be waiting for; every piece of work is in one of these at most.
#[derive(Debug)]
pub(super) struct Order {
    next: u64,
    /// Has a reason and may be tried.
    ready: BTreeMap<u64, WorkKey>,
    /// The same of batches: what may be tried is their render.
    batches: BTreeMap<u64, WorkKey>,
    /// What of it goes whatever else is full (contract 4.5).
    forced: BTreeMap<u64, WorkKey>,
    /// Has a reason, but its scope is not admissible.
    pub(super) parked: BTreeMap<u64, WorkKey>,
    /// Held in a channel, without a reason: what an event of that channel releases.
    channels: HashMap<Box<str>, BTreeMap<u64, WorkKey>, FixedState>,
}

impl Order {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            next: 0,
            ready: BTreeMap::new(),
            batches: BTreeMap::new(),
            forced: BTreeMap::new(),
            parked: BTreeMap::new(),
            channels: HashMap::with_hasher(FixedState::with_seed(seed)),
        }
    }

    /// This place is taken: those to come are behind it.
    pub(super) fn reserve(&mut self, place: u64) {
        self.next = self.next.max(place);
    }

    /// The place behind all others.
    pub(super) fn tail(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A piece of work has a reason and may be tried.
    pub(super) fn add_ready(&mut self, place: u64, work: WorkKey, forced: bool) {
        self.ready.insert(place, work);
        if forced {
            self.forced.insert(place, work);
        }
    }

    /// A batch has a reason and may be rendered.
    pub(super) fn add_batch(&mut self, place: u64, work: WorkKey) {
        self.batches.insert(place, work);
    }

    pub(super) fn remove_ready(&mut self, place: u64) {
        self.ready.remove(&place);
        self.forced.remove(&place);
        self.batches.remove(&place);
    }

    /// The first batch from this place on that may be rendered.
    pub(super) fn next_batch(&self, from: u64) -> Option<(u64, WorkKey)> {
        self.batches.range(from..).next().map(|(&place, &key)| (place, key))
    }

    /// How many may be tried before this place; counted up to `most`.
    pub(super) fn ready_before(&self, place: u64, most: usize) -> usize {
        self.ready.range(..place).take(most).count()
    }

    /// The first from this place on that may be tried; `forced`: of what goes whatever else is full.
    pub(super) fn next_ready(&self, from: u64, forced: bool) -> Option<(u64, WorkKey)> {
        let list = if forced { &self.forced } else { &self.ready };
        list.range(from..).next().map(|(&place, &key)| (place, key))
    }

    pub(super) fn is_any_ready(&self) -> bool {
        !self.ready.is_empty() || !self.batches.is_empty()
    }

    /// How many may be tried, and how many batches rendered.
    pub(super) fn ready_counts(&self) -> (usize, usize) {
        (self.ready.len(), self.batches.len())
    }

    pub(super) fn hold(&mut self, channel: &str, place: u64, work: WorkKey) {
        if let Some(held) = self.channels.get_mut(channel) {
            held.insert(place, work);
        } else {
            self.channels.insert(channel.into(), BTreeMap::from([(place, work)]));
        }
    }

    pub(super) fn unhold(&mut self, channel: &str, place: u64) {
        if let Some(held) = self.channels.get_mut(channel) {
            held.remove(&place);
            if held.is_empty() {
                self.channels.remove(channel);
            }
        }
    }

    /// What `channel` holds without a reason, before `place`, first places first.
    pub(super) fn earlier(&self, channel: &str, place: u64) -> Vec<WorkKey> {
        self.channels
            .get(channel)
            .map_or_else(Vec::new, |held| held.range(..place).map(|(_, &key)| key).collect())
    }

    /// Whether `work` is listed at its place as ready, and as a batch that is.
    #[cfg(debug_assertions)]
    pub(super) fn is_ready(&self, place: u64, work: WorkKey) -> (bool, bool) {
        let is = |list: &BTreeMap<u64, WorkKey>| list.get(&place) == Some(&work);
        (is(&self.ready), is(&self.batches))
    }

    /// How much is listed as ready, as parked, as held in a channel.
    #[cfg(debug_assertions)]
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let held = self.channels.values().map(BTreeMap::len).sum();
        (self.ready.len() + self.batches.len(), self.parked.len(), held)
    }
}
