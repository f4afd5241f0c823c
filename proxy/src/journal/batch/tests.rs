use std::collections::BTreeMap;

use mcpl_policy::journal::{Change, Table};
use proptest::prelude::*;

use super::{Batch, Made};
use crate::journal::Memory;
use crate::journal::store::{Store as _, parts, rowid};

fn put(id: u64, row: &[u8]) -> Change {
    Change::Put { table: Table::Work, id, row: row.to_vec() }
}

#[test]
fn of_each_row_only_the_last_change_stays() {
    let mut batch = Batch::default();
    batch.add(0, put(1, b"a"));
    batch.add(0, put(1, b"b"));
    batch.add(0, put(2, b"c"));
    batch.add(0, Change::Delete { table: Table::Work, id: 2 });
    let rows: Vec<_> = batch.rows().collect();
    assert_eq!(rows, [(Table::Work, 1, Some(&b"b"[..])), (Table::Work, 2, None)]);
}

#[test]
fn what_is_forgotten_is_not_written_before() {
    let mut batch = Batch::default();
    batch.add(0, put(1, b"a"));
    batch.add(0, put(5, b"b"));
    batch.add(1, put(1, b"of another binding"));
    batch.add(0, Change::Forget { table: Table::Work, below: 5 });
    assert_eq!(batch.rows().count(), 2);
    assert_eq!(batch.clears().collect::<Vec<_>>(), [(Table::Work, 0, 4)]);
    assert_eq!(batch.row(0, Table::Work, 1), Made::Gone);
    assert_eq!(batch.row(0, Table::Work, 4), Made::Gone);
    assert_eq!(batch.row(0, Table::Work, 5), Made::Row(b"b"));
    assert_eq!(batch.row(0, Table::Work, 6), Made::Nothing);
    assert_eq!(batch.row(1, Table::Work, 1), Made::Row(b"of another binding"));
}

#[test]
fn stretches_that_touch_are_one_and_those_of_two_bindings_are_not() {
    let clear = |from, below| Change::Clear { table: Table::Notice, from, below };
    let mut batch = Batch::default();
    batch.add(0, clear(9, 9));
    assert!(batch.is_empty(), "nothing goes");
    for (from, below) in [(64, 128), (192, 256), (128, 192), (0, 10), (300, 400), (320, 330), (290, 301)] {
        batch.add(0, clear(from, below));
    }
    batch.add(1, clear(0, 64));
    let other = rowid(1, 0);
    assert_eq!(
        batch.clears().collect::<Vec<_>>(),
        [
            (Table::Notice, 0, 9),
            (Table::Notice, 64, 255),
            (Table::Notice, 290, 399),
            (Table::Notice, other, other + 63)
        ]
    );
    batch.add(0, put(65, b"of another table"));
    batch.add(0, Change::Put { table: Table::Notice, id: 65, row: b"anew".to_vec() });
    assert_eq!(batch.row(0, Table::Notice, 65), Made::Row(b"anew"));
    assert_eq!(batch.row(0, Table::Notice, 66), Made::Gone);
    assert_eq!(batch.row(0, Table::Notice, 10), Made::Nothing);
    batch.add(0, clear(65, 66));
    assert_eq!((batch.row(0, Table::Notice, 65), batch.rows().count()), (Made::Gone, 1));
}

/// A binding, and a change of one of few rows.
fn change() -> impl Strategy<Value = (u64, Change)> {
    let table = prop_oneof![Just(Table::Work), Just(Table::Receipt)];
    (0..2_u64, table, 0..8_u64, 0..5_u8, any::<u8>()).prop_map(|(binding, table, id, kind, byte)| {
        let change = match kind {
            0 | 1 => Change::Put { table, id, row: vec![byte] },
            2 => Change::Delete { table, id },
            3 => Change::Forget { table, below: id },
            _ => Change::Clear { table, from: id, below: id + u64::from(byte % 4) },
        };
        (binding, change)
    })
}

type Rows = BTreeMap<(u64, Table, u64), Vec<u8>>;

fn apply(rows: &mut Rows, binding: u64, change: Change) {
    match change {
        Change::Put { table, id, row } => drop(rows.insert((binding, table, id), row)),
        Change::Delete { table, id } => drop(rows.remove(&(binding, table, id))),
        Change::Forget { table, below } => {
            rows.retain(|(of, of_table, id), _| (*of, *of_table) != (binding, table) || *id >= below);
        }
        Change::Clear { table, from, below } => {
            let goes = |id: &u64| (from..below).contains(id);
            rows.retain(|(of, of_table, id), _| (*of, *of_table) != (binding, table) || !goes(id));
        }
    }
}

proptest! {
    #[test]
    fn merged_is_the_same_as_one_after_the_other(
        before in prop::collection::vec(change(), 0..12),
        changes in prop::collection::vec(change(), 0..24),
    ) {
        let (mut store, mut expected) = (Memory::default(), Rows::new());
        for changes in [before, changes] {
            let mut batch = Batch::default();
            let old = expected.clone();
            for (binding, change) in changes {
                batch.add(binding, change.clone());
                apply(&mut expected, binding, change);
            }
            for binding in 0..2 {
                for id in 0..8 {
                    let now = expected.get(&(binding, Table::Work, id)).map(Vec::as_slice);
                    let then = old.get(&(binding, Table::Work, id)).map(Vec::as_slice);
                    match batch.row(binding, Table::Work, id) {
                        Made::Nothing => prop_assert_eq!(now, then),
                        Made::Gone => prop_assert_eq!(now, None),
                        Made::Row(row) => prop_assert_eq!(now, Some(row)),
                    }
                }
            }
            store.commit(&batch).unwrap();
            let mut found = Rows::new();
            for binding in 0..2 {
                for table in [Table::Work, Table::Receipt] {
                    let mut take = |id, row: Result<&[u8], &str>| {
                        found.insert((binding, table, parts(id).1), row.unwrap().to_vec());
                    };
                    store.page(binding, table, 0, usize::MAX, &mut take).unwrap();
                }
            }
            prop_assert_eq!(&found, &expected);
        }
    }
}
