//! Where a live occurrence stands (contract 9.3).

use mcpl_codec::{Digest, Lane};

use super::receipt::{code, outcome};
use super::wire::{Reader, Writer, utf8};
use super::{Spoilt, Table, thread};
use crate::engine::Outcome;
use crate::fate::Fate;
use crate::thread::Thread;

/// What an occurrence is to its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The unread one that a newer one replaces.
    Plain,
    /// The fallback of a batch that is not rendered yet (contract 6.5).
    Batch(BatchRow),
    /// What a batch became: rendered content, or its fallback from when its render began. No notice replaces it.
    Rendered,
    /// Nothing replaces it.
    Fixed,
    /// It was not coalesced, and is kept in order of its channel (contract 13.2).
    Stored,
}

/// A batch that is not rendered yet; its notices are rows of [`Table::Notice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchRow {
    /// What its notices know it by: the number of the first one.
    pub id: u64,
    /// How many notices there were; the newest of them are kept.
    pub total: u64,
}

/// A row of [`Table::Work`]; its text is the row of [`Table::Content`] with its number.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkRow {
    /// Its lane.
    pub lane: Lane,
    /// Where it stands: held, deferred, submitted, in doubt, dead.
    pub fate: Fate,
    /// How often that changed; what an operator names to change it (contract 9.2).
    pub revision: u32,
    /// What it is to its subject.
    pub place: Place,
    /// It was handed to a host once and never answered for (contract 9.3).
    pub doubtful: bool,
    /// It has a reason to go (contract 7.1).
    pub due: bool,
    /// The number of its subject.
    pub subject: Option<u64>,
    /// Its place in the order of everything held.
    pub order: u64,
    /// Which of all events it was.
    pub arrived: u64,
    /// When its subject first held unread work, in ms of running time.
    pub first_ms: u64,
    /// When its subject last changed.
    pub changed_ms: u64,
    /// Not before this.
    pub not_before_ms: u64,
    /// Refusals as `unavailable` so far.
    pub attempts: u32,
    /// Not after this calendar time, in ms since 1970.
    pub expires_ms: Option<i64>,
    /// When it was admitted, in ms of running time.
    pub admitted_ms: u64,
    /// What tells a retry from a conflict, as its receipt has it; the low 64 bits are kept.
    pub digest: Digest,
    /// What coalescing made of it.
    pub outcome: Option<Outcome>,
    /// What it displaced.
    pub prior: Option<Box<str>>,
    /// Its identity, where its text may not be there to say it: a dead letter's, or what is in doubt.
    pub event_id: Option<Box<str>>,
    /// The marks of the traces that it stands for, where there are any (contract 10.1).
    pub thread: Option<Box<Thread>>,
}

impl WorkRow {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut row = Writer::new(80);
        let place = match self.place {
            Place::Plain => 0,
            Place::Batch(_) => 1,
            Place::Fixed => 2,
            Place::Stored => 3,
            Place::Rendered => 4,
        };
        let flags = place
            | u64::from(self.lane == Lane::Channel) << 3
            | u64::from(self.doubtful) << 4
            | u64::from(self.due) << 5
            | u64::from(self.thread.is_some()) << 6;
        row.number(flags);
        if let Place::Batch(batch) = self.place {
            row.number(batch.id).number(batch.total);
        }
        self.fate.encode(row.bytes());
        row.number(u64::from(self.revision)).number(self.subject.map_or(0, |subject| subject + 1));
        // What is near another is spelled by how far it is from it.
        row.number(self.arrived).signed(self.order.wrapping_sub(self.arrived) as i64).number(self.first_ms);
        // It is never before the first.
        row.number(self.changed_ms.saturating_sub(self.first_ms)).number(self.not_before_ms);
        row.number(u64::from(self.attempts));
        match self.expires_ms {
            None => row.number(0),
            Some(at) => row.number(1).signed(at),
        };
        row.signed(self.admitted_ms.wrapping_sub(self.first_ms) as i64);
        row.fixed(&(self.digest.0 as u64).to_le_bytes()).number(code(self.outcome));
        row.maybe(self.prior.as_deref().map(str::as_bytes));
        row.maybe(self.event_id.as_deref().map(str::as_bytes));
        if let Some(thread) = &self.thread {
            thread::write(thread, &mut row);
        }
        row.finish()
    }

    /// What the bytes of row `id` say.
    ///
    /// # Errors
    /// [`Spoilt`]: they say nothing.
    pub fn decode(id: u64, row: &[u8]) -> Result<Self, Spoilt> {
        let mut row = Reader::new(row);
        let mut read = || {
            let flags = row.number()?;
            let place = match flags & 7 {
                0 => Place::Plain,
                1 => Place::Batch(BatchRow { id: row.number()?, total: row.number()? }),
                2 => Place::Fixed,
                3 => Place::Stored,
                4 => Place::Rendered,
                _ => return None,
            };
            let lane = if flags & 8 == 0 { Lane::Push } else { Lane::Channel };
            let (fate, length) = Fate::decode(row.rest())?;
            row.take(length as u64)?;
            let revision = row.small()?;
            let subject = row.number()?.checked_sub(1);
            let arrived = row.number()?;
            let (order, first_ms) = (arrived.wrapping_add_signed(row.signed()?), row.number()?);
            let changed_ms = first_ms.checked_add(row.number()?)?;
            let (not_before_ms, attempts) = (row.number()?, row.small()?);
            let expires_ms = match row.number()? {
                0 => None,
                1 => Some(row.signed()?),
                _ => return None,
            };
            let admitted_ms = first_ms.wrapping_add_signed(row.signed()?);
            let digest = Digest(u128::from(u64::from_le_bytes(row.fixed()?)));
            let outcome = outcome(row.number()?)?;
            let mut text = || {
                Some(match row.maybe()? {
                    None => None,
                    Some(text) => Some(utf8(text)?),
                })
            };
            let (prior, event_id) = (text()?, text()?);
            let thread = if flags & 64 == 0 { None } else { Some(Box::new(thread::read(&mut row)?)) };
            row.end()?;
            let (doubtful, due) = (flags & 16 != 0, flags & 32 != 0);
            (flags < 128).then_some(Self {
                lane,
                fate,
                revision,
                place,
                doubtful,
                due,
                subject,
                order,
                arrived,
                first_ms,
                changed_ms,
                not_before_ms,
                attempts,
                expires_ms,
                admitted_ms,
                digest,
                outcome,
                prior,
                event_id,
                thread,
            })
        };
        read().ok_or(Spoilt { table: Table::Work, id, why: "it is no occurrence" })
    }
}
