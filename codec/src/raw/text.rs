//! The text of one JSON string, between its quotes.

use std::borrow::Cow;

use memchr::memchr;

/// The inside of a JSON string as spelled, and whether it has escapes at all.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) inner: &'a [u8],
    pub(crate) escaped: bool,
}

/// One piece of a string, decoded.
pub(crate) enum Piece<'a> {
    /// Text that stands for itself.
    Plain(&'a [u8]),
    /// What an escape (or a pair of surrogate escapes) stands for.
    Char(char),
    /// A surrogate escape without its partner: legal JSON, no character.
    Lone(u16),
}

impl<'a> Text<'a> {
    /// The decoded string, unpaired surrogates in the three bytes that WTF-8 gives them: equal exactly if
    /// the strings are equal.
    pub(crate) fn bytes(self) -> Cow<'a, [u8]> {
        if !self.escaped {
            return Cow::Borrowed(self.inner);
        }
        let mut decoded = Vec::with_capacity(self.inner.len());
        self.append_to(&mut decoded);
        Cow::Owned(decoded)
    }

    /// As [`Text::bytes`], appended; true if every character could be decoded.
    pub(crate) fn append_to(self, decoded: &mut Vec<u8>) -> bool {
        let mut readable = true;
        for piece in self.pieces() {
            match piece {
                Piece::Plain(text) => decoded.extend_from_slice(text),
                Piece::Char(char) => decoded.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
                Piece::Lone(unit) => {
                    readable = false;
                    let [low, mid] = [0x80 | (unit & 0x3f) as u8, 0x80 | (unit >> 6 & 0x3f) as u8];
                    decoded.extend_from_slice(&[0xe0 | (unit >> 12) as u8, mid, low]);
                }
            }
        }
        readable
    }

    /// The decoded string; `None` if it has an unpaired surrogate.
    pub(crate) fn str(self) -> Option<Cow<'a, str>> {
        if !self.escaped {
            return std::str::from_utf8(self.inner).ok().map(Cow::Borrowed);
        }
        let mut decoded = Vec::with_capacity(self.inner.len());
        if !self.append_to(&mut decoded) {
            return None;
        }
        String::from_utf8(decoded).ok().map(Cow::Owned)
    }

    pub(crate) fn pieces(self) -> Pieces<'a> {
        Pieces { rest: self.inner }
    }
}

/// Iterator over the pieces of a string.
pub(crate) struct Pieces<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        match memchr(b'\\', self.rest) {
            Some(0) => {}
            found => {
                let (plain, rest) = self.rest.split_at(found.unwrap_or(self.rest.len()));
                self.rest = rest;
                return (!plain.is_empty()).then_some(Piece::Plain(plain));
            }
        }
        let (&letter, rest) = self.rest.get(1..)?.split_first()?;
        self.rest = rest;
        let char = match letter {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unit(),
            other => char::from(other),
        };
        Some(Piece::Char(char))
    }
}

impl<'a> Pieces<'a> {
    /// What follows `\u`: four hexadecimal digits, and the other half of a pair if there is one.
    fn unit(&mut self) -> Option<Piece<'a>> {
        let (first, rest) = four_digits(self.rest)?;
        self.rest = rest;
        if let Some(char) = char::from_u32(u32::from(first)) {
            return Some(Piece::Char(char));
        }
        if first < 0xdc00
            && let Some((second, rest)) = rest.strip_prefix(b"\\u").and_then(four_digits)
            && (0xdc00..0xe000).contains(&second)
        {
            let joined = 0x1_0000 + (u32::from(first - 0xd800) << 10) + u32::from(second - 0xdc00);
            self.rest = rest;
            return char::from_u32(joined).map(Piece::Char);
        }
        Some(Piece::Lone(first))
    }
}

fn four_digits(text: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = text.split_first_chunk::<4>()?;
    let mut unit = 0;
    for &digit in digits {
        unit = unit << 4 | char::from(digit).to_digit(16)? as u16;
    }
    Some((unit, rest))
}
