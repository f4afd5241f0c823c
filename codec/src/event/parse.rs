//! Reading an event: one walk over its members.

use bytes::Bytes;

use super::coalesce::{Fault, Parts};
use super::{Event, Lane, Spans, content};
use crate::raw::{self, Kind, Slot};
use crate::scan;

/// The members of an event that are interpreted.
#[derive(Default)]
struct Members<'a> {
    scope: Slot<'a>,
    event_id: Slot<'a>,
    message_id: Slot<'a>,
    timestamp: Slot<'a>,
    tags: Slot<'a>,
    payload: Slot<'a>,
    content: Slot<'a>,
    expires_at: Slot<'a>,
    coalesce: Slot<'a>,
    origin: Slot<'a>,
}

pub(super) fn push(params: &Bytes) -> Event {
    let mut members = Members::default();
    for (name, value) in raw::members(params) {
        let slot = match &*name.bytes() {
            b"featureSet" => &mut members.scope,
            b"payload" => &mut members.payload,
            // Of `origin` nothing but a hint is read: the first will do.
            b"origin" if members.origin.first.is_some() => continue,
            b"origin" => &mut members.origin,
            other => match members.shared(other) {
                Some(slot) => slot,
                None => continue,
            },
        };
        slot.put(value);
    }
    for content in raw::every(members.payload.first.unwrap_or_default(), "content") {
        members.content.put(content);
    }
    members.build(Lane::Push, params)
}

pub(super) fn message(message: &Bytes) -> Event {
    let mut members = Members::default();
    for (name, value) in raw::members(message) {
        let slot = match &*name.bytes() {
            b"channelId" => &mut members.scope,
            b"content" => &mut members.content,
            other => match members.shared(other) {
                Some(slot) => slot,
                None => continue,
            },
        };
        slot.put(value);
    }
    members.build(Lane::Channel, message)
}

impl<'a> Members<'a> {
    /// The slot of a member that both lanes have.
    fn shared(&mut self, name: &[u8]) -> Option<&mut Slot<'a>> {
        Some(match name {
            b"eventId" => &mut self.event_id,
            b"messageId" => &mut self.message_id,
            b"timestamp" => &mut self.timestamp,
            b"tags" => &mut self.tags,
            b"expiresAt" => &mut self.expires_at,
            b"coalesce" => &mut self.coalesce,
            _ => return None,
        })
    }

    fn build(&self, lane: Lane, raw: &Bytes) -> Event {
        let text = |slot: &Slot<'_>| slot.first.and_then(raw::string).map(Box::<str>::from);
        let span = |slot: &Slot<'_>| slot.first.and_then(|value| scan::range_of(raw, value));
        let bytes = |slot: &Slot<'_>| span(slot).map(|range| raw.slice(range));
        let event_id = text(&self.event_id);
        let parts = self.coalesce.first.map(Parts::read).unwrap_or_default();
        let coalesce = self.coalesce.first.map(|member| {
            let coalesce = parts.build(lane, member, raw)?;
            // On this lane that is a fault of `coalesce` itself (contract 6.1).
            if lane == Lane::Channel && event_id.as_deref().is_none_or(str::is_empty) {
                return Err(Fault::new("eventId", "must be a non-empty string"));
            }
            Ok(coalesce)
        });
        let (shape, silent) = content::look(self.content.first);
        let scope = text(&self.scope);
        let (feature_set, channel) = match lane {
            Lane::Push => (scope, None),
            Lane::Channel => (None, scope),
        };
        Event {
            lane,
            raw: raw.clone(),
            event_id,
            message_id: bytes(&self.message_id),
            feature_set,
            channel,
            hint: self.origin.first.and_then(hint),
            timestamp: self.timestamp.first.map(raw::kind) == Some(Kind::String),
            content: bytes(&self.content),
            shape,
            silent,
            expires_at: self.expires_at.first.and_then(time),
            coalesce,
            ambiguous: self.ambiguous(lane).or_else(|| parts.ambiguous()),
            spans: Spans {
                tags: span(&self.tags),
                coalesce: span(&self.coalesce),
                expires_at: span(&self.expires_at),
            },
        }
    }

    fn ambiguous(&self, lane: Lane) -> Option<&'static str> {
        let (scope, content) = match lane {
            Lane::Push => ("featureSet", "payload.content"),
            Lane::Channel => ("channelId", "content"),
        };
        [
            (&self.event_id, "eventId"),
            (&self.message_id, "messageId"),
            (&self.scope, scope),
            (&self.timestamp, "timestamp"),
            (&self.tags, "tags"),
            (&self.payload, "payload"),
            (&self.content, content),
            (&self.expires_at, "expiresAt"),
            (&self.coalesce, "coalesce"),
        ]
        .into_iter()
        .find_map(|(slot, field)| slot.clash.then_some(field))
    }
}

/// The channel that `origin` names (contract 7.1a).
fn hint(origin: &[u8]) -> Option<Box<str>> {
    ["mcplChannelId", "channelId"]
        .into_iter()
        .find_map(|name| raw::member(origin, name).and_then(raw::string))
        .map(Box::from)
}

/// An RFC 3339 time in ms since the epoch.
fn time(value: &[u8]) -> Option<i64> {
    let time: jiff::Timestamp = raw::string(value)?.parse().ok()?;
    Some(time.as_millisecond())
}
