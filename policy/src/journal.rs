//! What must outlive the process: a map of what lives, changed one step at a time (contract 9).
//!
//! The engine says what a step changes; the driver puts it on disk, whole or not at all, and tells the engine's
//! gated outputs to go. To the store a row is opaque bytes under a table and a number; what they mean is here.
//!
//! Numbers of occurrences and subjects are below 2^44, those of notices below 2^50. An admitted occurrence has one number for life, in [`Table::Work`],
//! [`Table::Content`] and [`Table::Receipt`]; a number is never given twice.

mod meta;
mod notice;
mod receipt;
mod subject;
mod thread;
mod wire;
mod work;

pub use meta::MetaRow;
pub use notice::{MAX_NOTICES, NoticeRow};
pub use receipt::ReceiptRow;
pub use subject::{HistoryRow, SubjectRow};
pub use work::{BatchRow, Place, WorkRow};

use crate::engine::Seq;

/// The version of everything in this module; an engine that finds another does not start (contract 9.1).
///
/// Where a row has a field that only some have, its first number says so: a version that does not know the field
/// takes the row for spoilt, and never for one without it. Rows without it are spelled as ever.
pub const FORMAT: u32 = 2;

/// Kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Row 0: the key of digests, the running time, the next numbers.
    Meta,
    /// Where a live occurrence stands.
    Work,
    /// The text of a live occurrence, as it was sent.
    Content,
    /// What is known to have been read of a subject.
    Subject,
    /// What a pending batch keeps of one of its notices (contract 6.5).
    Notice,
    /// What an occurrence was answered, and how it ended.
    Receipt,
}

impl Table {
    /// Every table, in the order in which rows are to be read back.
    pub const ALL: [Self; 6] =
        [Self::Meta, Self::Subject, Self::Content, Self::Notice, Self::Work, Self::Receipt];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Work => "work",
            Self::Content => "content",
            Self::Subject => "subject",
            Self::Notice => "notice",
            Self::Receipt => "receipt",
        }
    }
}

/// One change of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The row is this from now on.
    Put {
        /// Its table.
        table: Table,
        /// Its number.
        id: u64,
        /// Its bytes.
        row: Vec<u8>,
    },
    /// There is no such row any more; there may have been none.
    Delete {
        /// Its table.
        table: Table,
        /// Its number.
        id: u64,
    },
    /// There is no row of a number below this one any more.
    Forget {
        /// The table.
        table: Table,
        /// The first number that stays.
        below: u64,
    },
    /// There is no row of these numbers any more; there may have been none.
    Clear {
        /// The table.
        table: Table,
        /// The first number that goes.
        from: u64,
        /// The first number after it that stays.
        below: u64,
    },
}

/// What one input changed: on disk whole, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its number.
    pub seq: Seq,
    /// The changes, each row at most once.
    pub changes: Vec<Change>,
}

/// A row that does not say what a row of its table must say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {id} of `{}` cannot be read: {why}", table.as_str())]
pub struct Spoilt {
    /// Its table.
    pub table: Table,
    /// Its number.
    pub id: u64,
    /// What is wrong with it.
    pub why: &'static str,
}
