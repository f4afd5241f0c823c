//! Where the hosts of each producer come in: a port of its own, or a path on one that several share.

use std::collections::HashMap;
use std::time::Duration;

use mcpl_certs::Fault;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::config::{self, Authority, Endpoint, Listen, ListenAuth, ListenTls, Scheme};
use crate::episode::Episode;
use crate::keyring::Keyring;
use crate::transport::Connection;
use crate::transport::listen::{ListenError, accept, bind, bound_to};
use crate::transport::ws::front::{Front, Route};

/// Where hosts of a producer come in, and who may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) listen: Listen,
    tls: Option<ListenTls>,
    auth: Option<ListenAuth>,
}

impl Entry {
    pub(super) fn of(producer: &config::Producer) -> Self {
        Self {
            listen: producer.listen.clone(),
            tls: producer.listen_tls.clone(),
            auth: producer.listen_auth.clone(),
        }
    }
}

/// An open one.
#[derive(Debug)]
pub(super) enum Door {
    /// A port for lines.
    Lines { at: Authority, task: JoinHandle<()> },
    /// A path on a front.
    Path { key: Key, path: String },
}

/// One front for each address; one for each producer where the system chooses the port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    at: Authority,
    producer: Option<String>,
}

impl Key {
    fn of(name: &str, at: &Authority) -> Self {
        Self { at: at.clone(), producer: (at.port == 0).then(|| name.to_owned()) }
    }
}

/// Why a door cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum DoorError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("listen_tls: {0}")]
    Certificates(#[from] Fault),
}

/// The fronts, which outlive who opens them.
#[derive(Debug)]
pub(super) struct Doors {
    fronts: HashMap<Key, (Front, Option<ListenTls>)>,
    keyring: Keyring,
}

impl Doors {
    /// None yet; their certificates are in the keyring.
    pub(super) fn new(keyring: Keyring) -> Self {
        Self { fronts: HashMap::new(), keyring }
    }

    /// Opens the door of a producer; `endpoint` is where it listens. A path that it has on the same front
    /// already is taken anew, with what is said of who may come in.
    pub(super) async fn open(
        &mut self,
        name: &str,
        entry: &Entry,
        endpoint: &Endpoint,
        to: mpsc::Sender<Connection>,
    ) -> Result<Door, DoorError> {
        if endpoint.scheme == Scheme::Tcp {
            let listener = self.bind(endpoint).await?;
            tracing::info!(producer = name, at = %bound_to(&listener, &endpoint.at.to_string()), "listening");
            let task = tokio::task::spawn_local(take(listener, to));
            return Ok(Door::Lines { at: endpoint.at.clone(), task });
        }
        let key = Key::of(name, &endpoint.at);
        let store = entry.tls.as_ref().map(|tls| self.keyring.server(tls)).transpose()?;
        let auth = entry.auth.clone().unwrap_or_default();
        let route = Route {
            producer: name.to_owned(),
            query: endpoint.query().map(str::to_owned),
            token: auth.token,
            origins: auth.origins,
            names: entry.tls.as_ref().map(|tls| tls.client_names.clone()).unwrap_or_default(),
            to,
        };
        let path = endpoint.path().to_owned();
        if let Some((front, tls)) = self.fronts.get_mut(&key) {
            front.set_tls(store);
            tls.clone_from(&entry.tls);
            front.add(&path, route);
            tracing::info!(producer = name, at = %front.local(), %path, "listening");
        } else {
            let listener = self.bind(endpoint).await?;
            let failed = |source| ListenError { address: endpoint.to_string(), source };
            let front = Front::open(listener, store).map_err(failed)?;
            tracing::info!(producer = name, at = %front.local(), %path, "listening");
            front.add(&path, route);
            self.fronts.insert(key.clone(), (front, entry.tls.clone()));
        }
        Ok(Door::Path { key, path })
    }

    async fn bind(&self, endpoint: &Endpoint) -> Result<TcpListener, ListenError> {
        bind(&endpoint.at.to_string(), &endpoint.to_string()).await
    }

    /// Whether opening that would be in the way of this door: the same port, for something else.
    pub(super) fn clashes(door: &Door, endpoint: &Endpoint) -> bool {
        match door {
            _ if endpoint.at.port == 0 => false,
            Door::Lines { at, .. } => *at == endpoint.at,
            Door::Path { key, .. } => key.at == endpoint.at && endpoint.scheme == Scheme::Tcp,
        }
    }

    /// Whether both are the same place.
    pub(super) fn is_same(one: &Door, other: &Door) -> bool {
        match (one, other) {
            (Door::Path { key, path }, Door::Path { key: other_key, path: other }) => {
                key == other_key && path == other
            }
            _ => false,
        }
    }

    /// Closes the door of a producer; a port is closed with its last door, and free when this returns.
    pub(super) async fn shut(&mut self, name: &str, door: Door) {
        match door {
            Door::Lines { task, .. } => {
                task.abort();
                // It ends as it was told to, with nothing to say.
                let _ = task.await;
            }
            Door::Path { key, path } => {
                if let Some(front) = self.leave(name, &key, &path) {
                    front.close().await;
                }
            }
        }
    }

    /// The same where nobody waits for the port.
    pub(super) fn drop_door(&mut self, name: &str, door: Door) {
        match door {
            Door::Lines { task, .. } => task.abort(),
            Door::Path { key, path } => drop(self.leave(name, &key, &path)),
        }
    }

    /// The front, if that was its last door.
    fn leave(&mut self, name: &str, key: &Key, path: &str) -> Option<Front> {
        let (front, _) = self.fronts.get(key)?;
        front.remove(path, name);
        if front.is_empty() { self.fronts.remove(key).map(|(front, _)| front) } else { None }
    }
}

async fn take(listener: TcpListener, to: mpsc::Sender<Connection>) {
    let trouble = Episode::default();
    loop {
        match accept(&listener).await {
            Ok(connection) => {
                if to.send(connection).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                trouble.happens(|unsaid| tracing::warn!(%error, unsaid, "a connection could not be taken"));
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
