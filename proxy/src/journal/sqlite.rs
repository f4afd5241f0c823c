//! Rows in an `SQLite` file.
//!
//! Write-ahead log with `synchronous=FULL`: a commit returns when the log is on disk. The log is put into the file by
//! [`Store::upkeep`], between commits, never within one.
//!
//! While a connection is open, nothing else in this process may open the file by itself: closing it again would drop
//! `SQLite`'s locks on it (so say POSIX). [`Reader`](super::Reader) goes through `SQLite` too.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcpl_policy::journal::Table;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME, OptionalExtension as _, ffi, params};

use super::reserve::Reserve;
use super::store::{Fault, Rest, Store, Take, crowded, last_binding, last_id, parts, rowid};
use super::{Batch, Bounds, FILE, OpenFault, row, torn};

mod file;
mod later;
mod schema;
mod statements;
mod sweep;

pub(super) use file::close_to_others;
use file::{connect, make, savable};
use later::Later;
pub(super) use schema::check;
use statements::Statements;
pub(super) use statements::of;
use sweep::Sweep;

/// How long another process's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pages of the log after which it is put into the file, at most.
const LOG_PAGES: u64 = 2000;

/// Free pages up to which the file is not made smaller.
const FREE_PAGES: u64 = 256;

/// More content than this is not written anew while there is work or a program waits to end, bytes.
const AT_ONCE: u64 = 4 << 20;

/// Portions of what is to be deleted that a program waits for to end; the next one finds the others.
const LAST_PORTIONS: usize = 16;

/// A journal's file, opened to be written.
pub(super) struct Sqlite {
    file: PathBuf,
    connection: Connection,
    reserve: Reserve,
    /// Bytes of a page.
    page: u64,
    /// Pages of the log after which it is put into the file.
    log_pages: u64,
    /// The log's pages when that was last tried in vain.
    tried: u64,
    sweep: Sweep,
    later: Later,
    /// A row being spelled.
    sealed: Vec<u8>,
    /// Rows were committed: until then the file may be one that is refused, and is not to be changed.
    in_use: bool,
}

impl Sqlite {
    /// Opens the journal of a directory, or makes it.
    pub(super) fn open(dir: &Path, bounds: Bounds) -> Result<Self, OpenFault> {
        let file = dir.join(FILE);
        let mut reserve = Reserve::of(dir);
        // Before anything that writes: to open it is to go on where the log can be read no further.
        let log = torn::look(&file).map_err(|why| OpenFault::Io { file: torn::beside(&file), why })?;
        if log.is_damaged() {
            return Err(OpenFault::torn(file, &log, savable(dir)));
        }
        let made = make(&file).map_err(|why| OpenFault::Io { file: file.clone(), why })?;
        let mut opened = connect(&file);
        if matches!(&opened, Err(OpenFault::Store { .. })) && reserve.give_up() {
            tracing::warn!("the journal cannot be opened; it is tried again with the space of the reserve");
            opened = connect(&file);
        }
        let connection = opened?;
        let broken = |fault| OpenFault::of(file.clone(), fault);
        let page = number(&connection, Statements::PAGE_SIZE).map_err(broken)?;
        match log {
            torn::Log::Torn { ended: true, .. } => {
                tracing::warn!("the journal's write-ahead log is torn: {log}; it was dropped");
            }
            torn::Log::Torn { .. } => tracing::info!("the journal's write-ahead log is torn: {log}"),
            _ => {}
        }
        if made {
            File::open(dir)
                .and_then(|dir| dir.sync_all())
                .map_err(|why| OpenFault::Io { file: file.clone(), why })?;
        }
        let log_pages = (bounds.max_bytes / 8 / page).clamp(16, LOG_PAGES);
        Ok(Self {
            file,
            connection,
            reserve,
            page,
            log_pages,
            tried: 0,
            sweep: Sweep::new(made),
            later: Later::default(),
            sealed: Vec::new(),
            in_use: false,
        })
    }

    fn transaction(&mut self, batch: &Batch) -> rusqlite::Result<()> {
        let connection = &self.connection;
        for (table, first, last) in batch.clears().filter(|&(table, ..)| !Later::takes(table)) {
            let gone = connection.prepare_cached(of(table).clear)?.execute(params![first, last])?;
            if gone > 0 {
                self.sweep.deleted(table);
            }
        }
        let mut rows = batch.rows().peekable();
        while let Some(&(table, ..)) = rows.peek() {
            // Looked up once for all rows of a table: they are together.
            let mut put = connection.prepare_cached(of(table).put)?;
            let mut delete = connection.prepare_cached(of(table).delete)?;
            while let Some((_, key, row)) = rows.next_if(|(same, ..)| *same == table) {
                if let Some(row) = row {
                    row::seal(&mut self.sealed, table, key, row);
                    put.execute(params![key, self.sealed])?;
                } else {
                    self.sweep.deleted(table);
                    delete.execute(params![key])?;
                }
            }
        }
        Ok(())
    }

    /// Does something as one transaction.
    fn whole<T>(&mut self, what: impl FnOnce(&mut Self) -> rusqlite::Result<T>) -> Result<T, Fault> {
        self.run(Statements::BEGIN)?;
        let done = what(self)
            .map_err(|why| of_error(&why))
            .and_then(|done| self.run(Statements::COMMIT).map(|()| done));
        if done.is_err() && !self.connection.is_autocommit() {
            // If even this fails, the next `BEGIN` does, and with it the next commit.
            let _ = self.run(Statements::ROLLBACK);
        }
        done
    }

    /// A portion of what waited to be deleted is.
    fn deleted_later(&mut self, portion: &[(u64, u64)]) {
        if !portion.is_empty() {
            self.later.done(portion);
            self.sweep.deleted(Table::Notice);
        }
    }

    fn run(&self, sql: &'static str) -> Result<(), Fault> {
        let run = || self.connection.prepare_cached(sql)?.execute([]);
        run().map(drop).map_err(|why| of_error(&why))
    }

    /// Pages in the log, and how many of them are not in the file yet.
    fn log(&self) -> Result<(u64, u64), Fault> {
        self.checkpoint(CheckpointMode::NOOP)
    }

    fn checkpoint(&self, mode: CheckpointMode) -> Result<(u64, u64), Fault> {
        let done = self.connection.wal_checkpoint_v2(DEFAULT_NAME, mode).map_err(|why| of_error(&why))?;
        let (all, moved) = (u64::try_from(done.0).unwrap_or(0), u64::try_from(done.1).unwrap_or(0));
        Ok((all, all - moved.min(all)))
    }

    /// Gives some free pages back to the file system, if there are many; whether there may be more.
    fn give_back(&self) -> Result<bool, Fault> {
        let free = number(&self.connection, Statements::FREE_PAGES)?;
        if free <= FREE_PAGES || free <= number(&self.connection, Statements::PAGE_COUNT)? / 2 {
            return Ok(false);
        }
        let give = || {
            let mut give = self.connection.prepare_cached(Statements::GIVE_BACK)?;
            let mut rows = give.query([])?;
            // One page for each row stepped to.
            while rows.next()?.is_some() {}
            Ok(true)
        };
        give().map_err(|why: rusqlite::Error| of_error(&why))
    }

    /// Empties the log. `false`: a reader stands in the way.
    fn empty_log(&self) -> Result<bool, Fault> {
        // Readers are not waited for: commits would wait too.
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let done = self.checkpoint(CheckpointMode::TRUNCATE);
        let _ = self.connection.busy_timeout(PATIENCE);
        match done {
            Ok(_) => Ok(true),
            Err(Fault::Broken(_)) if self.log().is_ok() => Ok(false),
            Err(why) => Err(why),
        }
    }
}

impl Store for Sqlite {
    fn binding(&mut self, name: &str) -> Result<u64, Fault> {
        let find = |connection: &Connection| {
            let mut find = connection.prepare_cached("SELECT id FROM binding WHERE name = ?1")?;
            find.query_row([name], |row| row.get(0)).optional()
        };
        if let Some(number) = find(&self.connection).map_err(|why| of_error(&why))? {
            return Ok(number);
        }
        let given = self.whole(|this| {
            let mut add = this.connection.prepare_cached(
                "INSERT INTO binding(id, name) SELECT coalesce(max(id) + 1, 0), ?1 FROM binding \
                 HAVING coalesce(max(id) + 1, 0) <= ?2 RETURNING id",
            )?;
            add.query_row(params![name, last_binding()], |row| row.get(0)).optional()
        })?;
        given.ok_or_else(crowded)
    }

    fn page(
        &mut self,
        binding: u64,
        table: Table,
        from: u64,
        most: usize,
        take: Take<'_>,
    ) -> Result<Option<u64>, Fault> {
        page(&self.connection, binding, table, from, most, take).map_err(|why| of_error(&why))
    }

    fn read(&mut self, binding: u64, table: Table, id: u64) -> Result<Option<Vec<u8>>, Fault> {
        read(&self.connection, binding, table, id)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), Fault> {
        self.in_use = true;
        let portion = self.whole(|this| {
            this.transaction(batch)?;
            if this.later.is_full() { this.later.delete(&this.connection) } else { Ok(Vec::new()) }
        })?;
        for (_, first, last) in batch.clears().filter(|&(table, ..)| Later::takes(table)) {
            self.later.add(first, last);
        }
        self.deleted_later(&portion);
        Ok(())
    }

    fn probe(&mut self) -> Result<(), Fault> {
        self.whole(|this| {
            this.connection.prepare_cached("UPDATE about SET probes = probes + 1")?.execute([]).map(drop)
        })
    }

    fn size(&mut self) -> Result<u64, Fault> {
        let used = number(&self.connection, Statements::PAGE_COUNT)?
            .saturating_sub(number(&self.connection, Statements::FREE_PAGES)?);
        Ok((used + self.log()?.0) * self.page)
    }

    fn upkeep(&mut self) -> Result<(), Fault> {
        let (all, new) = self.log()?;
        if new < self.log_pages || all < self.tried + self.log_pages {
            if all < self.tried {
                // The log began anew.
                self.tried = 0;
            }
            return Ok(());
        }
        self.tried = all;
        let (_, left) = self.checkpoint(CheckpointMode::PASSIVE)?;
        if left == 0 {
            self.tried = 0;
        }
        Ok(())
    }

    fn rest(&mut self, hurried: bool) -> Result<Rest, Fault> {
        // First of all, since it needs no space, and a full disk is why it may be called.
        if !self.empty_log()? {
            return Ok(Rest::Later);
        }
        self.tried = 0;
        let mut portion = Vec::new();
        if self.reserve.is_there() && !self.later.is_empty() {
            portion = self.whole(|this| this.later.delete(&this.connection))?;
            self.deleted_later(&portion);
            if !self.later.is_empty() {
                return Ok(Rest::More);
            }
        }
        let more = self.give_back()?;
        // What is written anew needs space for a while.
        let most = if hurried { AT_ONCE } else { u64::MAX };
        let swept = self.reserve.is_there()
            && self.sweep.sweep(&self.connection, most).map_err(|why| of_error(&why))?;
        if (more || swept || !portion.is_empty()) && !self.empty_log()? {
            return Ok(Rest::Later);
        }
        Ok(match (more, self.sweep.is_due()) {
            (true, _) => Rest::More,
            (false, true) => Rest::Later,
            (false, false) => Rest::Done,
        })
    }

    fn give_up_reserve(&mut self) -> bool {
        self.reserve.give_up()
    }

    fn make_reserve(&mut self) -> bool {
        self.reserve.make()
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.file)
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // What is left for the next run if this fails; `SQLite` itself empties the log when it closes.
        if self.in_use {
            for _ in 0..LAST_PORTIONS {
                let Ok(portion) = self.later.delete(&self.connection) else { break };
                self.deleted_later(&portion);
            }
            let _ = self.sweep.sweep(&self.connection, AT_ONCE);
        }
    }
}

/// Rows of a table of a binding.
pub(super) fn page(
    connection: &Connection,
    binding: u64,
    table: Table,
    from: u64,
    most: usize,
    take: Take<'_>,
) -> rusqlite::Result<Option<u64>> {
    if from > last_id() {
        return Ok(None);
    }
    let mut select = connection.prepare_cached(of(table).page)?;
    let mut rows = select.query(params![rowid(binding, from), rowid(binding, last_id())])?;
    let mut read = 0;
    while let Some(found) = rows.next()? {
        let key: u64 = found.get(0)?;
        let id = parts(key).1;
        if read > most {
            return Ok(Some(id));
        }
        let sealed = found.get_ref(1)?.as_blob().unwrap_or_default();
        read += sealed.len();
        take(id, row::unseal(table, key, sealed).ok_or(row::MISMATCH));
    }
    Ok(None)
}

/// One row.
pub(super) fn read(
    connection: &Connection,
    binding: u64,
    table: Table,
    id: u64,
) -> Result<Option<Vec<u8>>, Fault> {
    let key = rowid(binding, id);
    let find = || {
        let mut select = connection.prepare_cached(of(table).read)?;
        let sealed = |found: &rusqlite::Row<'_>| Ok(found.get_ref(0)?.as_blob().unwrap_or_default().to_vec());
        select.query_row([key], sealed).optional()
    };
    let Some(sealed) = find().map_err(|why: rusqlite::Error| of_error(&why))? else { return Ok(None) };
    match row::unseal(table, key, &sealed) {
        Some(row) => Ok(Some(row.to_vec())),
        None => {
            Err(Fault::Corrupt(format!("row {id} of `{}` cannot be read: {}", table.as_str(), row::MISMATCH)))
        }
    }
}

/// A number that a statement answers.
fn number(connection: &Connection, sql: &'static str) -> Result<u64, Fault> {
    let ask = || connection.prepare_cached(sql)?.query_row([], |row| row.get(0));
    ask().map_err(|why| of_error(&why))
}

/// What `SQLite` says, as a store's fault.
pub(super) fn of_error(why: &rusqlite::Error) -> Fault {
    use rusqlite::ErrorCode::{DatabaseCorrupt, DiskFull, NotADatabase};
    let text = why.to_string();
    match why {
        rusqlite::Error::SqliteFailure(error, _) => match (error.code, error.extended_code) {
            // Quotas and limits of file sizes come as a failed write.
            (DiskFull, _) | (_, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE) => Fault::Full(text),
            (DatabaseCorrupt | NotADatabase, _) => Fault::Corrupt(text),
            _ => Fault::Broken(text),
        },
        _ => Fault::Broken(text),
    }
}
