//! What a host may say to a forward.

use bytes::Bytes;
use mcpl_codec::Refusal;
use mcpl_codec::refusal::Kind;
use mcpl_policy::engine::{HostReply, Stance};
use mcpl_policy::profile::Dedup;
use mcpl_policy::refusal::Verdict;

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Say {
    Accepted,
    /// `accepted: false`, reason `duplicate`.
    Duplicate,
    /// Later, with the host's figure where it gives one.
    Unavailable(Option<u64>),
    /// An error of this code, classified as the contract's table has it.
    Code(i64),
    /// A result that refuses.
    Result(Kind, Option<bool>),
    /// Nothing that can be read.
    Unreadable,
}

/// What an answer means for work of ours (contract 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Delivered,
    Later(u64),
    Changed,
    Duplicate,
    Never,
}

/// The codes a host may refuse with.
pub(crate) const CODES: [i64; 10] =
    [-32001, -32002, -32003, -32017, -32023, -32602, -32600, -32601, -32031, -32030];

impl Say {
    pub(crate) fn meaning(&self) -> Meaning {
        match self {
            Self::Accepted => Meaning::Delivered,
            Self::Duplicate => Meaning::Duplicate,
            Self::Unavailable(figure) => Meaning::Later(figure.unwrap_or(0)),
            Self::Code(-32001 | -32002 | -32017 | -32023) | Self::Result(Kind::UnknownChannel, _) => {
                Meaning::Changed
            }
            Self::Code(-32030)
            | Self::Unreadable
            | Self::Result(Kind::NotPermitted | Kind::Other(_), Some(true)) => Meaning::Later(0),
            Self::Code(_) | Self::Result(..) => Meaning::Never,
        }
    }

    /// Whether it closes the scope it speaks of (contract 5).
    pub(crate) fn closes(&self) -> bool {
        matches!(self, Self::Code(-32001 | -32002 | -32003 | -32017 | -32023))
    }

    pub(crate) fn reply(&self) -> HostReply {
        let refused = |refusal, code| Verdict::Refused { refusal, code };
        let (verdict, text) = match self {
            Self::Accepted => (Verdict::Accepted, r#"{"accepted":true}"#),
            Self::Duplicate => {
                (refused(Refusal::duplicate(), None), r#"{"accepted":false,"reason":"duplicate"}"#)
            }
            Self::Unavailable(figure) => {
                let refusal = Refusal { retry_after_ms: *figure, ..Refusal::unavailable(0) };
                (refused(refusal, None), r#"{"accepted":false}"#)
            }
            Self::Code(code) => {
                let refusal = match code {
                    -32003 | -32602 | -32600 => Refusal::invalid(),
                    -32023 => Refusal::unknown_channel(),
                    -32030 => Refusal { retry_after_ms: None, ..Refusal::unavailable(0) },
                    -32031 => Refusal::too_large(1),
                    _ => Refusal::not_permitted(),
                };
                (refused(refusal, Some(*code)), r#"{"code":-32000,"message":"no"}"#)
            }
            Self::Result(kind, retryable) => {
                let refusal = Refusal { kind: kind.clone(), retryable: *retryable, ..Refusal::duplicate() };
                (refused(refusal, None), r#"{"accepted":false}"#)
            }
            Self::Unreadable => (Verdict::Unreadable, "7"),
        };
        HostReply { verdict, text: Bytes::from(text), error: matches!(self, Self::Code(_)) }
    }
}

/// A host that the sidecar coalesces for.
pub(crate) const fn legacy(dedup: Dedup) -> mcpl_policy::engine::Host {
    mcpl_policy::engine::Host {
        stance: Stance::Over,
        max_content_bytes: None,
        dedup,
        enforces_policy: false,
        dies_of_malformed: false,
    }
}

/// The producer's `initialize` result: two feature sets that need `pushEvents`.
pub(crate) const DECLARED: &[u8] = br#"{"capabilities":{"experimental":{"mcpl":{"featureSets":
    {"fs-a":{"uses":["pushEvents"]},"fs-b":{"uses":["pushEvents"]}}}}}}"#;

/// The params of a `featureSets/update` that grants all of it.
pub(crate) const GRANTED: &[u8] = br#"{"effectiveCapabilities":["pushEvents","channels.incoming"]}"#;

/// The channels there are.
pub(crate) const CHANNELS: [&str; 2] = ["chan-a", "chan-b"];
