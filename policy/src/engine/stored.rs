//! Uncoalesced events that are kept until the host has them, in the order of their channel (contract 13.2).
//!
//! Of each channel (or feature set, where no channel is named) only the first may be handed over, and the next
//! when that one has ended: what the host says of one may not let a later one pass it.

use std::collections::{BTreeMap, HashMap};

use foldhash::quality::FixedState;
use mcpl_codec::{Digest, Event, Lane, digest};

use super::Engine;
use super::input::{StoreState, Ticket, claim};
use super::note::Why;
use super::output::{Answer, Fate, Output};
use super::record::Admitted;
use super::work::{Role, Stage, Work, WorkKey, identity};
use crate::admission::Standing;
use crate::refusal::{Ours, Shortage};
use crate::thread::Thread;

/// What is stored, by channel and place.
pub(super) type Queues = HashMap<Box<str>, BTreeMap<u64, WorkKey>, FixedState>;

/// What an id is known by together with its content, once it was used before for another: 16 hexadecimal digits,
/// as much of the digest as receipts keep. It is keyed, so that no sender makes two contents agree.
pub(super) fn apart(id: &str, digest: &Digest) -> String {
    format!("{id}~{:016x}", digest.0 as u64)
}

/// The queue that work stands in, or would if something stored were before it.
fn stands_in(work: &Work) -> Option<Box<str>> {
    if work.role == Role::Stored {
        return Some(queue_of(&work.event));
    }
    work.channel().map(|channel| format!("c{channel}").into())
}

/// The queue that `event` stands in.
fn queue_of(event: &Event) -> Box<str> {
    let channel = if event.lane == Lane::Channel { event.channel.as_deref() } else { event.hint.as_deref() };
    match channel {
        Some(channel) => format!("c{channel}").into(),
        None => format!("f{}", event.feature_set.as_deref().unwrap_or_default()).into(),
    }
}

impl Engine {
    /// Keeps an uncoalesced event and answers it; false: it is to pass as if nothing were stored. What the host
    /// would refuse it refuses itself, and where nothing can be written down nothing is promised.
    pub(super) fn store_uncoalesced(
        &mut self,
        ticket: Ticket,
        event: &Event,
        thread: Option<Box<Thread>>,
    ) -> bool {
        let standing = self.session.as_ref().map(|session| session.admission.look(&claim(event)));
        let waits = self.queues.contains_key(&queue_of(event));
        if matches!(standing, None | Some(Standing::Forbidden(_)))
            || (standing == Some(Standing::Closed) && !waits)
        {
            return false;
        }
        if self.store != StoreState::Good {
            if waits {
                let ours = Ours::Unavailable(Shortage::Disk, self.settings.retry_after_ms);
                self.outputs.push_back(Output::Answer { ticket, answer: Answer::Refused(ours), after: None });
            }
            return waits;
        }
        let id = identity(event);
        let fingerprint = id.as_deref().map(|id| digest::fingerprint(&self.key, id));
        let digest = event.digest_with(&mut self.digester);
        self.prune();
        // An id that is used again for new content stays known with each of them.
        let known = fingerprint.and_then(|fingerprint| self.receipts.find(fingerprint));
        let apart_from = id.as_deref().map(|id| digest::fingerprint(&self.key, &apart(id, &digest)));
        let again = known.filter(|found| found.is(&digest)).or_else(|| {
            known
                .and(apart_from)
                .and_then(|apart| self.receipts.find(apart))
                .filter(|found| found.is(&digest))
        });
        if let Some(found) = again {
            self.recall(ticket, found.number);
            return true;
        }
        let fingerprint = if known.is_some() { apart_from } else { fingerprint };
        let refused = match self.take_token(event) {
            Err(wait_ms) => Some(Ours::Unavailable(Shortage::Rate, wait_ms)),
            Ok(()) => self.no_room(event.raw.len() as i64),
        };
        if let Some(ours) = refused {
            self.outputs.push_back(Output::Answer { ticket, answer: Answer::Refused(ours), after: None });
            return true;
        }
        self.release_channel(event);
        let number = self.admit(fingerprint, digest);
        let admitted_ms = self.now.mono_ms;
        let admitted = Admitted { number, event, digest, admitted_ms, outcome: None, prior: None };
        self.keep_receipt(admitted, None, Fate::Held);
        let mut event = Box::new(event.clone());
        event.detach();
        let place = self.order.tail();
        let work = Work {
            number,
            subject: None,
            role: Role::Stored,
            doubtful: false,
            deferral: None,
            stage: Stage::Held,
            through: None,
            place,
            arrived: self.arrivals,
            first_ms: admitted_ms,
            changed_ms: admitted_ms,
            not_before_ms: 0,
            attempts: 0,
            expires_ms: self.expiry_of(&event),
            stuck: false,
            forced: false,
            release_timer_ms: None,
            retry_timer_ms: None,
            expiry_timer_ms: None,
            fingerprint: fingerprint.unwrap_or_default(),
            digest,
            outcome: None,
            prior: None,
            admitted_ms,
            recorded: None,
            revision: 0,
            due: false,
            touched: false,
            thread,
            event,
        };
        self.insert(work, true);
        let after = Some(self.step());
        self.outputs.push_back(Output::Answer { ticket, answer: Answer::Stored, after });
        self.pump();
        true
    }

    /// Takes stored work into its queue; what is there already stays.
    pub(super) fn queue(&mut self, key: WorkKey) {
        let Some(work) = self.works.get(key).filter(|work| work.role == Role::Stored) else { return };
        let (queue, place) = (queue_of(&work.event), work.place);
        self.queues.entry(queue).or_default().insert(place, key);
    }

    /// Takes work out of its queue; the next may go.
    pub(super) fn unqueue(&mut self, key: WorkKey, work: &Work) {
        if self.queues.is_empty() {
            return;
        }
        let (name, place) = (stands_in(work), work.place);
        if let Some(name) = name {
            self.take_place(&name, place, key);
        }
    }

    /// A place of a queue is free; the next may go.
    fn take_place(&mut self, name: &str, place: u64, key: WorkKey) {
        let Some(queue) = self.queues.get_mut(name) else { return };
        if queue.get(&place) != Some(&key) {
            return;
        }
        queue.remove(&place);
        let next = queue.first_key_value().map(|(_, &next)| next);
        if next.is_none() {
            self.queues.remove(name);
        }
        if let Some(next) = next
            && self.works.get(next).is_some_and(|work| work.stage == Stage::Behind)
        {
            self.make_ready(next);
        }
    }

    /// Coalesced work is handed over: what is stored behind it need not wait for its answer.
    pub(super) fn leave_queue(&mut self, key: WorkKey) {
        if self.queues.is_empty() {
            return;
        }
        let Some(work) = self.works.get(key).filter(|work| work.role != Role::Stored) else { return };
        let (name, place) = (stands_in(work), work.place);
        if let Some(name) = name {
            self.take_place(&name, place, key);
        }
    }

    /// Nothing stored of its channel goes before it.
    pub(super) fn is_first_of_queue(&self, work: &Work) -> bool {
        if self.queues.is_empty() {
            return true;
        }
        let queue = stands_in(work).and_then(|name| self.queues.get(&name));
        queue.and_then(BTreeMap::first_key_value).is_none_or(|(&place, _)| place >= work.place)
    }

    /// Coalesced work of a channel that has stored work in an earlier place stands in the same queue, until it
    /// is handed over: a conversation is told in order.
    pub(super) fn queue_behind(&mut self, key: WorkKey) {
        let Some(work) = self.works.get(key).filter(|work| work.role != Role::Stored) else { return };
        let Some(name) = stands_in(work) else { return };
        let place = work.place;
        if let Some(queue) = self.queues.get_mut(&name) {
            queue.insert(place, key);
        }
    }

    /// A forward that is not answered holds what is stored behind it back no longer (contract 7.4: 25 s).
    pub(super) fn pass_by(&mut self, number: u64) {
        let Some(key) = self.outs.get(&number).map(|out| out.work) else { return };
        let Some(work) = self.works.get(key).filter(|work| work.role == Role::Stored) else { return };
        let (name, place) = (queue_of(&work.event), work.place);
        self.take_place(&name, place, key);
        self.pump();
    }

    /// Why there is no room for so many bytes more, where there is none.
    fn no_room(&mut self, growth: i64) -> Option<Ours> {
        let most = self.settings.coalesce.max_held_bytes as i64;
        if self.held_bytes as i64 + growth > most {
            self.why = Why::Room;
            self.release_all();
            self.pump();
        }
        (self.held_bytes as i64 + growth > most)
            .then_some(Ours::Unavailable(Shortage::Room, self.settings.retry_after_ms))
    }
}
