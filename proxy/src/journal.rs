//! What must outlive the process, on disk: one file and one commit thread for each state directory (contract 9).
//!
//! A [`Journal`] is a map of rows, not a log. Each producer has a [`Ledger`] of it and hands over steps; the
//! commit thread takes all that waits, merges what replaces each other, and makes one transaction of it. A step is
//! told [`Report::Durable`] only after the disk has it. Nothing here knows what a row means.
//!
//! **A failed commit** ends an epoch: none of the steps in it is on disk, and whatever the same ledger hands over
//! afterwards is dropped until [`Ledger::recover`]. **A full disk** first costs the reserve, a file kept for that
//! hour: the commit is tried again with that space and the state is [`StoreState::Short`] until a reserve could be
//! made again.
//!
//! # What is bounded by what
//!
//! | queue | bound |
//! |---|---|
//! | steps that wait | what the driver lets [`Ledger::unconfirmed_bytes`] grow to ([`UNCONFIRMED_BYTES`] is its advice) |
//! | one transaction | [`PORTION_BYTES`] and [`PORTION_STEPS`], by more than one step never |
//! | reports | `Durable` and `State` are merged; `Rows` is one for each `recover`; `Read` one for each `read` |
//! | write-ahead log | a checkpoint after 8 MiB (or an eighth of `max_bytes`), emptied when idle |
//! | the file | `max_bytes`, beyond which the state is `Short` |

pub mod account;
mod batch;
mod desk;
pub mod faulty;
mod inbox;
mod ledger;
mod memory;
pub mod offline;
mod open_fault;
mod reader;
mod reserve;
mod row;
mod scribe;
mod sqlite;
pub mod store;
mod torn;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcpl_policy::engine::Seq;
pub use mcpl_policy::engine::StoreState;
use mcpl_policy::journal::Table;
use opentelemetry::metrics::Histogram;

pub use batch::Batch;
pub use ledger::{Ledger, TakeLoaded};
pub use memory::Memory;
pub use open_fault::OpenFault;
pub use reader::{Reader, Survey, TakeScanned};
pub use store::{Fault, Store};

use inbox::Inner;
use scribe::Scribe;
use sqlite::Sqlite;

/// The name of the journal's file in a state directory.
pub const FILE: &str = "journal.db";

/// The name of the file that is given up when the disk is full.
pub const RESERVE: &str = "reserve";

/// How large that file is, bytes.
pub const RESERVE_BYTES: u64 = 16 << 20;

/// How much a driver should let wait before it reads no more events, bytes.
pub const UNCONFIRMED_BYTES: usize = 8 << 20;

/// One transaction takes no further step once it has this many bytes.
pub const PORTION_BYTES: usize = 4 << 20;

/// One transaction takes at most this many steps.
pub const PORTION_STEPS: usize = 4096;

/// How large a journal may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// `max_journal_bytes`: past it the state is [`StoreState::Short`] (contract 9.5). Free pages of the file do not
    /// count, they are used again; nor does the reserve.
    pub max_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_bytes: 2 << 30 }
    }
}

/// How long the commit thread waits before it does what nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Without work for this long, it empties the write-ahead log and gives back free pages. Under unbroken load
    /// the log is emptied after ten times as long.
    pub idle: Duration,
    /// It tries this often to make the reserve again, or to commit at all.
    pub retry: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { idle: Duration::from_secs(1), retry: Duration::from_secs(1) }
    }
}

/// What a [`Ledger`] is told.
#[derive(Debug, PartialEq, Eq)]
pub enum Report {
    /// Every step up to this one is on disk.
    Durable(Seq),
    /// Why: no step after the last `Durable` is on disk, nor will be. What is submitted from here on is dropped, and
    /// what was asked with [`Ledger::read`] stays unanswered, until [`Ledger::recover`].
    Failed(String),
    /// What may be expected of the disk from now on; nothing said is [`StoreState::Good`]. It comes before what it
    /// explains.
    State(StoreState),
    /// The answer to [`Ledger::recover`]: every row that is on disk but the receipts, in the order of
    /// [`Table::ALL`], numbers ascending.
    Rows(Vec<(Table, u64, Vec<u8>)>),
    /// The answer to [`Ledger::read`].
    Read {
        /// As it was asked.
        token: u64,
        /// One for each row asked for; `None`: there is none, or it can not be read (then [`Status::fault`] says
        /// why).
        rows: Vec<Option<Vec<u8>>>,
    },
}

/// How a journal is, for `/ready` and metrics (contract 10).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// What may be expected of the disk.
    pub state: StoreState,
    /// Size when last measured, bytes: pages in use and the write-ahead log.
    pub bytes: u64,
    /// What last went wrong, in words for an operator. It stays after the state is good again.
    pub fault: Option<String>,
    /// Transactions on disk since the start.
    pub commits: u64,
    /// Steps on disk since the start.
    pub steps: u64,
    /// How long all these transactions took.
    pub spent: Duration,
}

/// Shows how a journal is to whoever collects metrics (contract 10.2); the journal may be closed meanwhile.
#[derive(Clone)]
pub struct Gauge {
    shared: Arc<inbox::Shared>,
}

impl Gauge {
    /// How it is.
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// From now on it is told how many seconds each transaction takes; the first call counts.
    pub fn time_commits(&self, commits: Histogram<f64>) {
        let _ = self.shared.commits.set(commits);
    }
}

impl std::fmt::Debug for Gauge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gauge").field("status", &self.status()).finish()
    }
}

/// One state directory's journal. Clones are the same journal.
///
/// When the last clone and the last [`Ledger`] are dropped, what was submitted is still committed before the drop
/// returns.
#[derive(Clone)]
pub struct Journal {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens the journal of a state directory, or makes it: `journal.db` and what lies beside it, all 0600 whatever
    /// the umask. The directory is there and is ours (see [`crate::state::hold`]). On a full disk an old reserve is
    /// given up to be able to open.
    ///
    /// # Errors
    /// [`OpenFault`]: a file of an unknown version or of another program, a damaged one, or what the system said.
    pub fn open(dir: &Path, bounds: Bounds) -> Result<Self, OpenFault> {
        Self::open_paced(dir, bounds, Pace::default())
    }

    /// As [`Journal::open`], at another pace.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open_paced(dir: &Path, bounds: Bounds, pace: Pace) -> Result<Self, OpenFault> {
        Self::over(Box::new(Sqlite::open(dir, bounds)?), bounds, pace)
    }

    /// A journal that is nowhere: its steps are durable at once, on the caller's own thread.
    pub fn memory() -> Self {
        let scribe =
            Scribe::new(Box::new(Memory::default()), Bounds { max_bytes: u64::MAX }, Pace::default());
        Self { inner: Arc::new(Inner::inline(scribe)) }
    }

    /// A journal over any store, committed on a thread of its own.
    ///
    /// # Errors
    /// [`OpenFault::Io`] if the system gives no thread.
    pub fn over(store: Box<dyn Store>, bounds: Bounds, pace: Pace) -> Result<Self, OpenFault> {
        let file = store.path().map_or_else(Default::default, Path::to_owned);
        let inner = Inner::threaded(Scribe::new(store, bounds, pace));
        Ok(Self { inner: Arc::new(inner.map_err(|why| OpenFault::Io { file, why })?) })
    }

    /// One producer's part of the journal, by the producer's name; made if there is none yet. Blocks.
    ///
    /// # Errors
    /// [`OpenFault::Taken`] while another ledger of that name lives; [`OpenFault::Store`] if it cannot be made.
    pub fn ledger(&self, name: &str) -> Result<Ledger, OpenFault> {
        Ledger::open(&self.inner, name)
    }

    /// How it is.
    pub fn status(&self) -> Status {
        self.inner.shared.status()
    }

    /// What shows how it is, and keeps nothing open.
    pub fn gauge(&self) -> Gauge {
        Gauge { shared: Arc::clone(&self.inner.shared) }
    }
}

#[cfg(test)]
mod tests;
