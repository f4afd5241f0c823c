//! A binding in a thread of its own, between the usual fakes, over a store with faults.

use std::thread::JoinHandle;
use std::time::Duration;

use mcpl_sidecar::binding::{Binding, Common, Entrance, Ground, Order, Outcome};
use mcpl_sidecar::config::{self, Purpose};
use mcpl_sidecar::journal::faulty::{Faults, Faulty};
use mcpl_sidecar::journal::{Bounds, Journal, Memory, Pace};
use mcpl_sidecar::keyring::Keyring;
use mcpl_sidecar::transport::listen::{accept, bind};
use mcpl_tests::{Session, World};
use tokio::sync::mpsc;

/// How long what passes may wait for the journal here.
pub(crate) const WAIT: Duration = Duration::from_millis(250);

/// A world whose program is a thread.
pub(crate) struct Bed {
    pub(crate) world: World,
    /// What is wrong with its disk.
    pub(crate) faults: Faults,
    orders: mpsc::Sender<Order>,
    served: JoinHandle<Outcome>,
}

impl Bed {
    /// A binding as `world` is configured, which need not be started.
    pub(crate) fn over(world: World) -> Self {
        let text = format!("state_dir = \"state\"\n{}", world.producer_named("main"));
        let loaded = config::parse(Purpose::Run, "sidecar.toml".as_ref(), &text, &|_| None);
        let producer = loaded.expect("a configuration").config.producers.remove(0);
        let (store, faults) = Faulty::new(Box::new(Memory::default()));
        let pace = Pace { idle: Duration::from_millis(50), retry: Duration::from_millis(50) };
        let journal = Journal::over(Box::new(store), Bounds::default(), pace).expect("a journal");
        let (orders, heard) = mpsc::channel(4);
        let address = format!("127.0.0.1:{}", world.port());
        let serve = async move || {
            let listener = bind(&address, &address).await.expect("a listener");
            let (found, connections) = mpsc::channel(4);
            tokio::task::spawn_local(async move {
                while let Ok(connection) = accept(&listener).await {
                    if found.send(connection).await.is_err() {
                        return;
                    }
                }
            });
            let ledger = journal.ledger("main").expect("a ledger");
            let common = Common { journal_wait: WAIT, max_dead_letters: 100 };
            let ground = Ground { ledger, common, keyring: Keyring::default(), seat: None };
            let entrance = Entrance::Many(connections);
            let binding = Binding::open(producer, entrance, heard, ground).expect("a binding");
            Box::pin(binding.serve()).await
        };
        let served = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            tokio::task::LocalSet::new().block_on(&runtime, serve())
        });
        Self { world, faults, orders, served }
    }

    /// A host, a producer, everything granted.
    pub(crate) async fn session(&mut self) -> Session {
        self.world.session().await
    }

    /// Waits until a commit is held up.
    pub(crate) async fn held(&self) {
        let faults = self.faults.clone();
        tokio::task::spawn_blocking(move || faults.held()).await.expect("a thread");
    }

    /// Ends the binding; what it did.
    pub(crate) async fn end(self) -> Outcome {
        self.orders.send(Order::Stop).await.expect("the binding runs");
        tokio::task::spawn_blocking(|| self.served.join().expect("the binding ended well"))
            .await
            .expect("a thread")
    }
}
