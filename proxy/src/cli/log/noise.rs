//! Repeated log lines, summed up: so many of a kind are written, the rest are counted.

use std::collections::HashMap;
use std::hash::Hash;

/// Lines of one kind that are written in a window.
pub const LINES: u32 = 10;

/// How long a window lasts, in ms.
const WINDOW_MS: u64 = 1000;

/// … when the one before had lines that were not written: a flood is told of less often.
const FLOOD_MS: u64 = 10_000;

/// Kinds looked after; past it a new kind is written without being counted.
const KINDS: usize = 1024;

/// Counts lines by kind. `K` tells kinds apart, `L` describes one.
#[derive(Debug)]
pub struct Noise<K, L> {
    kinds: HashMap<K, Window<L>>,
}

impl<K, L> Default for Noise<K, L> {
    fn default() -> Self {
        Self { kinds: HashMap::new() }
    }
}

#[derive(Debug)]
struct Window<L> {
    until: u64,
    written: u32,
    /// Lines not written, and what they are like.
    more: Option<(L, u64)>,
}

impl<K: Eq + Hash, L> Noise<K, L> {
    /// Whether a line of this kind is to be written now (ms, from any origin); if not it is counted, and
    /// `like` is asked what it is like. At most [`LINES`] of a kind in a window; windows are a second long,
    /// ten in a flood.
    pub fn admit(&mut self, kind: K, now: u64, like: impl FnOnce() -> L) -> bool {
        if self.kinds.len() >= KINDS && !self.kinds.contains_key(&kind) {
            self.kinds.retain(|_, window| window.until > now || window.more.is_some());
            if self.kinds.len() >= KINDS {
                return true;
            }
        }
        let window = self.kinds.entry(kind).or_insert(Window {
            until: now.saturating_add(WINDOW_MS),
            written: 0,
            more: None,
        });
        // A window with a sum is ended by `due`, which tells it; until then it goes on counting.
        if now >= window.until && window.more.is_none() {
            *window = Window { until: now.saturating_add(WINDOW_MS), written: 0, more: None };
        }
        if window.written < LINES {
            window.written += 1;
            return true;
        }
        let (_, count) = window.more.get_or_insert_with(|| (like(), 0));
        *count += 1;
        false
    }

    /// The kinds whose window is over, with the number of their lines that were not written.
    pub fn due(&mut self, now: u64) -> Vec<(L, u64)> {
        let over = self.kinds.values_mut().filter(|window| window.until <= now);
        over.filter_map(|window| {
            let more = window.more.take()?;
            window.until = now.saturating_add(FLOOD_MS);
            window.written = 0;
            Some(more)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(noise: &mut Noise<&'static str, String>, kind: &'static str, now: u64, times: usize) -> usize {
        (0..times).filter(|n| noise.admit(kind, now, || format!("{kind} {n}"))).count()
    }

    #[test]
    fn the_first_are_written_the_rest_counted() {
        let mut noise = Noise::default();
        assert_eq!(written(&mut noise, "a", 0, 133), 10);
        assert_eq!(written(&mut noise, "b", 0, 10), 10, "another kind is not affected");
        assert_eq!(noise.due(999), []);
        assert_eq!(noise.due(1000), [("a 10".to_owned(), 123)]);
        assert_eq!(noise.due(1000), [], "told once");
    }

    #[test]
    fn a_flood_is_told_of_less_often() {
        let mut noise = Noise::default();
        let (mut lines, mut sums, mut counted) = (0, 0, 0);
        for now in (0..100_000).step_by(10) {
            lines += written(&mut noise, "a", now, 1);
            for (_, count) in noise.due(now) {
                sums += 1;
                counted += count;
            }
        }
        assert!(lines + sums <= 121 && sums >= 9, "{lines} lines, {sums} sums of 10,000");
        let left = noise.due(u64::MAX).into_iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(lines as u64 + counted + left, 10_000, "every line is written or counted");
    }

    #[test]
    fn after_a_rest_lines_are_written_again() {
        let mut noise = Noise::default();
        assert_eq!(written(&mut noise, "a", 0, 10), 10);
        assert_eq!(written(&mut noise, "a", 1000, 10), 10, "a full window without a sum");
        assert_eq!(written(&mut noise, "a", 1000, 1), 0);
        assert_eq!(noise.due(2000).len(), 1);
        assert_eq!(written(&mut noise, "a", 20_000, 11), 10);
    }

    #[test]
    fn kinds_are_bounded() {
        let mut noise = Noise::default();
        for kind in 0..10 * KINDS {
            assert!(noise.admit(kind, 0, || ()));
        }
        assert_eq!(noise.kinds.len(), KINDS);
        assert!(noise.admit(usize::MAX, 1000, || ()));
        assert_eq!(noise.kinds.len(), 1, "windows that are over are forgotten");
    }
}
