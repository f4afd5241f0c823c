//! What the content of an event is.

use crate::raw::{self, Kind};
use crate::scan;

/// The shape of an event's content (contract 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentShape {
    /// There is none.
    Missing,
    /// A string.
    Text,
    /// An array (maybe empty) of objects with a string `type`.
    Blocks,
    /// Anything else.
    Other,
}

/// The shape of `content`, and whether it tells nothing.
pub(super) fn look(content: Option<&[u8]>) -> (ContentShape, bool) {
    let Some(content) = content else { return (ContentShape::Missing, true) };
    match raw::kind(content) {
        Kind::String => (ContentShape::Text, scan::trim(content) == b"\"\""),
        Kind::Array => blocks(content),
        _ => (ContentShape::Other, false),
    }
}

fn blocks(content: &[u8]) -> (ContentShape, bool) {
    let mut silent = true;
    for block in raw::elements(content) {
        let (mut kind, mut text) = (None, None);
        for (name, value) in raw::members(block) {
            if kind.is_none() && name.is("type") {
                kind = Some(value);
            } else if text.is_none() && name.is("text") {
                text = Some(value);
            }
        }
        if kind.map(raw::kind) != Some(Kind::String) {
            return (ContentShape::Other, false);
        }
        silent = silent && kind.and_then(raw::string).as_deref() == Some("text") && text == Some(b"\"\"");
    }
    (ContentShape::Blocks, silent)
}
