//! Where a ledger's reports lie until they are taken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use mcpl_policy::engine::Seq;

use super::{Report, StoreState};

/// In place of an epoch: whichever runs.
pub(super) const ANY: u64 = u64::MAX;

/// One ledger's end at the commit thread.
pub(super) struct Desk {
    /// The number of its binding.
    pub(super) binding: u64,
    /// The epoch whose steps are committed; 0: none are, until the ledger recovers. Only the commit thread sets it.
    accepts: AtomicU64,
    tray: Mutex<Tray>,
}

#[derive(Default)]
struct Tray {
    /// The newest state not yet told. Beside the queue, since an older one is worth nothing.
    state: Option<StoreState>,
    queue: VecDeque<Told>,
    waker: Option<Waker>,
}

/// A report, and the epoch it is of.
pub(super) struct Told {
    pub(super) epoch: u64,
    pub(super) what: What,
}

/// What is told.
pub(super) enum What {
    /// Up to this step; how many bytes of changes that confirms.
    Durable(Seq, usize),
    /// As it is.
    Plain(Report),
}

impl Desk {
    pub(super) fn new(binding: u64, epoch: u64, state: StoreState) -> Self {
        let tray = Tray { state: Some(state), ..Tray::default() };
        Self { binding, accepts: AtomicU64::new(epoch), tray: Mutex::new(tray) }
    }

    pub(super) fn accepts(&self, epoch: u64) -> bool {
        self.accepts.load(Ordering::Relaxed) == epoch
    }

    pub(super) fn accept(&self, epoch: u64) {
        self.accepts.store(epoch, Ordering::Relaxed);
    }

    pub(super) fn durable(&self, epoch: u64, seq: Seq, bytes: usize) {
        self.put(|tray| {
            if let Some(Told { epoch: same, what: What::Durable(last, sum) }) = tray.queue.back_mut()
                && *same == epoch
            {
                (*last, *sum) = (seq, *sum + bytes);
            } else {
                tray.queue.push_back(Told { epoch, what: What::Durable(seq, bytes) });
            }
        });
    }

    /// Ends an epoch.
    pub(super) fn fail(&self, epoch: u64, why: &str) {
        self.accept(0);
        self.tell(epoch, Report::Failed(why.to_owned()));
    }

    pub(super) fn tell(&self, epoch: u64, report: Report) {
        self.put(|tray| tray.queue.push_back(Told { epoch, what: What::Plain(report) }));
    }

    pub(super) fn state(&self, state: StoreState) {
        self.put(|tray| tray.state = Some(state));
    }

    /// Takes the state if it is not the one last told, else the oldest report.
    pub(super) fn poll(&self, told: StoreState, cx: &Context<'_>) -> Poll<Result<Told, StoreState>> {
        let mut tray = self.tray();
        if let Some(state) = tray.state.take().filter(|state| *state != told) {
            return Poll::Ready(Err(state));
        }
        if let Some(told) = tray.queue.pop_front() {
            return Poll::Ready(Ok(told));
        }
        match &mut tray.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    fn put(&self, change: impl FnOnce(&mut Tray)) {
        let waker = {
            let mut tray = self.tray();
            change(&mut tray);
            tray.waker.take()
        };
        // Not under the lock: a waker may do anything, even poll.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn tray(&self) -> MutexGuard<'_, Tray> {
        self.tray.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
