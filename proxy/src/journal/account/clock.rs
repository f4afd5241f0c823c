//! The calendar time of what is measured in running time.

use jiff::Timestamp;
use mcpl_policy::journal::MetaRow;

/// Where running time and calendar time met last.
///
/// Running time stands still while the sidecar does not run: a time before its last stop is told as if there had been
/// none, so later than it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    mono_ms: u64,
    wall_ms: i64,
}

impl Clock {
    /// As a binding's own row says.
    pub fn of(meta: &MetaRow) -> Self {
        Self { mono_ms: meta.mono_ms, wall_ms: meta.wall_ms }
    }

    /// The calendar time of a moment of running time, in ms since 1970.
    pub fn wall_ms(self, mono_ms: u64) -> i64 {
        let since = i128::from(mono_ms) - i128::from(self.mono_ms);
        (i128::from(self.wall_ms) + since).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// The same as RFC 3339 text; `None` if there is no such year.
    pub(super) fn told(self, mono_ms: u64) -> Option<String> {
        rfc3339(self.wall_ms(mono_ms))
    }

    /// The same, of a moment that had not come when the clocks were read.
    pub(super) fn ahead(self, mono_ms: u64) -> Option<String> {
        (mono_ms > self.mono_ms).then(|| self.told(mono_ms)).flatten()
    }
}

/// A calendar time as RFC 3339 text, in UTC and with three decimals; `None` if there is no such year.
pub(crate) fn rfc3339(wall_ms: i64) -> Option<String> {
    Timestamp::from_millisecond(wall_ms).ok().map(|time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_count_back_from_the_last_step() {
        let clock = Clock { mono_ms: 10_000, wall_ms: 1_800_000_000_000 };
        assert_eq!(clock.told(10_000).unwrap(), "2027-01-15T08:00:00.000Z");
        assert_eq!(clock.told(8_500).unwrap(), "2027-01-15T07:59:58.500Z");
        assert_eq!(clock.ahead(10_001).unwrap(), "2027-01-15T08:00:00.001Z");
        assert_eq!(clock.ahead(10_000), None);
    }

    #[test]
    fn a_clock_that_says_nonsense_gives_no_time() {
        let clock = Clock { mono_ms: 0, wall_ms: i64::MAX };
        assert_eq!((clock.wall_ms(u64::MAX), clock.told(u64::MAX)), (i64::MAX, None));
        assert_eq!(Clock { mono_ms: u64::MAX, wall_ms: i64::MIN }.wall_ms(0), i64::MIN);
    }
}
