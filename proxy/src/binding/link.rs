//! One peer of a session: its connection, what came of it and what is to be written to it.

use std::io;
use std::task::{Context, Poll};

use mcpl_codec::{Frame, Framer};

use crate::outbox::Outbox;
use crate::transport::ws::close::Close;
use crate::transport::{Connection, Facts, Reader, Writer};

/// Bytes that wait for one peer before the other is no longer read (contract 3.6); a single message may be
/// larger.
pub const OUTBOX_BYTES: usize = 256 << 10;

/// Where one direction of a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It may carry more.
    Open,
    /// It was closed in good order: half a close.
    Closed,
    /// The peer is gone.
    Broken,
}

/// A peer.
#[derive(Debug)]
pub(super) struct Link {
    reader: Reader,
    writer: Writer,
    framer: Framer,
    pub(super) outbox: Outbox,
    pub(super) input: Way,
    pub(super) output: Way,
    /// The end of input was told.
    ended: bool,
    /// Bytes of what we ourselves had to say to this peer, since it last had read everything.
    pub(super) told_bytes: usize,
}

/// What reading brought.
pub(super) enum Came {
    /// A frame.
    Frame(Frame),
    /// Nothing now.
    Nothing,
    /// The end of input; it is not told again.
    End,
}

impl Link {
    pub(super) fn new(connection: Connection, framer: Framer, mut outbox: Outbox) -> Self {
        outbox.keep_breaks(connection.writer.is_messages());
        Self {
            reader: connection.reader,
            writer: connection.writer,
            framer,
            outbox,
            input: Way::Open,
            output: Way::Open,
            ended: false,
            told_bytes: 0,
        }
    }

    /// A peer that was not reached yet. What is queued for it is kept as it came: it may speak WebSocket.
    pub(super) fn unreached(limit: usize) -> Self {
        let nobody = Connection {
            reader: Reader::ended(),
            writer: Writer::closed(),
            peer: String::new(),
            facts: Facts::default(),
        };
        let mut link = Self::new(nobody, Framer::new(limit), Outbox::new(OUTBOX_BYTES));
        link.outbox.keep_breaks(true);
        link
    }

    /// How the peer ended, as the other one is to be told it.
    pub(super) fn ending(&self) -> Close {
        if let Some(close) = self.writer.heard() {
            return close;
        }
        if self.input == Way::Broken || self.output == Way::Broken {
            return Close::new(Close::ERROR, "the connection behind was lost");
        }
        Close::new(Close::NORMAL, "")
    }

    /// How the connection is to be closed, where that can be told; what is said first counts.
    pub(super) fn part(&self, close: Close) {
        self.writer.part(close);
    }

    /// Its end of input is its end: it closes, and does not merely say nothing more.
    pub(super) fn ends_whole(&self) -> bool {
        self.writer.is_messages()
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.framer.set_limit(limit);
    }

    /// The next frame; where none is at hand, and `fresh` says so, something is read first.
    ///
    /// One read a turn, whose frames are written on before the next: a pipeline in which both peers work,
    /// where many reads at a time would make them wait for each other.
    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>, fresh: bool) -> Came {
        if let Some(frame) = self.framer.next() {
            return Came::Frame(frame);
        }
        if !fresh {
            return Came::Nothing;
        }
        while self.input == Way::Open {
            match self.reader.poll_read(cx, &mut self.framer) {
                Poll::Pending => return Came::Nothing,
                Poll::Ready(Ok(0)) => {
                    self.input = Way::Closed;
                    if let Some(frame) = self.framer.finish() {
                        return Came::Frame(frame);
                    }
                }
                Poll::Ready(Ok(_)) => {
                    if let Some(frame) = self.framer.next() {
                        return Came::Frame(frame);
                    }
                }
                Poll::Ready(Err(error)) => {
                    self.input = Way::Broken;
                    // A peer that breaks the rules of its transport is told so.
                    if error.kind() != io::ErrorKind::InvalidData {
                        self.output = Way::Broken;
                    }
                }
            }
        }
        if std::mem::replace(&mut self.ended, true) { Came::Nothing } else { Came::End }
    }

    /// Writes what may leave; true if something did.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>) -> bool {
        let due = self.output == Way::Open && !self.outbox.is_empty();
        if !due && (self.output == Way::Broken || !self.writer.has_own_words()) {
            return false;
        }
        match self.writer.poll_write(cx, &mut self.outbox) {
            Poll::Ready(Ok(progress)) => {
                if progress.empty {
                    self.told_bytes = 0;
                }
                progress.written > 0
            }
            Poll::Ready(Err(_)) => {
                self.output = Way::Broken;
                true
            }
            Poll::Pending => false,
        }
    }

    /// It leaves so much unread of what we told it that it must be told no more.
    pub(super) fn is_deaf(&self) -> bool {
        self.outbox.is_full_of_untagged() && self.told_bytes >= OUTBOX_BYTES
    }

    /// Tells the peer that nothing more comes.
    pub(super) fn close_output(&mut self) {
        if self.output == Way::Open {
            self.output = Way::Closed;
            self.writer.close_write();
        }
    }

    /// The last of it: writes what is left, then closes.
    pub(super) async fn retire(mut self) {
        if self.output == Way::Broken {
            return;
        }
        // A peer that is gone is told nothing more.
        let _ = self.writer.write(&mut self.outbox).await;
        let heard = self.writer.heard().is_some();
        self.writer.finish().await;
        if !heard {
            self.reader.finish().await;
        }
    }
}
