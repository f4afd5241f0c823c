//! A full disk, and a journal that is too large.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::journal::faulty::Faulty;
use crate::journal::{Bounds, Memory, RESERVE, StoreState};

#[test]
fn on_a_full_disk_the_reserve_is_given_up_and_the_commit_goes_through() {
    let (store, faults) = Faulty::new(Box::<Memory>::default());
    let journal = Journal::over(Box::new(store), Bounds::default(), BRISK).unwrap();
    let mut ledger = journal.ledger("x").unwrap();
    faults.fill(2);
    ledger.submit(step(1, [put(Table::Work, 1, b"w")]));
    let told = durable(&mut ledger, 1);
    assert_eq!(told, [Report::State(StoreState::Short)]);
    // Old work is settled with what the reserve gave.
    ledger.submit(step(2, [delete(Table::Work, 1)]));
    durable(&mut ledger, 2);
    // Used up.
    ledger.submit(step(3, [put(Table::Work, 2, b"w")]));
    assert_eq!(next(&mut ledger), Report::State(StoreState::Gone));
    assert_eq!(next(&mut ledger), Report::Failed("the disk was told to be full".to_owned()));
    ledger.recover();
    nothing(&mut ledger);
    faults.mend();
    assert_eq!(next(&mut ledger), Report::State(StoreState::Good));
    assert_eq!(next(&mut ledger), Report::Rows(Vec::new()));
}

#[test]
fn a_journal_above_its_bound_takes_no_new_work_until_it_is_well_below() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open_paced(dir.path(), Bounds { max_bytes: 1 << 20 }, BRISK).unwrap();
    let mut ledger = journal.ledger("x").unwrap();
    let mut last = 0;
    let mut told = loop {
        last += 1;
        ledger.submit(step(last, [put(Table::Content, last, &[b'c'; 4000])]));
        assert!(last < 2000, "never short");
        let told = durable(&mut ledger, last);
        if !told.is_empty() {
            break told;
        }
    };
    // It may be well below again at once, when the log is put into the file.
    assert_eq!(told.remove(0), Report::State(StoreState::Short));
    assert!(last > 100, "short after {last} rows");
    // It is only new work that is to be refused: everything is committed still.
    ledger.submit(step(last + 1, [Change::Forget { table: Table::Content, below: last / 2 }]));
    told.extend(durable(&mut ledger, last + 1));
    if told.is_empty() {
        told.push(next(&mut ledger));
    }
    assert_eq!(told.last(), Some(&Report::State(StoreState::Good)));
    assert!(journal.status().bytes < 1 << 20);
}

/// A small file system of its own, for as long as this lives.
struct Small(PathBuf);

impl Small {
    /// `None`: this process may not mount one.
    fn mount(at: &Path, bytes: u64) -> Option<Self> {
        let size = format!("size={bytes},mode=0700");
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output();
        done.is_ok_and(|done| done.status.success()).then(|| Self(at.to_owned()))
    }

    /// Leaves so many bytes free.
    fn fill(&self, free: u64) -> PathBuf {
        let path = self.0.join("filler");
        let disk = rustix::fs::statvfs(&self.0).unwrap();
        let mut filler = fs::File::create(&path).unwrap();
        let bytes = disk.f_bavail * disk.f_frsize - free;
        filler.write_all(&vec![0; bytes as usize]).unwrap();
        path
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_is_full_in_earnest_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(dir.path(), 40 << 20) else {
        eprintln!("this process may mount nothing: not tested");
        return;
    };
    {
        let open = || Journal::open_paced(dir.path(), Bounds::default(), BRISK);
        let journal = open().unwrap();
        let mut ledger = journal.ledger("x").unwrap();
        let filler = small.fill(1 << 20);
        let mut seq = 0;
        // New work until it is said that there is no space for it; none of it may fail.
        let held = loop {
            seq += 1;
            ledger.submit(step(seq, [put(Table::Content, seq, &[b'c'; 3000]), put(Table::Work, seq, b"w")]));
            assert!(seq < 3000, "never short");
            match durable(&mut ledger, seq).as_slice() {
                [] => {}
                [Report::State(StoreState::Short)] => break seq,
                other => panic!("{other:?}"),
            }
        };
        assert!(!dir.path().join(RESERVE).exists());
        // Old work is handed over and settled.
        for id in 1..=held / 2 {
            seq += 1;
            ledger.submit(step(seq, [put(Table::Work, id, b"submitted")]));
            seq += 1;
            let settled =
                [delete(Table::Content, id), delete(Table::Work, id), put(Table::Receipt, id, b"r")];
            ledger.submit(step(seq, settled));
            let told = durable(&mut ledger, seq);
            assert!(told.is_empty(), "{told:?}");
        }
        // Started anew on the full disk, everything is there.
        drop((ledger, journal));
        let journal = open().unwrap();
        let mut ledger = journal.ledger("x").unwrap();
        let rows = load(&mut ledger);
        let count = |table| rows.iter().filter(|row| row.0 == table).count() as u64;
        assert_eq!((count(Table::Receipt), count(Table::Work)), (held / 2, held - held / 2));
        assert_eq!(count(Table::Content), held - held / 2);
        assert_eq!(next(&mut ledger), Report::State(StoreState::Short));
        fs::remove_file(&filler).unwrap();
        assert_eq!(next(&mut ledger), Report::State(StoreState::Good));
        assert!(dir.path().join(RESERVE).exists());
        // Without a byte to start with: the reserve is there for that too.
        drop((ledger, journal));
        small.fill(0);
        let journal = open().unwrap();
        let mut ledger = journal.ledger("x").unwrap();
        assert_eq!(load(&mut ledger).len(), rows.len());
        assert!(!dir.path().join(RESERVE).exists());
        ledger.submit(step(1, [put(Table::Receipt, 1, b"settled")]));
        assert_eq!(durable(&mut ledger, 1), [Report::State(StoreState::Short)]);
    }
}
