//! What those who watch are told of a step is what the step writes: each occurrence it changes, once.

use std::collections::{BTreeMap, BTreeSet};

use mcpl_policy::engine::{Seen, Waits};
use mcpl_policy::journal::{Change, ReceiptRow, Step, Table, WorkRow};

/// Panics unless `seen` says what the rows of `step` say.
pub(crate) fn assert_told(step: &Step, seen: &[Seen]) {
    let by: BTreeMap<u64, &Seen> = seen.iter().map(|seen| (seen.number, seen)).collect();
    assert_eq!(by.len(), seen.len(), "each is told once: {seen:?}");
    let mut changed = BTreeSet::new();
    let mut last = BTreeMap::new();
    for change in &step.changes {
        if let Change::Put { table, id, .. } | Change::Delete { table, id } = change {
            // The last change of a row counts.
            last.insert((*table, *id), change);
        }
    }
    for change in last.values() {
        match change {
            Change::Put { table: Table::Work, id, row } => {
                let row = WorkRow::decode(*id, row).unwrap();
                let told = by.get(id).unwrap_or_else(|| panic!("work {id} is told"));
                assert_eq!(
                    (&told.fate, told.revision, told.open),
                    (&row.fate, row.revision, true),
                    "{told:?}"
                );
                assert_eq!((told.subject, told.attempts), (row.subject, row.attempts), "{told:?}");
                assert!(!told.event_id.is_empty() && told.waits.is_some(), "{told:?}");
                assert_eq!(told.waits == Some(Waits::Reason), waits_for_a_reason(&row), "{told:?}");
                changed.insert(*id);
            }
            Change::Delete { table: Table::Work, id } => {
                let told = by.get(id).unwrap_or_else(|| panic!("the end of {id} is told"));
                assert!(!told.open && told.waits.is_none(), "{told:?}");
                changed.insert(*id);
            }
            _ => {}
        }
    }
    for change in last.values() {
        let Change::Put { table: Table::Receipt, id, row } = change else { continue };
        let row = ReceiptRow::decode(*id, row).unwrap();
        let told = by.get(id).unwrap_or_else(|| panic!("receipt {id} is told"));
        assert_eq!(told.event_id, row.event_id, "{told:?}");
        if !told.open {
            assert_eq!((&told.fate, told.revision, told.by), (&row.fate, row.revision, row.by), "{told:?}");
        }
        changed.insert(*id);
    }
    assert!(by.keys().eq(changed.iter()), "nothing is told that did not change: {seen:?} of {changed:?}");
}

/// The row is of what is held without a reason to go, as far as it knows.
fn waits_for_a_reason(row: &WorkRow) -> bool {
    !row.due && !row.fate.is_submitted() && !row.fate.is_in_doubt() && !row.fate.is_end()
}
