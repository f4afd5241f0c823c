//! Whole lines out of a stream.

use std::io::{self, BufRead, Read};

const BUFFER: usize = 64 * 1024;

/// Whole lines, with their ends, of what was read.
#[derive(Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Lines {
    /// Reads once. False at the end of input.
    pub(super) fn fill(&mut self, reader: &mut impl Read) -> io::Result<bool> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.bytes.len() < self.end + BUFFER {
            self.bytes.resize(self.end + BUFFER, 0);
        }
        let count = reader.read(&mut self.bytes[self.end..])?;
        self.end += count;
        Ok(count > 0)
    }

    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let rest = &self.bytes[self.start..self.end];
        // The library's fast search for a byte.
        let length = (&mut &*rest).skip_until(b'\n').ok()?;
        if !rest[..length].ends_with(b"\n") {
            return None;
        }
        self.start += length;
        Some(&self.bytes[self.start - length..self.start])
    }
}

/// Reads until there is a line.
pub(super) fn receive<'a>(lines: &'a mut Lines, reader: &mut impl Read) -> io::Result<&'a [u8]> {
    loop {
        // Asked twice: the borrow checker does not let a found line out of the loop otherwise.
        if lines.bytes[lines.start..lines.end].contains(&b'\n') {
            return lines.next().ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
        if !lines.fill(reader)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
