//! The commit thread's work: what waits becomes transactions, and a store in need is looked after.

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use mcpl_policy::journal::Table;

use super::batch::Made;
use super::desk::Desk;
use super::inbox::{Page, Request, Shared};
use super::store::{Fault, Rest, Store};
use super::{Bounds, PORTION_BYTES, PORTION_STEPS, Pace, Report, StoreState};

mod portion;

use portion::Portion;

/// So many bytes of rows are read at a time.
const PAGE_BYTES: usize = 256 << 10;

/// Under unbroken load the log is emptied after so many times the idle time.
const UNBROKEN: u32 = 10;

/// A store, and what is waiting to be done with it.
pub(super) struct Scribe {
    store: Box<dyn Store>,
    bounds: Bounds,
    pace: Pace,
    state: StoreState,
    /// There is a reserve.
    reserve: bool,
    /// It is larger than it may be.
    over: bool,
    /// Nothing can be committed.
    gone: bool,
    /// Commits that failed since one went well.
    failures: u32,
    /// Bytes committed since the size was measured.
    unmeasured: u64,
    /// When to try again what failed.
    retry: Option<Instant>,
    /// When to rest.
    rest: Option<Instant>,
    /// Since when the log has not been emptied.
    since: Option<Instant>,
    portion: Portion,
    /// Ledgers that wait for their rows until something can be committed.
    recovering: Vec<(Arc<Desk>, u64)>,
}

impl Scribe {
    pub(super) fn new(store: Box<dyn Store>, bounds: Bounds, pace: Pace) -> Self {
        Self {
            store,
            bounds,
            pace,
            state: StoreState::Good,
            reserve: true,
            over: false,
            gone: false,
            failures: 0,
            unmeasured: 0,
            retry: None,
            rest: None,
            since: None,
            portion: Portion::default(),
            recovering: Vec::new(),
        }
    }

    /// The store's file; empty if it has none.
    pub(super) fn file(&self) -> PathBuf {
        self.store.path().map(Path::to_owned).unwrap_or_default()
    }

    /// Looks at the store for the first time.
    pub(super) fn start(&mut self, shared: &Shared) {
        let now = Instant::now();
        self.reserve = self.store.make_reserve();
        if !self.reserve {
            tracing::warn!(
                "the disk is nearly full: new events are answered `unavailable` until there is space"
            );
            self.retry = Some(now + self.pace.retry);
        }
        // A log that an earlier run left is emptied when there is time.
        self.rest = Some(now + self.pace.idle);
        self.measure(shared);
        self.publish(shared);
    }

    /// When there is something to do that nobody asks for.
    pub(super) fn due(&self) -> Option<Instant> {
        match (self.retry, self.rest) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Serves all requests, in order.
    pub(super) fn work(&mut self, shared: &Shared, requests: &mut Vec<Request>) {
        for request in requests.drain(..) {
            match request {
                Request::Step { desk, epoch, step, bytes } => {
                    if !desk.accepts(epoch) {
                        continue;
                    }
                    if self.gone {
                        desk.fail(epoch, &fault(shared));
                        continue;
                    }
                    self.portion.part(&desk, epoch, step.seq, bytes);
                    for change in step.changes {
                        self.portion.batch.add(desk.binding, change);
                    }
                    if self.portion.steps >= PORTION_STEPS || self.portion.batch.bytes() >= PORTION_BYTES {
                        self.commit(shared);
                    }
                }
                Request::Read { desk, epoch, token, rows } => {
                    if desk.accepts(epoch) {
                        self.answer(shared, &desk, epoch, token, &rows);
                    }
                }
                Request::Recover { desk, epoch } => {
                    self.commit(shared);
                    self.recovering.push((desk, epoch));
                    self.recover(shared);
                }
                Request::Bind { name, to } => {
                    self.commit(shared);
                    let mut number = self.store.binding(&name);
                    if matches!(number, Err(Fault::Full(_))) && self.give_up_reserve() {
                        number = self.store.binding(&name);
                    }
                    self.publish(shared);
                    let _ = to.send(number);
                }
                Request::Page { binding, table, from, to } => {
                    self.commit(shared);
                    let _ = to.send(self.page(binding, table, from));
                }
            }
        }
        self.commit(shared);
    }

    /// Does what is due.
    pub(super) fn tick(&mut self, shared: &Shared, now: Instant) {
        if self.retry.is_some_and(|at| at <= now) {
            self.retry = None;
            self.try_again(shared, now);
        }
        let unbroken = self.since.is_some_and(|since| since + self.pace.idle * UNBROKEN <= now);
        if self.rest.is_some_and(|at| at <= now) || unbroken {
            self.take_rest(shared, now, unbroken);
        }
    }

    /// Makes one transaction of what was collected and tells whose it was. A state is told before what it explains.
    fn commit(&mut self, shared: &Shared) {
        if self.portion.is_empty() {
            return;
        }
        let portion = mem::take(&mut self.portion);
        let started = Instant::now();
        let mut done = self.store.commit(&portion.batch);
        if let Err(Fault::Full(why)) = &done {
            let why = why.clone();
            if self.give_up_reserve() {
                note(shared, &why);
                done = self.store.commit(&portion.batch);
            }
        }
        match done {
            Ok(()) => {
                self.failures = 0;
                let now = Instant::now();
                count(shared, portion.steps, now - started);
                self.publish(shared);
                let bytes = portion.batch.bytes() as u64;
                portion.durable();
                self.kept(shared, bytes, now);
            }
            Err(why) => {
                self.failed(shared, &why);
                self.publish(shared);
                portion.fail(&why.to_string());
            }
        }
    }

    /// After a commit, when nobody waits for it.
    fn kept(&mut self, shared: &Shared, bytes: u64, now: Instant) {
        if let Err(why) = self.store.upkeep() {
            note(shared, &why.to_string());
        }
        self.rest = Some(now + self.pace.idle);
        self.since.get_or_insert(now);
        self.unmeasured += bytes;
        if self.unmeasured >= (self.bounds.max_bytes / 64).clamp(4 << 10, 4 << 20) {
            self.measure(shared);
            self.publish(shared);
        }
    }

    /// After a commit that failed. A failed commit may have left bytes behind that a kill would bring back to life;
    /// the probe is what buries them, so nothing goes on before one went well.
    fn failed(&mut self, shared: &Shared, why: &Fault) {
        self.failures += 1;
        note(shared, &why.to_string());
        tracing::error!("nothing can be written to the journal: {why}");
        // One that fails again and again is not tried without a pause.
        if self.failures > 1 || self.store.probe().is_err() {
            self.gone = true;
            self.retry = Some(Instant::now() + self.pace.retry);
        }
    }

    /// Tries to commit, and to make the reserve.
    fn try_again(&mut self, shared: &Shared, now: Instant) {
        if self.gone {
            match self.store.probe() {
                Ok(()) => {
                    tracing::info!("the journal can be written again");
                    self.gone = false;
                }
                Err(why) => note(shared, &why.to_string()),
            }
        }
        if !self.gone && !self.reserve {
            // What the log holds twice may be just what is missing.
            let _ = self.store.rest(true);
            self.reserve = self.store.make_reserve();
            if self.reserve {
                tracing::info!("there is space on the disk again");
            }
        }
        if self.gone || !self.reserve {
            self.retry = Some(now + self.pace.retry);
        }
        self.publish(shared);
        self.recover(shared);
    }

    fn give_up_reserve(&mut self) -> bool {
        let given = self.store.give_up_reserve();
        if given {
            tracing::warn!("the disk is full: the reserve is used; new events are answered `unavailable`");
            self.reserve = false;
            self.retry.get_or_insert(Instant::now() + self.pace.retry);
        }
        given
    }

    /// A portion of what is done without haste.
    fn take_rest(&mut self, shared: &Shared, now: Instant, hurried: bool) {
        let rest = self.store.rest(hurried);
        if let Err(why) = &rest {
            note(shared, &why.to_string());
        }
        self.rest = match rest {
            Ok(Rest::More) => Some(now),
            Ok(Rest::Done) => None,
            Ok(Rest::Later) | Err(_) => Some(now + self.pace.idle),
        };
        self.since = match rest {
            Ok(_) => None,
            // Not at every turn.
            Err(_) => self.since.map(|_| now),
        };
        self.measure(shared);
        self.publish(shared);
    }

    fn measure(&mut self, shared: &Shared) {
        self.unmeasured = 0;
        match self.store.size() {
            Ok(bytes) => {
                let max = self.bounds.max_bytes;
                // Once over it, not at every row below it good again.
                self.over = bytes > if self.over { max - max / 16 } else { max };
                shared.status.lock().unwrap_or_else(PoisonError::into_inner).bytes = bytes;
            }
            Err(why) => note(shared, &why.to_string()),
        }
    }

    fn publish(&mut self, shared: &Shared) {
        let state = match (self.gone, self.reserve && !self.over) {
            (true, _) => StoreState::Gone,
            (false, false) => StoreState::Short,
            (false, true) => StoreState::Good,
        };
        if state != self.state {
            self.state = state;
            shared.publish(state);
        }
    }

    /// Gives their rows to those that recover, if something can be committed.
    fn recover(&mut self, shared: &Shared) {
        if self.gone {
            return;
        }
        for (desk, epoch) in mem::take(&mut self.recovering) {
            match self.rows(desk.binding) {
                Ok(rows) => {
                    desk.accept(epoch);
                    desk.tell(epoch, Report::Rows(rows));
                }
                Err(why) => {
                    note(shared, &why.to_string());
                    desk.fail(epoch, &why.to_string());
                }
            }
        }
    }

    fn rows(&mut self, binding: u64) -> Result<Vec<(Table, u64, Vec<u8>)>, Fault> {
        let mut rows = Vec::new();
        for table in Table::ALL.into_iter().filter(|table| *table != Table::Receipt) {
            let mut spoilt = None;
            let mut take = |id, row: Result<&[u8], &'static str>| match row {
                Ok(row) => rows.push((table, id, row.to_vec())),
                Err(why) => spoilt = Some(format!("row {id} of `{}` cannot be read: {why}", table.as_str())),
            };
            self.store.page(binding, table, 0, usize::MAX, &mut take)?;
            if let Some(why) = spoilt {
                return Err(Fault::Corrupt(why));
            }
        }
        Ok(rows)
    }

    fn page(&mut self, binding: u64, table: Table, from: u64) -> Page {
        let mut page = Page::default();
        let Page { rows, bytes, spoilt, .. } = &mut page;
        let mut take = |id, row: Result<&[u8], &'static str>| match row {
            // After one that cannot be read, none is of use.
            _ if spoilt.is_some() => {}
            Err(why) => *spoilt = Some((id, why)),
            Ok(row) => {
                bytes.extend_from_slice(row);
                rows.push((id, bytes.len()));
            }
        };
        match self.store.page(binding, table, from, PAGE_BYTES, &mut take) {
            Ok(next) => page.next = next,
            Err(fault) => page.fault = Some(fault),
        }
        page
    }

    /// Reads rows as they are with what was collected so far.
    fn answer(&mut self, shared: &Shared, desk: &Arc<Desk>, epoch: u64, token: u64, rows: &[(Table, u64)]) {
        let mut found = Vec::with_capacity(rows.len());
        for &(table, id) in rows {
            found.push(match self.portion.batch.row(desk.binding, table, id) {
                Made::Row(row) => Some(row.to_vec()),
                Made::Gone => None,
                Made::Nothing => self.store.read(desk.binding, table, id).unwrap_or_else(|why| {
                    note(shared, &why.to_string());
                    None
                }),
            });
        }
        let report = Report::Read { token, rows: found };
        if let Err(report) = self.portion.hold(desk, report) {
            desk.tell(epoch, report);
        }
    }
}

fn count(shared: &Shared, steps: usize, spent: Duration) {
    if let Some(commits) = shared.commits.get() {
        commits.record(spent.as_secs_f64(), &[]);
    }
    let mut status = shared.status.lock().unwrap_or_else(PoisonError::into_inner);
    status.commits += 1;
    status.steps += steps as u64;
    status.spent += spent;
}

/// Keeps what went wrong for whoever asks.
fn note(shared: &Shared, why: &str) {
    shared.status.lock().unwrap_or_else(PoisonError::into_inner).fault = Some(why.to_owned());
}

fn fault(shared: &Shared) -> String {
    let status = shared.status.lock().unwrap_or_else(PoisonError::into_inner);
    status.fault.clone().unwrap_or_else(|| "nothing can be written to the journal".to_owned())
}
