//! An engine from its rows: at the start, and after a failed commit (contract 9.1).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use foldhash::quality::FixedState;
use mcpl_codec::digest::Digester;
use mcpl_codec::{DigestKey, Event, digest};

use super::Engine;
use super::batch::Batch;
use super::input::StoreState;
use super::letters::Letters;
use super::order::Order;
use super::out::Out;
use super::output::{Answer, Output, Seq};
use super::receipt::Receipts;
use super::record;
use super::render::Render;
use super::stored;
use super::subject::{SubjectKey, Subjects};
use super::thread::Threads;
use super::timer::{Timer, Timers};
use super::work::{Role, Stage, Work, WorkKey, identity};
use crate::fate::Fate;
use crate::journal::{Change, MetaRow, NoticeRow, Place, ReceiptRow, Spoilt, SubjectRow, Table, WorkRow};
use crate::settings::Settings;

/// Rows on their way to an engine: [`take`](Self::take) them in the order of [`Table::ALL`].
#[derive(Debug)]
pub struct Recovery {
    seed: u64,
    meta: Option<MetaRow>,
    subjects: Vec<(u64, SubjectRow)>,
    texts: HashMap<u64, Bytes>,
    notices: HashMap<u64, Vec<NoticeRow>>,
    works: Vec<(u64, WorkRow)>,
    receipts: Receipts,
    orphan: Option<Spoilt>,
}

impl Recovery {
    /// No rows yet. `seed` is the randomness of an engine that has none.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            meta: None,
            subjects: Vec::new(),
            texts: HashMap::new(),
            notices: HashMap::new(),
            works: Vec::new(),
            receipts: Receipts::new(seed, 1),
            orphan: None,
        }
    }

    /// Takes one row.
    ///
    /// # Errors
    /// [`Spoilt`]: it does not say what a row of its table must say.
    pub fn take(&mut self, table: Table, id: u64, row: &[u8]) -> Result<(), Spoilt> {
        match table {
            Table::Meta => self.meta = Some(MetaRow::decode(row)?),
            Table::Subject => self.subjects.push((id, SubjectRow::decode(id, row)?)),
            Table::Content => {
                self.texts.insert(id, Bytes::copy_from_slice(row));
            }
            Table::Notice => {
                let notice = NoticeRow::decode(id, row)?;
                self.notices.entry(NoticeRow::batch(id)).or_default().push(notice);
            }
            Table::Work => self.works.push((id, WorkRow::decode(id, row)?)),
            Table::Receipt => {
                let row = ReceiptRow::decode(id, row)?;
                let Some(meta) = &self.meta else {
                    return Err(Spoilt { table, id, why: "it is there without the row that all rest on" });
                };
                let mut fingerprint = digest::fingerprint(&meta.key, &row.event_id);
                let used = self.receipts.find(fingerprint).is_some_and(|found| !found.is(&row.digest));
                if used {
                    fingerprint = digest::fingerprint(&meta.key, &stored::apart(&row.event_id, &row.digest));
                }
                self.receipts.restore(id, Some(fingerprint), row.digest, row.admitted_ms);
            }
        }
        if self.meta.is_none() && self.orphan.is_none() {
            self.orphan = Some(Spoilt { table, id, why: "it is there without the row that all rest on" });
        }
        Ok(())
    }
}

impl Engine {
    /// The engine that these rows are of; an empty journal gives a new one. Every age goes on from where it
    /// was: the first `now` it is given must not be before [`clock_ms`](Self::clock_ms).
    ///
    /// What was handed over and not answered for is sent again in the next session, or left to an operator
    /// (contract 9.3); it is never taken for unsent.
    ///
    /// # Errors
    /// [`Spoilt`]: rows do not fit together.
    pub fn recover(settings: Settings, wall_ms: i64, recovery: Recovery) -> Result<Self, Spoilt> {
        if let Some(spoilt) = recovery.orphan {
            return Err(spoilt);
        }
        let mut engine = Self::new(settings, recovery.seed);
        let Some(meta) = recovery.meta else { return Ok(engine) };
        engine.key = meta.key;
        engine.digester = Digester::new(&meta.key);
        engine.receipts = recovery.receipts;
        engine.receipts.skip_to(meta.next);
        engine.subjects.skip_to(meta.next_subject);
        engine.due = meta.due;
        engine.now.mono_ms = meta.mono_ms;
        engine.now.wall_ms = wall_ms;
        engine.refill(recovery.subjects, (recovery.texts, recovery.notices), recovery.works)?;
        Ok(engine)
    }

    /// The sidecar's running time, in ms: the monotonic clock of its inputs goes on from here.
    pub fn clock_ms(&self) -> u64 {
        self.now.mono_ms
    }

    /// Every step up to `seq` is on disk.
    pub fn durable(&mut self, seq: Seq) {
        self.durable = self.durable.max(seq);
        while self.unsettled.front().is_some_and(|unsettled| unsettled.step <= seq) {
            self.unsettled.pop_front();
        }
        while self.rendered.front().is_some_and(|answered| answered.step <= seq) {
            self.rendered.pop_front();
        }
        while self.told.front().is_some_and(|told| told.step <= seq) {
            self.told.pop_front();
        }
    }

    /// No step after `durable` is on disk, and none will be: everything is as these rows say (all but the
    /// receipts' are needed), and the journal takes what `store` says. The session goes on: what it taught
    /// stays, forwards whose own step is on disk are still out, and answers to them that were dealt with since
    /// are dealt with anew. What was written through is answered as not answered by the host.
    ///
    /// The outputs must be drained afterwards, as after [`handle`](Self::handle), and
    /// [`deadline_ms`](Self::deadline_ms) asked anew: what may be handed over again is, with the next input.
    ///
    /// # Errors
    /// [`Spoilt`]: rows do not fit together; the engine holds nothing then.
    pub fn restore(&mut self, durable: Seq, store: StoreState, recovery: Recovery) -> Result<(), Spoilt> {
        if let Some(spoilt) = recovery.orphan {
            return Err(spoilt);
        }
        // Nothing is handed over before the next input: how late it is by now is not known here.
        self.store = StoreState::Gone;
        self.durable(durable);
        (self.stepped, self.admitting, self.resolving) = (false, 0, 0);
        // What was seen of steps that are not on disk never was.
        self.seen.as_mut().map(Vec::clear);
        for key in self.throughs.values() {
            let through = self.works.get_mut(*key).and_then(|work| work.through.take());
            for ticket in through.map_or_else(Vec::new, |through| through.tickets) {
                self.outputs.push_back(Output::Answer { ticket, answer: Answer::Unanswered, after: None });
            }
        }
        let mut alive: BTreeMap<u64, Out> = std::mem::take(&mut self.outs)
            .into_iter()
            .filter(|(_, out)| out.occurrence > 0 && out.step <= durable)
            .collect();
        let unsettled = std::mem::take(&mut self.unsettled);
        alive.extend(unsettled.iter().map(|reply| {
            let answered = Out::new(WorkKey::default(), None, (reply.occurrence, 0));
            (reply.number, Out { handed: true, superseded: reply.superseded.clone(), ..answered })
        }));
        let next = recovery.meta.map_or(1, |meta| meta.next);
        let next_subject = self.subjects.next();
        let doubtful: HashSet<u64, FixedState> =
            recovery.works.iter().filter(|(_, row)| row.doubtful).map(|(number, _)| *number).collect();
        self.receipts.truncate(next);
        self.works.clear();
        self.subjects = Subjects::new(self.seed, self.key);
        self.subjects.skip_to(next_subject);
        self.order = Order::new(self.seed);
        self.timers = Timers::default();
        self.throughs.clear();
        self.queues.clear();
        self.letters = Letters::default();
        self.changes.clear();
        self.threads = Threads::default();
        let renders = std::mem::take(&mut self.renders);
        self.touched_works.clear();
        self.touched_subjects.clear();
        (self.pace_timer_ms, self.prune_timer_ms) = (None, None);
        self.held_bytes = 0;
        self.refill(recovery.subjects, (recovery.texts, recovery.notices), recovery.works)?;
        let by_number: HashMap<u64, WorkKey, FixedState> =
            self.works.iter().map(|(key, work)| (work.number, key)).collect();
        for (number, out) in alive {
            if let Some(&key) = by_number.get(&out.occurrence) {
                let doubtful = doubtful.contains(&out.occurrence);
                self.put_out(number, key, out, doubtful);
            }
        }
        self.put_renders(renders, durable, &by_number);
        self.await_policy();
        for told in std::mem::take(&mut self.told) {
            self.tell_again(told);
        }
        for reply in unsettled {
            // It is not on disk by that: a commit that fails again must not lose it either.
            self.note_reply(reply.number, &reply.reply);
            self.on_reply(reply.number, &reply.reply);
        }
        for answered in std::mem::take(&mut self.rendered) {
            self.rendered_again(answered);
        }
        self.store = store;
        self.pace_timer_ms = Some(self.now.mono_ms);
        self.timers.set(self.now.mono_ms, Timer::Pace);
        self.record();
        #[cfg(debug_assertions)]
        self.assert_sound();
        Ok(())
    }

    /// Takes back subjects and work.
    fn refill(
        &mut self,
        mut subjects: Vec<(u64, SubjectRow)>,
        (mut texts, mut notices): (HashMap<u64, Bytes>, HashMap<u64, Vec<NoticeRow>>),
        works: Vec<(u64, WorkRow)>,
    ) -> Result<(), Spoilt> {
        subjects.sort_by_key(|(_, row)| row.used);
        let by_number: HashMap<u64, SubjectKey, FixedState> =
            subjects.iter().map(|(number, row)| (*number, self.subjects.restore(*number, row))).collect();
        for (number, row) in works {
            self.order.reserve(row.order);
            self.arrivals = self.arrivals.max(row.arrived);
            let text = texts.remove(&number);
            let dead = matches!(row.fate, Fate::Dead(_));
            if dead || row.fate.is_in_doubt() {
                self.letters.restore(number, row.revision, dead, text.is_some());
                continue;
            }
            let Some(text) = text else {
                return Err(Spoilt { table: Table::Work, id: number, why: "its text is not there" });
            };
            let batch = if let Place::Batch(batch) = row.place { batch.id } else { 0 };
            let Some(role) = role(row.place, notices.remove(&batch).unwrap_or_default()) else {
                return Err(Spoilt { table: Table::Work, id: number, why: "its notices are not there" });
            };
            let mut work = work(number, &row, role, record::read(row.lane, text), &self.key);
            work.subject = row.subject.and_then(|number| by_number.get(&number)).copied();
            // A reason once given stays given (contract 7.1).
            let given = work.due || work.arrived <= self.due || self.is_urgent(&work.event);
            let due = given || work.doubtful || work.role == Role::Stored;
            self.insert(work, due);
        }
        // A batch that is closed leaves its notices to be deleted some time.
        let closed: BTreeSet<u64> = notices.into_keys().collect();
        let closed = closed.into_iter().map(NoticeRow::all);
        let closed =
            closed.map(|all| Change::Clear { table: Table::Notice, from: all.start, below: all.end });
        self.changes.extend(closed);
        // What was read back is as it is on disk.
        self.touched_works.clear();
        for work in self.works.values_mut() {
            work.touched = false;
        }
        // The least recently used first.
        for key in subjects.iter().filter_map(|(number, _)| by_number.get(number)) {
            self.subjects.settle(*key);
        }
        self.await_prune();
        Ok(())
    }

    /// Renders that are known to have begun go on.
    fn put_renders(
        &mut self,
        renders: BTreeMap<u64, Render>,
        durable: Seq,
        works: &HashMap<u64, WorkKey, FixedState>,
    ) {
        for (number, render) in renders.into_iter().filter(|(_, render)| render.step <= durable) {
            if let Some(&key) = works.get(&render.occurrence) {
                self.put_render(number, key, &render);
            }
        }
        let answered: Vec<(u64, u64)> =
            self.rendered.iter().map(|answered| (answered.number, answered.occurrence)).collect();
        for (number, occurrence) in answered {
            if let Some(&key) = works.get(&occurrence) {
                self.put_render(number, key, &Render { work: key, occurrence, step: durable, timer_ms: 0 });
            }
        }
    }

    fn put_render(&mut self, number: u64, key: WorkKey, render: &Render) {
        if !self.works.get(key).is_some_and(|work| work.role == Role::Rendered && !work.doubtful) {
            return;
        }
        self.unlist(key);
        if let Some(work) = self.works.get_mut(key) {
            work.stage = Stage::Rendering(number);
        }
        let timer_ms = self.now.mono_ms + self.settings.coalesce.render_timeout_ms;
        self.timers.set(timer_ms, Timer::Render(number));
        self.renders.insert(number, Render { work: key, timer_ms, ..*render });
    }

    /// Work that the rows say was handed over is out in this session; `doubtful`: in an earlier one, too.
    fn put_out(&mut self, number: u64, key: WorkKey, out: Out, doubtful: bool) {
        if !self.works.get(key).is_some_and(|work| work.doubtful) {
            return;
        }
        self.unlist(key);
        let Some(work) = self.works.get_mut(key) else { return };
        work.stage = Stage::Out(number);
        work.doubtful = doubtful;
        self.held_bytes -= work.bytes();
        let subject = work.subject;
        if let Some(id) = subject
            && let Some(subject) = self.subjects.get_mut(id)
        {
            subject.works -= 1;
            subject.unseat(key);
            subject.out += 1;
            subject.blocking = Some(number);
            self.subjects.settle(id);
        }
        // What came after it and is on disk supersedes it still; what is lost never did.
        let superseded = out.superseded.and_then(|superseded| superseded.still(self.durable));
        self.outs.insert(number, Out { work: key, subject, superseded, timer_ms: None, ..out });
        self.arm_answer(number);
    }
}

/// What its row says it is to its subject, if its notices are those of the row.
pub(super) fn role(place: Place, notices: Vec<NoticeRow>) -> Option<Role> {
    Some(match place {
        Place::Plain => Role::Plain,
        Place::Batch(batch) => Role::Pending(Box::new(Batch::restored(batch, notices)?)),
        Place::Rendered => Role::Rendered,
        Place::Fixed => Role::Fixed,
        Place::Stored => Role::Stored,
    })
}

/// Work as its row says it is; its subject is the caller's to find.
pub(super) fn work(number: u64, row: &WorkRow, role: Role, event: Event, key: &DigestKey) -> Work {
    let fingerprint = identity(&event).map_or(0, |id| digest::fingerprint(key, &id));
    Work {
        number,
        event: Box::new(event),
        subject: None,
        role,
        doubtful: row.doubtful || row.fate.is_submitted(),
        deferral: row.fate.deferral(),
        stage: Stage::Held,
        through: None,
        place: row.order,
        arrived: row.arrived,
        first_ms: row.first_ms,
        changed_ms: row.changed_ms,
        not_before_ms: row.not_before_ms,
        attempts: row.attempts,
        expires_ms: row.expires_ms,
        stuck: false,
        forced: false,
        release_timer_ms: None,
        retry_timer_ms: None,
        expiry_timer_ms: None,
        fingerprint,
        digest: row.digest,
        outcome: row.outcome,
        prior: row.prior.clone(),
        admitted_ms: row.admitted_ms,
        recorded: Some(row.fate.clone()),
        revision: row.revision,
        due: row.due,
        touched: false,
        thread: row.thread.clone(),
    }
}
