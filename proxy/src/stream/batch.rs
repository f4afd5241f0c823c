//! Observations as a batch. Readers are sent the same text, which is made once: batches end at the same numbers for
//! everybody, so that who was out of step is in step again with the next one.

use std::collections::VecDeque;
use std::sync::Arc;

use mcpl_codec::Line;
use serde::Serialize;

use super::Observation;
use super::entry::Entry;
use super::frame::Reason;
use crate::journal::account::rfc3339;

/// A batch has this many events at most, and ends at their multiples.
pub const BATCH_EVENTS: usize = 256;
/// And is ended by the event that makes it this long, in bytes.
pub const BATCH_BYTES: usize = 128 * 1024;
/// So many texts are remembered for other readers, of [`BATCH_BYTES`] or a little more each.
const REMEMBERED: usize = 32;

#[derive(Serialize)]
struct Event {
    id: String,
    seq: u64,
    r#type: &'static str,
    ts: Option<String>,
    data: Entry,
}

/// A text, and what it is of: why, after which number, and up to which one.
#[derive(Debug)]
struct Made {
    reason: Reason,
    after: u64,
    last: u64,
    /// It would be no longer if there were more.
    is_full: bool,
    line: Line,
}

/// Makes batches of one run's stream.
#[derive(Debug)]
pub(super) struct Batches {
    /// The stream's name, and its epoch.
    stream: String,
    epoch: String,
    made: VecDeque<Made>,
}

impl Batches {
    pub(super) fn new(stream: &str, epoch: &str) -> Self {
        Self { stream: stream.to_owned(), epoch: epoch.to_owned(), made: VecDeque::new() }
    }

    /// Where a batch of what follows number `after`, up to number `until`, ends at the latest.
    pub(super) fn end(after: u64, until: u64) -> u64 {
        let most = BATCH_EVENTS as u64;
        until.min((after - after % most).saturating_add(most)).max(after)
    }

    /// The batch of what follows number `after` and ends at number `end`, or sooner, if it was made; and its last
    /// number.
    pub(super) fn known(&mut self, reason: Reason, after: u64, end: u64) -> Option<(Line, u64)> {
        let fits = |made: &Made| {
            let is_whole = made.last == end || made.is_full && made.last < end;
            made.reason == reason && made.after == after && is_whole
        };
        let made = self.made.remove(self.made.iter().position(fits)?)?;
        let found = (made.line.clone(), made.last);
        self.made.push_front(made);
        Some(found)
    }

    /// The batch of `observations`, which follow number `after`, or of the first of them; and its last number.
    /// Without any it is an empty one.
    pub(super) fn make(
        &mut self,
        reason: Reason,
        after: u64,
        observations: &[Arc<Observation>],
    ) -> (Line, u64) {
        let (line, last) = self.write(reason, after, observations);
        if last > after {
            let is_full =
                last.is_multiple_of(BATCH_EVENTS as u64) || last < after + observations.len() as u64;
            self.made.truncate(REMEMBERED - 1);
            self.made.push_front(Made { reason, after, last, is_full, line: line.clone() });
        }
        (line, last)
    }

    fn write(&self, reason: Reason, after: u64, observations: &[Arc<Observation>]) -> (Line, u64) {
        let mut last = after;
        let mut text = Vec::with_capacity(512 + 512 * observations.len().min(BATCH_EVENTS));
        text.extend_from_slice(b"{\"event.batch\":{\"stream\":");
        put(&mut text, &self.stream);
        text.extend_from_slice(b",\"reason\":");
        put(&mut text, reason.as_str());
        text.extend_from_slice(b",\"events\":[");
        for observation in observations.iter().take(BATCH_EVENTS) {
            if last > after {
                text.push(b',');
            }
            last += 1;
            put(&mut text, &self.event(last, observation));
            if text.len() >= BATCH_BYTES {
                break;
            }
        }
        text.extend_from_slice(b"],\"batchId\":");
        let (epoch, why) = (&self.epoch, reason.as_str());
        put(&mut text, &format!("{epoch}-{after}-{last}-{why}"));
        let bound = |number| Some(number).filter(|_| last > after);
        text.extend_from_slice(b",\"firstSeq\":");
        put(&mut text, &bound(after + 1));
        text.extend_from_slice(b",\"lastSeq\":");
        put(&mut text, &bound(last));
        text.extend_from_slice(b"}}");
        (Line::from_vec(text), last)
    }

    fn event(&self, seq: u64, observation: &Observation) -> Event {
        Event {
            id: format!("{}-{seq}", self.epoch),
            seq,
            r#type: observation.kind().about().name,
            ts: rfc3339(observation.at_ms),
            data: Entry::of(observation),
        }
    }
}

/// Writes a value as JSON.
fn put<T: Serialize + ?Sized>(text: &mut Vec<u8>, value: &T) {
    // Writing to memory cannot fail, and names of ours are the only keys.
    let _ = serde_json::to_writer(text, value);
}
