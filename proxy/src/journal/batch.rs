//! What one transaction changes: many steps, merged.

use std::collections::BTreeMap;

use mcpl_policy::journal::{Change, Table};

use super::store::rowid;

/// The changes of any number of steps, of any bindings: of each row only the last one, and nothing of rows that came
/// and went in between.
#[derive(Debug, Default)]
pub struct Batch {
    /// By table and rowid, so that a store meets its pages in order.
    rows: BTreeMap<(Table, u64), Last>,
    forgets: BTreeMap<(Table, u64), Vec<Forget>>,
    /// Counts changes, to tell what came before what.
    at: u64,
    bytes: usize,
}

/// The last change of a row.
#[derive(Debug)]
struct Last {
    at: u64,
    row: Option<Vec<u8>>,
}

/// Rows below a number were deleted.
#[derive(Debug, Clone, Copy)]
struct Forget {
    at: u64,
    below: u64,
}

impl Batch {
    /// Adds a change of a binding.
    pub(super) fn add(&mut self, binding: u64, change: Change) {
        self.at += 1;
        let at = self.at;
        self.bytes += size(&change);
        match change {
            Change::Put { table, id, row } => {
                self.rows.insert((table, rowid(binding, id)), Last { at, row: Some(row) });
            }
            Change::Delete { table, id } => {
                self.rows.insert((table, rowid(binding, id)), Last { at, row: None });
            }
            Change::Forget { table, below } => {
                let forgets = self.forgets.entry((table, binding)).or_default();
                // What an earlier one forgot and this one too is this one's alone: mostly a single one stays.
                while forgets.last().is_some_and(|earlier| earlier.below <= below) {
                    forgets.pop();
                }
                forgets.push(Forget { at, below });
            }
        }
    }

    /// Bytes of all changes added, merged or not.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.forgets.is_empty()
    }

    /// Table, binding and number: all rows of that binding below that number are to be deleted, before what
    /// [`Batch::rows`] says is done.
    pub fn forgets(&self) -> impl Iterator<Item = (Table, u64, u64)> + '_ {
        self.forgets
            .iter()
            .filter_map(|(&(table, binding), all)| all.first().map(|first| (table, binding, first.below)))
    }

    /// Table, rowid and bytes of each row that is to be put, or `None`: to be deleted; ascending.
    pub fn rows(&self) -> impl Iterator<Item = (Table, u64, Option<&[u8]>)> + '_ {
        self.rows.iter().filter_map(|(&(table, rowid), last)| {
            let (binding, id) = super::store::parts(rowid);
            (!self.forgot(table, binding, id, last.at)).then_some((table, rowid, last.row.as_deref()))
        })
    }

    /// What the batch makes of a row.
    pub(super) fn row(&self, binding: u64, table: Table, id: u64) -> Made<'_> {
        let last = self.rows.get(&(table, rowid(binding, id)));
        if self.forgot(table, binding, id, last.map_or(0, |last| last.at)) {
            return Made::Gone;
        }
        match last {
            None => Made::Nothing,
            Some(Last { row: None, .. }) => Made::Gone,
            Some(Last { row: Some(row), .. }) => Made::Row(row),
        }
    }

    fn forgot(&self, table: Table, binding: u64, id: u64, at: u64) -> bool {
        let forgets = self.forgets.get(&(table, binding));
        forgets.is_some_and(|all| all.iter().any(|forget| forget.at > at && id < forget.below))
    }
}

/// What a batch makes of a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Made<'a> {
    /// It is this.
    Row(&'a [u8]),
    /// There is none.
    Gone,
    /// It is what it was.
    Nothing,
}

/// What a change counts for while it waits, bytes.
pub(super) fn size(change: &Change) -> usize {
    const ROOM: usize = 64;
    match change {
        Change::Put { row, .. } => ROOM + row.len(),
        Change::Delete { .. } | Change::Forget { .. } => ROOM,
    }
}

/// What a step counts for beside its changes, bytes.
pub(super) const STEP_BYTES: usize = 64;

/// The largest number that a change touches.
pub(super) fn highest(change: &Change) -> u64 {
    match change {
        Change::Put { id, .. } | Change::Delete { id, .. } => *id,
        Change::Forget { below, .. } => below.saturating_sub(1),
    }
}

#[cfg(test)]
mod tests;
