//! Messages out of frames (contract 3.2).

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use mcpl_codec::frame::Framer;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, Sleep, sleep};

use super::Role;
use super::close::Close;
use super::controls::Controls;
use super::fault::Fault;
use super::frames::{Head, Op};
use super::mask::Mask;
use super::utf8::Utf8;
use crate::transport::SOCKET_READ_BYTES;

/// A peer that says nothing for this long, pongs included, is gone (contract 3.2).
pub const SILENCE: Duration = Duration::from_mins(1);
/// What is later than that was not waited for: nobody read.
const LATE: Duration = Duration::from_secs(5);

/// The reading half. Small frames are read together and copied out of what was read, the mask taken off; what
/// is left of a large one is read where it stays.
pub(in crate::transport) struct MessageReader {
    stream: Box<dyn AsyncRead + Send + Unpin>,
    ours: Role,
    /// Read, and not looked at.
    staged: BytesMut,
    frame: Option<Payload>,
    /// What the message is whose last frame has not come.
    message: Option<Op>,
    /// The control frame that is read.
    control: Vec<u8>,
    utf8: Utf8,
    controls: Controls,
    heard_at: Instant,
    silence: Pin<Box<Sleep>>,
    /// A binary message was ignored, and that was said.
    binary: bool,
    /// To be told once what came before it was taken.
    fault: Option<Fault>,
    over: bool,
}

/// The frame whose payload comes.
struct Payload {
    op: Op,
    is_final: bool,
    left: u64,
    mask: Option<Mask>,
}

/// What was found in what was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Nothing that is whole, or part of a message.
    Nothing,
    /// Something.
    Something,
    /// The peer closed.
    Close,
}

impl MessageReader {
    /// A reader of `stream`, of which `begun` was read already.
    pub(super) fn new(
        stream: impl AsyncRead + Send + Unpin + 'static,
        ours: Role,
        begun: &Bytes,
        controls: Controls,
    ) -> Self {
        Self {
            stream: Box::new(stream),
            ours,
            staged: BytesMut::from(&begun[..]),
            frame: None,
            message: None,
            control: Vec::new(),
            utf8: Utf8::default(),
            controls,
            heard_at: Instant::now(),
            silence: Box::pin(sleep(SILENCE)),
            binary: false,
            fault: None,
            over: false,
        }
    }

    /// Reads once and gives the framer what came. `Ok(0)`: the peer closed in good order.
    ///
    /// # Errors
    /// `InvalidData`: the peer broke the rules, which the writer tells it; else it is gone.
    pub(in crate::transport) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        framer: &mut Framer,
    ) -> Poll<io::Result<usize>> {
        if let Some(fault) = self.fault.take() {
            return Poll::Ready(Err(self.failed(fault)));
        }
        if self.over {
            return Poll::Ready(Ok(0));
        }
        loop {
            let before = self.staged.len();
            match self.take(framer) {
                Ok(Found::Nothing) => {}
                Ok(Found::Something) => return Poll::Ready(Ok((before - self.staged.len()).max(1))),
                Ok(Found::Close) => {
                    self.over = true;
                    return Poll::Ready(Ok(0));
                }
                // What came before it counts.
                Err(fault) if self.staged.len() < before => {
                    self.fault = Some(fault);
                    return Poll::Ready(Ok(1));
                }
                Err(fault) => return Poll::Ready(Err(self.failed(fault))),
            }
            if let Some(count) = ready!(self.poll_large(cx, framer))? {
                return Poll::Ready(Ok(count));
            }
            if self.staged.is_empty() {
                // All of it again, from its start.
                self.staged.clear();
            }
            self.staged.reserve(SOCKET_READ_BYTES);
            let most = SOCKET_READ_BYTES as u64;
            let read = pin!((&mut self.stream).take(most).read_buf(&mut self.staged)).poll(cx);
            ready!(self.came(cx, read))?;
        }
    }

    /// Reads what is left of a large message's frame into the framer; none if there is no such frame.
    fn poll_large(&mut self, cx: &mut Context<'_>, framer: &mut Framer) -> Poll<io::Result<Option<usize>>> {
        let Some(frame) = &mut self.frame else { return Poll::Ready(Ok(None)) };
        let is_text = !frame.op.is_control() && self.message == Some(Op::Text);
        if !is_text || frame.left <= SOCKET_READ_BYTES as u64 || !self.staged.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let buffer = framer.buf();
        let start = buffer.len();
        let most = (SOCKET_READ_BYTES.max(start) as u64).min(frame.left);
        let read = pin!((&mut self.stream).take(most).read_buf(buffer)).poll(cx);
        let count = ready!(self.came(cx, read))?;
        let buffer = framer.buf();
        let Some(text) = buffer.get_mut(start..) else { return Poll::Ready(Ok(Some(count))) };
        if let Some(frame) = &mut self.frame {
            frame.left -= count as u64;
            if let Some(mask) = &mut frame.mask {
                mask.apply(text);
            }
        }
        if !self.utf8.goes_on(text) {
            return Poll::Ready(Err(self.failed(Fault::Utf8)));
        }
        Poll::Ready(match self.end_frame(framer) {
            Ok(_) => Ok(Some(count)),
            Err(fault) => Err(self.failed(fault)),
        })
    }

    /// What a read brought: something, the end without a close frame, or nothing yet.
    fn came(&mut self, cx: &mut Context<'_>, read: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match read {
            Poll::Ready(Ok(0)) => {
                self.over = true;
                Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
            }
            Poll::Ready(Ok(count)) => {
                self.heard_at = Instant::now();
                Poll::Ready(Ok(count))
            }
            Poll::Ready(Err(error)) => {
                self.over = true;
                Poll::Ready(Err(error))
            }
            Poll::Pending => self.poll_silence(cx).map(|()| {
                tracing::warn!(
                    silent_s = SILENCE.as_secs(),
                    "a peer answers no ping: its connection is closed"
                );
                self.over = true;
                Err(io::ErrorKind::TimedOut.into())
            }),
        }
    }

    /// Ready: the peer was silent for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.silence.as_mut().poll(cx));
            let (due, now) = (self.silence.deadline(), Instant::now());
            if now >= due + LATE {
                self.heard_at = now;
            } else if self.heard_at + SILENCE <= now {
                return Poll::Ready(());
            }
            self.silence.as_mut().reset(self.heard_at + SILENCE);
        }
    }

    /// Takes the frames out of what was read.
    fn take(&mut self, framer: &mut Framer) -> Result<Found, Fault> {
        let mut found = Found::Nothing;
        loop {
            let Some(frame) = &mut self.frame else {
                let Some((head, length)) = Head::read(&self.staged, self.ours)? else { return Ok(found) };
                self.staged.advance(length);
                self.begin_frame(&head)?;
                match self.end_frame(framer)? {
                    Found::Nothing => {}
                    Found::Something => found = Found::Something,
                    Found::Close => return Ok(Found::Close),
                }
                continue;
            };
            let count = frame.left.min(self.staged.len() as u64) as usize;
            if count == 0 {
                return Ok(found);
            }
            found = Found::Something;
            frame.left -= count as u64;
            if frame.op.is_control() {
                let start = self.control.len();
                self.control.extend_from_slice(&self.staged[..count]);
                if let Some(mask) = &mut frame.mask {
                    mask.apply(&mut self.control[start..]);
                }
            } else if self.message == Some(Op::Text) {
                let buffer = framer.buf();
                let start = buffer.len();
                buffer.extend_from_slice(&self.staged[..count]);
                if let Some(mask) = &mut frame.mask {
                    mask.apply(&mut buffer[start..]);
                }
                if !self.utf8.goes_on(&buffer[start..]) {
                    return Err(Fault::Utf8);
                }
            }
            self.staged.advance(count);
            if self.end_frame(framer)? == Found::Close {
                return Ok(Found::Close);
            }
        }
    }

    fn begin_frame(&mut self, head: &Head) -> Result<(), Fault> {
        match head.op {
            Op::Text | Op::Binary if self.message.is_some() => return Err(Fault::Interrupted),
            Op::Text | Op::Binary => self.message = Some(head.op),
            Op::Continue if self.message.is_none() => return Err(Fault::Stray),
            Op::Continue => {}
            Op::Close | Op::Ping | Op::Pong => self.control.clear(),
        }
        let Head { op, is_final, length, mask } = *head;
        self.frame = Some(Payload { op, is_final, left: length, mask });
        Ok(())
    }

    /// Does what is due when nothing is left of a frame.
    fn end_frame(&mut self, framer: &mut Framer) -> Result<Found, Fault> {
        let Some(frame) = self.frame.take_if(|frame| frame.left == 0) else { return Ok(Found::Nothing) };
        match frame.op {
            Op::Ping => self.controls.pinged(&self.control),
            Op::Close => {
                self.controls.closed(Close::read(&self.control)?);
                return Ok(Found::Close);
            }
            Op::Continue | Op::Text | Op::Binary if frame.is_final => self.end_message(framer)?,
            Op::Pong | Op::Continue | Op::Text | Op::Binary => {}
        }
        Ok(Found::Something)
    }

    fn end_message(&mut self, framer: &mut Framer) -> Result<(), Fault> {
        if self.message.take() == Some(Op::Text) {
            if !self.utf8.ends() {
                return Err(Fault::Utf8);
            }
            framer.end_message();
            return Ok(());
        }
        if !std::mem::replace(&mut self.binary, true) {
            tracing::warn!("binary WebSocket messages are ignored: a JSON text is a text message");
        }
        Ok(())
    }

    fn failed(&mut self, fault: Fault) -> io::Error {
        tracing::warn!(why = %fault, "a peer broke the WebSocket protocol: its connection is closed");
        self.over = true;
        self.controls.failed(fault);
        io::Error::new(io::ErrorKind::InvalidData, fault.to_string())
    }

    /// Reads and throws away until the peer closes its end: what is closed with something unread is reset, and
    /// takes our last words along.
    pub(in crate::transport) async fn drain(&mut self) {
        loop {
            self.staged.clear();
            self.staged.reserve(SOCKET_READ_BYTES);
            if !matches!(self.stream.read_buf(&mut self.staged).await, Ok(1..)) {
                return;
            }
        }
    }
}
