//! A row says what it was written to say (contract 9.1).

#![allow(clippy::unwrap_used)]

use mcpl_codec::{Digest, Lane};
use mcpl_policy::engine::{Fate, Outcome};
use mcpl_policy::journal::{BatchRow, Place, WorkRow};
use mcpl_policy::thread::{MAX_MARKS, Mark, Thread};
use proptest::collection::vec;
use proptest::prelude::*;

fn row(numbers: [u64; 5], digest: u64, times: Option<i64>) -> WorkRow {
    let [order, arrived, first_ms, after_ms, admitted_ms] = numbers;
    let place = match order % 5 {
        0 => Place::Rendered,
        1 => Place::Plain,
        2 => Place::Batch(BatchRow { id: arrived, total: first_ms }),
        3 => Place::Fixed,
        _ => Place::Stored,
    };
    WorkRow {
        lane: Lane::Push,
        fate: Fate::Held,
        revision: 1,
        place,
        doubtful: false,
        due: true,
        subject: Some(7),
        order,
        arrived,
        first_ms,
        changed_ms: first_ms.saturating_add(after_ms),
        not_before_ms: 0,
        attempts: 2,
        expires_ms: times,
        admitted_ms,
        digest: Digest(u128::from(digest)),
        outcome: Some(Outcome::Replaced),
        prior: Some("before".into()),
        event_id: None,
        thread: None,
    }
}

fn mark(seed: u64) -> Mark {
    // Marks of one trace begin alike.
    Mark(std::array::from_fn(|at| if at < 16 { (seed % 3) as u8 } else { (seed >> (8 * (at - 16))) as u8 }))
}

proptest! {
    #[test]
    fn what_it_stands_for_comes_back_with_it(seeds in vec(any::<u64>(), 0..300), own: bool, luggage in vec(any::<u8>(), 0..300)) {
        let mut thread = if own { Thread::new(mark(7), &luggage) } else { Thread::default() };
        for seed in seeds {
            thread.take_in(Thread::new(mark(seed), b"of no use any more"));
        }
        let some = own || thread.folded().len() > 0;
        let row = WorkRow { thread: some.then(|| Box::new(thread)), ..row([1; 5], 0, None) };
        prop_assert_eq!(WorkRow::decode(1, &row.encode()).unwrap(), row);
    }

    #[test]
    fn a_row_that_is_cut_or_changed_is_spoilt_or_another_and_never_more_than_is_kept(at in 0_usize..400, byte: u8) {
        let mut thread = Thread::new(mark(1), b"luggage");
        for seed in 0..9 {
            thread.take_in(Thread::new(mark(seed), b""));
        }
        let mut bytes = WorkRow { thread: Some(Box::new(thread)), ..row([1; 5], 0, None) }.encode();
        let at = at % bytes.len();
        prop_assert!(WorkRow::decode(1, &bytes[..at]).is_err());
        bytes[at] = byte;
        if let Ok(row) = WorkRow::decode(1, &bytes) {
            prop_assert!(row.thread.is_none_or(|thread| thread.folded().len() < MAX_MARKS));
        }
    }

    #[test]
    fn live_work_comes_back_whatever_was_before_what(
        numbers: [u64; 5], digest: u64, expires: Option<i64>
    ) {
        let row = row(numbers, digest, expires);
        prop_assert_eq!(WorkRow::decode(1, &row.encode()).unwrap(), row);
    }
}

#[test]
fn a_row_without_a_thread_is_spelled_as_it_was_before_there_were_any() {
    let written = row([40_001, 40_000, 90_000_000, 50, 90_000_050], 1 << 63, Some(5)).encode();
    let spelled = "20000108c0b802028095f52a320002010a64000000000000008002076265666f726500";
    assert_eq!(format!("{written:02x?}").replace([' ', ',', '[', ']'], ""), spelled);
    assert!(WorkRow::decode(1, &written).unwrap().thread.is_none());
}

#[test]
fn a_full_thread_takes_25_bytes_a_mark_at_most_and_9_where_they_are_of_one_trace() {
    let length = |mark: fn(u64) -> Mark| {
        let mut thread = Thread::new(mark(0), b"");
        for number in 1..200_u64 {
            thread.take_in(Thread::new(mark(number), b""));
        }
        let row = WorkRow { thread: Some(Box::new(thread)), ..row([1; 5], 0, None) };
        row.encode().len() - WorkRow { thread: None, ..row }.encode().len()
    };
    let apart = |number: u64| Mark(std::array::from_fn(|at| (number >> (8 * (at % 8))) as u8));
    let alike =
        |number: u64| Mark(std::array::from_fn(|at| if at < 16 { 7 } else { apart_byte(number, at) }));
    assert!(length(apart) <= MAX_MARKS * 25 + 8, "{}", length(apart));
    assert!(length(alike) <= MAX_MARKS * 9 + 24, "{}", length(alike));
}

fn apart_byte(number: u64, at: usize) -> u8 {
    (number >> (8 * (at - 16))) as u8
}

#[test]
fn what_is_near_takes_little_room_however_long_it_all_runs() {
    let near = row([40_001, 40_000, 90_000_000, 50, 90_000_050], 1 << 63, None);
    let early = row([1, 0, 0, 50, 50], 1 << 63, None);
    assert!(near.encode().len() <= early.encode().len() + 6, "{} bytes", near.encode().len());
}

#[test]
fn of_a_digest_the_part_is_kept_that_its_receipt_keeps() {
    let mut row = row([1; 5], 0, None);
    row.digest = Digest(u128::MAX);
    let read = WorkRow::decode(1, &row.encode()).unwrap();
    assert_eq!(read.digest, Digest(u128::from(u64::MAX)));
}
