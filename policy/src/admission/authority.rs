//! What stands against an event, positively known, and how the producer is told.

use mcpl_codec::code::{
    CAPABILITY_DENIED, CHANNEL_NOT_PERMITTED, FEATURE_SET_NOT_ENABLED, UNKNOWN_CHANNEL, UNKNOWN_FEATURE_SET,
};
use mcpl_codec::{Refusal, raw};

/// Longest piece of a peer's name, in bytes, that an answer repeats.
const SHOWN_BYTES: usize = 1024;

/// The authority that an event lacks (contract 5), in the order in which the host would ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authority {
    /// The producer never declared this feature set: `-32003`.
    UnknownFeatureSet(String),
    /// This capability is not granted: `-32002`.
    CapabilityDenied(&'static str),
    /// This feature set is declared and not enabled, or needs a capability that is denied: `-32001`.
    FeatureSetNotEnabled(String),
    /// This channel is not registered: `-32023`.
    UnknownChannel(String),
    /// `channels.incoming` is not granted: `-32017`.
    ChannelNotPermitted,
}

impl Authority {
    /// The code of the error on `push/event`.
    pub fn code(&self) -> i64 {
        match self {
            Self::UnknownFeatureSet(_) => UNKNOWN_FEATURE_SET,
            Self::CapabilityDenied(_) => CAPABILITY_DENIED,
            Self::FeatureSetNotEnabled(_) => FEATURE_SET_NOT_ENABLED,
            Self::UnknownChannel(_) => UNKNOWN_CHANNEL,
            Self::ChannelNotPermitted => CHANNEL_NOT_PERMITTED,
        }
    }

    /// The classification (contract 8.1).
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::UnknownFeatureSet(_) => Refusal::invalid(),
            Self::CapabilityDenied(_) | Self::FeatureSetNotEnabled(_) | Self::ChannelNotPermitted => {
                Refusal::not_permitted()
            }
            Self::UnknownChannel(_) => Refusal::unknown_channel(),
        }
    }

    /// What an error says, and the reason of one message's result.
    pub fn message(&self) -> String {
        match self {
            Self::UnknownFeatureSet(name) => format!("Unknown feature set: {}", shown(name)),
            Self::CapabilityDenied(name) => format!("Capability denied: {name}"),
            Self::FeatureSetNotEnabled(name) => format!("Feature set not enabled: {}", shown(name)),
            Self::UnknownChannel(id) => {
                format!("unknown channel {}: register it first", raw::quote(shown(id)))
            }
            Self::ChannelNotPermitted => "Channel not permitted: channels.incoming is not granted".to_owned(),
        }
    }

    /// An error's `data`: the JSON text of an object with what the refusal is about and its fields.
    pub fn data(&self) -> String {
        self.data_with(&self.refusal())
    }

    /// As [`Authority::data`], with another classification.
    pub fn data_with(&self, refusal: &Refusal) -> String {
        let (name, value) = match self {
            Self::UnknownFeatureSet(name) | Self::FeatureSetNotEnabled(name) => ("featureSet", shown(name)),
            Self::CapabilityDenied(name) => ("capability", *name),
            Self::UnknownChannel(id) => ("channelId", shown(id)),
            Self::ChannelNotPermitted => ("capability", super::CHANNELS_INCOMING),
        };
        format!(r#"{{"{name}":{},{}}}"#, raw::quote(value), refusal.members())
    }
}

fn shown(name: &str) -> &str {
    &name[..name.floor_char_boundary(SHOWN_BYTES)]
}
