//! One token bucket whose clock is the input.

use std::num::NonZeroU32;
use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::{Clock, Reference};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{NotKeyed, StateStore};
use governor::{Quota, RateLimiter};

const NANOS_PER_MS: u64 = 1_000_000;

/// Where the clock stops (146 years), so that no sum inside the limiter can overflow.
const LAST_TICK: u64 = 1 << 62;

/// Longest time one token may take (36 years), for the same reason.
const LONGEST_PERIOD: u64 = 1 << 60;

/// A token bucket: `rate` tokens a second, at most `burst` of them, full at the start.
#[derive(Debug)]
pub(super) struct Bucket {
    limiter: RateLimiter<NotKeyed, Meter, Meter, NoOpMiddleware<Tick>>,
    meter: Meter,
}

impl Bucket {
    /// A full bucket for a quota of [`quota`].
    pub(super) fn new(quota: Quota) -> Self {
        let meter = Meter::default();
        Self { limiter: RateLimiter::new(quota, meter.clone(), meter.clone()), meter }
    }

    /// Takes one token at `now_ms`.
    ///
    /// `Err` is the time in milliseconds, at least 1, after which a token is there if nothing else
    /// takes it.
    pub(super) fn take(&self, now_ms: u64) -> Result<(), u64> {
        self.meter.set(now_ms);
        self.limiter.check().map_err(|until| {
            let wait = until.wait_time_from(self.limiter.clock().now());
            u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX).div_ceil(NANOS_PER_MS).max(1)
        })
    }

    /// What the bucket holds, to be given back to [`Bucket::restore`].
    pub(super) fn level(&self) -> u64 {
        self.meter.0.level.load(Ordering::Relaxed)
    }

    /// Undoes what was taken since `level` was read.
    pub(super) fn restore(&self, level: u64) {
        self.meter.0.level.store(level, Ordering::Relaxed);
    }
}

/// The quota of `rate` a second with room for `burst` (0: what a second brings, at least 1), or `None`
/// if that is no limit: a rate that is 0, negative or not finite.
pub(super) fn quota(rate: f64, burst: u32) -> Option<Quota> {
    if !rate.is_finite() || rate <= 0.0 {
        return None;
    }
    // A float to integer cast saturates, so an absurd rate becomes the nearest one there is.
    let period = ((1e9 / rate).round() as u64).clamp(1, LONGEST_PERIOD);
    let burst = if burst == 0 { rate.ceil() as u32 } else { burst };
    // A bucket of over 146 years' worth of tokens is cut to that.
    let most = u32::try_from(LAST_TICK / period).unwrap_or(u32::MAX);
    let burst = NonZeroU32::new(burst.min(most)).unwrap_or(NonZeroU32::MIN);
    Quota::with_period(Duration::from_nanos(period)).map(|quota| quota.allow_burst(burst))
}

/// A point in time as the caller told it, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Tick(u64);

impl Add<Nanos> for Tick {
    type Output = Self;

    fn add(self, rhs: Nanos) -> Self {
        Self(self.0.saturating_add(rhs.as_u64()))
    }
}

impl Reference for Tick {
    fn duration_since(&self, earlier: Self) -> Nanos {
        Nanos::new(self.0.saturating_sub(earlier.0))
    }

    fn saturating_sub(&self, duration: Nanos) -> Self {
        Self(self.0.checked_sub(duration.as_u64()).unwrap_or(self.0))
    }
}

/// The clock and the memory of one bucket. The limiter owns its parts and only lends them, and only to
/// read; sharing them is what lets the time be set, and a token be given back.
#[derive(Debug, Clone, Default)]
struct Meter(Arc<Reading>);

#[derive(Debug, Default)]
struct Reading {
    now: AtomicU64,
    /// The limiter's theoretical arrival time; 0 before the first token.
    level: AtomicU64,
}

impl Meter {
    fn set(&self, now_ms: u64) {
        let now = now_ms.saturating_mul(NANOS_PER_MS).min(LAST_TICK);
        self.0.now.store(now, Ordering::Relaxed);
    }
}

impl Clock for Meter {
    type Instant = Tick;

    fn now(&self) -> Tick {
        Tick(self.0.now.load(Ordering::Relaxed))
    }
}

impl StateStore for Meter {
    type Key = NotKeyed;

    // One owner at a time (`Limits::take` has `&mut self`), so a load and a store are enough.
    fn measure_and_replace<T, F, E>(&self, _key: &NotKeyed, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let level = self.0.level.load(Ordering::Relaxed);
        let (out, next) = decide((level != 0).then(|| Nanos::new(level)))?;
        self.0.level.store(next.as_u64(), Ordering::Relaxed);
        Ok(out)
    }
}
