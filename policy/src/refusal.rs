//! What a host's refusal means, and how it and our own are told to the producer (contract 8).
//!
//! A host without structured refusals says why it refused in a code or in English. A [`Classifier`] turns
//! that into the four fields a program can act on, and leaves everything else of the answer as it was. The
//! same judgement serves the answers that are passed on ([`Classifier::translate`]) and the answers to what
//! is sent to the host on our own account ([`Classifier::judge`]).
//!
//! What decides, in this order: the operator's rules (first match wins), the host's own `refusal`, what the
//! host's profile knows, the contract's table. A `refusal` that is not known is never replaced.

mod figure;
mod judge;
mod ours;
mod phrase;
mod rewrite;
#[cfg(test)]
mod tests;

use mcpl_codec::code::{
    CAPABILITY_DENIED, CHANNEL_NOT_PERMITTED, FEATURE_SET_NOT_ENABLED, UNKNOWN_CHANNEL, UNKNOWN_FEATURE_SET,
};
use mcpl_codec::refusal::Kind;
use mcpl_codec::{Lane, Refusal, Reply, raw};
use regex::Regex;

use self::judge::{Read, Said};
pub use self::ours::{Form, Ours, Shortage};
use crate::admission::Learned;
use crate::profile::Profile;

/// One `[[producer.refusals.rule]]` (contract section 2): all that is given must match.
///
/// Only refusals are looked at, so a rule that gives nothing matches every refusal and no acceptance.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The code of an error. A result has none.
    pub code: Option<i64>,
    /// Found in an error's `message`.
    pub message: Option<Regex>,
    /// Found in a result's `reason`, or one message's.
    pub reason: Option<Regex>,
    /// The lane's method.
    pub method: Option<String>,
    /// What such a refusal is.
    pub refusal: Kind,
    /// Whether to resend; absent: as the kind has it.
    pub retryable: Option<bool>,
    /// The time in milliseconds where the host gives none.
    pub retry_after_ms: Option<u64>,
    /// The limit in bytes where the host gives none.
    pub limit_bytes: Option<u64>,
}

impl Rule {
    fn matches(&self, lane: Lane, said: &Said<'_>) -> bool {
        let (message, reason) = match said.manner {
            judge::Manner::Error(_) => (said.words.as_deref(), None),
            judge::Manner::Result => (None, said.words.as_deref()),
        };
        let found = |pattern: &Option<Regex>, text: Option<&str>| {
            pattern.as_ref().is_none_or(|pattern| text.is_some_and(|text| pattern.is_match(text)))
        };
        self.code.is_none_or(|code| said.code() == Some(code))
            && self.method.as_ref().is_none_or(|method| method == lane.method())
            && found(&self.message, message)
            && found(&self.reason, reason)
    }

    fn meaning(&self) -> Refusal {
        let by_kind = judge::bare(self.refusal.clone(), self.retry_after_ms);
        Refusal {
            retryable: self.retryable.or(by_kind.retryable),
            limit_bytes: self.limit_bytes.filter(|limit| *limit > 0),
            ..by_kind
        }
    }
}

/// What is known of a refused event that its refusal does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct About {
    /// The size of the event's content in JCS bytes; 0 where nobody measured.
    pub content_bytes: usize,
    /// The event's channel is known not to be registered with the host (contract 5).
    pub unregistered: bool,
    /// The event reached the host with its `coalesce` member: for such a one `duplicate` is no reason, since
    /// a host that coalesces answers a repeat with the first result.
    pub coalesced: bool,
}

/// What a host's answer to an event comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// `accepted: true`.
    Accepted,
    /// Refused.
    Refused {
        /// What it means, with the figures that hold: the host's where it gave usable ones.
        refusal: Refusal,
        /// The host's own code, if it refused with an error that has one.
        code: Option<i64>,
    },
    /// Neither: no verdict can be read from it.
    Unreadable,
}

impl Verdict {
    /// What the answer teaches of its scope (contract 5): an acceptance opens it, five codes close it,
    /// nothing else says anything.
    pub fn teaches(&self) -> Option<Learned> {
        match self {
            Self::Accepted => Some(Learned::Open),
            Self::Refused {
                code:
                    Some(
                        FEATURE_SET_NOT_ENABLED
                        | CAPABILITY_DENIED
                        | UNKNOWN_FEATURE_SET
                        | CHANNEL_NOT_PERMITTED
                        | UNKNOWN_CHANNEL,
                    ),
                ..
            } => Some(Learned::Closed),
            Self::Refused { .. } | Self::Unreadable => None,
        }
    }

    /// Whether an error with this verdict for a whole batch of `messages` condemns none of them, so that they
    /// are to be sent one at a time (contract 8.6).
    pub fn splits(&self, messages: usize) -> bool {
        let Self::Refused { refusal, code } = self else { return false };
        let by_kind = matches!(refusal.kind, Kind::Invalid | Kind::TooLarge | Kind::UnknownChannel);
        (2..=100).contains(&messages) && (by_kind || *code == Some(CHANNEL_NOT_PERMITTED))
    }
}

/// Classifies a host's refusals: the operator's rules, then the host's profile, then the contract's table.
#[derive(Debug, Clone)]
pub struct Classifier {
    rules: Vec<Rule>,
    profile: Profile,
    retry_after_ms: u64,
}

impl Classifier {
    /// `retry_after_ms` is the time for `unavailable` where nobody has a better one
    /// (`[producer.refusals] retry_after_ms`).
    pub fn new(rules: Vec<Rule>, profile: Profile, retry_after_ms: u64) -> Self {
        Self { rules, profile, retry_after_ms }
    }

    /// What the answer to one event comes to (contract 8.1). On the channel lane that is the answer to a
    /// batch of one: its only result, or the error for it.
    pub fn judge(&self, lane: Lane, reply: &Reply<'_>, about: About) -> Verdict {
        let first = match reply {
            Reply::Result(result) if matches!(lane, Lane::Channel) => {
                raw::member(result, "results").map(|results| raw::elements(results).next().unwrap_or(b"null"))
            }
            _ => None,
        };
        self.verdict(lane, first.map_or_else(|| Read::reply(reply), Read::result), about)
    }

    /// What one message's result, an element of `results`, comes to.
    pub fn judge_message(&self, result: &[u8], about: About) -> Verdict {
        self.verdict(Lane::Channel, Read::result(result), about)
    }

    fn verdict(&self, lane: Lane, read: Read<'_>, about: About) -> Verdict {
        match read {
            Read::Accepted => Verdict::Accepted,
            Read::Unreadable => Verdict::Unreadable,
            Read::Refused(said) => {
                Verdict::Refused { refusal: self.weigh(lane, &said, about).refusal, code: said.code() }
            }
        }
    }
}
