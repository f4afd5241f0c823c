//! What is known to have been read of a subject (contract 0: history).

use super::wire::{Reader, Writer, utf8};
use super::{Spoilt, Table};

/// Whether any version of a subject was ever released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryRow {
    /// None was.
    None,
    /// One was.
    Some,
    /// It is not known.
    Unknown,
}

/// A row of [`Table::Subject`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectRow {
    /// Scope kind, scope and key, as the engine spells them.
    pub name: Box<str>,
    /// What was released of it; a version on its way counts as unknown.
    pub history: HistoryRow,
    /// When it changed last, in ms of running time: among subjects with nothing unread, lower ones are forgotten first.
    pub used: u64,
}

impl SubjectRow {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut row = Writer::new(self.name.len() + 8);
        let history = match self.history {
            HistoryRow::None => 0,
            HistoryRow::Some => 1,
            HistoryRow::Unknown => 2,
        };
        row.number(history).number(self.used).text(self.name.as_bytes());
        row.finish()
    }

    /// What the bytes of row `id` say.
    ///
    /// # Errors
    /// [`Spoilt`]: they say nothing.
    pub fn decode(id: u64, row: &[u8]) -> Result<Self, Spoilt> {
        let mut row = Reader::new(row);
        let mut read = || {
            let history = match row.number()? {
                0 => HistoryRow::None,
                1 => HistoryRow::Some,
                2 => HistoryRow::Unknown,
                _ => return None,
            };
            let subject = Self { history, used: row.number()?, name: utf8(row.text()?)? };
            row.end().map(|()| subject)
        };
        read().ok_or(Spoilt { table: Table::Subject, id, why: "it is no subject" })
    }
}
