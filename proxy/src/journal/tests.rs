//! What a journal promises, on disk and over a store that fails.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcpl_policy::journal::{Change, Step, Table};

use super::{Journal, Ledger, Pace, Report};

mod commits;
mod damage;
mod disk;
mod epochs;
mod full;

/// A test that waits longer than this has failed.
const DEADLINE: Duration = Duration::from_secs(30);

/// Nothing is done that nobody asked for.
const STILL: Pace = Pace { idle: Duration::from_hours(1), retry: Duration::from_hours(1) };

/// What nobody asked for is done soon.
const BRISK: Pace = Pace { idle: Duration::from_millis(20), retry: Duration::from_millis(20) };

fn put(table: Table, id: u64, row: &[u8]) -> Change {
    Change::Put { table, id, row: row.to_vec() }
}

fn delete(table: Table, id: u64) -> Change {
    Change::Delete { table, id }
}

fn step(seq: u64, changes: impl Into<Vec<Change>>) -> Step {
    Step { seq, changes: changes.into() }
}

/// The next report.
fn next(ledger: &mut Ledger) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let report = async { tokio::time::timeout(DEADLINE, poll_fn(|cx| ledger.poll(cx))).await };
    runtime.block_on(report).expect("a report in time")
}

/// No report now.
fn nothing(ledger: &mut Ledger) {
    assert_eq!(ledger.poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
}

/// Reports until a step is durable; those before it are given back.
fn durable(ledger: &mut Ledger, seq: u64) -> Vec<Report> {
    let mut before = Vec::new();
    loop {
        match next(ledger) {
            Report::Durable(last) if last == seq => return before,
            Report::Durable(_) => {}
            other => before.push(other),
        }
    }
}

fn settle(ledger: &mut Ledger) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(DEADLINE, ledger.settle()).await }).expect("in time")
}

/// Every row, as a start reads it.
fn load(ledger: &mut Ledger) -> Vec<(Table, u64, Vec<u8>)> {
    let mut rows = Vec::new();
    let take = &mut |table, id, row: &[u8]| {
        rows.push((table, id, row.to_vec()));
        Ok(())
    };
    ledger.load(take).unwrap();
    rows
}

/// Every row of the binding `x`, of a journal that is opened for it.
fn rows(journal: &Journal) -> Vec<(Table, u64, Vec<u8>)> {
    load(&mut journal.ledger("x").unwrap())
}
