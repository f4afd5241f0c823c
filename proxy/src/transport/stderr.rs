//! Our own stderr, never in anybody's way: bounded, dropped from with a count when it is not read.
//!
//! A full or dead stderr must not stop the data path (contract 3.2), and the loop that carries the data also
//! logs. So a thread of its own writes; it is started by the first byte and is nobody's to join.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that wait for stderr to be read. What would pass it is dropped, whole writes at a time.
pub const LIMIT_BYTES: usize = 1024 * 1024;

/// A handle on the queue before our stderr; cheap to clone. Writing to it never blocks and never fails, so it
/// serves as the writer of a log.
#[derive(Clone, Debug)]
pub struct Stderr {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    limit: usize,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<u8>,
    /// Until the thread has it.
    descriptor: Option<OwnedFd>,
    /// The thread has taken bytes and not written them yet.
    busy: bool,
    /// stderr failed: everything is dropped from now on.
    dead: bool,
    dropped: u64,
    /// How much of `dropped` has been said on stderr itself.
    told: u64,
}

impl Stderr {
    /// The queue before this process's stderr.
    pub fn process() -> Self {
        static PROCESS: OnceLock<Stderr> = OnceLock::new();
        PROCESS
            .get_or_init(|| {
                let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3).ok();
                Self::start(own, LIMIT_BYTES)
            })
            .clone()
    }

    /// A queue of at most `limit` bytes before `descriptor`; without one everything is dropped.
    fn start(descriptor: Option<OwnedFd>, limit: usize) -> Self {
        let queue = Mutex::new(Queue { dead: descriptor.is_none(), descriptor, ..Queue::default() });
        Self { shared: Arc::new(Shared { queue, changed: Condvar::new(), limit }) }
    }

    /// A queue before some other descriptor.
    #[cfg(test)]
    pub(crate) fn for_test(descriptor: OwnedFd, limit: usize) -> Self {
        Self::start(Some(descriptor), limit)
    }

    /// Queues `bytes` as one piece. False if they were dropped: too much waits already, or stderr is dead.
    pub fn pass(&self, bytes: &[u8]) -> bool {
        let mut queue = self.shared.lock();
        let room = queue.waiting.len() + bytes.len() <= self.shared.limit;
        if queue.dead || !room {
            queue.dropped += bytes.len() as u64;
            return false;
        }
        queue.waiting.extend_from_slice(bytes);
        if let Some(descriptor) = queue.descriptor.take() {
            let shared = self.shared.clone();
            let file = std::fs::File::from(descriptor);
            let started = std::thread::Builder::new().name("stderr".into()).spawn(move || shared.run(file));
            queue.dead = started.is_err();
        }
        drop(queue);
        self.shared.changed.notify_all();
        true
    }

    /// Bytes dropped so far.
    pub fn dropped(&self) -> u64 {
        self.shared.lock().dropped
    }

    /// Waits until everything is written, `limit` at most: the last thing a process does. True if it is.
    pub fn flush_within(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let mut queue = self.shared.lock();
        while (queue.busy || !queue.waiting.is_empty()) && !queue.dead {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.shared.changed.wait_timeout(queue, left);
            queue = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        !queue.dead
    }
}

impl Shared {
    /// Nothing panics while holding the lock, and if something did, the bytes are still bytes.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, mut file: std::fs::File) {
        let mut taken = Vec::new();
        loop {
            let mut queue = self.lock();
            queue.busy = false;
            while queue.waiting.is_empty() {
                self.changed.notify_all();
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            queue.busy = true;
            std::mem::swap(&mut queue.waiting, &mut taken);
            let lost = queue.dropped - queue.told;
            queue.told = queue.dropped;
            drop(queue);
            if lost > 0 {
                taken.extend_from_slice(format!("mcpl-sidecar: {lost} bytes of stderr dropped\n").as_bytes());
            }
            let outcome = file.write_all(&taken);
            taken.clear();
            taken.shrink_to(64 * 1024);
            if outcome.is_err() {
                let mut queue = self.lock();
                queue.dead = true;
                queue.dropped += queue.waiting.len() as u64;
                queue.waiting = Vec::new();
                drop(queue);
                self.changed.notify_all();
                return;
            }
        }
    }
}

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pass(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
