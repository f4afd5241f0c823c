//! Work handed to the host, and what keeps it back (contract 7.3 to 7.5).

use super::Engine;
use super::input::{Stance, StoreState};
use super::note::Says;
use super::out::Out;
use super::output::{Fate, Output};
use super::subject::{Subject, SubjectKey};
use super::timer::Timer;
use super::work::{Role, Stage, Work, WorkKey};
use crate::admission::Standing;

impl Engine {
    /// What waited first for an answer of its subject may be tried again, if none is out; the next one goes
    /// when that one has gone, or cannot.
    pub(super) fn unblock(&mut self, id: SubjectKey) {
        let Some(subject) = self.subjects.get(id) else { return };
        let may = |key: WorkKey| self.works.get(key).is_none_or(|work| !self.is_behind(subject, work));
        let next = subject.behind.iter().map(|(&at, &key)| (at, key)).find(|at| may(at.1));
        if let Some((place, key)) = next
            && let Some(subject) = self.subjects.get_mut(id)
        {
            subject.behind.remove(&place);
            self.make_ready(key);
        }
    }

    /// What was not admissible may be by now: of all that is parked, what is `hit`.
    pub(super) fn unpark(&mut self, hit: impl Fn(&Work) -> bool) {
        let hit = |work: &Work| hit(work) || self.meets_across_lanes(work);
        let hit: Vec<(u64, WorkKey)> = self
            .order
            .parked
            .iter()
            .filter(|(_, key)| self.works.get(**key).is_some_and(&hit))
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
        if session.host.stance == Stance::Apart || session.congested || self.store == StoreState::Gone {
            return;
        }
        self.hand_down();
        // What is found that it cannot go makes way for what was behind it, to be rendered or not.
        loop {
            let before = (self.next_render, self.next_forward, self.order.ready_counts());
            self.start_renders();
            self.hand_over();
            let congested = self.session.as_ref().is_none_or(|session| session.congested);
            if congested || before == (self.next_render, self.next_forward, self.order.ready_counts()) {
                return;
            }
        }
    }

    /// The same of what is not to be rendered first.
    fn hand_over(&mut self) {
        // Once the host or the pace takes no more, only what goes all the same is looked at.
        let mut full = false;
        let mut from = 0;
        while let Some((place, key)) = self.order.next_ready(from, full) {
            from = place + 1;
            if self.session.as_ref().is_some_and(|session| session.congested) {
                return;
            }
            let Some(work) = self.works.get(key) else {
                self.order.remove_ready(place);
                continue;
            };
            if self.is_expired(work) {
                self.expire(key);
                continue;
            }
            if work.doubtful && !self.resends(work.event.lane, key) {
                // This host may have it twice, or has forgotten by now: an operator decides (contract 9.3).
                self.end(key, Fate::InDoubt);
                continue;
            }
            let forced = work.forced;
            if self.outs.len() >= self.settings.in_flight && !forced {
                full = true;
                continue;
            }
            if let Some(stage) = self.hindrance(work) {
                self.keep_back(key, stage);
                continue;
            }
            let earlier = work.channel().map_or_else(Vec::new, |channel| self.order.earlier(channel, place));
            if !earlier.is_empty() {
                // It was moved behind them after it got its reason, or they came back (contract 7.1a).
                self.give_reason(earlier);
                // A batch among them starts its render before this one goes.
                self.start_renders();
                from = 0;
                continue;
            }
            if !forced && let Err(wait_ms) = self.pace.take(self.now.mono_ms) {
                self.await_pace(wait_ms, key);
                full = true;
                continue;
            }
            self.forward(key);
        }
    }

    /// Sees to it that the pace is asked again once it has room.
    pub(super) fn await_pace(&mut self, wait_ms: u64, key: WorkKey) {
        let at = self.now.mono_ms + wait_ms;
        if self.pace_timer_ms.is_none_or(|set| at < set) {
            self.paced += u64::from(self.pace_timer_ms.is_none());
            self.note(key, Says::Paced(wait_ms));
            self.pace_timer_ms = Some(at);
            self.timers.set(at, Timer::Pace);
        }
    }

    /// What keeps a piece of work back that has a reason to go.
    pub(super) fn hindrance(&self, work: &Work) -> Option<Stage> {
        let subject = work.subject.and_then(|id| self.subjects.get(id));
        if subject.is_some_and(|subject| self.is_behind(subject, work)) || !self.is_first_of_queue(work) {
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

    /// Whether something of its own subject goes before it: what is out (contract 7.4), what was rendered before a
    /// batch (6.5), and what nothing replaces and came earlier (6.4): that would be told last else, and be taken for
    /// the newest. A write-through is not kept waiting for that.
    fn is_behind(&self, subject: &Subject, work: &Work) -> bool {
        let earlier = |key: &WorkKey| {
            self.works.get(*key).is_some_and(|other| {
                let waits = match other.stage {
                    Stage::Ready | Stage::Waiting | Stage::Behind => true,
                    Stage::Parked => other.doubtful && subject.is_named(),
                    Stage::Held | Stage::Aside { .. } | Stage::Rendering(_) | Stage::Out(_) => false,
                };
                waits && other.arrived < work.arrived
            })
        };
        subject.blocking.is_some()
            || (work.is_pending() && !subject.rendered.is_empty())
            || (work.role == Role::Rendered && subject.rendered.iter().any(earlier))
            || (!work.forced && work.through.is_none() && subject.fixed.iter().any(earlier))
    }

    /// What is ready is hindered: what waits behind it may be tried instead.
    pub(super) fn keep_back(&mut self, key: WorkKey, stage: Stage) {
        let Some(work) = self.works.get(key) else { return };
        let (subject, place) = (work.subject, work.place);
        self.note_kept(key, stage);
        self.order.remove_ready(place);
        self.hinder(key, stage);
        if let Some(id) = subject {
            self.unblock(id);
        }
    }

    fn hinder(&mut self, key: WorkKey, stage: Stage) {
        let queue_first = self.works.get(key).is_none_or(|work| self.is_first_of_queue(work));
        let batch = self.works.get(key).is_some_and(Work::is_pending);
        if stage != Stage::Behind || (queue_first && batch) {
            // What waits for a time or its scope is passed by, and no batch is waited for (contract 7.1a).
            self.leave_queue(key);
        }
        let Some(work) = self.works.get_mut(key) else { return };
        work.stage = stage;
        match stage {
            Stage::Behind => {
                if !queue_first {
                    return self.queue_behind(key);
                }
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
            Stage::Held | Stage::Ready | Stage::Rendering(_) | Stage::Aside { .. } | Stage::Out(_) => {}
        }
    }

    fn forward(&mut self, key: WorkKey) {
        self.next_forward += 1;
        let number = self.next_forward;
        let after = Some(self.step());
        let Some(work) = self.works.get_mut(key) else { return };
        self.order.remove_ready(work.place);
        work.stage = Stage::Out(number);
        self.held_bytes -= work.bytes();
        let (lane, body, subject, occurrence) = (work.event.lane, work.body(), work.subject, work.number);
        let (taught, thread) = (work.claims(), work.thread.clone());
        let held_ms = self.now.mono_ms.saturating_sub(work.first_ms);
        if let Some(id) = subject
            && let Some(subject) = self.subjects.get_mut(id)
        {
            subject.works -= 1;
            subject.unseat(key);
            subject.out += 1;
            subject.blocking = Some(number);
            self.subjects.settle(id);
            self.touch_subject(id);
        }
        self.touch(key);
        self.leave_queue(key);
        self.outs.insert(number, Out::new(key, subject, (occurrence, self.seq)));
        self.outputs.push_back(Output::Forward { number, lane, body, taught, held_ms, thread, after });
    }
}
