//! What is in the file, and how one knows it again.

use std::path::Path;

use mcpl_policy::journal::{FORMAT, Table};
use rusqlite::Connection;

use super::of_error;
use crate::journal::OpenFault;

/// `SQLite`'s `application_id` of a journal: "MCPL".
const APPLICATION: i64 = 0x4d43_504c;

/// What writes here, as it calls itself.
const WRITER: &str = concat!("mcpl-sidecar ", env!("CARGO_PKG_VERSION"));

/// Whether the file is a journal that this program knows (true) or has nothing in it (false).
pub(in crate::journal) fn check(file: &Path, connection: &Connection) -> Result<bool, OpenFault> {
    let ask = |sql: &str| {
        let answer = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        answer.map_err(|why| OpenFault::of(file.to_owned(), of_error(&why)))
    };
    if ask("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(false);
    }
    if ask("PRAGMA application_id")? != APPLICATION {
        return Err(OpenFault::Foreign { file: file.to_owned() });
    }
    let found = ask("PRAGMA user_version")?;
    if found == i64::from(FORMAT) {
        return Ok(true);
    }
    let wrote = connection.query_row("SELECT wrote FROM about", [], |row| row.get(0));
    let wrote = wrote.unwrap_or_else(|_| "another version of mcpl-sidecar".to_owned());
    Err(OpenFault::Unknown { file: file.to_owned(), found: u32::try_from(found).unwrap_or(u32::MAX), wrote })
}

/// Makes the tables of a new journal.
pub(super) fn make(connection: &Connection) -> rusqlite::Result<()> {
    // Both must be said before there is a first page.
    connection.execute_batch("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;")?;
    set_up(connection)?;
    let mut all = format!(
        "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; \
         CREATE TABLE about(id INTEGER PRIMARY KEY, wrote TEXT NOT NULL, probes INTEGER NOT NULL); \
         INSERT INTO about VALUES(0, '{WRITER}', 0); \
         CREATE TABLE binding(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    );
    for table in Table::ALL {
        all.extend(["CREATE TABLE ", table.as_str(), "(id INTEGER PRIMARY KEY, row BLOB NOT NULL);"]);
    }
    all.push_str("COMMIT;");
    connection.execute_batch(&all)
}

/// How the file is used by this connection.
pub(super) fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; \
         PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 16777216; \
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096; PRAGMA mmap_size = 0; \
         PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;",
    )?;
    // A newer version of the same format signs; not at every start.
    let signed: bool =
        connection
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'about'", [], |row| row.get(0))?;
    if signed {
        connection.execute("UPDATE about SET wrote = ?1 WHERE wrote <> ?1", [WRITER])?;
    }
    Ok(())
}
