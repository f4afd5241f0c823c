//! Lines over WebSocket: a line is a text message, and a piece of one a fragment.
//!
//! The sockets are tungstenite's, so that the program is not tested against a second copy of itself.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf as _, Bytes};
use futures_util::{Sink as _, Stream as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::{Request, Response};
use tokio_tungstenite::tungstenite::http;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// A stream of bytes, whatever it is.
pub trait Bidirectional: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bidirectional for T {}

/// How the other side closed a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parting {
    /// The close code; none where the close frame had none.
    pub code: Option<u16>,
    /// Its reason.
    pub reason: String,
}

impl From<Option<CloseFrame>> for Parting {
    fn from(frame: Option<CloseFrame>) -> Self {
        match frame {
            Some(frame) => Self { code: Some(frame.code.into()), reason: frame.reason.to_string() },
            None => Self { code: None, reason: String::new() },
        }
    }
}

/// A handshake that came to nothing.
#[derive(Debug)]
pub enum Refused {
    /// The other side said no: status and body.
    Answer(u16, String),
    /// It said nothing that could be read.
    Broken(String),
}

/// One end of a WebSocket that takes lines and gives lines.
pub struct LineSocket {
    read: ReadEnd,
    write: WriteEnd,
}

struct Socket {
    /// None: it was dropped without a close frame, as by a process that dies.
    stream: Option<WebSocketStream<Box<dyn Bidirectional>>>,
    /// What came and was not read.
    come: Bytes,
    /// A message has begun whose last fragment was not written.
    is_inside: bool,
    is_closed: bool,
    parting: Option<Parting>,
    reader: Option<Waker>,
}

/// What a client says to be let in.
#[derive(Debug, Clone)]
pub struct Knock(Request);

impl Knock {
    /// At this address: `ws://host:port/path?query`.
    pub fn at(address: &str) -> Self {
        Self(address.into_client_request().expect("an address"))
    }

    /// With one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.0.headers_mut().append(name, value.parse().expect("a header's value"));
        self
    }
}

impl LineSocket {
    /// As the client, on an open connection; with what the server said.
    ///
    /// # Errors
    /// [`Refused`]: how it was not let in.
    pub async fn knock(
        stream: impl Bidirectional + 'static,
        knock: Knock,
    ) -> Result<(Self, http::HeaderMap), Refused> {
        let stream: Box<dyn Bidirectional> = Box::new(stream);
        match tokio_tungstenite::client_async_with_config(knock.0, stream, Some(limits())).await {
            Ok((stream, answer)) => Ok((Self::on(stream), answer.headers().clone())),
            Err(Error::Http(answer)) => Err(refused(&answer)),
            Err(error) => Err(Refused::Broken(error.to_string())),
        }
    }

    /// As the server, on an accepted connection; with what the client asked for.
    ///
    /// # Errors
    /// The client did not ask for a WebSocket.
    #[allow(clippy::result_large_err)] // What a look may answer with is tungstenite's.
    pub async fn welcome(stream: impl Bidirectional + 'static) -> Result<(Self, http::Request<()>), Refused> {
        let mut asked = None;
        let look = |request: &http::Request<()>, mut answer: http::Response<()>| {
            let offered = request.headers().get("sec-websocket-protocol");
            if offered
                .and_then(|it| it.to_str().ok())
                .is_some_and(|it| it.split(',').any(|it| it.trim() == "mcpl"))
            {
                answer.headers_mut().insert("sec-websocket-protocol", http::HeaderValue::from_static("mcpl"));
            }
            asked = Some(request.clone());
            Ok(answer)
        };
        let stream: Box<dyn Bidirectional> = Box::new(stream);
        let welcomed = tokio_tungstenite::accept_hdr_async_with_config(stream, look, Some(limits())).await;
        let stream = welcomed.map_err(|error| Refused::Broken(error.to_string()))?;
        Ok((Self::on(stream), asked.expect("it was looked at")))
    }

    fn on(stream: WebSocketStream<Box<dyn Bidirectional>>) -> Self {
        let socket = Arc::new(Mutex::new(Socket {
            stream: Some(stream),
            come: Bytes::new(),
            is_inside: false,
            is_closed: false,
            parting: None,
            reader: None,
        }));
        Self { read: ReadEnd(socket.clone()), write: WriteEnd(socket) }
    }

    /// A look at it that outlives its halves.
    pub fn watch(&self) -> Watch {
        Watch(self.read.0.clone())
    }

    /// Its two halves. Dropping the writing half without a shutdown is the death of the process.
    pub fn into_split(self) -> (ReadEnd, WriteEnd) {
        (self.read, self.write)
    }
}

/// No limit of ours, and nothing kept back: what the kernel does not take waits with the writer.
fn limits() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(None).max_frame_size(None).write_buffer_size(0)
}

fn refused(answer: &Response) -> Refused {
    let body = answer.body().as_deref().unwrap_or_default();
    Refused::Answer(answer.status().as_u16(), String::from_utf8_lossy(body).into_owned())
}

/// How a WebSocket was closed, for as long as anyone asks.
#[derive(Clone)]
pub struct Watch(Arc<Mutex<Socket>>);

impl Watch {
    /// How the other side closed, if it did.
    pub fn parting(&self) -> Option<Parting> {
        self.0.lock().unwrap().parting.clone()
    }
}

/// What is heard, a line a message.
pub struct ReadEnd(Arc<Mutex<Socket>>);

/// What is said, a message a line.
pub struct WriteEnd(Arc<Mutex<Socket>>);

impl Socket {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while self.come.is_empty() {
            let Some(stream) = self.stream.as_mut() else { return Poll::Ready(Ok(())) };
            let Poll::Ready(message) = Pin::new(stream).poll_next(cx) else {
                self.reader = Some(cx.waker().clone());
                return Poll::Pending;
            };
            match message {
                Some(Ok(Message::Text(text))) => {
                    let text = Bytes::from(text);
                    assert!(!text.contains(&b'\n'), "the test reads lines, and a message has several");
                    self.come = [&text[..], b"\n"].concat().into();
                }
                Some(Ok(Message::Close(frame))) => self.parting = Some(frame.into()),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Binary(_))) => panic!("a binary message came"),
                // Gone without a word, or after one.
                Some(Err(_)) | None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.come.len().min(into.remaining());
        into.put_slice(&self.come[..count]);
        self.come.advance(count);
        Poll::Ready(Ok(()))
    }

    /// Takes what belongs to one line: the last fragment of its message, or one that more is to follow.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Some(stream) = self.stream.as_mut().map(Pin::new) else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        let mut stream = stream;
        ready!(stream.as_mut().poll_ready(cx)).map_err(gone)?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let piece = &bytes[..end.unwrap_or(bytes.len())];
        let kind = if self.is_inside { Data::Continue } else { Data::Text };
        let frame = Frame::message(Bytes::copy_from_slice(piece), OpCode::Data(kind), end.is_some());
        stream.start_send(Message::Frame(frame)).map_err(gone)?;
        self.is_inside = end.is_none();
        Poll::Ready(Ok(end.map_or(bytes.len(), |end| end + 1)))
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(stream) = self.stream.as_mut() else { return Poll::Ready(Ok(())) };
        if self.is_inside {
            // The last line may end without a line end.
            ready!(Pin::new(&mut *stream).poll_ready(cx)).map_err(gone)?;
            let frame = Frame::message(Bytes::new(), OpCode::Data(Data::Continue), true);
            Pin::new(&mut *stream).start_send(Message::Frame(frame)).map_err(gone)?;
            self.is_inside = false;
        }
        self.is_closed = true;
        Pin::new(stream).poll_close(cx).map_err(gone)
    }
}

fn gone(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        other => io::Error::new(io::ErrorKind::BrokenPipe, other.to_string()),
    }
}

impl AsyncRead for ReadEnd {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.0.lock().unwrap().poll_read(cx, into)
    }
}

impl AsyncWrite for WriteEnd {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().unwrap().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0.lock().unwrap().stream.as_mut() {
            Some(stream) => Pin::new(stream).poll_flush(cx).map_err(gone),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.lock().unwrap().poll_shutdown(cx)
    }
}

impl Drop for WriteEnd {
    fn drop(&mut self) {
        let Ok(mut socket) = self.0.lock() else { return };
        if !socket.is_closed {
            socket.stream = None;
            if let Some(reader) = socket.reader.take() {
                reader.wake();
            }
        }
    }
}

impl AsyncRead for LineSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.read).poll_read(cx, into)
    }
}

impl AsyncWrite for LineSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.write).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_shutdown(cx)
    }
}
