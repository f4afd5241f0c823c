//! What is open, as the journal has it: for a reader that knows nothing, or too little.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mcpl_codec::Line;
use serde::Serialize;
use tokio::task::{JoinHandle, spawn_blocking};

use super::entry::Entry;
use super::frame;
use super::hub::Shared;
use crate::journal::account::Books;

/// Occurrences in one part at most. A part of them is read while the one before it is sent.
pub(super) const SNAPSHOT_PART: usize = 256;

/// The last occurrence of a part: its producer and its number.
type After = (String, u64);
/// A part, and where the next one begins, if there is one.
type Portion = Result<(Line, Option<After>), String>;

/// A snapshot that is being made.
#[derive(Debug)]
pub(super) struct Snapshot {
    shared: Arc<Shared>,
    /// The part that is being read; none: all were.
    reading: Option<JoinHandle<Portion>>,
    /// Its number.
    at: u64,
    /// What it is subscribed from.
    pub(super) last: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    stream: &'a str,
    /// What it knows of is known up to here at least: where to go on from.
    last_sequence: u64,
    #[serde(rename = "part")]
    at: u64,
    is_last: bool,
    occurrences: Vec<Entry>,
}

impl Snapshot {
    /// Begins one that knows everything up to now, to be gone on from `tail` observations before that. To be
    /// called on a runtime.
    pub(super) fn begin(shared: &Arc<Shared>, tail: u64) -> Self {
        // Fixed before the journal is read: what is told after it may be in the snapshot as well, nothing is in
        // neither. Revisions tell.
        let last = shared.last().saturating_sub(tail).max(shared.first() - 1);
        let mut snapshot = Self { shared: Arc::clone(shared), reading: None, at: 0, last };
        snapshot.read(None);
        snapshot
    }

    /// Reads a part, where waiting for the disk holds nobody up. Nothing is held while that waits to be sent.
    fn read(&mut self, after: Option<After>) {
        let (shared, last, at) = (Arc::clone(&self.shared), self.last, self.at);
        self.reading = Some(spawn_blocking(move || read(&shared, last, at, after)));
    }

    /// The next part; none: that was all, or (`Err`) the journal cannot be read.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Line, String>>> {
        let Some(reading) = &mut self.reading else { return Poll::Ready(None) };
        let portion = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        Poll::Ready(Some(match portion {
            Ok(Ok((line, more))) => {
                if more.is_some() {
                    self.at += 1;
                    self.read(more);
                }
                Ok(line)
            }
            Ok(Err(why)) => Err(why),
            Err(_) => Err("it was given up".to_owned()),
        }))
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // Who asks again and again leaves nothing behind that is still to be read.
        if let Some(reading) = &self.reading {
            reading.abort();
        }
    }
}

fn read(shared: &Shared, last: u64, at: u64, after: Option<After>) -> Portion {
    let portion = Books::at(&shared.dir).and_then(|books| match books {
        Some(books) => books.live(None, after, SNAPSHOT_PART),
        None => Ok((Vec::new(), None)),
    });
    let (accounts, more) = portion.map_err(|fault| fault.to_string())?;
    let occurrences = accounts.into_iter().map(Entry::of_account).collect();
    let stream = shared.journal();
    let part = Part { stream: &stream, last_sequence: last, at, is_last: more.is_none(), occurrences };
    Ok((frame::message("snapshot", &part), more))
}
