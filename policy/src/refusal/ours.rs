//! Our own refusals and the one place where they become wire text (contract 8.10).

use mcpl_codec::code::{INVALID_PARAMS, TOO_LARGE};
use mcpl_codec::{Fault, Line, Refusal, answer, raw};

use crate::admission::Authority;

/// Why we refuse an event ourselves.
#[derive(Debug, Clone, PartialEq)]
pub enum Ours {
    /// A coalesced event whose `coalesce` or shape is malformed (contract 6.1 and 5).
    Malformed(Fault),
    /// Content that the host would die of, coalesced or not (contract 5), or members that can be read in two
    /// ways (contract 3.3).
    Unfit(Fault),
    /// The `eventId` of an admitted occurrence with other content (contract 6.2).
    Conflict,
    /// The host would not admit it (contract 5).
    Authority(Authority),
    /// The host's initial policy exchange is not complete (contract 8.9).
    BeforePolicy(Authority),
    /// Content over the limit of this many bytes (contract 8.7).
    TooLarge(u64),
    /// It cannot be taken in now (contract 8.8, 6.7, 9.1).
    Unavailable(Shortage, u64),
}

/// What there is too little of for new work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shortage {
    /// Tokens of a rate limit.
    Rate,
    /// Room for held work.
    Room,
    /// Room in the journal, or a disk that takes it.
    Disk,
    /// Time: the session is being drained.
    Draining,
}

impl Shortage {
    fn reason(self) -> &'static str {
        match self {
            Self::Rate => "rate limit reached",
            Self::Room => "no room to hold more work",
            Self::Disk => "the journal cannot take more work",
            Self::Draining => "draining, no new work is taken",
        }
    }
}

/// The form of an answer on `push/event`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// A result with `accepted: false`: this JSON text.
    Result(Vec<u8>),
    /// An error.
    Error {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
        /// Its `data`: JSON text of an object.
        data: String,
    },
}

impl Ours {
    /// The classification.
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Malformed(_) | Self::Unfit(_) | Self::Conflict => Refusal::invalid(),
            Self::Authority(authority) => authority.refusal(),
            Self::BeforePolicy(_) => Refusal { retryable: Some(true), ..Refusal::not_permitted() },
            Self::TooLarge(limit) => Refusal::too_large((*limit).max(1)),
            Self::Unavailable(_, retry_after_ms) => Refusal::unavailable(*retry_after_ms),
        }
    }

    /// The form on `push/event`: malformed and conflict are errors `-32602`, authority has its own code, too
    /// large is `-32031`, and what is unavailable is a result.
    pub fn on_push(&self) -> Form {
        let members = self.refusal().members();
        match self {
            Self::Malformed(fault) | Self::Unfit(fault) => Form::Error {
                code: INVALID_PARAMS,
                message: format!("Invalid params: {fault}"),
                data: format!(
                    r#"{{"field":{},"reason":{},{members}}}"#,
                    raw::quote(&fault.field),
                    raw::quote(&fault.reason)
                ),
            },
            Self::Conflict => Form::Error {
                code: INVALID_PARAMS,
                message: self.reason(),
                data: format!(r#"{{"field":"eventId","reason":"event_id_conflict",{members}}}"#),
            },
            Self::Authority(authority) => {
                Form::Error { code: authority.code(), message: authority.message(), data: authority.data() }
            }
            Self::BeforePolicy(authority) => Form::Error {
                code: authority.code(),
                message: self.reason(),
                data: authority.data_with(&self.refusal()),
            },
            Self::TooLarge(_) => {
                Form::Error { code: TOO_LARGE, message: self.reason(), data: format!("{{{members}}}") }
            }
            Self::Unavailable(..) => Form::Result(
                format!(r#"{{"accepted":false,"reason":{},{members}}}"#, raw::quote(&self.reason()))
                    .into_bytes(),
            ),
        }
    }

    /// The answer on `push/event` to the request of this raw id.
    pub fn push_answer(&self, id: &[u8]) -> Line {
        match self.on_push() {
            Form::Result(result) => answer::result(id, &result),
            Form::Error { code, message, data } => answer::error(id, code, &message, Some(data.as_bytes())),
        }
    }

    /// The form on `channels/incoming`: always one message's result. `message_id` is the raw text of its own.
    pub fn on_channel(&self, message_id: Option<&[u8]>) -> Vec<u8> {
        let mut result = vec![b'{'];
        if let Some(id) = message_id {
            result.extend_from_slice(br#""messageId":"#);
            result.extend_from_slice(id);
            result.push(b',');
        }
        let reason = match self {
            Self::Malformed(_) => "coalesce_invalid".to_owned(),
            Self::Conflict => "event_id_conflict".to_owned(),
            _ => self.reason(),
        };
        let tail =
            format!(r#""accepted":false,"reason":{},{}}}"#, raw::quote(&reason), self.refusal().members());
        result.extend_from_slice(tail.as_bytes());
        result
    }

    /// The cause in one word, of a closed set: what a log may say of it.
    pub const fn cause(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Unfit(_) => "unfit",
            Self::Conflict => "conflict",
            Self::Authority(_) => "authority",
            Self::BeforePolicy(_) => "before-policy",
            Self::TooLarge(_) => "size",
            Self::Unavailable(Shortage::Rate, _) => "rate",
            Self::Unavailable(Shortage::Room, _) => "room",
            Self::Unavailable(Shortage::Disk, _) => "journal",
            Self::Unavailable(Shortage::Draining, _) => "draining",
        }
    }

    /// The reason in English.
    pub fn reason(&self) -> String {
        match self {
            Self::Malformed(fault) | Self::Unfit(fault) => fault.to_string(),
            Self::Conflict => "event_id_conflict: the same eventId came with other content".to_owned(),
            Self::Authority(authority) => authority.message(),
            Self::BeforePolicy(_) => "the host's initial policy is not yet established".to_owned(),
            Self::TooLarge(limit) => format!("content is over the limit of {limit} bytes"),
            Self::Unavailable(shortage, _) => shortage.reason().to_owned(),
        }
    }
}
