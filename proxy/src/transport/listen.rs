//! Where hosts reach us: a TCP port, for lines or for WebSocket (contract 2, 3.1).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use super::Connection;

/// Why nothing can listen at an address.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address}: {source}; {}", remedy(.source))]
pub struct ListenError {
    /// The address as configured, without path and query.
    pub address: String,
    /// What the system said.
    pub source: io::Error,
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there: stop it, or choose another port",
        io::ErrorKind::AddrNotAvailable => {
            "no interface of this machine has that address: use 127.0.0.1 or 0.0.0.0"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 need privileges: choose a higher port",
        _ => "check the host name and the port",
    }
}

/// How long a connection is idle before its peer is asked whether it is there.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

/// Binds `host:port`; the port may be 0, for any. `address` is what to call it in an error.
///
/// # Errors
/// [`ListenError`], with the address and what can be done.
pub async fn bind(authority: &str, address: &str) -> Result<TcpListener, ListenError> {
    let failed = |source| ListenError { address: address.to_owned(), source };
    TcpListener::bind(authority).await.map_err(failed)
}

/// Where a listener is in fact, for people: a configured port may be 0. Where the system does not say, as `configured`.
#[must_use]
pub fn bound_to(listener: &TcpListener, configured: &str) -> String {
    listener.local_addr().map_or_else(|_| configured.to_owned(), |at| at.to_string())
}

/// The next connection of a port for lines. Cancel-safe.
///
/// # Errors
/// This connection could not be taken (descriptors ran out, it was gone again): wait a little, then go on.
pub async fn accept(listener: &TcpListener) -> io::Result<Connection> {
    let (stream, peer) = listener.accept().await?;
    lines(stream, peer)
}

/// Lines over TCP.
pub(super) fn lines(stream: TcpStream, peer: SocketAddr) -> io::Result<Connection> {
    keep_alive(&stream)?;
    let (reader, writer) = stream.into_split();
    Ok(Connection::new(reader, writer, peer.to_string()))
}

/// No delay, and keep-alive (contract 3.1).
pub(super) fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    // A peer that is gone without a word is noticed within two minutes instead of two hours.
    rustix::net::sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
    rustix::net::sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE / 4)?;
    Ok(())
}
