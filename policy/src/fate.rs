//! Where an occurrence stands, and what may become of it (contract 9.1, 9.3).

use std::fmt::Write as _;

use mcpl_codec::Refusal;

use crate::disposition::Facts;

mod spelling;
#[cfg(test)]
mod tests;

/// Why a host did not take an occurrence yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deferral {
    /// It is `unavailable`.
    Backpressure,
    /// The grant, or the channel, has to change first (contract 7.4).
    Other,
}

/// Where an accepted occurrence stands. Its three facts follow from it: [`Fate::facts`].
///
/// What was deferred once stays so until it is decided, since nothing leads from `deferred` back to `pending`
/// (contract 9.2). So what is handed over after a deferral is told from what never met one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// No host was given it yet.
    Held,
    /// The host could not take it; it waits.
    Deferred(Deferral),
    /// Handed over, and not answered for.
    Submitted,
    /// Handed over, and not answered for; a host deferred it before.
    SubmittedAfter(Deferral),
    /// Handed over and unanswered where sending again could double it: an operator decides (contract 9.3).
    InDoubt,
    /// The same of what a host deferred before.
    InDoubtAfter(Deferral),
    /// The host accepted it, or had it already.
    Delivered,
    /// A newer occurrence took its place, or superseded it while it was on its way.
    Replaced,
    /// Its sender withdrew it.
    Withdrawn,
    /// It was rendered, and there was nothing to tell (contract 6.5).
    Empty,
    /// It was dropped with the authority for it (contract 7.5).
    Lapsed,
    /// It was in doubt, and an operator dropped it.
    Dropped,
    /// Its time was over before the host could be given it.
    Expired,
    /// The host refused it for good.
    Dead(Refusal),
}

impl Fate {
    /// Every name that [`Fate::state`] gives.
    pub const STATES: [&'static str; 12] = [
        "held",
        "deferred",
        "outcome-unknown",
        "manual-reconciliation",
        "delivered",
        "replaced",
        "withdrawn",
        "empty",
        "lapsed",
        "dropped",
        "expired",
        "dead-letter",
    ];

    /// Handed over and not answered for; `deferred`: what a host deferred it for before, if one did.
    pub const fn submitted(deferred: Option<Deferral>) -> Self {
        match deferred {
            None => Self::Submitted,
            Some(why) => Self::SubmittedAfter(why),
        }
    }

    /// In doubt; `deferred`: what a host deferred it for before, if one did.
    pub const fn in_doubt(deferred: Option<Deferral>) -> Self {
        match deferred {
            None => Self::InDoubt,
            Some(why) => Self::InDoubtAfter(why),
        }
    }

    /// What a host deferred it for, while that is not decided.
    pub const fn deferral(&self) -> Option<Deferral> {
        match self {
            Self::Deferred(why) | Self::SubmittedAfter(why) | Self::InDoubtAfter(why) => Some(*why),
            _ => None,
        }
    }

    /// It was handed over, and is not answered for.
    pub const fn is_submitted(&self) -> bool {
        matches!(self, Self::Submitted | Self::SubmittedAfter(_))
    }

    /// An operator has to say whether the host has it.
    pub const fn is_in_doubt(&self) -> bool {
        matches!(self, Self::InDoubt | Self::InDoubtAfter(_))
    }

    /// It ended in one of the ways of contract 9.1. What is in doubt did not end.
    pub const fn is_end(&self) -> bool {
        match self {
            Self::Held
            | Self::Deferred(_)
            | Self::Submitted
            | Self::SubmittedAfter(_)
            | Self::InDoubt
            | Self::InDoubtAfter(_) => false,
            Self::Delivered
            | Self::Replaced
            | Self::Withdrawn
            | Self::Empty
            | Self::Lapsed
            | Self::Dropped
            | Self::Expired
            | Self::Dead(_) => true,
        }
    }

    /// Its name in `journal list`: one of [`Fate::STATES`].
    pub const fn state(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Deferred(_) => "deferred",
            Self::Submitted | Self::SubmittedAfter(_) => "outcome-unknown",
            Self::InDoubt | Self::InDoubtAfter(_) => "manual-reconciliation",
            Self::Delivered => "delivered",
            Self::Replaced => "replaced",
            Self::Withdrawn => "withdrawn",
            Self::Empty => "empty",
            Self::Lapsed => "lapsed",
            Self::Dropped => "dropped",
            Self::Expired => "expired",
            Self::Dead(_) => "dead-letter",
        }
    }

    /// The three facts of contract 9.2.
    pub fn facts(&self) -> Facts {
        Facts::of(self)
    }

    /// Whether `next` may come directly after it within one disposition. To stay as it is is no change and
    /// always allowed.
    ///
    /// Nothing is taken, refused or in doubt that was not handed over before. What was handed over ends as
    /// replaced, withdrawn or expired only once the host said "not now" or no byte of it left; where one input
    /// brings both, the two changes are one here. That it did is for the caller to know, as it
    /// is of [`Fate::Submitted`] that goes back to [`Fate::Held`]: only if no byte of it left, or an operator
    /// says that it was not submitted (contract 7.4, 9.3).
    pub fn may_become(&self, next: &Self) -> bool {
        self == next
            || match self {
                Self::Held => matches!(
                    next,
                    Self::Submitted
                        | Self::Replaced
                        | Self::Withdrawn
                        | Self::Empty
                        | Self::Lapsed
                        | Self::Expired
                ),
                Self::Deferred(why) => match next {
                    Self::SubmittedAfter(before) => why == before,
                    Self::Replaced | Self::Withdrawn | Self::Expired => true,
                    _ => false,
                },
                Self::Submitted => {
                    matches!(next, Self::Held | Self::InDoubt) || next.may_follow_a_hand_over()
                }
                Self::SubmittedAfter(_) => next.may_follow_a_hand_over(),
                Self::InDoubt | Self::InDoubtAfter(_) => {
                    matches!(next, Self::Delivered | Self::Replaced | Self::Dropped)
                }
                Self::Delivered
                | Self::Replaced
                | Self::Withdrawn
                | Self::Empty
                | Self::Lapsed
                | Self::Dropped
                | Self::Expired
                | Self::Dead(_) => false,
            }
    }

    /// Whether it may come after a hand-over, deferred before or not.
    const fn may_follow_a_hand_over(&self) -> bool {
        matches!(
            self,
            Self::Deferred(_)
                | Self::SubmittedAfter(_)
                | Self::InDoubtAfter(_)
                | Self::Delivered
                | Self::Replaced
                | Self::Withdrawn
                | Self::Dropped
                | Self::Expired
                | Self::Dead(_)
        )
    }

    /// Where it stands once an operator wants a fresh attempt; `None`: it is not an operator's to renew.
    ///
    /// A decision to reject is final, so a fresh attempt at a dead letter is no change of its disposition: it
    /// **begins a new one**, as does one at what was in doubt (contract 9.3). [`Fate::may_become`] does not
    /// lead there. The new one begins as [`Fate::Held`], and may go on from there at once, as where something
    /// newer is unread. The revision goes on counting, so that no revision is ever seen twice of one
    /// occurrence.
    pub const fn renewed(&self) -> Option<Self> {
        match self {
            Self::Dead(_) | Self::InDoubt | Self::InDoubtAfter(_) => Some(Self::Held),
            _ => None,
        }
    }

    /// One line for people.
    pub fn told(&self) -> String {
        let told = match self {
            Self::Held => "held until there is a reason to release it",
            Self::Deferred(Deferral::Backpressure) => "the host could not take it yet; it is tried again",
            Self::Deferred(Deferral::Other) => "waits until the host's grant or its channel changes",
            Self::Submitted | Self::SubmittedAfter(_) => "given to the host, which has not answered",
            Self::InDoubt | Self::InDoubtAfter(_) => {
                "given to the host, which never answered: say whether it has it"
            }
            Self::Delivered => "delivered",
            Self::Replaced => "replaced by a newer one",
            Self::Withdrawn => "withdrawn by its sender",
            Self::Empty => "rendered, with nothing to tell",
            Self::Lapsed => "dropped with the authority for it",
            Self::Dropped => "dropped by an operator",
            Self::Expired => "expired before the host could be given it",
            Self::Dead(refusal) => return refused(refusal),
        };
        told.to_owned()
    }
}

/// A kind that is not known here is the host's own text: it is cut short, and spelled without what a terminal
/// would act on.
fn refused(refusal: &Refusal) -> String {
    let mut told =
        format!("refused by the host for good: {}", spelling::short(refusal.kind.as_str()).escape_debug());
    if let Some(bytes) = refusal.limit_bytes {
        // Writing to a string cannot fail.
        let _ = write!(told, " (at most {bytes} bytes)");
    }
    told
}
