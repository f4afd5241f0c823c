//! An event as rules look at it.

use std::borrow::Cow;

use mcpl_codec::{ContentShape, Event, Lane, raw};

/// What rules ask of one event, each thing read once.
pub(super) struct Seen<'e> {
    pub(super) event: &'e Event,
    /// Its `messageId` as text.
    pub(super) message_id: Option<Cow<'e, str>>,
    tags: Option<Vec<Cow<'e, str>>>,
}

/// Whether an event can be given a subject at all.
pub(super) fn is_fit(event: &Event) -> bool {
    let named = event.event_id.as_deref().is_some_and(|id| !id.is_empty()) || event.message_id.is_some();
    event.coalesce.is_none()
        && event.ambiguous.is_none()
        && named
        && matches!(event.shape, ContentShape::Text | ContentShape::Blocks)
}

impl<'e> Seen<'e> {
    pub(super) fn of(event: &'e Event) -> Self {
        Self { event, message_id: event.message_id.as_deref().and_then(text), tags: None }
    }

    /// The channel it is told in: a message's own, or what a push's `origin` names.
    pub(super) fn channel(&self) -> Option<&'e str> {
        match self.event.lane {
            Lane::Channel => self.event.channel.as_deref(),
            Lane::Push => self.event.hint.as_deref(),
        }
    }

    pub(super) fn tags(&mut self) -> &[Cow<'e, str>] {
        self.tags.get_or_insert_with(|| self.event.tags().collect())
    }

    /// The text at a JSON pointer into the params or the message (RFC 6901); `None` where there is none, where
    /// it is no text, and where a repeated member would make it two.
    pub(super) fn at(&self, pointer: &[Box<str>]) -> Option<Cow<'e, str>> {
        let mut value: &'e [u8] = &self.event.raw;
        for step in pointer {
            value = match raw::kind(value) {
                raw::Kind::Object => raw::only(value, step).ok()??,
                raw::Kind::Array => raw::elements(value).nth(index(step)?)?,
                _ => return None,
            };
        }
        text(value)
    }
}

/// A string, a number as it is spelled, or a truth value.
fn text(value: &[u8]) -> Option<Cow<'_, str>> {
    match raw::kind(value) {
        raw::Kind::String => raw::string(value),
        raw::Kind::Number | raw::Kind::Bool(_) => std::str::from_utf8(value).ok().map(Cow::Borrowed),
        raw::Kind::Null | raw::Kind::Array | raw::Kind::Object => None,
    }
}

/// An index of RFC 6901: digits, no zero before others.
fn index(step: &str) -> Option<usize> {
    let digits = step.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (step.len() == 1 || !step.starts_with('0'))).then(|| step.parse().ok()).flatten()
}
