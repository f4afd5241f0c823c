//! Work taken in and out: of the order, its subject, the bytes held and the timers.

use super::Engine;
use super::note::Why;
use super::output::{Fate, Output};
use super::work::{Stage, Work, WorkKey};

impl Engine {
    /// Takes a new piece of work in: into the order, its subject, the bytes held and the timers.
    pub(super) fn insert(&mut self, work: Work, due: bool) -> WorkKey {
        let (subject, place) = (work.subject, work.place);
        let fingerprint = work.through.is_some().then_some(work.fingerprint);
        let (expires_ms, number) = (work.expires_ms, work.number);
        if number > 0 && work.recorded.is_none() {
            self.keep_text(number, &work.event);
        }
        self.held_bytes += work.bytes();
        let channel = work.channel().map(str::to_owned);
        self.threads.count(work.thread.is_some());
        let key = self.works.insert(work);
        if let Some(fingerprint) = fingerprint {
            self.throughs.insert(fingerprint, key);
        }
        if let Some(id) = subject
            && let Some(subject) = self.subjects.get_mut(id)
        {
            subject.works += 1;
            if let Some(work) = self.works.get(key) {
                subject.seat(key, work);
            }
            self.subjects.settle(id);
        }
        if let Some(channel) = channel {
            self.order.hold(&channel, place, key);
        }
        if let Some(at) = expires_ms {
            self.set_expiry(key, at);
        }
        self.queue(key);
        self.touch(key);
        if due {
            if self.works.get(key).is_some_and(|work| work.through.is_none()) {
                self.why = Why::Urgent;
            }
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
        self.threads.uncount(work.thread.is_some());
        if !matches!(work.stage, Stage::Out(_)) {
            self.held_bytes -= work.bytes();
            if let Some(id) = work.subject
                && let Some(subject) = self.subjects.get_mut(id)
            {
                subject.works -= 1;
                subject.unseat(key);
                self.subjects.settle(id);
                self.unblock(id);
                self.wake(id);
            }
        }
        if work.through.is_some() {
            self.throughs.remove(&work.fingerprint);
        }
        self.unqueue(key, &work);
        Some(work)
    }

    /// Removes an accepted occurrence and tells its fate.
    pub(super) fn end(&mut self, key: WorkKey, fate: Fate) {
        if let Some(mut work) = self.remove(key) {
            self.finish(&mut work, fate);
        }
    }

    /// An accepted occurrence is out of everything: its end is written down and told. What an operator is to
    /// see stays on disk.
    pub(super) fn finish(&mut self, work: &mut Work, fate: Fate) {
        self.step();
        let event_id = work.event_id();
        let fate = if fate.is_in_doubt() { Fate::in_doubt(work.deferral) } else { fate };
        match fate {
            Fate::Dead(_) | Fate::InDoubt | Fate::InDoubtAfter(_) => self.lay_aside(work, &fate),
            _ => self.close(work, &fate),
        }
        self.outputs.push_back(Output::Ended { event_id, fate });
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
                self.order.remove_ready(work.place);
            }
            Stage::Parked => {
                self.order.parked.remove(&work.place);
            }
            Stage::Behind => {
                if let Some(subject) = work.subject.and_then(|id| self.subjects.get_mut(id)) {
                    subject.behind.remove(&work.place);
                }
            }
            Stage::Rendering(number) => {
                // What it is answered comes too late.
                self.renders.remove(&number);
            }
            Stage::Waiting | Stage::Aside { .. } | Stage::Out(_) => {}
        }
        self.leave_queue(key);
    }

    /// Into the list its stage stands for, at its place.
    pub(super) fn list(&mut self, key: WorkKey) {
        let Some(work) = self.works.get(key) else { return };
        let place = work.place;
        match work.stage {
            Stage::Held => {
                if let Some(channel) = work.channel() {
                    self.order.hold(channel, place, key);
                }
            }
            Stage::Ready => self.list_ready(key),
            Stage::Parked => {
                self.order.parked.insert(place, key);
            }
            // What it is behind is found anew.
            Stage::Behind => self.make_ready(key),
            Stage::Waiting | Stage::Rendering(_) | Stage::Aside { .. } | Stage::Out(_) => {}
        }
    }
}
