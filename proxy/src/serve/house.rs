//! The bindings that are served, and the doors their hosts come in by.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::desk::FrontDesk;
use crate::binding::{Binding, Entrance, Ground, Order, Outcome};
use crate::config::{self, Config, Listen};
use crate::journal::{Journal, OpenFault};
use crate::telemetry::Telemetry;
use crate::transport::dial::Address;
use crate::transport::listen::listen;
use crate::transport::stdio;

/// Orders that may wait for a binding.
pub(super) const ORDERS: usize = 16;
/// Connections that may wait for a binding.
const BACKLOG: usize = 16;

/// A binding that runs.
pub(super) struct Running {
    /// Which of all that ran: one of a name may drain while the next begins.
    pub(super) number: u64,
    orders: mpsc::Sender<Order>,
    listener: Option<JoinHandle<()>>,
}

/// Every binding of a configuration.
pub(super) struct House {
    journal: Journal,
    pub(super) telemetry: Telemetry,
    desk: Rc<FrontDesk>,
    /// Of the configuration: how long what passes may wait for the journal, and dead letters that keep their
    /// content.
    pub(super) journal_wait: Duration,
    pub(super) max_dead_letters: usize,
    pub(super) running: HashMap<String, Running>,
    begun: u64,
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

impl House {
    pub(super) fn new(journal: Journal, telemetry: Telemetry, desk: Rc<FrontDesk>, config: &Config) -> Self {
        Self {
            journal,
            telemetry,
            desk,
            journal_wait: Duration::from_millis(config.journal_wait_ms),
            max_dead_letters: config.max_dead_letters,
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
        let (entrance, listener) = match &producer.listen {
            Listen::Stdio => {
                let connection =
                    stdio::take().map_err(|error| Shut::Unreachable(format!("stdin and stdout: {error}")))?;
                (Entrance::One(connection), None)
            }
            Listen::On(endpoint) => {
                let unreachable =
                    |why: &dyn std::fmt::Display| Shut::Unreachable(format!("producer `{name}`: {why}"));
                let address: Address = endpoint.to_string().parse().map_err(|error| unreachable(&error))?;
                let listener = listen(&address).await.map_err(|error| unreachable(&error))?;
                tracing::info!(producer = %name, at = ?listener.local(), "listening");
                let (found, connections) = mpsc::channel(BACKLOG);
                let task = tokio::task::spawn_local(accept(listener, found));
                (Entrance::Many(connections), Some(task))
            }
        };
        let binding = Binding::open(producer, entrance, heard, ground)?;
        self.desk.seat(&name, orders.clone());
        self.begun += 1;
        let (bound, number) = (name.clone(), self.begun);
        self.tasks.spawn_local(async move { (bound, number, Box::pin(binding.serve()).await) });
        self.running.insert(name, Running { number, orders, listener });
        Ok(())
    }

    /// What a binding of this name is served on.
    fn ground(&self, name: &str) -> Result<Ground, OpenFault> {
        let ledger = self.journal.ledger(name)?;
        let (journal_wait, max_dead_letters) = (self.journal_wait, self.max_dead_letters);
        Ok(Ground { ledger, journal_wait, max_dead_letters, seat: self.telemetry.seat(name) })
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
        if let Some(listener) = running.listener {
            listener.abort();
            // It ends as it was told to, with nothing to say.
            let _ = listener.await;
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
            self.running.remove(name);
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

async fn accept(
    mut listener: crate::transport::listen::Listener,
    found: mpsc::Sender<crate::transport::Connection>,
) {
    loop {
        match listener.accept().await {
            Ok(connection) => {
                if found.send(connection).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
