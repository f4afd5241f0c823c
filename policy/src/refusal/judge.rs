//! What a host's refusal means: the table of contract 8.1.

use std::borrow::Cow;

use mcpl_codec::code::{
    INTERNAL, INVALID_PARAMS, INVALID_REQUEST, PARSE, SERVER_ERROR, TOO_LARGE, UNAVAILABLE, UNKNOWN_CHANNEL,
    UNKNOWN_FEATURE_SET,
};
use mcpl_codec::refusal::Kind;
use mcpl_codec::{Lane, Refusal, Reply, raw};

use super::figure::{Figure, seconds_hint};
use super::{About, Classifier, phrase};

/// A host's answer, as far as it is a refusal.
#[derive(Debug)]
pub(super) struct Said<'a> {
    pub(super) manner: Manner,
    /// A result's `reason` or an error's `message`.
    pub(super) words: Option<Cow<'a, str>>,
    /// Where the refusal's fields stand: the result itself, or an error's `data` if that is an object.
    pub(super) fields: Option<&'a [u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Result,
    /// `None`: the code is no whole number.
    Error(Option<i64>),
}

/// What an answer is, before it is weighed.
#[derive(Debug)]
pub(super) enum Read<'a> {
    Accepted,
    Refused(Said<'a>),
    Unreadable,
}

/// A refusal, weighed: what it means and what is to be written for it.
#[derive(Debug)]
pub(super) struct Weighed {
    /// What it means, with the figures that hold.
    pub(super) refusal: Refusal,
    /// What the four members become. A member that is not listed is as it should be already.
    pub(super) edits: Vec<(&'static str, Option<String>)>,
}

impl<'a> Read<'a> {
    pub(super) fn reply(reply: &Reply<'a>) -> Self {
        match reply {
            Reply::Result(result) => Self::result(result),
            Reply::Error { code, message, data, .. } => Self::Refused(Said {
                manner: Manner::Error(*code),
                words: message.clone(),
                fields: data.filter(|data| raw::kind(data) == raw::Kind::Object),
            }),
        }
    }

    /// A result of `push/event`, or one message's result.
    pub(super) fn result(result: &'a [u8]) -> Self {
        let accepted = raw::only(result, "accepted").ok().flatten().map(raw::kind);
        match accepted {
            Some(raw::Kind::Bool(true)) => Self::Accepted,
            Some(raw::Kind::Bool(false)) => Self::Refused(Said {
                manner: Manner::Result,
                words: raw::member(result, "reason").and_then(raw::string),
                fields: Some(result),
            }),
            _ => Self::Unreadable,
        }
    }
}

impl Said<'_> {
    pub(super) fn code(&self) -> Option<i64> {
        match self.manner {
            Manner::Result => None,
            Manner::Error(code) => code,
        }
    }

    fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields.and_then(|fields| raw::member(fields, name))
    }
}

impl Classifier {
    pub(super) fn weigh(&self, lane: Lane, said: &Said<'_>, about: About) -> Weighed {
        let named = said.field("refusal").and_then(raw::string).map(|name| Kind::from(name.as_ref()));
        let rule = self.rules.iter().find(|rule| rule.matches(lane, said));
        let ours = match (rule, &named) {
            (Some(rule), _) => rule.meaning(),
            (None, Some(kind)) => bare(kind.clone(), None),
            (None, None) => phrase::meaning(self.profile, said, about).unwrap_or_else(|| table(said, about)),
        };
        // An unknown kind is passed on whatever a rule makes of it; a known one gives way to a rule.
        let keeps_kind = matches!(&named, Some(kind) if *kind == ours.kind || matches!(kind, Kind::Other(_)));
        let overruled = named.is_some() && !keeps_kind;

        let host_retryable = said.field("retryable").map(raw::kind);
        let given = match host_retryable {
            Some(raw::Kind::Bool(retryable)) => Some(retryable),
            _ => None,
        };
        let ruled = rule.is_some_and(|rule| rule.retryable.is_some());
        let retryable = if ruled || overruled { ours.retryable } else { given.or(ours.retryable) };

        let host_time = Figure::of(said.field("retryAfterMs"), 0);
        let retry_after_ms = if matches!(ours.kind, Kind::Invalid | Kind::Duplicate) {
            None
        } else {
            host_time.value().or_else(|| self.time(said, &ours, retryable))
        };

        let host_limit = Figure::of(said.field("limitBytes"), 1);
        let limit_bytes = host_limit.value().or(ours.limit_bytes);

        let mut edits = Vec::new();
        if !keeps_kind {
            edits.push(("refusal", Some(raw::quote(ours.kind.as_str()))));
        }
        if retryable != given || (host_retryable.is_some() && given.is_none()) {
            edits.push(("retryable", retryable.map(|retryable| retryable.to_string())));
        }
        match (retry_after_ms, host_time) {
            (Some(_), Figure::Exact(_)) | (None, Figure::Absent) => {}
            (ms, _) => edits.push(("retryAfterMs", ms.map(|ms| ms.to_string()))),
        }
        if let (Some(limit), None) = (limit_bytes, host_limit.value()) {
            edits.push(("limitBytes", Some(limit.to_string())));
        }
        Weighed { refusal: Refusal { kind: ours.kind, retryable, retry_after_ms, limit_bytes }, edits }
    }

    /// The time of a refusal whose host gave no `retryAfterMs`: its own in other words, then a rule's or
    /// the profile's, then the configured one, which is for `unavailable` only.
    fn time(&self, said: &Said<'_>, ours: &Refusal, retryable: Option<bool>) -> Option<u64> {
        if retryable == Some(false) {
            return None;
        }
        let temporary = retryable == Some(true);
        let hint = if temporary { said.fields.and_then(seconds_hint) } else { None };
        let configured = (temporary && ours.kind == Kind::Unavailable).then_some(self.retry_after_ms);
        hint.or(ours.retry_after_ms).or(configured)
    }
}

/// The table of contract 8.1, where neither a rule nor the host nor its profile says more.
fn table(said: &Said<'_>, about: About) -> Refusal {
    match said.manner {
        Manner::Error(code) => bare(by_code(code), None),
        Manner::Result => match said.words.as_deref() {
            Some("coalesce_invalid") => Refusal::invalid(),
            Some("duplicate") if !about.coalesced => Refusal::duplicate(),
            None | Some("") if about.unregistered => Refusal::unknown_channel(),
            _ => Refusal::not_permitted(),
        },
    }
}

fn by_code(code: Option<i64>) -> Kind {
    match code {
        Some(INVALID_PARAMS | INVALID_REQUEST | PARSE | UNKNOWN_FEATURE_SET) => Kind::Invalid,
        Some(UNKNOWN_CHANNEL) => Kind::UnknownChannel,
        Some(UNAVAILABLE | SERVER_ERROR | INTERNAL) => Kind::Unavailable,
        Some(TOO_LARGE) => Kind::TooLarge,
        // -32001, -32002 and -32017, and every code of no row. -32601 is one of these: the host has no such
        // lane, and will not have one later.
        _ => Kind::NotPermitted,
    }
}

/// A refusal of a kind with the `retryable` that goes with it.
pub(super) fn bare(kind: Kind, retry_after_ms: Option<u64>) -> Refusal {
    let retryable = match kind {
        Kind::Invalid | Kind::NotPermitted | Kind::TooLarge => Some(false),
        Kind::Unavailable => Some(true),
        // Register the channel and resend once; resend never; and whatever the host meant.
        Kind::UnknownChannel | Kind::Duplicate | Kind::Other(_) => None,
    };
    Refusal { kind, retryable, retry_after_ms, limit_bytes: None }
}
