//! The validator: one pass that says whether a line is JSON and what JSON-RPC would make of it.
//!
//! Everything else in this crate trusts text that passed here.

use crate::scan;

mod envelope;
mod grammar;

pub use envelope::Envelope;

/// A text that is a JSON object or array (contract 3.2).
#[derive(Debug, Clone, Copy)]
pub enum Sniff<'a> {
    /// An object: one JSON-RPC message.
    Message(Envelope<'a>),
    /// An array, without whitespace around it: a JSON-RPC batch. Its elements may be anything; see
    /// [`Envelope::of`] for those that are objects.
    Batch(&'a [u8]),
}

/// Why a text is no JSON object or array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why} at byte {offset}")]
pub struct Noise {
    /// Where the text stops being one, in bytes from its start.
    pub offset: usize,
    /// What is wrong there.
    pub why: &'static str,
}

/// Validates `text` (RFC 8259 and UTF-8; unpaired surrogate escapes and repeated members are legal) and
/// finds its top-level members. Depth costs no stack, and up to 64 levels no allocation.
///
/// # Errors
///
/// [`Noise`] if the text is not JSON, or is JSON but neither an object nor an array.
pub fn sniff(text: &[u8]) -> Result<Sniff<'_>, Noise> {
    let start = scan::space(text, 0);
    match text.get(start) {
        Some(b'{') => {
            let mut envelope = Envelope::default();
            grammar::check(text, start, |name, value| envelope.put(name, value))?;
            Ok(Sniff::Message(envelope))
        }
        Some(b'[') => {
            let end = grammar::check(text, start, |_, _| ())?;
            Ok(Sniff::Batch(text.get(start..end).unwrap_or_default()))
        }
        Some(_) => Err(Noise { offset: start, why: "neither an object nor an array" }),
        None => Err(Noise { offset: start, why: "nothing there" }),
    }
}

#[cfg(test)]
mod tests;
