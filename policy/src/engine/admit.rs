//! An event arrives: the checks in the order of contract 6.7a, then its outcome.

use mcpl_codec::{Coalesce, ContentShape, Digest, Event, Fault, Lane, digest, jcs};

use super::Engine;
use super::input::{Arrival, Stance, Ticket, capability, claim};
use super::output::{Answer, Fate, Outcome, Output};
use super::receipt::{Answered, Receipt};
use super::subject::{History, SubjectKey};
use super::work::{Role, Stage, Through, Work, WorkKey, told_in};
use crate::admission::{Authority, Standing};
use crate::refusal::{Ours, Shortage};
use crate::settings::Position;

/// Retries that may join one write-through (contract 5); past it they are told to come again.
pub const MAX_JOINED: usize = 64;

fn ambiguous(member: &'static str) -> Ours {
    Ours::Unfit(Fault {
        field: member.into(),
        reason: "is there more than once, with values that differ; send it once".into(),
    })
}

fn deadly(field: &'static str) -> Ours {
    let reason = "must be an array of blocks that each have a type: this host exits on anything else";
    Ours::Unfit(Fault { field: field.into(), reason: reason.into() })
}

/// What coalescing would make of an occurrence, before anything changed.
#[derive(Clone, Copy, Debug)]
struct Plan {
    outcome: Outcome,
    subject: Option<SubjectKey>,
    occupant: Option<WorkKey>,
    /// What it adds to the bytes held; negative where it frees some.
    growth: i64,
}

/// What `coalesce` asks for.
#[derive(Clone, Copy, Debug)]
struct Flags {
    deferred: bool,
    retract: bool,
    initial: bool,
}

impl Flags {
    fn of(coalesce: &Coalesce) -> Self {
        let Coalesce { deferred, retract, initial, .. } = *coalesce;
        Self { deferred, retract, initial }
    }
}

/// An occurrence that passed shape, authority and identity.
struct Candidate {
    ticket: Ticket,
    /// Boxed: it changes hands a few times from here on.
    event: Box<Event>,
    coalesce: Flags,
    through: bool,
    fingerprint: u128,
    digest: Digest,
}

impl Engine {
    pub(super) fn on_event(&mut self, arrival: Arrival) {
        self.arrivals += 1;
        let Arrival { ticket, answerable, event, digest } = arrival;
        let stance = self.session.as_ref().map_or(Stance::Apart, |session| session.host.stance);
        if stance == Stance::Apart {
            return self.pass(ticket);
        }
        if stance == Stance::Aside {
            self.release_scope(&event);
            if event.coalesce.is_some() {
                return self.pass(ticket);
            }
        }
        if !answerable {
            self.release_channel(&event);
            return self.pass(ticket);
        }
        if event.coalesce.is_some() {
            self.coalesced(ticket, event, digest);
        } else {
            self.uncoalesced(ticket, &event);
        }
    }

    fn pass(&mut self, ticket: Ticket) {
        self.pump();
        let after = self.gate();
        self.outputs.push_back(Output::Pass { ticket, after });
    }

    fn refuse(&mut self, ticket: Ticket, ours: Ours) {
        self.outputs.push_back(Output::Answer { ticket, answer: Answer::Refused(ours), after: None });
    }

    fn uncoalesced(&mut self, ticket: Ticket, event: &Event) {
        if let Some(member) = event.ambiguous {
            return self.refuse(ticket, ambiguous(member));
        }
        if self.is_deadly(event) {
            return self.refuse(ticket, deadly(event.content_field()));
        }
        if let Some(limit) = self.over_size(event) {
            return self.refuse(ticket, Ours::TooLarge(limit));
        }
        let channel = if event.lane == Lane::Channel { event.channel.as_deref() } else { None };
        if let Err(wait_ms) = self.limits.take(self.now.mono_ms, channel) {
            return self.refuse(ticket, Ours::Unavailable(Shortage::Rate, wait_ms));
        }
        self.release_channel(event);
        self.pass(ticket);
    }

    /// Contract 5: the profile says that the host dies of such content.
    fn is_deadly(&self, event: &Event) -> bool {
        self.session.as_ref().is_some_and(|session| session.host.dies_of_malformed)
            && event.shape != ContentShape::Blocks
    }

    /// The limit, where the content is over it (contract 8.7).
    fn over_size(&self, event: &Event) -> Option<u64> {
        let ours = Some(self.settings.max_content_bytes).filter(|&limit| limit > 0);
        let hosts = self.session.as_ref().and_then(|session| session.host.max_content_bytes);
        let limit = match (ours, hosts) {
            (Some(ours), Some(hosts)) => ours.min(hosts),
            (ours, hosts) => ours.or(hosts)?,
        };
        let content = event.content.as_ref()?;
        jcs::exceeds(content, limit as usize).then_some(limit.max(1))
    }

    fn coalesced(&mut self, ticket: Ticket, event: Event, digest: Option<Digest>) {
        let coalesce = match (&event.ambiguous, &event.coalesce, event.shape_fault()) {
            (&Some(member), ..) => return self.refuse(ticket, ambiguous(member)),
            (_, Some(Err(fault)), _) => {
                let fault = fault.clone();
                return self.refuse(ticket, Ours::Malformed(fault));
            }
            (_, _, Some(fault)) => return self.refuse(ticket, Ours::Malformed(fault)),
            (_, Some(Ok(coalesce)), None) => Flags::of(coalesce),
            (_, None, None) => return self.uncoalesced(ticket, &event),
        };
        if self.is_deadly(&event) {
            return self.refuse(ticket, deadly(event.content_field()));
        }
        let through = match self.standing(&event) {
            Ok(through) => through,
            Err(refused) => return self.refuse(ticket, refused),
        };
        let fingerprint = digest::fingerprint(&self.key, event.event_id.as_deref().unwrap_or_default());
        let digest = digest.unwrap_or_else(|| event.digest_with(&mut self.digester));
        self.receipts.prune(self.now.mono_ms, self.settings.coalesce.retry_window_ms);
        if let Some(receipt) = self.receipts.find(fingerprint) {
            let answer = receipt.answer();
            if receipt.digest != digest {
                return self.refuse(ticket, Ours::Conflict);
            }
            let after = self.last_step();
            self.outputs.push_back(Output::Answer { ticket, answer, after });
            return;
        }
        if let Some(&key) = self.throughs.get(&fingerprint) {
            return self.join(ticket, key, digest);
        }
        if let Some(limit) = self.over_size(&event) {
            return self.refuse(ticket, Ours::TooLarge(limit));
        }
        let event = Box::new(event);
        let candidate = Candidate { ticket, event, coalesce, through, fingerprint, digest };
        self.place_candidate(candidate);
    }

    /// Whether a coalesced event is held (`false`) or written through (`true`); else the refusal the host
    /// would give (contract 5, 8.9).
    fn standing(&self, event: &Event) -> Result<bool, Ours> {
        let Some(session) = &self.session else { return Ok(true) };
        if session.host.enforces_policy && !session.admission.policy_known() {
            return Err(Ours::BeforePolicy(Authority::CapabilityDenied(capability(event.lane))));
        }
        match session.admission.look(&claim(event)) {
            Standing::Open | Standing::Permitted => Ok(false),
            Standing::Unknown | Standing::Closed => Ok(true),
            Standing::Forbidden(authority) => Err(Ours::Authority(authority)),
        }
    }

    /// The same occurrence again while its write-through is out: it is answered with the same verdict.
    fn join(&mut self, ticket: Ticket, key: WorkKey, digest: Digest) {
        let retry_after_ms = self.settings.retry_after_ms;
        let Some(work) = self.works.get_mut(key) else { return };
        if work.digest != digest {
            return self.refuse(ticket, Ours::Conflict);
        }
        match &mut work.through {
            Some(through) if through.tickets.len() < MAX_JOINED => through.tickets.push(ticket),
            _ => self.refuse(ticket, Ours::Unavailable(Shortage::Room, retry_after_ms)),
        }
    }

    fn place_candidate(&mut self, candidate: Candidate) {
        let mut plan = self.plan(&candidate);
        if self.takes_token(&candidate, plan) {
            let channel = told_in(&candidate.event);
            if let Err(wait_ms) = self.limits.take(self.now.mono_ms, channel) {
                return self.refuse(candidate.ticket, Ours::Unavailable(Shortage::Rate, wait_ms));
            }
        }
        if self.draining && !candidate.through && plan.growth > 0 && plan.outcome != Outcome::Replaced {
            let ours = Ours::Unavailable(Shortage::Draining, self.settings.retry_after_ms);
            return self.refuse(candidate.ticket, ours);
        }
        let most = self.settings.coalesce.max_held_bytes as i64;
        if plan.growth > 0 && self.held_bytes as i64 + plan.growth > most {
            self.release_all();
            self.pump();
            plan = self.plan(&candidate);
            if plan.growth > 0 && self.held_bytes as i64 + plan.growth > most {
                let ours = Ours::Unavailable(Shortage::Room, self.settings.retry_after_ms);
                return self.refuse(candidate.ticket, ours);
            }
        }
        if candidate.coalesce.retract { self.withdraw(candidate, plan) } else { self.hold(candidate, plan) }
    }

    fn plan(&mut self, candidate: &Candidate) -> Plan {
        let Candidate { event, coalesce, through, .. } = candidate;
        let subject = self.subjects.find(event);
        let known = subject.and_then(|key| self.subjects.get(key));
        let occupant = known.and_then(|subject| subject.occupant);
        let history = known.map_or(History::Unknown, super::subject::Subject::reading);
        let untracked = subject.is_none();
        let outcome = if coalesce.retract {
            match history {
                History::None => Outcome::Retracted,
                _ if event.silent => Outcome::Consumed,
                _ => Outcome::Noted,
            }
        } else if occupant.is_some() {
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
        let freed = match occupant.and_then(|key| self.works.get(key)) {
            Some(work) if !through || outcome == Outcome::Retracted => work.bytes() as i64,
            _ => 0,
        };
        let added = match outcome {
            Outcome::Retracted | Outcome::Consumed => 0,
            Outcome::Replaced if !through => {
                let older = occupant.and_then(|key| self.works.get(key));
                let merged = older.and_then(|older| Self::merge(older, event, coalesce.deferred));
                merged.map_or(event.raw.len(), |merged| merged.raw.len()) as i64
            }
            _ => event.raw.len() as i64,
        };
        Plan { outcome, subject, occupant, growth: added - freed }
    }

    /// Contract 8.8: what adds load towards the host.
    #[allow(clippy::unused_self, reason = "reads as a question to the engine, beside its neighbours")]
    fn takes_token(&self, candidate: &Candidate, plan: Plan) -> bool {
        !candidate.coalesce.retract && matches!(plan.outcome, Outcome::First | Outcome::Appended)
    }

    /// Contract 6.3, and 6.5 with a batch rendered as its fallback.
    fn hold(&mut self, candidate: Candidate, plan: Plan) {
        let Candidate { ticket, mut event, coalesce, through, fingerprint, digest } = candidate;
        let now_ms = self.now.mono_ms;
        event.detach();
        let began = plan.subject.is_none();
        let subject = plan.subject.or_else(|| {
            let initial = coalesce.initial && self.settings.coalesce.initial;
            let history = if initial { History::None } else { History::Unknown };
            self.subjects.track(&event, history, self.settings.coalesce.max_subjects)
        });
        let prior = plan.occupant.and_then(|key| self.works.get(key)).map(Work::event_id);
        let answered =
            Receipt { digest, admitted_ms: now_ms, answer: Answered::Ours(plan.outcome, prior.clone()) };
        let batch = coalesce.deferred && !through;
        if let Some(old) = plan.occupant {
            self.vouch(old);
            if !through {
                self.replace(old, event, batch, (fingerprint, digest), plan.outcome);
                self.overtake(subject, self.arrivals, &Fate::Replaced);
                self.accept(ticket, fingerprint, answered, plan.outcome, prior);
                return;
            }
        }
        let urgent = through || self.is_urgent(&event);
        let (first_ms, place) = match plan.occupant.and_then(|key| self.works.get(key)) {
            Some(old) if self.keeps_place(old) => (old.first_ms, Some(old.place)),
            Some(old) => (old.first_ms, None),
            None => (now_ms, None),
        };
        if let Some(old) = plan.occupant {
            self.set_aside(old);
        }
        let place = place.unwrap_or_else(|| self.order.tail());
        let work = Work {
            subject,
            role: if subject.is_some() { Role::Occupant { batch } } else { Role::Fixed },
            stage: Stage::Held,
            through: through.then(|| Through {
                tickets: vec![ticket],
                displaced: plan.occupant,
                began_subject: began && subject.is_some(),
            }),
            place,
            arrived: self.arrivals,
            first_ms,
            changed_ms: now_ms,
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
            outcome: plan.outcome,
            prior: prior.clone(),
            event,
        };
        self.insert(work, urgent);
        if through {
            self.pump();
        } else {
            self.overtake(subject, self.arrivals, &Fate::Replaced);
            self.accept(ticket, fingerprint, answered, plan.outcome, prior);
        }
    }

    /// Contract 6.4.
    fn withdraw(&mut self, candidate: Candidate, plan: Plan) {
        let Candidate { ticket, mut event, through, fingerprint, digest, .. } = candidate;
        let now_ms = self.now.mono_ms;
        let prior = plan.occupant.and_then(|key| self.works.get(key)).map(Work::event_id);
        let answered =
            Receipt { digest, admitted_ms: now_ms, answer: Answered::Ours(plan.outcome, prior.clone()) };
        let told = plan.outcome == Outcome::Noted;
        if let Some(old) = plan.occupant {
            self.vouch(old);
            if told && through { self.set_aside(old) } else { self.end(old, Fate::Withdrawn) }
        }
        if !(told && through) {
            self.overtake(plan.subject, self.arrivals, &Fate::Withdrawn);
        }
        if !told {
            if let Some(key) = plan.subject {
                self.subjects.settle(key);
            }
            self.accept(ticket, fingerprint, answered, plan.outcome, prior);
            return;
        }
        event.detach();
        let began = plan.subject.is_none();
        let most = self.settings.coalesce.max_subjects;
        let subject = plan.subject.or_else(|| self.subjects.track(&event, History::Unknown, most));
        let place = self.order.tail();
        let urgent = through || self.is_urgent(&event);
        let work = Work {
            subject,
            role: Role::Fixed,
            stage: Stage::Held,
            through: through.then(|| Through {
                tickets: vec![ticket],
                displaced: plan.occupant,
                began_subject: began && subject.is_some(),
            }),
            place,
            arrived: self.arrivals,
            first_ms: now_ms,
            changed_ms: now_ms,
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
            outcome: plan.outcome,
            prior: prior.clone(),
            event,
        };
        self.insert(work, urgent);
        if through {
            self.pump();
        } else {
            self.accept(ticket, fingerprint, answered, plan.outcome, prior);
        }
    }

    fn accept(
        &mut self,
        ticket: Ticket,
        fingerprint: u128,
        receipt: Receipt,
        outcome: Outcome,
        prior: Option<Box<str>>,
    ) {
        let after = Some(self.step());
        self.receipts.remember(fingerprint, receipt);
        self.outputs.push_back(Output::Answer { ticket, answer: Answer::Accepted { outcome, prior }, after });
        self.pump();
    }

    /// A write-through that waits and is about to be displaced counts as accepted (contract 5).
    pub(super) fn vouch(&mut self, key: WorkKey) {
        let Some(work) = self.works.get_mut(key) else { return };
        let Some(through) = work.through.take() else { return };
        let (fingerprint, digest, outcome, prior) =
            (work.fingerprint, work.digest, work.outcome, work.prior.clone());
        let (subject, arrived) = (work.subject, work.arrived);
        self.throughs.remove(&fingerprint);
        let after = Some(self.step());
        let answer = Answered::Ours(outcome, prior.clone());
        self.receipts.remember(fingerprint, Receipt { digest, admitted_ms: self.now.mono_ms, answer });
        for ticket in through.tickets {
            let answer = Answer::Accepted { outcome, prior: prior.clone() };
            self.outputs.push_back(Output::Answer { ticket, answer, after });
        }
        let fate = if outcome == Outcome::Noted { Fate::Withdrawn } else { Fate::Replaced };
        if let Some(displaced) = through.displaced {
            self.end(displaced, fate.clone());
        }
        self.overtake(subject, arrived, &fate);
    }

    fn keeps_place(&self, old: &Work) -> bool {
        match self.settings.coalesce.position {
            Position::Slot => true,
            Position::Tail => false,
            Position::Auto => old.channel().is_some(),
        }
    }

    /// Contract 6.3: a push that replaces an unread channel message is told as that message.
    fn merge(older: &Work, newer: &Event, batch: bool) -> Option<Event> {
        let was_batch = matches!(older.role, Role::Occupant { batch: true });
        let merges = older.event.lane == Lane::Channel && newer.lane == Lane::Push && !batch && !was_batch;
        merges.then(|| Event::merged(&older.event, newer))
    }

    /// Puts a newer occurrence where `key` was: its reasons, its times and, as configured, its place stay.
    fn replace(
        &mut self,
        key: WorkKey,
        event: Box<Event>,
        batch: bool,
        identity: (u128, Digest),
        outcome: Outcome,
    ) {
        let expires_ms = self.expiry_of(&event);
        let urgent = self.is_urgent(&event);
        let Some(old) = self.works.get(key) else { return };
        let event = Self::merge(old, &event, batch).map_or(event, Box::new);
        if !self.keeps_place(old) {
            self.move_to_tail(key);
        }
        let now_ms = self.now.mono_ms;
        let Some(work) = self.works.get_mut(key) else { return };
        self.held_bytes = self.held_bytes - work.bytes() + event.raw.len() as u64;
        let before = std::mem::replace(&mut work.event, event);
        work.role = Role::Occupant { batch };
        work.arrived = self.arrivals;
        work.changed_ms = now_ms;
        work.expires_ms = expires_ms;
        (work.fingerprint, work.digest) = identity;
        work.outcome = outcome;
        let held = work.stage == Stage::Held;
        self.outputs
            .push_back(Output::Ended { event_id: before.event_id.unwrap_or_default(), fate: Fate::Replaced });
        if let Some(at) = expires_ms {
            self.set_expiry(key, at);
        }
        if urgent && held {
            self.mark_due(key);
        }
    }

    fn is_urgent(&self, event: &Event) -> bool {
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
