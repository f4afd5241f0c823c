//! A store that is nowhere.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpl_policy::journal::Table;

use super::Batch;
use super::store::{Fault, Rest, Store, Take, crowded, last_binding, last_id, parts, rowid};

/// Rows in a map. Clones share it, so that a test can end a journal and open its rows again.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Maps>>);

#[derive(Debug, Default)]
struct Maps {
    rows: BTreeMap<(Table, u64), Vec<u8>>,
    bindings: HashMap<String, u64>,
    bytes: u64,
}

impl Memory {
    fn maps(&self) -> MutexGuard<'_, Maps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Maps {
    fn put(&mut self, key: (Table, u64), row: Option<&[u8]>) {
        let added = row.map_or(0, <[u8]>::len) as u64;
        let old = match row {
            Some(row) => self.rows.insert(key, row.to_vec()),
            None => self.rows.remove(&key),
        };
        self.bytes = self.bytes + added - old.map_or(0, |old| old.len() as u64);
    }
}

impl Store for Memory {
    fn binding(&mut self, name: &str) -> Result<u64, Fault> {
        let mut maps = self.maps();
        let next = maps.bindings.len() as u64;
        if next > last_binding() && !maps.bindings.contains_key(name) {
            return Err(crowded());
        }
        Ok(*maps.bindings.entry(name.to_owned()).or_insert(next))
    }

    fn page(
        &mut self,
        binding: u64,
        table: Table,
        from: u64,
        most: usize,
        take: Take<'_>,
    ) -> Result<Option<u64>, Fault> {
        let mut read = 0;
        if from > last_id() {
            return Ok(None);
        }
        let range = (table, rowid(binding, from))..=(table, rowid(binding, last_id()));
        for (&(_, key), row) in self.maps().rows.range(range) {
            let id = parts(key).1;
            if read > most {
                return Ok(Some(id));
            }
            read += row.len() + 1;
            take(id, Ok(row));
        }
        Ok(None)
    }

    fn read(&mut self, binding: u64, table: Table, id: u64) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.maps().rows.get(&(table, rowid(binding, id))).cloned())
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), Fault> {
        let mut maps = self.maps();
        for (table, first, last) in batch.clears() {
            let gone: Vec<_> = maps.rows.range((table, first)..=(table, last)).map(|(key, _)| *key).collect();
            for key in gone {
                maps.put(key, None);
            }
        }
        for (table, key, row) in batch.rows() {
            maps.put((table, key), row);
        }
        Ok(())
    }

    fn probe(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn size(&mut self) -> Result<u64, Fault> {
        Ok(self.maps().bytes)
    }

    fn upkeep(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn rest(&mut self, _hurried: bool) -> Result<Rest, Fault> {
        Ok(Rest::Done)
    }

    fn give_up_reserve(&mut self) -> bool {
        false
    }

    fn make_reserve(&mut self) -> bool {
        true
    }

    fn path(&self) -> Option<&Path> {
        None
    }
}
