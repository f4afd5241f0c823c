//! The bindings that are served, and the doors their hosts come in by.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::desk::FrontDesk;
use super::doors::{Door, DoorError, Doors, Entry};
use crate::binding::{Binding, Entrance, Ground, Order, Outcome};
use crate::config::{self, Config, Listen};
use crate::journal::{Journal, OpenFault};
use crate::transport::{Connection, stdio};

/// Orders that may wait for a binding.
pub(super) const ORDERS: usize = 16;
/// Why a producer's hosts cannot come in elsewhere while it runs.
const FROM_STDIO: &str = "a change of `listen` from stdio, or to it, counts from the next start on";
/// Connections that may wait for a binding.
const BACKLOG: usize = 16;

/// A binding that runs.
pub(super) struct Running {
    /// Which of all that ran: one of a name may drain while the next begins.
    pub(super) number: u64,
    orders: mpsc::Sender<Order>,
    /// Where its hosts come in; nothing on stdio.
    way_in: Option<WayIn>,
}

/// How connections get to a binding.
struct WayIn {
    entry: Entry,
    door: Door,
    to: mpsc::Sender<Connection>,
}

/// Every binding of a configuration.
pub(super) struct House {
    journal: Journal,
    desk: Rc<FrontDesk>,
    /// Of the configuration: how long what passes may wait for the journal, and dead letters that keep their
    /// content.
    pub(super) journal_wait: Duration,
    pub(super) max_dead_letters: usize,
    pub(super) running: HashMap<String, Running>,
    begun: u64,
    doors: Doors,
    /// Who drains, by name.
    pub(super) draining: Vec<(String, mpsc::Sender<Order>)>,
    pub(super) tasks: JoinSet<(String, u64, Outcome)>,
}

/// Why a producer is not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum Shut {
    /// Its hosts cannot reach it.
    #[error("{0}")]
    Unreachable(String),
    /// Its journal cannot be read.
    #[error("{0}")]
    Journal(#[from] OpenFault),
}

fn unreachable(name: &str, why: &dyn std::fmt::Display) -> Shut {
    Shut::Unreachable(format!("producer `{name}`: {why}"))
}

impl House {
    pub(super) fn new(journal: Journal, desk: Rc<FrontDesk>, config: &Config) -> Self {
        Self {
            journal,
            desk,
            journal_wait: Duration::from_millis(config.journal_wait_ms),
            max_dead_letters: config.max_dead_letters,
            running: HashMap::new(),
            begun: 0,
            doors: Doors::default(),
            draining: Vec::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Binds the listener of a producer and starts its binding.
    pub(super) async fn open(&mut self, producer: config::Producer) -> Result<(), Shut> {
        self.end_drain(&producer.name).await;
        let ground = self.ground(&producer.name)?;
        let (orders, heard) = mpsc::channel(ORDERS);
        let name = producer.name.clone();
        let (entrance, way_in) = match &producer.listen {
            Listen::Stdio => {
                let connection =
                    stdio::take().map_err(|error| Shut::Unreachable(format!("stdin and stdout: {error}")))?;
                (Entrance::One(connection), None)
            }
            Listen::On(endpoint) => {
                let entry = Entry::of(&producer);
                let (to, connections) = mpsc::channel(BACKLOG);
                let opened = self.doors.open(&name, &entry, endpoint, to.clone()).await;
                let door = opened.map_err(|why| unreachable(&name, &why))?;
                (Entrance::Many(connections), Some(WayIn { entry, door, to }))
            }
        };
        let binding = match Binding::open(producer, entrance, heard, ground) {
            Ok(binding) => binding,
            Err(fault) => {
                if let Some(way_in) = way_in {
                    self.doors.shut(&name, way_in.door).await;
                }
                return Err(fault.into());
            }
        };
        self.desk.seat(&name, orders.clone());
        self.begun += 1;
        let (bound, number) = (name.clone(), self.begun);
        self.tasks.spawn_local(async move { (bound, number, binding.serve().await) });
        self.running.insert(name, Running { number, orders, way_in });
        Ok(())
    }

    /// Has the hosts of a running producer come in where `producer` says from now on; its session is not
    /// touched. The new place is opened before the old one is closed.
    ///
    /// # Errors
    /// It cannot be opened: hosts come in where they did.
    pub(super) async fn relisten(&mut self, producer: &config::Producer) -> Result<(), Shut> {
        let name = &producer.name;
        let Some(running) = self.running.get_mut(name) else { return Ok(()) };
        let Listen::On(endpoint) = &producer.listen else { return Err(unreachable(name, &FROM_STDIO)) };
        let Some(way_in) = running.way_in.take() else { return Err(unreachable(name, &FROM_STDIO)) };
        let entry = Entry::of(producer);
        let WayIn { entry: before, door, to } = way_in;
        let unchanged = entry == before;
        let taken = if unchanged {
            Ok(door)
        } else if Doors::clashes(&door, endpoint) {
            self.swap(name, &entry, endpoint, (&before, door), &to).await
        } else {
            match self.doors.open(name, &entry, endpoint, to.clone()).await {
                Ok(fresh) if Doors::is_same(&fresh, &door) => Ok(fresh),
                Ok(fresh) => {
                    self.doors.shut(name, door).await;
                    Ok(fresh)
                }
                Err(why) => Err((Some(door), why)),
            }
        };
        let (way_in, outcome) = match taken {
            Ok(door) => (Some(WayIn { entry, door, to }), Ok(())),
            Err((door, why)) => {
                (door.map(|door| WayIn { entry: before, door, to }), Err(unreachable(name, &why)))
            }
        };
        if let Some(running) = self.running.get_mut(name) {
            running.way_in = way_in;
        }
        outcome
    }

    /// Opens a port anew for something else. It is ours, so the old door goes first, and comes back if need be.
    async fn swap(
        &mut self,
        name: &str,
        entry: &Entry,
        endpoint: &config::Endpoint,
        (before, door): (&Entry, Door),
        to: &mpsc::Sender<Connection>,
    ) -> Result<Door, (Option<Door>, DoorError)> {
        self.doors.shut(name, door).await;
        match self.doors.open(name, entry, endpoint, to.clone()).await {
            Ok(fresh) => Ok(fresh),
            Err(why) => {
                let Listen::On(old) = &before.listen else { return Err((None, why)) };
                Err((self.doors.open(name, before, old, to.clone()).await.ok(), why))
            }
        }
    }

    /// Looks whether files of certificates have changed: new connections take what they come to.
    pub(super) fn refresh_certificates(&self) {
        self.doors.refresh();
    }

    /// What a binding of this name is served on.
    fn ground(&self, name: &str) -> Result<Ground, OpenFault> {
        let ledger = self.journal.ledger(name)?;
        let (journal_wait, max_dead_letters) = (self.journal_wait, self.max_dead_letters);
        let tap = self.desk.hub().map(|hub| hub.tap(name));
        Ok(Ground { ledger, journal_wait, max_dead_letters, tap })
    }

    pub(super) fn tell(&self, name: &str, order: Order) {
        if let Some(running) = self.running.get(name)
            && running.orders.try_send(order).is_err()
        {
            tracing::warn!(producer = name, "the binding is busy; an order was not taken");
        }
    }

    /// Lets a binding drain. Its address is free when this returns.
    pub(super) async fn close(&mut self, name: &str) {
        self.tell(name, Order::Drain);
        let Some(running) = self.running.remove(name) else { return };
        if let Some(way_in) = running.way_in {
            self.doors.shut(name, way_in.door).await;
        }
        self.desk.unseat(name);
        self.draining.push((name.to_owned(), running.orders));
    }

    /// A producer that is put back while it drains: there is one binding of a name, and what the one that ends
    /// still holds is in the journal for the next.
    async fn end_drain(&mut self, name: &str) {
        while let Some(at) = self.draining.iter().position(|(draining, _)| draining == name) {
            let (_, orders) = self.draining.swap_remove(at);
            // It may have ended by itself.
            let _ = orders.try_send(Order::Stop);
            orders.closed().await;
        }
    }

    /// A binding ended by itself.
    pub(super) fn ended(&mut self, name: &str, number: u64) {
        if self.running.get(name).is_some_and(|running| running.number == number) {
            if let Some(way_in) = self.running.remove(name).and_then(|running| running.way_in) {
                self.doors.drop_door(name, way_in.door);
            }
            self.desk.unseat(name);
        }
        self.draining.retain(|(_, orders)| !orders.is_closed());
    }

    pub(super) fn tell_all(&self, order: impl Fn() -> Order) {
        for name in self.running.keys() {
            self.tell(name, order());
        }
    }
}
