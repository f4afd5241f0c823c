//! When held work goes, in what order, and what keeps it back (contract 7).

use mcpl_codec::Event;

use super::Engine;
use super::input::Stance;
use super::timer::Timer;
use super::work::{Stage, Work, WorkKey};

impl Engine {
    /// Gives a piece of work its reason to go; what its channel holds in earlier places goes with it
    /// (contract 7.1, 7.1a).
    pub(super) fn mark_due(&mut self, key: WorkKey) {
        let Some(work) = self.works.get(key) else { return };
        if work.stage != Stage::Held {
            return;
        }
        let (arrived, subject) = (work.arrived, work.subject.and_then(|id| self.subjects.get(id)));
        let mut earlier =
            work.channel().map_or_else(Vec::new, |channel| self.order.earlier(channel, work.place));
        if work.channel().is_none() {
            // What nothing replaces goes before what came after it of its subject (contract 6.4).
            let held = |key: &&WorkKey| {
                self.works
                    .get(**key)
                    .is_some_and(|other| other.stage == Stage::Held && other.arrived < arrived)
            };
            earlier.extend(subject.into_iter().flat_map(|subject| &subject.fixed).filter(held));
        }
        self.give_reason(earlier.into_iter().chain([key]));
    }

    /// All of these have a reason to go, in this order.
    pub(super) fn give_reason(&mut self, keys: impl IntoIterator<Item = WorkKey>) {
        for key in keys {
            self.unlist(key);
            self.make_ready(key);
        }
    }

    pub(super) fn make_ready(&mut self, key: WorkKey) {
        if let Some(work) = self.works.get_mut(key) {
            let had_reason = std::mem::replace(&mut work.stage, Stage::Ready) != Stage::Held;
            self.list_ready(key);
            if !had_reason {
                self.note_due(key);
                // A reason once given stays given (contract 7.1).
                self.touch(key);
            }
        }
    }

    /// Into the list that work which is ready waits in. A batch that cannot wait for its render is its fallback
    /// from here on (contract 4.5).
    pub(super) fn list_ready(&mut self, key: WorkKey) {
        if self.works.get(key).is_some_and(|work| work.forced && work.is_pending()) {
            self.freeze(key);
        }
        let Some(work) = self.works.get(key) else { return };
        if work.is_pending() {
            self.order.add_batch(work.place, key);
        } else {
            self.order.add_ready(work.place, key, work.forced);
        }
    }

    /// Everything held has a reason to go: the host assembles or has just finished, room is short, an
    /// operator asks, the sidecar drains.
    pub(super) fn release_all(&mut self) {
        if std::mem::replace(&mut self.all_due, true) {
            return;
        }
        // Written once for all of it.
        self.due = self.arrivals;
        self.step();
        let held: Vec<WorkKey> =
            self.works.iter().filter(|(_, work)| work.stage == Stage::Held).map(|(key, _)| key).collect();
        for key in held {
            self.unlist(key);
            if let Some(work) = self.works.get_mut(key) {
                work.stage = Stage::Ready;
            }
            self.list_ready(key);
            self.note_due(key);
        }
        self.mark_aside_due();
    }

    /// What the channel of an uncoalesced event holds goes first (contract 7.1, 7.1a).
    pub(super) fn release_channel(&mut self, event: &Event) {
        if self.session.as_ref().is_some_and(|session| session.host.stance == Stance::Aside) {
            self.release_scope(event);
        }
        let channel = event.channel.as_deref().or(event.hint.as_deref());
        let held = channel.map_or_else(Vec::new, |channel| self.order.earlier(channel, u64::MAX));
        self.give_reason(held);
    }

    /// Contract 4.5: what is held in the scope of an event that passes goes before it, whatever is known.
    pub(super) fn release_scope(&mut self, event: &Event) {
        if self.works.is_empty() {
            return;
        }
        let claims = super::input::Taught::of(event);
        let same = |work: &Work| {
            let own = work.claims();
            match (&own.channel, &claims.channel) {
                (Some(own), Some(channel)) => own == channel,
                (None, None) => own.feature_set == claims.feature_set,
                _ => false,
            }
        };
        let scope: Vec<WorkKey> = self
            .works
            .iter()
            .filter(|(_, work)| !matches!(work.stage, Stage::Out(_) | Stage::Aside { .. }) && same(work))
            .map(|(key, _)| key)
            .collect();
        for key in scope {
            self.unlist(key);
            if let Some(work) = self.works.get_mut(key) {
                work.forced = true;
            }
            self.make_ready(key);
        }
    }

    /// When held work goes by itself (contract 7.1).
    fn release_ms(&self, work: &Work) -> u64 {
        let coalesce = &self.settings.coalesce;
        (work.changed_ms + coalesce.quiet_ms).min(work.first_ms + coalesce.max_hold_ms)
    }

    pub(super) fn is_past_release(&self, work: &Work) -> bool {
        self.release_ms(work) <= self.now.mono_ms && self.busy_until().is_none()
    }

    pub(super) fn set_release(&mut self, key: WorkKey) {
        let Some(work) = self.works.get(key) else { return };
        if work.release_timer_ms.is_none() {
            let at = self.release_ms(work).max(self.busy_until().unwrap_or(0));
            self.arm_release(key, at);
        }
    }

    /// Sets every release timer anew, for when what they were set by has changed.
    pub(super) fn rearm_releases(&mut self) {
        let held: Vec<WorkKey> =
            self.works.iter().filter(|(_, work)| work.stage == Stage::Held).map(|(key, _)| key).collect();
        for key in held {
            if let Some(work) = self.works.get_mut(key) {
                work.release_timer_ms = None;
            }
            self.set_release(key);
        }
    }

    fn arm_release(&mut self, key: WorkKey, at: u64) {
        if let Some(work) = self.works.get_mut(key) {
            work.release_timer_ms = Some(at);
            self.timers.set(at, Timer::Release(key));
        }
    }

    /// The release timer of held work came: it goes, or the timer is set for when it really is time.
    pub(super) fn on_release(&mut self, key: WorkKey, set_for: u64) {
        let Some(work) = self.works.get_mut(key) else { return };
        if work.release_timer_ms != Some(set_for) {
            return;
        }
        work.release_timer_ms = None;
        if work.stage != Stage::Held {
            return;
        }
        let Some(work) = self.works.get(key) else { return };
        let at = self.release_ms(work).max(self.busy_until().unwrap_or(0));
        if at <= self.now.mono_ms { self.mark_due(key) } else { self.arm_release(key, at) }
    }

    /// Contract 7.2: until when a running inference keeps the times of 7.1 waiting.
    fn busy_until(&self) -> Option<u64> {
        let session = self.session.as_ref()?;
        if !self.settings.coalesce.while_busy || session.running.is_empty() {
            return None;
        }
        let until = session.newest_started_ms + self.settings.coalesce.busy_max_ms;
        (until > self.now.mono_ms).then_some(until)
    }
}
