//! Failed commits.

use super::*;
use crate::journal::faulty::{Faults, Faulty};
use crate::journal::{Bounds, Memory, StoreState};

fn faulty(pace: Pace) -> (Journal, Faults, Memory) {
    let memory = Memory::default();
    let (store, faults) = Faulty::new(Box::new(memory.clone()));
    (Journal::over(Box::new(store), Bounds::default(), pace).unwrap(), faults, memory)
}

fn failed(ledger: &mut Ledger) {
    assert_eq!(next(ledger), Report::Failed("the disk was told to fail".to_owned()));
}

#[test]
fn after_a_failed_commit_no_later_step_of_the_epoch_is_applied() {
    let (journal, faults, memory) = faulty(STILL);
    let mut ledger = journal.ledger("x").unwrap();
    ledger.submit(step(1, [put(Table::Work, 1, b"kept")]));
    durable(&mut ledger, 1);
    faults.hold();
    faults.fail_next(1);
    ledger.submit(step(2, [put(Table::Work, 2, b"lost")]));
    faults.held();
    // One that waits, and one from after the failure that the ledger has not heard of.
    ledger.submit(step(3, [put(Table::Work, 3, b"lost")]));
    faults.release();
    while journal.status().fault.is_none() {
        std::thread::yield_now();
    }
    ledger.submit(step(4, [put(Table::Work, 4, b"lost")]));
    ledger.read(1, vec![(Table::Work, 1)]);
    failed(&mut ledger);
    assert_eq!(ledger.unconfirmed_bytes(), 0);
    ledger.submit(step(5, [put(Table::Work, 5, b"lost")]));
    assert_eq!(ledger.unconfirmed_bytes(), 0);
    ledger.recover();
    ledger.submit(step(2, [put(Table::Work, 6, b"anew")]));
    assert_eq!(next(&mut ledger), Report::Rows(vec![(Table::Work, 1, b"kept".to_vec())]));
    durable(&mut ledger, 2);
    drop((ledger, journal));
    let journal = Journal::over(Box::new(memory), Bounds::default(), STILL).unwrap();
    let row = |id, row: &[u8]| (Table::Work, id, row.to_vec());
    assert_eq!(rows(&journal), [row(1, b"kept"), row(6, b"anew")]);
}

#[test]
fn recovered_rows_are_all_but_receipts() {
    let (journal, faults, _) = faulty(STILL);
    let mut ledger = journal.ledger("x").unwrap();
    let all = Table::ALL.map(|table| put(table, 1, table.as_str().as_bytes()));
    ledger.submit(step(1, all));
    durable(&mut ledger, 1);
    faults.fail_next(1);
    ledger.submit(step(2, []));
    failed(&mut ledger);
    ledger.recover();
    let kept = [Table::Meta, Table::Subject, Table::Content, Table::Notice, Table::Work];
    let rows = kept.map(|table| (table, 1, table.as_str().as_bytes().to_vec()));
    assert_eq!(next(&mut ledger), Report::Rows(rows.to_vec()));
}

#[test]
fn a_failure_of_one_commit_does_not_end_the_epoch_of_another_ledger() {
    let (journal, faults, _) = faulty(STILL);
    let (mut x, mut y) = (journal.ledger("x").unwrap(), journal.ledger("y").unwrap());
    faults.hold();
    faults.fail_next(1);
    x.submit(step(1, []));
    faults.held();
    y.submit(step(1, [put(Table::Work, 1, b"of y")]));
    faults.release();
    failed(&mut x);
    assert_eq!(next(&mut y), Report::Durable(1));
    nothing(&mut x);
}

#[test]
fn a_disk_that_takes_nothing_is_gone_until_it_takes_something() {
    let (journal, faults, _) = faulty(BRISK);
    let mut ledger = journal.ledger("x").unwrap();
    faults.break_down();
    ledger.submit(step(1, []));
    assert_eq!(next(&mut ledger), Report::State(StoreState::Gone));
    failed(&mut ledger);
    assert_eq!(journal.status().state, StoreState::Gone);
    // No rows before there is use in them, so that nobody runs in circles.
    ledger.recover();
    nothing(&mut ledger);
    faults.mend();
    assert_eq!(next(&mut ledger), Report::State(StoreState::Good));
    assert_eq!(next(&mut ledger), Report::Rows(Vec::new()));
    ledger.submit(step(1, []));
    durable(&mut ledger, 1);
}

#[test]
fn commits_that_fail_one_after_the_other_are_not_tried_without_a_pause() {
    let (journal, faults, _) = faulty(STILL);
    let mut ledger = journal.ledger("x").unwrap();
    for seq in 1..=2 {
        faults.fail_next(1);
        ledger.submit(step(seq, []));
        if seq == 2 {
            assert_eq!(next(&mut ledger), Report::State(StoreState::Gone));
        }
        failed(&mut ledger);
        ledger.recover();
        if seq == 1 {
            assert_eq!(next(&mut ledger), Report::Rows(Vec::new()));
        }
    }
    nothing(&mut ledger);
}

#[test]
fn settle_says_whether_all_is_durable() {
    let (journal, faults, _) = faulty(STILL);
    let mut ledger = journal.ledger("x").unwrap();
    assert!(settle(&mut ledger));
    ledger.submit(step(1, []));
    ledger.submit(step(2, []));
    assert!(settle(&mut ledger));
    faults.fail_next(1);
    ledger.submit(step(3, []));
    assert!(!settle(&mut ledger));
    assert!(!settle(&mut ledger));
}
