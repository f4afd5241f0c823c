//! The edits of one object or array: which parts go, which come.

use std::borrow::Cow;
use std::ops::Range;

use crate::raw::{self, Name, Parts, Text};

/// One object or array of a text, its parts, and what is to become of them.
#[derive(Clone)]
pub(super) struct Container<'a> {
    /// Its opening bracket.
    start: usize,
    parts: Vec<Part<'a>>,
    /// New members, after the old.
    added: Vec<(&'a str, Cow<'a, [u8]>)>,
}

/// A member or an element, by offsets into the text.
#[derive(Clone)]
struct Part<'a> {
    start: usize,
    name: Option<Text<'a>>,
    value_start: usize,
    end: usize,
    fate: Fate<'a>,
}

#[derive(Clone)]
enum Fate<'a> {
    Kept,
    Removed,
    Replaced(Cow<'a, [u8]>),
}

impl<'a> Container<'a> {
    /// The container of `text` that `open` opens at `start`.
    pub(super) fn read(text: &'a [u8], start: usize, open: u8) -> Self {
        let mut walk = Parts::new(text.get(start..).unwrap_or_default(), open);
        // Few objects of a message have more members: one allocation does.
        let mut parts = Vec::with_capacity(12);
        if open == b'{' {
            while let Some(member) = walk.member() {
                parts.push(Part {
                    start: start + member.start,
                    name: Some(member.name),
                    value_start: start + member.value_start,
                    end: start + member.end,
                    fate: Fate::Kept,
                });
            }
        } else {
            while let Some((from, end)) = walk.element() {
                let from = start + from;
                let end = start + end;
                parts.push(Part { start: from, name: None, value_start: from, end, fate: Fate::Kept });
            }
        }
        Self { start, parts, added: Vec::new() }
    }

    pub(super) fn remove(&mut self, name: &str) {
        for part in self.named(name) {
            part.fate = Fate::Removed;
        }
        self.added.retain(|(added, _)| *added != name);
    }

    pub(super) fn set(&mut self, name: &'a str, value: Cow<'a, [u8]>) {
        if let Some((_, added)) = self.added.iter_mut().find(|(added, _)| *added == name) {
            *added = value;
            return;
        }
        let mut value = Some(value);
        for part in self.named(name) {
            if !matches!(part.fate, Fate::Removed) {
                part.fate = value.take().map_or(Fate::Removed, Fate::Replaced);
            }
        }
        if let Some(value) = value {
            self.added.push((name, value));
        }
    }

    pub(super) fn keep(&mut self, keep: impl Fn(usize) -> bool) {
        for (index, part) in self.parts.iter_mut().enumerate() {
            if !keep(index) {
                part.fate = Fate::Removed;
            }
        }
    }

    fn named(&mut self, name: &str) -> impl Iterator<Item = &mut Part<'a>> {
        self.parts.iter_mut().filter(move |part| part.name.is_some_and(|text| Name(text).is(name)))
    }

    /// Appends the edits of the text that this comes to; they do not overlap.
    pub(super) fn edits<'s>(&'s self, edits: &mut Vec<(Range<usize>, Cow<'s, [u8]>)>) {
        // A part that goes takes the comma before it along, if a part before it stays; else the one behind.
        let mut previous_end = self.start + 1;
        let mut any_kept = false;
        for (index, part) in self.parts.iter().enumerate() {
            match &part.fate {
                Fate::Kept => any_kept = true,
                Fate::Replaced(value) => {
                    any_kept = true;
                    edits.push((part.value_start..part.end, Cow::Borrowed(value)));
                }
                Fate::Removed => {
                    let gone = if any_kept {
                        previous_end..part.end
                    } else {
                        part.start..self.parts.get(index + 1).map_or(part.end, |next| next.start)
                    };
                    edits.push((gone, Cow::Borrowed(&[])));
                }
            }
            previous_end = part.end;
        }
        if self.added.is_empty() {
            return;
        }
        let mut members = String::new().into_bytes();
        for (name, value) in &self.added {
            if std::mem::replace(&mut any_kept, true) {
                members.push(b',');
            }
            members.extend_from_slice(raw::quote(name).as_bytes());
            members.push(b':');
            members.extend_from_slice(value);
        }
        edits.push((previous_end..previous_end, Cow::Owned(members)));
    }
}
