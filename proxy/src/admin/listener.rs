//! Taking connections: so many at a time, the rest told to come again.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connection;
use super::desk::Desk;
use super::gate::Gate;
use super::socket::Control;
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

/// Serves the routes on TCP until it is dropped, and every connection with it. `address` is where it
/// listens as configured, with its port or without: besides the loopback names, its host is what the
/// listener may be called. With a token, all but `/live` and `/ready` ask for it. To be run on a
/// [`tokio::task::LocalSet`].
pub async fn serve_tcp<D: Desk>(listener: TcpListener, address: &str, token: Option<Token>, desk: Rc<D>) {
    serve(Door::Tcp(listener), Gate::tcp(address, token), desk).await;
}

/// Serves the routes on the socket in the state directory until it is dropped. To be run on a
/// [`tokio::task::LocalSet`].
pub async fn serve_unix<D: Desk>(control: Control, desk: Rc<D>) {
    serve(Door::Unix(control), Gate::Socket, desk).await;
}

enum Door {
    Tcp(TcpListener),
    Unix(Control),
}

/// A connection of either kind.
type Visitor = Box<dyn Stream>;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Door {
    async fn accept(&self) -> io::Result<Visitor> {
        match self {
            Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| Box::new(stream) as Visitor),
            Self::Unix(control) => {
                control.listener.accept().await.map(|(stream, _)| Box::new(stream) as Visitor)
            }
        }
    }
}

async fn serve<D: Desk>(door: Door, gate: Gate, desk: Rc<D>) {
    let gate = Rc::new(gate);
    let mut served: JoinSet<()> = JoinSet::new();
    let mut turned_away: JoinSet<()> = JoinSet::new();
    loop {
        tokio::select! {
            // Those that have ended make room before the next is counted.
            biased;
            Some(_) = served.join_next() => {}
            Some(_) = turned_away.join_next() => {}
            visitor = door.accept() => match visitor {
                Ok(visitor) if served.len() >= CONNECTIONS => {
                    if turned_away.len() < CONNECTIONS {
                        turned_away.spawn_local(turn_away(visitor));
                    }
                }
                Ok(visitor) => {
                    served.spawn_local(connection::serve(visitor, Rc::clone(&gate), Rc::clone(&desk)));
                }
                Err(error) => {
                    tracing::warn!(%error, "an admin connection could not be taken");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
}

/// Says so, once something has come in: what is closed with something unread is reset.
async fn turn_away(mut visitor: Visitor) {
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
