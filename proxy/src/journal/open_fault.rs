//! Why a journal cannot be opened or read.

use std::io;
use std::path::PathBuf;

use mcpl_policy::journal::{Spoilt, Table};

use super::store::Fault;
use super::torn::{self, Log};

/// Why a journal cannot be opened or read: exit code 73 (contract section 1).
#[derive(Debug, thiserror::Error)]
pub enum OpenFault {
    /// The system refuses a file or a thread.
    #[error("the journal {} cannot be used: {why}; make its folder one that this user may write, or set another state_dir", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// There is no journal there.
    #[error("there is no journal {}", .file.display())]
    Absent {
        /// The file that is not there.
        file: PathBuf,
    },
    /// Another program's file.
    #[error("{} is not a journal of mcpl-sidecar; move it away, or set another state_dir", .file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// A version that this program does not know.
    #[error("the journal {} was written by {wrote} (format {found}), this is mcpl-sidecar {} (format {}); start that version, or set another state_dir", .file.display(), env!("CARGO_PKG_VERSION"), mcpl_policy::journal::FORMAT)]
    Unknown {
        /// The file.
        file: PathBuf,
        /// The version of its format.
        found: u32,
        /// The program that wrote it, as it called itself.
        wrote: String,
    },
    /// It is damaged. Nothing was changed.
    #[error("the journal {} is damaged: {what}; `mcpl-sidecar journal export` can still save {savable}; then move the file away with its -wal and -shm to start anew, or put back a copy of them", .file.display())]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// The table, where one is known.
        table: Option<Table>,
        /// The number of the first row that cannot be read, where one is known.
        id: Option<u64>,
        /// What is wrong, in words.
        what: String,
        /// What can be read, in words.
        savable: String,
    },
    /// The store says no: a full disk, a lock of another process, an error of the disk.
    #[error("the journal {} cannot be opened: {why}; free space on that disk or end what holds the file, or set another state_dir", .file.display())]
    Store {
        /// The file.
        file: PathBuf,
        /// What it said.
        why: String,
    },
    /// A second ledger of one name.
    #[error("the journal is already open for the producer {name:?}; give each producer a name of its own")]
    Taken {
        /// The name.
        name: String,
    },
}

impl OpenFault {
    /// As a store's fault while it opened.
    pub(super) fn of(file: PathBuf, fault: Fault) -> Self {
        match fault {
            Fault::Full(why) | Fault::Broken(why) => Self::Store { file, why },
            Fault::Corrupt(what) => {
                Self::Corrupt { file, table: None, id: None, what, savable: "nothing of it".to_owned() }
            }
        }
    }

    /// As a damaged log.
    pub(super) fn torn(file: PathBuf, log: &Log, savable: String) -> Self {
        let what = format!("of its write-ahead log {} {log}", torn::beside(&file).display());
        Self::Corrupt { file, table: None, id: None, what, savable }
    }

    /// As a row that cannot be read.
    pub(super) fn spoilt(file: PathBuf, spoilt: &Spoilt, savable: String) -> Self {
        let what = spoilt.to_string();
        Self::Corrupt { file, table: Some(spoilt.table), id: Some(spoilt.id), what, savable }
    }
}
