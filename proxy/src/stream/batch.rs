//! Observations as a batch. Readers that are in step are sent the same text, which is made once.

use std::sync::Arc;

use mcpl_codec::Line;
use serde::Serialize;

use super::Observation;
use super::entry::Entry;
use super::frame::Reason;
use crate::journal::account::rfc3339;

/// A batch has this many events at most.
pub const BATCH_EVENTS: usize = 256;
/// And is ended by the event that makes it this long, in bytes.
pub const BATCH_BYTES: usize = 128 * 1024;
/// So many texts are remembered for other readers.
const REMEMBERED: usize = 8;

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
    line: Line,
}

/// Makes batches of one run's stream.
#[derive(Debug)]
pub(super) struct Batches {
    /// The stream's name, and its epoch.
    stream: String,
    epoch: String,
    made: std::collections::VecDeque<Made>,
}

impl Batches {
    pub(super) fn new(stream: &str, epoch: &str) -> Self {
        Self { stream: stream.to_owned(), epoch: epoch.to_owned(), made: std::collections::VecDeque::new() }
    }

    /// The batch of `observations`, which follow number `after`, or of the first of them; and its last number.
    /// Without any it is an empty one.
    pub(super) fn make(
        &mut self,
        reason: Reason,
        after: u64,
        observations: &[Arc<Observation>],
    ) -> (Line, u64) {
        let until = after + observations.len() as u64;
        let known =
            self.made.iter().find(|made| made.reason == reason && made.after == after && made.last <= until);
        // A shorter one will do as well as long as nobody waits for more of it.
        if let Some(known) = known.filter(|known| known.last == until || observations.len() >= BATCH_EVENTS) {
            return (known.line.clone(), known.last);
        }
        let (line, last) = self.write(reason, after, observations);
        if last > after {
            self.made.truncate(REMEMBERED - 1);
            self.made.push_front(Made { reason, after, last, line: line.clone() });
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
