//! Where rows are put: what a journal asks of a store.

use std::path::Path;

use mcpl_policy::journal::Table;

use super::Batch;

/// Numbers of rows are below two to the power of this.
const NUMBER_BITS: u32 = 50;

/// The number of a row within its table: the binding's number above, the row's number within the binding below.
///
/// The first binding is 0, so that its rows have small numbers, which a store may spell short.
pub fn rowid(binding: u64, id: u64) -> u64 {
    debug_assert!(id <= last_id() && binding <= last_binding());
    binding << NUMBER_BITS | id & last_id()
}

/// The binding and the number of a row.
pub fn parts(rowid: u64) -> (u64, u64) {
    (rowid >> NUMBER_BITS, rowid & last_id())
}

/// The largest number of a binding: so many have names in one journal, and no more.
pub const fn last_binding() -> u64 {
    (1 << (63 - NUMBER_BITS)) - 1
}

/// The largest number of a row.
pub const fn last_id() -> u64 {
    (1 << NUMBER_BITS) - 1
}

/// There is no number left for another binding.
pub(super) fn crowded() -> Fault {
    Fault::Broken(format!("it holds work of {} producers, and takes no further name", last_binding() + 1))
}

/// Why a store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is no space; with more of it, it might have gone well.
    #[error("{0}")]
    Full(String),
    /// The store's own structure is damaged.
    #[error("{0}")]
    Corrupt(String),
    /// Anything else.
    #[error("{0}")]
    Broken(String),
}

/// What is left to do for a store that rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Another portion of work.
    More,
    /// Nothing until the next commit.
    Done,
    /// Something stood in the way (a reader); later again.
    Later,
}

/// A row on its way out of a store: its number and its bytes, or why it cannot be read.
pub type Take<'a> = &'a mut dyn FnMut(u64, Result<&[u8], &'static str>);

/// A map of rows with transactions. One thread at a time calls it; each call may block.
pub trait Store: Send {
    /// The number of a binding, given to it if it has none.
    ///
    /// # Errors
    /// [`Fault`]; the binding has no number then.
    fn binding(&mut self, name: &str) -> Result<u64, Fault>;

    /// Reads rows of a binding's table, numbers ascending, from a number on, until it has read at least `most` bytes;
    /// then the number to go on with, or `None` at the end.
    ///
    /// # Errors
    /// [`Fault`]: nothing after the last row given can be read.
    fn page(
        &mut self,
        binding: u64,
        table: Table,
        from: u64,
        most: usize,
        take: Take<'_>,
    ) -> Result<Option<u64>, Fault>;

    /// Reads one row.
    ///
    /// # Errors
    /// [`Fault`].
    fn read(&mut self, binding: u64, table: Table, id: u64) -> Result<Option<Vec<u8>>, Fault>;

    /// Puts a batch on disk. When this returns, all of it survives a loss of power.
    ///
    /// # Errors
    /// [`Fault`]: nothing of the batch is visible to any call that follows.
    fn commit(&mut self, batch: &Batch) -> Result<(), Fault>;

    /// Commits next to nothing, to see whether it can be done. Once it has been done, no earlier commit that failed
    /// can come back after a kill.
    ///
    /// # Errors
    /// [`Fault`]: it cannot.
    fn probe(&mut self) -> Result<(), Fault>;

    /// What it occupies, bytes, without what it would use again before it grows.
    ///
    /// # Errors
    /// [`Fault`].
    fn size(&mut self) -> Result<u64, Fault>;

    /// Called after each commit, when that has been reported: keeps its log in bounds.
    ///
    /// # Errors
    /// [`Fault`]: to be tried again later, nothing is lost.
    fn upkeep(&mut self) -> Result<(), Fault>;

    /// A small portion of what is done without haste: after the last one nothing that was deleted is on disk, and
    /// space that is not needed has been given back. `hurried`: there is work, so what would hold it up for long is to
    /// be left for later.
    ///
    /// # Errors
    /// [`Fault`]: to be tried again later, nothing is lost.
    fn rest(&mut self, hurried: bool) -> Result<Rest, Fault>;

    /// Gives up the space kept for a full disk; whether there was any.
    fn give_up_reserve(&mut self) -> bool;

    /// Makes sure that there is a reserve; whether there is.
    fn make_reserve(&mut self) -> bool;

    /// Where it is, if it is in a file.
    fn path(&self) -> Option<&Path>;
}
