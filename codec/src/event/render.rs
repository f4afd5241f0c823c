//! Notices on their way back to their producer, and what it makes of them (contract 6.5).

use bytes::Bytes;

use super::Event;
use crate::raw;
use crate::splice::Splice;

pub(super) fn notice(event: &Event) -> Vec<u8> {
    let mut notice = b"{".to_vec();
    let mut add = |name: &str, value: Option<&[u8]>| {
        let Some(value) = value else { return };
        if notice.len() > 1 {
            notice.push(b',');
        }
        notice.extend_from_slice(name.as_bytes());
        notice.extend_from_slice(value);
    };
    add("\"eventId\":", raw::member(&event.raw, "eventId"));
    add("\"timestamp\":", raw::member(&event.raw, "timestamp"));
    let coalesce = event.coalesce.as_ref().and_then(|coalesce| coalesce.as_ref().ok());
    add("\"data\":", coalesce.and_then(|coalesce| coalesce.data.as_deref()));
    notice.push(b'}');
    notice
}

pub(super) fn rendered(event: &Event, content: &[u8], timestamp: &[u8]) -> Event {
    let params: &[u8] = &event.raw;
    let mut splice = Splice::new(params);
    if let Some(payload) = raw::member(params, "payload") {
        splice.set_member(payload, "content", content);
    }
    splice.set_member(params, "timestamp", timestamp);
    Event::push(Bytes::from(splice.finish()))
}
