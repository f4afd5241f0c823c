//! The facts the engine is told.

use bytes::Bytes;
use mcpl_codec::{Coalesce, Digest, Event, Lane};

use super::letters::Resolve;
use crate::admission::{Claim, FeatureSets, Learned};
use crate::profile::Dedup;
use crate::refusal::Verdict;
use crate::settings::Settings;
use crate::thread::Thread;

/// Names one event of a producer's request; the driver's, answered exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// How the sidecar stands to the host of a session (contract 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// No MCPL host: everything passes, it is given nothing (4.1, 4.5).
    Apart,
    /// The host coalesces itself, or the operator said `off`: held work goes, `coalesce` passes (4.3, 4.5).
    Aside,
    /// The sidecar coalesces for the host (4.2).
    Over,
}

/// What is known of a host from its `initialize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// How the sidecar stands to it.
    pub stance: Stance,
    /// The largest content it takes, where it says so (contract 4.2).
    pub max_content_bytes: Option<u64>,
    /// Lanes on which it drops what it has had (contract 9.3).
    pub dedup: Dedup,
    /// It refuses coalesced events before its first policy exchange (contract 8.9).
    pub enforces_policy: bool,
    /// It dies of content that is no array of typed blocks (contract 5).
    pub dies_of_malformed: bool,
}

/// One event of the producer.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Names it.
    pub ticket: Ticket,
    /// Whether it can be answered; a notification passes (contract 3.3).
    pub answerable: bool,
    /// The event.
    pub event: Event,
    /// Its digest by [`Engine::digest`](crate::Engine::digest), where the driver has it already; the engine
    /// takes it otherwise.
    pub digest: Option<Digest>,
    /// What its trace is known by, where that is followed (contract 10.1). Past [`MAX_THREADS`](super::MAX_THREADS) it is
    /// not kept.
    pub thread: Option<Box<Thread>>,
}

/// What the host checked when it answered an event, for what its answer teaches (contract 5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taught {
    /// The lane of the event.
    pub lane: Lane,
    /// Its feature set, on the push lane.
    pub feature_set: Box<str>,
    /// Its channel: the message's, or the one that scopes a push.
    pub channel: Option<Box<str>>,
}

impl Taught {
    /// What `event` claims when it is sent to the host.
    pub fn of(event: &Event) -> Self {
        let channel = match event.lane {
            Lane::Channel => Some(event.channel.clone().unwrap_or_default()),
            Lane::Push => match &event.coalesce {
                Some(Ok(coalesce)) => coalesce.channel.clone(),
                _ => None,
            },
        };
        Self { lane: event.lane, feature_set: event.feature_set.clone().unwrap_or_default(), channel }
    }

    /// The capability its lane needs.
    pub fn capability(&self) -> &'static str {
        capability(self.lane)
    }

    /// The claim to ask the admission about.
    pub fn claim(&self) -> Claim<'_> {
        match (self.lane, &self.channel) {
            (Lane::Channel, channel) => Claim::Message { channel: channel.as_deref().unwrap_or_default() },
            (Lane::Push, Some(channel)) => Claim::ScopedPush { feature_set: &self.feature_set, channel },
            (Lane::Push, None) => Claim::Push { feature_set: &self.feature_set },
        }
    }
}

/// The capability that events of `lane` need.
pub(super) fn capability(lane: Lane) -> &'static str {
    match lane {
        Lane::Push => "pushEvents",
        Lane::Channel => "channels.incoming",
    }
}

/// The claim of `event`, as [`Taught::claim`] has it.
pub(super) fn claim(event: &Event) -> Claim<'_> {
    let feature_set = event.feature_set.as_deref().unwrap_or_default();
    match (event.lane, &event.coalesce) {
        (Lane::Channel, _) => Claim::Message { channel: event.channel.as_deref().unwrap_or_default() },
        (Lane::Push, Some(Ok(Coalesce { channel: Some(channel), .. }))) => {
            Claim::ScopedPush { feature_set, channel }
        }
        (Lane::Push, _) => Claim::Push { feature_set },
    }
}

/// A host's answer to a forward of ours, classified (contract 7.4).
#[derive(Clone, Debug)]
pub struct HostReply {
    /// What it means.
    pub verdict: Verdict,
    /// Its words as the producer is to get them, should the forward be a write-through: the raw `result` or
    /// `error` on the push lane, the raw per-message result on the channel lane.
    pub text: Bytes,
    /// Whether `text` is an `error` object.
    pub error: bool,
}

/// A producer's answer to a `push/render` of ours (contract 6.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rendering {
    /// It rendered.
    Content {
        /// The raw `content`.
        content: Bytes,
        /// The raw string of its `timestamp`, or else of the time it came.
        timestamp: Bytes,
    },
    /// It could not, or its answer has no content.
    Failed,
}

/// What a channel became (contract 5).
#[derive(Clone, Debug)]
pub enum ChannelFact {
    /// The host answered a registration: what was submitted, and its raw `result`.
    Answered {
        /// Ids in the request.
        submitted: Vec<String>,
        /// The raw `result`.
        result: Bytes,
    },
    /// The producer notified a change.
    Notified {
        /// Ids added.
        added: Vec<String>,
        /// Ids removed.
        removed: Vec<String>,
    },
    /// The producer's answer to `channels/open` named it.
    Opened(String),
}

/// What the host said of its policy (contract 5).
#[derive(Clone, Debug)]
pub enum GrantFact {
    /// A `featureSets/update` request passed: its raw params, under a number of the driver's.
    Requested(u64, Bytes),
    /// The producer answered that request.
    Answered {
        /// The driver's number.
        request: u64,
        /// Whether it said `accepted: true`.
        accepted: bool,
    },
    /// A `featureSets/update` notification passed: its raw params.
    Notified(Bytes),
}

/// What the journal can take (contract 9.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreState {
    /// Everything.
    #[default]
    Good,
    /// Not more than there is: new work is refused; what is there can still be handed over and settled.
    Short,
    /// Nothing: no step becomes durable, so nothing is accepted and nothing handed over.
    Gone,
}

/// A phase of one inference of the host (contract 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It runs from now.
    Started,
    /// It completed, was aborted or failed.
    Ended,
}

/// A fact for [`Engine::handle`](crate::Engine::handle).
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "the largest is also the most frequent; a box would cost it an allocation"
)]
pub enum Input {
    /// A session began: the host's `initialize` passed.
    Began(Host),
    /// The producer's `initialize` result said what feature sets it has.
    Declared(FeatureSets),
    /// The session ended, on either side.
    Ended,
    /// An event came.
    Event(Arrival),
    /// The host answered forward `.0`.
    Replied(u64, HostReply),
    /// The producer answered render `.0`.
    Rendered(u64, Rendering),
    /// The first byte of forward `.0` was handed to the transport.
    HandedOver(u64),
    /// The last byte of forward `.0` was.
    Written(u64),
    /// The host answered an event that passed; what that teaches.
    Taught(Taught, Learned),
    /// The host's policy.
    Grant(GrantFact),
    /// The producer's channels.
    Channel(ChannelFact),
    /// An inference of the host, by its id.
    Inference(Box<str>, Phase),
    /// The host is about to assemble a request.
    Assembling,
    /// The way to the host is full (`true`) or has room again: forwards wait meanwhile, replaceable.
    Congested(bool),
    /// Whether the host is being read: the 25 s of contract 7.4 run only then.
    Reading(bool),
    /// Release everything held: an operator asks (contract 7.1).
    Flush,
    /// What the journal can take.
    Store(StoreState),
    /// An operator's word on an occurrence.
    Resolve(Box<Resolve>),
    /// The sidecar stops: as [`Input::Flush`], and no new work is held from now on (contract 7.1).
    Drain,
    /// New settings (contract 2: from the next event on).
    Settings(Box<Settings>),
    /// Time passed, nothing else.
    Tick,
}
