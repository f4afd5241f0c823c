//! Traces go along with what displaces what they were of (contract 10.1).

use super::Engine;
use super::work::WorkKey;
use crate::thread::Thread;

/// Occurrences held whose traces are known at once; of what comes past it none is.
pub const MAX_THREADS: usize = 8_192;

/// How many pieces of work have a thread, and what is on its way from one to another.
#[derive(Debug, Default)]
pub(super) struct Threads {
    held: usize,
    /// The threads of what this input displaced, with the numbers of what does so: that may not be there yet.
    displaced: Vec<(u64, Box<Thread>)>,
}

impl Threads {
    /// What comes with an event, if there is room for it.
    pub(super) fn admit(&self, thread: Option<Box<Thread>>) -> Option<Box<Thread>> {
        thread.filter(|_| self.held < MAX_THREADS)
    }

    /// Work has a thread, or none.
    pub(super) fn count(&mut self, some: bool) {
        self.held += usize::from(some);
    }

    /// Work that had one, or none, has gone or has another.
    pub(super) fn uncount(&mut self, some: bool) {
        self.held -= usize::from(some);
    }

    /// How many pieces of work have one.
    #[cfg(debug_assertions)]
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Nothing is handed over of what displaced these: it is with the host, or has nothing to tell.
    pub(super) fn drop_of(&mut self, number: u64) {
        self.displaced.retain(|(by, _)| *by != number);
    }

    /// What displaced them is gone itself.
    pub(super) fn let_go(&mut self) {
        self.displaced.clear();
    }
}

impl Engine {
    /// An occurrence has ended, displaced by the one with this number; 0: by none.
    pub(super) fn displace(&mut self, thread: Option<Box<Thread>>, by: u64) {
        if let Some(thread) = thread.filter(|_| by > 0) {
            self.threads.displaced.push((by, thread));
        }
    }

    /// What was displaced so far goes along with what did so, unless that waits for an operator. To be called before
    /// anything is handed over.
    pub(super) fn hand_down(&mut self) {
        if self.threads.displaced.is_empty() {
            return;
        }
        for (by, older) in std::mem::take(&mut self.threads.displaced) {
            let Some(key) = self.numbered(by) else {
                self.threads.displaced.push((by, older));
                continue;
            };
            let Some(work) = self.works.get_mut(key) else { continue };
            self.threads.held += usize::from(work.thread.is_none());
            work.thread.get_or_insert_default().take_in(*older);
            self.touch(key);
        }
    }

    /// Nearly always it is what this input brought or changed.
    fn numbered(&self, number: u64) -> Option<WorkKey> {
        let is = |key: &&WorkKey| self.works.get(**key).is_some_and(|work| work.number == number);
        self.touched_works
            .iter()
            .rev()
            .find(is)
            .copied()
            .or_else(|| self.works.iter().find(|(_, work)| work.number == number).map(|(key, _)| key))
    }
}
