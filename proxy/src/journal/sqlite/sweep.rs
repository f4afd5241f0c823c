//! Taking out of the file what `SQLite` leaves of deleted content.
//!
//! `secure_delete` overwrites a deleted row where it lies, and pages that become free. But when rows are deleted,
//! `SQLite` also moves their neighbours from page to page, and does not overwrite where they were: in the unused
//! middle of a page a copy may stay of a row that is deleted later. So the rows of tables that hold what somebody wrote
//! are written anew once in a while, and the pages where they were become free.

use std::time::{Duration, Instant};

use mcpl_policy::journal::Table;
use rusqlite::Connection;

/// More than this is not written anew, bytes: it would hold up commits for too long. It waits until less is held.
const MOST: u64 = 32 << 20;

/// When content is written anew: no more of it in a second than this, on average, bytes.
const A_SECOND: u64 = 1 << 20;

/// The tables that hold what somebody wrote.
const WRITTEN: [Table; 2] = [Table::Content, Table::Notice];

/// When content was written anew, and whether it has to be.
#[derive(Debug)]
pub(super) struct Sweep {
    /// Rows were deleted since, of each of [`WRITTEN`].
    due: [bool; WRITTEN.len()],
    not_before: Instant,
}

impl Sweep {
    /// For a file of which is known whether it was just made.
    pub(super) fn new(made: bool) -> Self {
        Self { due: [!made; WRITTEN.len()], not_before: Instant::now() }
    }

    /// A row was deleted, or replaced.
    pub(super) fn deleted(&mut self, table: Table) {
        for (due, written) in self.due.iter_mut().zip(WRITTEN) {
            *due |= table == written;
        }
    }

    /// Whether it is due.
    pub(super) fn is_due(&self) -> bool {
        self.due != [false; WRITTEN.len()]
    }

    /// Writes content anew if it is time, and there is not more than `most` bytes of it; whether it did.
    pub(super) fn sweep(&mut self, connection: &Connection, most: u64) -> rusqlite::Result<bool> {
        let now = Instant::now();
        if !self.is_due() || now < self.not_before {
            return Ok(false);
        }
        let mut bytes = 0;
        for (_, table) in self.due.iter().zip(WRITTEN).filter(|(due, _)| **due) {
            let ask = format!("SELECT coalesce(sum(length(row)), 0) FROM {}", table.as_str());
            bytes += connection.query_row(&ask, [], |row| row.get::<_, u64>(0))?;
        }
        self.not_before = now + Duration::from_secs(bytes / A_SECOND);
        if bytes > most.min(MOST) {
            return Ok(false);
        }
        for (due, table) in self.due.iter_mut().zip(WRITTEN).filter(|(due, _)| **due) {
            write_anew(connection, table)?;
            *due = false;
        }
        Ok(true)
    }
}

fn write_anew(connection: &Connection, table: Table) -> rusqlite::Result<()> {
    let name = table.as_str();
    let done = connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; CREATE TABLE swept(id INTEGER PRIMARY KEY, row BLOB NOT NULL); \
         INSERT INTO swept SELECT id, row FROM {name}; DROP TABLE {name}; \
         ALTER TABLE swept RENAME TO {name}; COMMIT;"
    ));
    if done.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    done
}
