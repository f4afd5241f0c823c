//! Reading a journal beside the program that writes it, or when none does.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcpl_policy::journal::{Spoilt, Table};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, ffi, params};

use super::sqlite::{check, of, of_error, page, read};
use super::store::{Fault, last_id, parts, rowid};
use super::torn::{self, Log};
use super::{FILE, OpenFault};

/// So many bytes of rows are read at a time: the writer can empty its log in between, however slow the taker is.
const PAGE_BYTES: usize = 256 << 10;

/// What is said of rows in a damaged page.
const DAMAGED: &str = "it lies in a damaged page of the file";

/// Takes a row that is scanned: its number, and its bytes or what is wrong with it.
pub type TakeScanned<'a> = &'a mut dyn FnMut(u64, Result<&[u8], Spoilt>) -> ControlFlow<()>;

/// Read-only access to a state directory's journal, without its lock: from this or another process, while it is
/// written or not (contract 1, `journal`).
///
/// Each call sees what was committed when it read; a long scan reads in pieces, between which rows may change. A
/// damaged file is read as far as it can be.
pub struct Reader {
    file: PathBuf,
    connection: Connection,
}

/// What of a journal can be read, and what can not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// For each table: rows that can be read, and places that can not (a row, or a stretch of them).
    pub tables: Vec<(Table, u64, u64)>,
}

impl fmt::Display for Survey {
    /// "12 rows of `work`, 40 rows of `receipt`", only tables that have some.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut none = true;
        for (table, rows, _) in self.tables.iter().filter(|(_, rows, _)| *rows > 0) {
            let (comma, s) = (if none { "" } else { ", " }, if *rows == 1 { "" } else { "s" });
            write!(f, "{comma}{rows} row{s} of `{}`", table.as_str())?;
            none = false;
        }
        if none { f.write_str("nothing of it") } else { Ok(()) }
    }
}

impl Reader {
    /// Opens the journal of a state directory.
    ///
    /// # Errors
    /// [`OpenFault::Absent`] if there is none; else as [`Journal::open`](super::Journal::open).
    pub fn open(dir: &Path) -> Result<Self, OpenFault> {
        let file = dir.join(FILE);
        let fault = |why: &rusqlite::Error| OpenFault::of(file.clone(), of_error(why));
        match file.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(OpenFault::Absent { file }),
            Err(why) => return Err(OpenFault::Io { file, why }),
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&file, flags).map_err(|why| fault(&why))?;
        connection.busy_timeout(Duration::from_secs(5)).map_err(|why| fault(&why))?;
        connection
            .execute_batch("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;")
            .map_err(|why| fault(&why))?;
        connection.set_prepared_statement_cache_capacity(32);
        if is_half_made(&connection) {
            return Err(OpenFault::Absent { file });
        }
        if !check(&file, &connection)? {
            return Err(OpenFault::Absent { file });
        }
        Ok(Self { file, connection })
    }

    /// What is wrong with the write-ahead log, in words; the rows in it that cannot be read are as if they had never
    /// been. `None`: nothing is, or it cannot be told.
    pub fn log_damage(&self) -> Option<String> {
        let log = torn::look_beside_a_writer(&self.file).ok().filter(Log::is_damaged)?;
        Some(format!("{}: {log}", torn::beside(&self.file).display()))
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Names and numbers of the bindings, in order of their numbers. If the list of names is damaged, those that have
    /// rows, named for their numbers.
    ///
    /// # Errors
    /// [`OpenFault`].
    pub fn bindings(&self) -> Result<Vec<(String, u64)>, OpenFault> {
        let list = || {
            let mut list = self.connection.prepare_cached("SELECT name, id FROM binding ORDER BY id")?;
            list.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<Vec<_>>>()
        };
        match list() {
            Ok(all) => Ok(all),
            Err(why) => match of_error(&why) {
                Fault::Corrupt(_) => Ok(self.nameless()),
                fault => Err(OpenFault::of(self.file.clone(), fault)),
            },
        }
    }

    fn nameless(&self) -> Vec<(String, u64)> {
        let mut found = std::collections::BTreeSet::new();
        for table in Table::ALL {
            let mut from = 0;
            while let Ok(Some(key)) = self.seek(table, from, u64::MAX >> 1) {
                let binding = parts(key).0;
                found.insert(binding);
                from = rowid(binding, last_id()) + 1;
            }
        }
        found.into_iter().map(|binding| (format!("binding {binding}"), binding)).collect()
    }

    /// Reads a binding's rows of a table, numbers ascending, from a number on, until `take` breaks. A row that cannot
    /// be read is told as what is wrong with it, and so is a stretch of rows in a damaged place, by its first number;
    /// then it goes on with the next that can be read.
    ///
    /// # Errors
    /// [`OpenFault`] for anything but damage.
    pub fn scan(
        &self,
        binding: u64,
        table: Table,
        from: u64,
        take: TakeScanned<'_>,
    ) -> Result<(), OpenFault> {
        let mut at = Some(from);
        while let Some(from) = at {
            let mut rows: Vec<(u64, Result<usize, &'static str>)> = Vec::new();
            let mut bytes = Vec::new();
            let read = page(&self.connection, binding, table, from, PAGE_BYTES, &mut |id, row| {
                let row = row.map(|row| {
                    bytes.extend_from_slice(row);
                    bytes.len()
                });
                rows.push((id, row));
            });
            let (mut start, mut next) = (0, from);
            for (id, row) in rows {
                let row = match row {
                    Ok(end) => Ok(&bytes[std::mem::replace(&mut start, end)..end]),
                    Err(why) => Err(Spoilt { table, id, why }),
                };
                next = id + 1;
                if take(id, row).is_break() {
                    return Ok(());
                }
            }
            at = match read {
                Ok(next) => next,
                Err(why) => match of_error(&why) {
                    Fault::Corrupt(_) => {
                        if take(next, Err(Spoilt { table, id: next, why: DAMAGED })).is_break() {
                            return Ok(());
                        }
                        self.beyond(binding, table, next)
                    }
                    fault => return Err(OpenFault::of(self.file.clone(), fault)),
                },
            };
        }
        Ok(())
    }

    /// Reads one row.
    ///
    /// # Errors
    /// [`OpenFault`]; [`OpenFault::Corrupt`] if the row is damaged.
    pub fn get(&self, binding: u64, table: Table, id: u64) -> Result<Option<Vec<u8>>, OpenFault> {
        read(&self.connection, binding, table, id).map_err(|fault| OpenFault::of(self.file.clone(), fault))
    }

    /// Reads everything and says what of it can be read.
    pub fn survey(&self) -> Survey {
        let bindings = self.bindings().unwrap_or_default();
        let tables = Table::ALL.map(|table| {
            let (mut good, mut bad) = (0, 0);
            for (_, binding) in &bindings {
                let scanned = self.scan(*binding, table, 0, &mut |_, row| {
                    *(if row.is_ok() { &mut good } else { &mut bad }) += 1;
                    ControlFlow::Continue(())
                });
                bad += u64::from(scanned.is_err());
            }
            (table, good, bad)
        });
        Survey { tables: tables.to_vec() }
    }

    /// The first number after a damaged place from which a row can be read again. Looked for in steps that double,
    /// then between the last two; rows are dense, so that what lies behind a damaged page is found.
    fn beyond(&self, binding: u64, table: Table, damaged: u64) -> Option<u64> {
        let last = rowid(binding, last_id());
        let readable = |id: u64| match self.row_from(table, rowid(binding, id), last) {
            Ok(found) => Some(found.map(|key| parts(key).1)),
            Err(_) => None,
        };
        let (mut low, mut step) = (damaged, 1);
        let mut found = loop {
            let id = low.saturating_add(step).min(last_id());
            match readable(id) {
                Some(found) => break found.map(|_| id),
                None if id == last_id() => return None,
                None => (low, step) = (id, step * 2),
            }
        };
        // Nothing at or after it, but perhaps before it.
        let mut high = match found {
            Some(id) => id,
            None => low.saturating_add(step).min(last_id()),
        };
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            match readable(middle) {
                Some(Some(id)) => (high, found) = (middle, Some(id)),
                Some(None) => high = middle,
                None => low = middle,
            }
        }
        found.map(|_| high)
    }

    /// The number of the first row from one number to another, found without reading the row.
    fn seek(&self, table: Table, from: u64, to: u64) -> rusqlite::Result<Option<u64>> {
        self.connection
            .prepare_cached(of(table).seek)?
            .query_row(params![from, to], |row| row.get(0))
            .optional()
    }

    /// As [`Reader::seek`], but its row is read too.
    fn row_from(&self, table: Table, from: u64, to: u64) -> rusqlite::Result<Option<u64>> {
        let mut select = self.connection.prepare_cached(of(table).page)?;
        let mut rows = select.query(params![from, to])?;
        match rows.next()? {
            None => Ok(None),
            Some(row) => {
                let _ = row.get_ref(1)?;
                row.get(0).map(Some)
            }
        }
    }
}

/// Whether the program was killed while it made the file: before there is a write-ahead log, nothing was promised, and
/// the next start takes back what was half done. A reader may not.
fn is_half_made(connection: &Connection) -> bool {
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, u64>(0));
    matches!(
        tables,
        Err(rusqlite::Error::SqliteFailure(error, _)) if error.extended_code == ffi::SQLITE_READONLY_ROLLBACK
    )
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("file", &self.file).finish_non_exhaustive()
    }
}
