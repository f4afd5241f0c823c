//! The `coalesce` member (contract 6.1).

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

use super::{Lane, Ruled};
use crate::raw::{self, Kind, Slot};
use crate::{jcs, scan};

/// The most bytes of UTF-8 that `coalesce.key` may have.
pub const MAX_KEY_BYTES: usize = 256;
/// The most bytes that `coalesce.data` may have, serialised (as JCS counts them).
pub const MAX_DATA_BYTES: usize = 4096;

/// A well-formed `coalesce` member.
#[derive(Clone, PartialEq, Eq)]
pub struct Coalesce {
    /// `key`: 1 to [`MAX_KEY_BYTES`] bytes.
    pub key: Box<str>,
    /// `channelId`: the push is about that channel.
    pub channel: Option<Box<str>>,
    /// `deferred`: a notice; the content is rendered at release.
    pub deferred: bool,
    /// `retract`: a withdrawal; the content is the deletion notice.
    pub retract: bool,
    /// `initial`: the sender says that no version was ever sent before.
    pub initial: bool,
    /// `data` of a notice, raw: at most [`MAX_DATA_BYTES`], handed back to the producer as it is.
    pub data: Option<Bytes>,
    /// It is not the sender's word but an operator's rule's; never read from an event (contract 13.1).
    pub ruled: Option<Ruled>,
}

impl fmt::Debug for Coalesce {
    /// Neither key nor data: content belongs in no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coalesce")
            .field("deferred", &self.deferred)
            .field("retract", &self.retract)
            .field("initial", &self.initial)
            .finish_non_exhaustive()
    }
}

/// What is wrong with an event, for `data.field` and `data.reason` of the refusal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {reason}")]
pub struct Fault {
    /// The member at fault, by its path in the params or the message: `coalesce.key`.
    pub field: Cow<'static, str>,
    /// What it must be.
    pub reason: Cow<'static, str>,
}

impl Fault {
    pub(super) const fn new(field: &'static str, reason: &'static str) -> Self {
        Self { field: Cow::Borrowed(field), reason: Cow::Borrowed(reason) }
    }
}

/// The members of one `coalesce`, first occurrences.
#[derive(Default)]
pub(super) struct Parts<'a> {
    key: Slot<'a>,
    channel: Slot<'a>,
    deferred: Slot<'a>,
    retract: Slot<'a>,
    initial: Slot<'a>,
    data: Slot<'a>,
}

impl<'a> Parts<'a> {
    pub(super) fn read(coalesce: &'a [u8]) -> Self {
        let mut parts = Self::default();
        for (name, value) in raw::members(coalesce) {
            let slot = match &*name.bytes() {
                b"key" => &mut parts.key,
                b"channelId" => &mut parts.channel,
                b"deferred" => &mut parts.deferred,
                b"retract" => &mut parts.retract,
                b"initial" => &mut parts.initial,
                b"data" => &mut parts.data,
                _ => continue,
            };
            slot.put(value);
        }
        parts
    }

    /// The first member that occurs with values that do not agree.
    pub(super) fn ambiguous(&self) -> Option<&'static str> {
        [
            (&self.key, "coalesce.key"),
            (&self.channel, "coalesce.channelId"),
            (&self.deferred, "coalesce.deferred"),
            (&self.retract, "coalesce.retract"),
            (&self.initial, "coalesce.initial"),
            (&self.data, "coalesce.data"),
        ]
        .into_iter()
        .find_map(|(slot, field)| slot.clash.then_some(field))
    }

    /// The member that they make in `lane`; `event` is the text that they are pieces of.
    pub(super) fn build(&self, lane: Lane, coalesce: &[u8], event: &Bytes) -> Result<Coalesce, Fault> {
        if raw::kind(coalesce) != Kind::Object {
            return Err(Fault::new("coalesce", "must be an object"));
        }
        let key = self.key.first.and_then(raw::string).filter(|key| (1..=MAX_KEY_BYTES).contains(&key.len()));
        let Some(key) = key else {
            return Err(Fault::new("coalesce.key", "must be a string of 1 to 256 bytes"));
        };
        let deferred = flag(&self.deferred, "coalesce.deferred")?;
        let retract = flag(&self.retract, "coalesce.retract")?;
        let initial = flag(&self.initial, "coalesce.initial")?;
        if lane == Lane::Channel && self.channel.first.is_some() {
            return Err(Fault::new(
                "coalesce.channelId",
                "is for push/event only; the message names its channel",
            ));
        }
        if lane == Lane::Channel && self.deferred.first.is_some() {
            return Err(Fault::new("coalesce.deferred", "is for push/event only"));
        }
        if retract && deferred {
            return Err(Fault::new("coalesce.retract", "must not come with deferred"));
        }
        if retract && initial {
            return Err(Fault::new("coalesce.retract", "must not come with initial"));
        }
        let channel = match self.channel.first {
            None => None,
            Some(channel) => match raw::string(channel) {
                Some(channel) => Some(channel.into()),
                None => return Err(Fault::new("coalesce.channelId", "must be a string")),
            },
        };
        if self.data.first.is_some() && !deferred {
            return Err(Fault::new("coalesce.data", "must come with deferred"));
        }
        if self.data.first.is_some_and(|data| jcs::exceeds(data, MAX_DATA_BYTES)) {
            return Err(Fault::new("coalesce.data", "must have at most 4,096 bytes"));
        }
        let data =
            self.data.first.and_then(|data| scan::range_of(event, data)).map(|range| event.slice(range));
        Ok(Coalesce { key: key.into(), channel, deferred, retract, initial, data, ruled: None })
    }
}

fn flag(slot: &Slot<'_>, field: &'static str) -> Result<bool, Fault> {
    match slot.first.map(raw::kind) {
        None => Ok(false),
        Some(Kind::Bool(flag)) => Ok(flag),
        Some(_) => Err(Fault::new(field, "must be true or false")),
    }
}
