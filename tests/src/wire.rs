//! What carries the lines between the program and the fakes.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::identity::{Authority, Identity, Leaf, client_settings, server_settings};
use crate::websocket::{Knock, LineSocket, Watch};

/// What a world's host and producer speak to the program with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// Lines over TCP.
    Lines,
    /// WebSocket.
    WebSocket,
    /// WebSocket over TLS.
    Secure,
}

impl Carrier {
    /// What the worlds of this test program use. The same tests are compiled into several programs, and the
    /// program's name says over what they run; each has a test that looks at the bytes on the wire.
    pub fn here() -> Self {
        static HERE: OnceLock<Carrier> = OnceLock::new();
        *HERE.get_or_init(|| {
            let program = std::env::current_exe().expect("the running test has a path");
            let name = program.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
            // cargo names it TEST-HASH.
            match name.rsplit_once('-').map_or(name.as_str(), |(name, _)| name) {
                "over_ws" => Self::WebSocket,
                "over_wss" => Self::Secure,
                name if name.starts_with("over_") => panic!("{name} names no carrier"),
                _ => Self::Lines,
            }
        })
    }

    fn scheme(self) -> &'static str {
        match self {
            Self::Lines => "tcp",
            Self::WebSocket => "ws",
            Self::Secure => "wss",
        }
    }

    /// The scheme and the path of an address.
    pub(crate) fn place(self, whose: &str) -> (String, String) {
        (self.scheme().to_owned(), self.path(whose))
    }

    fn path(self, whose: &str) -> String {
        if self == Self::Lines { String::new() } else { format!("/{whose}") }
    }

    /// The lines that a producer's configuration needs besides its addresses, by the name of their table; the
    /// files they name are put into `folder`.
    pub(crate) fn tables(self, folder: &Path) -> Vec<(&'static str, &'static str)> {
        if self != Self::Secure {
            return Vec::new();
        }
        identity().write(folder, "here");
        std::fs::write(folder.join("ca.crt"), &Authority::common().pem).expect("a folder to write in");
        vec![
            ("listen_tls", "cert_file = \"here.crt\"\nkey_file = \"here.key\"\nclient_ca_file = \"ca.crt\""),
            ("connect_tls", "ca_file = \"ca.crt\"\ncert_file = \"here.crt\"\nkey_file = \"here.key\""),
        ]
    }

    /// The host's end of a fresh connection to the program.
    pub(crate) async fn knock(self, stream: TcpStream, port: u16) -> Wire {
        let _ = stream.set_nodelay(true);
        if self == Self::Lines {
            return stream.into();
        }
        let (tap, seen) = Tap::on(stream);
        let knock = Knock::at(&format!("{}://127.0.0.1:{port}{}", self.scheme(), self.path("host")));
        let socket = if self == Self::WebSocket {
            LineSocket::knock(tap, knock).await
        } else {
            let name = ServerName::try_from("127.0.0.1").expect("a name");
            let settings = client_settings(&Authority::common().pem, Some(identity()));
            let stream = TlsConnector::from(settings).connect(name, tap).await.expect("a handshake of TLS");
            LineSocket::knock(stream, knock).await
        };
        let (socket, _) = socket.unwrap_or_else(|refused| panic!("the host is not let in: {refused:?}"));
        Wire { end: End::Messages(socket), seen: Some(seen) }
    }

    /// The producer's end of a connection that the program made.
    pub(crate) async fn welcome(self, stream: TcpStream) -> Wire {
        let _ = stream.set_nodelay(true);
        if self == Self::Lines {
            return stream.into();
        }
        let (tap, seen) = Tap::on(stream);
        let socket = if self == Self::WebSocket {
            LineSocket::welcome(tap).await
        } else {
            let settings = server_settings(identity(), Some(&Authority::common().pem));
            let stream = TlsAcceptor::from(settings).accept(tap).await.expect("a handshake of TLS");
            LineSocket::welcome(stream).await
        };
        let (socket, asked) = socket.unwrap_or_else(|refused| panic!("the program dials, and: {refused:?}"));
        assert_eq!(asked.uri().path(), self.path("producer"), "it dialled another path than it was told");
        Wire { end: End::Messages(socket), seen: Some(seen) }
    }
}

/// Who all fakes of this process are, and the program as well.
fn identity() -> &'static Identity {
    static MADE: OnceLock<Identity> = OnceLock::new();
    MADE.get_or_init(|| Authority::common().issue(&Leaf::local()))
}

/// The first bytes that went out and came in, below everything.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<(Vec<u8>, Vec<u8>)>>);

impl Seen {
    const MOST: usize = 4096;

    /// What went out.
    pub fn said(&self) -> Vec<u8> {
        self.0.lock().unwrap().0.clone()
    }

    /// What came in.
    pub fn heard(&self) -> Vec<u8> {
        self.0.lock().unwrap().1.clone()
    }
}

fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    let room = Seen::MOST.saturating_sub(kept.len()).min(bytes.len());
    kept.extend_from_slice(&bytes[..room]);
}

/// A connection that is looked at.
struct Tap {
    stream: TcpStream,
    seen: Seen,
}

impl Tap {
    fn on(stream: TcpStream) -> (Self, Seen) {
        let seen = Seen::default();
        (Self { stream, seen: seen.clone() }, seen)
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, into);
        keep(&mut self.seen.0.lock().unwrap().1, &into.filled()[before..]);
        outcome
    }
}

impl AsyncWrite for Tap {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = outcome {
            keep(&mut self.seen.0.lock().unwrap().0, &bytes[..count]);
        }
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// One end of a connection that carries lines, whatever they travel in.
pub struct Wire {
    end: End,
    seen: Option<Seen>,
}

enum End {
    Lines(TcpStream),
    Messages(LineSocket),
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

impl From<TcpStream> for Wire {
    fn from(stream: TcpStream) -> Self {
        Self { end: End::Lines(stream), seen: None }
    }
}

impl From<LineSocket> for Wire {
    fn from(socket: LineSocket) -> Self {
        Self { end: End::Messages(socket), seen: None }
    }
}

impl Wire {
    /// Two streams of lines.
    pub fn of(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self { end: End::Streams(Box::new(read), Box::new(write)), seen: None }
    }

    /// The bytes below a WebSocket of a world's.
    pub fn seen(&self) -> Option<Seen> {
        self.seen.clone()
    }

    /// How a WebSocket will have been closed.
    pub fn watch(&self) -> Option<Watch> {
        match &self.end {
            End::Lines(_) | End::Streams(..) => None,
            End::Messages(socket) => Some(socket.watch()),
        }
    }

    /// Its two halves.
    pub fn into_split(self) -> (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>) {
        match self.end {
            End::Lines(stream) => {
                let (read, write) = stream.into_split();
                (Box::new(read), Box::new(write))
            }
            End::Messages(socket) => {
                let (read, write) = socket.into_split();
                (Box::new(read), Box::new(write))
            }
            End::Streams(read, write) => (read, write),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.end {
            End::Lines(stream) => Pin::new(stream).poll_read(cx, into),
            End::Messages(socket) => Pin::new(socket).poll_read(cx, into),
            End::Streams(read, _) => Pin::new(read).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.end {
            End::Lines(stream) => Pin::new(stream).poll_write(cx, bytes),
            End::Messages(socket) => Pin::new(socket).poll_write(cx, bytes),
            End::Streams(_, write) => Pin::new(write).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.end {
            End::Lines(stream) => Pin::new(stream).poll_flush(cx),
            End::Messages(socket) => Pin::new(socket).poll_flush(cx),
            End::Streams(_, write) => Pin::new(write).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.end {
            End::Lines(stream) => Pin::new(stream).poll_shutdown(cx),
            End::Messages(socket) => Pin::new(socket).poll_shutdown(cx),
            End::Streams(_, write) => Pin::new(write).poll_shutdown(cx),
        }
    }
}
