//! The bindings that are served, and the doors their hosts come in by.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinSet;

use super::desk::FrontDesk;
use super::doors::{Door, DoorError, Doors, Entry};
use crate::binding::{Binding, Common, Entrance, Ground, Order, Outcome};
use crate::config::{self, Config, Listen};
use crate::journal::{Journal, OpenFault};
use crate::keyring::Keyring;
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
    /// None while it is shut for another producer that takes its place.
    door: Option<Door>,
    to: mpsc::Sender<Connection>,
}

/// Every binding of a configuration.
pub(super) struct House {
    journal: Journal,
    desk: Rc<FrontDesk>,
    /// What the bindings have in common, as the configuration has it now.
    pub(super) common: Common,
    keyring: Keyring,
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
    pub(super) fn new(journal: Journal, desk: Rc<FrontDesk>, config: &Config, keyring: Keyring) -> Self {
        Self {
            journal,
            desk,
            common: Common::from(config),
            doors: Doors::new(keyring.clone()),
            keyring,
            running: HashMap::new(),
            begun: 0,
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
                (Entrance::Many(connections), Some(WayIn { entry, door: Some(door), to }))
            }
        };
        let binding = match Binding::open(producer, entrance, heard, ground) {
            Ok(binding) => binding,
            Err(fault) => {
                if let Some(door) = way_in.and_then(|way_in| way_in.door) {
                    self.doors.shut(&name, door).await;
                }
                return Err(fault.into());
            }
        };
        self.desk.seat(&name, orders.clone());
        self.begun += 1;
        let (bound, number) = (name.clone(), self.begun);
        let served = Box::pin(binding.serve());
        self.tasks.spawn_local(async move { (bound, number, served.await) });
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
        let taken = match door {
            Some(door) if entry == before => Ok(door),
            Some(door) if Doors::clashes(&door, endpoint) => {
                self.swap(name, &entry, endpoint, (&before, door), &to).await
            }
            door => match (self.doors.open(name, &entry, endpoint, to.clone()).await, door) {
                (Ok(fresh), Some(door)) if !Doors::is_same(&fresh, &door) => {
                    self.doors.shut(name, door).await;
                    Ok(fresh)
                }
                (Ok(fresh), _) => Ok(fresh),
                (Err(why), door) => Err((door, why)),
            },
        };
        let (way_in, outcome) = match taken {
            Ok(door) => (WayIn { entry, door: Some(door), to }, Ok(())),
            Err((door, why)) => (WayIn { entry: before, door, to }, Err(unreachable(name, &why))),
        };
        if let Some(running) = self.running.get_mut(name) {
            running.way_in = Some(way_in);
        }
        outcome
    }

    /// Shuts the door of a producer that is to come in elsewhere, so that another may take its place.
    pub(super) async fn vacate(&mut self, name: &str) {
        let way_in = self.running.get_mut(name).and_then(|running| running.way_in.as_mut());
        if let Some(door) = way_in.and_then(|way_in| way_in.door.take()) {
            self.doors.shut(name, door).await;
        }
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

    /// What a binding of this name is served on.
    fn ground(&self, name: &str) -> Result<Ground, OpenFault> {
        let ledger = self.journal.ledger(name)?;
        let tap = self.desk.hub().map(|hub| hub.tap(name));
        let (keyring, seat) = (self.keyring.clone(), self.desk.telemetry().seat(name));
        Ok(Ground { ledger, common: self.common, keyring, seat, tap })
    }

    pub(super) fn tell(&self, name: &str, order: Order) {
        let Some(running) = self.running.get(name) else { return };
        if let Err(TrySendError::Full(order)) = running.orders.try_send(order) {
            // It is busy, and hears it as soon as it looks. One that has ended needs to hear nothing.
            let orders = running.orders.clone();
            tokio::task::spawn_local(async move { drop(orders.send(order).await) });
        }
    }

    /// No host comes in any more.
    pub(super) fn shut_doors(&mut self) {
        for (name, running) in &mut self.running {
            if let Some(door) = running.way_in.take().and_then(|way_in| way_in.door) {
                self.doors.drop_door(name, door);
            }
        }
    }

    /// Lets a binding drain, for so long at most. Its address is free when this returns.
    pub(super) async fn close(&mut self, name: &str, within: Duration) {
        self.tell(name, Order::Drain(within));
        let Some(running) = self.running.remove(name) else { return };
        if let Some(door) = running.way_in.and_then(|way_in| way_in.door) {
            self.doors.shut(name, door).await;
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
            let way_in = self.running.remove(name).and_then(|running| running.way_in);
            if let Some(door) = way_in.and_then(|way_in| way_in.door) {
                self.doors.drop_door(name, door);
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

    /// Everything stops now, what drains included.
    pub(super) fn stop(&self) {
        self.tell_all(|| Order::Stop);
        for (_, orders) in &self.draining {
            // One with a full queue is killed when the program ends.
            let _ = orders.try_send(Order::Stop);
        }
    }
}
