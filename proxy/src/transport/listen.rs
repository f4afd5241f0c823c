//! Where the host reaches us: `stdio` or `tcp://host:port` (contract 2, 3.1).

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use super::dial::Address;
use super::{Connection, stdio};

/// Somewhere hosts come from.
#[derive(Debug)]
pub enum Listener {
    /// The process's own stdin and stdout: one connection, ever.
    Stdio {
        /// It has been given out.
        taken: bool,
    },
    /// A TCP socket.
    Tcp(TcpListener),
}

/// Why nothing can listen at an address.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address cannot be bound.
    #[error("cannot listen at {address}: {source}; {}", remedy(.source))]
    Bind {
        /// The address as configured.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The scheme is not served.
    #[error(
        "cannot listen at {address}: {scheme}:// is not supported by this build yet; use tcp:// or stdio"
    )]
    Unsupported {
        /// The address as configured.
        address: String,
        /// Its scheme.
        scheme: String,
    },
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

/// Listens at `stdio` or `tcp://host:port`.
///
/// # Errors
/// [`ListenError`], with the address and what can be done.
pub async fn listen(address: &Address) -> Result<Listener, ListenError> {
    match address {
        Address::Stdio => Ok(Listener::Stdio { taken: false }),
        Address::Tcp(authority) => match TcpListener::bind(authority.as_str()).await {
            Ok(listener) => Ok(Listener::Tcp(listener)),
            Err(source) => Err(ListenError::Bind { address: address.to_string(), source }),
        },
        Address::Unsupported { scheme, .. } => {
            Err(ListenError::Unsupported { address: address.to_string(), scheme: scheme.clone() })
        }
    }
}

impl Listener {
    /// The next connection. Cancel-safe. On stdio there is one; after it this never returns.
    ///
    /// # Errors
    /// This connection could not be taken (descriptors ran out, it was gone again): wait a little, then go on.
    pub async fn accept(&mut self) -> io::Result<Connection> {
        match self {
            Self::Stdio { taken } if *taken => pending().await,
            Self::Stdio { taken } => {
                *taken = true;
                stdio::take()
            }
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                tcp(stream, peer)
            }
        }
    }

    /// The bound TCP address, of which the port may have been chosen by the system.
    pub fn local(&self) -> Option<SocketAddr> {
        match self {
            Self::Stdio { .. } => None,
            Self::Tcp(listener) => listener.local_addr().ok(),
        }
    }
}

/// A TCP connection without delay and with keep-alive (contract 3.1).
pub(super) fn tcp(stream: TcpStream, peer: SocketAddr) -> io::Result<Connection> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
    // A peer that is gone without a word is noticed within two minutes instead of two hours.
    rustix::net::sockopt::set_tcp_keepidle(&stream, KEEP_ALIVE)?;
    rustix::net::sockopt::set_tcp_keepintvl(&stream, KEEP_ALIVE / 4)?;
    let (reader, writer) = stream.into_split();
    Ok(Connection::new(reader, writer, peer.to_string()))
}
