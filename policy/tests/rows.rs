//! A row says what it was written to say (contract 9.1).

#![allow(clippy::unwrap_used)]

use mcpl_codec::{Digest, Lane};
use mcpl_policy::engine::{Fate, Outcome};
use mcpl_policy::journal::{BatchRow, Place, WorkRow};
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

proptest! {
    #[test]
    fn live_work_comes_back_whatever_was_before_what(
        numbers: [u64; 5], digest: u64, expires: Option<i64>
    ) {
        let row = row(numbers, digest, expires);
        prop_assert_eq!(WorkRow::decode(1, &row.encode()).unwrap(), row);
    }
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
