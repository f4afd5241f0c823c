//! Rate limits: how much new work a producer may bring, and how fast held work goes to the host
//! (contract 8.8 and `[producer.limits]`).
//!
//! The limits are token buckets of the `governor` crate. They have no clock of their own: every call says
//! what time it is, in milliseconds of any clock that does not run backwards.
//!
//! The figure a refusal names is honest: taken again exactly that much later, the same work is let in
//! unless something else used the capacity meanwhile. With two limits in a row that needs care: the
//! longer of the two times is the one that holds, and a token of one limit is given back when the other
//! refuses, since otherwise the refused work would itself be what uses the capacity.

mod bucket;
#[cfg(test)]
mod tests;

use foldhash::fast::FixedState;
use governor::Quota;
use lru::LruCache;

use self::bucket::{Bucket, quota};

/// Most channel ids that are counted at a time. Past it the least recently used one is forgotten, and
/// starts full if it comes again.
pub const MAX_CHANNELS: usize = 65_536;

/// Longest channel id, in bytes, that is counted under its own name; longer ones share the limit of
/// their first bytes, so that ids cannot be used to fill memory.
const ID_BYTES: usize = 1024;

/// The figures of `[producer.limits]` that limit new work (contract section 2).
///
/// A rate of 0 is no limit, and so is one that is negative or not a finite number. Fractions are allowed.
/// A burst of 0 is what one second brings, rounded up, and at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LimitSettings {
    /// New work admitted a second, the whole producer.
    pub rate_per_s: f64,
    /// How much of it may come at once.
    pub burst: u32,
    /// New channel-scoped work admitted a second, per channel id.
    pub channel_rate_per_s: f64,
    /// How much of it may come at once.
    pub channel_burst: u32,
}

/// The limits on new work of one producer (contract 8.8).
#[derive(Debug)]
pub struct Limits {
    settings: LimitSettings,
    producer: Option<Bucket>,
    channel: Option<Quota>,
    channels: LruCache<Box<str>, Bucket, FixedState>,
}

impl Limits {
    /// Full buckets for these settings.
    pub fn new(settings: LimitSettings) -> Self {
        Self::seeded(settings, 0)
    }

    /// As [`Limits::new`], with a seed for the hashes of channel ids that a peer cannot guess.
    pub fn seeded(settings: LimitSettings, seed: u64) -> Self {
        Self {
            settings,
            producer: quota(settings.rate_per_s, settings.burst).map(Bucket::new),
            channel: quota(settings.channel_rate_per_s, settings.channel_burst),
            // Bounded by `bucket_of`: a cache with a bound of its own reserves all its room at once.
            channels: LruCache::unbounded_with_hasher(FixedState::with_seed(seed)),
        }
    }

    /// Takes new settings (a reload). A limit whose figures did not change keeps what was used of it.
    pub fn reload(&mut self, settings: LimitSettings) {
        let old = std::mem::replace(&mut self.settings, settings);
        let of =
            |s: &LimitSettings| (quota(s.rate_per_s, s.burst), quota(s.channel_rate_per_s, s.channel_burst));
        let ((old_producer, old_channel), (producer, channel)) = (of(&old), of(&settings));
        if producer != old_producer {
            self.producer = producer.map(Bucket::new);
        }
        if channel != old_channel {
            self.channel = channel;
            self.channels.clear();
        }
    }

    /// Takes a token for new work at `now_ms`: one of `channel`, if the work is channel-scoped, and one of
    /// the producer. The channel's limit is asked first.
    ///
    /// `Err` is the `retryAfterMs` of the refusal, at least 1; nothing was taken then.
    pub fn take(&mut self, now_ms: u64, channel: Option<&str>) -> Result<(), u64> {
        let channel = match (channel, self.channel) {
            (Some(id), Some(quota)) => bucket_of(&mut self.channels, id, quota),
            _ => None,
        };
        let buckets = [channel, self.producer.as_ref()];
        let levels = buckets.map(|bucket| bucket.map_or(0, Bucket::level));
        let waits = buckets.map(|bucket| bucket.map_or(Ok(()), |bucket| bucket.take(now_ms)));
        let longest = waits.into_iter().filter_map(Result::err).max();
        let Some(longest) = longest else { return Ok(()) };
        for (bucket, level) in buckets.into_iter().zip(levels) {
            if let Some(bucket) = bucket {
                bucket.restore(level);
            }
        }
        Err(longest)
    }

    /// How many channels are counted, at most [`MAX_CHANNELS`].
    pub fn channels(&self) -> usize {
        self.channels.len()
    }
}

fn bucket_of<'a>(
    channels: &'a mut LruCache<Box<str>, Bucket, FixedState>,
    id: &str,
    quota: Quota,
) -> Option<&'a Bucket> {
    let id = &id[..id.floor_char_boundary(ID_BYTES)];
    if !channels.contains(id) {
        if channels.len() >= MAX_CHANNELS {
            channels.pop_lru();
        }
        channels.put(id.into(), Bucket::new(quota));
    }
    channels.get(id)
}

/// The pace of what goes to the host (`forward_rate_per_s`): held work waits for it and is never refused.
#[derive(Debug)]
pub struct Pace {
    rate_per_s: f64,
    bucket: Option<Bucket>,
}

impl Pace {
    /// `forward_rate_per_s` forwards a second, a second's worth at once; 0 is no limit.
    pub fn new(forward_rate_per_s: f64) -> Self {
        Self { rate_per_s: forward_rate_per_s, bucket: quota(forward_rate_per_s, 0).map(Bucket::new) }
    }

    /// Takes a new rate (a reload); the same rate changes nothing.
    pub fn reload(&mut self, forward_rate_per_s: f64) {
        if quota(self.rate_per_s, 0) != quota(forward_rate_per_s, 0) {
            *self = Self::new(forward_rate_per_s);
        }
    }

    /// Forwards that may go at once, at most.
    pub fn most(&self) -> usize {
        if self.bucket.is_some() { (self.rate_per_s.ceil() as usize).max(1) } else { usize::MAX }
    }

    /// As [`Pace::take`], and takes nothing.
    pub fn look(&mut self, now_ms: u64) -> Result<(), u64> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        let level = bucket.level();
        let looked = bucket.take(now_ms);
        bucket.restore(level);
        looked
    }

    /// Takes a token for one forward at `now_ms`.
    ///
    /// `Err` is the time to wait in milliseconds, at least 1; nothing was taken then.
    pub fn take(&mut self, now_ms: u64) -> Result<(), u64> {
        self.bucket.as_ref().map_or(Ok(()), |bucket| bucket.take(now_ms))
    }
}
