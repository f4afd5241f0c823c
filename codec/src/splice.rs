//! Changing JSON text in place: what is not edited keeps its bytes (contract 3.3).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

mod container;

use container::Container;

use crate::scan;

/// Edits of one validated JSON text, in any order, then [`Splice::finish`].
///
/// An edit of something that another edit removes or replaces whole has no effect. An `object` or `array`
/// is named by a piece of the text itself (as [`raw::members`](crate::raw::members) and its kin give them); an edit of anything
/// else is ignored.
#[derive(Clone)]
pub struct Splice<'a> {
    text: &'a [u8],
    edits: Vec<Edit<'a>>,
    /// By where they start.
    containers: BTreeMap<usize, Container<'a>>,
}

#[derive(Clone)]
struct Edit<'a> {
    range: Range<usize>,
    with: Cow<'a, [u8]>,
}

impl<'a> Splice<'a> {
    /// No edits of `text` yet.
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, edits: Vec::new(), containers: BTreeMap::new() }
    }

    /// Replaces `span`, a piece of the text.
    pub fn replace(&mut self, span: &[u8], with: impl Into<Cow<'a, [u8]>>) -> &mut Self {
        debug_assert!(scan::range_of(self.text, span).is_some(), "a piece of another text");
        if let Some(range) = scan::range_of(self.text, span) {
            self.edits.push(Edit { range, with: with.into() });
        }
        self
    }

    /// Removes every member of `object` named `name`, with its comma.
    pub fn remove_member(&mut self, object: &[u8], name: &str) -> &mut Self {
        if let Some(container) = self.container(object, b'{') {
            container.remove(name);
        }
        self
    }

    /// Gives the member `name` of `object` the raw value `value`: in place of the first one, others removed;
    /// else as a new last member.
    pub fn set_member(&mut self, object: &[u8], name: &'a str, value: impl Into<Cow<'a, [u8]>>) -> &mut Self {
        if let Some(container) = self.container(object, b'{') {
            container.set(name, value.into());
        }
        self
    }

    /// Removes the elements of `array` whose index (from 0) `keep` does not want, with their commas.
    pub fn keep_elements(&mut self, array: &[u8], keep: impl Fn(usize) -> bool) -> &mut Self {
        if let Some(container) = self.container(array, b'[') {
            container.keep(keep);
        }
        self
    }

    /// The edited text.
    pub fn finish(&self) -> Vec<u8> {
        let mut edits: Vec<(Range<usize>, Cow<'_, [u8]>)> =
            self.edits.iter().map(|edit| (edit.range.clone(), Cow::Borrowed(&*edit.with))).collect();
        for container in self.containers.values() {
            container.edits(&mut edits);
        }
        // Of edits that start together, insertions come first, then the widest, which hides the others.
        edits.sort_by_key(|(range, _)| (range.start, !range.is_empty(), Reverse(range.end)));
        applied(self.text, &edits)
    }

    /// The container that `part` is, with the edits of it so far.
    fn container(&mut self, part: &[u8], open: u8) -> Option<&mut Container<'a>> {
        let range = scan::range_of(self.text, part);
        debug_assert!(range.is_some(), "a piece of another text");
        let start = scan::space(self.text, range?.start);
        if self.text.get(start) != Some(&open) {
            return None;
        }
        Some(self.containers.entry(start).or_insert_with(|| Container::read(self.text, start, open)))
    }
}

/// `text` with `edits`, sorted; one that starts inside another is left out.
fn applied(text: &[u8], edits: &[(Range<usize>, Cow<'_, [u8]>)]) -> Vec<u8> {
    let added: usize = edits.iter().map(|(_, with)| with.len()).sum();
    let mut edited = Vec::with_capacity(text.len() + added);
    let mut done = 0;
    for (range, with) in edits {
        if range.start < done {
            continue;
        }
        edited.extend_from_slice(text.get(done..range.start).unwrap_or_default());
        edited.extend_from_slice(with);
        done = range.end;
    }
    edited.extend_from_slice(text.get(done..).unwrap_or_default());
    edited
}

/// `object` without its members named `name`; borrowed if it has none.
pub fn without_member<'a>(object: &'a [u8], name: &str) -> Cow<'a, [u8]> {
    let start = scan::space(object, 0);
    let mut container = Container::read(object, start, b'{');
    container.remove(name);
    let mut edits = Vec::new();
    container.edits(&mut edits);
    if edits.is_empty() {
        return Cow::Borrowed(object);
    }
    Cow::Owned(applied(object, &edits))
}

#[cfg(test)]
mod tests;
