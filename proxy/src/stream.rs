//! The event stream: what the journal says of occurrences as it grows, and how producers stand now (contract 10.4).
//!
//! ```text
//!  engine ─ Seen ─► Tap ── on disk ──► Hub: Ring ─┐                    ┌─► reader
//!  (each step)     (waits)            (bounded)   ├─► thread of readers├─► reader
//!  desk ── how producers stand ─────► Board ──────┘                    └─► reader
//! ```
//!
//! A [`Tap`] in each binding notes what a step says of the occurrences it changes and gives it on once the step is
//! on disk. The [`Hub`] numbers these *observations* and keeps the last [`OBSERVATIONS`] of them. Readers are served
//! by a thread of their own, which gives way to others: whatever they cost, the data path pays for one push.
//!
//! | is bounded | by |
//! |---|---|
//! | what can be replayed | [`OBSERVATIONS`] and [`RING_BYTES`] |
//! | one batch | [`BATCH_EVENTS`] and [`BATCH_BYTES`], one event at least |
//! | what waits for one reader | its out-queue ([`READER_BYTES`]) and one notice for each scope; the rest stays in the ring |
//! | readers | [`READERS`], and [`SUBSCRIPTIONS`] of each |
//!
//! A reader that is slower than that falls off the ring and is given a snapshot. What is sequenced is never folded;
//! notices are, as the [`catalogue`] says.

mod batch;
pub mod catalogue;
mod entry;
mod frame;
mod hub;
mod notice;
mod observation;
mod priority;
mod reader;
mod request;
mod ring;
mod snapshot;
mod subscription;
mod tap;
mod thread;

pub use self::batch::{BATCH_BYTES, BATCH_EVENTS};
pub use self::hub::Hub;
pub use self::notice::{DELTA_BYTES, Notice, SCOPES};
pub use self::observation::Observation;
pub use self::reader::{READER_BYTES, REQUEST_BYTES, SUBSCRIPTIONS};
pub use self::ring::{OBSERVATIONS, RING_BYTES};
pub use self::tap::Tap;
pub use self::thread::READERS;

/// The stream of observations; each run of the program adds its own epoch: `journal@5f0c…`.
pub const JOURNAL: &str = "journal";
/// The stream of notices, which is not sequenced.
pub const NOTICES: &str = "notices";

#[cfg(test)]
mod tests;
