//! An edit that comes on another lane than its create (contract 6.3).

use bytes::Bytes;

use super::{Event, Lane};
use crate::raw;
use crate::splice::Splice;

pub(super) fn merged(older: &Event, newer: &Event) -> Event {
    if (older.lane, newer.lane) != (Lane::Channel, Lane::Push) {
        return newer.clone();
    }
    let message: &[u8] = &older.raw;
    let mut splice = Splice::new(message);
    splice.remove_member(message, "coalesce");
    for name in ["eventId", "content", "timestamp", "tags", "expiresAt"] {
        let value = match name {
            "content" => newer.content.as_deref(),
            _ => raw::member(&newer.raw, name),
        };
        match value {
            Some(value) => splice.set_member(message, name, value),
            None => splice.remove_member(message, name),
        };
    }
    Event::message(Bytes::from(splice.finish()))
}
