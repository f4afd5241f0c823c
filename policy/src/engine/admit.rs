//! An event arrives: the checks in the order of contract 6.7a, then its outcome.

use mcpl_codec::{Coalesce, ContentShape, Digest, Event, Fault, Lane, digest, jcs};

use super::Engine;
use super::input::{Arrival, Stance, StoreState, Ticket, capability, claim};
use super::note::Why;
use super::output::{Answer, Outcome, Output};
use super::timer::Timer;
use super::work::{WorkKey, charged_to};
use crate::admission::{Authority, Standing};
use crate::journal::{Change, Table};
use crate::refusal::{Ours, Shortage};
use crate::thread::Thread;

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

/// What `coalesce` asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    pub(super) deferred: bool,
    pub(super) retract: bool,
    pub(super) initial: bool,
}

impl Flags {
    fn of(coalesce: &Coalesce) -> Self {
        let Coalesce { deferred, retract, initial, .. } = *coalesce;
        Self { deferred, retract, initial }
    }
}

/// An occurrence that passed shape, authority and identity.
pub(super) struct Candidate {
    pub(super) ticket: Ticket,
    /// Boxed: it changes hands a few times from here on.
    pub(super) event: Box<Event>,
    pub(super) coalesce: Flags,
    pub(super) through: bool,
    pub(super) fingerprint: u128,
    pub(super) digest: Digest,
    pub(super) thread: Option<Box<Thread>>,
}

impl Engine {
    pub(super) fn on_event(&mut self, arrival: Arrival) {
        self.arrivals += 1;
        let Arrival { ticket, answerable, mut event, digest, thread } = arrival;
        let stance = self.session.as_ref().map_or(Stance::Apart, |session| session.host.stance);
        if stance == Stance::Apart {
            return self.pass(ticket);
        }
        if stance == Stance::Aside && event.coalesce.is_some() {
            self.release_scope(&event);
            return self.pass_behind(ticket, &event);
        }
        if !answerable {
            self.release_channel(&event);
            return self.pass_behind(ticket, &event);
        }
        if stance == Stance::Over {
            self.apply_rules(&mut event);
        }
        if event.coalesce.is_some() {
            self.coalesced(ticket, event, digest, self.threads.admit(thread));
        } else {
            self.uncoalesced(ticket, &event, self.threads.admit(thread));
        }
    }

    fn pass(&mut self, ticket: Ticket) {
        self.pump();
        self.outputs.push_back(Output::Pass { ticket, after: None });
    }

    /// As [`Self::pass`], behind what is on its way to the same channel (contract 7.1a, 7.6).
    pub(super) fn pass_behind(&mut self, ticket: Ticket, event: &Event) {
        self.pump();
        let channel = event.channel.as_deref().or(event.hint.as_deref());
        let aside = self.session.as_ref().is_some_and(|session| session.host.stance == Stance::Aside);
        // In a session that is stepped aside from, what it rests on is the scope (contract 4.5).
        let after = self.waiting_forward_of(|work| {
            aside || channel.is_some_and(|channel| work.channel() == Some(channel))
        });
        self.outputs.push_back(Output::Pass { ticket, after });
    }

    pub(super) fn refuse(&mut self, ticket: Ticket, ours: Ours) {
        self.outputs.push_back(Output::Answer { ticket, answer: Answer::Refused(ours), after: None });
    }

    fn uncoalesced(&mut self, ticket: Ticket, event: &Event, thread: Option<Box<Thread>>) {
        if let Some(member) = event.ambiguous {
            return self.refuse(ticket, ambiguous(member));
        }
        if self.is_deadly(event) {
            return self.refuse(ticket, deadly(event.content_field()));
        }
        if let Some(limit) = self.over_size(event) {
            return self.refuse(ticket, Ours::TooLarge(limit));
        }
        if self.settings.store_uncoalesced && self.store_uncoalesced(ticket, event, thread) {
            return;
        }
        if let Err(wait_ms) = self.take_token(event) {
            return self.refuse(ticket, Ours::Unavailable(Shortage::Rate, wait_ms));
        }
        self.release_channel(event);
        self.pass_behind(ticket, event);
    }

    /// Contract 8.8: an uncoalesced event adds load.
    pub(super) fn take_token(&mut self, event: &Event) -> Result<(), u64> {
        let channel = if event.lane == Lane::Channel { event.channel.as_deref() } else { None };
        self.limits.take(self.now.mono_ms, channel)
    }

    /// Contract 5: the profile says that the host dies of such content.
    pub(super) fn is_deadly(&self, event: &Event) -> bool {
        self.session.as_ref().is_some_and(|session| session.host.dies_of_malformed)
            && event.shape != ContentShape::Blocks
    }

    /// The limit, where the content is over it (contract 8.7).
    pub(super) fn over_size(&self, event: &Event) -> Option<u64> {
        let ours = Some(self.settings.max_content_bytes).filter(|&limit| limit > 0);
        let hosts = self.session.as_ref().and_then(|session| session.host.max_content_bytes);
        let limit = match (ours, hosts) {
            (Some(ours), Some(hosts)) => ours.min(hosts),
            (ours, hosts) => ours.or(hosts)?,
        };
        let content = event.content.as_ref()?;
        jcs::exceeds(content, limit as usize).then_some(limit.max(1))
    }

    fn coalesced(
        &mut self,
        ticket: Ticket,
        mut event: Event,
        digest: Option<Digest>,
        thread: Option<Box<Thread>>,
    ) {
        let ruled = event.ruled().is_some();
        // What a rule coalesces need not have what its sender was never told of.
        let fault = if ruled { None } else { event.shape_fault() };
        let coalesce = match (&event.ambiguous, &event.coalesce, fault) {
            (&Some(member), ..) => return self.refuse(ticket, ambiguous(member)),
            (_, Some(Err(fault)), _) => {
                let fault = fault.clone();
                return self.refuse(ticket, Ours::Malformed(fault));
            }
            (_, _, Some(fault)) => return self.refuse(ticket, Ours::Malformed(fault)),
            (_, Some(Ok(coalesce)), None) => Flags::of(coalesce),
            (_, None, None) => return self.uncoalesced(ticket, &event, thread),
        };
        if self.is_deadly(&event) {
            return self.refuse(ticket, deadly(event.content_field()));
        }
        let through = match self.standing(&event) {
            Ok(true) | Err(_) if ruled => self.is_through_by_rule(&event),
            Ok(through) => through,
            Err(refused) => return self.refuse(ticket, refused),
        };
        if self.store == StoreState::Gone {
            let ours = Ours::Unavailable(Shortage::Disk, self.settings.retry_after_ms);
            return self.refuse(ticket, ours);
        }
        let digest = digest.unwrap_or_else(|| event.digest_with(&mut self.digester));
        let fingerprint = if ruled {
            self.known_by(&mut event, &digest)
        } else {
            digest::fingerprint(&self.key, event.event_id.as_deref().unwrap_or_default())
        };
        self.prune();
        if let Some(found) = self.receipts.find(fingerprint) {
            if !found.is(&digest) {
                return self.refuse(ticket, Ours::Conflict);
            }
            return self.recall(ticket, found.number);
        }
        if let Some(&key) = self.throughs.get(&fingerprint) {
            return self.join(ticket, key, digest);
        }
        if let Some(limit) = self.over_size(&event) {
            return self.refuse(ticket, Ours::TooLarge(limit));
        }
        let event = Box::new(event);
        let candidate = Candidate { ticket, event, coalesce, through, fingerprint, digest, thread };
        self.place_candidate(candidate);
    }

    /// The same occurrence again: it is answered what it was answered (contract 6.2).
    pub(super) fn recall(&mut self, ticket: Ticket, number: u64) {
        let after = self.last_step();
        self.outputs.push_back(Output::Answer { ticket, answer: Answer::Again(number), after });
    }

    /// The retry window of the oldest is over: it goes, whether events come or not.
    pub(super) fn on_prune(&mut self, set_for: u64) {
        if self.prune_timer_ms == Some(set_for) {
            self.prune_timer_ms = None;
            self.prune();
            self.await_prune();
        }
    }

    /// Sees to it that what is remembered is forgotten in time, once a second at most.
    pub(super) fn await_prune(&mut self) {
        if self.prune_timer_ms.is_none()
            && let Some(over_ms) = self.receipts.over_ms(self.settings.coalesce.retry_window_ms)
        {
            let at = over_ms.max(self.now.mono_ms + 1_000);
            self.prune_timer_ms = Some(at);
            self.timers.set(at, Timer::Prune);
        }
    }

    /// Forgets what was admitted longer than the retry window ago.
    pub(super) fn prune(&mut self) {
        if let Some(below) = self.receipts.prune(self.now.mono_ms, self.settings.coalesce.retry_window_ms) {
            self.changes.push(Change::Forget { table: Table::Receipt, below });
        }
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
        if self.store == StoreState::Short && !candidate.coalesce.retract {
            let ours = Ours::Unavailable(Shortage::Disk, self.settings.retry_after_ms);
            return self.turn_away(&candidate, ours);
        }
        if plan.takes_token() {
            let channel = charged_to(&candidate.event);
            if let Err(wait_ms) = self.limits.take(self.now.mono_ms, channel) {
                return self.refuse(candidate.ticket, Ours::Unavailable(Shortage::Rate, wait_ms));
            }
        }
        if self.draining
            && !candidate.through
            && !candidate.coalesce.retract
            && plan.growth > 0
            && plan.outcome != Outcome::Replaced
        {
            let ours = Ours::Unavailable(Shortage::Draining, self.settings.retry_after_ms);
            return self.turn_away(&candidate, ours);
        }
        let most = self.settings.coalesce.max_held_bytes as i64;
        if plan.growth > 0 && self.held_bytes as i64 + plan.growth > most {
            self.why = Why::Room;
            self.release_all();
            self.pump();
            plan = self.plan(&candidate);
            if plan.growth > 0 && self.held_bytes as i64 + plan.growth > most {
                let ours = Ours::Unavailable(Shortage::Room, self.settings.retry_after_ms);
                return self.turn_away(&candidate, ours);
            }
        }
        if candidate.coalesce.retract { self.withdraw(candidate, plan) } else { self.hold(candidate, plan) }
    }
}
