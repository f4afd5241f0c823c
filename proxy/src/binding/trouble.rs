//! What peers may bring about again and again, in one session or in many, and how it is said.

use crate::episode::Episode;
use crate::exchange::Side;

/// The troubles of one binding.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// The producer is not reached.
    pub(super) unreached: Episode,
    host: Episode,
    producer: Episode,
}

impl Trouble {
    /// Says that a line was dropped, and shows its first 200 bytes where it is no message (contract 3.2).
    pub(super) fn noise(&self, from: Side, why: &str, head: &[u8]) {
        let episode = match from {
            Side::Host => &self.host,
            Side::Producer => &self.producer,
        };
        episode.happens(|unsaid| {
            let head = String::from_utf8_lossy(&head[..head.len().min(200)]);
            tracing::warn!(from = from.as_str(), why, head = %head.escape_debug(), unsaid, "dropped a line");
        });
    }
}
