//! The clocks, in one place: everything below the binding is told the time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use mcpl_policy::Now;

/// Reads both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: Instant,
    /// The running time at that moment, in ms: what earlier runs of the program add up to.
    before_ms: u64,
}

impl Clock {
    pub(super) fn start(before_ms: u64) -> Self {
        Self { start: Instant::now(), before_ms }
    }

    pub(super) fn now(&self) -> Now {
        // A calendar before 1970 is a wrong one: nothing expires by it.
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mono_ms = self.before_ms + self.start.elapsed().as_millis() as u64;
        Now { mono_ms, wall_ms: wall.as_millis() as i64 }
    }

    /// The moment of a monotonic time.
    pub(super) fn at(&self, mono_ms: u64) -> tokio::time::Instant {
        let since = mono_ms.saturating_sub(self.before_ms);
        tokio::time::Instant::from_std(self.start + std::time::Duration::from_millis(since))
    }
}
