//! Trace context in a message's `params._meta`: `traceparent`, `tracestate`, `baggage`, unprefixed (contract 10.1).

use mcpl_codec::{Splice, raw};
use memchr::memmem;
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

const META: &str = "_meta";
const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";

/// The longest `tracestate` that is read, in bytes; a longer one is as none.
pub const STATE_BYTES: usize = 512;

/// The longest `baggage` that is carried on, in bytes; a longer one is as none.
pub const BAGGAGE_BYTES: usize = 8192;

/// The context that a message carries, or that our span of it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// The span.
    pub span: SpanContext,
    /// The raw string of its `baggage`: what the next message may carry on. Nobody here reads it.
    pub baggage: Option<Box<[u8]>>,
}

impl Carried {
    /// What the params of a message carry; a `traceparent` that is none counts as none.
    pub fn read(params: &[u8]) -> Option<Self> {
        // Looked for before it is read: params may be large, and most carry none.
        memmem::find(params, b"\"traceparent\"")?;
        let meta = raw::member(params, META)?;
        let string = |name| raw::member(meta, name).and_then(raw::string);
        let state = string(STATE).filter(|state| state.len() <= STATE_BYTES);
        let state = state.and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
        let span = parse(&string(PARENT)?, state)?;
        let baggage = raw::member(meta, BAGGAGE).filter(|raw| raw.len() <= BAGGAGE_BYTES);
        let baggage = baggage.filter(|raw| raw::kind(raw) == raw::Kind::String);
        Some(Self { span, baggage: baggage.map(Into::into) })
    }

    /// The same trace, from this span of ours on.
    #[must_use]
    pub fn at(&self, span: SpanContext) -> Self {
        Self { span, baggage: self.baggage.clone() }
    }

    /// The params with this context in their `_meta`; what else is in there stays. `None` where they cannot carry
    /// one: they, or their `_meta`, are no object.
    pub fn write(&self, params: &[u8]) -> Option<Vec<u8>> {
        if raw::kind(params) != raw::Kind::Object {
            return None;
        }
        let meta = raw::member(params, META).unwrap_or(b"{}");
        if raw::kind(meta) != raw::Kind::Object {
            return None;
        }
        let mut splice = Splice::new(meta);
        splice.set_member(meta, PARENT, raw::quote(&spell(&self.span)).into_bytes());
        let state = self.span.trace_state().header();
        if state.is_empty() {
            splice.remove_member(meta, STATE);
        } else {
            splice.set_member(meta, STATE, raw::quote(&state).into_bytes());
        }
        if let Some(baggage) = &self.baggage {
            splice.set_member(meta, BAGGAGE, baggage.to_vec());
        }
        let meta = splice.finish();
        Some(Splice::new(params).set_member(params, META, meta).finish())
    }
}

/// A `traceparent` of W3C Trace Context; of a later version what this one knows of it.
fn parse(text: &str, state: TraceState) -> Option<SpanContext> {
    let mut parts = text.split('-');
    let (version, trace) = (hex(parts.next()?, 2)?, hex(parts.next()?, 32)?);
    let (span, flags) = (hex(parts.next()?, 16)?, hex(parts.next()?, 2)?);
    if version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    Some(SpanContext::new(trace, span, flags, true, state)).filter(SpanContext::is_valid)
}

fn hex(text: &str, digits: usize) -> Option<&str> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == digits && text.bytes().all(is_hex)).then_some(text)
}

fn spell(span: &SpanContext) -> String {
    format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn read(parent: &str) -> Option<Carried> {
        Carried::read(format!(r#"{{"_meta":{{"traceparent":"{parent}"}}}}"#).as_bytes())
    }

    #[test]
    fn only_what_is_a_traceparent_is_read_as_one() {
        let good = read(GOOD).unwrap().span;
        assert_eq!(format!("{}", good.trace_id()), "0af7651916cd43dd8448eb211c80319c");
        assert!(good.is_sampled() && good.is_remote());
        assert!(!read(&GOOD.replace("-01", "-00")).unwrap().span.is_sampled());
        assert!(read(&GOOD.replacen("00", "01", 1)).is_some(), "a later version");
        assert!(read(&format!("{}-more", GOOD.replacen("00", "cc", 1))).is_some());
        for bad in [
            "",
            "x",
            &GOOD[1..],
            &format!("{GOOD}-more"),
            &GOOD.replacen("00", "ff", 1),
            &GOOD.replace("0af7", "0AF7"),
            &GOOD.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &GOOD.replace("b7ad6b7169203331", &"0".repeat(16)),
            &GOOD.replace("-01", "-1"),
        ] {
            assert!(read(bad).is_none(), "{bad}");
        }
        assert!(Carried::read(br#"{"_meta":{"traceparent":7}}"#).is_none());
        assert!(Carried::read(br#"{"_meta":"traceparent","traceparent":"x"}"#).is_none());
    }

    #[test]
    fn what_is_written_is_read_again_and_the_rest_keeps_its_bytes() {
        let params =
            br#"{"a": 1e400,"_meta":{"x":[1, 2],"traceparent":"old","tracestate":"old=1"},"b":"\u0062"}"#;
        let state = "congo=t61rcWkgMzE";
        let from = format!(
            r#"{{"_meta":{{"tracestate":"{state}","traceparent":"{GOOD}","baggage":"user=\u0061lice"}}}}"#
        );
        let carried = Carried::read(from.as_bytes()).unwrap();
        let written = carried.write(params).unwrap();
        let text = String::from_utf8(written.clone()).unwrap();
        assert!(
            text.starts_with(r#"{"a": 1e400,"_meta":{"x":[1, 2],"#) && text.ends_with(r#","b":"\u0062"}"#),
            "{text}"
        );
        assert!(text.contains(r#""baggage":"user=\u0061lice""#), "{text}");
        assert_eq!(Carried::read(&written), Some(carried.clone()));
        let bare = carried.at(SpanContext::new(
            carried.span.trace_id(),
            carried.span.span_id(),
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        ));
        let bare = String::from_utf8(bare.write(params).unwrap()).unwrap();
        assert!(!bare.contains("old"), "{bare}");
        assert_eq!(carried.write(b"{}").map(|text| Carried::read(&text).is_some()), Some(true));
        assert_eq!((carried.write(b"[1]"), carried.write(br#"{"_meta":1}"#)), (None, None));
    }
}
