//! One producer's part of a journal.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};

use mcpl_policy::engine::Seq;
use mcpl_policy::journal::{Spoilt, Step, Table};

use super::desk::{ANY, Desk, Told, What};
use super::inbox::{DEAD, Inner, Request};
use super::store::{Fault, last_id};
use super::{OpenFault, Reader, Report, StoreState, batch};

/// Takes a row that is read at the start: its table, its number, its bytes.
pub type TakeLoaded<'a> = &'a mut dyn FnMut(Table, u64, &[u8]) -> Result<(), Spoilt>;

/// One producer's part of a journal: its rows, its steps, and what becomes of them.
///
/// Only [`Journal::ledger`](super::Journal::ledger) and [`Ledger::load`] block.
pub struct Ledger {
    inner: Arc<Inner>,
    desk: Arc<Desk>,
    epoch: u64,
    /// `Failed` was reported and `recover` not called since.
    down: bool,
    told: StoreState,
    unconfirmed: usize,
    last: Option<Seq>,
}

impl Ledger {
    pub(super) fn open(inner: &Arc<Inner>, name: &str) -> Result<Self, OpenFault> {
        let (to, answer) = sync_channel(1);
        inner.post(Request::Bind { name: name.to_owned(), to });
        let binding = answer.recv().unwrap_or_else(|_| Err(Fault::Broken(DEAD.to_owned())));
        let binding = binding.map_err(|fault| of(inner.file(), fault))?;
        let epoch = inner.epoch();
        let desk = inner.desk(binding, epoch).ok_or_else(|| OpenFault::Taken { name: name.to_owned() })?;
        let (told, inner) = (StoreState::Good, Arc::clone(inner));
        Ok(Self { inner, desk, epoch, down: false, told, unconfirmed: 0, last: None })
    }

    /// Reads every row, in the order of [`Table::ALL`], numbers ascending. Blocks; to be called before anything is
    /// submitted.
    ///
    /// # Errors
    /// [`OpenFault::Corrupt`] for a row that does not match its checksum, that `take` finds spoilt, or that lies in
    /// a damaged place: it names the file, the table, the number, and what can still be saved.
    pub fn load(&mut self, take: TakeLoaded<'_>) -> Result<(), OpenFault> {
        let ask = |table, from| {
            let (to, answer) = sync_channel(1);
            self.inner.post(Request::Page { binding: self.desk.binding, table, from, to });
            answer
        };
        for table in Table::ALL {
            let mut answer = ask(table, 0);
            let mut from = 0;
            loop {
                let Ok(page) = answer.recv() else {
                    return Err(OpenFault::Store { file: self.inner.file(), why: DEAD.to_owned() });
                };
                // The next rows are read while these are taken.
                let next = page.next.map(|next| ask(table, next));
                let mut start = 0;
                for &(id, end) in &page.rows {
                    take(table, id, &page.bytes[start..end]).map_err(|spoilt| self.spoilt(&spoilt))?;
                    (start, from) = (end, id + 1);
                }
                if let Some((id, why)) = page.spoilt {
                    return Err(self.spoilt(&Spoilt { table, id, why }));
                }
                match page.fault {
                    Some(Fault::Corrupt(_)) => {
                        let why = "it lies in a damaged page of the file";
                        return Err(self.spoilt(&Spoilt { table, id: from, why }));
                    }
                    Some(fault) => return Err(of(self.inner.file(), fault)),
                    None => {}
                }
                match next {
                    Some(next) => answer = next,
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// What is to be said of rows that can be read and do not fit together.
    pub fn spoilt(&self, spoilt: &Spoilt) -> OpenFault {
        let file = self.inner.file();
        let savable = savable(&file);
        OpenFault::spoilt(file, spoilt, savable)
    }

    /// Hands over a step. Numbers of steps only grow; numbers of rows are below 2^50. Never blocks.
    ///
    /// Nothing here stops a driver that submits faster than the disk takes it: it reads no more events while
    /// [`Ledger::unconfirmed_bytes`] is above its bound.
    pub fn submit(&mut self, step: Step) {
        debug_assert!(self.last.is_none_or(|last| last < step.seq), "steps are submitted in order");
        debug_assert!(step.changes.iter().all(|change| batch::highest(change) <= last_id()));
        if self.down {
            return;
        }
        self.last = Some(step.seq);
        let bytes = step.changes.iter().map(batch::size).sum::<usize>() + batch::STEP_BYTES;
        self.unconfirmed += bytes;
        self.inner.post(Request::Step { desk: Arc::clone(&self.desk), epoch: self.epoch, step, bytes });
    }

    /// Asks for rows as they are after every step submitted before; the answer is [`Report::Read`], after those steps
    /// were reported durable. If one of them fails, there is no answer. Never blocks.
    pub fn read(&mut self, token: u64, rows: Vec<(Table, u64)>) {
        if !self.down {
            let desk = Arc::clone(&self.desk);
            self.inner.post(Request::Read { desk, epoch: self.epoch, token, rows });
        }
    }

    /// After [`Report::Failed`]: asks for [`Report::Rows`]. What is submitted after this call counts again. Never
    /// blocks.
    ///
    /// The answer comes when something can be committed again, which may be after [`StoreState::Gone`]: until then
    /// there would be no use in it.
    pub fn recover(&mut self) {
        (self.down, self.unconfirmed, self.last) = (false, 0, None);
        self.epoch = self.inner.epoch();
        self.inner.post(Request::Recover { desk: Arc::clone(&self.desk), epoch: self.epoch });
    }

    /// The next report. Needs no timer: the waker is woken when there is one.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Report> {
        loop {
            let Told { epoch, what } = match self.desk.poll(self.told, cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(state)) => {
                    self.told = state;
                    return Poll::Ready(Report::State(state));
                }
                Poll::Ready(Ok(told)) => told,
            };
            if epoch != self.epoch && epoch != ANY {
                continue;
            }
            return Poll::Ready(match what {
                What::Durable(seq, bytes) => {
                    self.unconfirmed = self.unconfirmed.saturating_sub(bytes);
                    Report::Durable(seq)
                }
                What::Plain(report) => {
                    if matches!(report, Report::Failed(_)) {
                        (self.down, self.unconfirmed) = (true, 0);
                    }
                    report
                }
            });
        }
    }

    /// Bytes of changes that were submitted and are not yet durable; for a driver's bound.
    pub fn unconfirmed_bytes(&self) -> usize {
        self.unconfirmed
    }

    /// Waits until everything submitted is durable (true) or has failed (false). Other reports are dropped: this is
    /// for the end.
    pub async fn settle(&mut self) -> bool {
        while self.unconfirmed > 0 {
            if let Report::Failed(_) = poll_fn(|cx| self.poll(cx)).await {
                return false;
            }
        }
        !self.down
    }
}

/// A fault of a store that could be opened: of a damaged one, something can be saved.
fn of(file: PathBuf, fault: Fault) -> OpenFault {
    let readable = matches!(fault, Fault::Corrupt(_)).then(|| savable(&file));
    match (OpenFault::of(file, fault), readable) {
        (OpenFault::Corrupt { file, table, id, what, .. }, Some(savable)) => {
            OpenFault::Corrupt { file, table, id, what, savable }
        }
        (fault, _) => fault,
    }
}

/// What of a file can be read, in words.
fn savable(file: &Path) -> String {
    let survey = file.parent().and_then(|dir| Reader::open(dir).ok()).map(|reader| reader.survey());
    survey.map_or_else(|| "what it can read".to_owned(), |survey| survey.to_string())
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Ledger");
        out.field("binding", &self.desk.binding).field("epoch", &self.epoch);
        out.field("down", &self.down).field("unconfirmed", &self.unconfirmed).finish_non_exhaustive()
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let mut desks = self.inner.shared.desks.lock().unwrap_or_else(PoisonError::into_inner);
        desks.remove(&self.desk.binding);
    }
}
