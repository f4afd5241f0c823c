//! When held work goes, in what order, and what keeps it back (contract 7).

use mcpl_codec::Event;

use super::Engine;
use super::input::Stance;
use super::out::Out;
use super::output::{Fate, Output};
use super::subject::SubjectKey;
use super::timer::Timer;
use super::work::{Role, Stage, Work, WorkKey};
use crate::admission::Standing;

impl Engine {
    /// Takes a new piece of work in: into the order, its subject, the bytes held and the timers.
    pub(super) fn insert(&mut self, work: Work, due: bool) -> WorkKey {
        let (subject, role, place) = (work.subject, work.role, work.place);
        let fingerprint = work.through.is_some().then_some(work.fingerprint);
        let expires_ms = work.expires_ms;
        self.held_bytes += work.bytes();
        let channel = work.channel().map(str::to_owned);
        let key = self.works.insert(work);
        if let Some(fingerprint) = fingerprint {
            self.throughs.insert(fingerprint, key);
        }
        if let Some(id) = subject
            && let Some(subject) = self.subjects.get_mut(id)
        {
            subject.works += 1;
            if matches!(role, Role::Occupant { .. }) {
                subject.occupant = Some(key);
            }
            self.subjects.settle(id);
        }
        if let Some(channel) = channel {
            self.order.hold(&channel, place, key);
        }
        if let Some(at) = expires_ms {
            self.set_expiry(key, at);
        }
        if due {
            self.mark_due(key);
        } else {
            self.all_due = false;
            self.set_release(key);
        }
        key
    }

    /// Takes a piece of work out of everything; the caller says how it ended.
    pub(super) fn remove(&mut self, key: WorkKey) -> Option<Work> {
        self.unlist(key);
        let work = self.works.remove(key)?;
        if !matches!(work.stage, Stage::Out(_)) {
            self.held_bytes -= work.bytes();
            if let Some(id) = work.subject
                && let Some(subject) = self.subjects.get_mut(id)
            {
                subject.works -= 1;
                if subject.occupant == Some(key) {
                    subject.occupant = None;
                }
                self.subjects.settle(id);
                self.unblock(id);
            }
        }
        if work.through.is_some() {
            self.throughs.remove(&work.fingerprint);
        }
        Some(work)
    }

    /// Removes an accepted occurrence and tells its fate.
    pub(super) fn end(&mut self, key: WorkKey, fate: Fate) {
        if let Some(work) = self.remove(key) {
            self.step();
            self.outputs.push_back(Output::Ended { event_id: work.event_id(), fate });
        }
    }

    /// Out of the list its stage stands for; the stage itself is the caller's to set.
    pub(super) fn unlist(&mut self, key: WorkKey) {
        let Some(work) = self.works.get(key) else { return };
        match work.stage {
            Stage::Held => {
                if let Some(channel) = work.channel() {
                    self.order.unhold(channel, work.place);
                }
            }
            Stage::Ready => {
                self.order.ready.remove(&work.place);
            }
            Stage::Parked => {
                self.order.parked.remove(&work.place);
            }
            Stage::Behind => {
                if let Some(subject) = work.subject.and_then(|id| self.subjects.get_mut(id)) {
                    subject.behind.remove(&work.place);
                }
            }
            Stage::Waiting | Stage::Aside { .. } | Stage::Out(_) => {}
        }
    }

    pub(super) fn move_to_tail(&mut self, key: WorkKey) {
        let place = self.order.tail();
        self.unlist(key);
        let Some(work) = self.works.get_mut(key) else { return };
        work.place = place;
        match work.stage {
            Stage::Held => {
                if let Some(channel) = work.channel() {
                    self.order.hold(channel, place, key);
                }
            }
            Stage::Ready => {
                self.order.ready.insert(place, key);
            }
            Stage::Parked => {
                self.order.parked.insert(place, key);
            }
            Stage::Behind => {
                if let Some(subject) = work.subject.and_then(|id| self.subjects.get_mut(id)) {
                    subject.behind.insert(place, key);
                }
            }
            Stage::Waiting | Stage::Aside { .. } | Stage::Out(_) => {}
        }
    }

    /// Gives a piece of work its reason to go; what its channel holds in earlier places goes with it
    /// (contract 7.1, 7.1a).
    pub(super) fn mark_due(&mut self, key: WorkKey) {
        let Some(work) = self.works.get(key) else { return };
        if work.stage != Stage::Held {
            return;
        }
        let earlier = work.channel().map_or_else(Vec::new, |channel| self.order.earlier(channel, work.place));
        for key in earlier.into_iter().chain([key]) {
            self.unlist(key);
            self.make_ready(key);
        }
    }

    pub(super) fn make_ready(&mut self, key: WorkKey) {
        if let Some(work) = self.works.get_mut(key) {
            work.stage = Stage::Ready;
            self.order.ready.insert(work.place, key);
        }
    }

    /// Everything held has a reason to go: the host assembles or has just finished, room is short, an
    /// operator asks, the sidecar drains.
    pub(super) fn release_all(&mut self) {
        if std::mem::replace(&mut self.all_due, true) {
            return;
        }
        let held: Vec<WorkKey> =
            self.works.iter().filter(|(_, work)| work.stage == Stage::Held).map(|(key, _)| key).collect();
        for key in held {
            self.unlist(key);
            self.make_ready(key);
        }
        self.mark_aside_due();
    }

    /// What the channel of an uncoalesced event holds goes first (contract 7.1, 7.1a).
    pub(super) fn release_channel(&mut self, event: &Event) {
        let channel = event.channel.as_deref().or(event.hint.as_deref());
        for key in channel.map_or_else(Vec::new, |channel| self.order.earlier(channel, u64::MAX)) {
            self.unlist(key);
            self.make_ready(key);
        }
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

    /// What waited first for an answer of its subject may be tried again, if none is out; the next one goes
    /// when that one has gone, or cannot.
    pub(super) fn unblock(&mut self, id: SubjectKey) {
        let Some(subject) = self.subjects.get_mut(id) else { return };
        if subject.blocking.is_none()
            && let Some((_, key)) = subject.behind.pop_first()
        {
            self.make_ready(key);
        }
    }

    /// What was not admissible may be by now: of all that is parked, what is `hit`.
    pub(super) fn unpark(&mut self, hit: impl Fn(&Work) -> bool) {
        let works = &mut self.works;
        let hit: Vec<(u64, WorkKey)> = self
            .order
            .parked
            .iter()
            .filter(|(_, key)| works.get(**key).is_some_and(&hit))
            .map(|(&place, &key)| (place, key))
            .collect();
        for (place, key) in hit {
            self.order.parked.remove(&place);
            self.make_ready(key);
        }
    }

    /// Hands over what is ready, in the order of places, as far as the host, the limits, its subject, its
    /// time and its scope allow.
    pub(super) fn pump(&mut self) {
        let Some(session) = &self.session else { return };
        if session.host.stance == Stance::Apart || session.congested {
            return;
        }
        let aside = session.host.stance == Stance::Aside;
        let mut from = 0;
        while let Some((&place, &key)) = self.order.ready.range(from..).next() {
            from = place + 1;
            if self.session.as_ref().is_some_and(|session| session.congested) {
                return;
            }
            let Some(work) = self.works.get(key) else {
                self.order.ready.remove(&place);
                continue;
            };
            if self.is_expired(work) {
                self.expire(key);
                continue;
            }
            if work.role == Role::InDoubt && !self.resends(work.event.lane, key) {
                // This host may have it twice, or has forgotten by now: an operator decides (contract 9.3).
                self.end(key, Fate::InDoubt);
                continue;
            }
            let forced = work.forced;
            if self.outs.len() >= self.settings.in_flight && !forced {
                if aside {
                    continue;
                }
                return;
            }
            if let Some(stage) = self.hindrance(work) {
                let subject = work.subject;
                self.order.ready.remove(&place);
                self.hinder(key, stage);
                if let Some(id) = subject {
                    self.unblock(id);
                }
                continue;
            }
            let earlier = work.channel().map_or_else(Vec::new, |channel| self.order.earlier(channel, place));
            if !earlier.is_empty() {
                // It was moved behind them after it got its reason, or they came back (contract 7.1a).
                for key in earlier {
                    self.unlist(key);
                    self.make_ready(key);
                }
                from = 0;
                continue;
            }
            if !forced && let Err(wait_ms) = self.pace.take(self.now.mono_ms) {
                let at = self.now.mono_ms + wait_ms;
                if self.pace_timer_ms.is_none_or(|set| at < set) {
                    self.pace_timer_ms = Some(at);
                    self.timers.set(at, Timer::Pace);
                }
                if aside {
                    continue;
                }
                return;
            }
            self.forward(key);
        }
    }

    /// What keeps a piece of work back that has a reason to go.
    fn hindrance(&self, work: &Work) -> Option<Stage> {
        let subject = work.subject.and_then(|id| self.subjects.get(id));
        if subject.is_some_and(|subject| subject.blocking.is_some()) {
            return Some(Stage::Behind);
        }
        if work.not_before_ms > self.now.mono_ms {
            return Some(Stage::Waiting);
        }
        if work.forced || work.through.is_some() {
            return None;
        }
        let session = self.session.as_ref()?;
        let waited = self.now.mono_ms >= session.began_ms + self.settings.host.policy_wait_ms;
        let admissible = match session.admission.look(&super::input::claim(&work.event)) {
            Standing::Open | Standing::Permitted => true,
            Standing::Unknown => waited,
            Standing::Closed | Standing::Forbidden(_) => false,
        };
        (work.stuck || !admissible).then_some(Stage::Parked)
    }

    fn hinder(&mut self, key: WorkKey, stage: Stage) {
        let Some(work) = self.works.get_mut(key) else { return };
        work.stage = stage;
        match stage {
            Stage::Behind => {
                if let Some(subject) = work.subject.and_then(|id| self.subjects.get_mut(id)) {
                    subject.behind.insert(work.place, key);
                }
            }
            Stage::Waiting => {
                let at = work.not_before_ms;
                if work.retry_timer_ms != Some(at) {
                    work.retry_timer_ms = Some(at);
                    self.timers.set(at, Timer::Retry(key));
                }
            }
            Stage::Parked => {
                self.order.parked.insert(work.place, key);
            }
            Stage::Held | Stage::Ready | Stage::Aside { .. } | Stage::Out(_) => {}
        }
    }

    fn forward(&mut self, key: WorkKey) {
        self.next_forward += 1;
        let number = self.next_forward;
        let after = Some(self.step());
        let Some(work) = self.works.get_mut(key) else { return };
        self.order.ready.remove(&work.place);
        work.stage = Stage::Out(number);
        self.held_bytes -= work.bytes();
        let (lane, body, subject) = (work.event.lane, work.body(), work.subject);
        if let Some(id) = subject
            && let Some(subject) = self.subjects.get_mut(id)
        {
            subject.works -= 1;
            if subject.occupant == Some(key) {
                subject.occupant = None;
            }
            subject.out += 1;
            subject.blocking = Some(number);
            self.subjects.settle(id);
        }
        self.outs.insert(number, Out::new(key, subject));
        self.outputs.push_back(Output::Forward { number, lane, body, after });
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
    fn expire(&mut self, key: WorkKey) {
        self.vouch(key);
        self.end(key, Fate::Expired);
    }

    /// Its time is over and it was not handed over: what is out, set aside or in doubt goes its way.
    fn is_expired(&self, work: &Work) -> bool {
        work.expires_ms.is_some_and(|at| at <= self.now.wall_ms)
            && !matches!(work.stage, Stage::Out(_) | Stage::Aside { .. })
            && work.role != Role::InDoubt
    }
}
