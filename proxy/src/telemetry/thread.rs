//! Spans of what is held, as the engine keeps them: its marks and their luggage (contract 10.1).
//!
//! Of what was folded the ids are kept, and of the occurrence itself what its receivers are handed on as well: its
//! `tracestate` and `baggage`.

use mcpl_policy::thread::{MAX_LUGGAGE_BYTES, Mark, Thread};
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

use super::context::{BAGGAGE_BYTES, Carried, STATE_BYTES};

/// Bytes in front of a luggage: how long its `tracestate` is.
const LENGTH: usize = size_of::<u16>();

const _: () = assert!(LENGTH + STATE_BYTES + BAGGAGE_BYTES <= MAX_LUGGAGE_BYTES, "all that is carried fits");

/// What an occurrence whose span is this one is kept with.
pub fn thread(carried: &Carried) -> Box<Thread> {
    let state = carried.span.trace_state().header();
    let state = if state.len() > STATE_BYTES { "" } else { &state };
    let baggage = carried.baggage.as_deref().unwrap_or_default();
    let mut luggage = Vec::new();
    if !(state.is_empty() && baggage.is_empty()) {
        luggage.reserve_exact(LENGTH + state.len() + baggage.len());
        luggage.extend_from_slice(&u16::try_from(state.len()).unwrap_or_default().to_le_bytes());
        luggage.extend_from_slice(state.as_bytes());
        luggage.extend_from_slice(baggage);
    }
    Box::new(Thread::new(mark(&carried.span), &luggage))
}

/// The span of the occurrence itself, and what it hands on; `None`: its trace is not kept.
pub fn own(thread: &Thread) -> Option<Carried> {
    let (mark, luggage) = thread.own()?;
    let (state, baggage) = unpacked(luggage).unwrap_or_default();
    Some(Carried { span: span(mark, state), baggage })
}

/// The spans of what was folded into it, the oldest first.
pub fn folded(thread: &Thread) -> impl Iterator<Item = SpanContext> {
    thread.folded().map(|mark| span(mark, TraceState::default()))
}

fn unpacked(luggage: &[u8]) -> Option<(TraceState, Option<Box<[u8]>>)> {
    let (length, rest) = luggage.split_first_chunk::<LENGTH>()?;
    let (state, baggage) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    let state = std::str::from_utf8(state).ok().and_then(|state| state.parse().ok()).unwrap_or_default();
    Some((state, (!baggage.is_empty()).then(|| baggage.into())))
}

fn mark(span: &SpanContext) -> Mark {
    let mut mark = Mark([0; 24]);
    let (trace, own) = mark.0.split_at_mut(16);
    trace.copy_from_slice(&span.trace_id().to_bytes());
    own.copy_from_slice(&span.span_id().to_bytes());
    mark
}

/// Only what is sampled has a mark.
fn span(Mark(mark): Mark, state: TraceState) -> SpanContext {
    let (mut trace, mut own) = ([0; 16], [0; 8]);
    trace.copy_from_slice(&mark[..16]);
    own.copy_from_slice(&mark[16..]);
    let (trace, own) = (TraceId::from_bytes(trace), SpanId::from_bytes(own));
    SpanContext::new(trace, own, TraceFlags::SAMPLED, false, state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(number: u64, state: &str, baggage: Option<&str>) -> Carried {
        let mark = Mark(std::array::from_fn(|at| number as u8 + at as u8));
        let baggage = baggage.map(|baggage| baggage.as_bytes().into());
        Carried { span: span(mark, state.parse().unwrap()), baggage }
    }

    #[test]
    fn what_is_kept_is_what_it_was_and_of_what_was_folded_the_ids() {
        for (state, baggage) in [
            ("", None),
            ("congo=t61,rojo=1", None),
            ("", Some(r#""a=1""#)),
            ("congo=t61", Some(r#""a=\u0031""#)),
        ] {
            let carried = carried(1, state, baggage);
            let mut kept = thread(&carried);
            assert_eq!(own(&kept), Some(carried));
            kept.take_in(*thread(&self::carried(2, "congo=t61", Some(r#""b=2""#))));
            let ids: Vec<SpanContext> = folded(&kept).collect();
            assert_eq!(ids, [self::carried(2, "", None).span]);
        }
    }

    #[test]
    fn the_longest_that_is_read_is_kept_whole() {
        let (key, baggage) = ("k".repeat(250), format!("\"{}\"", "b".repeat(BAGGAGE_BYTES - 2)));
        let state = format!("{key}={},{}={}", "v".repeat(200), "a".repeat(9), "b".repeat(STATE_BYTES - 462));
        assert_eq!(state.len(), STATE_BYTES);
        let carried = carried(1, &state, Some(&baggage));
        assert_eq!(own(&thread(&carried)), Some(carried));
    }

    #[test]
    fn a_luggage_that_says_nothing_is_as_none() {
        for luggage in [&b""[..], b"\x01", b"\x05\x00abc", b"\x01\x00\xff"] {
            let kept = own(&Thread::new(Mark([1; 24]), luggage)).unwrap();
            assert_eq!(
                (kept.span.trace_state().header(), kept.baggage),
                (String::new(), None),
                "{luggage:?}"
            );
        }
    }
}
