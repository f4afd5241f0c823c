//! What happened, so that a simulation in which something never happens is noticed.

use mcpl_policy::engine::Fate;

/// Counts.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Seen {
    pub(in super::super) kills: u64,
    pub(in super::super) torn: u64,
    pub(in super::super) failures: u64,
    pub(in super::super) restores: u64,
    pub(in super::super) late_passes: u64,
    pub(super) disk: u64,
    pub(super) retried: u64,
    pub(super) resent: u64,
    pub(super) again: u64,
    pub(super) left: u64,
    pub(super) left_sidecar: u64,
    pub(super) wrong_revisions: u64,
    pub(super) asked: u64,
    pub(super) rendered: u64,
    pub(super) twice: u64,
    pub(super) fallbacks: u64,
    pub(in super::super) late: u64,
    pub(super) resolved: [u64; 4],
    fates: [u64; 8],
}

impl Seen {
    pub(super) fn fate(&mut self, fate: &Fate) {
        let at = match fate {
            Fate::Delivered => 0,
            Fate::Replaced => 1,
            Fate::Withdrawn => 2,
            Fate::Expired => 3,
            Fate::Dead(_) => 4,
            Fate::Dropped => 5,
            Fate::Empty => 6,
            Fate::Lapsed => 7,
            other => panic!("{other:?} is no end"),
        };
        self.fates[at] += 1;
    }

    fn counts(&mut self) -> Vec<&mut u64> {
        let Self {
            kills,
            torn,
            failures,
            restores,
            late_passes,
            disk,
            retried,
            resent,
            again,
            left,
            left_sidecar,
            wrong_revisions,
            asked,
            rendered,
            twice,
            fallbacks,
            late,
            resolved,
            fates,
        } = self;
        let plain = [kills, torn, failures, restores, late_passes, disk, retried, resent, again, left];
        let renders = [asked, rendered, twice, fallbacks, late];
        plain
            .into_iter()
            .chain([left_sidecar, wrong_revisions])
            .chain(renders)
            .chain(resolved)
            .chain(fates)
            .collect()
    }

    /// Adds what another run saw.
    pub(in super::super) fn add(&mut self, other: &Self) {
        let mut other = other.clone();
        for (count, more) in self.counts().into_iter().zip(other.counts()) {
            *count += *more;
        }
    }

    /// A simulation that never meets a case checks nothing of it.
    pub(in super::super) fn assert_everything_happened(&mut self) {
        let shown = format!("{self:?}");
        assert!(self.counts().into_iter().all(|count| *count > 0), "{shown}");
    }
}
