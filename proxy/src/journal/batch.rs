//! What one transaction changes: many steps, merged.

use std::collections::BTreeMap;

use mcpl_policy::journal::{Change, Table};

use super::store::rowid;

/// The changes of any number of steps, of any bindings: of each row only the last one, and nothing of rows that came
/// and went in between.
///
/// Stretches of rows that go are done first, then what is left of single rows: what a stretch took of the batch's own
/// is not in it any more.
#[derive(Debug, Default)]
pub struct Batch {
    /// By table and rowid, so that a store meets its pages in order; `None`: deleted.
    rows: BTreeMap<(Table, u64), Option<Vec<u8>>>,
    /// Stretches that go: the first rowid, and the last. They neither overlap nor touch.
    clears: BTreeMap<(Table, u64), u64>,
    bytes: usize,
}

impl Batch {
    /// Adds a change of a binding.
    pub(super) fn add(&mut self, binding: u64, change: Change) {
        self.bytes += size(&change);
        match change {
            Change::Put { table, id, row } => {
                self.rows.insert((table, rowid(binding, id)), Some(row));
            }
            Change::Delete { table, id } => {
                self.rows.insert((table, rowid(binding, id)), None);
            }
            Change::Forget { table, below } => self.clear(binding, table, 0, below),
            Change::Clear { table, from, below } => self.clear(binding, table, from, below),
        }
    }

    fn clear(&mut self, binding: u64, table: Table, from: u64, below: u64) {
        if from >= below {
            return;
        }
        let (mut first, mut last) = (rowid(binding, from), rowid(binding, below - 1));
        let gone: Vec<_> = self.rows.range((table, first)..=(table, last)).map(|(key, _)| *key).collect();
        for key in gone {
            self.rows.remove(&key);
        }
        // Mostly neighbours: what is forgotten grows, and batches that end one after the other lie side by side.
        let touching = (table, 0)..=(table, last.saturating_add(1));
        while let Some((&key, &end)) = self.clears.range(touching.clone()).next_back()
            && end >= first.saturating_sub(1)
        {
            self.clears.remove(&key);
            (first, last) = (first.min(key.1), last.max(end));
        }
        self.clears.insert((table, first), last);
    }

    /// Bytes of all changes added, merged or not.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.clears.is_empty()
    }

    /// Table, first and last rowid of each stretch: all rows in it are to be deleted, before what [`Batch::rows`] says
    /// is done.
    pub fn clears(&self) -> impl Iterator<Item = (Table, u64, u64)> + '_ {
        self.clears.iter().map(|(&(table, first), &last)| (table, first, last))
    }

    /// Table, rowid and bytes of each row that is to be put, or `None`: to be deleted; ascending.
    pub fn rows(&self) -> impl Iterator<Item = (Table, u64, Option<&[u8]>)> + '_ {
        self.rows.iter().map(|(&(table, rowid), row)| (table, rowid, row.as_deref()))
    }

    /// What the batch makes of a row.
    pub(super) fn row(&self, binding: u64, table: Table, id: u64) -> Made<'_> {
        let rowid = rowid(binding, id);
        match self.rows.get(&(table, rowid)) {
            Some(Some(row)) => Made::Row(row),
            Some(None) => Made::Gone,
            None => {
                let before = self.clears.range((table, 0)..=(table, rowid)).next_back();
                if before.is_some_and(|(_, &last)| rowid <= last) { Made::Gone } else { Made::Nothing }
            }
        }
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
        Change::Delete { .. } | Change::Forget { .. } | Change::Clear { .. } => ROOM,
    }
}

/// What a step counts for beside its changes, bytes.
pub(super) const STEP_BYTES: usize = 64;

/// The largest number that a change touches.
pub(super) fn highest(change: &Change) -> u64 {
    match change {
        Change::Put { id, .. } | Change::Delete { id, .. } => *id,
        Change::Forget { below, .. } | Change::Clear { below, .. } => below.saturating_sub(1),
    }
}

#[cfg(test)]
mod tests;
