//! What the host grants: `featureSets/update` in its two forms (contract 5).
//!
//! The grant is a pile of layers in the order in which they were seen. At the bottom lies the last request
//! that the producer accepted; without one the bottom is unknown. Above it lie the requests that are not
//! answered or were answered otherwise, and the notifications. A layer above the bottom can only take away:
//! what it would add counts from the moment it becomes the bottom, and then all that was older is gone.

use std::collections::VecDeque;

use mcpl_codec::raw;

use super::names::Names;
use super::{MAX_NAMES, Say};

/// Most requests whose answer is waited for. Of one more, the oldest counts as answered otherwise.
pub(super) const MAX_PENDING: usize = 64;

/// Most layers that nobody will answer any more. Past it the oldest is dropped, and since that may have
/// been a narrowing, the bottom is unknown from then on: nothing is refused or held for its sake.
pub(super) const MAX_SETTLED: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Grant {
    bottom: Option<Layer>,
    above: VecDeque<(Source, Layer)>,
    answered: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A request of this id, not yet answered.
    Pending(u64),
    /// A request that was answered, but not accepted.
    Refused,
    /// Notifications, one or several in a row.
    Notified,
}

/// What one message says. `None` constrains nothing.
#[derive(Debug, PartialEq)]
struct Layer {
    capabilities: Option<Names>,
    enabled: Option<Names>,
    disabled: Names,
}

impl Grant {
    /// A request was seen, on its way to the producer.
    pub(super) fn requested(&mut self, id: u64, params: &[u8]) {
        let layer = Layer::request(params, self.room());
        self.above.push_back((Source::Pending(id), layer));
        let pending = |(source, _): &(Source, Layer)| matches!(source, Source::Pending(_));
        if self.above.iter().filter(|layer| pending(layer)).count() > MAX_PENDING
            && let Some(oldest) = self.above.iter().position(pending)
        {
            self.refuse(oldest);
        }
    }

    /// The producer answered a request; false if it is not one that is waited for.
    pub(super) fn answered(&mut self, id: u64, accepted: bool) -> bool {
        let Some(at) = self.above.iter().position(|(source, _)| *source == Source::Pending(id)) else {
            return false;
        };
        if accepted {
            // What was seen before it is superseded, answered or not.
            self.bottom = self.above.drain(..=at).next_back().map(|(_, layer)| layer);
            self.answered = true;
        } else {
            self.refuse(at);
        }
        true
    }

    /// A notification was seen; false if it says nothing that counts.
    pub(super) fn notified(&mut self, params: &[u8]) -> bool {
        let room = self.room();
        let disabled = list(params, "disabled", room).unwrap_or_else(Names::none);
        if disabled.is_empty() && disabled.is_whole() {
            return false;
        }
        if let Some((Source::Notified, layer)) = self.above.back_mut() {
            let room = room + layer.disabled.len();
            layer.disabled.extend(&disabled, room);
        } else {
            let layer = Layer { capabilities: None, enabled: None, disabled };
            self.above.push_back((Source::Notified, layer));
            self.bound();
        }
        true
    }

    /// Whether the bottom is known.
    pub(super) fn is_known(&self) -> bool {
        self.bottom.is_some()
    }

    /// Whether any request was answered `accepted: true`.
    pub(super) fn was_answered(&self) -> bool {
        self.answered
    }

    /// Whether this capability is granted.
    pub(super) fn capability(&self, name: &str) -> Say {
        self.ask(|layer| layer.capability(name))
    }

    /// Whether this feature set is enabled, as far as the grant says.
    pub(super) fn feature_set(&self, name: &str) -> Say {
        self.ask(|layer| layer.feature_set(name))
    }

    fn ask(&self, ask: impl Fn(&Layer) -> Say) -> Say {
        let bottom = self.bottom.as_ref().map_or(Say::Unknown, &ask);
        self.above.iter().map(|(_, layer)| ask(layer)).fold(bottom, Say::min)
    }

    /// Leaves the narrowing of a request in force that is not to be accepted any more.
    fn refuse(&mut self, at: usize) {
        let Some((source, _)) = self.above.get_mut(at) else { return };
        *source = Source::Refused;
        // A host that repeats itself adds nothing.
        let twin = (0..at).find(|&older| self.above[older] == self.above[at]);
        if let Some(twin) = twin {
            self.above.remove(twin);
        }
        self.bound();
    }

    fn bound(&mut self) {
        let settled = |(source, _): &(Source, Layer)| !matches!(source, Source::Pending(_));
        if self.above.iter().filter(|layer| settled(layer)).count() > MAX_SETTLED
            && let Some(oldest) = self.above.iter().position(settled)
        {
            self.above.remove(oldest);
            self.bottom = None;
        }
    }

    fn room(&self) -> usize {
        let held = self.bottom.iter().chain(self.above.iter().map(|(_, layer)| layer));
        MAX_NAMES.saturating_sub(held.map(Layer::len).sum())
    }
}

impl Layer {
    fn request(params: &[u8], room: usize) -> Self {
        let capabilities = list(params, "effectiveCapabilities", room).unwrap_or_else(Names::none);
        let room = room.saturating_sub(capabilities.len());
        let enabled = list(params, "enabled", room);
        let room = room.saturating_sub(enabled.as_ref().map_or(0, Names::len));
        let disabled = list(params, "disabled", room).unwrap_or_else(Names::none);
        Self { capabilities: Some(capabilities), enabled, disabled }
    }

    fn capability(&self, name: &str) -> Say {
        self.capabilities.as_ref().map_or(Say::Yes, |list| Say::listed(list, name))
    }

    fn feature_set(&self, name: &str) -> Say {
        if self.disabled.cover(name) {
            return Say::No;
        }
        let enabled = self.enabled.as_ref().map_or(Say::Yes, |list| Say::listed(list, name));
        if self.disabled.is_whole() { enabled } else { enabled.min(Say::Unknown) }
    }

    fn len(&self) -> usize {
        let lists = [self.capabilities.as_ref(), self.enabled.as_ref(), Some(&self.disabled)];
        lists.into_iter().flatten().map(Names::len).sum()
    }
}

impl Say {
    fn listed(list: &Names, name: &str) -> Self {
        match (list.cover(name), list.is_whole()) {
            (true, _) => Self::Yes,
            (false, true) => Self::No,
            (false, false) => Self::Unknown,
        }
    }
}

/// A member that is a list; `null` is as good as absent.
fn list(params: &[u8], name: &str, room: usize) -> Option<Names> {
    let value = raw::member(params, name)?;
    (raw::kind(value) != raw::Kind::Null).then(|| Names::read(value, room))
}
