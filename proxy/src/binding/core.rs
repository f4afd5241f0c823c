//! What of a binding outlives its sessions: the engine, its time and its journal (contract 9.1).

use std::collections::HashMap;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mcpl_policy::engine::{Fate, Recovery, Resolve, Seq, StoreState, Unresolved, Word};
use mcpl_policy::journal::{Spoilt, Step, Table, WorkRow};
use mcpl_policy::{Engine, Settings};
use tokio::sync::oneshot;
use tokio::time::Sleep;

use super::clock::Clock;
use super::trouble::Trouble;
use crate::exchange::are_told;
use crate::journal::{Ledger, OpenFault, Report, UNCONFIRMED_BYTES};
use crate::stream::Tap;

/// An operator's words that may wait at once for a binding; past it one is told to ask again.
pub const MAX_ASKED: usize = 64;

/// Retries whose receipts are being read at once; past it no more events are read.
pub const MAX_READS: usize = 1024;

/// How long after the rows could not be read they are asked for again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How long the last steps may take to get to disk when everything ends.
const LAST_STEPS: Duration = Duration::from_secs(5);

/// An answer to an operator.
pub(super) type Told = oneshot::Sender<Result<Fate, Unresolved>>;

/// An operator's word whose rows are being read.
pub(super) struct Asked {
    pub(super) number: u64,
    pub(super) expect: Option<u32>,
    pub(super) word: Word,
    pub(super) told: Told,
}

/// Engine, clock and journal.
pub(super) struct Core {
    pub(super) engine: Engine,
    pub(super) clock: Clock,
    pub(super) trouble: Trouble,
    ledger: Ledger,
    /// Where it is left what steps say, while somebody may want to know.
    tap: Option<Tap>,
    /// The newest step that is on disk.
    pub(super) durable: Seq,
    /// A commit failed: what the engine holds counts no more, until it is as the journal says.
    lost: bool,
    store: StoreState,
    asked: HashMap<u64, Asked>,
    /// Receipts that are being read, by the number of the reading: for this ticket of the session.
    reads: HashMap<u64, u64>,
    /// When the rows are asked for again.
    again: Option<Pin<Box<Sleep>>>,
    /// Tickets of those that will not be read.
    unread: Vec<u64>,
    requests: u64,
    /// Words that were carried out, and wait for their step.
    done: Vec<(Seq, Told, Result<Fate, Unresolved>)>,
    /// Who wants to know once nothing that was not noted can come to be on disk any more.
    watchers: Vec<(Seq, oneshot::Sender<()>)>,
}

impl Core {
    /// The binding of a ledger as its rows say.
    pub(super) fn open(
        settings: Settings,
        mut ledger: Ledger,
        tap: Option<Tap>,
        seed: u64,
    ) -> Result<Self, OpenFault> {
        let mut recovery = Recovery::new(seed);
        ledger.load(&mut |table, id, row| recovery.take(table, id, row))?;
        let wall_ms = Clock::start(0).now().wall_ms;
        let engine = Engine::recover(settings, wall_ms, recovery);
        let mut engine = engine.map_err(|spoilt| ledger.spoilt(&spoilt))?;
        engine.observe(tap.as_ref().is_some_and(Tap::is_wanted));
        engine.explain(are_told());
        let clock = Clock::start(engine.clock_ms());
        Ok(Self {
            engine,
            clock,
            trouble: Trouble::default(),
            ledger,
            tap,
            durable: 0,
            lost: false,
            store: StoreState::Good,
            asked: HashMap::new(),
            reads: HashMap::new(),
            again: None,
            unread: Vec::new(),
            requests: 0,
            done: Vec::new(),
            watchers: Vec::new(),
        })
    }

    /// A step is to get to disk. While the journal takes nothing there is no use in it: the engine will be as
    /// the journal says.
    pub(super) fn commit(&mut self, step: Step) {
        if self.lost {
            return;
        }
        if let Some(tap) = &mut self.tap {
            let seen = self.engine.take_seen();
            if !seen.is_empty() {
                tap.note(step.seq, self.clock.now(), seen);
            }
        }
        self.ledger.submit(step);
    }

    /// Asks for a receipt, which comes as [`News::Receipt`].
    pub(super) fn read(&mut self, ticket: u64, receipt: u64) {
        self.requests += 1;
        self.reads.insert(self.requests, ticket);
        self.ledger.read(self.requests, vec![(Table::Receipt, receipt)]);
    }

    /// A session begins: what an earlier one asked for means nothing to it.
    pub(super) fn forget_reads(&mut self) {
        self.reads.clear();
        self.unread.clear();
    }

    /// Whether what waits for `after` need not wait.
    pub(super) fn is_durable(&self, after: Option<Seq>) -> bool {
        after.is_none_or(|after| after <= self.durable)
    }

    /// Steps that are given up do not become durable.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    /// So much waits for the disk that no more events are to be read.
    pub(super) fn is_behind(&self) -> bool {
        self.ledger.unconfirmed_bytes() >= UNCONFIRMED_BYTES || self.reads.len() >= MAX_READS
    }

    /// What the journal can take.
    pub(super) fn store(&self) -> StoreState {
        if self.lost { StoreState::Gone } else { self.store }
    }

    /// The next thing the journal has to say.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<News> {
        loop {
            if let Some(ticket) = self.unread.pop() {
                return Poll::Ready(News::Receipt(ticket, None));
            }
            if self.again.as_mut().is_some_and(|again| again.as_mut().poll(cx).is_ready()) {
                self.again = None;
                self.ledger.recover();
            }
            let Poll::Ready(report) = self.ledger.poll(cx) else { return Poll::Pending };
            match report {
                Report::Durable(seq) => {
                    self.durable = self.durable.max(seq);
                    if let Some(tap) = &mut self.tap {
                        tap.durable(self.durable);
                    }
                    self.engine.durable(self.durable);
                    self.answer_operators();
                    return Poll::Ready(News::Durable);
                }
                Report::Failed(why) => {
                    if self.lost {
                        // The rows could not be read back either: they are asked for until they can be.
                        self.again = Some(Box::pin(tokio::time::sleep(ASK_AGAIN)));
                        continue;
                    }
                    self.lost = true;
                    tracing::error!(
                        why,
                        "the journal could not be written: what was not on disk counts as never accepted"
                    );
                    // What they asked for did not come to be: they are told that nobody answers.
                    self.done.clear();
                    // What was not on disk is not any more: there is nothing to wait for.
                    for (_, told) in self.watchers.drain(..) {
                        let _ = told.send(());
                    }
                    if let Some(tap) = &mut self.tap {
                        tap.lost();
                    }
                    // What was asked for is not answered any more.
                    self.unread.extend(self.reads.drain().map(|(_, ticket)| ticket));
                    self.asked.clear();
                    // The rows come when something can be committed again.
                    self.ledger.recover();
                    return Poll::Ready(News::Store(StoreState::Gone));
                }
                Report::State(store) => {
                    self.note(store);
                    if !self.lost {
                        return Poll::Ready(News::Store(store));
                    }
                }
                Report::Rows(rows) if self.lost => match self.restore(rows) {
                    Ok(()) => return Poll::Ready(News::Restored),
                    // It stays as it is: nothing is accepted, and nothing that was is lost.
                    Err(spoilt) => tracing::error!(%spoilt, "the journal cannot be read back"),
                },
                Report::Rows(_) => {}
                Report::Read { token, mut rows } => {
                    if let Some(asked) = self.asked.get(&token) {
                        let text = rows.pop().flatten().map(Into::into);
                        let row = rows.pop().flatten();
                        let work = row.and_then(|row| WorkRow::decode(asked.number, &row).ok());
                        let Asked { number, expect, word, .. } = *asked;
                        let resolve = Resolve { request: token, number, expect, word, work, text };
                        return Poll::Ready(News::Word(Box::new(resolve)));
                    }
                    if let Some(ticket) = self.reads.remove(&token) {
                        return Poll::Ready(News::Receipt(ticket, rows.pop().flatten()));
                    }
                }
            }
        }
    }

    fn note(&mut self, store: StoreState) {
        if std::mem::replace(&mut self.store, store) == store {
            return;
        }
        match store {
            StoreState::Good => tracing::info!("the journal takes everything again"),
            StoreState::Short => tracing::warn!(
                "the journal is short of room: new work is refused, what was accepted is still handed over"
            ),
            StoreState::Gone => {
                tracing::error!("the journal takes nothing: new work is refused, and nothing is handed over");
            }
        }
    }

    fn restore(&mut self, rows: Vec<(Table, u64, Vec<u8>)>) -> Result<(), Spoilt> {
        let mut recovery = Recovery::new(0);
        for (table, id, row) in rows {
            recovery.take(table, id, &row)?;
        }
        self.lost = false;
        self.engine.restore(self.durable, self.store, recovery).inspect_err(|_| self.lost = true)?;
        tracing::warn!("the journal works again: everything is as it says");
        Ok(())
    }

    /// Notes an operator's word, and asks for the rows it is about. Where too many wait, or nothing can be
    /// changed now, nobody answers.
    pub(super) fn ask(&mut self, asked: Asked) {
        self.asked.retain(|_, asked| !asked.told.is_closed());
        if self.asked.len() >= MAX_ASKED || self.store() == StoreState::Gone {
            return;
        }
        self.requests += 1;
        let number = asked.number;
        self.asked.insert(self.requests, asked);
        self.ledger.read(self.requests, vec![(Table::Work, number), (Table::Content, number)]);
    }

    /// An operator's word was carried out, or not; they are told once that is on disk.
    pub(super) fn resolved(&mut self, request: u64, result: Result<Fate, Unresolved>, after: Option<Seq>) {
        let Some(Asked { told, .. }) = self.asked.remove(&request) else { return };
        if self.lost && after.is_some() {
            // Nothing was changed: who asked is told that nobody answers.
            drop(told);
            return;
        }
        self.done.push((after.unwrap_or(0), told, result));
        self.answer_operators();
    }

    /// From now on it is noted what steps say. Told once every earlier step is on disk: what the journal has then,
    /// and what is noted, are all there is.
    pub(super) fn watch(&mut self, told: oneshot::Sender<()>) {
        // What is lost does not come to be on disk.
        let after = if self.lost { 0 } else { self.engine.steps() };
        self.watch_after(after, told);
    }

    fn watch_after(&mut self, after: Seq, told: oneshot::Sender<()>) {
        if let Some(tap) = &self.tap
            && tap.is_wanted()
            && !self.engine.is_observed()
        {
            self.engine.observe(true);
        }
        self.watchers.retain(|(_, told)| !told.is_closed());
        if self.watchers.len() < MAX_ASKED {
            self.watchers.push((after, told));
        }
        self.answer_operators();
    }

    fn answer_operators(&mut self) {
        let durable = self.durable;
        for (_, told) in self.watchers.extract_if(.., |(after, _)| *after <= durable) {
            // Who asked may be gone.
            let _ = told.send(());
        }
        for (_, told, result) in self.done.extract_if(.., |(after, ..)| *after <= durable) {
            // Who asked may be gone.
            let _ = told.send(result);
        }
    }

    /// Everything ends: the last steps get to disk, if they can in time.
    pub(super) async fn end(mut self) {
        match tokio::time::timeout(LAST_STEPS, self.ledger.settle()).await {
            Ok(true) => {}
            Ok(false) | Err(_) => {
                tracing::error!(
                    "the last changes did not get to disk: what they settled is in doubt at the next start"
                );
            }
        }
    }
}

/// What the journal has to say.
pub(super) enum News {
    /// More is on disk.
    Durable,
    /// It takes this much from now on.
    Store(StoreState),
    /// The engine is as the journal says; its wishes are to be carried out.
    Restored,
    /// A receipt that was asked for, if there is one: its row.
    Receipt(u64, Option<Vec<u8>>),
    /// An operator's word, with the rows it is about.
    Word(Box<Resolve>),
}

#[cfg(test)]
mod tests;
