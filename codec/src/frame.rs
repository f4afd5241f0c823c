//! Lines out of a stream of bytes (contract 3.2).

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
}

impl Framer {
    /// A framer at the start of a stream; a line may have `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buf: BytesMut::new(), limit, scanned: 0, fresh: true, discarding: false }
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
            let found = self.buf.get(self.scanned..).and_then(|rest| memchr(b'\n', rest));
            let Some(end) = found.map(|found| self.scanned + found) else {
                return self.unfinished();
            };
            let line = self.buf.split_to(end + 1);
            self.scanned = 0;
            let frame = if std::mem::take(&mut self.discarding) { None } else { self.frame(line) };
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
        if std::mem::take(&mut self.discarding) {
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

    /// No line end in the buffer: whether the line is too long already.
    fn unfinished(&mut self) -> Option<Frame> {
        self.scanned = self.buf.len();
        if self.discarding {
            self.buf.clear();
            self.scanned = 0;
            return None;
        }
        // A `\r` at the end may belong to the line end, and the head is given whole: both are only known
        // a byte later. Without that the frame would depend on how the bytes came.
        if self.buf.len() <= self.limit.max(HEAD_BYTES).saturating_add(1) {
            return None;
        }
        let head = Bytes::copy_from_slice(self.buf.get(..HEAD_BYTES).unwrap_or_default());
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

    /// Moves what is in the buffer to one of ordinary size, so that a large line's memory can go.
    fn shrink(&mut self) {
        let mut small = BytesMut::with_capacity(READ_BYTES.max(self.buf.len() + SPARE_BYTES));
        small.extend_from_slice(&self.buf);
        self.buf = small;
    }
}

#[cfg(test)]
mod tests;
