//! A store that fails when it is told to. For tests.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use mcpl_policy::journal::Table;

use super::Batch;
use super::store::{Fault, Rest, Store, Take};

/// A store that passes everything to another one, unless its [`Faults`] say otherwise.
pub struct Faulty {
    store: Box<dyn Store>,
    faults: Faults,
}

/// What is wrong with a [`Faulty`] store. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    wrong: Arc<(Mutex<Wrong>, Condvar)>,
}

#[derive(Debug, Default)]
struct Wrong {
    /// So many commits and probes fail.
    broken: u32,
    /// There is no space but the reserve's.
    full: bool,
    /// The reserve was given up: so many commits still have space.
    spare: u32,
    reserve_gone: bool,
    /// Commits wait.
    held: bool,
    waiting: u32,
    panics: bool,
    commits: u64,
}

impl Faults {
    /// The next commits fail, as a disk with an error would; probes count.
    pub fn fail_next(&self, commits: u32) {
        self.set(|wrong| wrong.broken = commits);
    }

    /// Nothing can be committed until [`Faults::mend`].
    pub fn break_down(&self) {
        self.fail_next(u32::MAX);
    }

    /// Everything can be committed, and there is space.
    pub fn mend(&self) {
        self.set(|wrong| (wrong.broken, wrong.full) = (0, false));
    }

    /// The disk is full: commits and probes fail as full, until the reserve is given up, which gives space for so
    /// many of them. It cannot be made again before [`Faults::mend`].
    pub fn fill(&self, spare: u32) {
        self.set(|wrong| (wrong.full, wrong.spare) = (true, spare));
    }

    /// Commits wait until [`Faults::release`].
    pub fn hold(&self) {
        self.set(|wrong| wrong.held = true);
    }

    /// Lets commits go.
    pub fn release(&self) {
        self.set(|wrong| wrong.held = false);
    }

    /// Blocks until a commit waits for [`Faults::release`].
    pub fn held(&self) {
        let mut wrong = self.wrong();
        while wrong.waiting == 0 {
            wrong = self.wrong.1.wait(wrong).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next commit is the end of the commit thread.
    pub fn panic_next(&self) {
        self.set(|wrong| wrong.panics = true);
    }

    /// Commits that were tried, probes not counted.
    pub fn commits(&self) -> u64 {
        self.wrong().commits
    }

    fn set(&self, change: impl FnOnce(&mut Wrong)) {
        change(&mut self.wrong());
        self.wrong.1.notify_all();
    }

    fn wrong(&self) -> MutexGuard<'_, Wrong> {
        self.wrong.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a write meets.
    fn write(&self) -> Result<(), Fault> {
        let mut wrong = self.wrong();
        if wrong.held {
            wrong.waiting += 1;
            self.wrong.1.notify_all();
            while wrong.held {
                wrong = self.wrong.1.wait(wrong).unwrap_or_else(PoisonError::into_inner);
            }
            wrong.waiting -= 1;
        }
        assert!(!wrong.panics, "the disk was told to panic");
        if wrong.broken > 0 {
            wrong.broken = if wrong.broken == u32::MAX { u32::MAX } else { wrong.broken - 1 };
            return Err(Fault::Broken("the disk was told to fail".to_owned()));
        }
        if wrong.full {
            if !wrong.reserve_gone || wrong.spare == 0 {
                return Err(Fault::Full("the disk was told to be full".to_owned()));
            }
            wrong.spare -= 1;
        }
        Ok(())
    }
}

impl Faulty {
    /// Over a store, with nothing wrong yet.
    pub fn new(store: Box<dyn Store>) -> (Self, Faults) {
        let faults = Faults::default();
        (Self { store, faults: faults.clone() }, faults)
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.faults.release();
    }
}

impl Store for Faulty {
    fn binding(&mut self, name: &str) -> Result<u64, Fault> {
        self.store.binding(name)
    }

    fn page(
        &mut self,
        binding: u64,
        table: Table,
        from: u64,
        most: usize,
        take: Take<'_>,
    ) -> Result<Option<u64>, Fault> {
        self.store.page(binding, table, from, most, take)
    }

    fn read(&mut self, binding: u64, table: Table, id: u64) -> Result<Option<Vec<u8>>, Fault> {
        self.store.read(binding, table, id)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), Fault> {
        self.faults.wrong().commits += 1;
        self.faults.write()?;
        self.store.commit(batch)
    }

    fn probe(&mut self) -> Result<(), Fault> {
        self.faults.write()?;
        self.store.probe()
    }

    fn size(&mut self) -> Result<u64, Fault> {
        self.store.size()
    }

    fn upkeep(&mut self) -> Result<(), Fault> {
        self.store.upkeep()
    }

    fn rest(&mut self, hurried: bool) -> Result<Rest, Fault> {
        self.store.rest(hurried)
    }

    fn give_up_reserve(&mut self) -> bool {
        let mut wrong = self.faults.wrong();
        if wrong.full {
            return !std::mem::replace(&mut wrong.reserve_gone, true);
        }
        drop(wrong);
        self.store.give_up_reserve()
    }

    fn make_reserve(&mut self) -> bool {
        let mut wrong = self.faults.wrong();
        if wrong.full && wrong.reserve_gone {
            return false;
        }
        wrong.reserve_gone = false;
        drop(wrong);
        self.store.make_reserve()
    }

    fn path(&self) -> Option<&Path> {
        self.store.path()
    }
}
