//! Journals made by hand, for tests.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use mcpl_codec::{Digest, DigestKey, Lane, Refusal};
use mcpl_policy::engine::Outcome;
use mcpl_policy::fate::{Deferral, Fate};
use mcpl_policy::journal::{
    BatchRow, Change, MAX_NOTICES, MetaRow, NoticeRow, Place, ReceiptRow, Step, Table, WorkRow,
};

use super::{Account, Clock, Rows};
use crate::journal::{Bounds, Journal, Ledger, Pace};

/// A day in January.
pub(crate) const WALL_MS: i64 = 1_800_000_000_000;

/// One of every kind of fate.
pub(crate) fn fates() -> Vec<Fate> {
    vec![
        Fate::Held,
        Fate::Deferred(Deferral::Backpressure),
        Fate::Deferred(Deferral::Other),
        Fate::Submitted,
        Fate::SubmittedAfter(Deferral::Backpressure),
        Fate::InDoubt,
        Fate::InDoubtAfter(Deferral::Other),
        Fate::Dead(Refusal::not_permitted()),
        Fate::Delivered,
        Fate::Replaced,
        Fate::Withdrawn,
        Fate::Empty,
        Fate::Lapsed,
        Fate::Dropped,
        Fate::Expired,
    ]
}

pub(crate) fn meta() -> MetaRow {
    MetaRow {
        key: DigestKey([7; 16]),
        mono_ms: 60_000,
        wall_ms: WALL_MS,
        next: 1 << 20,
        next_subject: 1,
        due: 0,
    }
}

/// Admitted a second before the clocks were read.
pub(crate) fn work(fate: Fate) -> WorkRow {
    WorkRow {
        lane: Lane::Push,
        fate,
        revision: 1,
        place: Place::Fixed,
        doubtful: false,
        due: false,
        subject: None,
        order: 1,
        arrived: 1,
        first_ms: 59_000,
        changed_ms: 59_000,
        not_before_ms: 0,
        attempts: 0,
        expires_ms: None,
        admitted_ms: 59_000,
        digest: Digest(1),
        outcome: Some(Outcome::First),
        prior: None,
        event_id: None,
        thread: None,
    }
}

pub(crate) fn receipt(event_id: &str, fate: Fate) -> ReceiptRow {
    ReceiptRow {
        event_id: event_id.into(),
        digest: Digest(1),
        admitted_ms: 59_000,
        outcome: Some(Outcome::First),
        prior: None,
        host: None,
        fate,
        revision: 2,
        by: 0,
    }
}

/// The params of a `push/event`.
pub(crate) fn push(event_id: &str) -> Bytes {
    format!(
        r#"{{"featureSet":"fs","eventId":"{event_id}","timestamp":"t","payload":{{"content":"hush"}},"coalesce":{{"key":"k"}}}}"#
    )
    .into()
}

/// A held occurrence.
pub(crate) fn held(producer: &str, number: u64, event_id: &str) -> Account {
    let receipt = receipt(event_id, Fate::Held);
    let rows = Rows { work: Some(work(Fate::Held)), receipt: Some(receipt), ..Rows::default() };
    Account::of(producer, number, rows, Some(&Clock::of(&meta()))).unwrap()
}

/// A row to be put.
pub(crate) fn put(table: Table, id: u64, row: Vec<u8>) -> Change {
    Change::Put { table, id, row }
}

/// The rows of something that is open.
pub(crate) fn open(number: u64, event_id: &str, work: &WorkRow) -> Vec<Change> {
    vec![
        put(Table::Work, number, work.encode()),
        put(Table::Content, number, push(event_id).to_vec()),
        put(Table::Receipt, number, receipt(event_id, Fate::Held).encode()),
    ]
}

/// The rows of a pending batch of so many notices, of which the newest are kept.
pub(crate) fn batch(number: u64, event_id: &str, total: u64) -> Vec<Change> {
    let mut row = work(Fate::Held);
    row.place = Place::Batch(BatchRow { id: number, total });
    let mut changes = open(number, event_id, &row);
    for index in total.saturating_sub(MAX_NOTICES)..total {
        let text = format!(r#"{{"eventId":"n{index}","timestamp":"t","data":{index}}}"#);
        let notice = NoticeRow { index, bytes: 100, text: text.into_bytes().into() };
        changes.push(put(Table::Notice, NoticeRow::id(number, index), notice.encode()));
    }
    changes
}

/// The row of something that has ended.
pub(crate) fn ended(number: u64, event_id: &str, fate: Fate) -> Vec<Change> {
    vec![put(Table::Receipt, number, receipt(event_id, fate).encode())]
}

/// A journal that is open, as that of a program that runs.
pub(crate) struct Written {
    ledger: Ledger,
    _journal: Journal,
    seq: u64,
}

impl Written {
    pub(crate) fn new(dir: &Path, producer: &str) -> Self {
        let journal = Journal::open(dir, Bounds::default()).unwrap();
        let ledger = journal.ledger(producer).unwrap();
        let mut written = Self { ledger, _journal: journal, seq: 0 };
        written.write(vec![put(Table::Meta, 0, meta().encode())]);
        written
    }

    /// Puts changes on disk.
    pub(crate) fn write(&mut self, changes: Vec<Change>) {
        self.seq += 1;
        self.ledger.submit(Step { seq: self.seq, changes });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert!(runtime.block_on(self.ledger.settle()));
    }
}

/// A journal that nobody has open.
pub(crate) fn write(dir: &Path, producer: &str, changes: Vec<Change>) {
    Written::new(dir, producer).write(changes);
}

/// Spoils the bytes of a row.
pub(crate) fn spoil(dir: &Path, table: Table, rowid: u64) {
    let file = rusqlite::Connection::open(dir.join(crate::journal::FILE)).unwrap();
    let sql = format!("UPDATE {} SET row = x'0123456789' WHERE id = ?1", table.as_str());
    assert_eq!(file.execute(&sql, [rowid]).unwrap(), 1);
}

/// A journal as a kill leaves it: so many commits, one for each occurrence, all of them in its log.
pub(crate) fn killed(dir: &Path, producer: &str, count: u64) {
    const STILL: Duration = Duration::from_hours(1);
    let tmp = tempfile::tempdir().unwrap();
    let pace = Pace { idle: STILL, retry: STILL };
    let journal = Journal::open_paced(tmp.path(), Bounds::default(), pace).unwrap();
    let mut written = Written { ledger: journal.ledger(producer).unwrap(), _journal: journal, seq: 0 };
    written.write(vec![put(Table::Meta, 0, meta().encode())]);
    for number in 1..=count {
        written.write(open(number, &format!("e{number}"), &work(Fate::Held)));
    }
    for name in [crate::journal::FILE.to_owned(), format!("{}-wal", crate::journal::FILE)] {
        std::fs::copy(tmp.path().join(&name), dir.join(&name)).unwrap();
    }
}
