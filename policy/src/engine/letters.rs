//! What only an operator can settle: dead letters, and what is in doubt (contract 9.3, 9.5).
//!
//! Their texts are on disk only; here is what is needed to take an operator's word.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::Engine;
use super::note::{Note, Says};
use super::output::{Fate, Output};
use super::record::{self, row};
use super::recovery;
use super::subject::History;
use super::work::{Role, Stage, Work, WorkKey};
use crate::journal::{Change, ReceiptRow, Table, WorkRow};

/// What an operator says of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// In doubt: the host has it.
    Submitted,
    /// In doubt: the host does not have it; it is to be given it.
    NotSubmitted,
    /// A dead letter, or in doubt: a fresh attempt.
    Again,
    /// A dead letter, or in doubt: nobody is to be given it.
    Drop,
}

/// [`Input::Resolve`](super::Input::Resolve).
#[derive(Clone, Debug)]
pub struct Resolve {
    /// The driver's number for the answer.
    pub request: u64,
    /// The occurrence.
    pub number: u64,
    /// The revision it was seen at; `None`: whichever it is.
    pub expect: Option<u32>,
    /// What is said of it.
    pub word: Word,
    /// Its rows, as the journal has them.
    pub work: Option<WorkRow>,
    /// Its text.
    pub text: Option<Bytes>,
}

/// Why an operator's word changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// There is no such occurrence, or nothing more than its receipt.
    Unknown,
    /// It changed since it was looked at: this is its revision.
    Revision(u32),
    /// There is nothing to say of what stands like this.
    NotOpen(Fate),
    /// Its text is not kept any more: it can only be dropped.
    NoText,
}

/// What is known of one that waits for an operator.
#[derive(Clone, Copy, Debug)]
struct Letter {
    revision: u32,
    dead: bool,
}

/// All that waits for an operator.
#[derive(Debug, Default)]
pub(super) struct Letters {
    all: BTreeMap<u64, Letter>,
    /// Dead letters whose text is kept, oldest first.
    full: VecDeque<u64>,
    dead: usize,
}

impl Letters {
    pub(super) fn dead(&self) -> usize {
        self.dead
    }

    pub(super) fn in_doubt(&self) -> usize {
        self.all.len() - self.dead
    }

    /// Takes one back from its row.
    pub(super) fn restore(&mut self, number: u64, revision: u32, dead: bool, has_text: bool) {
        self.all.insert(number, Letter { revision, dead });
        self.dead += usize::from(dead);
        if dead && has_text {
            self.full.push_back(number);
        }
    }

    fn remove(&mut self, number: u64) {
        if let Some(letter) = self.all.remove(&number)
            && letter.dead
        {
            self.dead -= 1;
            self.full.retain(|&kept| kept != number);
        }
    }
}

impl Engine {
    /// What waits for an operator: number, revision, and whether it is a dead letter or in doubt. Work that was
    /// handed over in a session that is over and goes in the next one is not among it.
    pub fn letters(&self) -> impl Iterator<Item = (u64, u32, bool)> {
        self.letters.all.iter().map(|(&number, letter)| (number, letter.revision, letter.dead))
    }

    /// An accepted occurrence ended in a way that an operator is to see: it stays on disk.
    pub(super) fn lay_aside(&mut self, work: &Work, fate: &Fate) {
        if work.number == 0 {
            return;
        }
        let revision = work.revision + 1;
        let dead = matches!(fate, Fate::Dead(_));
        let subject = work.subject.and_then(|id| self.subjects.get(id)).map(|subject| subject.number);
        let event_id = Some(work.event_id());
        let row = WorkRow { fate: fate.clone(), revision, event_id, ..row(work, subject) };
        self.changes.push(Change::Put { table: Table::Work, id: work.number, row: row.encode() });
        self.see_left(work, fate, true);
        self.letters.restore(work.number, revision, dead, true);
        while self.letters.full.len() > self.settings.max_dead_letters {
            let Some(oldest) = self.letters.full.pop_front() else { return };
            self.changes.push(Change::Delete { table: Table::Content, id: oldest });
        }
    }

    pub(super) fn on_resolve(&mut self, resolve: &Resolve) {
        self.resolving = resolve.number;
        let live = self.works.iter().find(|(_, work)| work.number == resolve.number).map(|(key, _)| key);
        let named = self.notes.as_ref().and_then(|_| {
            let live = live.and_then(|key| self.works.get(key)).map(Work::event_id);
            live.or_else(|| resolve.work.as_ref()?.event_id.clone())
        });
        let result = match live {
            Some(key) => self.resolve_live(key, resolve),
            None => self.resolve_letter(resolve),
        };
        if result.is_ok()
            && let Some(notes) = &mut self.notes
        {
            notes.push(Note { event_id: named.unwrap_or_default(), says: Says::Settled(resolve.word) });
        }
        let after = self.gate();
        self.outputs.push_back(Output::Resolved { request: resolve.request, result, after });
        self.pump();
    }

    /// What was handed over in a session that is over and waits for the next one.
    fn resolve_live(&mut self, key: WorkKey, resolve: &Resolve) -> Result<Fate, Unresolved> {
        let Some(work) = self.works.get(key) else { return Err(Unresolved::Unknown) };
        if resolve.expect.is_some_and(|expect| expect != work.revision) {
            return Err(Unresolved::Revision(work.revision));
        }
        if !work.doubtful || matches!(work.stage, Stage::Out(_)) {
            return Err(Unresolved::NotOpen(work.fate()));
        }
        let subject = work.subject;
        match resolve.word {
            Word::Submitted => {
                self.end(key, Fate::Delivered);
                self.set_history(subject, History::Some);
                Ok(Fate::Delivered)
            }
            Word::Drop => {
                self.end(key, Fate::Dropped);
                Ok(Fate::Dropped)
            }
            Word::NotSubmitted | Word::Again => {
                self.unlist(key);
                if let Some(work) = self.works.get_mut(key) {
                    work.doubtful = false;
                    work.attempts = 0;
                    work.not_before_ms = 0;
                    work.changed_ms = self.now.mono_ms;
                }
                self.step();
                self.touch(key);
                if self.works.get(key).is_some_and(Work::is_replaceable) {
                    self.put_back(key, true);
                } else {
                    self.make_ready(key);
                }
                Ok(self.works.get(key).map_or(Fate::Replaced, Work::fate))
            }
        }
    }

    fn resolve_letter(&mut self, resolve: &Resolve) -> Result<Fate, Unresolved> {
        let (Some(&letter), Some(row)) = (self.letters.all.get(&resolve.number), &resolve.work) else {
            return Err(Unresolved::Unknown);
        };
        // Rows that were read before the last change are of an occurrence that looked different, too.
        if resolve.expect.unwrap_or(row.revision) != letter.revision || row.revision != letter.revision {
            return Err(Unresolved::Revision(letter.revision));
        }
        let fate = match (resolve.word, letter.dead) {
            (Word::Submitted | Word::NotSubmitted, true) => {
                return Err(Unresolved::NotOpen(row.fate.clone()));
            }
            (Word::Submitted, false) => Fate::Delivered,
            (Word::Drop, true) => row.fate.clone(),
            (Word::Drop, false) => Fate::Dropped,
            (Word::NotSubmitted | Word::Again, _) => return self.attempt_afresh(row, resolve),
        };
        self.letters.remove(resolve.number);
        if fate == Fate::Delivered {
            let subject = row.subject.and_then(|number| self.subjects.numbered(number));
            self.set_history(subject, History::Some);
        }
        self.forget_letter(resolve, row, &fate);
        Ok(fate)
    }

    /// A letter is settled: nothing of it stays but its receipt.
    fn forget_letter(&mut self, resolve: &Resolve, row: &WorkRow, fate: &Fate) {
        let number = resolve.number;
        self.step();
        self.see_settled(number, row, resolve.text.as_ref(), fate);
        for table in [Table::Work, Table::Content] {
            self.changes.push(Change::Delete { table, id: number });
        }
        self.keep_end(number, receipt(row), fate, row.revision);
        self.displace(row.thread.clone(), self.displaced_by(number, fate));
    }

    /// It is held again, due at once, in the place it had; unless something newer of its subject is unread.
    fn attempt_afresh(&mut self, row: &WorkRow, resolve: &Resolve) -> Result<Fate, Unresolved> {
        // A text that was read before it was given up is no text either: it is not on disk any more.
        let kept = row.fate.is_in_doubt() || self.letters.full.contains(&resolve.number);
        let Some(text) = resolve.text.as_ref().filter(|_| kept) else { return Err(Unresolved::NoText) };
        let event = record::read(row.lane, text.clone());
        let Some(role) = recovery::role(row.place, Vec::new()) else { return Err(Unresolved::NoText) };
        let mut work = recovery::work(resolve.number, row, role, event, &self.key);
        if work.expires_ms.is_some_and(|at| at <= self.now.wall_ms) {
            self.letters.remove(resolve.number);
            self.forget_letter(resolve, row, &Fate::Expired);
            return Ok(Fate::Expired);
        }
        if work.outcome.is_some() {
            // By its number: the text of what was told as a channel message does not say its key any more.
            let known = row.subject.and_then(|number| self.subjects.numbered(number));
            let coalesced = work.event.coalesce.is_some();
            let most = self.settings.coalesce.max_subjects;
            work.subject = known.or_else(|| {
                let found = if coalesced { self.subjects.find(&work.event) } else { None };
                found.or_else(|| {
                    coalesced.then(|| self.subjects.track(&work.event, History::Unknown, most)).flatten()
                })
            });
            if work.subject.is_none() {
                work.role = Role::Fixed;
            }
            if let Some(id) = work.subject {
                self.touch_subject(id);
            }
        }
        self.letters.remove(resolve.number);
        work.doubtful = false;
        work.deferral = None;
        (work.attempts, work.not_before_ms) = (0, 0);
        // What the host may remember of it counts from this attempt.
        work.changed_ms = self.now.mono_ms;
        let unread = work.subject.filter(|_| work.is_replaceable()).and_then(|id| {
            let rendered = |id| self.subjects.get(id)?.rendered.last().copied();
            self.unread_of(id).or_else(|| rendered(id))
        });
        let unread = unread.and_then(|key| Some((key, self.works.get(key)?)));
        // No notice takes the place of what was rendered, and nothing rendered that of another.
        let apart = |other: &Work| other.is_pending() || other.role == Role::Rendered;
        let displaces = |other: &Work| !(work.role == Role::Rendered && apart(other));
        if let Some((key, other)) = unread.filter(|(_, other)| displaces(other)) {
            if other.arrived > work.arrived {
                self.admitting = other.number;
                self.forget_letter(resolve, row, &Fate::Replaced);
                return Ok(Fate::Replaced);
            }
            // An operator had that one sent anew before: this one came after it.
            self.admitting = work.number;
            self.end(key, Fate::Replaced);
        }
        self.step();
        self.insert_behind(work);
        Ok(Fate::Held)
    }

    /// Takes work back in, due at once: as the occupant, unless a write-through that came after it waits for its
    /// verdict; then it is what that one displaces.
    fn insert_behind(&mut self, work: Work) {
        let (id, replaceable) = (work.subject, work.is_replaceable() && work.role != Role::Rendered);
        let waiting = id.and_then(|id| self.subjects.get(id)).and_then(|subject| subject.occupant);
        let key = self.insert(work, true);
        if !replaceable || waiting.is_none() {
            return;
        }
        if let Some(subject) = id.and_then(|id| self.subjects.get_mut(id)) {
            subject.occupant = waiting;
        }
        self.unlist(key);
        self.put_back(key, true);
    }
}

/// The receipt of what a row stands for; how it ended is the caller's to say.
fn receipt(row: &WorkRow) -> ReceiptRow {
    ReceiptRow {
        event_id: row.event_id.clone().unwrap_or_default(),
        digest: row.digest,
        admitted_ms: row.admitted_ms,
        outcome: row.outcome,
        prior: row.prior.clone(),
        host: None,
        fate: row.fate.clone(),
        revision: row.revision,
        by: 0,
    }
}
