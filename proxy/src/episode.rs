//! Trouble that goes on: said when it begins and once a minute from then on, not each time (contract 10).

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// It is said again at most this often; after as long without it the next is a new one.
pub const AGAIN: Duration = Duration::from_mins(1);

static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// One kind of trouble of one thing, which may happen again and again.
#[derive(Debug, Default)]
pub struct Episode {
    /// When it was said last, since some origin.
    said: Cell<Option<Duration>>,
    /// How often it happened since and was not said.
    unsaid: Cell<u64>,
}

impl Episode {
    /// It happened. `say` is asked to say so at the first time and once in [`AGAIN`] from then on; it is told how
    /// often it happened meanwhile without being said, if it did.
    pub fn happens(&self, say: impl FnOnce(Option<u64>)) {
        self.happens_at(ORIGIN.elapsed(), say);
    }

    fn happens_at(&self, now: Duration, say: impl FnOnce(Option<u64>)) {
        if self.said.get().is_some_and(|said| now.saturating_sub(said) < AGAIN) {
            self.unsaid.set(self.unsaid.get().saturating_add(1));
        } else {
            self.said.set(Some(now));
            say(Some(self.unsaid.take()).filter(|unsaid| *unsaid > 0));
        }
    }

    /// It is over: the next time is said at once.
    pub fn over(&self) {
        self.said.set(None);
        self.unsaid.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_and_again_after_a_minute_with_what_was_not() {
        let (episode, said) = (Episode::default(), Cell::new(Vec::new()));
        let happens = |ms| {
            episode.happens_at(Duration::from_millis(ms), |unsaid| {
                let mut all = said.take();
                all.push((ms, unsaid));
                said.set(all);
            });
        };
        [0, 1, 59_999, 60_000, 60_001, 119_999, 120_000, 120_001].into_iter().for_each(happens);
        assert_eq!(said.take(), [(0, None), (60_000, Some(2)), (120_000, Some(2))]);
        episode.over();
        [120_002, 120_003].into_iter().for_each(happens);
        assert_eq!(said.take(), [(120_002, None)], "a new one is said at once, without the old one's count");
    }
}
