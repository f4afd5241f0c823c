//! A port where hosts ask for a WebSocket: one for several producers, told apart by their paths.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use mcpl_certs::ServerStore;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use super::visit::receive;
use crate::config::TokenSource;
use crate::episode::Episode;
use crate::transport::Connection;
use crate::transport::listen::keep_alive;

/// How long a connection may take until it is a WebSocket: the handshake of TLS, then the request.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// Connections of one port that have not shaken hands yet; while there are as many, those that come wait in the
/// system's queue.
pub const HANDSHAKES: usize = 64;
/// What a handshake may take when others wait for its place: all hosts come at once when a network is back, and none
/// of them is to be shut out for another.
const PLACE: Duration = Duration::from_secs(1);
/// How long no connection is taken after one could not be.
const PAUSE: Duration = Duration::from_millis(100);

/// Where one producer's hosts come in, and who may.
#[derive(Debug)]
pub struct Route {
    /// The producer's name.
    pub producer: String,
    /// The query a request must have, its token not counted; `None`: any.
    pub query: Option<String>,
    /// The token that is asked for.
    pub token: Option<TokenSource>,
    /// Origins of pages that may connect.
    pub origins: Vec<String>,
    /// One of the client certificate's names must be one of these; empty: any will do.
    pub names: Vec<String>,
    /// Its binding.
    pub to: mpsc::Sender<Connection>,
}

/// What is where, by path.
#[derive(Debug, Default)]
pub(super) struct Routes {
    by_path: RefCell<HashMap<String, Rc<Route>>>,
    /// Connections that could not be taken, or shook no hands.
    trouble: Trouble,
}

/// What hosts, and who is none, may bring about as often as they like.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    taking: Episode,
    shaking: Episode,
    /// Requests that are refused.
    pub(super) refused: Episode,
    /// The token cannot be read.
    pub(super) token: Episode,
}

impl Routes {
    pub(super) fn at(&self, path: &str) -> Option<Rc<Route>> {
        self.by_path.borrow().get(path).cloned()
    }

    pub(super) fn trouble(&self) -> &Trouble {
        &self.trouble
    }
}

/// A listening port. Dropped, it is closed; connections that were handed over go on.
#[derive(Debug)]
pub struct Front {
    local: SocketAddr,
    routes: Rc<Routes>,
    tls: Rc<RefCell<Option<ServerStore>>>,
    task: JoinHandle<()>,
}

impl Front {
    /// Takes connections from now on, with TLS if there is a store. To be called on a
    /// [`tokio::task::LocalSet`].
    ///
    /// # Errors
    /// The socket has no address.
    pub fn open(listener: TcpListener, tls: Option<ServerStore>) -> io::Result<Self> {
        let local = listener.local_addr()?;
        let routes = Rc::<Routes>::default();
        let tls = Rc::new(RefCell::new(tls));
        let task = tokio::task::spawn_local(serve(listener, Rc::clone(&routes), Rc::clone(&tls)));
        Ok(Self { local, routes, tls, task })
    }

    /// Where it listens.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Its certificates, from the next connection on.
    pub fn set_tls(&self, store: Option<ServerStore>) {
        *self.tls.borrow_mut() = store;
    }

    /// Its certificates.
    pub fn tls(&self) -> Option<ServerStore> {
        self.tls.borrow().clone()
    }

    /// A producer is at that path from now on; another one there before is not any more.
    pub fn add(&self, path: &str, route: Route) {
        self.routes.by_path.borrow_mut().insert(path.to_owned(), Rc::new(route));
    }

    /// The producer is not at that path any more, if it was.
    pub fn remove(&self, path: &str, producer: &str) {
        let mut routes = self.routes.by_path.borrow_mut();
        if routes.get(path).is_some_and(|route| route.producer == producer) {
            routes.remove(path);
        }
    }

    /// Nobody is here.
    pub fn is_empty(&self) -> bool {
        self.routes.by_path.borrow().is_empty()
    }

    /// Closes the port. It is free when this returns.
    pub async fn close(mut self) {
        self.task.abort();
        // It ends as it was told to, with nothing to say.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, routes: Rc<Routes>, tls: Rc<RefCell<Option<ServerStore>>>) {
    let mut visits: JoinSet<()> = JoinSet::new();
    let mut oldest: VecDeque<(Instant, AbortHandle)> = VecDeque::new();
    loop {
        oldest.retain(|(_, visit)| !visit.is_finished());
        let full = oldest.len() >= HANDSHAKES;
        let place = oldest.front().map_or_else(Instant::now, |(since, _)| *since + PLACE);
        tokio::select! {
            biased;
            Some(_) = visits.join_next() => {}
            () = sleep_until(place), if full => {
                if let Some((_, visit)) = oldest.pop_front() {
                    visit.abort();
                }
            }
            accepted = listener.accept(), if !full => match accepted {
                Ok((stream, peer)) => {
                    let (store, routes) = (tls.borrow().clone(), Rc::clone(&routes));
                    let visit = visits.spawn_local(async move {
                        let visit = visit(stream, peer, store, &routes);
                        match timeout(HANDSHAKE, visit).await {
                            Ok(Ok(())) => {}
                            Ok(Err(error)) => {
                                tracing::debug!(%peer, %error, "a connection did not become a WebSocket");
                            }
                            Err(_) => tracing::debug!(%peer, "a connection did not become a WebSocket in time"),
                        }
                    });
                    oldest.push_back((Instant::now(), visit));
                }
                Err(error) => {
                    let say = |unsaid| tracing::warn!(%error, unsaid, "a connection could not be taken");
                    routes.trouble.taking.happens(say);
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
}

async fn visit(
    stream: TcpStream,
    peer: SocketAddr,
    store: Option<ServerStore>,
    routes: &Routes,
) -> io::Result<()> {
    keep_alive(&stream)?;
    let peer = peer.to_string();
    let received = match store {
        None => receive(stream, &peer, routes).await?,
        Some(store) => {
            let stream = TlsAcceptor::from(store.config()).accept(stream).await.inspect_err(|error| {
                let say = |unsaid| tracing::info!(peer, %error, unsaid, "a TLS handshake failed");
                routes.trouble.shaking.happens(say);
            })?;
            receive(stream, &peer, routes).await?
        }
    };
    if let Some((route, connection)) = received {
        // A binding that ended meanwhile leaves the connection to be dropped.
        let _ = route.to.send(connection).await;
    }
    Ok(())
}
