//! What an input changes of what must outlive the process, gathered into one step (contract 9.1).
//!
//! A piece of work, or a subject, is noted when it changes and written once, as it stands when the input has
//! been dealt with. What ends is written at once.

use mcpl_codec::{Digest, Event, Lane};

use super::Engine;
use super::batch::Batch;
use super::output::{Fate, Outcome, Output, Seq};
use super::subject::{History, SubjectKey};
use super::work::{Role, Stage, Work, WorkKey, identity};
use crate::journal::{Change, HistoryRow, MetaRow, Place, ReceiptRow, Step, Table, WorkRow};

/// What a receipt says beside what became of the occurrence.
#[allow(clippy::struct_field_names, reason = "it is named like the row it becomes")]
pub(super) struct Admitted<'a> {
    pub(super) number: u64,
    pub(super) event: &'a Event,
    pub(super) digest: Digest,
    pub(super) admitted_ms: u64,
    pub(super) outcome: Option<Outcome>,
    pub(super) prior: Option<Box<str>>,
}

/// The changes of an event that replaces another: its rows, those of the other, their subject and what is about all.
const USUAL_CHANGES: usize = 8;

impl Engine {
    /// The number of this input's durable step, begun now if it was not.
    pub(super) fn step(&mut self) -> Seq {
        if !self.stepped {
            self.stepped = true;
            self.seq += 1;
        }
        self.seq
    }

    /// The gate of what must not overtake this input's own step.
    pub(super) fn gate(&self) -> Option<Seq> {
        self.stepped.then_some(self.seq)
    }

    /// The gate of what rests on anything recorded so far.
    pub(super) fn last_step(&self) -> Option<Seq> {
        (self.seq > 0).then_some(self.seq)
    }

    /// A piece of work has changed.
    pub(super) fn touch(&mut self, key: WorkKey) {
        if let Some(work) = self.works.get_mut(key)
            && work.number > 0
            && !std::mem::replace(&mut work.touched, true)
        {
            self.touched_works.push(key);
        }
    }

    /// What is known of a subject has changed.
    pub(super) fn touch_subject(&mut self, id: SubjectKey) {
        if let Some(subject) = self.subjects.get_mut(id)
            && !std::mem::replace(&mut subject.touched, true)
        {
            self.touched_subjects.push(id);
        }
    }

    /// Writes the text of an occurrence that was admitted.
    pub(super) fn keep_text(&mut self, number: u64, event: &Event) {
        self.changes.push(Change::Put { table: Table::Content, id: number, row: event.raw.to_vec() });
    }

    /// Gives an occurrence its number, by which it is remembered from now on.
    pub(super) fn admit(&mut self, fingerprint: Option<u128>, digest: Digest) -> u64 {
        let number = self.receipts.remember(fingerprint, digest, self.now.mono_ms);
        self.admitting = number;
        self.await_prune();
        number
    }

    /// Writes what an occurrence was answered.
    pub(super) fn keep_receipt(&mut self, admitted: Admitted<'_>, host: Option<bytes::Bytes>, fate: Fate) {
        self.see_done(&admitted, &fate, host.is_some());
        let Admitted { number, event, digest, admitted_ms, outcome, prior } = admitted;
        let Some(event_id) = identity(event) else { return };
        let receipt =
            ReceiptRow { event_id, digest, admitted_ms, outcome, prior, host, fate, revision: 1, by: 0 };
        self.changes.push(Change::Put { table: Table::Receipt, id: number, row: receipt.encode() });
    }

    /// Writes how an occurrence ended, which takes it from the disk but for its receipt.
    pub(super) fn close(&mut self, work: &mut Work, fate: &Fate) {
        if work.number == 0 {
            return;
        }
        self.step();
        self.see_left(work, fate, false);
        for table in [Table::Work, Table::Content] {
            self.changes.push(Change::Delete { table, id: work.number });
        }
        self.changes.extend(work.batch().map(Batch::clear));
        self.keep_end(work.number, ended(work), fate, work.revision);
        self.displace(work.thread.take(), self.displaced_by(work.number, fate));
    }

    /// Writes how the occurrence of a receipt ended, if that is still remembered.
    pub(super) fn keep_end(&mut self, number: u64, mut receipt: ReceiptRow, fate: &Fate, revision: u32) {
        if !self.receipts.keeps(number) || receipt.event_id.is_empty() {
            return;
        }
        receipt.by = self.displaced_by(number, fate);
        receipt.fate = fate.clone();
        receipt.revision = revision + 1;
        self.changes.push(Change::Put { table: Table::Receipt, id: number, row: receipt.encode() });
    }

    /// The occurrence that puts an end to this one by taking its place or withdrawing it; 0: none does.
    pub(super) fn displaced_by(&self, number: u64, fate: &Fate) -> u64 {
        let displaced = matches!(fate, Fate::Replaced | Fate::Withdrawn);
        if displaced && self.admitting != number { self.admitting } else { 0 }
    }

    /// The rows of all that it holds, written anew: what its steps made of the journal is this, once all of them
    /// are applied. Not the row of [`Table::Meta`], the receipts, and what waits for an operator
    /// ([`letters`](Self::letters)), none of which is held whole; and a subject's `used` is 0 here.
    pub fn rows(&self) -> impl Iterator<Item = (Table, u64, Vec<u8>)> {
        let works = self.works.values().filter(|work| work.number > 0);
        let works = works.flat_map(|work| {
            let subject = work.subject.and_then(|id| self.subjects.get(id)).map(|subject| subject.number);
            let text = (Table::Content, work.number, work.event.raw.to_vec());
            let notices = work.batch().into_iter().flat_map(Batch::rows);
            let notices = notices.map(|(id, row)| (Table::Notice, id, row));
            [(Table::Work, work.number, row(work, subject).encode()), text].into_iter().chain(notices)
        });
        let subjects =
            self.subjects.all().map(|subject| (Table::Subject, subject.number, subject.row(0).encode()));
        works.chain(subjects)
    }

    /// Puts this input's step together, if it changed anything.
    pub(super) fn record(&mut self) {
        self.hand_down();
        self.threads.let_go();
        // A subject that is forgotten is a change by itself: a write-through may have begun it.
        let changed = !(self.touched_works.is_empty()
            && self.touched_subjects.is_empty()
            && self.changes.is_empty()
            && !self.subjects.has_dropped());
        if !self.stepped && !changed {
            return;
        }
        let seq = self.step();
        for key in std::mem::take(&mut self.touched_works) {
            let Some(work) = self.works.get_mut(key) else { continue };
            work.touched = false;
            let fate = work.fate();
            if work.recorded.as_ref() != Some(&fate) {
                work.revision += 1;
                work.recorded = Some(fate);
            }
            work.due = is_due(work.stage);
            let subject = work.subject;
            let Some(work) = self.works.get(key) else { continue };
            let subject = subject.and_then(|id| self.subjects.get(id)).map(|subject| subject.number);
            let (id, row) = (work.number, row(work, subject).encode());
            self.changes.push(Change::Put { table: Table::Work, id, row });
            self.see_held(key, subject);
        }
        for id in std::mem::take(&mut self.touched_subjects) {
            let used = self.subjects.used(seq);
            let Some(subject) = self.subjects.get_mut(id) else { continue };
            subject.touched = false;
            let row = subject.row(used).encode();
            self.changes.push(Change::Put { table: Table::Subject, id: subject.number, row });
        }
        self.changes.extend(self.subjects.dropped().map(|id| Change::Delete { table: Table::Subject, id }));
        let meta = MetaRow {
            key: self.key,
            mono_ms: self.now.mono_ms,
            wall_ms: self.now.wall_ms,
            next: self.receipts.next(),
            next_subject: self.subjects.next(),
            due: self.due,
        };
        self.changes.push(Change::Put { table: Table::Meta, id: 0, row: meta.encode() });
        let changes = std::mem::replace(&mut self.changes, Vec::with_capacity(USUAL_CHANGES));
        self.outputs.push_back(Output::Step(Step { seq, changes }));
    }
}

fn is_due(stage: Stage) -> bool {
    !matches!(stage, Stage::Held | Stage::Aside { due: false })
}

/// The row of a piece of work.
pub(super) fn row(work: &Work, subject: Option<u64>) -> WorkRow {
    WorkRow {
        lane: work.event.lane,
        fate: work.fate(),
        revision: work.revision,
        place: match &work.role {
            Role::Plain => Place::Plain,
            Role::Pending(batch) => Place::Batch(batch.row()),
            Role::Rendered => Place::Rendered,
            Role::Fixed => Place::Fixed,
            Role::Stored => Place::Stored,
        },
        doubtful: work.doubtful,
        due: work.due,
        subject,
        order: work.place,
        arrived: work.arrived,
        first_ms: work.first_ms,
        changed_ms: work.changed_ms,
        not_before_ms: work.not_before_ms,
        attempts: work.attempts,
        expires_ms: work.expires_ms,
        admitted_ms: work.admitted_ms,
        digest: work.digest,
        outcome: work.outcome,
        prior: work.prior.clone(),
        event_id: None,
        thread: work.thread.clone(),
    }
}

/// The receipt of a piece of work; how it ended is the caller's to say.
fn ended(work: &Work) -> ReceiptRow {
    ReceiptRow {
        event_id: work.event_id(),
        digest: work.digest,
        admitted_ms: work.admitted_ms,
        outcome: work.outcome,
        prior: work.prior.clone(),
        host: None,
        fate: Fate::Held,
        revision: 0,
        by: 0,
    }
}

/// History as a row has it: what is on its way may have been read when it is looked at again.
pub(super) fn history(history: History, out: bool) -> HistoryRow {
    match history {
        History::Some => HistoryRow::Some,
        History::None if !out => HistoryRow::None,
        History::None | History::Unknown => HistoryRow::Unknown,
    }
}

/// The lane's reading of a text.
pub(super) fn read(lane: Lane, text: bytes::Bytes) -> Event {
    match lane {
        Lane::Push => Event::push(text),
        Lane::Channel => Event::message(text),
    }
}
