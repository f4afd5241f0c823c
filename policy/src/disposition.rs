//! The three facts that are told of every occurrence (contract 9.2).
//!
//! They follow from its [`Fate`], and there is no other way to make them: a pair that contradicts itself
//! cannot be built. A decision carries its reason, each decision its own reasons and no other's.
//!
//! ```compile_fail
//! # use mcpl_policy::disposition::{Decision, Postponement};
//! let wrong = Decision::Rejected(Postponement::ReceiverDeferred);
//! ```
//!
//! ```compile_fail
//! # use mcpl_policy::disposition::{Decision, Delivery, Facts, Observed};
//! let contradiction = Facts {
//!     delivery: Delivery::AdapterSubmitted,
//!     decision: Decision::Expired,
//!     outcome: Observed::NotObserved,
//! };
//! ```
//!
//! The tables hold more than is ever used here: the facts are a vocabulary shared with those who read them.

use mcpl_codec::refusal::Kind;

use crate::fate::{Deferral, Fate};

#[cfg(test)]
mod tests;

/// How far an occurrence has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// It is known, and on no disk yet.
    ControlPlaneAccepted,
    /// It is on disk.
    DurablyReceived,
    /// The receiver was told that there is something.
    ReceiverNotified,
    /// The receiver was offered it at a checkpoint.
    CheckpointOffered,
    /// It was let into the receiver's context.
    ContextAdmitted,
    /// The receiver has it.
    AdapterSubmitted,
    /// It will not be delivered.
    Failed,
    /// Its time was over before it could be delivered.
    Expired,
}

impl Delivery {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::ControlPlaneAccepted,
        Self::DurablyReceived,
        Self::ReceiverNotified,
        Self::CheckpointOffered,
        Self::ContextAdmitted,
        Self::AdapterSubmitted,
        Self::Failed,
        Self::Expired,
    ];

    /// Every step forward. Besides these, what is not [terminal](Self::is_terminal) may fail or expire.
    pub const FORWARD: [(Self, Self); 7] = [
        (Self::ControlPlaneAccepted, Self::DurablyReceived),
        (Self::DurablyReceived, Self::ReceiverNotified),
        (Self::DurablyReceived, Self::CheckpointOffered),
        (Self::ReceiverNotified, Self::ContextAdmitted),
        (Self::CheckpointOffered, Self::ContextAdmitted),
        (Self::ContextAdmitted, Self::AdapterSubmitted),
        (Self::DurablyReceived, Self::AdapterSubmitted),
    ];

    /// Nothing comes after it.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::AdapterSubmitted | Self::Failed | Self::Expired)
    }

    /// Whether `next` may come directly after it.
    pub fn may_become(self, next: Self) -> bool {
        let ends = matches!(next, Self::Failed | Self::Expired) && !self.is_terminal();
        ends || Self::FORWARD.contains(&(self, next))
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ControlPlaneAccepted => "control-plane-accepted",
            Self::DurablyReceived => "durably-received",
            Self::ReceiverNotified => "receiver-notified",
            Self::CheckpointOffered => "checkpoint-offered",
            Self::ContextAdmitted => "context-admitted",
            Self::AdapterSubmitted => "adapter-submitted",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
    }
}

/// A decision without its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecisionState {
    /// Nothing was decided.
    Pending,
    /// It is wanted.
    Accepted,
    /// It is not wanted, for good.
    Rejected,
    /// Not now.
    Deferred,
    /// Something newer says what it said.
    Stale,
    /// Its time was over.
    Expired,
    /// Nobody there can deal with it.
    Unsupported,
    /// It was taken back, or the authority for it was.
    Revoked,
}

impl DecisionState {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Accepted,
        Self::Rejected,
        Self::Deferred,
        Self::Stale,
        Self::Expired,
        Self::Unsupported,
        Self::Revoked,
    ];

    /// Every change there is.
    pub const CHANGES: [(Self, Self); 13] = [
        (Self::Pending, Self::Accepted),
        (Self::Pending, Self::Rejected),
        (Self::Pending, Self::Deferred),
        (Self::Pending, Self::Stale),
        (Self::Pending, Self::Expired),
        (Self::Pending, Self::Unsupported),
        (Self::Pending, Self::Revoked),
        (Self::Deferred, Self::Accepted),
        (Self::Deferred, Self::Rejected),
        (Self::Deferred, Self::Stale),
        (Self::Deferred, Self::Expired),
        (Self::Deferred, Self::Revoked),
        (Self::Accepted, Self::Revoked),
    ];

    /// Whether `next` may come directly after it.
    pub fn may_become(self, next: Self) -> bool {
        Self::CHANGES.contains(&(self, next))
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Deferred => "deferred",
            Self::Stale => "stale",
            Self::Expired => "expired",
            Self::Unsupported => "unsupported",
            Self::Revoked => "revoked",
        }
    }
}

/// Why it was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// The receiver's policy forbids it.
    PolicyDenied,
    /// The receiver did not want it.
    ReceiverRejected,
    /// It had to come through a structured gate.
    StructuredGateRequired,
    /// There was no room for it.
    Backpressure,
    /// There was not enough to support it.
    EvidenceInsufficient,
    /// Anything else.
    Other,
}

/// Why it was deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Postponement {
    /// The receiver put it off.
    ReceiverDeferred,
    /// There is no room for it now.
    Backpressure,
    /// Anything else.
    Other,
}

/// What it is too old for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Staleness {
    /// The receiver is another one now.
    Incarnation,
    /// The run it was for is over.
    Run,
    /// Something newer of its subject took its place.
    Objective,
}

/// What is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unsupported {
    /// What it is for.
    Intent,
    /// How it was to be delivered.
    DeliveryMode,
    /// It had to come through a structured gate.
    StructuredGateRequired,
}

/// What was decided about an occurrence, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Nothing yet.
    Pending,
    /// It is wanted.
    Accepted,
    /// It is not wanted, for good.
    Rejected(Rejection),
    /// Not now.
    Deferred(Postponement),
    /// Something newer says what it said.
    Stale(Staleness),
    /// Its time was over.
    Expired,
    /// Nobody there can deal with it.
    Unsupported(Unsupported),
    /// It was taken back, or the authority for it was.
    Revoked,
}

impl Decision {
    /// Without its reason.
    pub const fn state(self) -> DecisionState {
        match self {
            Self::Pending => DecisionState::Pending,
            Self::Accepted => DecisionState::Accepted,
            Self::Rejected(_) => DecisionState::Rejected,
            Self::Deferred(_) => DecisionState::Deferred,
            Self::Stale(_) => DecisionState::Stale,
            Self::Expired => DecisionState::Expired,
            Self::Unsupported(_) => DecisionState::Unsupported,
            Self::Revoked => DecisionState::Revoked,
        }
    }

    /// The code of its reason; `None`: nothing was decided.
    pub const fn reason(self) -> Option<&'static str> {
        Some(match self {
            Self::Pending => return None,
            Self::Accepted => "accepted",
            Self::Rejected(Rejection::PolicyDenied) => "policy-denied",
            Self::Rejected(Rejection::ReceiverRejected) => "receiver-rejected",
            Self::Rejected(Rejection::StructuredGateRequired)
            | Self::Unsupported(Unsupported::StructuredGateRequired) => "structured-gate-required",
            Self::Rejected(Rejection::Backpressure) | Self::Deferred(Postponement::Backpressure) => {
                "backpressure"
            }
            Self::Rejected(Rejection::EvidenceInsufficient) => "evidence-insufficient",
            Self::Rejected(Rejection::Other) | Self::Deferred(Postponement::Other) => "other",
            Self::Deferred(Postponement::ReceiverDeferred) => "receiver-deferred",
            Self::Stale(Staleness::Incarnation) => "stale-incarnation",
            Self::Stale(Staleness::Run) => "stale-run",
            Self::Stale(Staleness::Objective) => "stale-objective",
            Self::Expired => "expired",
            Self::Unsupported(Unsupported::Intent) => "unsupported-intent",
            Self::Unsupported(Unsupported::DeliveryMode) => "unsupported-delivery-mode",
            Self::Revoked => "revoked",
        })
    }
}

/// What was seen of its effect: the `outcome` of contract 9.2, which is not the
/// [`Outcome`](crate::engine::Outcome) of coalescing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Observed {
    /// Nothing.
    NotObserved,
    /// It had an effect.
    EffectObserved,
    /// Somebody else confirmed the effect.
    ExternallyVerified,
    /// It had none.
    Failed,
}

impl Observed {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::NotObserved, Self::EffectObserved, Self::ExternallyVerified, Self::Failed];

    /// Every change there is.
    pub const CHANGES: [(Self, Self); 4] = [
        (Self::NotObserved, Self::EffectObserved),
        (Self::NotObserved, Self::ExternallyVerified),
        (Self::NotObserved, Self::Failed),
        (Self::EffectObserved, Self::ExternallyVerified),
    ];

    /// Whether `next` may come directly after it.
    pub fn may_become(self, next: Self) -> bool {
        Self::CHANGES.contains(&(self, next))
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotObserved => "not-observed",
            Self::EffectObserved => "effect-observed",
            Self::ExternallyVerified => "externally-verified",
            Self::Failed => "failed",
        }
    }
}

/// The three facts of one occurrence, made by [`Fate::facts`] and by nothing else. The revision stands beside
/// the fate, in its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Facts {
    delivery: Delivery,
    decision: Decision,
    outcome: Observed,
}

impl Facts {
    /// What follows from a fate. No effect is ever seen from here: an outcome is always not observed.
    pub(crate) fn of(fate: &Fate) -> Self {
        let (delivery, decision) = match fate {
            // What was handed over moves on with its receipt and not before (contract 9.3).
            Fate::Held | Fate::Submitted | Fate::InDoubt => (Delivery::DurablyReceived, Decision::Pending),
            Fate::Deferred(why) | Fate::SubmittedAfter(why) | Fate::InDoubtAfter(why) => {
                let why = match why {
                    Deferral::Backpressure => Postponement::Backpressure,
                    Deferral::Other => Postponement::Other,
                };
                (Delivery::DurablyReceived, Decision::Deferred(why))
            }
            Fate::Delivered => (Delivery::AdapterSubmitted, Decision::Accepted),
            Fate::Replaced => (Delivery::Failed, Decision::Stale(Staleness::Objective)),
            Fate::Withdrawn | Fate::Empty | Fate::Lapsed | Fate::Dropped => {
                (Delivery::Failed, Decision::Revoked)
            }
            Fate::Expired => (Delivery::Expired, Decision::Expired),
            Fate::Dead(refusal) => {
                let why = match refusal.kind {
                    Kind::NotPermitted | Kind::UnknownChannel => Rejection::PolicyDenied,
                    _ => Rejection::Other,
                };
                (Delivery::Failed, Decision::Rejected(why))
            }
        };
        Self { delivery, decision, outcome: Observed::NotObserved }
    }

    /// How far it has come.
    pub const fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// What was decided about it.
    pub const fn decision(&self) -> Decision {
        self.decision
    }

    /// What was seen of its effect.
    pub const fn outcome(&self) -> Observed {
        self.outcome
    }
}
