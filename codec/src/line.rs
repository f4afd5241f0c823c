//! One JSON text ready for a line transport.

use std::fmt;

use bytes::Bytes;
use memchr::memchr2;

use crate::scan;

/// One JSON text and the `\n` that ends it on the wire (contract 3.2). Cheap to clone: clones share memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Line(Bytes);

impl Line {
    /// A line of a copy of `text`, which comes without line end. Line breaks between its tokens become
    /// spaces.
    pub fn from_text(text: &[u8]) -> Self {
        let mut wire = Vec::with_capacity(text.len() + 1);
        wire.extend_from_slice(text);
        Self::from_vec(wire)
    }

    /// A line of `text`, which comes without line end. Line breaks between its tokens become spaces.
    pub fn from_vec(mut text: Vec<u8>) -> Self {
        let mut pos = 0;
        while let Some(found) = text.get(pos..).and_then(|rest| memchr2(b'\n', b'\r', rest)) {
            pos += found;
            if let Some(byte) = text.get_mut(pos) {
                *byte = b' ';
            }
        }
        text.push(b'\n');
        Self(Bytes::from(text))
    }

    /// Takes bytes that end in their only `\n`.
    pub(crate) fn from_wire(wire: Bytes) -> Self {
        debug_assert_eq!(wire.last(), Some(&b'\n'));
        Self(wire)
    }

    /// The JSON text, without line end.
    pub fn text(&self) -> &[u8] {
        self.0.strip_suffix(b"\n").unwrap_or(&self.0)
    }

    /// The text with its line end: what goes on the wire.
    pub fn wire(&self) -> &Bytes {
        &self.0
    }

    /// `sub`, a piece of [`Line::text`], as shared memory (a copy if it is not a piece of this line).
    pub fn slice(&self, sub: &[u8]) -> Bytes {
        match scan::range_of(&self.0, sub) {
            Some(range) => self.0.slice(range),
            None => Bytes::copy_from_slice(sub),
        }
    }
}

impl fmt::Debug for Line {
    /// The length only: content belongs in no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line({} bytes)", self.text().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_in_its_only_line_break() {
        let line = Line::from_text(b"{\r\n \"a\":\n1}");
        assert_eq!(line.text(), b"{   \"a\": 1}");
        assert_eq!(&line.wire()[..], b"{   \"a\": 1}\n");
    }

    #[test]
    fn a_piece_shares_memory_and_a_stranger_is_copied() {
        let line = Line::from_text(b"{\"a\":1}");
        let piece = line.slice(&line.text()[5..6]);
        assert_eq!(piece.as_ptr(), line.text()[5..].as_ptr());
        assert_eq!(&line.slice(b"other")[..], b"other");
    }

    #[test]
    fn debug_prints_no_content() {
        assert_eq!(format!("{:?}", Line::from_text(b"[\"secret\"]")), "Line(10 bytes)");
    }
}
