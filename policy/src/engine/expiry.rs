//! Work whose time is over (contract 9.4).

use mcpl_codec::Event;

use super::Engine;
use super::output::Fate;
use super::timer::Timer;
use super::work::{Stage, Work, WorkKey};

impl Engine {
    /// Contract 9.4: the earlier of what the sender and the operator say.
    pub(super) fn expiry_of(&self, event: &Event) -> Option<i64> {
        let ours = self.settings.expires_after_ms;
        let ours = (ours > 0).then(|| self.now.wall_ms.saturating_add(ours as i64));
        match (event.expires_at, ours) {
            (Some(theirs), Some(ours)) => Some(theirs.min(ours)),
            (theirs, ours) => theirs.or(ours),
        }
    }

    pub(super) fn set_expiry(&mut self, key: WorkKey, at: i64) {
        let left = u64::try_from(at.saturating_sub(self.now.wall_ms)).unwrap_or(0);
        // A calendar that is far off, or set meanwhile, is asked again at least once a day.
        let at = self.now.mono_ms + left.min(86_400_000);
        if let Some(work) = self.works.get_mut(key)
            && work.expiry_timer_ms.is_none_or(|set| at < set)
        {
            work.expiry_timer_ms = Some(at);
            self.timers.set(at, Timer::Expiry(key));
        }
    }

    pub(super) fn on_expiry(&mut self, key: WorkKey, set_for: u64) {
        let Some(work) = self.works.get_mut(key) else { return };
        if work.expiry_timer_ms != Some(set_for) {
            return;
        }
        work.expiry_timer_ms = None;
        let Some(at) = work.expires_ms else { return };
        if at > self.now.wall_ms {
            return self.set_expiry(key, at);
        }
        if self.works.get(key).is_some_and(|work| self.is_expired(work)) {
            self.expire(key);
        }
    }

    /// Its time is over. A write-through that was not handed over needs no host for that: it counts as
    /// accepted, and ends.
    pub(super) fn expire(&mut self, key: WorkKey) {
        self.vouch(key);
        self.end(key, Fate::Expired);
    }

    /// Its time is over and it was not handed over: what is out, set aside or in doubt goes its way.
    pub(super) fn is_expired(&self, work: &Work) -> bool {
        work.expires_ms.is_some_and(|at| at <= self.now.wall_ms)
            && !matches!(work.stage, Stage::Out(_) | Stage::Aside { .. })
            && !work.doubtful
    }
}
