//! Events of the two lanes, read once into what the engine asks of them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;

mod coalesce;
mod content;
mod merge;
mod parse;
mod render;
mod ruled;

pub use coalesce::{Coalesce, Fault, MAX_DATA_BYTES, MAX_KEY_BYTES};
pub use content::ContentShape;
pub use ruled::{Ruled, Scope};

use crate::digest::{Digest, DigestKey, Digester};
use crate::{raw, scan, splice};

/// The way an event travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// `push/event`: one event a request.
    Push,
    /// `channels/incoming`: a batch of channel messages.
    Channel,
}

impl Lane {
    /// The method name.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Push => "push/event",
            Self::Channel => "channels/incoming",
        }
    }

    /// The lane of a method, if it is one.
    pub fn of(method: &str) -> Option<Self> {
        match method {
            "push/event" => Some(Self::Push),
            "channels/incoming" => Some(Self::Channel),
            _ => None,
        }
    }
}

/// One event: the params of a `push/event`, or one message of a `channels/incoming`.
///
/// Any JSON value can be read as one (what is not there, or not of its type, is `None`); whether it is
/// acceptable is asked separately, by [`Event::shape_fault`], `coalesce` and `ambiguous`. Of repeated members
/// the first is read.
#[derive(Clone)]
pub struct Event {
    /// Which lane it came on.
    pub lane: Lane,
    /// The event as sent: params text, or message text.
    pub raw: Bytes,
    /// `eventId`; may be empty.
    pub event_id: Option<Box<str>>,
    /// `messageId`, raw JSON of any type.
    pub message_id: Option<Bytes>,
    /// `featureSet` of a push.
    pub feature_set: Option<Box<str>>,
    /// `channelId` of a channel message. (That of a push is [`Coalesce::channel`].)
    pub channel: Option<Box<str>>,
    /// The channel that a push's `origin` names: for the order of 7.1a only, never for identity or authority.
    pub hint: Option<Box<str>>,
    /// Whether `timestamp` is a string.
    pub timestamp: bool,
    /// The content (`payload.content` of a push, `content` of a message), raw.
    pub content: Option<Bytes>,
    /// What the content is.
    pub shape: ContentShape,
    /// Whether it tells nothing: no content, `""`, `[]`, or only text blocks with empty text.
    pub silent: bool,
    /// `expiresAt` in ms since the epoch, if it is an RFC 3339 time (contract 9.4).
    pub expires_at: Option<i64>,
    /// `coalesce`, read or faulty (contract 6.1); `None` if the event has none.
    pub coalesce: Option<Result<Coalesce, Fault>>,
    /// A member that is interpreted occurs again with a value that does not agree, so that the event is two
    /// (contract 3.3): its path, as in [`Fault::field`].
    pub ambiguous: Option<&'static str>,
    spans: Spans,
}

/// Where in `raw` the values lie that are asked for seldom.
#[derive(Clone, Default)]
struct Spans {
    tags: Option<Range<usize>>,
    coalesce: Option<Range<usize>>,
    expires_at: Option<Range<usize>>,
}

impl Event {
    /// The event that the params of a `push/event` are.
    #[expect(clippy::needless_pass_by_value, reason = "the event keeps it; callers hand it over")]
    pub fn push(params: Bytes) -> Self {
        parse::push(&params)
    }

    /// The event that one message of a `channels/incoming` is.
    #[expect(clippy::needless_pass_by_value, reason = "the event keeps it; callers hand it over")]
    pub fn message(message: Bytes) -> Self {
        parse::message(&message)
    }

    /// The strings in `tags`, in order.
    pub fn tags(&self) -> impl Iterator<Item = Cow<'_, str>> {
        raw::elements(self.span(self.spans.tags.as_ref()).unwrap_or_default()).filter_map(raw::string)
    }

    /// The digest that tells a retry from a conflict (contract 6.2): of lane, scope, `messageId`,
    /// `coalesce`, content, `tags` and `expiresAt`; not of `timestamp`, `origin`, `metadata` or `_meta`.
    pub fn digest(&self, key: &DigestKey) -> Digest {
        self.digest_with(&mut Digester::new(key))
    }

    /// The [`digest`](Self::digest), with the key and the memory of `digester`.
    pub fn digest_with(&self, digester: &mut Digester) -> Digest {
        let scope = match self.lane {
            Lane::Push => &self.feature_set,
            Lane::Channel => &self.channel,
        };
        digester.clear();
        digester
            .text(Some(self.lane.method()))
            .text(scope.as_deref())
            .field(self.message_id.as_deref())
            .field(self.span(self.spans.coalesce.as_ref()))
            .field(self.content.as_deref())
            .field(self.span(self.spans.tags.as_ref()))
            .field(self.span(self.spans.expires_at.as_ref()))
            .finish()
    }

    /// The same event in memory of its own: held, it does not keep the read buffer alive.
    #[must_use]
    pub fn detached(mut self) -> Self {
        self.detach();
        self
    }

    /// Makes it [`detached`](Self::detached).
    pub fn detach(&mut self) {
        let own = Bytes::copy_from_slice(&self.raw);
        let moved = |part: &Bytes| match scan::range_of(&self.raw, part) {
            Some(range) => own.slice(range),
            None => Bytes::copy_from_slice(part),
        };
        let content = self.content.as_ref().map(moved);
        let message_id = self.message_id.as_ref().map(moved);
        if let Some(Ok(coalesce)) = &mut self.coalesce {
            coalesce.data = coalesce.data.as_ref().map(moved);
        }
        (self.raw, self.content, self.message_id) = (own, content, message_id);
    }

    /// The event without its `coalesce` members, as a legacy host gets it (contract 7.4).
    pub fn bare(&self) -> Vec<u8> {
        splice::without_member(&self.raw, "coalesce").into_owned()
    }

    /// The event that replaces `older` by `newer`: `newer`, but where a channel message is replaced by a
    /// push it is **that** message with the push's `eventId`, content, `timestamp`, `tags` and `expiresAt`
    /// (removed where the push has none), and no `coalesce` (contract 6.3).
    #[must_use]
    pub fn merged(older: &Self, newer: &Self) -> Self {
        merge::merged(older, newer)
    }

    /// What a producer is handed back of a notice of its (contract 6.5): the raw JSON object of the `eventId`, the
    /// `timestamp` and, where there is one, the `data` of its `coalesce`, each byte for byte as it was sent.
    pub fn notice(&self) -> Vec<u8> {
        render::notice(self)
    }

    /// What a batch becomes whose newest notice this is: this event with raw JSON `content` and a raw JSON
    /// string `timestamp` (contract 6.5).
    #[must_use]
    pub fn rendered(&self, content: &[u8], timestamp: &[u8]) -> Self {
        render::rendered(self, content, timestamp)
    }

    /// The event under another `eventId`: only that member changes, or is added; `coalesce` stays as it is read
    /// (contract 13.1).
    #[must_use]
    pub fn renamed(&self, event_id: &str) -> Self {
        ruled::renamed(self, event_id)
    }

    /// What an operator's rule says of it; `None` where it speaks for itself (contract 13.1).
    pub fn ruled(&self) -> Option<&Ruled> {
        self.coalesce.as_ref()?.as_ref().ok()?.ruled.as_ref()
    }

    /// What a coalesced event lacks of the shape that it must have (contract 5): a non-empty `eventId`, a
    /// `timestamp`, and content that is a string or an array of typed blocks.
    pub fn shape_fault(&self) -> Option<Fault> {
        if self.event_id.as_deref().is_none_or(str::is_empty) {
            return Some(Fault::new("eventId", "must be a non-empty string"));
        }
        if !self.timestamp {
            return Some(Fault::new("timestamp", "must be a string"));
        }
        match self.shape {
            ContentShape::Text | ContentShape::Blocks => None,
            ContentShape::Missing | ContentShape::Other => {
                Some(Fault::new(self.content_field(), "must be a string or an array of typed blocks"))
            }
        }
    }

    /// The path of the content in this lane: `payload.content` or `content`.
    pub const fn content_field(&self) -> &'static str {
        match self.lane {
            Lane::Push => "payload.content",
            Lane::Channel => "content",
        }
    }

    fn span(&self, span: Option<&Range<usize>>) -> Option<&[u8]> {
        self.raw.get(span?.clone())
    }
}

impl fmt::Debug for Event {
    /// The lane and the length only: content belongs in no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:?}, {} bytes)", self.lane, self.raw.len())
    }
}

#[cfg(test)]
mod tests;
