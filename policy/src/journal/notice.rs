//! What a pending batch keeps of its notices (contract 6.5).

use std::ops::Range;

use super::wire::{Reader, Writer};
use super::{Spoilt, Table};

/// Notices that a batch keeps: the newest; of older ones it only counts how many there were.
pub const MAX_NOTICES: u64 = 64;

/// A row of [`Table::Notice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeRow {
    /// How many notices of its batch came before it.
    pub index: u64,
    /// What it counts for towards `max_held_bytes`: its length as sent, in bytes.
    pub bytes: u32,
    /// What its producer is handed back: the raw JSON object of its `eventId`, `timestamp` and `data`.
    pub text: Box<[u8]>,
}

impl NoticeRow {
    /// The number of the row of notice `index` of a batch: an older one that is not kept any more had it before.
    pub fn id(batch: u64, index: u64) -> u64 {
        batch * MAX_NOTICES + index % MAX_NOTICES
    }

    /// The batch of a row.
    pub fn batch(id: u64) -> u64 {
        id / MAX_NOTICES
    }

    /// The numbers of all rows of a batch.
    pub fn all(batch: u64) -> Range<u64> {
        batch * MAX_NOTICES..(batch + 1) * MAX_NOTICES
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut row = Writer::new(self.text.len() + 8);
        row.number(self.index).number(u64::from(self.bytes)).fixed(&self.text);
        row.finish()
    }

    /// What the bytes of row `id` say.
    ///
    /// # Errors
    /// [`Spoilt`]: they say nothing, or are not of this row.
    pub fn decode(id: u64, row: &[u8]) -> Result<Self, Spoilt> {
        let spoilt = Spoilt { table: Table::Notice, id, why: "it is no notice" };
        let mut row = Reader::new(row);
        let (Some(index), Some(bytes)) = (row.number(), row.small()) else { return Err(spoilt) };
        if index % MAX_NOTICES != id % MAX_NOTICES {
            return Err(spoilt);
        }
        Ok(Self { index, bytes, text: row.rest().into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_comes_back_from_its_row_and_from_no_other() {
        let notice = NoticeRow { index: 130, bytes: 700, text: br#"{"eventId":"e"}"#.as_slice().into() };
        let id = NoticeRow::id(9, notice.index);
        assert_eq!(NoticeRow::decode(id, &notice.encode()), Ok(notice.clone()));
        assert!(NoticeRow::decode(id + 1, &notice.encode()).is_err());
        assert!(NoticeRow::decode(id, &[0x80]).is_err());
        assert_eq!(NoticeRow::batch(id), 9);
    }

    #[test]
    fn the_newest_take_the_rows_of_those_that_are_not_kept() {
        let ids: Vec<u64> = (0..MAX_NOTICES).map(|index| NoticeRow::id(3, index)).collect();
        assert_eq!(ids, NoticeRow::all(3).collect::<Vec<_>>());
        assert_eq!(NoticeRow::id(3, MAX_NOTICES + 5), NoticeRow::id(3, 5));
        assert!(!NoticeRow::all(3).contains(&NoticeRow::id(4, 0)));
    }
}
