//! What the contract's tables say of one subject (contract 6.3, 6.4), in as few words as they have.

use mcpl_policy::engine::Outcome;

use crate::draft::Draft;

/// Whether any version was ever released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    None,
    /// `some` and `unknown`: no row tells them apart.
    Perhaps,
}

/// One subject.
#[derive(Clone, Debug, Default)]
pub(super) struct Subject {
    /// `None`: not tracked, that is, not known to have a history.
    pub(super) read: Option<Read>,
    /// Forwards out.
    pub(super) out: Vec<u64>,
    /// The contract does not settle what is known of it.
    pub(super) unsettled: bool,
}

impl Subject {
    /// The outcome of an occurrence that comes while `occupied` says whether something is unread.
    pub(super) fn outcome(&self, draft: &Draft, occupied: bool, through: bool, initial: bool) -> Outcome {
        let read = match self.read {
            _ if !self.out.is_empty() => Read::Perhaps,
            Some(read) => read,
            None if initial && draft.initial => Read::None,
            None => Read::Perhaps,
        };
        match (draft.retract, occupied, read) {
            (true, _, Read::None) => Outcome::Retracted,
            (true, _, Read::Perhaps) if draft.content.is_empty() => Outcome::Consumed,
            (true, _, Read::Perhaps) => Outcome::Noted,
            (false, true, _) => Outcome::Replaced,
            (false, false, _) if draft.deferred => {
                if through {
                    Outcome::Appended
                } else {
                    Outcome::First
                }
            }
            (false, false, Read::None) => Outcome::First,
            (false, false, Read::Perhaps) => Outcome::Appended,
        }
    }
}
