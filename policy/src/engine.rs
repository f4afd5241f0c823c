//! The coalescing engine: one for each producer binding, outliving sessions.
//!
//! **Mutate once, then drain.** [`Engine::handle`] takes one fact; then [`Engine::poll`] is called until it
//! has nothing more. No input is an error, nothing blocks, and the same inputs give the same outputs.
//!
//! ```
//! use mcpl_policy::{Engine, Input, Now, Settings};
//!
//! let mut engine = Engine::new(Settings::default(), 7);
//! engine.handle(Now::at(0), Input::Tick);
//! while let Some(output) = engine.poll() {
//!     println!("{output:?}");
//! }
//! assert_eq!(engine.deadline_ms(), None);
//! ```

mod admit;
mod aside;
mod batch;
mod expiry;
mod handover;
mod hold;
mod input;
mod letters;
mod note;
mod order;
mod out;
mod output;
mod receipt;
mod record;
mod recovery;
mod release;
mod render;
mod replace;
mod ruled;
mod seen;
mod session;
mod settle;
mod shelf;
#[cfg(debug_assertions)]
mod sound;
mod stored;
mod subject;
mod thread;
mod timer;
mod unsettled;
mod work;

use std::collections::{BTreeMap, HashMap, VecDeque};

use foldhash::quality::FixedState;
use mcpl_codec::digest::Digester;
use mcpl_codec::{Digest, DigestKey, Event, digest};
use slotmap::SlotMap;

pub use admit::MAX_JOINED;
pub use input::{
    Arrival, ChannelFact, GrantFact, Host, HostReply, Input, Phase, Rendering, Stance, StoreState, Taught,
    Ticket,
};
pub use letters::{Resolve, Unresolved, Word};
pub use note::{Note, Says, Why};
pub use out::ANSWER_MS;
pub use output::{Answer, Fate, Outcome, Output, Seq};
pub use recovery::Recovery;
pub use render::MAX_RENDERS;
pub use seen::{Belongs, Seen, Waits};
pub use session::MAX_RUNNING;
pub use settle::{BACKOFF_MOST_MS, BACKOFF_MS, RETRY_AFTER_MOST_MS};
pub use thread::MAX_THREADS;

use self::letters::Letters;
use self::order::Order;
use self::out::Out;
use self::receipt::Receipts;
use self::render::{Answered, Render};
use self::session::Session;
use self::stored::Queues;
use self::subject::{SubjectKey, Subjects};
use self::thread::Threads;
use self::timer::Timers;
use self::work::{Work, WorkKey};
use crate::journal::Change;
use crate::limit::{Limits, Pace};
use crate::now::Now;
use crate::settings::Settings;

/// What the engine holds, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Occurrences held or set aside.
    pub held: usize,
    /// Their bytes as sent.
    pub held_bytes: u64,
    /// Forwards the host has not answered.
    pub out: usize,
    /// Renders the producer has not answered.
    pub rendering: usize,
    /// Subjects tracked.
    pub subjects: usize,
    /// Of these, the ones of which something is held or out.
    pub held_subjects: usize,
    /// Occurrences remembered.
    pub receipts: usize,
    /// The memory that takes, in bytes.
    pub receipt_bytes: usize,
    /// Timers set.
    pub timers: usize,
    /// What only an operator can settle: handed over and never answered for.
    pub in_doubt: usize,
    /// Dead letters.
    pub dead: usize,
    /// Events that a subject rule matched and could make no key of, since the start (contract 13.1).
    pub without_key: u64,
    /// How often the pace towards the host made work wait, since the start.
    pub paced: u64,
    /// Renders that were given up: their time was over, or their session.
    pub unrendered: u64,
}

/// The state machine of one binding (contract 4 to 8); see the [module](self).
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    key: DigestKey,
    digester: Digester,
    seed: u64,
    jitter: fastrand::Rng,
    now: Now,
    session: Option<Session>,
    works: SlotMap<WorkKey, Work>,
    subjects: Subjects,
    order: Order,
    timers: Timers,
    receipts: Receipts,
    /// Write-throughs by fingerprint of their `eventId`.
    throughs: HashMap<u128, WorkKey, FixedState>,
    outs: BTreeMap<u64, Out>,
    next_forward: u64,
    renders: BTreeMap<u64, Render>,
    next_render: u64,
    /// Answers to renders that are dealt with and not on disk.
    rendered: VecDeque<Answered>,
    limits: Limits,
    pace: Pace,
    pace_timer_ms: Option<u64>,
    prune_timer_ms: Option<u64>,
    held_bytes: u64,
    threads: Threads,
    /// What is stored uncoalesced, by channel.
    queues: Queues,
    letters: Letters,
    /// What the journal can take.
    store: StoreState,
    /// Replies that are dealt with and not on disk.
    unsettled: unsettled::Waiting,
    /// Write-throughs that the host accepted, of which that is not on disk.
    told: VecDeque<unsettled::Told>,
    /// The newest step that is known to be on disk.
    durable: Seq,
    /// Everything held has a reason to go.
    all_due: bool,
    /// The sidecar stops: no new work is taken.
    draining: bool,
    arrivals: u64,
    /// Events that a rule matched and could make no key of.
    without_key: u64,
    /// How often the pace made work wait.
    paced: u64,
    /// How many renders were given up.
    unrendered: u64,
    used_ids: ruled::UsedIds,
    /// Everything that came up to this one has a reason to go.
    due: u64,
    seq: Seq,
    stepped: bool,
    /// The number that this input gave to an occurrence; 0: none.
    admitting: u64,
    /// The occurrence that this input's operator speaks of; 0: none.
    resolving: u64,
    /// What this input says of occurrences, while somebody wants to know.
    seen: Option<Vec<Seen>>,
    /// What this input decided, while somebody wants to know.
    notes: Option<Vec<Note>>,
    /// Why what is held goes by this input.
    why: Why,
    /// What this input changed of what must outlive the process.
    changes: Vec<Change>,
    touched_works: Vec<WorkKey>,
    touched_subjects: Vec<SubjectKey>,
    outputs: VecDeque<Output>,
}

impl Engine {
    /// An engine that holds nothing. `seed` is the only randomness it has: the key of its digests and the
    /// jitter of its back-off come from it.
    pub fn new(settings: Settings, seed: u64) -> Self {
        let mut jitter = fastrand::Rng::with_seed(seed);
        let mut key = [0; 16];
        jitter.fill(&mut key);
        let limits = Limits::seeded(settings.limits, seed);
        let pace = Pace::new(settings.forward_rate_per_s);
        Self {
            settings,
            key: DigestKey(key),
            digester: Digester::new(&DigestKey(key)),
            seed,
            jitter,
            now: Now::default(),
            session: None,
            works: SlotMap::with_key(),
            subjects: Subjects::new(seed, DigestKey(key)),
            order: Order::new(seed),
            timers: Timers::default(),
            receipts: Receipts::new(seed, 1),
            throughs: HashMap::with_hasher(FixedState::with_seed(seed)),
            outs: BTreeMap::new(),
            next_forward: 0,
            renders: BTreeMap::new(),
            next_render: 0,
            rendered: VecDeque::new(),
            limits,
            pace,
            pace_timer_ms: None,
            prune_timer_ms: None,
            held_bytes: 0,
            threads: Threads::default(),
            queues: HashMap::with_hasher(FixedState::with_seed(seed)),
            letters: Letters::default(),
            store: StoreState::Good,
            unsettled: VecDeque::new(),
            told: VecDeque::new(),
            durable: 0,
            all_due: true,
            draining: false,
            arrivals: 0,
            without_key: 0,
            paced: 0,
            unrendered: 0,
            used_ids: ruled::UsedIds::new(seed),
            due: 0,
            seq: 0,
            stepped: false,
            admitting: 0,
            resolving: 0,
            seen: None,
            notes: None,
            why: Why::default(),
            changes: Vec::new(),
            touched_works: Vec::new(),
            touched_subjects: Vec::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Takes one fact in. Time that passed since the last one counts first.
    ///
    /// The outputs of the last fact must have been drained.
    pub fn handle(&mut self, now: Now, input: Input) {
        debug_assert!(self.outputs.is_empty(), "mutate once, then drain");
        self.now = Now { mono_ms: now.mono_ms.max(self.now.mono_ms), wall_ms: now.wall_ms };
        self.stepped = false;
        self.admitting = 0;
        self.resolving = 0;
        // What nobody took is nobody's.
        self.seen.as_mut().map(Vec::clear);
        self.notes.as_mut().map(Vec::clear);
        self.why = Why::Time;
        self.on_time();
        self.why = match input {
            Input::Began(_) => Why::Aside,
            Input::Event(_) => Why::Passing,
            Input::Assembling | Input::Inference(..) => Why::Inference,
            Input::Flush | Input::Resolve(_) => Why::Operator,
            Input::Drain => Why::Drain,
            _ => Why::Other,
        };
        match input {
            Input::Began(host) => self.on_began(host),
            Input::Declared(sets) => self.on_declared(sets),
            Input::Ended => self.on_session_ended(),
            Input::Event(arrival) => self.on_event(arrival),
            Input::Replied(number, reply) => {
                self.note_reply(number, &reply);
                if self.store != StoreState::Gone {
                    self.on_reply(number, &reply);
                }
            }
            Input::Store(store) => {
                let before = std::mem::replace(&mut self.store, store);
                if before == StoreState::Gone && store != StoreState::Gone {
                    self.settle_noted();
                    self.settle_rendered();
                }
                self.pump();
            }
            Input::Resolve(resolve) => self.on_resolve(&resolve),
            Input::Rendered(number, rendering) => self.on_rendered(number, rendering),
            Input::HandedOver(number) => self.on_handed(number),
            Input::Written(number) => self.on_written(number),
            Input::Taught(taught, learned) => self.on_taught(&taught, learned),
            Input::Grant(fact) => self.on_grant(fact),
            Input::Channel(fact) => self.on_channel(fact),
            Input::Inference(id, phase) => self.on_inference(&id, phase),
            Input::Assembling | Input::Flush => self.on_flush(),
            Input::Drain => {
                self.draining = true;
                self.on_flush();
            }
            Input::Congested(congested) => self.on_congested(congested),
            Input::Reading(reading) => self.on_reading(reading),
            Input::Settings(settings) => self.on_settings(*settings),
            Input::Tick => {}
        }
        self.record();
        self.sweep_timers();
        #[cfg(debug_assertions)]
        self.assert_sound();
        #[cfg(debug_assertions)]
        self.assert_pumped();
    }

    /// The next wish, in the order they must be carried out; `None` when there is none.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call [`handle`](Self::handle) with [`Input::Tick`] at the latest, in ms of the monotonic
    /// clock. An early or needless call does no harm.
    pub fn deadline_ms(&self) -> Option<u64> {
        self.timers.next()
    }

    /// What it holds now.
    pub fn load(&self) -> Load {
        Load {
            held: self.count_held(),
            held_bytes: self.held_bytes,
            out: self.outs.len(),
            rendering: self.renders.len(),
            subjects: self.subjects.len(),
            held_subjects: self.subjects.busy(),
            receipts: self.receipts.len(),
            receipt_bytes: self.receipts.memory_bytes(),
            timers: self.timers.len(),
            in_doubt: self.letters.in_doubt(),
            dead: self.letters.dead(),
            without_key: self.without_key,
            paced: self.paced,
            unrendered: self.unrendered,
        }
    }

    /// The digest that tells a retry of an event from a conflict (contract 6.2), by this engine's key: a part
    /// of reading an event that does not depend on what the engine holds.
    pub fn digest(&mut self, event: &Event) -> Digest {
        event.digest_with(&mut self.digester)
    }

    /// The newest durable step there is.
    pub fn steps(&self) -> Seq {
        self.seq
    }

    /// Whether the host of this session is known not to have `channel` registered (contract 8.1).
    pub fn is_unregistered(&self, channel: &str) -> bool {
        self.session.as_ref().is_some_and(|session| session.admission.is_unregistered(channel))
    }

    fn on_settings(&mut self, settings: Settings) {
        self.limits.reload(settings.limits);
        self.pace.reload(settings.forward_rate_per_s);
        self.settings = settings;
        self.rearm_releases();
        self.await_policy();
        self.unpark(|_| true);
        self.pump();
    }

    /// The newest step that a forward waits for which is not known to be handed over: what must not overtake
    /// what is released waits for it (contract 7.3, 7.6).
    pub fn waiting_forward(&self) -> Option<Seq> {
        self.waiting_forward_of(|_| true)
    }

    /// The same of those whose work is `hit`.
    fn waiting_forward_of(&self, hit: impl Fn(&Work) -> bool) -> Option<Seq> {
        let waits = |out: &&Out| !out.handed && out.step > self.durable;
        let hit = |out: &&Out| self.works.get(out.work).is_some_and(&hit);
        self.outs.values().filter(waits).filter(hit).map(|out| out.step).max()
    }

    /// The number that `event_id` is remembered by, if it is (contract 6.2).
    pub fn find(&self, event_id: &str) -> Option<u64> {
        let fingerprint = digest::fingerprint(&self.key, event_id);
        self.receipts.find(fingerprint).map(|found| found.number).or_else(|| {
            let named = |work: &&Work| work.number > 0 && *work.event_id() == *event_id;
            self.works.values().find(named).map(|work| work.number)
        })
    }
}
