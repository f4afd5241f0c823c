//! Where bindings leave what happened, and readers find it: the one thing that both threads touch.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use hyper::upgrade::Upgraded;
use tokio::sync::Notify;

use super::notice::{Notice, Waiting};
use super::ring::{Beyond, Ring};
use super::thread::{READERS, Thread};
use super::{JOURNAL, OBSERVATIONS, Observation, RING_BYTES, Tap};
use crate::journal::account::Past;

/// Notices that wait to be given to the readers; past it the oldest go.
const UNTOLD: usize = 4096;
/// Observations that wait for their numbers, about. To forget the oldest for them costs more than to leave them: it is
/// for the readers' thread to do, as long as that comes to it.
const INCOMING: usize = 8192;
/// So many are not left to who has the ring, but waited with until it is free.
const CROWDED: usize = 4 * INCOMING;

/// Observations that are looked through at a time.
const PORTION: usize = 4096;

/// The stream of one run of the program. Clones are the same.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
    served: Arc<Mutex<Served>>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("epoch", &self.shared.epoch).finish_non_exhaustive()
    }
}

/// What is told as it is now.
#[derive(Default)]
struct Notices {
    /// What was not given to the readers yet.
    untold: VecDeque<Notice>,
    /// The newest notice of each scope, for who comes later.
    current: Waiting,
}

impl Notices {
    fn push(&mut self, notice: Notice) {
        self.current.push(notice.clone());
        if self.untold.len() >= UNTOLD {
            self.untold.pop_front();
        }
        self.untold.push_back(notice);
    }
}

/// What the threads share.
pub(super) struct Shared {
    pub(super) epoch: String,
    /// Where the journal lies, for snapshots.
    pub(super) dir: PathBuf,
    /// What was published and has no number yet: a binding leaves it here, and who looks into the ring puts it in.
    incoming: Mutex<Vec<Observation>>,
    ring: Mutex<Ring>,
    notices: Mutex<Notices>,
    /// Somebody waits for news and was not woken yet.
    waits: AtomicBool,
    news: Notify,
    /// Somebody has come to read: from then on what happens is noted.
    wanted: AtomicBool,
    /// Readers that are served or about to be.
    pub(super) readers: AtomicUsize,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that could panic is done under a lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    /// The stream of what is in the journal of that state directory, beginning now.
    pub fn new(dir: &Path) -> Self {
        Self::bounded(dir, OBSERVATIONS, RING_BYTES)
    }

    /// The same, of which less can be replayed.
    pub fn bounded(dir: &Path, observations: usize, bytes: usize) -> Self {
        let shared = Shared {
            epoch: format!("{:016x}", rand::random::<u64>()),
            dir: dir.to_owned(),
            incoming: Mutex::default(),
            ring: Mutex::new(Ring::new(observations, bytes)),
            notices: Mutex::default(),
            waits: AtomicBool::new(false),
            news: Notify::new(),
            wanted: AtomicBool::new(false),
            readers: AtomicUsize::new(0),
        };
        Self { shared: Arc::new(shared), served: Arc::default() }
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Where a producer's binding leaves what its steps say.
    pub fn tap(&self, producer: &str) -> Tap {
        Tap::new(self.clone(), producer)
    }

    /// What is on disk is told, in this order.
    pub fn publish(&self, observations: impl Iterator<Item = Observation>) {
        let mut incoming = lock(&self.shared.incoming);
        incoming.extend(observations);
        let waiting = incoming.len();
        drop(incoming);
        if waiting >= INCOMING {
            // Nobody has come to do it.
            self.shared.make_room(waiting);
        }
        self.shared.wake();
    }

    /// Tells a notice to the readers there are.
    pub fn notify(&self, notice: Notice) {
        lock(&self.shared.notices).push(notice);
        self.shared.wake();
    }

    /// Somebody reads, or is about to: notices are of use.
    pub fn is_watched(&self) -> bool {
        self.shared.readers.load(Ordering::Relaxed) > 0
    }

    /// What can still be replayed of one occurrence, in words, oldest first.
    pub fn history(&self, producer: &str, number: u64) -> Vec<Past> {
        let (mut after, until, mut found) = (0, self.shared.last(), Vec::new());
        // In portions: who pushes waits no longer than for one of them.
        loop {
            let (from, some) = self.shared.rest(after, until, PORTION);
            if some.is_empty() {
                return found;
            }
            after = from + some.len() as u64;
            let of_it = some.iter().filter(|one| one.seen.number == number && *one.producer == *producer);
            found.extend(of_it.map(|one| one.past()));
        }
    }

    /// Serves a reader on a connection that has become a WebSocket.
    pub(crate) fn receive(&self, upgraded: Upgraded, pass: Pass) {
        let mut served = lock(&self.served);
        if matches!(*served, Served::NotYet) {
            match Thread::start(&self.shared) {
                Ok(started) => *served = Served::By(started),
                Err(error) => tracing::error!(%error, "there is no thread to serve the event stream on"),
            }
        }
        if let Served::By(thread) = &*served {
            thread.serve(upgraded, pass);
        }
    }

    /// Somebody has come to read since the program started: bindings are to note what their steps say. Until then
    /// it costs them nothing.
    pub fn is_wanted(&self) -> bool {
        self.shared.wanted.load(Ordering::Relaxed)
    }

    /// Counts a reader in, until the pass is dropped; `None`: there are as many as are served.
    pub(crate) fn admit(&self) -> Option<Pass> {
        let count = self.shared.readers.fetch_add(1, Ordering::Relaxed);
        let pass = Pass(Arc::clone(&self.shared));
        self.shared.wanted.store(true, Ordering::Relaxed);
        (count < READERS).then_some(pass)
    }

    /// Ends every reader, told that the program goes. Waits until they are gone, for a moment at most.
    pub async fn end(&self) {
        let served = std::mem::replace(&mut *lock(&self.served), Served::NoMore);
        if let Served::By(thread) = served {
            thread.end().await;
        }
    }
}

/// Whether readers are served.
#[derive(Debug, Default)]
enum Served {
    /// None has come.
    #[default]
    NotYet,
    By(Thread),
    /// The program ends: who comes now is closed.
    NoMore,
}

/// The place of one reader.
pub(crate) struct Pass(Arc<Shared>);

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    /// The full name of the stream of observations.
    pub(super) fn journal(&self) -> String {
        format!("{JOURNAL}@{}", self.epoch)
    }

    fn wake(&self) {
        // Mostly nobody waits, which costs one look.
        if self.waits.load(Ordering::Acquire) && self.waits.swap(false, Ordering::AcqRel) {
            self.news.notify_one();
        }
    }

    /// Waits until there is something after number `after`, or a notice.
    pub(super) async fn news(&self, after: u64) {
        loop {
            self.waits.store(true, Ordering::Release);
            // Looked at after it was said that somebody waits, so that nothing is missed in between.
            if self.last() > after || !lock(&self.notices).untold.is_empty() {
                self.waits.store(false, Ordering::Release);
                return;
            }
            self.news.notified().await;
        }
    }

    /// The ring, with all that was published.
    pub(super) fn ring(&self) -> MutexGuard<'_, Ring> {
        self.filled(lock(&self.ring))
    }

    fn filled<'a>(&self, mut ring: MutexGuard<'a, Ring>) -> MutexGuard<'a, Ring> {
        // In this order, so that nothing overtakes: who has the ring takes what there is.
        ring.swap(&mut lock(&self.incoming));
        ring.take();
        ring
    }

    /// Puts what was published into the ring. Who has that just now may be a thread that gives way, and is not waited
    /// for while it can be left to the next one.
    fn make_room(&self, waiting: usize) {
        match self.ring.try_lock() {
            Err(TryLockError::WouldBlock) if waiting < CROWDED => {}
            Err(TryLockError::WouldBlock) => drop(self.ring()),
            Err(TryLockError::Poisoned(ring)) => drop(self.filled(ring.into_inner())),
            Ok(ring) => drop(self.filled(ring)),
        }
    }

    #[cfg(test)]
    pub(super) fn incoming(&self) -> usize {
        lock(&self.incoming).len()
    }

    pub(super) fn last(&self) -> u64 {
        self.ring().last()
    }

    pub(super) fn first(&self) -> u64 {
        self.ring().first()
    }

    pub(super) fn read(&self, after: u64, until: u64, most: usize) -> Result<Vec<Arc<Observation>>, Beyond> {
        self.ring().read(after, until, most)
    }

    fn rest(&self, after: u64, until: u64, most: usize) -> (u64, Vec<Arc<Observation>>) {
        self.ring().rest(after, until, most)
    }

    /// Notices that were not given to anybody yet.
    pub(super) fn untold(&self) -> Vec<Notice> {
        lock(&self.notices).untold.drain(..).collect()
    }

    /// The same, and how everything is with them, for who has just come.
    pub(super) fn notices(&self) -> (Vec<Notice>, Vec<Notice>) {
        let mut notices = lock(&self.notices);
        (notices.untold.drain(..).collect(), notices.current.iter().cloned().collect())
    }
}
