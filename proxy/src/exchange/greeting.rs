//! `initialize`: what the host is, and what the sidecar adds to what it says (contract 4).

use mcpl_codec::{Envelope, Line, Splice, raw};
use mcpl_policy::engine::{Host, Stance};
use mcpl_policy::settings::Mode;

use super::Terms;

/// The leaves of `eventCoalescing`.
const LEAVES: [&str; 4] = ["pushEvents", "channelsIncoming", "deferred", "channelScopedPush"];
/// Where the host says that it speaks MCPL.
const PATH: [&str; 3] = ["capabilities", "experimental", "mcpl"];

/// A host's `initialize`, read.
pub(super) struct Greeting {
    pub(super) host: Host,
    /// It declares structured refusals itself (contract 4.4).
    pub(super) structured: bool,
    /// What the producer gets in its place; `None`: as it came.
    pub(super) line: Option<Line>,
}

/// Why an `initialize` cannot be read in one way only (contract 3.3).
pub(super) struct Ambiguous;

impl Greeting {
    pub(super) fn read(line: &Line, envelope: &Envelope<'_>, terms: &Terms) -> Result<Self, Ambiguous> {
        let apart = Self { host: terms.host(Stance::Apart, None, None), structured: false, line: None };
        let mut object = envelope.params.unwrap_or(b"null");
        let mut above = vec![(line.text(), "params")];
        for name in PATH {
            match raw::only(object, name) {
                Ok(Some(value)) => {
                    above.push((object, name));
                    object = value;
                }
                Ok(None) => return Ok(apart),
                Err(_) => return Err(Ambiguous),
            }
        }
        if raw::kind(object) != raw::Kind::Object {
            return Ok(apart);
        }
        let coalescing = raw::only(object, "eventCoalescing").map_err(|_| Ambiguous)?;
        let admission = raw::only(object, "eventAdmission").map_err(|_| Ambiguous)?;
        let version = raw::member(object, "version").and_then(raw::string);
        let structured = admission
            .and_then(|object| raw::member(object, "structuredRefusals"))
            .is_some_and(|value| raw::kind(value) == raw::Kind::Bool(true));
        let hosts_limit = admission
            .and_then(|object| raw::member(object, "maxContentBytes"))
            .and_then(raw::integer)
            .and_then(|limit| u64::try_from(limit).ok())
            .filter(|&limit| limit > 0);
        let itself = coalescing.is_some_and(coalesces);
        let stance = match terms.mode {
            Mode::Off | Mode::Observe => Stance::Aside,
            Mode::Auto if itself => Stance::Aside,
            Mode::Auto | Mode::Always => Stance::Over,
        };
        let host = terms.host(stance, hosts_limit, version.as_deref());
        let mut splice = Splice::new(object);
        let mut changed = false;
        if stance == Stance::Over {
            let leaves = LEAVES.map(|leaf| format!("\"{leaf}\":true")).join(",");
            let value = format!("{{{leaves},\"retryWindowMs\":{}}}", terms.retry_window_ms);
            splice.set_member(object, "eventCoalescing", value.into_bytes());
            changed = true;
        }
        if !structured && !matches!(terms.mode, Mode::Off | Mode::Observe) {
            let ours = Some(terms.max_content_bytes).filter(|&limit| limit > 0);
            let limit = match (ours, hosts_limit) {
                (Some(ours), Some(hosts)) => Some(ours.min(hosts)),
                (ours, hosts) => ours.or(hosts),
            };
            let limit = limit.map_or_else(String::new, |limit| format!(",\"maxContentBytes\":{limit}"));
            let value = format!("{{\"structuredRefusals\":true{limit}}}");
            splice.set_member(object, "eventAdmission", value.into_bytes());
            changed = true;
        }
        // From the inside out, so that repeats which agreed do not differ now.
        let line = changed.then(|| {
            let grown = above.into_iter().rev().fold(splice.finish(), |value, (object, name)| {
                Splice::new(object).set_member(object, name, value).finish()
            });
            Line::from_vec(grown)
        });
        Ok(Self { host, structured, line })
    }
}

/// Contract 4.3: `true`, or an object whose four leaves are all true.
fn coalesces(value: &[u8]) -> bool {
    let yes = |value: &[u8]| raw::kind(value) == raw::Kind::Bool(true);
    yes(value) || LEAVES.iter().all(|leaf| raw::member(value, leaf).is_some_and(yes))
}
