//! Events that an operator's rule coalesces (contract 13.1).
//!
//! Their producers know nothing of coalescing: they look at no refusal and send nothing twice. So nothing is
//! refused on that account that would pass otherwise: the host has the word where it is not known to admit
//! them, and what cannot be held passes as it came.

use foldhash::quality::FixedState;
use lru::LruCache;
use mcpl_codec::{Digest, Event, Lane, digest};

use super::Engine;
use super::admit::Candidate;
use super::input::{StoreState, Ticket};
use super::stored::apart;
use super::subject::{Subject, SubjectKey};
use super::work::{Stage, Work, identity};
use crate::refusal::Ours;
use crate::rules::Applied;

/// How many `eventId`s are known to have been used, beyond the retry window: past it the least recently used is
/// forgotten.
const USED_IDS: usize = 16_384;

/// The `eventId`s that were used for one content and may be used for another, by fingerprint. In memory only: it
/// is there for hosts that remember an id longer than the sidecar does.
#[derive(Debug)]
pub(super) struct UsedIds(LruCache<u128, (), FixedState>);

impl UsedIds {
    pub(super) fn new(seed: u64) -> Self {
        Self(LruCache::unbounded_with_hasher(FixedState::with_seed(seed)))
    }

    /// Notes one; whether it was known already.
    fn put(&mut self, fingerprint: u128) -> bool {
        let known = self.0.put(fingerprint, ()).is_some();
        if self.0.len() > USED_IDS {
            self.0.pop_lru();
        }
        known
    }
}

impl Engine {
    /// Gives an event without `coalesce` the subject that a rule says, if one does.
    pub(super) fn apply_rules(&mut self, event: &mut Event) {
        match self.settings.rules.apply(event) {
            Applied::NoKey => self.without_key += 1,
            // Where nothing can be written down nothing is promised: it passes, unless that would overtake what
            // is held of its subject.
            Applied::Yes if self.store == StoreState::Gone && !self.overtakes(event) => {
                // The host has had its `eventId` all the same: what comes under it later needs a name of its own.
                if let Some(id) = event.event_id.as_deref().filter(|id| !id.is_empty()) {
                    self.used_ids.put(digest::fingerprint(&self.key, id));
                }
                event.coalesce = None;
            }
            Applied::No | Applied::Yes => {}
        }
    }

    /// How many events a subject rule matched and could make no key of, since the start (contract 13.1).
    pub fn without_key(&self) -> u64 {
        self.without_key
    }

    /// Whether an event that the host is not known to admit is written through: not where an accepted occurrence
    /// of its subject waits, for then it is the newer version of that one, and waits as it does.
    pub(super) fn is_through_by_rule(&mut self, event: &Event) -> bool {
        !self.overtakes(event)
    }

    /// Whether an accepted occurrence of an event's subject is still to be handed over, the unread one or one in
    /// doubt: what passes now would overtake it. So is one on its way whose step will not be on disk.
    fn overtakes(&mut self, event: &Event) -> bool {
        let Some(id) = self.subjects.find(event) else { return false };
        let is_gone = self.store == StoreState::Gone;
        let is_given_up =
            |number: &u64| is_gone && self.outs.get(number).is_none_or(|out| out.step > self.durable);
        let waits = |work: &Work| {
            work.subject == Some(id)
                && work.through.is_none()
                && !matches!(&work.stage, Stage::Out(number) if !is_given_up(number))
        };
        let has_any = |subject: &Subject| subject.works > 0 || (is_gone && subject.out > 0);
        self.subjects.get(id).is_some_and(has_any) && self.works.values().any(waits)
    }

    /// What such an event is known by. One `eventId` with new content is a new occurrence under a name of its
    /// own, where the rule says so, and what has no `eventId` is known by its content, too.
    pub(super) fn known_by(&mut self, event: &mut Event, digest: &Digest) -> u128 {
        let id = identity(event).unwrap_or_default();
        let plain = digest::fingerprint(&self.key, &id);
        let named = event.event_id.as_deref().is_some_and(|id| !id.is_empty());
        if named && !event.ruled().is_some_and(|ruled| ruled.distinct) {
            return plain;
        }
        self.prune();
        // What the window has forgotten the host may still drop as a repeat.
        let used = named && self.used_ids.put(plain);
        if self.has_had(plain, digest) == Some(true) {
            return plain;
        }
        let name = apart(&id, digest);
        let apart = digest::fingerprint(&self.key, &name);
        if !used && self.has_had(plain, digest).is_none() && self.has_had(apart, digest).is_none() {
            return plain;
        }
        if named {
            *event = event.renamed(&name);
        }
        apart
    }

    /// Whether what is remembered, or waits for the host's verdict, under a fingerprint has this digest; `None`:
    /// nothing is.
    fn has_had(&self, fingerprint: u128, digest: &Digest) -> Option<bool> {
        if let Some(found) = self.receipts.find(fingerprint) {
            return Some(found.is(digest));
        }
        let through = self.throughs.get(&fingerprint).and_then(|&key| self.works.get(key))?;
        Some(through.digest == *digest)
    }

    /// What a rule folds into `old` stays in the channel that it was begun in: one producer may name it differently
    /// in an edit.
    pub(super) fn keep_channel(old: &Work, event: &mut Event) {
        if event.ruled().is_some() && event.lane == Lane::Push && old.channel().is_some() {
            event.hint = old.channel().map(Into::into);
        }
    }

    /// Whether the subject of `work` lives in a scope of the operator's, so that what its versions need of the
    /// host's admission may differ.
    pub(super) fn meets_across_lanes(&self, work: &Work) -> bool {
        work.subject.and_then(|id| self.subjects.get(id)).is_some_and(Subject::is_named)
    }

    /// A version of a subject is out, or has ended: what waited for its admission may go.
    pub(super) fn wake(&mut self, id: SubjectKey) {
        if self.subjects.get(id).is_some_and(|subject| subject.works > 0 && subject.is_named()) {
            self.unpark(|work| work.subject == Some(id));
        }
    }

    /// It could not be held: it passes as it came, unless that would overtake what is held of its subject.
    pub(super) fn turn_away(&mut self, candidate: &Candidate, ours: Ours) {
        let Candidate { ticket, event, .. } = candidate;
        if event.ruled().is_some() && !self.overtakes(event) {
            return self.pass_uncoalesced(*ticket, event);
        }
        self.refuse(*ticket, ours);
    }

    fn pass_uncoalesced(&mut self, ticket: Ticket, event: &Event) {
        self.release_channel(event);
        self.pass_behind(ticket, event);
    }
}
