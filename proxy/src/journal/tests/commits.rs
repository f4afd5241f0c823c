//! Steps, and the order in which things are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use super::*;
use crate::journal::faulty::{Faults, Faulty};
use crate::journal::{Bounds, Memory, OpenFault, StoreState};

fn held() -> (Journal, Faults) {
    let (store, faults) = Faulty::new(Box::<Memory>::default());
    let journal = Journal::over(Box::new(store), Bounds::default(), STILL).unwrap();
    faults.hold();
    (journal, faults)
}

#[test]
fn a_step_is_durable_only_after_its_commit() {
    let (journal, faults) = held();
    let mut ledger = journal.ledger("x").unwrap();
    ledger.submit(step(1, [put(Table::Work, 1, b"one")]));
    faults.held();
    nothing(&mut ledger);
    assert!(ledger.unconfirmed_bytes() > 0);
    faults.release();
    assert_eq!(next(&mut ledger), Report::Durable(1));
    assert_eq!(ledger.unconfirmed_bytes(), 0);
}

#[test]
fn what_waits_becomes_one_commit_and_one_report() {
    let (journal, faults) = held();
    let mut ledger = journal.ledger("x").unwrap();
    ledger.submit(step(1, [put(Table::Work, 1, b"one")]));
    faults.held();
    for seq in 2..=100 {
        ledger.submit(step(seq, [put(Table::Work, seq, b"more")]));
    }
    faults.release();
    durable(&mut ledger, 100);
    assert_eq!(faults.commits(), 2);
    nothing(&mut ledger);
    assert_eq!(journal.status().steps, 100);
}

#[test]
fn a_step_without_changes_is_durable_too() {
    let journal = Journal::memory();
    let mut ledger = journal.ledger("x").unwrap();
    ledger.submit(step(7, []));
    assert_eq!(next(&mut ledger), Report::Durable(7));
}

#[test]
fn in_memory_a_step_is_durable_at_once() {
    let journal = Journal::memory();
    let mut ledger = journal.ledger("x").unwrap();
    ledger.submit(step(1, [put(Table::Meta, 0, b"meta")]));
    ledger.read(5, vec![(Table::Meta, 0), (Table::Meta, 1)]);
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(ledger.poll(&mut cx), Poll::Ready(Report::Durable(1)));
    let rows = vec![Some(b"meta".to_vec()), None];
    assert_eq!(ledger.poll(&mut cx), Poll::Ready(Report::Read { token: 5, rows }));
    nothing(&mut ledger);
}

#[test]
fn a_read_sees_what_was_submitted_before_it_and_nothing_after() {
    let (journal, faults) = held();
    let mut ledger = journal.ledger("x").unwrap();
    ledger.submit(step(1, [put(Table::Receipt, 1, b"one"), put(Table::Receipt, 2, b"two")]));
    faults.held();
    ledger.submit(step(2, [put(Table::Receipt, 1, b"uno")]));
    ledger.read(9, vec![(Table::Receipt, 1), (Table::Receipt, 2), (Table::Receipt, 3)]);
    ledger.submit(step(3, [Change::Forget { table: Table::Receipt, below: 3 }]));
    ledger.read(10, vec![(Table::Receipt, 1), (Table::Receipt, 2)]);
    faults.release();
    let read = |token, rows: &[Option<&[u8]>]| Report::Read {
        token,
        rows: rows.iter().map(|row| row.map(<[u8]>::to_vec)).collect(),
    };
    let told = durable(&mut ledger, 3);
    assert_eq!(told, []);
    assert_eq!(next(&mut ledger), read(9, &[Some(b"uno"), Some(b"two"), None]));
    assert_eq!(next(&mut ledger), read(10, &[None, None]));
}

#[test]
fn a_waiting_task_is_woken() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let journal = Journal::memory();
    let mut ledger = journal.ledger("x").unwrap();
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    assert_eq!(ledger.poll(&mut Context::from_waker(&waker)), Poll::Pending);
    assert_eq!(count.0.load(Ordering::SeqCst), 0);
    ledger.submit(step(1, []));
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
}

#[test]
fn a_name_has_one_ledger_at_a_time() {
    let journal = Journal::memory();
    let first = journal.ledger("x").unwrap();
    let other = journal.ledger("y").unwrap();
    assert!(matches!(journal.ledger("x"), Err(OpenFault::Taken { name }) if name == "x"));
    drop(first);
    journal.ledger("x").unwrap();
    drop(other);
}

#[test]
fn rows_come_back_in_order_and_each_binding_has_its_own() {
    let journal = Journal::memory();
    let (mut x, mut y) = (journal.ledger("x").unwrap(), journal.ledger("y").unwrap());
    x.submit(step(
        1,
        [put(Table::Receipt, 2, b"r"), put(Table::Work, 2, b"w"), put(Table::Content, 2, b"c")],
    ));
    x.submit(step(2, [put(Table::Meta, 0, b"m"), put(Table::Subject, 9, b"s"), put(Table::Work, 1, b"v")]));
    y.submit(step(1, [put(Table::Work, 1, b"of y"), Change::Forget { table: Table::Work, below: 1 }]));
    let row = |table, id, row: &[u8]| (table, id, row.to_vec());
    let of_x = [
        row(Table::Meta, 0, b"m"),
        row(Table::Subject, 9, b"s"),
        row(Table::Content, 2, b"c"),
        row(Table::Work, 1, b"v"),
        row(Table::Work, 2, b"w"),
        row(Table::Receipt, 2, b"r"),
    ];
    assert_eq!(load(&mut x), of_x);
    assert_eq!(load(&mut y), [row(Table::Work, 1, b"of y")]);
}

#[test]
fn what_was_submitted_before_the_end_is_committed() {
    let memory = Memory::default();
    let open = || Journal::over(Box::new(memory.clone()), Bounds::default(), STILL).unwrap();
    let journal = open();
    let mut ledger = journal.ledger("x").unwrap();
    for seq in 1..=50 {
        ledger.submit(step(seq, [put(Table::Work, seq, b"w")]));
    }
    drop((ledger, journal));
    assert_eq!(rows(&open()).len(), 50);
}

#[test]
fn nobody_waits_for_a_commit_thread_that_has_panicked() {
    let (store, faults) = Faulty::new(Box::<Memory>::default());
    let journal = Journal::over(Box::new(store), Bounds::default(), STILL).unwrap();
    let mut ledger = journal.ledger("x").unwrap();
    faults.panic_next();
    ledger.submit(step(1, []));
    assert_eq!(next(&mut ledger), Report::State(StoreState::Gone));
    assert!(matches!(next(&mut ledger), Report::Failed(_)));
    ledger.recover();
    ledger.submit(step(1, []));
    assert!(matches!(next(&mut ledger), Report::Failed(_)));
    assert!(matches!(journal.ledger("y"), Err(OpenFault::Store { .. })));
}

#[test]
fn a_new_ledger_is_told_a_state_that_is_not_good() {
    let (store, faults) = Faulty::new(Box::<Memory>::default());
    let journal = Journal::over(Box::new(store), Bounds::default(), STILL).unwrap();
    let mut x = journal.ledger("x").unwrap();
    faults.break_down();
    x.submit(step(1, []));
    assert_eq!(next(&mut x), Report::State(StoreState::Gone));
    assert_eq!(next(&mut x), Report::Failed("the disk was told to fail".to_owned()));
    let mut y = journal.ledger("y").unwrap();
    assert_eq!(next(&mut y), Report::State(StoreState::Gone));
}
