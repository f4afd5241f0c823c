//! Torn logs and damaged files.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use super::*;
use crate::journal::{Bounds, FILE, OpenFault, Reader};

const PAGE: usize = 4096;

fn open(dir: &Path) -> Journal {
    Journal::open_paced(dir, Bounds::default(), STILL).unwrap()
}

fn log() -> String {
    format!("{FILE}-wal")
}

/// Two hundred commits, nothing of them in the file yet: the file, the log, and its length after each of them.
fn commits() -> (Vec<u8>, Vec<u8>, Vec<u64>) {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    let mut ledger = journal.ledger("x").unwrap();
    let mut lengths = Vec::new();
    for seq in 1..=200 {
        ledger.submit(step(seq, [put(Table::Content, seq, &[b'c'; 1500]), put(Table::Receipt, seq, b"r")]));
        durable(&mut ledger, seq);
        lengths.push(fs::metadata(dir.path().join(log())).unwrap().len());
    }
    (fs::read(dir.path().join(FILE)).unwrap(), fs::read(dir.path().join(log())).unwrap(), lengths)
}

fn opened(file: &[u8], log_bytes: &[u8]) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), file).unwrap();
    fs::write(dir.path().join(log()), log_bytes).unwrap();
    let journal = open(dir.path());
    let mut ledger = journal.ledger("x").unwrap();
    let rows = load(&mut ledger);
    let count = rows.len() as u64 / 2;
    let whole = |id| [(Table::Content, id, vec![b'c'; 1500]), (Table::Receipt, id, b"r".to_vec())];
    for row in (1..=count).flat_map(whole) {
        assert!(rows.contains(&row), "a step is there whole or not at all");
    }
    // And it goes on.
    ledger.submit(step(1, [put(Table::Work, 1, b"w")]));
    durable(&mut ledger, 1);
    count
}

#[test]
fn a_log_cut_anywhere_loses_nothing_that_was_committed_before() {
    let (file, log, lengths) = commits();
    let end = *lengths.last().unwrap();
    for cut in (lengths[9]..=end).step_by(39_989).chain([end - 1, end, lengths[50], lengths[50] - 1]) {
        let committed = lengths.iter().filter(|length| **length <= cut).count() as u64;
        assert_eq!(opened(&file, &log[..cut as usize]), committed, "cut at {cut}");
    }
}

#[test]
fn garbage_after_the_log_is_survived() {
    let (file, mut log, _) = commits();
    log.extend((0..50_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8));
    assert_eq!(opened(&file, &log), 200);
}

#[test]
fn a_log_that_is_overwritten_at_its_end_loses_only_its_end() {
    let (file, mut log, lengths) = commits();
    let from = lengths[150] as usize + 100;
    log[from..].fill(0xff);
    assert_eq!(opened(&file, &log), 151);
}

/// A journal of 2000 rows of content whose files are closed, and where in its file a row lies.
fn closed() -> (tempfile::TempDir, impl Fn(u64) -> usize) {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    let mut ledger = journal.ledger("x").unwrap();
    let row = |id: u64| format!("row {id:08} {}", "c".repeat(600));
    for seq in 1..=2000 {
        ledger
            .submit(step(seq, [put(Table::Content, seq, row(seq).as_bytes()), put(Table::Work, seq, b"w")]));
    }
    durable(&mut ledger, 2000);
    drop((ledger, journal));
    let file = dir.path().join(FILE);
    let at = move |id: u64| {
        let bytes = fs::read(&file).unwrap();
        let mark = format!("row {id:08}");
        bytes.windows(mark.len()).position(|window| window == mark.as_bytes()).unwrap()
    };
    (dir, at)
}

fn damage(dir: &Path, at: usize, bytes: &[u8]) {
    let file = dir.join(FILE);
    let mut all = fs::read(&file).unwrap();
    all[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(&file, all).unwrap();
}

fn fault(dir: &Path) -> OpenFault {
    open(dir).ledger("x").unwrap().load(&mut |_, _, _| Ok(())).unwrap_err()
}

/// The numbers of rows of content that can be read, and those at which something can not.
fn scan(dir: &Path) -> (Vec<u64>, Vec<u64>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    let take = &mut |id, row: Result<&[u8], _>| {
        if row.is_ok() { &mut good } else { &mut bad }.push(id);
        ControlFlow::Continue(())
    };
    Reader::open(dir).unwrap().scan(0, Table::Content, 0, take).unwrap();
    (good, bad)
}

#[test]
fn a_row_with_a_wrong_byte_is_named_and_all_others_can_be_saved() {
    let (dir, at) = closed();
    damage(dir.path(), at(1000) + 50, b"?");
    let fault = fault(dir.path());
    let OpenFault::Corrupt { file, table, id, .. } = &fault else { panic!("{fault}") };
    assert_eq!((file, *table, *id), (&dir.path().join(FILE), Some(Table::Content), Some(1000)));
    let text = fault.to_string();
    assert!(text.contains("row 1000 of `content`"), "{text}");
    assert!(
        text.contains(
            "`mcpl-sidecar journal export` can still save 1999 rows of `content`, 2000 rows of `work`"
        ),
        "{text}"
    );
    let (good, bad) = scan(dir.path());
    assert_eq!(bad, [1000]);
    assert_eq!(good.len(), 1999);
}

#[test]
fn damaged_pages_are_told_and_all_beyond_them_can_be_saved() {
    let (dir, at) = closed();
    for id in [700, 1500, 1512] {
        damage(dir.path(), at(id) / PAGE * PAGE, &[0xff; PAGE]);
    }
    let fault = fault(dir.path());
    let OpenFault::Corrupt { table: Some(Table::Content), id: Some(first), .. } = &fault else {
        panic!("{fault}")
    };
    assert!((690..=700).contains(first), "{fault}");
    let (good, bad) = scan(dir.path());
    assert_eq!(bad.first(), Some(first));
    assert_eq!(bad.len(), 3, "{bad:?}");
    // A page holds six of them.
    assert!((1982..1990).contains(&good.len()), "{} rows", good.len());
    assert!(good.is_sorted() && good.contains(&1) && good.contains(&1000) && good.contains(&2000));
    let survey = Reader::open(dir.path()).unwrap().survey();
    assert_eq!(survey.tables[2], (Table::Content, good.len() as u64, 3));
    assert_eq!(survey.tables[4], (Table::Work, 2000, 0));
}

#[test]
fn a_damaged_start_of_the_file_is_told() {
    let (dir, _) = closed();
    damage(dir.path(), 0, &[0xff; PAGE]);
    let fault = Journal::open(dir.path(), Bounds::default()).unwrap_err();
    assert!(matches!(fault, OpenFault::Corrupt { .. }), "{fault}");
    assert!(matches!(Reader::open(dir.path()), Err(OpenFault::Corrupt { .. })));
}

/// Why a journal with this log is not opened.
fn refused(file: &[u8], log_bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), file).unwrap();
    fs::write(dir.path().join(log()), log_bytes).unwrap();
    // A reader is none the worse for it.
    let damage = Reader::open(dir.path()).unwrap().log_damage().expect("it is told");
    assert!(damage.contains("journal.db-wal"), "{damage}");
    let fault = Journal::open(dir.path(), Bounds::default()).unwrap_err();
    assert!(matches!(fault, OpenFault::Corrupt { .. }), "{fault}");
    assert_eq!(fs::read(dir.path().join(FILE)).unwrap(), file, "nothing is changed");
    assert_eq!(fs::read(dir.path().join(log())).unwrap(), log_bytes, "nothing is changed");
    fault.to_string()
}

#[test]
fn a_wrong_byte_in_the_log_before_its_last_commit_starts_nothing_and_changes_nothing() {
    let (file, log, lengths) = commits();
    let middle = lengths[99] as usize + 1000;
    // In the head of the log; in its first frame; in a frame of the middle; in the last commit but one.
    for at in [2, 17, 26, 40, 156, middle, lengths[197] as usize + 24 + 100] {
        let mut log = log.clone();
        log[at] ^= 1;
        let text = refused(&file, &log);
        assert!(text.contains("journal.db-wal") && text.contains("journal export"), "byte {at}: {text}");
        if at == middle {
            let savable = "can still save 100 rows of `content`, 100 rows of `receipt`";
            assert!(text.contains(savable), "{text}");
        }
    }
}

#[test]
fn a_wrong_byte_in_the_last_commit_loses_that_commit_alone() {
    let (file, mut log, lengths) = commits();
    log[lengths[198] as usize + 24 + 100] ^= 1;
    assert_eq!(opened(&file, &log), 199);
}

#[test]
fn a_log_that_was_emptied_is_normal() {
    let (dir, _) = closed();
    let file = fs::read(dir.path().join(FILE)).unwrap();
    let (_, other, _) = commits();
    for log_bytes in [&b""[..], &other[..32], b"{\"torn\":\"\0\0"] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), &file).unwrap();
        fs::write(dir.path().join(log()), log_bytes).unwrap();
        assert_eq!(Reader::open(dir.path()).unwrap().log_damage(), None);
        assert_eq!(load(&mut open(dir.path()).ledger("x").unwrap()).len(), 4000);
    }
}

#[test]
fn a_log_that_began_anew_over_an_older_one_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    let mut ledger = journal.ledger("x").unwrap();
    for seq in 1..=50 {
        ledger.submit(step(seq, [put(Table::Content, seq, &[b'c'; 1500])]));
        durable(&mut ledger, seq);
    }
    // The log is put into the file, and the next commit writes over its start.
    let other = rusqlite::Connection::open(dir.path().join(FILE)).unwrap();
    other.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
    for seq in 51..=53 {
        ledger.submit(step(seq, [put(Table::Content, seq, &[b'c'; 1500])]));
        durable(&mut ledger, seq);
    }
    let image = tempfile::tempdir().unwrap();
    for name in [FILE.to_owned(), log()] {
        fs::copy(dir.path().join(&name), image.path().join(&name)).unwrap();
    }
    assert!(
        fs::metadata(image.path().join(log())).unwrap().len() > 40 * PAGE as u64,
        "older frames are there"
    );
    assert_eq!(Reader::open(image.path()).unwrap().log_damage(), None);
    assert_eq!(load(&mut open(image.path()).ledger("x").unwrap()).len(), 53);
}

#[test]
fn a_new_journal_is_never_only_a_log() {
    let dir = tempfile::tempdir().unwrap();
    let _journal = open(dir.path());
    assert_eq!(fs::metadata(dir.path().join(log())).unwrap().len(), 0);
    assert!(fs::metadata(dir.path().join(FILE)).unwrap().len() > PAGE as u64);
}

#[test]
fn a_journal_that_was_half_made_is_none_for_a_reader_and_made_by_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let image = tempfile::tempdir().unwrap();
    let names = [FILE.to_owned(), format!("{FILE}-journal")];
    let file = rusqlite::Connection::open(dir.path().join(FILE)).unwrap();
    file.execute_batch(
        "PRAGMA page_size = 4096; CREATE TABLE a(b); PRAGMA cache_size = 1; PRAGMA cache_spill = 1; \
         BEGIN IMMEDIATE; CREATE TABLE c(d); \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) \
         INSERT INTO c SELECT zeroblob(500) FROM n;",
    )
    .unwrap();
    for name in &names {
        fs::copy(dir.path().join(name), image.path().join(name)).unwrap();
    }
    assert!(fs::metadata(image.path().join(&names[1])).unwrap().len() > 512, "what takes it back");
    let fault = Reader::open(image.path()).unwrap_err();
    assert!(matches!(fault, OpenFault::Absent { .. }), "{fault}");
    fs::write(image.path().join(FILE), b"").unwrap();
    fs::remove_file(image.path().join(&names[1])).unwrap();
    assert!(matches!(Reader::open(image.path()), Err(OpenFault::Absent { .. })), "made, and nothing in it");
    assert!(load(&mut open(image.path()).ledger("x").unwrap()).is_empty());
}
