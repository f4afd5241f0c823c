//! How a key is made: text, named groups, JSON pointers.

use std::fmt;

use mcpl_codec::event::MAX_KEY_BYTES;

use super::rule::{Field, Patterns};
use super::seen::Seen;

/// The key of a rule: text in which `{name}` is a named group of one of the rule's patterns, `{/a/b}` the value
/// at that JSON pointer into the params or the message, and `{{` and `}}` are braces.
#[derive(Clone)]
pub struct Template {
    written: Box<str>,
    pieces: Box<[Piece]>,
}

#[derive(Clone)]
enum Piece {
    Text(Box<str>),
    Group(Field, usize),
    Pointer(Box<[Box<str>]>),
}

/// What is wrong with a template, and where in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct TemplateFault {
    /// The byte of the template at which it goes wrong.
    pub offset: usize,
    /// What is wrong; nothing of the template is in it.
    pub why: &'static str,
    /// What to do about it.
    pub hint: &'static str,
}

const fn fault(offset: usize, why: &'static str, hint: &'static str) -> TemplateFault {
    TemplateFault { offset, why, hint }
}

impl Template {
    /// Reads a template. `patterns` are the rule's, or `None` where they could not be read themselves: then any
    /// group is taken for one of them.
    ///
    /// # Errors
    /// [`TemplateFault`]: the first thing that is wrong with it.
    pub fn parse(written: &str, patterns: Option<&Patterns>) -> Result<Self, TemplateFault> {
        let (mut pieces, mut text) = (Vec::new(), String::new());
        let mut rest = written;
        while let Some(at) = rest.find(['{', '}']) {
            let offset = written.len() - rest.len() + at;
            let (before, brace) = rest.split_at(at);
            text.push_str(before);
            let inside = brace.get(1..).unwrap_or_default();
            if let Some(after) = brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
                text.push_str(brace.get(..1).unwrap_or_default());
                rest = after;
                continue;
            }
            if brace.starts_with('}') {
                return Err(fault(offset, "there is a `}` without its `{`", "write `}}` for a brace"));
            }
            let Some(end) = inside.find('}') else {
                return Err(fault(offset, "there is a `{` without its `}`", "write `{{` for a brace"));
            };
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text).into()));
            }
            let (name, after) = inside.split_at(end);
            pieces.push(piece(name, offset, patterns)?);
            rest = after.get(1..).unwrap_or_default();
        }
        text.push_str(rest);
        if !text.is_empty() {
            pieces.push(Piece::Text(text.into()));
        }
        if pieces.is_empty() {
            return Err(fault(0, "it is empty", "write a key, such as \"message:{id}\""));
        }
        let fixed = pieces.iter().map(|piece| if let Piece::Text(text) = piece { text.len() } else { 0 });
        if fixed.sum::<usize>() > MAX_KEY_BYTES {
            return Err(fault(0, "its text alone has more than 256 bytes", "a key has 1 to 256 bytes"));
        }
        Ok(Self { written: written.into(), pieces: pieces.into() })
    }

    /// The key of an event that the rule matches; `None` where a group or a pointer finds nothing, and where the
    /// key would be empty or too long.
    pub(super) fn fill(&self, patterns: &Patterns, seen: &Seen<'_>) -> Option<String> {
        let mut key = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => key.push_str(text),
                Piece::Group(field, number) => {
                    let captures = patterns.of(*field)?.captures(field.of(seen)?)?;
                    key.push_str(captures.get(*number)?.as_str());
                }
                Piece::Pointer(pointer) => key.push_str(&seen.at(pointer)?),
            }
            if key.len() > MAX_KEY_BYTES {
                return None;
            }
        }
        (!key.is_empty()).then_some(key)
    }
}

/// What stands between braces.
fn piece(name: &str, offset: usize, patterns: Option<&Patterns>) -> Result<Piece, TemplateFault> {
    if name.starts_with('/') {
        let steps = name.split('/').skip(1).map(|step| unescaped(step, offset));
        return Ok(Piece::Pointer(steps.collect::<Result<_, _>>()?));
    }
    if name.is_empty() {
        let hint = "name a group, such as {id}, or point at a member, such as {/origin/messageId}";
        return Err(fault(offset, "there is nothing between its braces", hint));
    }
    let Some(patterns) = patterns else { return Ok(Piece::Group(Field::EventId, 0)) };
    match patterns.group(name) {
        Some((field, number)) => Ok(Piece::Group(field, number)),
        None => Err(fault(
            offset,
            "no pattern of this rule has a group of that name",
            "name one in a pattern, such as (?<id>…); a JSON pointer starts with a slash, such as {/origin/messageId}",
        )),
    }
}

/// A step of a JSON pointer: `~1` is a slash, `~0` a tilde.
fn unescaped(step: &str, offset: usize) -> Result<Box<str>, TemplateFault> {
    let mut text = String::with_capacity(step.len());
    let mut chars = step.chars();
    while let Some(char) = chars.next() {
        text.push(match (char, char == '~') {
            (char, false) => char,
            (_, true) => match chars.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => {
                    let hint = "in a JSON pointer write `~0` for a tilde and `~1` for a slash in a name";
                    return Err(fault(
                        offset,
                        "it has a JSON pointer with a `~` that stands for nothing",
                        hint,
                    ));
                }
            },
        });
    }
    Ok(text.into())
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl fmt::Debug for Template {
    /// Shows no text: it may come from a variable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Template(…)")
    }
}
