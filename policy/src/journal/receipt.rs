//! What an occurrence was answered, and how it ended (contract 6.2, 9.2).

use bytes::Bytes;
use mcpl_codec::Digest;

use super::wire::{Reader, Writer, utf8};
use super::{Spoilt, Table};
use crate::engine::{Answer, Outcome};
use crate::fate::Fate;

/// A row of [`Table::Receipt`].
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiptRow {
    /// Its identity: `eventId`, else `messageId`.
    pub event_id: Box<str>,
    /// What tells a retry from a conflict; the low 64 bits are kept.
    pub digest: Digest,
    /// When it was admitted, in ms of running time.
    pub admitted_ms: u64,
    /// What coalescing made of it; `None`: it was not coalesced.
    pub outcome: Option<Outcome>,
    /// What it displaced.
    pub prior: Option<Box<str>>,
    /// The host's own answer, where a write-through was answered with it.
    pub host: Option<Bytes>,
    /// Where it stands. While a row of [`Table::Work`] is there, that one knows better.
    pub fate: Fate,
    /// How often that changed.
    pub revision: u32,
    /// The number of the occurrence that replaced or withdrew it; 0: none did.
    pub by: u64,
}

/// An outcome as a number; 0 is kept for none.
pub(super) fn code(outcome: Option<Outcome>) -> u64 {
    match outcome {
        None => 0,
        Some(Outcome::First) => 1,
        Some(Outcome::Replaced) => 2,
        Some(Outcome::Appended) => 3,
        Some(Outcome::Retracted) => 4,
        Some(Outcome::Noted) => 5,
        Some(Outcome::Consumed) => 6,
    }
}

#[allow(clippy::option_option, reason = "no outcome is an outcome; no such code is none")]
pub(super) fn outcome(code: u64) -> Option<Option<Outcome>> {
    Some(match code {
        0 => None,
        1 => Some(Outcome::First),
        2 => Some(Outcome::Replaced),
        3 => Some(Outcome::Appended),
        4 => Some(Outcome::Retracted),
        5 => Some(Outcome::Noted),
        6 => Some(Outcome::Consumed),
        _ => return None,
    })
}

impl ReceiptRow {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut row = Writer::new(self.event_id.len() + 32);
        row.text(self.event_id.as_bytes()).fixed(&(self.digest.0 as u64).to_le_bytes());
        row.number(self.admitted_ms).number(code(self.outcome));
        row.maybe(self.prior.as_deref().map(str::as_bytes)).maybe(self.host.as_deref());
        self.fate.encode(row.bytes());
        row.number(u64::from(self.revision)).number(self.by);
        row.finish()
    }

    /// What the bytes of row `id` say.
    ///
    /// # Errors
    /// [`Spoilt`]: they say nothing.
    pub fn decode(id: u64, row: &[u8]) -> Result<Self, Spoilt> {
        let mut row = Reader::new(row);
        let mut read = || {
            let event_id = utf8(row.text()?)?;
            let digest = Digest(u128::from(u64::from_le_bytes(row.fixed()?)));
            let admitted_ms = row.number()?;
            let outcome = outcome(row.number()?)?;
            let prior = match row.maybe()? {
                None => None,
                Some(prior) => Some(utf8(prior)?),
            };
            let host = row.maybe()?.map(Bytes::copy_from_slice);
            let (fate, length) = Fate::decode(row.rest())?;
            row.take(length as u64)?;
            let (revision, by) = (row.small()?, row.number()?);
            row.end()?;
            Some(Self { event_id, digest, admitted_ms, outcome, prior, host, fate, revision, by })
        };
        read().ok_or(Spoilt { table: Table::Receipt, id, why: "it is no receipt" })
    }

    /// What a retry is answered: what the occurrence was (contract 6.2).
    pub fn answer(&self) -> Answer {
        match (&self.host, self.outcome) {
            (Some(text), outcome) => {
                let outcome = outcome.map(|outcome| (outcome, self.prior.clone()));
                Answer::Host { text: text.clone(), error: false, outcome }
            }
            (None, Some(outcome)) => Answer::Accepted { outcome, prior: self.prior.clone() },
            (None, None) => Answer::Stored,
        }
    }
}
