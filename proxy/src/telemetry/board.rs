//! What every binding published last: what a scrape and an export read (contract 10.2).
//!
//! The data path counts in plain numbers of its own and puts them here when it has nothing else to do; whoever
//! collects reads them from here, on another thread. What a binding leaves behind stays, so that no counter goes
//! backwards when a session, or a binding, begins anew.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpl_policy::engine::Load;

use super::names::{Reload, Role, Signal};
use crate::exchange::Tally;

/// What one binding says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What its sessions did since it was opened.
    pub tally: Tally,
    /// What it holds.
    pub load: Load,
    /// A session lives.
    pub session: bool,
}

/// Where one producer's bindings publish, one after the other.
#[derive(Debug, Default)]
pub struct Slot {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// What bindings that are gone came to.
    before: (Tally, u64, u64),
    now: Reading,
}

impl Slot {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The binding says how it stands.
    pub fn publish(&self, reading: Reading) {
        self.kept().now = reading;
    }

    /// The binding is gone: what it counted stays, what it holds is nobody's now.
    pub fn close(&self) {
        let mut kept = self.kept();
        let now = std::mem::take(&mut kept.now);
        kept.before.0 += now.tally;
        kept.before.1 += now.load.paced;
        kept.before.2 += now.load.unrendered;
    }

    /// How the producer's bindings stand, all that there were.
    pub fn reading(&self) -> Reading {
        let kept = self.kept();
        let mut reading = kept.now;
        reading.tally += kept.before.0;
        reading.load.paced += kept.before.1;
        reading.load.unrendered += kept.before.2;
        reading
    }
}

/// A certificate of ours: whose it is, and what it is for.
type Holder = (Option<Arc<str>>, &'static str);

/// All of it.
#[derive(Debug, Default)]
pub struct Board {
    slots: Mutex<BTreeMap<Arc<str>, Arc<Slot>>>,
    reloads: [AtomicU64; Reload::COUNT],
    dropped: [AtomicU64; Signal::COUNT],
    certificates: Mutex<BTreeMap<Holder, i64>>,
}

impl Board {
    /// The slot of a producer, made when it is served for the first time.
    pub fn slot(&self, producer: &str) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(producer.into()).or_default())
    }

    /// Every producer that was served since the start.
    pub fn producers(&self) -> Vec<(Arc<str>, Reading)> {
        let slots: Vec<_> = {
            let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.iter().map(|(name, slot)| (Arc::clone(name), Arc::clone(slot))).collect()
        };
        slots.into_iter().map(|(name, slot)| (name, slot.reading())).collect()
    }

    /// The configuration was reloaded, or not.
    pub fn reloaded(&self, how: Reload) {
        self.reloads[how as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often.
    pub fn reloads(&self, how: Reload) -> u64 {
        self.reloads[how as usize].load(Ordering::Relaxed)
    }

    /// So many items of a signal were not exported.
    pub fn drop_items(&self, signal: Signal, count: u64) {
        self.dropped[signal as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// How many.
    pub fn dropped(&self, signal: Signal) -> u64 {
        self.dropped[signal as usize].load(Ordering::Relaxed)
    }

    /// The certificates of ours that are used from now on: of which producer, where it is one's, what for, and when
    /// each ends, in seconds since 1970. Others are used no more.
    pub fn certify<'a>(&self, all: impl IntoIterator<Item = (Option<&'a str>, Role, i64)>) {
        let all =
            all.into_iter().map(|(producer, role, ends)| ((producer.map(Into::into), role.as_str()), ends));
        *self.certificates.lock().unwrap_or_else(PoisonError::into_inner) = all.collect();
    }

    /// Whose certificates end when.
    pub fn certificates(&self) -> Vec<(Option<Arc<str>>, &'static str, i64)> {
        let certificates = self.certificates.lock().unwrap_or_else(PoisonError::into_inner);
        certificates.iter().map(|((producer, role), ends)| (producer.clone(), *role, *ends)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_that_begins_anew_goes_on_counting_where_the_last_one_ended() {
        let board = Board::default();
        let slot = board.slot("chat");
        let mut reading = Reading { session: true, ..Reading::default() };
        (reading.tally.delivered, reading.load.held, reading.load.paced) = (7, 3, 2);
        reading.load.unrendered = 5;
        slot.publish(reading);
        slot.close();
        let left = board.slot("chat").reading();
        assert_eq!((left.tally.delivered, left.load.held, left.load.paced, left.session), (7, 0, 2, false));
        (reading.tally.delivered, reading.load.paced) = (1, 1);
        slot.publish(reading);
        let next = board.producers().remove(0).1;
        assert_eq!((next.tally.delivered, next.load.held, next.load.paced), (8, 3, 3));
        assert_eq!((left.load.unrendered, next.load.unrendered), (5, 10));
    }
}
