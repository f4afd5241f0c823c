//! The fields of a structured refusal (contract 8.1).

use std::fmt::{self, Write as _};

use crate::raw;

/// Why an event was refused: an open set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The event itself is wrong; the same bytes will never do.
    Invalid,
    /// The host does not allow it.
    NotPermitted,
    /// The channel is not registered: register it, then resend once.
    UnknownChannel,
    /// Not now.
    Unavailable,
    /// Over a size limit.
    TooLarge,
    /// The host has had it.
    Duplicate,
    /// A value that is not known here; passed on, never replaced.
    Other(Box<str>),
}

impl Kind {
    /// The wire name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Invalid => "invalid",
            Self::NotPermitted => "not_permitted",
            Self::UnknownChannel => "unknown_channel",
            Self::Unavailable => "unavailable",
            Self::TooLarge => "too_large",
            Self::Duplicate => "duplicate",
            Self::Other(other) => other,
        }
    }
}

impl From<&str> for Kind {
    fn from(name: &str) -> Self {
        match name {
            "invalid" => Self::Invalid,
            "not_permitted" => Self::NotPermitted,
            "unknown_channel" => Self::UnknownChannel,
            "unavailable" => Self::Unavailable,
            "too_large" => Self::TooLarge,
            "duplicate" => Self::Duplicate,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal in fields that a program can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// `refusal`.
    pub kind: Kind,
    /// `retryable`: whether the same event may be sent again.
    pub retryable: Option<bool>,
    /// `retryAfterMs`: the earliest time to send it again, in ms from the answer (contract 8.3).
    pub retry_after_ms: Option<u64>,
    /// `limitBytes`: what `too_large` was measured against, in bytes.
    pub limit_bytes: Option<u64>,
}

impl Refusal {
    const fn new(kind: Kind, retryable: Option<bool>) -> Self {
        Self { kind, retryable, retry_after_ms: None, limit_bytes: None }
    }

    /// The event is wrong: not retryable.
    pub const fn invalid() -> Self {
        Self::new(Kind::Invalid, Some(false))
    }

    /// The host does not allow it: not retryable.
    pub const fn not_permitted() -> Self {
        Self::new(Kind::NotPermitted, Some(false))
    }

    /// The channel is not registered: `retryable` is left out.
    pub const fn unknown_channel() -> Self {
        Self::new(Kind::UnknownChannel, None)
    }

    /// Not now: retryable after `retry_after_ms`.
    pub const fn unavailable(retry_after_ms: u64) -> Self {
        let mut refusal = Self::new(Kind::Unavailable, Some(true));
        refusal.retry_after_ms = Some(retry_after_ms);
        refusal
    }

    /// Over `limit_bytes`: not retryable.
    pub const fn too_large(limit_bytes: u64) -> Self {
        let mut refusal = Self::new(Kind::TooLarge, Some(false));
        refusal.limit_bytes = Some(limit_bytes);
        refusal
    }

    /// The host has had it: `retryable` is left out.
    pub const fn duplicate() -> Self {
        Self::new(Kind::Duplicate, None)
    }

    /// The refusal that the members of `object` (a result, or an error's `data`) give; `None` without a
    /// readable `refusal`. Members of the wrong type are as good as absent.
    pub fn read(object: &[u8]) -> Option<Self> {
        let kind = Kind::from(&*raw::string(raw::member(object, "refusal")?)?);
        let whole =
            |name| raw::member(object, name).and_then(raw::integer).and_then(|n| u64::try_from(n).ok());
        let retryable = match raw::member(object, "retryable").map(raw::kind) {
            Some(raw::Kind::Bool(retryable)) => Some(retryable),
            _ => None,
        };
        Some(Self {
            kind,
            retryable,
            retry_after_ms: whole("retryAfterMs"),
            limit_bytes: whole("limitBytes"),
        })
    }

    /// The members as JSON text, without braces: `"refusal":"unavailable","retryable":true`. What is absent
    /// is left out.
    pub fn members(&self) -> String {
        let mut members = format!("\"refusal\":{}", raw::quote(self.kind.as_str()));
        // Writing to a string cannot fail.
        if let Some(retryable) = self.retryable {
            let _ = write!(members, ",\"retryable\":{retryable}");
        }
        if let Some(ms) = self.retry_after_ms {
            let _ = write!(members, ",\"retryAfterMs\":{ms}");
        }
        if let Some(bytes) = self.limit_bytes {
            let _ = write!(members, ",\"limitBytes\":{bytes}");
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_keeps_its_name() {
        for name in
            ["invalid", "not_permitted", "unknown_channel", "unavailable", "too_large", "duplicate", "novel"]
        {
            assert_eq!(Kind::from(name).as_str(), name);
        }
        assert_eq!(Kind::from("novel"), Kind::Other("novel".into()));
    }

    #[test]
    fn members_leave_out_what_is_absent() {
        for (refusal, members) in [
            (Refusal::invalid(), r#""refusal":"invalid","retryable":false"#),
            (Refusal::not_permitted(), r#""refusal":"not_permitted","retryable":false"#),
            (Refusal::unknown_channel(), r#""refusal":"unknown_channel""#),
            (Refusal::unavailable(5), r#""refusal":"unavailable","retryable":true,"retryAfterMs":5"#),
            (Refusal::too_large(9), r#""refusal":"too_large","retryable":false,"limitBytes":9"#),
            (Refusal::duplicate(), r#""refusal":"duplicate""#),
        ] {
            assert_eq!(refusal.members(), members);
            assert_eq!(Refusal::read(format!("{{{members}}}").as_bytes()), Some(refusal));
        }
    }

    #[test]
    fn an_odd_kind_is_written_as_json() {
        let odd = Refusal::new(Kind::Other("a\"b".into()), None);
        assert_eq!(odd.members(), r#""refusal":"a\"b""#);
    }

    #[test]
    fn members_of_the_wrong_type_are_as_good_as_absent() {
        let read =
            Refusal::read(br#"{"refusal":"unavailable","retryable":1,"retryAfterMs":-1,"limitBytes":"9"}"#);
        assert_eq!(read, Some(Refusal::new(Kind::Unavailable, None)));
        assert_eq!(Refusal::read(br#"{"refusal":7}"#), None);
        assert_eq!(Refusal::read(b"{}"), None);
    }
}
