//! Files: their modes, versions, what leaves them, and a reader beside.

use std::collections::HashSet;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use rustix::fs::Mode;

use super::*;
use crate::journal::{Bounds, FILE, OpenFault, RESERVE, RESERVE_BYTES, Reader, Store as _};

fn open(dir: &Path) -> Journal {
    Journal::open_paced(dir, Bounds::default(), STILL).unwrap()
}

/// Whether any file of a directory holds some bytes.
fn holds(dir: &Path, what: &[u8]) -> bool {
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect();
    // The log first: what is in it goes from there into the file, and not back.
    files.sort_by_key(|path| !path.to_string_lossy().ends_with("-wal"));
    files.iter().any(|path| {
        path.file_name().is_some_and(|name| name != RESERVE)
            && fs::read(path).unwrap().windows(what.len()).any(|window| window == what)
    })
}

#[test]
fn what_was_durable_is_there_after_a_new_start() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    let mut ledger = journal.ledger("x").unwrap();
    // Larger than what is read at a time.
    let large = vec![b'l'; 100_000];
    for seq in 1..=20 {
        ledger.submit(step(seq, [put(Table::Content, seq, &large), put(Table::Receipt, seq, b"r")]));
    }
    ledger.submit(step(21, [delete(Table::Content, 7), Change::Forget { table: Table::Receipt, below: 20 }]));
    ledger.submit(step(22, [put(Table::Content, 8, b""), put(Table::Meta, (1 << 50) - 1, b"last")]));
    durable(&mut ledger, 22);
    let image = tempfile::tempdir().unwrap();
    copy(dir.path(), image.path());
    drop((ledger, journal));
    for dir in [dir.path(), image.path()] {
        let rows = rows(&open(dir));
        let content: Vec<_> = rows.iter().filter(|row| row.0 == Table::Content).collect();
        assert_eq!(content.len(), 19);
        assert!(content.iter().all(|(_, id, row)| if *id == 8 { row.is_empty() } else { *row == large }));
        assert_eq!(rows.first(), Some(&(Table::Meta, (1 << 50) - 1, b"last".to_vec())));
        assert_eq!(rows.last(), Some(&(Table::Receipt, 20, b"r".to_vec())));
    }
}

/// What a kill would leave.
fn copy(from: &Path, to: &Path) {
    for name in [FILE.to_owned(), format!("{FILE}-wal")] {
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

#[test]
fn files_are_closed_to_others_whatever_the_umask() {
    let dir = tempfile::tempdir().unwrap();
    // Of the whole process, but no other test's files are opened wider than it says itself.
    let before = rustix::process::umask(Mode::empty());
    let journal = open(dir.path());
    let mut ledger = journal.ledger("x").unwrap();
    ledger.submit(step(1, [put(Table::Work, 1, b"w")]));
    durable(&mut ledger, 1);
    rustix::process::umask(before);
    let mut names = Vec::new();
    for file in fs::read_dir(dir.path()).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", file.path().display());
        names.push(file.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["journal.db", "journal.db-shm", "journal.db-wal", "reserve"]);
    assert_eq!(fs::metadata(dir.path().join(RESERVE)).unwrap().len(), RESERVE_BYTES);
}

#[test]
fn a_file_that_was_open_to_others_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let file = dir.path().join(FILE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(dir.path()));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_unknown_format_is_refused_and_says_what_wrote_it() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let file = dir.path().join(FILE);
    let later = rusqlite::Connection::open(&file).unwrap();
    later.execute_batch("PRAGMA user_version = 99; UPDATE about SET wrote = 'mcpl-sidecar 7.1.0'").unwrap();
    drop(later);
    let before = fs::read(&file).unwrap();
    for fault in [Journal::open(dir.path(), Bounds::default()).err(), Reader::open(dir.path()).err()] {
        let fault = fault.unwrap();
        assert!(
            matches!(&fault, OpenFault::Unknown { found: 99, wrote, .. } if wrote == "mcpl-sidecar 7.1.0")
        );
        assert!(fault.to_string().contains("written by mcpl-sidecar 7.1.0 (format 99)"), "{fault}");
    }
    assert!(fs::read(&file).unwrap() == before, "nothing of it was changed");
}

#[test]
fn another_programs_file_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(FILE);
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE theirs(x)").unwrap();
    let before = fs::read(&file).unwrap();
    assert!(matches!(Journal::open(dir.path(), Bounds::default()), Err(OpenFault::Foreign { .. })));
    fs::write(&file, vec![b'?'; 10_000]).unwrap();
    let fault = Journal::open(dir.path(), Bounds::default()).unwrap_err();
    assert!(matches!(fault, OpenFault::Corrupt { .. }), "{fault}");
    fs::write(&file, &before).unwrap();
    assert!(matches!(Reader::open(dir.path()), Err(OpenFault::Foreign { .. })));
}

#[test]
fn a_start_that_was_cut_off_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), b"").unwrap();
    assert!(matches!(Reader::open(dir.path()), Err(OpenFault::Absent { .. })));
    assert_eq!(rows(&open(dir.path())), []);
}

#[test]
fn withdrawn_content_leaves_every_file() {
    const MARK: &[u8] = b"the words that were withdrawn";
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open_paced(dir.path(), Bounds::default(), BRISK).unwrap();
    let mut ledger = journal.ledger("x").unwrap();
    for seq in 1..=300 {
        let row = if seq % 3 == 0 { [MARK, &[b'c'; 600]].concat() } else { vec![b'o'; 400] };
        ledger.submit(step(seq, [put(Table::Content, seq, &row)]));
        durable(&mut ledger, seq);
    }
    assert!(holds(dir.path(), MARK));
    for seq in 301..=400 {
        ledger.submit(step(seq, [delete(Table::Content, (seq - 300) * 3)]));
    }
    durable(&mut ledger, 400);
    let since = Instant::now();
    while holds(dir.path(), MARK) {
        assert!(since.elapsed() < DEADLINE, "still there");
        std::thread::yield_now();
    }
    assert_eq!(
        rows(&{
            drop(ledger);
            journal
        })
        .len(),
        200
    );
}

#[test]
fn no_copy_stays_where_a_row_was_before_its_neighbours_went() {
    for table in [Table::Content, Table::Notice] {
        no_copy_stays_of(table);
    }
}

fn no_copy_stays_of(table: Table) {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open_paced(dir.path(), Bounds::default(), BRISK).unwrap();
    let mut ledger = journal.ledger("x").unwrap();
    let mut seed = 88_172_645_463_325_252_u64;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let (mut live, mut gone) = (Vec::new(), Vec::new());
    for seq in 1..=3000 {
        let mark = format!("<{seq:08}>");
        let row = mark.repeat(2 + random(120) as usize);
        let mut changes = vec![put(table, seq, row.as_bytes())];
        live.push(mark);
        while live.len() > 100 {
            let mark = live.swap_remove(random(100) as usize);
            changes.push(delete(table, mark[1..9].parse().unwrap()));
            gone.push(mark);
        }
        ledger.submit(step(seq, changes));
        durable(&mut ledger, seq);
    }
    let since = Instant::now();
    loop {
        let found = marks(dir.path());
        if !gone.iter().any(|mark| found.contains(mark.as_bytes())) {
            assert!(live.iter().all(|mark| found.contains(mark.as_bytes())));
            break;
        }
        assert!(since.elapsed() < DEADLINE, "copies stay");
        std::thread::sleep(BRISK.idle);
    }
}

#[test]
fn notices_leave_every_file_with_their_batch() {
    const MARK: &[u8] = b"what somebody is about to withdraw";
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open_paced(dir.path(), Bounds::default(), BRISK).unwrap();
    let mut ledger = journal.ledger("x").unwrap();
    for batch in 1..=40 {
        let text = if batch % 2 == 0 { MARK } else { b"what stays" };
        let notices = (0..64).map(|index| put(Table::Notice, batch * 64 + index, text));
        ledger.submit(step(batch, notices.collect::<Vec<_>>()));
        durable(&mut ledger, batch);
    }
    assert!(holds(dir.path(), MARK));
    let clear =
        |batch: u64| Change::Clear { table: Table::Notice, from: batch * 64, below: (batch + 1) * 64 };
    ledger.submit(step(41, (1..=20).map(|half| clear(half * 2)).collect::<Vec<_>>()));
    durable(&mut ledger, 41);
    let since = Instant::now();
    while holds(dir.path(), MARK) {
        assert!(since.elapsed() < DEADLINE, "still there");
        std::thread::yield_now();
    }
    drop(ledger);
    let left = rows(&journal);
    assert_eq!(left.len(), 20 * 64);
    assert!(left.iter().all(|(table, id, _)| *table == Table::Notice && id / 64 % 2 == 1));
}

/// What looks like `<00000000>` in any file of a directory.
fn marks(dir: &Path) -> HashSet<Vec<u8>> {
    let mut found = HashSet::new();
    for name in [FILE.to_owned(), format!("{FILE}-wal")] {
        let bytes = fs::read(dir.join(name)).unwrap_or_default();
        let marks = bytes.windows(10).filter(|window| window[0] == b'<' && window[9] == b'>');
        found.extend(marks.map(<[u8]>::to_vec));
    }
    found
}

#[test]
fn the_log_stays_small_however_much_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    let mut ledger = journal.ledger("x").unwrap();
    for seq in 1..=60 {
        let changes = (1..=100).map(|id| put(Table::Content, id, &[seq as u8; 4000]));
        ledger.submit(step(seq, changes.collect::<Vec<_>>()));
        durable(&mut ledger, seq);
    }
    // 24 MB were written.
    let log = fs::metadata(dir.path().join(format!("{FILE}-wal"))).unwrap().len();
    assert!(log < 12 << 20, "{log} bytes");
}

#[test]
fn content_that_came_and_went_in_one_commit_is_never_written() {
    const MARK: &[u8] = b"the words that were withdrawn";
    let dir = tempfile::tempdir().unwrap();
    let journal = open(dir.path());
    let mut ledger = journal.ledger("x").unwrap();
    ledger.submit(step(1, [put(Table::Content, 1, MARK), delete(Table::Content, 1)]));
    durable(&mut ledger, 1);
    assert!(!holds(dir.path(), MARK));
}

#[test]
fn space_that_is_free_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open_paced(dir.path(), Bounds::default(), BRISK).unwrap();
    let mut ledger = journal.ledger("x").unwrap();
    ledger.submit(step(1, (1..=2000).map(|id| put(Table::Content, id, &[b'c'; 3000])).collect::<Vec<_>>()));
    durable(&mut ledger, 1);
    let length = || fs::metadata(dir.path().join(FILE)).unwrap().len();
    let since = Instant::now();
    while length() < 6_000_000 {
        assert!(since.elapsed() < DEADLINE);
        std::thread::yield_now();
    }
    ledger.submit(step(2, [Change::Forget { table: Table::Content, below: 2000 }]));
    durable(&mut ledger, 2);
    while length() > 2_200_000 {
        assert!(since.elapsed() < DEADLINE, "{} bytes", length());
        std::thread::yield_now();
    }
}

#[test]
fn a_reader_sees_what_is_committed_while_it_is_written_and_after() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Reader::open(dir.path()), Err(OpenFault::Absent { .. })));
    let journal = open(dir.path());
    let reader = Reader::open(dir.path()).unwrap();
    let mut y = journal.ledger("y").unwrap();
    let mut x = journal.ledger("x").unwrap();
    y.submit(step(1, [put(Table::Work, 1, b"of y")]));
    x.submit(step(1, (1..=1000).map(|id| put(Table::Work, id, &[b'w'; 600])).collect::<Vec<_>>()));
    durable(&mut x, 1);
    durable(&mut y, 1);
    let look = |reader: &Reader| {
        assert_eq!(reader.bindings().unwrap(), [("y".to_owned(), 0), ("x".to_owned(), 1)]);
        assert_eq!(reader.get(0, Table::Work, 1).unwrap(), Some(b"of y".to_vec()));
        assert_eq!(reader.get(0, Table::Work, 2).unwrap(), None);
        let mut ids = Vec::new();
        let take = &mut |id, row: Result<&[u8], _>| {
            assert_eq!(row, Ok(&[b'w'; 600][..]));
            ids.push(id);
            if id == 900 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        reader.scan(1, Table::Work, 11, take).unwrap();
        assert_eq!(ids, (11..=900).collect::<Vec<_>>());
    };
    look(&reader);
    drop((x, y, journal));
    look(&reader);
    drop(reader);
    look(&Reader::open(dir.path()).unwrap());
}

#[test]
fn a_name_for_which_there_is_no_number_left_is_refused_and_the_others_are_served() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).ledger("x").unwrap());
    let file = rusqlite::Connection::open(dir.path().join(FILE)).unwrap();
    file.execute("INSERT INTO binding(id, name) VALUES(8191, 'last')", []).unwrap();
    drop(file);
    let journal = open(dir.path());
    assert!(matches!(journal.ledger("one more"), Err(OpenFault::Store { .. })));
    let mut last = journal.ledger("last").unwrap();
    last.submit(step(1, [put(Table::Notice, (1 << 50) - 1, b"its last row")]));
    durable(&mut last, 1);
    assert_eq!(rows(&journal), [], "of another binding");
    let mut memory = crate::journal::Memory::default();
    for number in 0..8192 {
        assert_eq!(memory.binding(&number.to_string()), Ok(number));
    }
    assert!(memory.binding("one more").is_err());
    assert_eq!(memory.binding("8191"), Ok(8191));
}
