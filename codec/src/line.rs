//! One JSON text ready for a line transport.

use std::fmt;

use bytes::Bytes;
use memchr::memchr2;

use crate::scan;

/// One JSON text and the `\n` that ends it on the wire (contract 3.2). Cheap to clone: clones share memory.
///
/// The text of a WebSocket message may have line breaks of its own; for a line transport they must go
/// ([`Line::flat`]).
#[derive(Clone, PartialEq, Eq)]
pub struct Line {
    wire: Bytes,
    breaks: bool,
}

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
        flatten(&mut text);
        text.push(b'\n');
        Self { wire: Bytes::from(text), breaks: false }
    }

    /// Takes bytes that end in their only `\n`.
    pub(crate) fn from_wire(wire: Bytes) -> Self {
        debug_assert_eq!(wire.last(), Some(&b'\n'));
        Self { wire, breaks: false }
    }

    /// Takes bytes that end in `\n`, with line breaks before it or without.
    pub(crate) fn from_message(wire: Bytes) -> Self {
        debug_assert_eq!(wire.last(), Some(&b'\n'));
        let breaks = memchr2(b'\n', b'\r', wire.strip_suffix(b"\n").unwrap_or(&wire)).is_some();
        Self { wire, breaks }
    }

    /// The text has line breaks of its own: it is one WebSocket message, and no line.
    pub fn has_breaks(&self) -> bool {
        self.breaks
    }

    /// The same for a line transport: each byte of a line break in the text is a space. JSON has them only
    /// between its tokens (contract 3.2).
    #[must_use]
    pub fn flat(&self) -> Self {
        if self.breaks { Self::from_text(self.text()) } else { self.clone() }
    }

    /// The same in memory of its own.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self { wire: Bytes::copy_from_slice(&self.wire), breaks: self.breaks }
    }

    /// The JSON text, without line end.
    pub fn text(&self) -> &[u8] {
        self.wire.strip_suffix(b"\n").unwrap_or(&self.wire)
    }

    /// The text with its line end: what goes on the wire.
    pub fn wire(&self) -> &Bytes {
        &self.wire
    }

    /// `sub`, a piece of [`Line::text`], as shared memory (a copy if it is not a piece of this line).
    pub fn slice(&self, sub: &[u8]) -> Bytes {
        match scan::range_of(&self.wire, sub) {
            Some(range) => self.wire.slice(range),
            None => Bytes::copy_from_slice(sub),
        }
    }
}

/// Makes a space of each byte of a line break.
fn flatten(text: &mut [u8]) {
    let mut pos = 0;
    while let Some(found) = text.get(pos..).and_then(|rest| memchr2(b'\n', b'\r', rest)) {
        pos += found;
        if let Some(byte) = text.get_mut(pos) {
            *byte = b' ';
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
    fn a_message_keeps_its_line_breaks_until_it_is_made_a_line() {
        for (text, flat) in [("{\n\"a\":\r\n1}", "{ \"a\":  1}"), ("[1\r]", "[1 ]"), ("[1]\n", "[1] ")] {
            let message = Line::from_message(format!("{text}\n").into());
            assert!(message.has_breaks());
            assert_eq!(message.text(), text.as_bytes());
            assert_eq!(message.flat(), Line::from_text(text.as_bytes()));
            assert_eq!(message.flat().text(), flat.as_bytes());
        }
        let line = Line::from_message("[1]\n".into());
        assert!(!line.has_breaks());
        assert_eq!(line.flat().wire().as_ptr(), line.wire().as_ptr());
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
