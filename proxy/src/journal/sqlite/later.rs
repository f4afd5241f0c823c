//! Deleting what means nothing any more when there is time for it.
//!
//! The notices of a batch that is closed belong to nothing: whether their rows are there or not, the journal says
//! the same. To delete them takes about as long as all else that a release writes, so it is not done in between.
//! After a kill before it was done they are found to belong to nothing, and deleted then.

use std::collections::BTreeMap;

use mcpl_policy::journal::Table;
use rusqlite::{Connection, params};

use super::statements::of;

/// Rows deleted in one go, at the most.
const PORTION: u64 = 4096;

/// Stretches that may wait; past it commits delete a portion each.
const MOST: usize = 8192;

/// Stretches that were deleted: the first and the last of each.
pub(super) type Portion = Vec<(u64, u64)>;

/// Stretches of rowids of [`Table::Notice`] that are to be deleted.
#[derive(Debug, Default)]
pub(super) struct Later {
    /// The last of each, by its first.
    stretches: BTreeMap<u64, u64>,
}

impl Later {
    /// Whether rows of this table wait here.
    pub(super) fn takes(table: Table) -> bool {
        table == Table::Notice
    }

    pub(super) fn add(&mut self, mut first: u64, mut last: u64) {
        // What touches becomes one: batches that were opened one after the other often close so, too.
        while let Some((&before, &end)) = self.stretches.range(..=last.saturating_add(1)).next_back() {
            if end.saturating_add(1) < first {
                break;
            }
            self.stretches.remove(&before);
            (first, last) = (first.min(before), last.max(end));
        }
        self.stretches.insert(first, last);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// So many wait that they cost more than to delete some.
    pub(super) fn is_full(&self) -> bool {
        self.stretches.len() >= MOST
    }

    /// Deletes a portion, within a transaction; which, for [`Later::done`] once that is committed.
    pub(super) fn delete(&self, connection: &Connection) -> rusqlite::Result<Portion> {
        let (mut portion, mut room) = (Vec::new(), PORTION);
        let mut clear = connection.prepare_cached(of(Table::Notice).clear)?;
        for (&first, &last) in &self.stretches {
            let Some(more) = room.checked_sub(1) else { break };
            let last = last.min(first.saturating_add(more));
            clear.execute(params![first, last])?;
            room -= last - first + 1;
            portion.push((first, last));
        }
        Ok(portion)
    }

    /// A portion is gone.
    pub(super) fn done(&mut self, portion: &[(u64, u64)]) {
        for (first, last) in portion {
            if let Some(end) = self.stretches.remove(first)
                && end > *last
            {
                self.stretches.insert(last + 1, end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(later: &Later) -> Vec<(u64, u64)> {
        later.stretches.iter().map(|(&first, &last)| (first, last)).collect()
    }

    #[test]
    fn what_touches_becomes_one_stretch() {
        let mut later = Later::default();
        for (first, last) in [(64, 127), (256, 319), (128, 191), (0, 10), (300, 400)] {
            later.add(first, last);
        }
        assert_eq!(all(&later), [(0, 10), (64, 191), (256, 400)]);
        later.add(5, 300);
        assert_eq!(all(&later), [(0, 400)]);
        later.add(u64::MAX - 1, u64::MAX);
        assert_eq!(all(&later), [(0, 400), (u64::MAX - 1, u64::MAX)]);
    }

    #[test]
    fn portions_are_bounded_and_come_to_an_end() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE notice(id INTEGER PRIMARY KEY, row BLOB NOT NULL)").unwrap();
        connection
            .execute_batch(
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) \
                 INSERT INTO notice SELECT i, x'00' FROM n",
            )
            .unwrap();
        let mut later = Later::default();
        later.add(0, 9000);
        later.add(9002, 9002);
        let mut portions = 0;
        while !later.is_empty() {
            let portion = later.delete(&connection).unwrap();
            assert!(portion.iter().map(|(first, last)| last - first + 1).sum::<u64>() <= PORTION);
            later.done(&portion);
            portions += 1;
        }
        let left = connection.query_row("SELECT count(*), min(id) FROM notice", [], |row| {
            Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?))
        });
        assert_eq!((portions, later.is_empty(), left.unwrap()), (3, true, (998, 9001)));
    }
}
