//! Lines out of a stream of bytes, and messages whose ends the transport knows (contract 3.2).

use std::collections::VecDeque;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::memchr;

use crate::line::Line;
use crate::scan;

/// How much of an over-long line is kept, to find its id in: 64 KiB (contract 3.2).
pub const HEAD_BYTES: usize = 64 * 1024;

/// What one read is offered, and what the buffer goes back to after a large line.
const READ_BYTES: usize = 64 * 1024;
/// The least that a read is offered.
const SPARE_BYTES: usize = 16 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a stream is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A line within the limit, not blank. Its memory is the read buffer's: nothing was copied.
    Line(Line),
    /// The first [`HEAD_BYTES`] of a line over the limit. The rest is thrown away as it comes.
    TooLong(Bytes),
}

/// Cuts a stream of bytes into lines.
///
/// The transport reads into [`Framer::buf`], then drains [`Framer::next`]; at the end of the stream it
/// drains [`Framer::finish`]. The frames do not depend on how the bytes were cut up. A line may have `limit`
/// bytes, line end (`\n` or `\r\n`) and BOM not counted; blank lines and a BOM at the start of the stream
/// are dropped. Never more is buffered than the limit (or [`HEAD_BYTES`], if that is more) and one read.
#[derive(Debug)]
pub struct Framer {
    buf: BytesMut,
    limit: usize,
    /// Bytes of `buf` known to have no line end.
    scanned: usize,
    /// A BOM may still come.
    fresh: bool,
    /// The line being read is over the limit and its frame was given: the rest of it is thrown away.
    discarding: bool,
    /// Where the transport knows where a message ends.
    ends: Option<Ends>,
}

/// Messages that are whole in the buffer, in order.
#[derive(Debug, Default)]
struct Ends {
    /// The length of each, with the `\n` behind it.
    lengths: VecDeque<usize>,
    /// Their sum.
    total: usize,
}

impl Framer {
    /// A framer at the start of a stream; a line may have `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buf: BytesMut::new(), limit, scanned: 0, fresh: true, discarding: false, ends: None }
    }

    /// A framer of a transport with messages (WebSocket): what is appended to [`Framer::buf`] is text of a
    /// message until [`Framer::end_message`]. A message may have `limit` bytes, a BOM at its start not counted,
    /// and line breaks inside; blank ones are dropped, and so is one that the stream ends in.
    pub fn messages(limit: usize) -> Self {
        Self { fresh: false, ends: Some(Ends::default()), ..Self::new(limit) }
    }

    /// The message that was appended is whole. Does nothing in a framer of lines.
    pub fn end_message(&mut self) {
        if let Some(ends) = &mut self.ends {
            self.buf.put_u8(b'\n');
            let length = self.buf.len() - ends.total;
            ends.lengths.push_back(length);
            ends.total += length;
        }
    }

    /// From now on a line may have `limit` bytes.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Where to append what was read, with room for 16 KiB at least.
    pub fn buf(&mut self) -> &mut BytesMut {
        let spare = self.buf.capacity() - self.buf.len();
        if self.buf.capacity() > 4 * READ_BYTES && self.buf.len() < self.buf.capacity() / 8 {
            self.shrink();
        } else if spare < SPARE_BYTES {
            self.buf.reserve(READ_BYTES);
        }
        &mut self.buf
    }

    /// The next frame, `None` until more was read.
    #[expect(clippy::should_implement_trait, reason = "it is no iterator: `None` means not yet")]
    pub fn next(&mut self) -> Option<Frame> {
        if self.fresh && !self.past_bom() {
            return None;
        }
        loop {
            let Some(end) = self.end() else {
                return self.unfinished();
            };
            let line = self.buf.split_to(end + 1);
            self.scanned = 0;
            let discarded = std::mem::take(&mut self.discarding);
            let frame = match &self.ends {
                _ if discarded => None,
                None => self.frame(line),
                Some(_) => self.message(line),
            };
            if end > READ_BYTES && self.buf.len() <= end {
                self.shrink();
            }
            if frame.is_some() {
                return frame;
            }
        }
    }

    /// What is left at the end of the stream: the frames not taken yet, then a last line without line end.
    /// `None` when there is nothing more.
    pub fn finish(&mut self) -> Option<Frame> {
        if let Some(frame) = self.next() {
            return Some(frame);
        }
        self.fresh = false;
        if self.buf.is_empty() {
            return None;
        }
        let mut line = std::mem::take(&mut self.buf);
        self.scanned = 0;
        // Of a message that is not whole nothing is known but that its peer is gone.
        if std::mem::take(&mut self.discarding) || self.ends.is_some() {
            return None;
        }
        line.put_u8(b'\n');
        self.frame(line)
    }

    /// Drops a BOM; false while that cannot be told yet.
    fn past_bom(&mut self) -> bool {
        if self.buf.starts_with(BOM) {
            drop(self.buf.split_to(BOM.len()));
        } else if BOM.starts_with(&self.buf) {
            return false;
        }
        self.fresh = false;
        true
    }

    /// Where the `\n` is that ends the next line or message.
    fn end(&mut self) -> Option<usize> {
        if let Some(ends) = &mut self.ends {
            let length = ends.lengths.pop_front()?;
            ends.total -= length;
            return Some(length - 1);
        }
        let found = memchr(b'\n', self.buf.get(self.scanned..)?)?;
        Some(self.scanned + found)
    }

    /// No line end in the buffer: whether the line is too long already.
    fn unfinished(&mut self) -> Option<Frame> {
        self.scanned = self.buf.len();
        if self.discarding {
            self.buf.clear();
            self.scanned = 0;
            return None;
        }
        // A `\r` at the end may belong to the line end, a BOM does not count, and the head is given whole.
        // Without that the frame would depend on how the bytes came.
        if self.buf.len() <= self.limit.max(HEAD_BYTES).saturating_add(BOM.len()) {
            return None;
        }
        let bom = if self.ends.is_some() && self.buf.starts_with(BOM) { BOM.len() } else { 0 };
        let head = Bytes::copy_from_slice(self.buf.get(bom..bom + HEAD_BYTES).unwrap_or_default());
        self.buf.clear();
        self.scanned = 0;
        self.shrink();
        self.discarding = true;
        Some(Frame::TooLong(head))
    }

    /// The frame of a line that ends in its `\n`; `None` if it is blank.
    fn frame(&self, mut line: BytesMut) -> Option<Frame> {
        if let Some([cr @ b'\r', _]) = line.last_chunk_mut::<2>() {
            *cr = b'\n';
            line.truncate(line.len() - 1);
        }
        let len = line.len() - 1;
        if len > self.limit {
            line.truncate(len.min(HEAD_BYTES));
            return Some(Frame::TooLong(Bytes::copy_from_slice(&line)));
        }
        if scan::space(&line, 0) == line.len() {
            return None;
        }
        Some(Frame::Line(Line::from_wire(line.freeze())))
    }

    /// The frame of a message with a `\n` behind it; `None` if it is blank.
    fn message(&self, mut message: BytesMut) -> Option<Frame> {
        if message.starts_with(BOM) {
            drop(message.split_to(BOM.len()));
        }
        let len = message.len() - 1;
        if len > self.limit {
            return Some(Frame::TooLong(Bytes::copy_from_slice(message.get(..len.min(HEAD_BYTES))?)));
        }
        if scan::space(&message, 0) == message.len() {
            return None;
        }
        Some(Frame::Line(Line::from_message(message.freeze())))
    }

    /// Moves what is in the buffer to one of ordinary size, so that a large line's memory can go.
    fn shrink(&mut self) {
        let mut small = BytesMut::with_capacity(READ_BYTES.max(self.buf.len() + SPARE_BYTES));
        small.extend_from_slice(&self.buf);
        self.buf = small;
    }
}

#[cfg(test)]
mod tests;
