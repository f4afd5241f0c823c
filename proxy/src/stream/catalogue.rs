//! Every event there is, as data: what it is called, what its `data` has, and whether it may be folded.

use mcpl_policy::engine::Seen;
use mcpl_policy::fate::Fate;

/// How events of a type come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Numbered, kept, replayed; never folded.
    Sequenced,
    /// Not numbered, kept or replayed. Of what waits for a slow reader the newest of each scope is left.
    LatestByScope,
    /// Not numbered, kept or replayed. What waits for a slow reader is put together: the text of all, from the
    /// offset of the first.
    ConcatDelta,
}

impl Delivery {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sequenced => "sequenced",
            Self::LatestByScope => "latest_by_scope",
            Self::ConcatDelta => "concat_delta",
        }
    }
}

/// One type of event.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// Its name.
    pub name: &'static str,
    /// How its events come.
    pub delivery: Delivery,
    /// What it says, in a sentence.
    pub says: &'static str,
    /// Members of `data` that it always has.
    pub always: &'static [&'static str],
    /// Members that it has where they are known.
    pub maybe: &'static [&'static str],
}

/// What every observation says.
const ALWAYS: &[&str] = &[
    "id", "producer", "eventId", "state", "delivery", "decision", "outcome", "revision", "lane", "open",
    "admitted",
];
/// What an observation of what is held may say.
const HELD: &[&str] =
    &["scope", "subject", "waits", "attempts", "notBefore", "expiresAt", "coalesce", "notices"];
/// What an observation of an end may say.
const ENDED: &[&str] = &["scope", "subject", "attempts", "expiresAt", "coalesce", "notices"];
const REPLACED: &[&str] = &["scope", "subject", "attempts", "expiresAt", "coalesce", "notices", "replacedBy"];
const WITHDRAWN: &[&str] =
    &["scope", "subject", "attempts", "expiresAt", "coalesce", "notices", "withdrawnBy"];
const DEAD: &[&str] =
    &["scope", "subject", "waits", "attempts", "expiresAt", "coalesce", "notices", "refusal"];
const RESOLVED: &[&str] = &[
    "scope",
    "subject",
    "waits",
    "attempts",
    "notBefore",
    "expiresAt",
    "coalesce",
    "notices",
    "replacedBy",
    "withdrawnBy",
    "refusal",
];

const fn sequenced(name: &'static str, maybe: &'static [&'static str], says: &'static str) -> Type {
    Type { name, delivery: Delivery::Sequenced, says, always: ALWAYS, maybe }
}

/// The index of a type in [`TYPES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is said in TYPES")]
pub enum Kind {
    Held,
    Deferred,
    Submitted,
    InDoubt,
    Delivered,
    Replaced,
    Superseded,
    Withdrawn,
    Emptied,
    Lapsed,
    Dropped,
    Expired,
    Dead,
    Resolved,
    Status,
    Diary,
}

/// Every type, in the order of [`Kind`].
pub const TYPES: [Type; 16] = [
    sequenced("occurrence.held", HELD, "It is accepted and waits, or what it waits for changed."),
    sequenced("occurrence.deferred", HELD, "The host could not take it yet; it waits."),
    sequenced(
        "occurrence.submitted",
        HELD,
        "It is written down as handed over (prepared, outcome unknown); the host has not answered.",
    ),
    sequenced(
        "occurrence.in-doubt",
        HELD,
        "It was handed over and never answered for, where a repeat could double it: somebody has to settle it.",
    ),
    sequenced("occurrence.delivered", ENDED, "The host took it."),
    sequenced("occurrence.replaced", REPLACED, "A newer one took its place before any host was given it."),
    sequenced(
        "occurrence.superseded",
        REPLACED,
        "A newer one took its place after a host could not take it.",
    ),
    sequenced("occurrence.withdrawn", WITHDRAWN, "Its sender withdrew it, or it was such a withdrawal."),
    sequenced("occurrence.emptied", ENDED, "It was rendered, with nothing to tell."),
    sequenced("occurrence.lapsed", ENDED, "It was dropped with the authority for it."),
    sequenced("occurrence.dropped", ENDED, "It was dropped."),
    sequenced("occurrence.expired", ENDED, "Its time was over before a host could be given it."),
    sequenced("occurrence.dead", DEAD, "The host refused it for good: a dead letter."),
    sequenced(
        "occurrence.resolved",
        RESOLVED,
        "An operator's word was carried out; `state` says what it is now.",
    ),
    Type {
        name: "producer.status",
        delivery: Delivery::LatestByScope,
        says: "How a producer's binding stands now; the scope is the producer.",
        always: &["producer", "served"],
        maybe: &[
            "session",
            "peer",
            "held",
            "heldBytes",
            "subjects",
            "out",
            "inDoubt",
            "dead",
            "store",
            "counts",
        ],
    },
    Type {
        name: "producer.diary",
        delivery: Delivery::ConcatDelta,
        says: "Lines about a producer's sessions and its journal, for people; the scope is the producer.",
        always: &["producer", "offset", "text"],
        maybe: &[],
    },
];

impl Kind {
    /// All that is said of it.
    pub fn about(self) -> &'static Type {
        &TYPES[self as usize]
    }

    /// What kind of observation that is.
    pub fn of(seen: &Seen) -> Self {
        match &seen.fate {
            _ if seen.operator => Self::Resolved,
            Fate::Held => Self::Held,
            Fate::Deferred(_) => Self::Deferred,
            Fate::Submitted | Fate::SubmittedAfter(_) => Self::Submitted,
            Fate::InDoubt | Fate::InDoubtAfter(_) => Self::InDoubt,
            Fate::Delivered => Self::Delivered,
            Fate::Replaced if seen.handed => Self::Superseded,
            Fate::Replaced => Self::Replaced,
            Fate::Withdrawn => Self::Withdrawn,
            Fate::Empty => Self::Emptied,
            Fate::Lapsed => Self::Lapsed,
            Fate::Dropped => Self::Dropped,
            Fate::Expired => Self::Expired,
            Fate::Dead(_) => Self::Dead,
        }
    }
}
