//! Whether a trace is kept, decided before anything of it is made (`OTEL_TRACES_SAMPLER`; contract 10.1).

use opentelemetry::trace::{SpanContext, TraceId};

/// A decision for traces that begin here, and whether those that begin elsewhere are decided there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    follows_parent: bool,
    /// Of 2^63; the whole of it: every trace.
    below: u64,
}

/// Every trace.
const ALL: u64 = 1 << 63;

impl Sampler {
    /// As the variables say; where they say nothing that is known, every trace that its parent does not leave out.
    ///
    /// # Errors
    /// What is wrong with them; then it is as if they were not there.
    pub fn of(name: Option<&str>, argument: Option<&str>) -> Result<Self, String> {
        let name = name.unwrap_or("parentbased_always_on");
        let (follows_parent, rule) = match name.strip_prefix("parentbased_") {
            Some(rule) => (true, rule),
            None => (false, name),
        };
        let below = match rule {
            "always_on" => ALL,
            "always_off" => 0,
            "traceidratio" => {
                let ratio = argument.map_or(Ok(1.0), str::parse::<f64>);
                let ratio = ratio.ok().filter(|ratio| (0.0..=1.0).contains(ratio));
                let ratio = ratio.ok_or("OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1")?;
                (ratio * ALL as f64) as u64
            }
            _ => {
                return Err(
                    "OTEL_TRACES_SAMPLER is none of always_on, always_off, traceidratio, each also with \
                             parentbased_ in front"
                        .to_owned(),
                );
            }
        };
        Ok(Self { follows_parent, below })
    }

    /// Whether a span of this trace is kept whose parent is `parent`.
    pub fn keeps(self, parent: Option<&SpanContext>, trace: TraceId) -> bool {
        match parent {
            Some(parent) if self.follows_parent => parent.is_sampled(),
            _ => {
                let bytes = trace.to_bytes();
                let low = bytes.last_chunk::<8>().map_or(0, |low| u64::from_be_bytes(*low));
                (low >> 1) < self.below
            }
        }
    }
}

impl Default for Sampler {
    fn default() -> Self {
        Self { follows_parent: true, below: ALL }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{SpanId, TraceFlags, TraceState};

    use super::*;

    #[test]
    fn a_parent_decides_where_it_is_asked_and_the_trace_elsewhere() {
        let trace = |low: u64| TraceId::from(u128::from(low) | (7 << 64));
        let parent = |flags| SpanContext::new(trace(1), SpanId::from(1), flags, true, TraceState::default());
        let (kept, left) = (parent(TraceFlags::SAMPLED), parent(TraceFlags::default()));
        let all = Sampler::of(None, None).unwrap();
        assert_eq!(all, Sampler::default());
        assert!(all.keeps(None, trace(u64::MAX)) && all.keeps(Some(&kept), trace(1)));
        assert!(!all.keeps(Some(&left), trace(1)));
        let tenth = Sampler::of(Some("traceidratio"), Some("0.1")).unwrap();
        assert!(
            tenth.keeps(Some(&left), trace(u64::MAX / 11)) && !tenth.keeps(Some(&kept), trace(u64::MAX / 9))
        );
        let off = Sampler::of(Some("parentbased_always_off"), None).unwrap();
        assert!(!off.keeps(None, trace(0)) && off.keeps(Some(&kept), trace(0)));
        assert!(Sampler::of(Some("traceidratio"), None).unwrap().keeps(None, trace(u64::MAX)));
        for (name, argument) in [("traceidratio", "2"), ("traceidratio", "NaN"), ("xray", "1")] {
            assert!(Sampler::of(Some(name), Some(argument)).is_err(), "{name} {argument}");
        }
    }
}
