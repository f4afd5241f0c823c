//! What is asked of a journal is bounded, and answered or given up (contract 3.6, 9.1).

use std::future::poll_fn;

use mcpl_policy::Settings;
use mcpl_policy::journal::Change;

use super::*;
use crate::journal::faulty::{Faults, Faulty};
use crate::journal::{Bounds, Journal, Memory, Pace};

fn core() -> (Core, Faults) {
    let (store, faults) = Faulty::new(Box::new(Memory::default()));
    let journal = Journal::over(Box::new(store), Bounds::default(), Pace::default()).unwrap();
    (Core::open(Settings::default(), journal.ledger("x").unwrap(), None, 7).unwrap(), faults)
}

fn step(seq: Seq) -> Step {
    Step { seq, changes: vec![Change::Put { table: Table::Receipt, id: seq, row: vec![1] }] }
}

fn word(number: u64) -> (Asked, oneshot::Receiver<Result<Fate, Unresolved>>) {
    let (told, answer) = oneshot::channel();
    (Asked { number, expect: None, word: Word::Drop, told }, answer)
}

#[tokio::test]
async fn past_so_many_receipts_being_read_no_more_events_are_read() {
    let (mut core, faults) = core();
    faults.hold();
    core.commit(step(1));
    faults.held();
    for ticket in 0..MAX_READS as u64 {
        assert!(!core.is_behind(), "at {ticket}");
        core.read(ticket, 1);
    }
    assert!(core.is_behind());
    faults.release();
    let mut read = 0;
    while read < MAX_READS {
        read += usize::from(matches!(poll_fn(|cx| core.poll(cx)).await, News::Receipt(_, Some(_))));
    }
    assert!(!core.is_behind());
}

#[tokio::test]
async fn past_so_many_words_nobody_answers_and_those_who_left_make_room() {
    let (mut core, faults) = core();
    faults.hold();
    core.commit(step(1));
    faults.held();
    let mut waiting = Vec::new();
    for _ in 0..MAX_ASKED {
        let (asked, answer) = word(1);
        core.ask(asked);
        waiting.push(answer);
    }
    let (asked, refused) = word(1);
    core.ask(asked);
    assert!(refused.await.is_err(), "nobody answers");
    waiting.pop();
    let (asked, mut answer) = word(1);
    core.ask(asked);
    assert!(answer.try_recv().is_err_and(|why| why == oneshot::error::TryRecvError::Empty), "it waits");
    faults.release();
}

#[tokio::test]
async fn when_a_commit_fails_what_was_asked_is_given_up() {
    let (mut core, faults) = core();
    faults.hold();
    core.commit(step(1));
    faults.held();
    core.read(5, 1);
    let (asked, answer) = word(1);
    core.ask(asked);
    faults.break_down();
    faults.release();
    while !matches!(poll_fn(|cx| core.poll(cx)).await, News::Store(StoreState::Gone) if core.is_lost()) {}
    assert!(answer.await.is_err(), "nobody answers");
    assert!(matches!(poll_fn(|cx| core.poll(cx)).await, News::Receipt(5, None)));
    let (asked, answer) = word(1);
    core.ask(asked);
    assert!(answer.await.is_err(), "and nobody does while nothing can be changed");
    faults.mend();
    while !matches!(poll_fn(|cx| core.poll(cx)).await, News::Restored) {}
    assert!(!core.is_lost());
}

#[tokio::test]
async fn who_comes_to_watch_is_told_once_nothing_unnoted_can_come_to_be_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let hub = crate::stream::Hub::new(dir.path());
    let (store, faults) = Faulty::new(Box::new(Memory::default()));
    let journal = Journal::over(Box::new(store), Bounds::default(), Pace::default()).unwrap();
    let tap = Some(hub.tap("x"));
    let mut core = Core::open(Settings::default(), journal.ledger("x").unwrap(), tap, 7).unwrap();
    assert!(!core.engine.is_observed(), "nobody came yet, and it costs nothing");
    let _pass = hub.admit().unwrap();
    faults.hold();
    let unnoted = core.engine.steps() + 1;
    core.commit(step(unnoted));
    faults.held();
    let (told, mut answer) = oneshot::channel();
    core.watch_after(unnoted, told);
    assert!(core.engine.is_observed());
    assert!(answer.try_recv().is_err(), "a step that was not noted is on its way");
    faults.release();
    while !matches!(poll_fn(|cx| core.poll(cx)).await, News::Durable) {}
    assert!(answer.try_recv().is_ok());
    let (told, mut answer) = oneshot::channel();
    core.watch(told);
    assert!(answer.try_recv().is_ok(), "at once, where nothing is on its way");
}
