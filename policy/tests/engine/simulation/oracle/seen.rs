//! What happened, so that a simulation in which something never happens is noticed.

use mcpl_policy::engine::{Fate, Outcome};

/// Counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(super) passed: u64,
    pub(super) retried: u64,
    pub(super) refused: u64,
    pub(super) conflicts: u64,
    pub(super) rate: u64,
    pub(super) room: u64,
    pub(super) through: u64,
    pub(super) joined: u64,
    pub(super) vouched: u64,
    pub(super) refused_through: u64,
    pub(super) unanswered: u64,
    pub(super) merged: u64,
    pub(super) again: u64,
    pub(super) again_later: u64,
    pub(super) resent: u64,
    pub(super) asked: u64,
    pub(super) rendered: u64,
    pub(super) together: u64,
    pub(super) dropped: u64,
    pub(super) timed_out: u64,
    pub(super) cancelled: u64,
    pub(super) late: u64,
    outcomes: [u64; 6],
    fates: [u64; 8],
}

impl Seen {
    pub(super) fn outcome(&mut self, outcome: Outcome) {
        self.outcomes[outcome as usize] += 1;
    }

    pub(super) fn fate(&mut self, fate: &Fate) {
        let at = match fate {
            Fate::Delivered => 0,
            Fate::Replaced => 1,
            Fate::Withdrawn => 2,
            Fate::Expired => 3,
            Fate::Dead(_) => 4,
            Fate::InDoubt | Fate::InDoubtAfter(_) => 5,
            Fate::Empty => 6,
            Fate::Lapsed => 7,
            other => panic!("{other:?} is no end"),
        };
        self.fates[at] += 1;
    }

    fn counts(&mut self) -> Vec<&mut u64> {
        let Self {
            passed,
            retried,
            refused,
            conflicts,
            rate,
            room,
            through,
            joined,
            vouched,
            refused_through,
            unanswered,
            merged,
            again,
            again_later,
            resent,
            asked,
            rendered,
            together,
            dropped,
            timed_out,
            cancelled,
            late,
            outcomes,
            fates,
        } = self;
        let plain = [passed, retried, refused, conflicts, rate, room, through, joined, vouched];
        let more = [refused_through, unanswered, merged, again, again_later, resent];
        let renders = [asked, rendered, together, dropped, timed_out, cancelled, late];
        plain.into_iter().chain(more).chain(renders).chain(outcomes).chain(fates).collect()
    }

    /// Adds what another run saw.
    pub(crate) fn add(&mut self, other: &Self) {
        let mut other = other.clone();
        for (count, more) in self.counts().into_iter().zip(other.counts()) {
            *count += *more;
        }
    }

    /// A simulation that never meets a case checks nothing of it.
    pub(crate) fn assert_everything_happened(&mut self) {
        let shown = format!("{self:?}");
        assert!(self.counts().into_iter().all(|count| *count > 0), "{shown}");
    }
}
