//! What a binding is told and asked, by the program and by an operator (contract 9.3, 10.3).

use std::task::{Context, Poll};
use std::time::Duration;

use mcpl_policy::Input;
use mcpl_policy::engine::{Fate, Load, StoreState, Unresolved, Word};
use rustix::process::Signal;
use tokio::sync::oneshot;

use super::Binding;
use super::core::Asked;
use super::offspring;
use crate::config;
use crate::exchange::{Observed, Shadow, Tally};

/// What a binding is told.
#[derive(Debug)]
pub enum Order {
    /// New settings, from the next event on; the rest for new sessions.
    Settings(Box<config::Producer>, Common),
    /// Give the host what is held, for this long at most, then stop.
    Drain(Duration),
    /// Pass a signal on to the child (contract 1: `wrap`).
    Signal(i32),
    /// Give the host what is held and pass a signal on to the child, whose end ends it all; without a child
    /// as [`Order::Drain`].
    End(i32, Duration),
    /// Stop now.
    Stop,
    /// An operator asks.
    Ask(Ask),
}

/// What every binding of a configuration has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// How long what passes may wait for the journal (contract 7.6).
    pub journal_wait: Duration,
    /// Dead letters that keep their content.
    pub max_dead_letters: usize,
}

impl From<&config::Config> for Common {
    fn from(config: &config::Config) -> Self {
        Self {
            journal_wait: Duration::from_millis(config.journal_wait_ms),
            max_dead_letters: config.max_dead_letters,
        }
    }
}

/// What an operator asks of a binding (contract 9.3, 10.3).
#[derive(Debug)]
pub enum Ask {
    /// Give the host what is held.
    Flush(oneshot::Sender<()>),
    /// The number of an occurrence that is held or remembered, by its `eventId`.
    Find {
        /// The `eventId`.
        event_id: String,
        /// Told the number, if there is one.
        told: oneshot::Sender<Option<u64>>,
    },
    /// Settle, drop or send again what only an operator can.
    Resolve {
        /// The occurrence.
        number: u64,
        /// The revision it was seen at; `None`: whichever it is.
        expect: Option<u32>,
        /// What is said of it.
        word: Word,
        /// Told once it is on disk; dropped where too many wait.
        told: oneshot::Sender<Result<Fate, Unresolved>>,
    },
    /// It is noted what happens from now on ([`Tap`](crate::stream::Tap)); told once nothing that was not noted
    /// can come to be on disk any more.
    Watch(oneshot::Sender<()>),
    /// How it stands.
    Status(oneshot::Sender<Status>),
}

/// How a binding stands.
#[derive(Clone, Debug)]
pub struct Status {
    /// A host is connected.
    pub session: bool,
    /// Where that host is.
    pub host: Option<String>,
    /// The names of its certificate, where it showed one.
    pub names: Vec<String>,
    /// What the engine holds.
    pub load: Load,
    /// What the journal can take.
    pub store: StoreState,
    /// What its sessions did since the program started.
    pub tally: Tally,
    /// What it would have done, in observe mode (contract 13.4).
    pub observed: Option<Observed>,
}

impl Binding {
    /// True: stop now.
    pub(super) fn poll_orders(&mut self, cx: &mut Context<'_>) -> bool {
        while let Poll::Ready(order) = self.orders.poll_recv(cx) {
            match order {
                Some(Order::Settings(producer, common)) => self.reload(*producer, common),
                Some(Order::Ask(ask)) => self.answer(ask),
                Some(Order::Drain(within)) => self.drain(within),
                Some(Order::Signal(signal)) => {
                    self.signal(signal);
                }
                Some(Order::End(signal, within)) => {
                    // A child may survive the signal, and its session goes on with it.
                    if self.signal(signal) {
                        self.tell(Input::Flush);
                    } else {
                        self.drain(within);
                    }
                }
                Some(Order::Stop) | None => {
                    if let Some(child) = self.session.as_ref().and_then(|session| session.child.as_ref()) {
                        child.tell(offspring::Word::Kill);
                    }
                    return true;
                }
            }
        }
        false
    }

    /// False: there is no child.
    fn signal(&self, number: i32) -> bool {
        let child = self.session.as_ref().and_then(|session| session.child.as_ref());
        let (Some(child), Some(signal)) = (child, Signal::from_named_raw(number)) else { return false };
        child.tell(offspring::Word::Signal(signal));
        true
    }

    fn answer(&mut self, ask: Ask) {
        match ask {
            Ask::Flush(told) => {
                self.tell(Input::Flush);
                // Who asked may be gone.
                let _ = told.send(());
            }
            Ask::Find { event_id, told } => {
                let _ = told.send(self.core.engine.find(&event_id));
            }
            Ask::Resolve { number, expect, word, told } => {
                self.core.ask(Asked { number, expect, word, told });
            }
            Ask::Watch(told) => self.core.watch(told),
            Ask::Status(told) => {
                let _ = told.send(Status {
                    session: self.session.is_some(),
                    host: self.session.as_ref().map(|session| session.peer().to_owned()),
                    names: self.session.as_ref().map(|s| s.peer_names.clone()).unwrap_or_default(),
                    load: self.core.engine.load(),
                    store: self.core.store(),
                    tally: self.tally_so_far(),
                    observed: self.shadow().map(Shadow::observed),
                });
            }
        }
    }

    /// What its sessions did, the one that goes on included.
    fn tally_so_far(&self) -> Tally {
        let mut tally = self.tally;
        if let Some(session) = &self.session {
            tally += *session.exchange.tally();
        }
        tally
    }
}
