//! The notices of one subject that are not rendered yet (contract 6.5).

use std::collections::VecDeque;

use mcpl_codec::{Event, raw};

use crate::journal::{BatchRow, Change, MAX_NOTICES, NoticeRow, Table};

/// A pending batch. Its fallback, tags, timestamp and identity are those of its newest notice: of the work that
/// it belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// What its notices' rows know it by.
    id: u64,
    /// How many notices there were.
    total: u64,
    /// The newest of them, oldest first.
    kept: VecDeque<NoticeRow>,
    /// What those count for.
    bytes: u64,
}

impl Batch {
    /// A batch that occurrence `id` opens; it joins it as all others do.
    pub(super) fn opened_by(id: u64) -> Self {
        Self { id, total: 0, kept: VecDeque::new(), bytes: 0 }
    }

    /// What its row and its notices' say it is, if they fit together.
    pub(super) fn restored(row: BatchRow, mut notices: Vec<NoticeRow>) -> Option<Self> {
        notices.sort_by_key(|notice| notice.index);
        let first = row.total.checked_sub(notices.len() as u64)?;
        let whole = notices.len() as u64 == row.total.min(MAX_NOTICES)
            && notices.iter().zip(first..).all(|(notice, index)| notice.index == index);
        let bytes = notices.iter().map(|notice| u64::from(notice.bytes)).sum();
        whole.then(|| Self { id: row.id, total: row.total, kept: notices.into(), bytes })
    }

    /// What it counts for towards `max_held_bytes`: its notices that are kept, as they were sent.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What one more notice of `bytes` adds to that.
    pub(super) fn growth(&self, bytes: usize) -> i64 {
        let oldest = self.kept.front().filter(|_| self.kept.len() as u64 >= MAX_NOTICES);
        bytes as i64 - oldest.map_or(0, |notice| i64::from(notice.bytes))
    }

    /// Takes a notice in; the change that keeps it.
    pub(super) fn join(&mut self, event: &Event) -> Change {
        let bytes = u32::try_from(event.raw.len()).unwrap_or(u32::MAX);
        let notice = NoticeRow { index: self.total, bytes, text: event.notice().into() };
        let (id, row) = (NoticeRow::id(self.id, notice.index), notice.encode());
        self.take(notice);
        Change::Put { table: Table::Notice, id, row }
    }

    /// Takes the notices of an older batch in, in front of its own. Each of its rows is another afterwards.
    pub(super) fn absorb(&mut self, older: Self) {
        let own = std::mem::take(&mut self.kept);
        let dropped = self.total - own.len() as u64;
        (self.total, self.bytes) = (older.total - older.kept.len() as u64, 0);
        // What it dropped of its own was newer than all of the older one's.
        let older = if dropped > 0 {
            self.total += older.kept.len() as u64 + dropped;
            VecDeque::new()
        } else {
            older.kept
        };
        for notice in older.into_iter().chain(own) {
            self.take(NoticeRow { index: self.total, ..notice });
        }
    }

    fn take(&mut self, notice: NoticeRow) {
        if self.kept.len() as u64 >= MAX_NOTICES
            && let Some(oldest) = self.kept.pop_front()
        {
            self.bytes -= u64::from(oldest.bytes);
        }
        self.total += 1;
        self.bytes += u64::from(notice.bytes);
        self.kept.push_back(notice);
    }

    /// What is said of it in the row of its work.
    pub(super) fn row(&self) -> BatchRow {
        BatchRow { id: self.id, total: self.total }
    }

    /// The rows of its notices.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.kept.iter().map(|notice| (NoticeRow::id(self.id, notice.index), notice.encode()))
    }

    /// The change that takes its notices off the disk.
    pub(super) fn clear(&self) -> Change {
        let all = NoticeRow::all(self.id);
        Change::Clear { table: Table::Notice, from: all.start, below: all.end }
    }

    /// The params of the `push/render` that asks for it; `newest`: its newest notice.
    pub(super) fn params(&self, newest: &Event) -> Vec<u8> {
        let coalesce = newest.coalesce.as_ref().and_then(|coalesce| coalesce.as_ref().ok());
        let texts: usize = self.kept.iter().map(|notice| notice.text.len() + 1).sum();
        let mut params = Vec::with_capacity(texts + 512);
        params.push(b'{');
        let mut name = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                params.extend_from_slice(format!("\"{name}\":{},", raw::quote(value)).as_bytes());
            }
        };
        name("featureSet", newest.feature_set.as_deref());
        name("channelId", coalesce.and_then(|coalesce| coalesce.channel.as_deref()));
        name("key", coalesce.map(|coalesce| &*coalesce.key));
        name("eventId", newest.event_id.as_deref());
        params.extend_from_slice(b"\"notices\":[");
        for (at, notice) in self.kept.iter().enumerate() {
            if at > 0 {
                params.push(b',');
            }
            params.extend_from_slice(&notice.text);
        }
        let dropped = self.total - self.kept.len() as u64;
        params.extend_from_slice(format!("],\"dropped\":{dropped}}}").as_bytes());
        params
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(name: &str) -> Event {
        let text = format!(
            r#"{{"featureSet":"f","eventId":"{name}","timestamp":"t","coalesce":{{"key":"k","deferred":true,"data":[1.0]}},"payload":{{"content":"x"}}}}"#
        );
        Event::push(text.into())
    }

    /// A batch of so many notices, named with this letter.
    fn batch(id: u64, letter: char, notices: u64) -> Batch {
        let mut batch = Batch::opened_by(id);
        for index in 0..notices {
            batch.join(&notice(&format!("{letter}{index}")));
        }
        batch
    }

    fn params(batch: &Batch, newest: &str) -> String {
        String::from_utf8(batch.params(&notice(newest))).unwrap()
    }

    #[test]
    fn its_producer_is_handed_back_what_it_sent() {
        assert_eq!(
            params(&batch(1, 'n', 2), "n1"),
            r#"{"featureSet":"f","key":"k","eventId":"n1","notices":[{"eventId":"n0","timestamp":"t","data":[1.0]},{"eventId":"n1","timestamp":"t","data":[1.0]}],"dropped":0}"#
        );
    }

    #[test]
    fn the_newest_are_kept_and_the_others_counted() {
        let batch = batch(1, 'n', 150);
        let length = notice("n100").raw.len() as u64;
        let (tens, hundreds) = (14 * (length - 1), 50 * length);
        assert_eq!((batch.kept.len() as u64, batch.bytes()), (MAX_NOTICES, tens + hundreds));
        assert_eq!(batch.growth(10), 10 - (length as i64 - 1));
        let params = params(&batch, "n149");
        assert!(params.contains(r#""notices":[{"eventId":"n86""#) && params.ends_with(r#""dropped":86}"#));
        assert_eq!(batch.rows().count(), 64);
    }

    #[test]
    fn it_comes_back_from_its_rows_and_from_no_fewer() {
        for total in [1, 64, 65, 150] {
            let batch = batch(7, 'n', total);
            let mut rows: Vec<NoticeRow> =
                batch.rows().map(|(id, row)| NoticeRow::decode(id, &row).unwrap()).collect();
            assert_eq!(Batch::restored(batch.row(), rows.clone()).as_ref(), Some(&batch));
            rows.remove(rows.len() / 2);
            assert_eq!(Batch::restored(batch.row(), rows), None);
        }
    }

    #[test]
    fn one_that_takes_in_an_older_one_is_as_if_they_had_been_one() {
        for (older, newer) in [(1, 1), (3, 61), (40, 40), (100, 3), (2, 100)] {
            let mut one = batch(9, 'n', newer);
            let own: Vec<u64> = one.rows().map(|(id, _)| id).collect();
            one.absorb(batch(8, 'o', older));
            let rows: Vec<u64> = one.rows().map(|(id, _)| id).collect();
            assert!(own.iter().all(|id| rows.contains(id)), "no row of before is left");
            let mut expected = batch(9, 'o', older);
            for index in 0..newer {
                expected.join(&notice(&format!("n{index}")));
            }
            assert_eq!(one, expected, "{older} and {newer}");
        }
    }
}
