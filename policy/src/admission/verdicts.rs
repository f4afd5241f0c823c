//! What the host itself said of a scope, by the lane that asked (contract 5).

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::names::NAME_BYTES;
use super::{Claim, Learned, MAX_NAMES};

type Map<V> = HashMap<Box<str>, V, FixedState>;

#[derive(Debug, Default)]
pub(super) struct Verdicts {
    pushes: Map<Learned>,
    messages: Map<Learned>,
    /// By channel, then by feature set, so that a channel's can be forgotten at once.
    scoped: Map<Map<Learned>>,
    count: usize,
}

impl Verdicts {
    /// Keeps a verdict; true if it is news.
    pub(super) fn learn(&mut self, claim: Claim<'_>, learned: Learned) -> bool {
        if self.of(claim) == Some(learned) || claim.names().any(|name| name.len() > NAME_BYTES) {
            return false;
        }
        // A verdict forgotten costs one write-through; which ones matter nobody knows.
        if self.count >= MAX_NAMES && self.of(claim).is_none() {
            self.forget();
        }
        let old = match claim {
            Claim::Push { feature_set } => self.pushes.insert(feature_set.into(), learned),
            Claim::Message { channel } => self.messages.insert(channel.into(), learned),
            Claim::ScopedPush { feature_set, channel } => {
                self.scoped.entry(channel.into()).or_default().insert(feature_set.into(), learned)
            }
        };
        self.count += usize::from(old.is_none());
        true
    }

    pub(super) fn of(&self, claim: Claim<'_>) -> Option<Learned> {
        match claim {
            Claim::Push { feature_set } => self.pushes.get(feature_set),
            Claim::Message { channel } => self.messages.get(channel),
            Claim::ScopedPush { feature_set, channel } => self.scoped.get(channel)?.get(feature_set),
        }
        .copied()
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn forget_channel(&mut self, channel: &str) {
        let message = usize::from(self.messages.remove(channel).is_some());
        let scoped = self.scoped.remove(channel).map_or(0, |sets| sets.len());
        self.count -= message + scoped;
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.count
    }
}
