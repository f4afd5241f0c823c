//! How far one reader has been told the observations.

use std::task::{Context, Poll};

use mcpl_codec::Line;

use super::batch::Batches;
use super::frame::{self, Reason};
use super::snapshot::Snapshot;
use super::thread::Board;

/// A reader's subscription to the observations.
#[derive(Debug)]
pub(super) struct Subscription {
    /// The last number that was sent.
    cursor: u64,
    /// What is sent up to this number was there before, for this reason.
    until: u64,
    reason: Reason,
    /// The reader waits to be told that it knows what there was.
    greeting: bool,
    snapshot: Option<Snapshot>,
}

/// The next thing to send.
pub(super) enum Next {
    /// This.
    Line(Line),
    /// Nothing for now.
    Nothing,
    /// There cannot be anything: the subscription is over. What is said of it.
    Over(Line),
}

impl Subscription {
    /// Goes on after a number.
    pub(super) fn after(cursor: u64, board: &Board) -> Self {
        let until = board.tip();
        Self { cursor, until, reason: Reason::Replay, greeting: true, snapshot: None }
    }

    /// Begins with a snapshot.
    pub(super) fn anew(tail: u64, board: &Board) -> Self {
        let snapshot = Some(Snapshot::begin(board.shared(), tail));
        Self { cursor: 0, until: 0, reason: Reason::SnapshotDelta, greeting: true, snapshot }
    }

    /// What to send next. Of a snapshot that is being made it wakes.
    pub(super) fn next(&mut self, cx: &mut Context<'_>, board: &Board) -> Next {
        if let Some(snapshot) = &mut self.snapshot {
            match snapshot.poll(cx) {
                Poll::Pending => return Next::Nothing,
                Poll::Ready(Some(Ok(part))) => return Next::Line(part),
                Poll::Ready(Some(Err(why))) => {
                    let hint = "see the log; subscribe again when the journal can be read";
                    let stream = board.shared().journal();
                    let error = format!("there is no snapshot: {why}");
                    return Next::Over(frame::error(Some(&stream), &error, hint));
                }
                Poll::Ready(None) => {
                    (self.cursor, self.until) = (snapshot.last, board.tip());
                    (self.reason, self.greeting) = (Reason::SnapshotDelta, true);
                    self.snapshot = None;
                }
            }
        }
        let tip = board.tip();
        let (until, reason) =
            if self.cursor < self.until { (self.until, self.reason) } else { (tip, Reason::Live) };
        if self.cursor >= tip && !self.greeting {
            return Next::Nothing;
        }
        let reason = if self.cursor >= tip { self.reason } else { reason };
        let end = Batches::end(self.cursor, until);
        let Ok((line, last)) = board.batch(reason, self.cursor, end) else {
            // It is too far behind.
            *self = Self::anew(0, board);
            return self.next(cx, board);
        };
        self.cursor = last;
        self.greeting = false;
        Next::Line(line)
    }
}
