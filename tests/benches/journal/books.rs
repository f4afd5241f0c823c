//! An engine and its journal, without the program around them: for journals that no session would fill in time.

use std::fs;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use bytes::Bytes;
use mcpl_codec::{Digest, Event};
use mcpl_policy::admission::FeatureSets;
use mcpl_policy::engine::{Arrival, GrantFact, Host, Recovery, Stance, Ticket};
use mcpl_policy::profile::Dedup;
use mcpl_policy::{Engine, Input, Now, Output, Settings};
use mcpl_sidecar::journal::{self, Bounds, Journal, Ledger, Report, UNCONFIRMED_BYTES};
use rusqlite::{Connection, OpenFlags};

use crate::event::Spelled;

/// The producer's name, as the program is configured.
const NAME: &str = "bench";

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The engine, its journal, and a clock that goes as it is told.
pub(crate) struct Books {
    engine: Engine,
    ledger: Ledger,
    journal: Journal,
    waker: Waker,
    now_ms: u64,
    event: Spelled,
}

impl Books {
    /// A new journal, and an engine that holds what it is told without releasing it.
    pub(crate) fn open(state: &Path) -> Self {
        fs::create_dir_all(state).expect("a folder");
        let journal = Journal::open(state, Bounds { max_bytes: 64 << 30 }).expect("a journal");
        let ledger = journal.ledger(NAME).expect("a ledger");
        let mut settings = Settings::default();
        settings.coalesce.quiet_ms = u64::MAX / 4;
        settings.coalesce.max_hold_ms = u64::MAX / 4;
        let engine = Engine::recover(settings, 0, Recovery::new(7)).expect("an engine");
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut books = Self { engine, ledger, journal, waker, now_ms: 1, event: Spelled::new() };
        let declared =
            r#"{"capabilities":{"experimental":{"mcpl":{"featureSets":{"doc":{"uses":["pushEvents"]}}}}}}"#;
        let grant = r#"{"enabled":["doc"],"effectiveCapabilities":["pushEvents"]}"#;
        let host = Host {
            stance: Stance::Over,
            max_content_bytes: None,
            dedup: Dedup::Both,
            enforces_policy: true,
            dies_of_malformed: false,
        };
        for fact in [
            Input::Began(host),
            Input::Declared(FeatureSets::of(declared.as_bytes())),
            Input::Grant(GrantFact::Requested(1, Bytes::from(grant))),
            Input::Grant(GrantFact::Answered { request: 1, accepted: true }),
        ] {
            books.tell(fact);
        }
        books
    }

    pub(crate) fn pass_ms(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    /// Receipts that are remembered.
    pub(crate) fn receipts(&self) -> u64 {
        self.engine.load().receipts as u64
    }

    /// Event `number`, about `subject`, is accepted.
    pub(crate) fn admit(&mut self, subject: u64, number: u64) {
        let event = Event::push(Bytes::copy_from_slice(self.event.params(number, subject)));
        let digest = Some(Digest(u128::from(number) * 0x9e37_79b9_7f4a_7c15));
        self.tell(Input::Event(Arrival {
            ticket: Ticket(number),
            answerable: true,
            event,
            digest,
            thread: None,
        }));
    }

    fn tell(&mut self, input: Input) {
        let is_event = matches!(input, Input::Event(_));
        self.engine.handle(Now::at(self.now_ms), input);
        let mut steps = 0;
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Step(step) => {
                    steps += 1;
                    self.ledger.submit(step);
                }
                Output::Answer { after: Some(_), .. } | Output::Ended { .. } => {}
                other => panic!("it is not held: {other:?}"),
            }
        }
        assert_eq!(steps, u32::from(is_event), "an event is one step");
        loop {
            match self.ledger.poll(&mut Context::from_waker(&self.waker)) {
                Poll::Ready(Report::Durable(seq)) => self.engine.durable(seq),
                Poll::Ready(report) => assert!(matches!(report, Report::State(_)), "{report:?}"),
                Poll::Pending if self.ledger.unconfirmed_bytes() < UNCONFIRMED_BYTES => return,
                Poll::Pending => thread::park(),
            }
        }
    }

    /// Everything gets to disk, and the file is closed, which empties the log into it.
    pub(crate) fn close(self) {
        let Self { mut ledger, journal, waker, .. } = self;
        {
            let mut settling = pin!(ledger.settle());
            while settling.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                thread::park();
            }
        }
        drop((ledger, journal));
    }
}

/// Bytes of the journal's files.
pub(crate) fn files(state: &Path) -> u64 {
    let length =
        |end: &str| fs::metadata(state.join(format!("{}{end}", journal::FILE))).map_or(0, |meta| meta.len());
    length("") + length("-wal") + length("-shm")
}

/// What a closed journal takes.
pub(crate) struct Size {
    /// The file, bytes.
    pub(crate) file: u64,
    pub(crate) receipts: u64,
    /// The pages they take, bytes.
    pub(crate) receipt_pages: u64,
    /// Occurrences that live.
    pub(crate) live: u64,
    /// The pages of everything that is about them, bytes.
    pub(crate) live_pages: u64,
    /// Their text, bytes.
    pub(crate) text: u64,
}

impl Size {
    pub(crate) fn of(state: &Path) -> Self {
        let file = state.join(journal::FILE);
        let connection =
            Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a file");
        let ask = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0)).expect("a number");
        let pages = |tables: &str| {
            ask(&format!("SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name IN ({tables})"))
        };
        let live = ask("SELECT count(*) FROM work");
        Self {
            receipts: ask("SELECT count(*) FROM receipt"),
            receipt_pages: pages("'receipt'"),
            live,
            live_pages: pages("'work', 'content', 'subject'"),
            // Without the checksum of each row.
            text: ask("SELECT sum(length(row)) FROM content") - 4 * live,
            file: files(state),
        }
    }
}
