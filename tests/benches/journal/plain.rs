//! What one would do without the program: the same bytes, plainly put on the same disk.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::SUBJECTS;
use crate::event::Spelled;
use crate::sum::Rate;

/// Appends to a file, with an `fdatasync` for each group.
pub(crate) struct Append {
    file: File,
    group: u64,
    event: Spelled,
    number: u64,
}

impl Append {
    pub(crate) fn new(dir: &Path, group: u64) -> Self {
        let file = File::create(dir.join("plain.log")).expect("a file");
        Self { file, group, event: Spelled::new(), number: 0 }
    }

    pub(crate) fn events(&mut self, time: Duration) -> Rate {
        let mut bytes = Vec::new();
        let before = self.number;
        let start = Instant::now();
        while start.elapsed() < time {
            bytes.clear();
            for _ in 0..self.group {
                bytes.extend_from_slice(self.event.line(self.number, self.number % SUBJECTS));
                self.number += 1;
            }
            self.file.write_all(&bytes).expect("a disk that takes it");
            self.file.sync_data().expect("a disk that takes it");
        }
        Rate { events: self.number - before, time: start.elapsed() }
    }
}

/// `SQLite` with a commit for each event: the newest of each subject is kept, and nothing else.
pub(crate) struct Database {
    connection: Connection,
    event: Spelled,
    number: u64,
}

impl Database {
    pub(crate) fn new(dir: &Path) -> Self {
        let connection = Connection::open(dir.join("plain.db")).expect("a database");
        let make = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                    CREATE TABLE held(subject INTEGER PRIMARY KEY, event BLOB NOT NULL);";
        connection.execute_batch(make).expect("a table");
        Self { connection, event: Spelled::new(), number: 0 }
    }

    pub(crate) fn events(&mut self, time: Duration) -> Rate {
        let put = "REPLACE INTO held(subject, event) VALUES(?1, ?2)";
        let mut put = self.connection.prepare_cached(put).expect("a statement");
        let before = self.number;
        let start = Instant::now();
        while start.elapsed() < time {
            let subject = self.number % SUBJECTS;
            put.execute((subject, self.event.line(self.number, subject))).expect("a disk that takes it");
            self.number += 1;
        }
        Rate { events: self.number - before, time: start.elapsed() }
    }
}
