//! Messages into frames (contract 3.2).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::time::{Sleep, sleep};

use super::Role;
use super::controls::Controls;
use super::frames::{self, Op};
use super::mask::Mask;
use crate::outbox::Outbox;
use crate::transport::Progress;

/// How often the peer is asked whether it is there (contract 3.2).
pub const PULSE: Duration = Duration::from_secs(30);
/// Frames are put together up to about this many bytes, which leave in one system call.
const STAGE_BYTES: usize = 64 * 1024;

/// The writing half. What it has taken from a queue counts as handed over, as it does when the kernel has it.
pub(in crate::transport) struct MessageWriter {
    stream: Box<dyn AsyncWrite + Send + Unpin>,
    ours: Role,
    /// Frames, and how much of them is written.
    staged: Vec<u8>,
    written: usize,
    /// The message whose frame is begun: the rest of it is the front of the queue.
    begun: Option<Begun>,
    controls: Controls,
    pulse: Pin<Box<Sleep>>,
    /// Something was written and not flushed.
    unflushed: bool,
    ending: Ending,
}

/// A frame whose head is staged.
struct Begun {
    /// Over what is still to come.
    mask: Option<Mask>,
}

/// How far the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// There is none.
    No,
    /// A close frame is due.
    Asked,
    /// It is on its way.
    Said,
    /// It is out, and nothing can be written any more.
    Shut,
}

impl MessageWriter {
    pub(super) fn new(
        stream: impl AsyncWrite + Send + Unpin + 'static,
        ours: Role,
        controls: Controls,
    ) -> Self {
        Self {
            stream: Box::new(stream),
            ours,
            staged: Vec::new(),
            written: 0,
            begun: None,
            controls,
            pulse: Box::pin(sleep(PULSE)),
            unflushed: false,
            ending: Ending::No,
        }
    }

    /// Writes everything that may leave: messages, and what is due between them.
    pub(in crate::transport) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        outbox: &mut Outbox,
    ) -> Poll<io::Result<Progress>> {
        if self.ending == Ending::Shut {
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            return Poll::Ready(if outbox.is_empty() {
                Ok(Progress { written: 0, empty: true })
            } else {
                Err(gone())
            });
        }
        let mut taken = 0;
        loop {
            if self.written == self.staged.len() {
                self.staged.clear();
                self.written = 0;
                taken += self.stage(cx, outbox);
                if self.staged.is_empty() {
                    break;
                }
            }
            let rest = &self.staged[self.written..];
            match ready!(Pin::new(&mut self.stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
            self.unflushed = true;
        }
        if self.unflushed {
            ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            self.unflushed = false;
        }
        if self.ending == Ending::Said {
            // It fails when the peer is gone, which is what was wanted.
            let _ = ready!(Pin::new(&mut self.stream).poll_shutdown(cx));
            self.ending = Ending::Shut;
        }
        Poll::Ready(Ok(Progress { written: taken, empty: outbox.is_empty() }))
    }

    /// Puts frames together; how many bytes of the queue they took.
    fn stage(&mut self, cx: &mut Context<'_>, outbox: &mut Outbox) -> usize {
        let mut taken = 0;
        if self.ending == Ending::Said {
            return taken;
        }
        loop {
            if self.begun.is_none() {
                self.stage_controls(cx);
                if self.ending == Ending::Asked || self.staged.len() >= STAGE_BYTES {
                    break;
                }
            }
            let Some(rest) = outbox.front() else { break };
            let (staged, ours) = (&mut self.staged, self.ours);
            let begun = self.begun.get_or_insert_with(|| {
                let mask = frames::begin(staged, Op::Text, rest.len() - 1, ours);
                Begun { mask }
            });
            let start = self.staged.len();
            let room = STAGE_BYTES.saturating_sub(start);
            // The line end goes with the last byte: it is no part of the message.
            let count = if rest.len() - 1 <= room { rest.len() } else { room };
            self.staged.extend_from_slice(&rest[..count.min(rest.len() - 1)]);
            if let Some(mask) = &mut begun.mask {
                mask.apply(&mut self.staged[start..]);
            }
            let is_whole = count == rest.len();
            outbox.wrote(count);
            taken += count;
            if !is_whole {
                break;
            }
            self.begun = None;
        }
        if self.ending == Ending::Asked && (self.begun.is_none() || outbox.is_empty()) {
            // In the middle of a message nothing can be said any more.
            if self.begun.is_none() {
                let close = self.controls.last_word();
                frames::control(&mut self.staged, Op::Close, &close.body(), self.ours);
            }
            self.ending = Ending::Said;
        }
        taken
    }

    /// What is due between two messages.
    fn stage_controls(&mut self, cx: &mut Context<'_>) {
        if let Some(payload) = self.controls.take_ping() {
            frames::control(&mut self.staged, Op::Pong, &payload, self.ours);
        }
        if self.pulse.as_mut().poll(cx).is_ready() {
            let next = tokio::time::Instant::now() + PULSE;
            self.pulse.as_mut().reset(next);
            // Polled once so that it wakes.
            let _ = self.pulse.as_mut().poll(cx);
            frames::control(&mut self.staged, Op::Ping, b"", self.ours);
        }
    }

    /// Nothing comes after what is queued but a close frame. It leaves with the next writes.
    pub(in crate::transport) fn close(&mut self) {
        if self.ending == Ending::No {
            self.ending = Ending::Asked;
        }
    }

    /// The close frame is out.
    pub(in crate::transport) fn is_shut(&self) -> bool {
        self.ending == Ending::Shut
    }
}
