//! A batch that is not rendered yet, and its notices (contract 6.5).

use mcpl_policy::journal::{BatchRow, NoticeRow, Place, Spoilt, Table, WorkRow};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Account, Books, json};
use crate::journal::OpenFault;

/// What a pending batch stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    /// How many notices came.
    pub notices: u64,
    /// How many of them are kept: the newest.
    pub kept: u64,
}

impl Batch {
    /// What is said of a batch of which so many notices were found; they may have become more since its row was read.
    pub(super) fn of(row: &BatchRow, found: usize) -> Self {
        Self { notices: row.total, kept: (found as u64).min(row.total) }
    }
}

/// The batch whose fallback this is.
pub(super) fn batch_of(work: &WorkRow) -> Option<BatchRow> {
    match work.place {
        Place::Batch(batch) => Some(batch),
        Place::Plain | Place::Rendered | Place::Fixed | Place::Stored => None,
    }
}

impl Books {
    /// What is kept of the notices of a pending batch, oldest first: of each the JSON object that its producer is handed
    /// back. Nothing for what is no batch; what is damaged is left out.
    ///
    /// # Errors
    /// [`OpenFault`] for anything but damage.
    pub fn notices(&self, account: &Account) -> Result<Vec<Vec<u8>>, OpenFault> {
        let (Some(binding), Some(row)) = (self.binding(&account.producer), account.batch_row) else {
            return Ok(Vec::new());
        };
        let (notices, _) = self.kept(binding, &row)?;
        Ok(notices.into_iter().map(|notice| notice.text.into()).collect())
    }

    /// The rows of a batch's notices, oldest first, and what of them cannot be read.
    pub(super) fn kept(
        &self,
        binding: u64,
        batch: &BatchRow,
    ) -> Result<(Vec<NoticeRow>, Vec<Spoilt>), OpenFault> {
        let (mut notices, mut spoilt) = (Vec::new(), Vec::new());
        let kept = usize::try_from(batch.total).unwrap_or(usize::MAX);
        for id in NoticeRow::all(batch.id).take(kept) {
            match self.reader.get(binding, Table::Notice, id) {
                Ok(row) => match row.map(|row| NoticeRow::decode(id, &row)) {
                    Some(Ok(notice)) => notices.push(notice),
                    Some(Err(why)) => spoilt.push(why),
                    None => {}
                },
                Err(OpenFault::Corrupt { .. }) => {
                    spoilt.push(Spoilt { table: Table::Notice, id, why: "its bytes are damaged" });
                }
                Err(fault) => return Err(fault),
            }
        }
        // Newer ones take the rows of those that are not kept any more.
        notices.sort_by_key(|notice| notice.index);
        Ok((notices, spoilt))
    }
}

impl Account {
    /// Puts what is kept of its notices into it.
    pub fn show_notices(&mut self, notices: &[Vec<u8>]) {
        if self.batch.is_some() {
            let shown: Vec<Box<RawValue>> = notices.iter().filter_map(|text| json(&line(text))).collect();
            self.notices = Some(shown);
        }
    }
}

/// JSON text as one line: a line break in it can only stand between tokens.
pub(super) fn line(text: &[u8]) -> Vec<u8> {
    text.iter().map(|&byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }).collect()
}
