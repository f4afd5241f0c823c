//! What is known of the host's admission (contract 5): would it take this event?
//!
//! Three things are known, each in part: the grant of `featureSets/update`, the channels that are
//! registered, and what the host itself said of a scope. [`Admission`] holds them for one session and
//! answers [`Admission::look`]. It never forbids what the host would admit and never permits what it is
//! known to refuse; where it does not know it says so, and the event is put to the host.
//!
//! Everything here is bounded. Past a bound knowledge is lost, never invented: what is not kept is unknown.

mod authority;
mod channels;
mod features;
mod grant;
mod names;
#[cfg(test)]
mod tests;
mod verdicts;

use mcpl_codec::raw;

pub use self::authority::Authority;
use self::channels::Channels;
pub use self::channels::channel_ids;
pub use self::features::FeatureSets;
use self::grant::Grant;
use self::verdicts::Verdicts;

/// Most names of one sort that are kept: feature sets, names in grants, channels, verdicts.
pub const MAX_NAMES: usize = 65_536;

/// The capability that `push/event` needs.
pub const PUSH_EVENTS: &str = "pushEvents";

/// The capability that channel messages and channel-scoped pushes need.
pub const CHANNELS_INCOMING: &str = "channels.incoming";

/// What an event asks of the host: the scope that its lane is checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Claim<'a> {
    /// A push in its feature set's scope.
    Push {
        /// The feature set.
        feature_set: &'a str,
    },
    /// A push with `coalesce.channelId`. It needs both lanes' authority.
    ScopedPush {
        /// The feature set.
        feature_set: &'a str,
        /// The channel.
        channel: &'a str,
    },
    /// A channel message.
    Message {
        /// The channel.
        channel: &'a str,
    },
}

impl<'a> Claim<'a> {
    fn feature_set(self) -> Option<&'a str> {
        match self {
            Self::Push { feature_set } | Self::ScopedPush { feature_set, .. } => Some(feature_set),
            Self::Message { .. } => None,
        }
    }

    fn channel(self) -> Option<&'a str> {
        match self {
            Self::ScopedPush { channel, .. } | Self::Message { channel } => Some(channel),
            Self::Push { .. } => None,
        }
    }

    fn names(self) -> impl Iterator<Item = &'a str> {
        self.feature_set().into_iter().chain(self.channel())
    }
}

/// How a claim stands with the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The host accepted one like it: held for.
    Open,
    /// The grant and the channels permit it: held for.
    Permitted,
    /// They positively forbid it: refused by us.
    Forbidden(Authority),
    /// Nobody knows: written through.
    Unknown,
    /// The host refused one like it: written through.
    Closed,
}

impl Standing {
    /// Whether events of this standing are held for.
    pub fn holds(&self) -> bool {
        matches!(self, Self::Open | Self::Permitted)
    }
}

/// What a host's answer teaches of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Learned {
    /// It accepted.
    Open,
    /// It refused with one of the five codes.
    Closed,
}

/// What became different, so that work that waits for authority is looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// Nothing that such work waits for.
    Nothing,
    /// The grant.
    Grant,
    /// These channels.
    Channels(Vec<Box<str>>),
}

/// What is known of the host's admission in one session.
#[derive(Debug, Default)]
pub struct Admission {
    grant: Grant,
    features: FeatureSets,
    channels: Channels,
    verdicts: Verdicts,
}

impl Admission {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The producer declared its feature sets in its `initialize` result.
    pub fn declare(&mut self, features: FeatureSets) {
        self.features = features;
    }

    /// The host's `featureSets/update` request with these raw params was seen. What it takes away counts
    /// from now, what it adds from [`Admission::update_answered`]; all verdicts are forgotten. `id` names it
    /// in that call: a number of the caller's, used once in a session.
    pub fn update_requested(&mut self, id: u64, params: &[u8]) {
        self.grant.requested(id, params);
        self.verdicts.forget();
    }

    /// The producer answered a `featureSets/update` request: `accepted` is true for the result
    /// `{accepted: true}`, see [`Admission::accepts`], and false for any other answer, whose narrowing then
    /// stays in force. [`Changed::Nothing`] for an id that is not waited for.
    pub fn update_answered(&mut self, id: u64, accepted: bool) -> Changed {
        let known = self.grant.answered(id, accepted);
        self.grant_changed(known)
    }

    /// Whether a raw result of the producer's accepts a `featureSets/update`.
    pub fn accepts(result: &[u8]) -> bool {
        raw::only(result, "accepted").ok().flatten().map(raw::kind) == Some(raw::Kind::Bool(true))
    }

    /// The host's `featureSets/update` notification with these raw params was seen: only its `disabled`
    /// counts, and it narrows.
    pub fn update_notified(&mut self, params: &[u8]) -> Changed {
        let says_something = self.grant.notified(params);
        self.grant_changed(says_something)
    }

    fn grant_changed(&mut self, changed: bool) -> Changed {
        if !changed {
            return Changed::Nothing;
        }
        self.verdicts.forget();
        Changed::Grant
    }

    /// The host answered, with this raw result, `channels/register` or the request form of
    /// `channels/changed`, which submitted these channels: `channels`, or `added` and `updated`
    /// (see [`channel_ids`]). From now on channels that were not accepted are unregistered.
    ///
    /// An error is no answer. Channels that the request form removes are for [`Admission::removed`].
    pub fn registered(&mut self, submitted: &[impl AsRef<str>], result: &[u8]) -> Changed {
        self.channels.answered();
        self.add(channels::accepted(submitted, result))
    }

    /// A `channels/changed` notification of the producer's was seen. It answers nothing: other channels stay
    /// as unknown as they were.
    pub fn channels_notified(&mut self, added: &[impl AsRef<str>], removed: &[impl AsRef<str>]) -> Changed {
        let gone = self.removed(removed);
        match (self.add(boxed(added)), gone) {
            (Changed::Channels(mut ids), Changed::Channels(gone)) => {
                ids.extend(gone);
                Changed::Channels(ids)
            }
            (Changed::Nothing, gone) => gone,
            (added, _) => added,
        }
    }

    /// These channels are gone.
    pub fn removed(&mut self, ids: &[impl AsRef<str>]) -> Changed {
        for id in ids {
            self.channels.remove(id.as_ref());
        }
        self.channels_changed(boxed(ids))
    }

    /// The producer's answer to `channels/open` returned this channel.
    pub fn channel_opened(&mut self, id: &str) -> Changed {
        self.add(vec![id.into()])
    }

    fn add(&mut self, ids: Vec<Box<str>>) -> Changed {
        for id in &ids {
            self.channels.add(id);
        }
        self.channels_changed(ids)
    }

    fn channels_changed(&mut self, ids: Vec<Box<str>>) -> Changed {
        if ids.is_empty() {
            return Changed::Nothing;
        }
        for id in &ids {
            self.verdicts.forget_channel(id);
        }
        Changed::Channels(ids)
    }

    /// The host's answer to an event with this claim taught this. True if it is news.
    pub fn learn(&mut self, claim: &Claim<'_>, learned: Learned) -> bool {
        self.verdicts.learn(*claim, learned)
    }

    /// How an event with this claim stands. The host's own verdict wins; then any reason that forbids it,
    /// the first in the host's order; then any that is unknown.
    pub fn look(&self, claim: &Claim<'_>) -> Standing {
        match self.verdicts.of(*claim) {
            Some(Learned::Open) => Standing::Open,
            Some(Learned::Closed) => Standing::Closed,
            None => self.weigh(*claim),
        }
    }

    /// Whether a `featureSets/update` request was ever answered `accepted: true` in this session: the
    /// initial policy exchange is complete (contract 8.9).
    pub fn policy_known(&self) -> bool {
        self.grant.was_answered()
    }

    /// Whether this channel is known not to be registered with the host (contract 8.1).
    pub fn is_unregistered(&self, channel: &str) -> bool {
        self.channels.registered(channel) == Say::No
    }

    fn weigh(&self, claim: Claim<'_>) -> Standing {
        let mut least = Say::Yes;
        if let Some(name) = claim.feature_set() {
            let [declared, granted, enabled] =
                [self.declared(name), self.grant.capability(PUSH_EVENTS), self.enabled(name)];
            if declared == Say::No {
                return Standing::Forbidden(Authority::UnknownFeatureSet(name.to_owned()));
            }
            if granted == Say::No {
                return Standing::Forbidden(Authority::CapabilityDenied(PUSH_EVENTS));
            }
            if enabled == Say::No {
                return Standing::Forbidden(Authority::FeatureSetNotEnabled(name.to_owned()));
            }
            least = least.min(declared).min(granted).min(enabled);
        }
        if let Some(id) = claim.channel() {
            let [registered, granted] =
                [self.channels.registered(id), self.grant.capability(CHANNELS_INCOMING)];
            if registered == Say::No {
                return Standing::Forbidden(Authority::UnknownChannel(id.to_owned()));
            }
            if granted == Say::No {
                return Standing::Forbidden(Authority::ChannelNotPermitted);
            }
            least = least.min(registered).min(granted);
        }
        if least == Say::Yes { Standing::Permitted } else { Standing::Unknown }
    }

    /// A host whose grant is unknown may be one that knows no feature sets either.
    fn declared(&self, name: &str) -> Say {
        let say = self.features.declares(name);
        if self.grant.is_known() { say } else { say.max(Say::Unknown) }
    }

    fn enabled(&self, name: &str) -> Say {
        let needs = match self.features.uses(name) {
            Some(uses) => uses.iter().map(|used| self.grant.capability(used)).fold(Say::Yes, Say::min),
            None => Say::Unknown,
        };
        self.grant.feature_set(name).min(needs)
    }
}

fn boxed(ids: &[impl AsRef<str>]) -> Vec<Box<str>> {
    ids.iter().map(|id| id.as_ref().into()).collect()
}

/// What is known of one question. Ordered: of several answers the least counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Say {
    No,
    Unknown,
    Yes,
}
