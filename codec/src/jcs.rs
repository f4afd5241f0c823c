//! The size of a value in canonical JSON (RFC 8785), without building either (contract 8.7).

use crate::raw::{Piece, Text, Token, Tokens};

/// The most that canonical form makes of one byte: `1e20` is 21 digits.
const MOST_GROWTH: usize = 6;

/// The bytes of `raw` in JCS (RFC 8785). Repeated members are all counted.
///
/// `None` if JCS has no form for it: an unpaired surrogate, or a number beyond what a double holds.
pub fn size(raw: &[u8]) -> Option<usize> {
    let mut size = 0;
    // Whether the token before was one that a comma parts from what follows.
    let mut value_before = false;
    for token in Tokens::new(raw) {
        let (bytes, closing) = match token {
            Token::ObjectStart | Token::ArrayStart => (1, false),
            Token::ObjectEnd | Token::ArrayEnd => (1, true),
            Token::Name(text) => (string_size(text)? + 1, false),
            Token::String(text) => (string_size(text)?, false),
            Token::Scalar(text) => (scalar_size(text)?, false),
        };
        size += bytes + usize::from(value_before && !closing);
        value_before = closing || matches!(token, Token::String(_) | Token::Scalar(_));
    }
    Some(size)
}

/// Whether `raw` has more than `limit` bytes in JCS; what JCS has no form for is taken at its raw length.
///
/// Cheap for what is far under the limit: canonical form makes at most six bytes of one.
pub fn exceeds(raw: &[u8], limit: usize) -> bool {
    if raw.len().saturating_mul(MOST_GROWTH) <= limit {
        return false;
    }
    size(raw).unwrap_or(raw.len()) > limit
}

fn string_size(text: Text<'_>) -> Option<usize> {
    if !text.escaped {
        return Some(text.inner.len() + 2);
    }
    let mut size = 2;
    for piece in text.pieces() {
        size += match piece {
            Piece::Plain(text) => text.len(),
            Piece::Char('"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{c}' | '\r') => 2,
            Piece::Char('\0'..='\u{1f}') => 6,
            Piece::Char(char) => char.len_utf8(),
            Piece::Lone(_) => return None,
        };
    }
    Some(size)
}

fn scalar_size(text: &[u8]) -> Option<usize> {
    if let b"true" | b"false" | b"null" = text {
        return Some(text.len());
    }
    // A double holds 15 digits, and they are written as they are.
    if text.len() <= 15 && text.iter().all(u8::is_ascii_digit) {
        return Some(text.len());
    }
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    number.is_finite().then(|| ryu_js::Buffer::new().format_finite(number).len())
}

#[cfg(test)]
mod tests;
