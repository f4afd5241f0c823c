//! A newer occurrence takes the place of an unread one (contract 6.3, 6.5).

use mcpl_codec::{Event, Lane};

use super::Engine;
use super::admit::Candidate;
use super::batch::Batch;
use super::note::Why;
use super::output::{Fate, Outcome, Output};
use super::work::{Role, Stage, Work, WorkKey};
use crate::settings::Position;

impl Engine {
    pub(super) fn keeps_place(&self, old: &Work) -> bool {
        match self.settings.coalesce.position {
            Position::Slot => true,
            Position::Tail => false,
            Position::Auto => old.channel().is_some(),
        }
    }

    /// Contract 6.3: a push that replaces an unread channel message is told as that message.
    pub(super) fn merge(older: &Work, newer: &Event, notice: bool) -> Option<Event> {
        let merges = older.event.lane == Lane::Channel && newer.lane == Lane::Push && !notice;
        merges.then(|| Event::merged(&older.event, newer))
    }

    /// Puts a newer occurrence where `key` was: its reasons, its times and, as configured, its place stay.
    pub(super) fn replace(
        &mut self,
        key: WorkKey,
        number: u64,
        candidate: Candidate,
        outcome: Outcome,
        prior: Option<Box<str>>,
    ) {
        let Candidate { event, fingerprint, digest, coalesce, thread, .. } = candidate;
        let expires_ms = self.expiry_of(&event);
        let urgent = self.is_urgent(&event);
        let Some(old) = self.works.get(key) else { return };
        let mut event = Self::merge(old, &event, coalesce.deferred).map_or(event, Box::new);
        Self::keep_channel(old, &mut event);
        let (subject, keeps_place) = (old.subject, self.keeps_place(old));
        // Where it is listed is for its role, its channel and its place to say; what is being rendered is never
        // replaced like this.
        self.unlist(key);
        let tail = (!keeps_place).then(|| self.order.tail());
        self.keep_text(number, &event);
        let now_ms = self.now.mono_ms;
        let Some(work) = self.works.get_mut(key) else { return };
        let bytes = work.bytes();
        let role = if coalesce.deferred {
            let mut batch = match std::mem::replace(&mut work.role, Role::Plain) {
                Role::Pending(batch) => batch,
                _ => Box::new(Batch::opened_by(number)),
            };
            self.changes.push(batch.join(&event));
            Role::Pending(batch)
        } else {
            Role::Plain
        };
        self.threads.uncount(work.thread.is_some());
        self.threads.count(thread.is_some());
        let mut before = Work {
            role: std::mem::replace(&mut work.role, role),
            number: std::mem::replace(&mut work.number, number),
            event: std::mem::replace(&mut work.event, event),
            digest: std::mem::replace(&mut work.digest, digest),
            outcome: work.outcome.replace(outcome),
            prior: std::mem::replace(&mut work.prior, prior),
            admitted_ms: std::mem::replace(&mut work.admitted_ms, now_ms),
            revision: std::mem::replace(&mut work.revision, 0),
            recorded: work.recorded.take(),
            deferral: work.deferral.take(),
            thread: std::mem::replace(&mut work.thread, thread),
            through: None,
            ..*work
        };
        work.arrived = self.arrivals;
        work.changed_ms = now_ms;
        work.expires_ms = expires_ms;
        work.fingerprint = fingerprint;
        let held = work.stage == Stage::Held;
        work.place = tail.unwrap_or(work.place);
        self.held_bytes = self.held_bytes - bytes + work.bytes();
        if let Some(subject) = subject.and_then(|id| self.subjects.get_mut(id)) {
            subject.unseat(key);
            subject.seat(key, work);
        }
        self.list(key);
        self.close(&mut before, &Fate::Replaced);
        self.touch(key);
        self.outputs.push_back(Output::Ended { event_id: before.event_id(), fate: Fate::Replaced });
        if let Some(at) = expires_ms {
            self.set_expiry(key, at);
        }
        if urgent && held {
            self.why = Why::Urgent;
            self.mark_due(key);
        }
    }
}
