//! What is open, as the journal has it: for a reader that knows nothing, or too little.

use std::sync::Arc;
use std::task::{Context, Poll};

use mcpl_codec::Line;
use serde::Serialize;
use tokio::sync::mpsc;

use super::entry::Entry;
use super::frame;
use super::hub::Shared;
use crate::journal::account::Books;

/// Occurrences in one part at most. A part of them is read while the one before it is sent.
pub(super) const SNAPSHOT_PART: usize = 256;

/// A snapshot that is being made.
#[derive(Debug)]
pub(super) struct Snapshot {
    parts: mpsc::Receiver<Result<Line, String>>,
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
        let (to, parts) = mpsc::channel(1);
        let shared = Arc::clone(shared);
        // Reading waits for the disk.
        drop(tokio::task::spawn_blocking(move || read(&shared, last, &to)));
        Self { parts, last }
    }

    /// The next part; none: that was all, or (`Err`) the journal cannot be read.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Line, String>>> {
        self.parts.poll_recv(cx)
    }
}

fn read(shared: &Shared, last: u64, to: &mpsc::Sender<Result<Line, String>>) {
    let stream = shared.journal();
    let (mut after, mut part) = (None, 0);
    loop {
        let portion = Books::at(&shared.dir).and_then(|books| match books {
            Some(books) => books.live(None, after.take(), SNAPSHOT_PART),
            None => Ok((Vec::new(), None)),
        });
        let line = portion.map_err(|fault| fault.to_string()).map(|(accounts, more)| {
            let occurrences = accounts.into_iter().map(Entry::of_account).collect();
            after = more;
            let is_last = after.is_none();
            frame::message(
                "snapshot",
                &Part { stream: &stream, last_sequence: last, at: part, is_last, occurrences },
            )
        });
        let failed = line.is_err();
        // Who asked may be gone.
        if to.blocking_send(line).is_err() || failed || after.is_none() {
            return;
        }
        part += 1;
    }
}
