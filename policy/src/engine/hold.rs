//! What becomes of an admitted occurrence: held, folded, withdrawn (contract 6.3 to 6.7).

use mcpl_codec::Event;

use super::Engine;
use super::admit::Candidate;
use super::batch::Batch;
use super::input::Ticket;
use super::output::{Answer, Fate, Outcome, Output};
use super::record::Admitted;
use super::subject::{History, SubjectKey};
use super::work::{Role, Stage, Through, Work, WorkKey};

/// What coalescing would make of an occurrence, before anything changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) outcome: Outcome,
    pub(super) subject: Option<SubjectKey>,
    /// What it takes the place of, if a notice: or joins.
    pub(super) occupant: Option<WorkKey>,
    /// The newest that it displaces: the occupant, or what is being rendered.
    pub(super) newest: Option<WorkKey>,
    /// What it adds to the bytes held; negative where it frees some.
    pub(super) growth: i64,
}

impl Plan {
    /// Contract 8.8: whether it adds load towards the host.
    pub(super) fn takes_token(self) -> bool {
        matches!(self.outcome, Outcome::First | Outcome::Appended)
    }
}

impl Engine {
    /// What coalescing would make of it.
    pub(super) fn plan(&mut self, candidate: &Candidate) -> Plan {
        let Candidate { event, coalesce, through, .. } = candidate;
        let subject = self.subjects.find(event);
        let known = subject.and_then(|key| self.subjects.get(key));
        let seated = known.and_then(|subject| subject.occupant);
        let rendered = known.map_or(&[][..], |subject| &subject.rendered);
        let pending = seated.is_some_and(|key| self.works.get(key).is_some_and(Work::is_pending));
        let (occupant, newest) = if coalesce.deferred {
            // Written through it is told for itself: what its producer will render is not lost by it.
            let displaced = seated.filter(|_| !(*through && pending));
            (displaced, displaced)
        } else {
            let waits = |key: &&WorkKey| self.works.get(**key).is_some_and(|work| !work.is_rendering());
            let arrived = |key: &&WorkKey| self.works.get(**key).map(|work| work.arrived);
            let waiting = rendered.iter().filter(waits).min_by_key(arrived);
            let waiting = waiting.filter(|_| !*through && !coalesce.retract);
            (waiting.copied().or(seated), seated.or(rendered.iter().max_by_key(arrived).copied()))
        };
        let history = known.map_or(History::Unknown, super::subject::Subject::reading);
        let untracked = subject.is_none();
        let outcome = if coalesce.retract {
            match history {
                History::None => Outcome::Retracted,
                _ if event.silent => Outcome::Consumed,
                _ => Outcome::Noted,
            }
        } else if newest.is_some() {
            Outcome::Replaced
        } else if untracked && !self.subjects.has_room(self.settings.coalesce.max_subjects) {
            Outcome::Appended
        } else if coalesce.deferred {
            if *through { Outcome::Appended } else { Outcome::First }
        } else if history == History::None
            || (untracked && coalesce.initial && self.settings.coalesce.initial)
        {
            Outcome::First
        } else {
            Outcome::Appended
        };
        let bytes = |key: &WorkKey| self.works.get(*key).map_or(0, |work| work.bytes() as i64);
        // One that is only written through becomes a batch by that.
        let opens = seated
            .and_then(|key| self.works.get(key))
            .is_some_and(|work| work.through.is_some() && work.is_notice() && work.role == Role::Plain);
        let joins = !through && coalesce.deferred && (pending || opens);
        let freed = match outcome {
            _ if joins || (*through && outcome != Outcome::Retracted) => 0,
            _ if coalesce.deferred => seated.iter().map(bytes).sum(),
            _ => seated.iter().chain(rendered).map(bytes).sum::<i64>(),
        };
        let added = match outcome {
            Outcome::Retracted | Outcome::Consumed => 0,
            _ if joins => {
                let batch = seated.and_then(|key| self.works.get(key)).and_then(Work::batch);
                batch.map_or(event.raw.len() as i64, |batch| batch.growth(event.raw.len()))
            }
            Outcome::Replaced => {
                let older = occupant.and_then(|key| self.works.get(key));
                let merged = older.and_then(|older| Self::merge(older, event, coalesce.deferred));
                merged.map_or(event.raw.len(), |merged| merged.raw.len()) as i64
            }
            _ => event.raw.len() as i64,
        };
        Plan { outcome, subject, occupant, newest, growth: added - freed }
    }

    /// Contract 6.3, and 6.5 until the render.
    pub(super) fn hold(&mut self, mut candidate: Candidate, mut plan: Plan) {
        candidate.event.detach();
        let Candidate { ticket, coalesce, through, fingerprint, digest, .. } = candidate;
        let subject = plan.subject.or_else(|| {
            let initial = coalesce.initial && self.settings.coalesce.initial;
            let history = if initial { History::None } else { History::Unknown };
            self.subjects.track(&candidate.event, history, self.settings.coalesce.max_subjects)
        });
        if plan.subject.is_none()
            && let Some(id) = subject
        {
            self.touch_subject(id);
        }
        let prior = plan.newest.and_then(|key| self.works.get(key)).map(Work::event_id);
        let notice = coalesce.deferred;
        if let Some(waiting) = plan.newest.filter(|&key| self.is_through(key)) {
            // What it displaced is gone by that.
            self.vouch(waiting);
            plan.occupant = self.plan(&candidate).occupant;
        }
        if let Some(old) = plan.occupant.filter(|_| !through) {
            let number = self.admit(Some(fingerprint), digest);
            self.keep_accepted(number, &candidate, plan.outcome, prior.clone());
            let pending = subject.and_then(|id| self.subjects.get(id)).and_then(|known| known.occupant);
            if let Some(pending) = pending.filter(|&pending| pending != old) {
                self.end(pending, Fate::Replaced);
            }
            self.replace(old, number, candidate, plan.outcome, prior.clone());
            self.overtake(subject, self.arrivals, &Fate::Replaced, notice);
            self.accept(ticket, plan.outcome, prior);
            return;
        }
        let number = if through { 0 } else { self.admit(Some(fingerprint), digest) };
        if !through {
            self.keep_accepted(number, &candidate, plan.outcome, prior.clone());
        }
        let urgent = through || self.is_urgent(&candidate.event);
        let (first_ms, place) = match plan.occupant.and_then(|key| self.works.get(key)) {
            Some(old) if self.keeps_place(old) => (old.first_ms, Some(old.place)),
            Some(old) => (old.first_ms, None),
            // What cancels a render waits for a reason of its own (contract 7.1).
            None => {
                let cancelled = plan.newest.filter(|_| !through).and_then(|key| self.works.get(key));
                (self.now.mono_ms, cancelled.filter(|old| self.keeps_place(old)).map(|old| old.place))
            }
        };
        if let Some(old) = plan.occupant {
            // It goes as that message, and the host's verdict on that message is its verdict.
            let older = self.works.get(old);
            if let Some(merged) = older.and_then(|older| Self::merge(older, &candidate.event, notice)) {
                *candidate.event = merged;
            }
            self.set_aside(old);
        }
        let place = place.unwrap_or_else(|| self.order.tail());
        let seated =
            subject.and_then(|id| self.subjects.get(id)).is_some_and(|known| known.occupant.is_some());
        let role = match subject {
            Some(_) if notice && !through => {
                let mut batch = Batch::opened_by(number);
                self.changes.push(batch.join(&candidate.event));
                Role::Pending(Box::new(batch))
            }
            Some(_) if !seated => Role::Plain,
            _ => Role::Fixed,
        };
        let work = self.work_of(candidate, plan, (subject, place), prior.clone());
        self.insert(Work { number, role, first_ms, ..work }, urgent);
        if through {
            self.pump();
        } else {
            self.overtake(subject, self.arrivals, &Fate::Replaced, notice);
            self.accept(ticket, plan.outcome, prior);
        }
    }

    /// Contract 6.4.
    pub(super) fn withdraw(&mut self, mut candidate: Candidate, plan: Plan) {
        let Candidate { ticket, through, fingerprint, digest, .. } = candidate;
        let prior = plan.newest.and_then(|key| self.works.get(key)).map(Work::event_id);
        let told = plan.outcome == Outcome::Noted;
        if let Some(old) = plan.occupant {
            self.vouch(old);
        }
        let number = if told && through { 0 } else { self.admit(Some(fingerprint), digest) };
        if let Some(old) = plan.occupant {
            if told && through { self.set_aside(old) } else { self.end(old, Fate::Withdrawn) }
        }
        if !(told && through) {
            self.overtake(plan.subject, self.arrivals, &Fate::Withdrawn, false);
        }
        if !told {
            if let Some(key) = plan.subject {
                self.subjects.settle(key);
            }
            // It has done all it will do: nothing of it is ever given to a host.
            self.threads.drop_of(number);
            let admitted = Admitted {
                number,
                event: &candidate.event,
                digest,
                admitted_ms: self.now.mono_ms,
                outcome: Some(plan.outcome),
                prior: prior.clone(),
            };
            self.keep_receipt(admitted, None, Fate::Withdrawn);
            self.accept(ticket, plan.outcome, prior);
            return;
        }
        candidate.event.detach();
        let most = self.settings.coalesce.max_subjects;
        let subject = plan.subject.or_else(|| self.subjects.track(&candidate.event, History::Unknown, most));
        if plan.subject.is_none()
            && let Some(id) = subject
        {
            self.touch_subject(id);
        }
        let place = self.order.tail();
        let urgent = through || self.is_urgent(&candidate.event);
        if !through {
            self.keep_accepted(number, &candidate, plan.outcome, prior.clone());
        }
        let work = self.work_of(candidate, plan, (subject, place), prior.clone());
        self.insert(Work { number, ..work }, urgent);
        if through {
            self.pump();
        } else {
            self.accept(ticket, plan.outcome, prior);
        }
    }

    /// A piece of work that nothing replaces and whose subject begins with it, at its place.
    fn work_of(
        &self,
        candidate: Candidate,
        plan: Plan,
        (subject, place): (Option<SubjectKey>, u64),
        prior: Option<Box<str>>,
    ) -> Work {
        let Candidate { ticket, event, through, fingerprint, digest, thread, .. } = candidate;
        Work {
            number: 0,
            subject,
            role: Role::Fixed,
            doubtful: false,
            deferral: None,
            stage: Stage::Held,
            through: through.then(|| Through {
                tickets: vec![ticket],
                displaced: plan.occupant,
                began_subject: plan.subject.is_none() && subject.is_some(),
            }),
            place,
            arrived: self.arrivals,
            first_ms: self.now.mono_ms,
            changed_ms: self.now.mono_ms,
            not_before_ms: 0,
            attempts: 0,
            expires_ms: self.expiry_of(&event),
            stuck: false,
            forced: false,
            release_timer_ms: None,
            retry_timer_ms: None,
            expiry_timer_ms: None,
            fingerprint,
            digest,
            outcome: Some(plan.outcome),
            prior,
            admitted_ms: self.now.mono_ms,
            recorded: None,
            revision: 0,
            due: false,
            touched: false,
            thread,
            event,
        }
    }

    /// Answers an admitted occurrence, once it is on disk.
    fn accept(&mut self, ticket: Ticket, outcome: Outcome, prior: Option<Box<str>>) {
        let after = Some(self.step());
        self.outputs.push_back(Output::Answer { ticket, answer: Answer::Accepted { outcome, prior }, after });
        self.pump();
    }

    /// Writes the text and the receipt of an occurrence that is admitted and held.
    fn keep_accepted(
        &mut self,
        number: u64,
        candidate: &Candidate,
        outcome: Outcome,
        prior: Option<Box<str>>,
    ) {
        let admitted = Admitted {
            number,
            event: &candidate.event,
            digest: candidate.digest,
            admitted_ms: self.now.mono_ms,
            outcome: Some(outcome),
            prior,
        };
        self.keep_receipt(admitted, None, Fate::Held);
    }

    /// A write-through that waits and is about to be displaced counts as accepted (contract 5).
    pub(super) fn vouch(&mut self, key: WorkKey) {
        let Some(work) = self.works.get_mut(key) else { return };
        let Some(through) = work.through.take() else { return };
        let (fingerprint, digest) = (work.fingerprint, work.digest);
        let (outcome, prior) = (work.outcome.unwrap_or(Outcome::Appended), work.prior.clone());
        let (subject, arrived, notice) = (work.subject, work.arrived, work.is_notice());
        self.throughs.remove(&fingerprint);
        let after = Some(self.step());
        let number = self.admit(Some(fingerprint), digest);
        if let Some(work) = self.works.get_mut(key) {
            work.number = number;
            work.admitted_ms = self.now.mono_ms;
            let event = work.event.clone();
            let (outcome, prior) = (work.outcome, work.prior.clone());
            let admitted_ms = self.now.mono_ms;
            self.keep_text(number, &event);
            let admitted = Admitted { number, event: &event, digest, admitted_ms, outcome, prior };
            self.keep_receipt(admitted, None, Fate::Held);
            self.touch(key);
        }
        if notice {
            self.open_batch(key, number);
        }
        for ticket in through.tickets {
            let answer = Answer::Accepted { outcome, prior: prior.clone() };
            self.outputs.push_back(Output::Answer { ticket, answer, after });
        }
        let fate = if outcome == Outcome::Noted { Fate::Withdrawn } else { Fate::Replaced };
        if let Some(displaced) = through.displaced {
            self.end(displaced, fate.clone());
        }
        self.overtake(subject, arrived, &fate, notice);
        // What displaces it next takes all of that over.
        self.hand_down();
    }

    fn is_through(&self, key: WorkKey) -> bool {
        self.works.get(key).is_some_and(|work| work.through.is_some())
    }

    pub(super) fn is_urgent(&self, event: &Event) -> bool {
        let urgent = &self.settings.coalesce.urgent_tags;
        let meets = |tag: &str| urgent.iter().any(|wanted| wanted == tag);
        !urgent.is_empty()
            && event.tags().any(|tag| {
                meets(&tag)
                    || match &*tag {
                        "chat:mention" | "chat:reply" => meets("chat:addressed"),
                        "chat:dm" => meets("chat:addressed") || meets("chat:private"),
                        _ => false,
                    }
            })
    }
}
