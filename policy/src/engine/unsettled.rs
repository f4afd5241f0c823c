//! What is dealt with and not on disk: should its step never get there, it is dealt with anew (contract 9.1).

use std::collections::VecDeque;

use bytes::Bytes;
use mcpl_codec::{Digest, Event};

use super::Engine;
use super::input::HostReply;
use super::out::Superseded;
use super::output::{Fate, Outcome, Seq};
use super::record;
use super::subject::History;
use super::work::{Work, is_deferred};

/// A reply that is dealt with, but not on disk.
#[derive(Debug)]
pub(super) struct Unsettled {
    pub(super) step: Seq,
    pub(super) number: u64,
    pub(super) occurrence: u64,
    pub(super) superseded: Option<Superseded>,
    pub(super) reply: HostReply,
}

/// A write-through that the host accepted, of which that is not on disk.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) step: Seq,
    event: Box<Event>,
    fingerprint: u128,
    digest: Digest,
    outcome: Option<Outcome>,
    prior: Option<Box<str>>,
    arrived: u64,
    /// The number of its subject.
    subject: Option<u64>,
    /// The host's words.
    text: Bytes,
}

/// Replies that are remembered until they are on disk, at most; past it the oldest would be in doubt.
const MAX_UNSETTLED: usize = 4096;

/// Replies that wait, oldest first.
pub(super) type Waiting = VecDeque<Unsettled>;

impl Engine {
    /// The journal takes something again: replies that came meanwhile are dealt with.
    pub(super) fn settle_noted(&mut self) {
        let step = self.seq + u64::from(!self.stepped);
        let mut noted = Vec::new();
        for reply in self.unsettled.iter_mut().filter(|reply| self.outs.contains_key(&reply.number)) {
            reply.step = step;
            noted.push((reply.number, reply.reply.clone()));
        }
        for (number, reply) in noted {
            self.on_reply(number, &reply);
        }
    }

    /// A write-through was accepted; that is remembered until it is on disk.
    pub(super) fn note_told(&mut self, work: &Work, text: &Bytes) {
        if self.told.len() >= MAX_UNSETTLED {
            self.told.pop_front();
        }
        let subject = work.subject.and_then(|id| self.subjects.get(id)).map(|subject| subject.number);
        self.told.push_back(Told {
            step: self.seq + u64::from(!self.stepped),
            event: work.event.clone(),
            fingerprint: work.fingerprint,
            digest: work.digest,
            outcome: work.outcome,
            prior: work.prior.clone(),
            arrived: work.arrived,
            subject,
            text: text.clone(),
        });
    }

    /// The host has what this says, whatever the rows say: it is remembered, and what it displaced has ended.
    pub(super) fn tell_again(&mut self, told: Told) {
        let known = told.subject.and_then(|number| self.subjects.numbered(number));
        let most = self.settings.coalesce.max_subjects;
        let subject = known.or_else(|| {
            let coalesced = told.event.coalesce.is_some();
            let found = if coalesced { self.subjects.find(&told.event) } else { None };
            found.or_else(|| {
                coalesced.then(|| self.subjects.track(&told.event, History::Unknown, most)).flatten()
            })
        });
        self.set_history(subject, History::Some);
        let number = self.admit(Some(told.fingerprint), told.digest);
        let admitted = record::Admitted {
            number,
            event: &told.event,
            digest: told.digest,
            admitted_ms: self.now.mono_ms,
            outcome: told.outcome,
            prior: told.prior.clone(),
        };
        self.keep_receipt(admitted, Some(told.text.clone()), Fate::Delivered);
        let fate = if told.outcome == Some(Outcome::Noted) { Fate::Withdrawn } else { Fate::Replaced };
        self.overtake(subject, told.arrived, &fate, is_deferred(&told.event));
        if let Some(id) = subject {
            self.subjects.settle(id);
        }
        let step = self.step();
        self.told.push_back(Told { step, ..told });
    }

    /// A reply is dealt with; it is remembered until that is on disk.
    pub(super) fn note_reply(&mut self, number: u64, reply: &HostReply) {
        let Some(out) = self.outs.get(&number) else { return };
        if self.unsettled.len() >= MAX_UNSETTLED {
            self.unsettled.pop_front();
        }
        let (step, occurrence) = (self.seq + u64::from(!self.stepped), out.occurrence);
        let superseded = out.superseded.clone();
        self.unsettled.push_back(Unsettled { step, number, occurrence, superseded, reply: reply.clone() });
    }
}
