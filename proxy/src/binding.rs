//! One producer's binding: its engine, its session, its connections, in one task that outlives sessions.
//!
//! The task polls everything itself, in one order: orders, new connections, the session, the engine's time.
//! A message goes from the read that brought it to the write that takes it away without a queue between
//! tasks.

mod clock;
mod core;
mod entrance;
mod link;
mod offspring;
mod order;
mod probe;
mod reach;
mod session;
pub mod settings;
mod trouble;
mod waiting;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use mcpl_codec::Framer;
use mcpl_policy::{Input, Output};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use self::core::{Core, News};
pub use self::core::{MAX_ASKED, MAX_READS};
pub use self::link::OUTBOX_BYTES;
pub use self::order::{Ask, Common, Order, Status};
use self::probe::Probe;
pub use self::probe::{FIRST_MESSAGE_BYTES, MAX_PROBES, SILENCE};
use self::reach::reach;
use self::session::Session;
use self::session::ending::Retired;
use crate::child;
use crate::config;
use crate::exchange::{Exchange, Observed, Shadow, Tally, Watch, noted};
use crate::journal::{Ledger, OpenFault};
use crate::keyring::Keyring;
use crate::stream::Tap;
use crate::telemetry::board::Reading;
use crate::telemetry::seat::Seat;
use crate::transport::Connection;
use crate::transport::dial::Dialer;
use crate::transport::ws::close::Close;

/// What a binding is served on, beside its producer's configuration.
#[derive(Debug)]
pub struct Ground {
    /// Its end of the journal.
    pub ledger: Ledger,
    /// What it has in common with the other bindings.
    pub common: Common,
    /// The TLS stores, for a producer that is dialled.
    pub keyring: Keyring,
    /// Where it says what it does; `None`: nobody wants to know.
    pub seat: Option<Seat>,
    /// Where it is left what its journal says, for those who watch.
    pub tap: Option<Tap>,
}

/// Where hosts come from.
pub enum Entrance {
    /// One connection, which is a session at once: `wrap`.
    Now(Connection),
    /// One connection, which is a session with its first message: `listen = "stdio"`.
    One(Connection),
    /// A listener's.
    Many(mpsc::Receiver<Connection>),
}

/// How a binding ended.
#[derive(Debug)]
pub struct Outcome {
    /// What its sessions did.
    pub tally: Tally,
    /// What they would have done, in observe mode (contract 13.4).
    pub observed: Option<Observed>,
    /// What it still held: it is in the journal.
    pub held: usize,
    /// How the child of the last session ended, if there was one.
    pub status: Option<child::Status>,
    /// Why the producer could not be started, if that ended it.
    pub unreached: Option<String>,
}

/// The binding of one producer.
pub struct Binding {
    producer: config::Producer,
    core: Core,
    common: Common,
    seat: Option<Rc<Seat>>,
    orders: mpsc::Receiver<Order>,
    connections: Option<mpsc::Receiver<Connection>>,
    probes: VecDeque<Probe>,
    session: Option<Session>,
    /// The only host there will be: when its session is over, so is the binding.
    single: bool,
    draining: Option<Instant>,
    timer: Pin<Box<Sleep>>,
    tally: Tally,
    /// Observe mode, between two sessions.
    shadow: Option<Box<Shadow>>,
    last: Option<Retired>,
    unreached: Rc<RefCell<Option<String>>>,
    /// How the producer is dialled, where it is.
    dialer: Rc<Dialer>,
}

impl Binding {
    /// A binding of `producer` that takes orders and hosts, and holds what its journal says.
    ///
    /// # Errors
    /// [`OpenFault`]: the journal cannot be read; nothing was changed.
    pub fn open(
        producer: config::Producer,
        entrance: Entrance,
        orders: mpsc::Receiver<Order>,
        ground: Ground,
    ) -> Result<Self, OpenFault> {
        let Ground { ledger, common, keyring, seat, tap } = ground;
        let settings = settings::settings(&producer, common.max_dead_letters);
        let core = Core::open(settings, ledger, tap, random())?;
        let load = core.engine.load();
        if load.held > 0 {
            tracing::info!(producer = %producer.name, held = load.held, "work of an earlier run is held");
        }
        let mut binding = Self {
            producer,
            core,
            common,
            seat: seat.map(Rc::new),
            orders,
            connections: None,
            probes: VecDeque::new(),
            session: None,
            single: true,
            draining: None,
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
            tally: Tally::default(),
            shadow: None,
            last: None,
            unreached: Rc::default(),
            dialer: Rc::new(Dialer::new(keyring)),
        };
        let limit = binding.producer.limits.max_message_bytes;
        match entrance {
            Entrance::Now(connection) => binding.begin(connection, Framer::new(limit), None, true),
            Entrance::One(connection) => binding.probes.push_back(Probe::new(connection, limit, true)),
            Entrance::Many(connections) => {
                binding.single = false;
                binding.connections = Some(connections);
            }
        }
        Ok(binding)
    }

    /// Serves until it is told to stop, or its only host is gone.
    pub async fn serve(mut self) -> Outcome {
        poll_fn(|cx| self.poll(cx)).await;
        if let Some(session) = self.session.take() {
            self.retire(session, &going_away());
        }
        self.publish();
        let held = self.core.engine.load().held;
        self.core.end().await;
        let mut status = None;
        if let Some(last) = self.last.take() {
            // Both are bounded in time by themselves.
            let _ = last.farewell.await;
            status = last.exited;
            if let Some(child) = last.child {
                status = child.gone.await.ok().or(status);
            }
        }
        let unreached = self.unreached.borrow_mut().take();
        let observed = self.shadow.as_deref().map(Shadow::observed);
        Outcome { tally: self.tally, observed, held, status, unreached }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.poll_orders(cx) {
                return Poll::Ready(());
            }
            self.poll_journal(cx);
            self.poll_connections(cx);
            self.poll_probes(cx);
            while let Some(session) = &mut self.session {
                if !session.poll(cx, &mut self.core) {
                    break;
                }
            }
            if let Some(session) = &mut self.session {
                session.poll_end(cx, &mut self.core);
                // What the end had to say goes out before anything else is looked at.
                session.poll(cx, &mut self.core);
                session.poll_end(cx, &mut self.core);
            }
            if self.session.as_ref().is_some_and(|session| session.over)
                && let Some(session) = self.session.take()
            {
                self.retire(session, &going_away());
                if self.single {
                    return Poll::Ready(());
                }
                continue;
            }
            if self.is_drained() || (self.single && self.session.is_none() && self.probes.is_empty()) {
                return Poll::Ready(());
            }
            if !self.poll_timer(cx) {
                self.publish();
                return Poll::Pending;
            }
        }
    }

    /// Says how it stands, to whoever collects.
    fn publish(&self) {
        let Some(seat) = &self.seat else { return };
        let mut tally = self.tally;
        if let Some(session) = &self.session {
            tally += *session.exchange.tally();
        }
        seat.publish(Reading { tally, load: self.core.engine.load(), session: self.session.is_some() });
    }

    fn drain(&mut self, within: Duration) {
        self.draining = Some(Instant::now() + within);
        self.connections = None;
        for probe in self.probes.drain(..) {
            probe.dismiss(&going_away());
        }
        self.tell(Input::Drain);
    }

    fn is_drained(&self) -> bool {
        self.draining.is_some_and(|until| {
            let done = || {
                let load = self.core.engine.load();
                load.held == 0 && load.out == 0
            };
            // In a session that is over nothing more is given; what is held is in the journal.
            self.session.as_ref().is_none_or(Session::is_closed) || done() || Instant::now() >= until
        })
    }

    fn reload(&mut self, producer: config::Producer, common: Common) {
        self.common = common;
        let settings = Box::new(settings::settings(&producer, common.max_dead_letters));
        let limit = producer.limits.max_message_bytes;
        if let Some(session) = &mut self.session {
            session.exchange.set_terms(settings::terms(&producer));
            session.set_limit(limit);
            session.journal_wait = common.journal_wait;
        }
        self.tell(Input::Settings(settings));
        self.producer = producer;
    }

    fn begin(&mut self, host: Connection, framer: Framer, first: Option<mcpl_codec::Line>, is_stdio: bool) {
        let limit = self.producer.limits.max_message_bytes;
        let terms = settings::terms(&self.producer);
        let mut exchange = Exchange::new(terms.clone(), &format!("{:016x}", random()));
        let shadow = self.shadow.take();
        if self.producer.coalesce.mode == config::Mode::Observe {
            let anew = || {
                let settings = settings::settings(&self.producer, self.common.max_dead_letters);
                Box::new(Shadow::new(settings, terms, random()))
            };
            exchange.observe(shadow.unwrap_or_else(anew));
        }
        if let Some(seat) = &self.seat {
            let watch = Watch::new(Rc::clone(seat), (&host.facts).into(), settings::carrier(&self.producer));
            exchange.watch(self.core.clock.now().mono_ms, watch);
        }
        tracing::info!(producer = %self.producer.name, host = %host.peer, "a session begins");
        if let Some(line) = first {
            exchange.from_host(&mut self.core.engine, self.core.clock.now(), line);
        }
        let dial =
            Box::pin(reach(self.producer.clone(), Rc::clone(&self.dialer), Rc::clone(&self.unreached)));
        let (core, wait) = (&mut self.core, self.common.journal_wait);
        let session = Session::new(exchange, (host, framer), (limit, wait), is_stdio, core, dial);
        self.session = Some(session);
    }

    /// Ends a session; `why` is what a WebSocket is told, unless a side ended by itself.
    fn retire(&mut self, session: Session, why: &Close) {
        let mut retired = session.retire(&mut self.core, why);
        self.tally += retired.tally;
        self.dialer.ended(retired.by_producer);
        tracing::info!(producer = %self.producer.name, did = %retired.tally, "the session is over");
        if let Some(shadow) = retired.shadow.take() {
            tracing::info!(
                producer = %self.producer.name,
                did = %shadow.observed(),
                "so far the sidecar would have done this, were it not in observe mode"
            );
            self.shadow = Some(shadow);
        }
        self.last = Some(retired);
    }

    /// True if the moment has come: look at everything again.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> bool {
        let shadow = self.shadow().and_then(Shadow::deadline_ms);
        let engine = self.core.engine.deadline_ms().into_iter().chain(shadow).min();
        let engine = engine.map(|ms| self.core.clock.at(ms));
        let session = self.session.as_ref().and_then(Session::deadline);
        let probe = self.probes.iter().filter_map(|probe| probe.until).min();
        let Some(next) = [engine, session, probe, self.draining].into_iter().flatten().min() else {
            return false;
        };
        if self.timer.deadline() != next {
            self.timer.as_mut().reset(next);
        }
        if self.timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.tell(Input::Tick);
        true
    }

    /// Tells the engine something, in the session or without one. Without one nobody is answered and
    /// nothing is forwarded: what ended is counted.
    fn tell(&mut self, input: Input) {
        if let Some(session) = &mut self.session {
            return session.tell(&mut self.core, input);
        }
        if let Some(shadow) = &mut self.shadow {
            shadow.tell(self.core.clock.now(), &input);
        }
        self.core.engine.handle(self.core.clock.now(), input);
        self.carry_out();
    }

    /// What would have been done, in observe mode.
    fn shadow(&self) -> Option<&Shadow> {
        self.session.as_ref().and_then(|session| session.exchange.shadow()).or(self.shadow.as_deref())
    }

    /// What the engine wishes, in the session or without one.
    fn carry_out(&mut self) {
        if let Some(session) = &mut self.session {
            return session.carry_out(&mut self.core);
        }
        noted(&self.producer.name, &mut self.core.engine);
        while let Some(output) = self.core.engine.poll() {
            match output {
                Output::Step(step) => self.core.commit(step),
                Output::Ended { event_id, fate } => {
                    self.tally.ended(&self.producer.name, &event_id, &fate);
                }
                Output::Resolved { request, result, after } => self.core.resolved(request, result, after),
                Output::Answer { .. }
                | Output::Pass { .. }
                | Output::Forward { .. }
                | Output::Render { .. }
                | Output::Retrying { .. } => {}
            }
        }
    }

    /// What the journal has to say.
    fn poll_journal(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(news) = self.core.poll(cx) {
            match news {
                News::Durable => {
                    if let Some(session) = &mut self.session {
                        session.release(&self.core);
                    }
                }
                News::Store(store) => {
                    if let Some(session) = self.session.as_mut().filter(|_| self.core.is_lost()) {
                        session.revoke();
                    }
                    self.tell(Input::Store(store));
                }
                News::Restored => self.carry_out(),
                News::Receipt(ticket, row) => {
                    if let Some(session) = &mut self.session {
                        session.recall(&mut self.core, ticket, row.as_deref());
                    }
                }
                News::Word(resolve) => self.tell(Input::Resolve(resolve)),
            }
        }
    }
}

/// What a WebSocket is told when the program ends, or its producer is served no more.
fn going_away() -> Close {
    Close::new(Close::AWAY, "the sidecar is going away")
}

/// Random bits of the process: the standard library seeds its hash tables from the system.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
