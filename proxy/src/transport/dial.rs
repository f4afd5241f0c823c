//! Where the producer is reached: `tcp://host:port` (contract 2, 3.1).

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout_at};

use super::Connection;
use super::listen::tcp;

const BACK_OFF_FIRST: Duration = Duration::from_millis(20);
const BACK_OFF_MOST: Duration = Duration::from_millis(500);

/// Where somebody is reached, as the configuration writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The process's own stdin and stdout.
    Stdio,
    /// `host:port`.
    Tcp(String),
    /// A scheme of the contract that this build does not speak.
    Unsupported {
        /// `ws`, `wss` or `mcpl`.
        scheme: String,
        /// What follows `://`.
        rest: String,
    },
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Neither `stdio` nor a known scheme.
    #[error("`{0}` is not an address; write stdio, tcp://host:port, ws://…, wss://… or mcpl://…")]
    Scheme(String),
    /// No host, or no port.
    #[error("`{0}` needs a host and a port from 0 to 65535: tcp://127.0.0.1:7000")]
    Port(String),
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.split_once("://") {
            None if text == "stdio" => Ok(Self::Stdio),
            Some(("tcp", authority)) => {
                let (host, port) =
                    authority.rsplit_once(':').ok_or_else(|| AddressError::Port(text.to_owned()))?;
                let bare_v6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
                let clean = !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']) && !bare_v6;
                if clean && port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok() {
                    Ok(Self::Tcp(authority.to_owned()))
                } else {
                    Err(AddressError::Port(text.to_owned()))
                }
            }
            Some((scheme @ ("ws" | "wss" | "mcpl"), rest)) => {
                Ok(Self::Unsupported { scheme: scheme.to_owned(), rest: rest.to_owned() })
            }
            _ => Err(AddressError::Scheme(text.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio => f.write_str("stdio"),
            Self::Tcp(authority) => write!(f, "tcp://{authority}"),
            // Nothing but the scheme: what follows may hold a token.
            Self::Unsupported { scheme, .. } => write!(f, "{scheme}://…"),
        }
    }
}

/// Why the producer was not reached.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// Every attempt failed until the time was over.
    #[error("{address} was not reached within {within_ms} ms ({attempts} attempts): {source}")]
    Unreachable {
        /// The address as configured.
        address: String,
        /// `connect_timeout_ms`.
        within_ms: u64,
        /// How often it was tried.
        attempts: u32,
        /// What the last attempt said.
        source: io::Error,
    },
    /// The scheme is not spoken, or nothing can be dialled there.
    #[error("cannot dial {0}: not supported by this build yet; use tcp://host:port")]
    Unsupported(String),
}

/// Dials `tcp://host:port` until it answers or `within` is over; a refused attempt is tried again after 20 ms,
/// then twice that, up to 500 ms.
///
/// # Errors
/// [`DialError`], with the address and the last reason.
pub async fn dial(address: &Address, within: Duration) -> Result<Connection, DialError> {
    let Address::Tcp(authority) = address else {
        return Err(DialError::Unsupported(address.to_string()));
    };
    let end = Instant::now() + within;
    let mut back_off = BACK_OFF_FIRST;
    let mut attempts = 0;
    let mut reason = io::Error::from(io::ErrorKind::TimedOut);
    loop {
        attempts += 1;
        match timeout_at(end, attempt(authority)).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => reason = error,
            Err(_) => {}
        }
        if Instant::now() + back_off >= end {
            let within_ms = within.as_millis() as u64;
            let address = address.to_string();
            return Err(DialError::Unreachable { address, within_ms, attempts, source: reason });
        }
        sleep(back_off).await;
        back_off = (back_off * 2).min(BACK_OFF_MOST);
    }
}

async fn attempt(authority: &str) -> io::Result<Connection> {
    let stream = TcpStream::connect(authority).await?;
    let peer = stream.peer_addr()?;
    // Dialling a free port of one's own range can meet itself; there is no producer there.
    if stream.local_addr()? == peer {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    tcp(stream, peer)
}

#[cfg(test)]
mod tests;
