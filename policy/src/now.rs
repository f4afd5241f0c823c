//! The time an input happened.

/// Both clocks at the moment of an input; the engine reads none of its own.
///
/// `mono_ms` never goes back and counts the sidecar's running time: quiet times, retries and receipts are
/// measured by it, so that no clock change loses one (contract 6.2). `wall_ms` is the calendar, for
/// `expiresAt` only (contract 9.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since some fixed start, monotonic.
    pub mono_ms: u64,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub wall_ms: i64,
}

impl Now {
    /// Both clocks at `ms`; for tests and simulations.
    pub fn at(ms: u64) -> Self {
        Self { mono_ms: ms, wall_ms: ms as i64 }
    }
}
