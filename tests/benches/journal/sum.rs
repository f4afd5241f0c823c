//! One figure, measured again and again.

use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

/// Events, and the time they took.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rate {
    pub(crate) events: u64,
    pub(crate) time: Duration,
}

impl Rate {
    pub(crate) fn per_s(self) -> f64 {
        self.events as f64 / self.time.as_secs_f64()
    }
}

impl AddAssign for Rate {
    fn add_assign(&mut self, more: Self) {
        self.events += more.events;
        self.time += more.time;
    }
}

/// What the rounds gave.
pub(crate) struct Sum(Vec<f64>);

impl Sum {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    pub(crate) fn median(&self) -> f64 {
        let middle = self.0.len() / 2;
        match self.0.len() % 2 {
            1 => self.0[middle],
            _ => f64::midpoint(self.0[middle - 1], self.0[middle]),
        }
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let median = self.median();
        let digits = if median >= 100.0 { 0 } else { 2 };
        let (least, most) = (self.0[0], self.0[self.0.len() - 1]);
        write!(f, "{median:.digits$} ({least:.digits$}–{most:.digits$})")
    }
}
