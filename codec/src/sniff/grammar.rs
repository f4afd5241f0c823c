//! The grammar of JSON (RFC 8259), iterative.

use super::Noise;
use crate::raw::{Name, Text};
use crate::scan;

type Checked<T> = Result<T, Noise>;

const fn noise<T>(offset: usize, why: &'static str) -> Checked<T> {
    Err(Noise { offset, why })
}

/// Which of the open containers are objects: one bit a level, the innermost lowest.
struct Nesting {
    depth: usize,
    bits: u64,
    /// The words below `bits`, 64 levels each; empty up to a depth of 64.
    outer: Vec<u64>,
}

impl Nesting {
    #[inline]
    fn open(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.depth += 1;
    }

    #[inline]
    fn close(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }

    #[inline]
    const fn in_object(&self) -> bool {
        self.bits & 1 == 1
    }
}

/// Checks that `text` from `start` (the bracket that opens it) is one JSON text and whitespace; gives every
/// member of the outermost object to `member`. Returns the end of the JSON text.
#[inline]
pub(super) fn check<'a>(
    text: &'a [u8],
    start: usize,
    mut member: impl FnMut(Name<'a>, &'a [u8]),
) -> Checked<usize> {
    let mut nesting = Nesting { depth: 0, bits: 0, outer: Vec::new() };
    let mut pos = start;
    // The member of the outermost object that is being read.
    let mut name = Text { inner: &[], escaped: false };
    let mut value_start = start;
    // What is at `pos`: a member, or a value.
    let mut at_member = false;
    'part: loop {
        if at_member {
            if text.get(pos) != Some(&b'"') {
                return noise(pos, "no member name");
            }
            let (end, escaped) = string(text, pos + 1)?;
            let colon = scan::space(text, end);
            if text.get(colon) != Some(&b':') {
                return noise(colon, "no `:`");
            }
            if nesting.depth == 1 {
                name = Text { inner: text.get(pos + 1..end - 1).unwrap_or_default(), escaped };
            }
            pos = scan::space(text, colon + 1);
            if nesting.depth == 1 {
                value_start = pos;
            }
        }
        let byte = text.get(pos).copied().unwrap_or_default();
        match byte {
            b'"' => pos = string(text, pos + 1)?.0,
            b'{' | b'[' => {
                nesting.open(byte == b'{');
                pos = scan::space(text, pos + 1);
                // Brackets close two after they open, in ASCII.
                if text.get(pos) != Some(&(byte + 2)) {
                    at_member = byte == b'{';
                    continue 'part;
                }
                pos += 1;
                nesting.close();
                if nesting.depth == 0 {
                    return trailing(text, pos);
                }
            }
            b'-' | b'0'..=b'9' => pos = number(text, pos)?,
            b't' => pos = literal(text, pos, b"true")?,
            b'f' => pos = literal(text, pos, b"false")?,
            b'n' => pos = literal(text, pos, b"null")?,
            _ => return noise(pos, "no value"),
        }
        loop {
            // A value ended at `pos`, inside a container.
            let in_object = nesting.in_object();
            if nesting.depth == 1 && in_object {
                member(Name(name), text.get(value_start..pos).unwrap_or_default());
            }
            pos = scan::space(text, pos);
            match text.get(pos) {
                Some(b',') => {
                    pos = scan::space(text, pos + 1);
                    at_member = in_object;
                    continue 'part;
                }
                Some(&byte) if byte == if in_object { b'}' } else { b']' } => {
                    pos += 1;
                    nesting.close();
                    if nesting.depth == 0 {
                        return trailing(text, pos);
                    }
                }
                Some(_) if in_object => return noise(pos, "neither `,` nor `}`"),
                Some(_) => return noise(pos, "neither `,` nor `]`"),
                None => return noise(pos, "cut short"),
            }
        }
    }
}

/// Nothing but whitespace may follow the JSON text that ends at `end`.
fn trailing(text: &[u8], end: usize) -> Checked<usize> {
    let pos = scan::space(text, end);
    if pos == text.len() { Ok(end) } else { noise(pos, "something after the JSON text") }
}

/// The end of the string whose inside starts at `start`, and whether it has escapes.
#[inline]
fn string(text: &[u8], start: usize) -> Checked<(usize, bool)> {
    let mut high = false;
    let mut escaped = false;
    let mut pos = scan::string_stop(text, start, &mut high);
    while text.get(pos) != Some(&b'"') {
        pos = past_escape(text, pos)?;
        escaped = true;
        pos = scan::string_stop(text, pos, &mut high);
    }
    if high {
        utf8(text, start, pos)?;
    }
    Ok((pos + 1, escaped))
}

#[inline(never)]
fn utf8(text: &[u8], start: usize, end: usize) -> Checked<()> {
    match std::str::from_utf8(text.get(start..end).unwrap_or_default()) {
        Ok(_) => Ok(()),
        Err(error) => noise(start + error.valid_up_to(), "invalid UTF-8"),
    }
}

/// Past the escape at `pos`, in a string.
#[inline(never)]
fn past_escape(text: &[u8], pos: usize) -> Checked<usize> {
    match text.get(pos) {
        Some(b'\\') => escape(text, pos + 1),
        Some(_) => noise(pos, "a control character in a string"),
        None => noise(pos, "a string cut short"),
    }
}

/// The end of the escape whose letter is at `pos`.
fn escape(text: &[u8], pos: usize) -> Checked<usize> {
    match text.get(pos) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(pos + 1),
        Some(b'u') => match text.get(pos + 1..pos + 5) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(pos + 5),
            _ => noise(pos, "an escape without four hexadecimal digits"),
        },
        _ => noise(pos, "no such escape"),
    }
}

/// The end of the number that starts at `pos`.
fn number(text: &[u8], mut pos: usize) -> Checked<usize> {
    if text.get(pos) == Some(&b'-') {
        pos += 1;
    }
    pos = if text.get(pos) == Some(&b'0') { pos + 1 } else { digits(text, pos)? };
    if text.get(pos) == Some(&b'.') {
        pos = digits(text, pos + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(pos) {
        pos += 1;
        if let Some(b'+' | b'-') = text.get(pos) {
            pos += 1;
        }
        pos = digits(text, pos)?;
    }
    Ok(pos)
}

/// The end of the run of one digit or more at `pos`.
fn digits(text: &[u8], mut pos: usize) -> Checked<usize> {
    let start = pos;
    while text.get(pos).is_some_and(u8::is_ascii_digit) {
        pos += 1;
    }
    if pos == start { noise(pos, "no digit") } else { Ok(pos) }
}

#[inline]
fn literal(text: &[u8], pos: usize, word: &[u8]) -> Checked<usize> {
    let end = pos + word.len();
    if text.get(pos..end) == Some(word) { Ok(end) } else { noise(pos, "no value") }
}
