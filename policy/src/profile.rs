//! What is known of a host beyond what it says of itself: its profile (contract 8.10).

use mcpl_codec::Lane;

/// A kind of host, as `[producer.host] profile` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// Any MCPL host: only the contract's own table counts.
    #[default]
    Generic,
    /// The agent-framework host. Its behaviour changed with version 0.5.
    AgentFramework,
    /// The cc-bridge host.
    CcBridge,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 3] = [Self::Generic, Self::AgentFramework, Self::CcBridge];

    /// The name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::AgentFramework => "agent-framework",
            Self::CcBridge => "cc-bridge",
        }
    }

    /// The profile of a name in the configuration; `None` for a name that is none.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == name)
    }

    /// The lanes on which such a host drops what it has had, where `[producer.host] dedup` does not say.
    /// `version` is the host's `mcpl.version`.
    pub fn dedup(self, version: Option<&str>) -> Dedup {
        match self {
            Self::AgentFramework if from_0_5(version) => Dedup::Both,
            Self::Generic | Self::AgentFramework => Dedup::Push,
            Self::CcBridge => Dedup::None,
        }
    }

    /// Whether the host refuses events until its initial policy exchange is complete (contract 8.9).
    pub fn enforces_initial_policy(self, version: Option<&str>) -> bool {
        self == Self::AgentFramework && from_0_5(version)
    }

    /// Whether the host exits on an event whose content is no array of typed blocks (contract 5), so that
    /// such an event must not reach it.
    pub fn dies_of_malformed(self, version: Option<&str>) -> bool {
        self == Self::AgentFramework && !from_0_5(version)
    }
}

/// The lanes on which a host drops an event whose identity it has had (`[producer.host] dedup`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dedup {
    /// On neither.
    None,
    /// On `push/event` only.
    Push,
    /// On both lanes.
    Both,
}

impl Dedup {
    /// Whether what is sent on this lane may be sent again and is had once.
    pub fn covers(self, lane: Lane) -> bool {
        match self {
            Self::None => false,
            Self::Push => matches!(lane, Lane::Push),
            Self::Both => true,
        }
    }
}

/// A version that is absent or cannot be read is an old one: 0.5 is where hosts began to say it reliably.
fn from_0_5(version: Option<&str>) -> bool {
    let mut parts = version.unwrap_or("").trim().split(['.', '-', '+']).map(str::parse::<u64>);
    match (parts.next(), parts.next()) {
        (Some(Ok(0)), Some(Ok(minor))) => minor >= 5,
        (Some(Ok(major)), _) => major >= 1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_configuration() {
        for (name, profile) in [
            ("generic", Profile::Generic),
            ("agent-framework", Profile::AgentFramework),
            ("cc-bridge", Profile::CcBridge),
        ] {
            assert_eq!((profile.as_str(), Profile::named(name)), (name, Some(profile)));
        }
        assert_eq!(Profile::named("Generic"), None);
        assert_eq!(Profile::default(), Profile::Generic);
    }

    #[test]
    fn versions_before_0_5_and_unreadable_ones_are_old() {
        for old in
            [None, Some(""), Some("0.4"), Some("0.4.9"), Some("0"), Some("zero"), Some("0.x"), Some("-1")]
        {
            assert!(!from_0_5(old), "{old:?}");
        }
        for new in ["0.5", "0.5.0", "0.5-draft", "0.10", "1", "1.0", "2.0.1", " 0.6 "] {
            assert!(from_0_5(Some(new)), "{new:?}");
        }
    }

    #[test]
    fn each_row_of_the_table_of_profiles() {
        let (old, new) = (Some("0.4"), Some("0.5"));
        for (profile, version, dedup, enforces, dies) in [
            (Profile::Generic, old, Dedup::Push, false, false),
            (Profile::Generic, new, Dedup::Push, false, false),
            (Profile::AgentFramework, old, Dedup::Push, false, true),
            (Profile::AgentFramework, None, Dedup::Push, false, true),
            (Profile::AgentFramework, new, Dedup::Both, true, false),
            (Profile::CcBridge, old, Dedup::None, false, false),
            (Profile::CcBridge, new, Dedup::None, false, false),
        ] {
            assert_eq!(profile.dedup(version), dedup, "{profile:?} {version:?}");
            assert_eq!(profile.enforces_initial_policy(version), enforces, "{profile:?} {version:?}");
            assert_eq!(profile.dies_of_malformed(version), dies, "{profile:?} {version:?}");
        }
    }

    #[test]
    fn dedup_covers_its_lanes() {
        let covers = |dedup: Dedup| [dedup.covers(Lane::Push), dedup.covers(Lane::Channel)];
        assert_eq!(covers(Dedup::None), [false, false]);
        assert_eq!(covers(Dedup::Push), [true, false]);
        assert_eq!(covers(Dedup::Both), [true, true]);
    }
}
