//! What an operator's rule adds to an event that says nothing of a subject itself (contract 13.1).

use bytes::Bytes;

use super::{Event, Lane};
use crate::raw;
use crate::splice::Splice;

/// What a rule says of an event beside what [`Coalesce`](super::Coalesce) has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruled {
    /// The scope of its subject.
    pub scope: Scope,
    /// It is known by its `eventId` and its digest together: one `eventId` with new content is a new
    /// occurrence, not a conflict.
    pub distinct: bool,
}

/// The scope that a rule chose.
#[derive(Clone, PartialEq, Eq)]
pub enum Scope {
    /// The event's own: the channel of a message, the feature set of a push.
    Own,
    /// This channel.
    Channel(Box<str>),
    /// One of the operator's: subjects of one name meet across lanes.
    Named(Box<str>),
}

impl std::fmt::Debug for Scope {
    /// Which kind only: a channel's id is the peers'.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Own => "Own",
            Self::Channel(_) => "Channel",
            Self::Named(_) => "Named",
        })
    }
}

/// `event` under another `eventId`, every other byte as it is; what a rule said of it stays.
pub(super) fn renamed(event: &Event, event_id: &str) -> Event {
    let text: &[u8] = &event.raw;
    let edited = Splice::new(text).set_member(text, "eventId", raw::quote(event_id).into_bytes()).finish();
    let edited = Bytes::from(edited);
    let read = match event.lane {
        Lane::Push => Event::push(edited),
        Lane::Channel => Event::message(edited),
    };
    Event { coalesce: event.coalesce.clone(), ..read }
}
