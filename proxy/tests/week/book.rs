//! A journal without a disk: what the steps made of the rows.

use std::collections::BTreeMap;

use mcpl_policy::engine::{Fate, Recovery};
use mcpl_policy::journal::{Change, ReceiptRow, Step, Table, WorkRow};

#[derive(Debug, Default)]
pub struct Book(BTreeMap<Table, BTreeMap<u64, Vec<u8>>>);

impl Book {
    pub fn apply(&mut self, step: &Step) {
        for change in &step.changes {
            match change {
                Change::Put { table, id, row } => {
                    self.0.entry(*table).or_default().insert(*id, row.clone());
                }
                Change::Delete { table, id } => {
                    self.0.entry(*table).or_default().remove(id);
                }
                Change::Forget { table, below } => {
                    let rows = self.0.entry(*table).or_default();
                    *rows = rows.split_off(below);
                }
                Change::Clear { table, from, below } => {
                    self.0.entry(*table).or_default().retain(|id, _| !(from..below).contains(&id));
                }
            }
        }
    }

    fn rows(&self, table: Table) -> impl Iterator<Item = (u64, &[u8])> {
        self.0.get(&table).into_iter().flatten().map(|(id, row)| (*id, row.as_slice()))
    }

    pub fn receipt(&self, number: u64) -> Option<ReceiptRow> {
        let row = self.0.get(&Table::Receipt)?.get(&number)?;
        Some(ReceiptRow::decode(number, row).unwrap())
    }

    /// The texts of what has not ended, each with where it stands.
    pub fn live(&self) -> Vec<(Fate, Vec<u8>)> {
        let texts = self.0.get(&Table::Content);
        let work = |(id, row)| {
            let text = texts.and_then(|texts| texts.get(&id)).cloned().unwrap_or_default();
            (WorkRow::decode(id, row).unwrap().fate, text)
        };
        self.rows(Table::Work).map(work).collect()
    }

    /// The rows in the order in which an engine takes them.
    pub fn recovery(&self, seed: u64) -> Recovery {
        let mut recovery = Recovery::new(seed);
        for table in Table::ALL {
            for (id, row) in self.rows(table) {
                recovery.take(table, id, row).unwrap();
            }
        }
        recovery
    }
}
