//! A journal without a disk: what the steps made of the rows.

use std::collections::{BTreeMap, HashMap};

use mcpl_policy::engine::{Answer, Fate, Recovery};
use mcpl_policy::journal::{Change, ReceiptRow, Step, SubjectRow, Table, WorkRow};
use mcpl_policy::{Engine, Settings};

#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    rows: BTreeMap<(Table, u64), Vec<u8>>,
}

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
                Change::Clear { table, from, below } => {
                    self.rows.retain(|(other, id), _| other != table || !(from..below).contains(&id));
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

    /// The newest number of an event that there is a row of.
    pub(crate) fn number(&self, event_id: &str) -> Option<u64> {
        let named = |number: &u64| {
            let receipt = self.receipt(*number).is_some_and(|row| *row.event_id == *event_id);
            receipt || self.work(*number).is_some_and(|row| row.event_id.as_deref() == Some(event_id))
        };
        let all = self.rows.keys().filter(|(table, _)| matches!(table, Table::Receipt | Table::Work));
        all.map(|(_, number)| *number).filter(named).max()
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
        let mut engine = Engine::recover(settings, wall_ms, self.recovery()).unwrap();
        engine.observe(true);
        engine
    }

    /// What an engine holds is what is written down. `is_relic`: work that was read back and not written since;
    /// what was out then is in doubt by now, which its row does not say yet.
    pub(crate) fn assert_agrees(
        &self,
        engine: &Engine,
        is_relic: impl Fn(u64) -> bool,
        max_dead_letters: usize,
    ) {
        let mut held: HashMap<(Table, u64), Vec<u8>> =
            engine.rows().map(|(table, id, row)| ((table, id), row)).collect();
        let letters: HashMap<u64, (u32, bool)> =
            engine.letters().map(|(number, revision, dead)| (number, (revision, dead))).collect();
        let (mut waiting, mut texts) = (0, 0);
        for (id, row) in self.table(Table::Work) {
            let wanted = WorkRow::decode(id, row).unwrap();
            let dead = matches!(wanted.fate, Fate::Dead(_));
            let text = self.row(Table::Content, id);
            if dead || wanted.fate.is_in_doubt() {
                assert_eq!(letters.get(&id), Some(&(wanted.revision, dead)), "letter {id}");
                assert!(dead || text.is_some(), "{id} is in doubt, and its text is gone");
                (waiting, texts) = (waiting + 1, texts + usize::from(dead && text.is_some()));
                continue;
            }
            let row = held.remove(&(Table::Work, id)).unwrap_or_else(|| panic!("work {id} is not held"));
            let row = WorkRow::decode(id, &row).unwrap();
            let doubtful = if is_relic(id) { row.doubtful } else { wanted.doubtful };
            assert_eq!(WorkRow { doubtful, ..wanted }, row, "work {id}");
            assert_eq!(held.remove(&(Table::Content, id)).as_deref(), text, "the text of {id}");
        }
        assert_eq!(waiting, letters.len(), "letters");
        assert_eq!(
            texts + letters.values().filter(|(_, dead)| !dead).count() + self.count(Table::Work) - waiting,
            self.count(Table::Content),
            "texts of nothing"
        );
        assert!(texts <= max_dead_letters, "{texts} texts of dead letters");
        for (id, row) in self.table(Table::Notice) {
            assert_eq!(held.remove(&(Table::Notice, id)).as_deref(), Some(row), "notice {id}");
        }
        for (id, row) in self.table(Table::Subject) {
            let wanted = SubjectRow { used: 0, ..SubjectRow::decode(id, row).unwrap() };
            let row =
                held.remove(&(Table::Subject, id)).unwrap_or_else(|| panic!("subject {id} is not held"));
            assert_eq!(wanted, SubjectRow::decode(id, &row).unwrap(), "subject {id}");
        }
        assert!(held.is_empty(), "held, and not written down: {:?}", held.keys());
    }
}
