#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
//! What an MCPL message **is**: framing, raw JSON, envelopes, events, refusals. No I/O, no opinions.
//!
//! A message is validated once, by [`sniff::sniff`], in the buffer that it was read into; from then on its
//! text is trusted and only ever looked at in place. Nothing is parsed into a tree and printed again: what
//! is changed is [spliced](splice), and every other byte stays as it was sent (contract 3.3).
//!
//! No function here recurses over its input or takes more than `O(n log n)` time in it, and none panics on
//! any bytes. `Debug` forms print no content.
//!
//! | module | owns |
//! |---|---|
//! | [`frame`] | lines out of a stream of bytes, within a limit |
//! | [`mod@line`] | one JSON text ready for the wire |
//! | [`sniff`] | the validator, and the envelope of a message |
//! | [`raw`] | members, elements, strings, numbers of validated text; whether two texts agree |
//! | [`splice`] | edits of a text that keep the rest of it |
//! | [`digest`] | keyed digests of values |
//! | [`jcs`] | the canonical size of a value |
//! | [`event`] | an event of either lane, its `coalesce` member, its faults |
//! | [`refusal`] | the fields of a structured refusal |
//! | [`answer`] | responses and requests written here, replies read |
//! | [`code`] | error codes by name |

pub mod answer;
pub mod code;
pub mod digest;
pub mod event;
pub mod frame;
pub mod jcs;
pub mod line;
pub mod raw;
pub mod refusal;
#[cfg(test)]
mod sample;
mod scan;
pub mod sniff;
pub mod splice;

pub use answer::Reply;
pub use digest::{Digest, DigestKey};
pub use event::{Coalesce, ContentShape, Event, Fault, Lane, Ruled, Scope};
pub use frame::{Frame, Framer};
pub use line::Line;
pub use refusal::Refusal;
pub use sniff::{Envelope, Noise, Sniff};
pub use splice::Splice;
