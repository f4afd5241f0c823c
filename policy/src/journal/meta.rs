//! The one row of a binding that is about all of them.

use mcpl_codec::DigestKey;

use super::wire::{Reader, Writer};
use super::{FORMAT, Spoilt, Table};

/// [`Table::Meta`], row 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaRow {
    /// The key of all digests and fingerprints of this binding.
    pub key: DigestKey,
    /// The sidecar's running time, in ms, at the last step: ages go on from it (contract 6.2).
    pub mono_ms: u64,
    /// The calendar then, in ms since 1970: what shows ages to people.
    pub wall_ms: i64,
    /// The next number to give to an occurrence.
    pub next: u64,
    /// The next number to give to a subject.
    pub next_subject: u64,
    /// Everything that came up to this one has a reason to go (contract 7.1).
    pub due: u64,
}

impl MetaRow {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut row = Writer::new(64);
        row.number(u64::from(FORMAT)).fixed(&self.key.0).number(self.mono_ms).signed(self.wall_ms);
        row.number(self.next).number(self.next_subject).number(self.due);
        row.finish()
    }

    /// What the bytes say.
    ///
    /// # Errors
    /// [`Spoilt`]: they say nothing, or were written in another format.
    pub fn decode(row: &[u8]) -> Result<Self, Spoilt> {
        let spoilt = |why| Spoilt { table: Table::Meta, id: 0, why };
        let mut row = Reader::new(row);
        if row.number() != Some(u64::from(FORMAT)) {
            return Err(spoilt("it is of a format that this version does not know"));
        }
        let mut read = || {
            let (key, mono_ms, wall_ms) = (DigestKey(row.fixed()?), row.number()?, row.signed()?);
            let (next, next_subject, due) = (row.number()?, row.number()?, row.number()?);
            let meta = Self { key, mono_ms, wall_ms, next, next_subject, due };
            row.end().map(|()| meta)
        };
        read().ok_or_else(|| spoilt("it is cut short, or goes on"))
    }
}
