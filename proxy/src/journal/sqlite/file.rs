//! The journal's file: made, closed to others, opened.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME, OpenFlags};

use super::PATIENCE;
use super::of_error;
use super::schema::{self, check};
use crate::journal::{OpenFault, Reader};

/// Makes the file if there is none, and closes it and what lies beside it to others; whether it was made. `SQLite`
/// gives `-wal` and `-shm` the mode of the file.
pub(super) fn make(file: &Path) -> io::Result<bool> {
    let made = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Ok(_) => true,
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => false,
        Err(why) => return Err(why),
    };
    close_to_others(file)?;
    for beside in ["-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(beside);
        match close_to_others(Path::new(&name)) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            _ => {}
        }
    }
    Ok(made)
}

/// Mode 0600.
pub(in crate::journal) fn close_to_others(file: &Path) -> io::Result<()> {
    if fs::metadata(file)?.permissions().mode() & 0o777 == 0o600 {
        return Ok(());
    }
    fs::set_permissions(file, Permissions::from_mode(0o600))
}

/// What can still be read of a damaged journal, in words.
pub(super) fn savable(dir: &Path) -> String {
    Reader::open(dir).map_or_else(|_| "nothing of it".to_owned(), |reader| reader.survey().to_string())
}

/// Opens the file, makes its tables if it has none, and sees whether it is one that this program knows. Nothing of
/// another's file is changed.
pub(super) fn connect(file: &Path) -> Result<Connection, OpenFault> {
    let fault = |why: &rusqlite::Error| OpenFault::of(file.to_owned(), of_error(why));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(|why| fault(&why))?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.busy_timeout(PATIENCE).map_err(|why| fault(&why))?;
    if check(file, &connection)? {
        schema::set_up(&connection).map_err(|why| fault(&why))?;
    } else {
        schema::make(&connection).map_err(|why| fault(&why))?;
        // From here on there is a file, whatever becomes of the log.
        connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::TRUNCATE).map_err(|why| fault(&why))?;
    }
    Ok(connection)
}
