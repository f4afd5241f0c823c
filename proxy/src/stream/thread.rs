//! The thread that serves the readers.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use mcpl_codec::Line;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, LocalSet};

use super::batch::{BATCH_EVENTS, Batches};
use super::frame::Reason;
use super::hub::{Pass, Shared};
use super::notice::Notice;
use super::priority;
use super::reader::{Post, Reader};
use super::ring::Beyond;

/// Readers at a time; one more is answered 503.
pub const READERS: usize = 64;
/// Parts of snapshots that are read at a time.
const SNAPSHOTS: usize = 2;
/// What its threads are called.
const NAME: &str = "stream";
/// News are told at most this often: readers that are in step are then told the same, which is written once.
const PACE: Duration = Duration::from_millis(20);
/// How long the last words to the readers may take.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A connection that has become a WebSocket.
type Visitor = (Upgraded, Pass);

/// The thread, as the others see it.
#[derive(Debug)]
pub(super) struct Thread {
    visitors: mpsc::Sender<Visitor>,
    thread: std::thread::JoinHandle<()>,
}

impl Thread {
    pub(super) fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let (visitors, come) = mpsc::channel(READERS);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(SNAPSHOTS)
            .thread_name(NAME)
            .build()?;
        let shared = Arc::clone(shared);
        let thread = std::thread::Builder::new().name(NAME.to_owned()).spawn(move || {
            priority::lower();
            LocalSet::new().block_on(&runtime, serve(shared, come));
            // A snapshot that is being read is nobody's any more.
            runtime.shutdown_background();
        })?;
        Ok(Self { visitors, thread })
    }

    pub(super) fn serve(&self, upgraded: Upgraded, pass: Pass) {
        // There are never more than have a pass.
        let _ = self.visitors.try_send((upgraded, pass));
    }

    /// Tells every reader, and waits until they are gone.
    pub(super) async fn end(self) {
        let Self { visitors, thread } = self;
        drop(visitors);
        // It ends by itself, in time; if it does not, so does the process.
        let joined = tokio::task::spawn_blocking(move || drop(thread.join()));
        let _ = tokio::time::timeout(2 * LAST_WORDS, joined).await;
    }
}

/// What the readers of the thread share.
pub(super) struct Board {
    shared: Arc<Shared>,
    /// The newest observation that is told.
    tip: Cell<u64>,
    ending: Cell<bool>,
    batches: RefCell<Batches>,
    posts: RefCell<Vec<Weak<Post>>>,
    notices: Cell<u64>,
}

impl Board {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let batches = RefCell::new(Batches::new(&shared.journal(), &shared.epoch));
        let tip = Cell::new(shared.last());
        Self {
            shared,
            tip,
            ending: Cell::new(false),
            batches,
            posts: RefCell::default(),
            notices: Cell::new(0),
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn tip(&self) -> u64 {
        self.tip.get()
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending.get()
    }

    /// The batch of what follows number `after` and ends at number `end`, or sooner; and its last number.
    pub(super) fn batch(&self, reason: Reason, after: u64, end: u64) -> Result<(Line, u64), Beyond> {
        let mut batches = self.batches.borrow_mut();
        // What one reader was sent is not looked for again for the others.
        if let Some(known) = batches.known(reason, after, end) {
            return Ok(known);
        }
        Ok(batches.make(reason, after, &self.shared.read(after, end, BATCH_EVENTS)?))
    }

    /// The id of one more notice.
    pub(super) fn notice_id(&self) -> String {
        self.notices.set(self.notices.get() + 1);
        format!("{}-n{}", self.shared.epoch, self.notices.get())
    }

    pub(super) fn join(&self, post: &Rc<Post>) {
        let mut posts = self.posts.borrow_mut();
        posts.retain(|post| post.strong_count() > 0);
        posts.push(Rc::downgrade(post));
    }

    /// Everybody is told what there is by now.
    pub(super) fn tell(&self) {
        self.spread(&self.shared.untold());
    }

    /// The same. What is told of as it is now, for who has just come: nothing of it is told again.
    pub(super) fn tell_who_comes(&self) -> Vec<Notice> {
        let (untold, current) = self.shared.notices();
        self.spread(&untold);
        current
    }

    fn spread(&self, untold: &[Notice]) {
        self.tip.set(self.shared.last());
        for post in self.posts.borrow().iter().filter_map(Weak::upgrade) {
            post.tell(untold);
        }
    }
}

async fn serve(shared: Arc<Shared>, mut come: mpsc::Receiver<Visitor>) {
    let board = Rc::new(Board::new(shared));
    let mut readers = JoinSet::new();
    let told = Rc::clone(&board);
    let teller = tokio::task::spawn_local(async move {
        loop {
            told.shared.news(told.tip()).await;
            told.tell();
            tokio::time::sleep(PACE).await;
        }
    });
    loop {
        tokio::select! {
            biased;
            Some(_) = readers.join_next() => {}
            visitor = come.recv() => match visitor {
                Some((upgraded, pass)) => {
                    let reader = Reader::new(TokioIo::new(upgraded), Rc::clone(&board));
                    readers.spawn_local(async move {
                        reader.serve().await;
                        drop(pass);
                    });
                }
                None => break,
            },
        }
    }
    teller.abort();
    board.ending.set(true);
    board.tell();
    // Who does not listen is cut off.
    let _ = tokio::time::timeout(LAST_WORDS, async { while readers.join_next().await.is_some() {} }).await;
}
