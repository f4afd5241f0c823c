//! What waits for the commit thread, and the thread.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mcpl_policy::journal::{Step, Table};
use opentelemetry::metrics::Histogram;

use super::desk::{ANY, Desk};
use super::scribe::Scribe;
use super::store::Fault;
use super::{Status, StoreState};

/// What a ledger asks of the commit thread; served in order.
pub(super) enum Request {
    /// The number of a binding.
    Bind { name: String, to: SyncSender<Result<u64, Fault>> },
    /// Some rows of a table, from a number on.
    Page { binding: u64, table: Table, from: u64, to: SyncSender<Page> },
    /// A step of an epoch, and what its changes count for, bytes.
    Step { desk: Arc<Desk>, epoch: u64, step: Step, bytes: usize },
    /// Rows, as they are after every step before this.
    Read { desk: Arc<Desk>, epoch: u64, token: u64, rows: Vec<(Table, u64)> },
    /// All rows but receipts, and a new epoch.
    Recover { desk: Arc<Desk>, epoch: u64 },
}

/// Some rows of a table.
#[derive(Default)]
pub(super) struct Page {
    /// Numbers, and where in `bytes` each row ends.
    pub(super) rows: Vec<(u64, usize)>,
    pub(super) bytes: Vec<u8>,
    /// The row after these cannot be read, and why.
    pub(super) spoilt: Option<(u64, &'static str)>,
    /// Nothing after these can be read.
    pub(super) fault: Option<Fault>,
    /// The number to go on with.
    pub(super) next: Option<u64>,
}

/// What a journal's handles and its commit thread share.
#[derive(Default)]
pub(super) struct Shared {
    inbox: Mutex<Inbox>,
    /// Something is in the inbox, seen without its lock: a hint.
    posted: AtomicBool,
    bell: Condvar,
    pub(super) status: Mutex<Status>,
    /// Told how long each transaction takes, where somebody wants to know.
    pub(super) commits: OnceLock<Histogram<f64>>,
    /// The desks of living ledgers, by binding.
    pub(super) desks: Mutex<HashMap<u64, Arc<Desk>>>,
}

#[derive(Default)]
struct Inbox {
    requests: Vec<Request>,
    /// The thread waits for the bell.
    asleep: bool,
    closed: bool,
    /// The thread has panicked: nothing is served any more.
    dead: bool,
}

impl Shared {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the journal is.
    pub(super) fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells every ledger, and whoever asks for the status.
    pub(super) fn publish(&self, state: StoreState) {
        let desks: Vec<_> = {
            let desks = self.desks.lock().unwrap_or_else(PoisonError::into_inner);
            self.status.lock().unwrap_or_else(PoisonError::into_inner).state = state;
            desks.values().cloned().collect()
        };
        for desk in desks {
            desk.state(state);
        }
    }
}

/// A journal's commit thread, or the commit thread's work done by whoever asks.
pub(super) struct Inner {
    pub(super) shared: Arc<Shared>,
    inline: Option<Mutex<Scribe>>,
    thread: Option<JoinHandle<()>>,
    epochs: AtomicU64,
    file: PathBuf,
}

impl Inner {
    /// Each request is served before `post` returns. Only for a store that never blocks nor fails.
    pub(super) fn inline(scribe: Scribe) -> Self {
        let (file, inline) = (scribe.file(), Some(Mutex::new(scribe)));
        Self { shared: Arc::default(), inline, thread: None, epochs: AtomicU64::new(1), file }
    }

    /// Requests are served by a new thread.
    pub(super) fn threaded(mut scribe: Scribe) -> io::Result<Self> {
        let (file, shared) = (scribe.file(), Arc::<Shared>::default());
        scribe.start(&shared);
        let theirs = Arc::clone(&shared);
        let thread =
            thread::Builder::new().name("journal".to_owned()).spawn(move || serve(&theirs, scribe))?;
        Ok(Self { shared, inline: None, thread: Some(thread), epochs: AtomicU64::new(1), file })
    }

    /// A number that no epoch has had.
    pub(super) fn epoch(&self) -> u64 {
        self.epochs.fetch_add(1, Ordering::Relaxed)
    }

    /// The store's file; empty if it has none.
    pub(super) fn file(&self) -> PathBuf {
        self.file.clone()
    }

    /// The desk of a new ledger, unless the binding has one.
    pub(super) fn desk(&self, binding: u64, epoch: u64) -> Option<Arc<Desk>> {
        let mut desks = self.shared.desks.lock().unwrap_or_else(PoisonError::into_inner);
        if desks.contains_key(&binding) {
            return None;
        }
        // Under the lock of the desks, so that no change of state falls between.
        let state = self.shared.status.lock().unwrap_or_else(PoisonError::into_inner).state;
        let desk = Arc::new(Desk::new(binding, epoch, state));
        desks.insert(binding, Arc::clone(&desk));
        Some(desk)
    }

    /// Asks. A request of a thread that has ended is dropped; the desks have been told.
    pub(super) fn post(&self, request: Request) {
        let mut inbox = self.shared.inbox();
        if inbox.dead {
            refuse(request);
            return;
        }
        inbox.requests.push(request);
        self.shared.posted.store(true, Ordering::Relaxed);
        let wake = std::mem::take(&mut inbox.asleep);
        drop(inbox);
        if let Some(scribe) = &self.inline {
            let mut scribe = scribe.lock().unwrap_or_else(PoisonError::into_inner);
            let mut requests = std::mem::take(&mut self.shared.inbox().requests);
            scribe.work(&self.shared, &mut requests);
        } else if wake {
            self.shared.bell.notify_one();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut inbox = self.shared.inbox();
        inbox.closed = true;
        self.shared.posted.store(true, Ordering::Relaxed);
        inbox.asleep = false;
        drop(inbox);
        self.shared.bell.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Says to the asker that the thread is no more.
fn refuse(request: Request) {
    match request {
        Request::Step { desk, epoch, .. } | Request::Read { desk, epoch, .. } => {
            if desk.accepts(epoch) {
                desk.fail(epoch, DEAD);
            }
        }
        // No rows will ever come, as while nothing can be committed; but what is asked from now on is refused.
        Request::Recover { desk, epoch } => desk.accept(epoch),
        // Dropping the sender is the answer.
        Request::Bind { .. } | Request::Page { .. } => {}
    }
}

/// What is said of a commit thread that has panicked.
pub(super) const DEAD: &str = "the commit thread has ended unexpectedly; restart the program";

/// So long after little work the commit thread looks for more before it sleeps. Who sends one event after the other
/// waits each time for it to be woken, which may take half as long as the disk does.
const AWAKE: Duration = Duration::from_micros(100);

/// After more requests than this at once it is not the waking that takes the time.
const LITTLE: usize = 16;

/// Waits for a request without sleeping, and lets others run meanwhile.
fn linger(shared: &Shared) {
    let start = Instant::now();
    while !shared.posted.load(Ordering::Relaxed) && start.elapsed() < AWAKE {
        thread::yield_now();
    }
}

/// The commit thread.
fn serve(shared: &Arc<Shared>, mut scribe: Scribe) {
    let end = End(shared);
    let mut requests = Vec::new();
    let mut little = false;
    loop {
        let due = scribe.due();
        if little {
            linger(shared);
        }
        let mut inbox = shared.inbox();
        while inbox.requests.is_empty() && !inbox.closed {
            inbox.asleep = true;
            let Some(due) = due else {
                inbox = shared.bell.wait(inbox).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            inbox = shared.bell.wait_timeout(inbox, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        inbox.asleep = false;
        shared.posted.store(false, Ordering::Relaxed);
        std::mem::swap(&mut inbox.requests, &mut requests);
        little = (1..=LITTLE).contains(&requests.len());
        let ended = inbox.closed && requests.is_empty();
        drop(inbox);
        if ended {
            break;
        }
        scribe.work(shared, &mut requests);
        scribe.tick(shared, Instant::now());
    }
    drop(scribe);
    drop(end);
}

/// However the thread ends, nobody waits for it for ever.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut inbox = self.0.inbox();
        inbox.dead = true;
        let requests = std::mem::take(&mut inbox.requests);
        let closed = inbox.closed;
        drop(inbox);
        drop(requests);
        if closed {
            return;
        }
        self.0.status.lock().unwrap_or_else(PoisonError::into_inner).fault = Some(DEAD.to_owned());
        self.0.publish(StoreState::Gone);
        for desk in self.0.desks.lock().unwrap_or_else(PoisonError::into_inner).values() {
            desk.fail(ANY, DEAD);
        }
    }
}
