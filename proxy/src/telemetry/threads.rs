//! Which spans an accepted occurrence stands for, until it is handed over: its own, and those of what was folded
//! into it (contract 10.1).

use std::num::NonZeroUsize;

use lru::LruCache;

use super::context::Carried;

/// Occurrences whose spans are remembered at once; past it the least recently used are handed over without links.
pub const OCCURRENCES: usize = 8_192;

/// Spans remembered of one occurrence, the newest; as many as a span has links.
pub const FOLDED: usize = 128;

/// The spans of what is held, by `eventId`.
#[derive(Debug)]
pub struct Threads {
    known: LruCache<Box<str>, Vec<Carried>>,
}

impl Default for Threads {
    fn default() -> Self {
        Self { known: LruCache::new(NonZeroUsize::new(OCCURRENCES).unwrap_or(NonZeroUsize::MIN)) }
    }
}

impl Threads {
    /// An occurrence comes; false if it came before, and is known by the span it had then.
    pub fn note(&mut self, event_id: &str, carried: Carried) -> bool {
        let fresh = !self.known.contains(event_id);
        if fresh {
            self.known.put(event_id.into(), vec![carried]);
        }
        fresh
    }

    /// It took the place of another.
    pub fn fold(&mut self, event_id: &str, prior: &str) {
        if event_id == prior {
            return;
        }
        let Some(mut spans) = self.known.pop(prior) else { return };
        if let Some(own) = self.known.get_mut(event_id) {
            spans.append(own);
            let past = spans.len().saturating_sub(FOLDED);
            spans.drain(..past);
            *own = spans;
        }
    }

    /// The spans it stands for, the oldest first.
    pub fn of(&mut self, event_id: &str) -> &[Carried] {
        self.known.get(event_id).map_or(&[], Vec::as_slice)
    }

    /// It is refused, or ended.
    pub fn forget(&mut self, event_id: &str) {
        self.known.pop(event_id);
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

    use super::*;

    fn span(number: u64) -> Carried {
        let (trace, state) = (TraceId::from(1), TraceState::default());
        let span = SpanContext::new(trace, SpanId::from(number), TraceFlags::SAMPLED, false, state);
        Carried { span, baggage: None }
    }

    #[test]
    fn what_is_folded_goes_along_and_everything_is_bounded() {
        let mut threads = Threads::default();
        assert!(threads.note("a", span(1)) && threads.note("b", span(2)) && !threads.note("b", span(9)));
        threads.fold("b", "a");
        threads.fold("b", "nobody");
        threads.fold("b", "b");
        assert_eq!(threads.of("b"), [span(1), span(2)]);
        assert!(threads.of("a").is_empty());
        for number in 0..200 {
            let (this, last) = (format!("n{number}"), number - 1);
            threads.note(&this, span(number as u64 + 10));
            threads.fold(&this, &format!("n{last}"));
        }
        let all = threads.of("n199");
        assert_eq!((all.len(), all.last()), (FOLDED, Some(&span(209))));
        threads.forget("n199");
        for number in 0..=OCCURRENCES {
            threads.note(&number.to_string(), span(1));
        }
        assert!(threads.of("0").is_empty() && threads.of("b").is_empty());
    }
}
