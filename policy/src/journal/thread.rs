//! The marks of the traces that an occurrence stands for, in its row (contract 10.1).

use std::collections::VecDeque;

use super::wire::{Reader, Writer};
use crate::thread::{MAX_MARKS, Mark, Thread};

/// How many marks of what was folded, those, and its own with its luggage, if it has one. What a mark begins with
/// like the one before it, as those of one trace do, is not repeated.
pub(super) fn write(thread: &Thread, row: &mut Writer) {
    row.number(thread.folded().len() as u64);
    let mut before = None;
    let mut mark = |row: &mut Writer, mark: Mark| {
        let same = shared(before, mark);
        row.number(same as u64).fixed(mark.0.get(same..).unwrap_or_default());
        before = Some(mark);
    };
    for folded in thread.folded() {
        mark(row, folded);
    }
    if let Some((own, luggage)) = thread.own() {
        mark(row.number(1), own);
        row.text(luggage);
    } else {
        row.number(0);
    }
}

/// What [`write`] wrote.
pub(super) fn read(row: &mut Reader<'_>) -> Option<Thread> {
    let count = usize::try_from(row.number()?).ok().filter(|count| *count < MAX_MARKS)?;
    let mut before = Mark([0; 24]);
    let mut mark = |row: &mut Reader<'_>| {
        let same = usize::try_from(row.number()?).ok()?;
        let own = before.0.get_mut(same..)?;
        own.copy_from_slice(row.take(own.len() as u64)?);
        Some(before)
    };
    let mut folded = VecDeque::with_capacity(count);
    for _ in 0..count {
        folded.push_back(mark(row)?);
    }
    let own = match row.number()? {
        0 => None,
        1 => Some((mark(row)?, row.text()?)),
        _ => return None,
    };
    Thread::restored(folded, own)
}

/// How many bytes a mark begins with like the one before.
fn shared(before: Option<Mark>, mark: Mark) -> usize {
    before.map_or(0, |before| before.0.iter().zip(mark.0).take_while(|(one, other)| **one == *other).count())
}
