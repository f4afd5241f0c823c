//! How a producer is reached over the network (contract 2, 3.1, 12).

use std::cell::Cell;
use std::io;
use std::time::Duration;

use mcpl_certs::ClientStore;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::Connection;
use super::listen::{keep_alive, lines};
use super::ws::request::{Wanted, shake_hands};
use crate::config::{ConnectAuth, ConnectTls, Endpoint, Scheme};
use crate::keyring::Keyring;
use crate::token::Token;

mod patience;
mod reason;

pub use self::patience::{HEALTH, Patience};
pub use self::reason::Reason;
pub(crate) use self::reason::{Settings, distrust};

/// How long before the end of its time a dial is tried for the last time.
const LAST: Duration = Duration::from_millis(100);
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(10);

/// Where a producer is, and who we are to it.
#[derive(Clone, Debug)]
pub struct Destination {
    endpoint: Endpoint,
    tls: ConnectTls,
    auth: Option<ConnectAuth>,
}

impl Destination {
    /// An address of a configuration with its `connect_tls` and `connect_auth`.
    pub fn new(endpoint: &Endpoint, tls: Option<&ConnectTls>, auth: Option<&ConnectAuth>) -> Self {
        Self { endpoint: endpoint.clone(), tls: tls.cloned().unwrap_or_default(), auth: auth.cloned() }
    }

    /// For people: without the query, which may hold a token.
    fn shown(&self) -> String {
        let shown = self.endpoint.shown().configured;
        shown.split('?').next().unwrap_or_default().to_owned()
    }
}

/// Why the producer was not reached.
#[derive(Debug, thiserror::Error)]
#[error("{address} was not reached within {within_ms} ms ({attempts} attempts): {reason}")]
pub struct DialError {
    /// The address as configured, without its query.
    pub address: String,
    /// `connect_timeout_ms`.
    pub within_ms: u64,
    /// How often it was tried.
    pub attempts: u32,
    /// What the last attempt came to.
    pub reason: Reason,
}

/// What outlives a dial: how patient we are with the producer, and where the certificates are found.
#[derive(Debug, Default)]
pub struct Dialer {
    patience: Cell<Patience>,
    keyring: Keyring,
}

impl Dialer {
    /// Patient, with these certificates.
    pub fn new(keyring: Keyring) -> Self {
        Self { patience: Cell::default(), keyring }
    }

    /// Dials until the producer answers or `within` is over. A failed attempt is tried again after a back-off
    /// with jitter, which is reset only when a connection lived for [`HEALTH`]: see [`Patience`].
    ///
    /// # Errors
    /// [`DialError`], with the address, the attempts and the last reason.
    pub async fn dial(&self, to: &Destination, within: Duration) -> Result<Connection, DialError> {
        let end = Instant::now() + within;
        // However long the next wait would be, it is tried once more before the time is over.
        let last = end - LAST.min(within / 2);
        let mut attempts = 0;
        let mut reason = None;
        loop {
            let mut patience = self.patience.get();
            let next = patience.next_attempt();
            if attempts == 0 {
                // With little time at least one attempt is made.
                sleep_until(next.min(end - within.min(ATTEMPT) / 2)).await;
            } else if Instant::now() >= last {
                sleep_until(end).await;
                break;
            } else {
                sleep_until(next.min(last)).await;
            }
            attempts += 1;
            let limit = end.min(Instant::now() + ATTEMPT);
            match timeout_at(limit, self.attempt(to)).await {
                Ok(Ok(connection)) => {
                    patience.connected();
                    self.patience.set(patience);
                    return Ok(connection);
                }
                Ok(Err(error)) => reason = Some(error),
                Err(_) => {
                    reason.get_or_insert(Reason::Silence);
                }
            }
            patience.failed();
            self.patience.set(patience);
        }
        let reason = reason.unwrap_or(Reason::Silence);
        Err(DialError { address: to.shown(), within_ms: within.as_millis() as u64, attempts, reason })
    }

    /// The connection of the last dial is over; `by_producer`: it was the producer that ended it.
    pub fn ended(&self, by_producer: bool) {
        let mut patience = self.patience.get();
        patience.ended(by_producer);
        self.patience.set(patience);
    }

    async fn attempt(&self, to: &Destination) -> Result<Connection, Reason> {
        let Endpoint { scheme, at, target, .. } = &to.endpoint;
        // What can be wrong on our side is looked at first: it needs no connection.
        let token = match &to.auth {
            None => None,
            Some(auth) => Some((Token::from(&auth.token).read().await.map_err(Reason::Token)?, auth.form)),
        };
        let secure = matches!(scheme, Scheme::Wss | Scheme::Mcpl);
        let store = if secure { Some(self.store(&to.tls).await?) } else { None };
        let stream = connect(&at.host, at.port).await?;
        let peer = stream.peer_addr().map_err(Reason::Io)?;
        if *scheme == Scheme::Tcp {
            return lines(stream, peer).map_err(Reason::Io);
        }
        keep_alive(&stream).map_err(Reason::Io)?;
        let own_port = at.port == if secure { 443 } else { 80 };
        let authority = at.to_string();
        let host = if own_port {
            authority.rsplit_once(':').map_or(&*authority, |(host, _)| host)
        } else {
            &*authority
        };
        let token = token.as_ref().map(|(secret, form)| (secret, *form));
        let wanted = Wanted { host, target, token };
        let Some(store) = store else { return shake_hands(stream, &wanted, peer.to_string()).await };
        let name = to.tls.server_name.as_ref().unwrap_or(&at.host);
        let name =
            ServerName::try_from(name.clone()).map_err(|_| Reason::Address("its host is no name for TLS"))?;
        let stream = TlsConnector::from(store.config()).connect(name, stream).await;
        shake_hands(stream.map_err(|error| Reason::tls(&error))?, &wanted, peer.to_string()).await
    }

    /// The store of these files, which is opened if it is not yet.
    async fn store(&self, tls: &ConnectTls) -> Result<ClientStore, Reason> {
        let (keyring, tls) = (self.keyring.clone(), tls.clone());
        let opened = tokio::task::spawn_blocking(move || keyring.client(Some(&tls)));
        opened.await.map_err(|error| Reason::Io(io::Error::other(error)))?.map_err(Reason::Certificates)
    }
}

/// Connects to the first of a name's addresses that takes it.
async fn connect(host: &str, port: u16) -> Result<TcpStream, Reason> {
    let addresses = lookup_host((host, port)).await.map_err(Reason::Name)?;
    let mut reason = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            // Dialling a free port of one's own range can meet itself; there is no producer there.
            Ok(stream) if stream.local_addr().ok() == Some(address) => {
                reason = Some(Reason::Io(io::ErrorKind::ConnectionRefused.into()));
            }
            Ok(stream) => return Ok(stream),
            Err(error) => reason = Some(Reason::Io(error)),
        }
    }
    Err(reason.unwrap_or_else(|| Reason::Name(io::Error::other("it has no address"))))
}

#[cfg(test)]
mod tests;
