//! Reading JSON text that [`sniff`](crate::sniff::sniff) has validated, in place.
//!
//! Everything here takes raw text and gives pieces of it: nothing is copied but strings with escapes, and
//! nothing recurses, so depth costs neither stack nor time. The text is trusted: given text that is no JSON
//! the answers mean nothing (there is still no panic).

use std::borrow::Cow;

mod agree;
mod text;
mod walk;

pub use agree::agree;
pub(crate) use text::{Piece, Text};
pub(crate) use walk::{Parts, Token, Tokens};

use crate::scan;

/// What a JSON value is, from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// What `value` is.
pub fn kind(value: &[u8]) -> Kind {
    match value.get(scan::space(value, 0)) {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't') => Kind::Bool(true),
        Some(b'f') => Kind::Bool(false),
        Some(b'n') | None => Kind::Null,
        Some(_) => Kind::Number,
    }
}

/// The name of a member as spelled.
#[derive(Clone, Copy)]
pub struct Name<'a>(pub(crate) Text<'a>);

impl<'a> Name<'a> {
    /// Whether the name, decoded, is `name`: `"\u0069d"` is `id`.
    #[inline]
    pub fn is(&self, name: &str) -> bool {
        self.0.inner == name.as_bytes() && !self.0.escaped
            || self.0.escaped && *self.0.bytes() == *name.as_bytes()
    }

    /// The decoded name; `None` if it has an unpaired surrogate and so is no text.
    pub fn decode(&self) -> Option<Cow<'a, str>> {
        self.0.str()
    }

    /// The decoded name in bytes, for a `match` (unpaired surrogates as WTF-8 writes them).
    #[inline]
    pub(crate) fn bytes(&self) -> Cow<'a, [u8]> {
        self.0.bytes()
    }
}

impl std::fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Name({})", String::from_utf8_lossy(self.0.inner))
    }
}

/// Iterator over the members of an object; see [`members`].
#[derive(Clone)]
pub struct Members<'a>(Parts<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Name<'a>, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let member = self.0.member()?;
        Some((Name(member.name), self.0.slice(member.value_start, member.end)))
    }
}

/// The members of `object` in order, repeats included, values without whitespace around them. Nothing if it
/// is not an object.
pub fn members(object: &[u8]) -> Members<'_> {
    Members(Parts::new(object, b'{'))
}

/// Iterator over the elements of an array; see [`elements`].
#[derive(Clone)]
pub struct Elements<'a>(Parts<'a>);

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (start, end) = self.0.element()?;
        Some(self.0.slice(start, end))
    }
}

/// The elements of `array` in order, without whitespace around them. Nothing if it is not an array.
pub fn elements(array: &[u8]) -> Elements<'_> {
    Elements(Parts::new(array, b'['))
}

/// The first member of `object` named `name`.
pub fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    every(object, name).next()
}

/// Every member of `object` named `name`, in order.
pub fn every<'a>(object: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    members(object).filter(move |(found, _)| found.is(name)).map(|(_, value)| value)
}

/// A member is repeated and its values do not [`agree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a member is repeated with another value; send it once")]
pub struct Repeated;

/// The member of `object` named `name`, which may be repeated as long as the repeats agree (contract 3.3).
///
/// # Errors
///
/// [`Repeated`] if it occurs with values that do not agree.
pub fn only<'a>(object: &'a [u8], name: &str) -> Result<Option<&'a [u8]>, Repeated> {
    let mut slot = Slot::default();
    every(object, name).for_each(|value| slot.put(value));
    if slot.clash { Err(Repeated) } else { Ok(slot.first) }
}

/// The value at a path of member names, first occurrences.
pub fn at<'a>(text: &'a [u8], path: &[&str]) -> Option<&'a [u8]> {
    path.iter().try_fold(text, |value, name| member(value, name))
}

/// The decoded string that `value` is. `None` if it is not a string, or one with an unpaired surrogate
/// escape, which no Rust string can hold.
pub fn string(value: &[u8]) -> Option<Cow<'_, str>> {
    let start = scan::space(value, 0);
    if value.get(start) != Some(&b'"') {
        return None;
    }
    walk::string_at(value, start + 1).0.str()
}

/// The whole number that `value` is, also in a spelling such as `5.0` or `1e3` if that is exact (below
/// 2^53). `None` for anything else.
pub fn integer(value: &[u8]) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let text = std::str::from_utf8(scan::trim(value)).ok()?;
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return None;
    }
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
}

/// The JSON text of the string `text`, quotes included.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control < ' ' => {
                quoted.push_str("\\u00");
                for digit in [control as u32 >> 4, control as u32 & 15] {
                    quoted.extend(char::from_digit(digit, 16));
                }
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// What was seen of one member: its first value, and whether a repeat disagreed.
///
/// A repeat is compared with the one before it, not with the first: agreeing is transitive, and so many
/// repeats cost no more than their own length.
#[derive(Default, Clone, Copy)]
pub(crate) struct Slot<'a> {
    pub(crate) first: Option<&'a [u8]>,
    pub(crate) last: Option<&'a [u8]>,
    pub(crate) clash: bool,
}

impl<'a> Slot<'a> {
    pub(crate) const fn new(first: Option<&'a [u8]>, last: Option<&'a [u8]>, clash: bool) -> Self {
        Self { first, last, clash }
    }

    #[inline]
    pub(crate) fn put(&mut self, value: &'a [u8]) {
        match self.last {
            None => self.first = Some(value),
            Some(last) => self.clash = self.clash || !agree(last, value),
        }
        self.last = Some(value);
    }
}

#[cfg(test)]
mod tests;
