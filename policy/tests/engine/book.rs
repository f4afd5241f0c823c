//! A journal without a disk: what the steps made of the rows.

use std::collections::BTreeMap;

use mcpl_policy::engine::{Answer, Recovery};
use mcpl_policy::journal::{Change, ReceiptRow, Step, Table, WorkRow};
use mcpl_policy::{Engine, Settings};

#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    rows: BTreeMap<(Table, u64), Vec<u8>>,
}

#[allow(dead_code)]
impl Book {
    pub(crate) fn apply(&mut self, step: &Step) {
        for change in &step.changes {
            match change {
                Change::Put { table, id, row } => {
                    self.rows.insert((*table, *id), row.clone());
                }
                Change::Delete { table, id } => {
                    self.rows.remove(&(*table, *id));
                }
                Change::Forget { table, below } => {
                    self.rows.retain(|(other, id), _| other != table || id >= below);
                }
            }
        }
    }

    pub(crate) fn row(&self, table: Table, id: u64) -> Option<&[u8]> {
        self.rows.get(&(table, id)).map(Vec::as_slice)
    }

    /// The rows of one table, in order.
    pub(crate) fn table(&self, table: Table) -> impl Iterator<Item = (u64, &[u8])> {
        let rows = self.rows.range((table, 0)..=(table, u64::MAX));
        rows.map(|((_, id), row)| (*id, row.as_slice()))
    }

    pub(crate) fn count(&self, table: Table) -> usize {
        self.rows.keys().filter(|(other, _)| *other == table).count()
    }

    pub(crate) fn work(&self, number: u64) -> Option<WorkRow> {
        self.row(Table::Work, number).map(|row| WorkRow::decode(number, row).unwrap())
    }

    pub(crate) fn receipt(&self, number: u64) -> Option<ReceiptRow> {
        self.row(Table::Receipt, number).map(|row| ReceiptRow::decode(number, row).unwrap())
    }

    /// What a receipt says a retry is answered.
    pub(crate) fn answer(&self, number: u64) -> Answer {
        self.receipt(number).expect("a receipt that is remembered is on disk").answer()
    }

    /// The rows, in the order in which an engine takes them.
    pub(crate) fn recovery(&self) -> Recovery {
        let mut recovery = Recovery::new(7);
        for table in Table::ALL {
            for ((_, id), row) in self.rows.range((table, 0)..=(table, u64::MAX)) {
                recovery.take(table, *id, row).unwrap();
            }
        }
        recovery
    }

    /// The engine that these rows are of.
    pub(crate) fn engine(&self, settings: Settings, wall_ms: i64) -> Engine {
        Engine::recover(settings, wall_ms, self.recovery()).unwrap()
    }
}
