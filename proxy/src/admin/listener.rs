//! Taking connections: so many at a time, the rest told to come again.

use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connection::{self, HANDSHAKE_WITHIN};
use super::desk::Desk;
use super::gate::Gate;
use super::socket::Control;
use super::tls::Tls;
use crate::episode::Episode;
use crate::token::Token;

/// Connections served at a time, on each of the two listeners; one more is answered 503 and closed, and
/// while as many are being told so, the next is closed without a word.
pub const CONNECTIONS: usize = 64;

/// How long no connection is taken after one could not be.
const PAUSE: Duration = Duration::from_millis(100);

/// How long telling it may take.
const TURNED_AWAY_WITHIN: Duration = Duration::from_secs(1);

/// What one connection too many is told.
const FULL: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
                    cache-control: no-store\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 78\r\n\r\n\
                    {\"error\":\"too many connections\",\"hint\":\"close some, or try again in a second\"}";

/// What a TCP listener asks of who comes.
#[derive(Debug)]
pub struct Terms {
    /// Where it listens as configured, with its port or without: besides the loopback names, its host is what
    /// the listener may be called.
    pub address: String,
    /// All but `/live` and `/ready` ask for it.
    pub token: Option<Token>,
    /// TLS; without it, plain HTTP.
    pub tls: Option<Tls>,
}

/// Serves the routes on TCP until `closed` comes; then nobody is let in any more, and it returns once those who
/// are in are gone. Dropped, it drops every connection. To be run on a [`tokio::task::LocalSet`].
pub async fn serve_tcp<D: Desk>(
    listener: Rc<TcpListener>,
    terms: Terms,
    desk: Rc<D>,
    closed: impl Future<Output = ()>,
) {
    let Terms { address, token, tls } = terms;
    let gate = Gate::tcp(&address, token);
    serve(Door::Tcp(listener, tls.map(Rc::new)), gate, desk, closed).await;
}

/// Serves the routes on the socket in the state directory until it is dropped. To be run on a
/// [`tokio::task::LocalSet`].
pub async fn serve_unix<D: Desk>(control: Control, desk: Rc<D>) {
    serve(Door::Unix(control), Gate::Socket, desk, std::future::pending()).await;
}

enum Door {
    Tcp(Rc<TcpListener>, Option<Rc<Tls>>),
    Unix(Control),
}

/// A connection of any kind.
enum Visitor {
    Plain(Box<dyn Stream>),
    /// One that has a handshake before it.
    Tls(TcpStream, Rc<Tls>),
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Door {
    async fn accept(&self) -> io::Result<Visitor> {
        match self {
            Self::Tcp(listener, tls) => {
                let (stream, _) = listener.accept().await?;
                Ok(match tls {
                    Some(tls) => Visitor::Tls(stream, Rc::clone(tls)),
                    None => Visitor::Plain(Box::new(stream)),
                })
            }
            Self::Unix(control) => Ok(Visitor::Plain(Box::new(control.listener.accept().await?.0))),
        }
    }
}

/// Serves one visitor to the end.
async fn attend<D: Desk>(visitor: Visitor, gate: Rc<Gate>, desk: Rc<D>) {
    match visitor {
        Visitor::Plain(stream) => connection::serve(stream, gate, desk).await,
        Visitor::Tls(stream, tls) => match timeout(HANDSHAKE_WITHIN, tls.accept(stream)).await {
            Ok(Ok((stream, true))) => connection::serve(stream, gate, desk).await,
            // It is told why over HTTP, which a peer can read.
            Ok(Ok((stream, false))) => connection::serve(stream, Rc::new(Gate::Stranger), desk).await,
            Ok(Err(error)) => tracing::debug!(%error, "an admin connection ended in its TLS handshake"),
            Err(_) => tracing::debug!("an admin connection took too long for its TLS handshake"),
        },
    }
}

async fn serve<D: Desk>(door: Door, gate: Gate, desk: Rc<D>, closed: impl Future<Output = ()>) {
    let gate = Rc::new(gate);
    let mut closed = pin!(closed);
    let mut served: JoinSet<()> = JoinSet::new();
    let mut turned_away: JoinSet<()> = JoinSet::new();
    let trouble = Episode::default();
    loop {
        tokio::select! {
            // Those that have ended make room before the next is counted.
            biased;
            () = closed.as_mut() => break,
            Some(_) = served.join_next() => {}
            Some(_) = turned_away.join_next() => {}
            visitor = door.accept() => match visitor {
                Ok(visitor) if served.len() >= CONNECTIONS => {
                    // What is not TLS would be noise to who speaks TLS.
                    if let Visitor::Plain(visitor) = visitor
                        && turned_away.len() < CONNECTIONS
                    {
                        turned_away.spawn_local(turn_away(visitor));
                    }
                }
                Ok(visitor) => {
                    served.spawn_local(attend(visitor, Rc::clone(&gate), Rc::clone(&desk)));
                }
                Err(error) => {
                    trouble.happens(|unsaid| {
                        tracing::warn!(%error, unsaid, "an admin connection could not be taken");
                    });
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
    drop(door);
    while served.join_next().await.is_some() {}
}

/// Says so, once something has come in: what is closed with something unread is reset.
async fn turn_away(mut visitor: Box<dyn Stream>) {
    let told = async {
        let _ = visitor.read(&mut [0; 4096]).await?;
        visitor.write_all(FULL.as_bytes()).await?;
        visitor.shutdown().await
    };
    // Who does not listen is closed all the same.
    let _: Result<io::Result<()>, _> = timeout(TURNED_AWAY_WITHIN, told).await;
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_one_too_many_is_told_is_as_long_as_it_says() {
        let (head, body) = super::FULL.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("\r\ncontent-length: {}", body.len())), "{}", body.len());
        serde_json::from_str::<serde_json::Value>(body).unwrap();
    }
}
