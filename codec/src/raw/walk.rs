//! Walking validated JSON text: where a value ends, what its parts are, its tokens in order.
//!
//! Nothing here recurses or allocates. Text that is not valid JSON gives meaningless parts, but never a
//! panic and never an endless walk.

use super::text::Text;
use crate::scan;

/// The end of the string whose inside starts at `pos` (past its closing quote), and its text.
#[inline]
pub(crate) fn string_at(text: &[u8], start: usize) -> (Text<'_>, usize) {
    let mut pos = start;
    let mut escaped = false;
    loop {
        pos = scan::quote_or_escape(text, pos);
        match text.get(pos) {
            Some(b'\\') => {
                escaped = true;
                pos += 2;
            }
            Some(_) => return (Text { inner: text.get(start..pos).unwrap_or_default(), escaped }, pos + 1),
            None => return (Text { inner: text.get(start..).unwrap_or_default(), escaped }, text.len()),
        }
    }
}

/// The end of the value that starts at `pos`.
#[inline]
pub(crate) fn value_end(text: &[u8], pos: usize) -> usize {
    match text.get(pos) {
        Some(b'"') => string_at(text, pos + 1).1,
        Some(b'{' | b'[') => container_end(text, pos),
        _ => scalar_end(text, pos),
    }
}

/// The end of a number or of `true`, `false`, `null`.
#[inline]
fn scalar_end(text: &[u8], mut pos: usize) -> usize {
    while let Some(&byte) = text.get(pos) {
        if scan::is_space(byte) || matches!(byte, b',' | b'}' | b']' | b':') {
            break;
        }
        pos += 1;
    }
    pos
}

fn container_end(text: &[u8], mut pos: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(&byte) = text.get(pos) {
        pos += 1;
        match byte {
            b'"' => pos = string_at(text, pos).1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return pos;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// One member of an object, by offsets into the text that was walked.
pub(crate) struct Member<'a> {
    /// The quote that opens the name.
    pub(crate) start: usize,
    pub(crate) name: Text<'a>,
    pub(crate) value_start: usize,
    /// The end of the value, and so of the member.
    pub(crate) end: usize,
}

/// The parts of a container: members, or elements.
#[derive(Clone)]
pub(crate) struct Parts<'a> {
    text: &'a [u8],
    pos: usize,
}

impl<'a> Parts<'a> {
    /// The parts of the container that `text` is (whitespace before it is skipped); none if it is not the
    /// container that `open` opens.
    pub(crate) fn new(text: &'a [u8], open: u8) -> Self {
        let start = scan::space(text, 0);
        let pos = if text.get(start) == Some(&open) { start + 1 } else { text.len() };
        Self { text, pos }
    }

    /// Past the comma and the space before the next part; `None` at the end of the container.
    #[inline]
    fn advance(&mut self) -> Option<usize> {
        let mut pos = scan::space(self.text, self.pos);
        if self.text.get(pos) == Some(&b',') {
            pos = scan::space(self.text, pos + 1);
        }
        match self.text.get(pos) {
            None | Some(b'}' | b']') => {
                self.pos = self.text.len();
                None
            }
            Some(_) => Some(pos),
        }
    }

    /// The next member; the container is an object.
    #[inline]
    pub(crate) fn member(&mut self) -> Option<Member<'a>> {
        let start = self.advance()?;
        let (name, after) = string_at(self.text, start + 1);
        let colon = scan::space(self.text, after);
        let value_start = scan::space(self.text, colon + 1);
        // A byte at least, so that even text that is no JSON is walked to its end.
        let end = value_end(self.text, value_start).max(start + 1);
        self.pos = end;
        (value_start <= end && end <= self.text.len()).then_some(Member { start, name, value_start, end })
    }

    /// The next element (start, end); the container is an array.
    #[inline]
    pub(crate) fn element(&mut self) -> Option<(usize, usize)> {
        let start = self.advance()?;
        let end = value_end(self.text, start).max(start + 1);
        self.pos = end;
        Some((start, end))
    }

    pub(crate) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// One token of a JSON text; commas and colons are implied.
pub(crate) enum Token<'a> {
    ObjectStart,
    ObjectEnd,
    ArrayStart,
    ArrayEnd,
    Name(Text<'a>),
    String(Text<'a>),
    /// A number or a literal, as spelled.
    Scalar(&'a [u8]),
}

/// The tokens of a JSON text in order. A string followed by a colon is a name: no stack is needed.
pub(crate) struct Tokens<'a> {
    text: &'a [u8],
    pos: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, pos: 0 }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    #[inline]
    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let start = scan::space(self.text, self.pos);
            let byte = *self.text.get(start)?;
            self.pos = start + 1;
            return Some(match byte {
                b',' | b':' => continue,
                b'{' => Token::ObjectStart,
                b'}' => Token::ObjectEnd,
                b'[' => Token::ArrayStart,
                b']' => Token::ArrayEnd,
                b'"' => {
                    let (text, end) = string_at(self.text, start + 1);
                    self.pos = scan::space(self.text, end);
                    if self.text.get(self.pos) == Some(&b':') {
                        Token::Name(text)
                    } else {
                        Token::String(text)
                    }
                }
                _ => {
                    let end = scalar_end(self.text, start).max(start + 1);
                    self.pos = end;
                    Token::Scalar(self.text.get(start..end).unwrap_or_default())
                }
            });
        }
    }
}
