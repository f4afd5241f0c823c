//! How bytes move: one reader and one writer, whatever is underneath.
//!
//! A Node host's stdin and stdout are sockets, Python's are FIFOs, a terminal is a character device, tests
//! use files. Each is taken by its kind: what the kernel can wait for is read and written directly, without a
//! thread between; the rest gets a thread that never keeps the process from ending (contract 3.1, 3.2, 3.6).
//!
//! Everything here is cancel-safe: bytes are in the [`Framer`] or still in the kernel, never in a future.

use std::future::{Future as _, poll_fn};
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use mcpl_codec::frame::Framer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::unix::pipe;

use crate::outbox::Outbox;

pub mod dial;
pub mod listen;
pub mod stderr;
pub mod stdio;
mod threaded;
pub mod ws;

use threaded::{ThreadReader, ThreadWriter};
use ws::close::Close;
use ws::{Controls, MessageReader, MessageWriter};

/// One read of a pipe or a socket takes this much, or as much as a large message has brought so far. More is
/// not faster: what is read in pieces, each written before the next is read, keeps both peers at work. With 64
/// messages of 700 bytes outstanding these carried 1.7 (pipe) and 1.3 (socket) times as many as 64 KiB.
const PIPE_READ_BYTES: usize = 8 * 1024;
const SOCKET_READ_BYTES: usize = 16 * 1024;
/// Segments in one system call. Small lines are merged in the queue, so this many is plenty.
const SLICES: usize = 16;

/// The two directions of one peer, and what to call it in a log.
#[derive(Debug)]
pub struct Connection {
    /// What the peer says.
    pub reader: Reader,
    /// What is said to the peer.
    pub writer: Writer,
    /// For people: `stdio`, or the peer's address.
    pub peer: String,
    /// What else is known of it.
    pub facts: Facts,
}

/// What is known of a connection, for telemetry and for who asks who is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// What carries it, as OpenTelemetry's `network.transport` names it: `tcp` or `pipe`.
    pub transport: &'static str,
    /// What is spoken on it, as `network.protocol.name` names it: `websocket`; nothing for bare lines.
    pub protocol: Option<&'static str>,
    /// It is over TLS.
    pub is_encrypted: bool,
    /// The names of the peer's certificate, where it showed one that was verified.
    pub names: Vec<String>,
}

impl Facts {
    /// Lines on a pipe.
    pub const PIPE: Self = Self::of("pipe", None);
    /// Lines on a TCP connection.
    pub const TCP: Self = Self::of("tcp", None);
    /// WebSocket.
    pub const WEBSOCKET: Self = Self::of("tcp", Some("websocket"));

    const fn of(transport: &'static str, protocol: Option<&'static str>) -> Self {
        Self { transport, protocol, is_encrypted: false, names: Vec::new() }
    }
}

impl Connection {
    /// A connection of two streams, each closed by being shut down or dropped.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        peer: String,
    ) -> Self {
        Self { reader: Reader::stream(reader), writer: Writer::stream(writer), peer, facts: Facts::TCP }
    }

    /// A framer for what the peer says; a message may have `limit` bytes.
    pub fn framer(&self, limit: usize) -> Framer {
        match &self.reader.source {
            Source::Messages(_) => Framer::messages(limit),
            _ => Framer::new(limit),
        }
    }
}

/// The incoming half of a connection.
#[derive(Debug)]
pub struct Reader {
    source: Source,
    /// Bytes of one read, while messages are small.
    piece: usize,
}

enum Source {
    /// The kernel tells when there is something to read: no thread, no copy but the kernel's.
    Stream(Box<dyn AsyncRead + Send + Unpin>),
    Messages(Box<MessageReader>),
    Thread(ThreadReader),
    Ended,
}

impl Reader {
    /// A reader of any stream that the runtime waits for.
    pub fn stream(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        Self { source: Source::Stream(Box::new(stream)), piece: SOCKET_READ_BYTES }
    }

    /// A reader that is at its end.
    pub fn ended() -> Self {
        Self { source: Source::Ended, piece: 0 }
    }

    /// Reads once into the framer. `Ok(0)` is the end of input: half a close, the peer may still be written to.
    /// Cancel-safe.
    ///
    /// # Errors
    /// The peer is gone (see [`is_gone`]) or the descriptor fails; nothing more will come.
    pub async fn read(&mut self, framer: &mut Framer) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, framer)).await
    }

    /// [`read`](Self::read) for a loop of its own. After a read that took all there was, the next call costs no
    /// system call until the kernel says that there is more.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, framer: &mut Framer) -> Poll<io::Result<usize>> {
        let outcome = match &mut self.source {
            Source::Stream(stream) => {
                let buffer = framer.buf();
                let most = self.piece.max(buffer.len()) as u64;
                ready!(pin!(stream.take(most).read_buf(buffer)).poll(cx))
            }
            Source::Messages(messages) => return messages.poll_read(cx, framer),
            Source::Thread(thread) => ready!(thread.poll_read(cx, framer.buf())),
            Source::Ended => Ok(0),
        };
        if matches!(outcome, Ok(0) | Err(_)) {
            self.source = Source::Ended;
        }
        Poll::Ready(outcome)
    }

    /// Once the last word was written: waits until the peer has taken it, where closing would be faster than
    /// that word. Give it a time limit.
    pub async fn finish(&mut self) {
        if let Source::Messages(messages) = &mut self.source {
            messages.drain().await;
        }
        self.source = Source::Ended;
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stream(_) => "Stream",
            Self::Messages(_) => "Messages",
            Self::Thread(_) => "Thread",
            Self::Ended => "Ended",
        })
    }
}

/// What one call of [`Writer::write`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes handed to the transport, 0 if there was nothing that may leave.
    pub written: usize,
    /// Nothing is left in the queue; else its head waits for a record.
    pub empty: bool,
}

/// The outgoing half of a connection.
#[derive(Debug)]
pub struct Writer {
    sink: Sink,
    /// Of a WebSocket: how it ends.
    controls: Option<Controls>,
}

enum Sink {
    Stream(Box<dyn AsyncWrite + Send + Unpin>),
    Messages(Box<MessageWriter>),
    Thread(ThreadWriter),
    Closed,
}

impl Writer {
    /// A writer to any stream that the runtime waits for.
    pub fn stream(stream: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self::of(Sink::Stream(Box::new(stream)))
    }

    /// A writer that is closed.
    pub fn closed() -> Self {
        Self::of(Sink::Closed)
    }

    fn of(sink: Sink) -> Self {
        Self { sink, controls: None }
    }

    /// It writes messages: line breaks between tokens may stay.
    pub fn is_messages(&self) -> bool {
        self.controls.is_some()
    }

    /// With an empty queue there may be something to write all the same: it is to be asked whenever its peer's
    /// turn comes.
    pub fn has_own_words(&self) -> bool {
        matches!(self.sink, Sink::Messages(_))
    }

    /// How the connection is to be closed, where that can be told the peer; what is said first counts, and what
    /// the peer itself said or did comes before it.
    pub fn part(&self, close: Close) {
        if let Some(controls) = &self.controls {
            controls.part(close);
        }
    }

    /// How the peer closed, if it did and could say so.
    pub fn heard(&self) -> Option<Close> {
        self.controls.as_ref().and_then(Controls::heard)
    }

    /// Writes everything that may leave, in as few system calls as it takes. Waits while the peer does not
    /// read. Cancel-safe: what was written is taken off the queue at once, nothing else is.
    ///
    /// # Errors
    /// The peer does not read any more ([`is_gone`]), or the descriptor fails. Nothing more can be written.
    pub async fn write(&mut self, outbox: &mut Outbox) -> io::Result<Progress> {
        poll_fn(|cx| self.poll_write(cx, outbox)).await
    }

    /// [`write`](Self::write) for a loop of its own. It tries at once, without waiting to be told that there
    /// is room; `Pending` means that the peer does not read at present (what could be written was).
    pub fn poll_write(&mut self, cx: &mut Context<'_>, outbox: &mut Outbox) -> Poll<io::Result<Progress>> {
        let mut written = 0;
        if let Sink::Messages(messages) = &mut self.sink {
            let outcome = ready!(messages.poll_write(cx, outbox));
            if outcome.is_err() || messages.is_shut() {
                self.sink = Sink::Closed;
            }
            return Poll::Ready(outcome);
        }
        while !outbox.is_empty() {
            let outcome = match &mut self.sink {
                Sink::Stream(stream) => ready!(poll_stream(Pin::new(stream), cx, outbox)),
                Sink::Thread(thread) => ready!(thread.poll_write(cx, outbox)),
                // Dealt with above.
                Sink::Messages(_) | Sink::Closed => Err(io::ErrorKind::BrokenPipe.into()),
            };
            match outcome {
                Ok(count) => {
                    outbox.wrote(count);
                    written += count;
                }
                Err(error) => {
                    self.sink = Sink::Closed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(Ok(Progress { written, empty: outbox.is_empty() }))
    }

    /// Tells the peer that nothing more comes after what was written: half a close (contract 3.1). A socket
    /// is shut down for writing, a pipe closed. The reader of the same connection is not touched.
    ///
    /// A WebSocket is told with a close frame: it leaves with the next writes, and nothing is written after it.
    pub fn close_write(&mut self) {
        if let Sink::Messages(messages) = &mut self.sink {
            return messages.close();
        }
        if let Sink::Stream(stream) = &mut self.sink {
            // Sockets and pipes close at once. It fails when the peer is gone, which is what was wanted.
            let _ = Pin::new(stream).poll_shutdown(&mut Context::from_waker(Waker::noop()));
        }
        // A thread writes what it has, then closes.
        self.sink = Sink::Closed;
    }

    /// Closes, and waits until what was handed over has left our hands (only a thread has anything in its
    /// own): for the end of the process. Give it a time limit; a terminal may be stopped.
    pub async fn finish(&mut self) {
        if let Sink::Thread(thread) = &mut self.sink {
            poll_fn(|cx| thread.poll_idle(cx)).await;
        }
        self.close_write();
        if self.has_own_words() {
            // A peer that is gone hears no last word.
            let _ = self.write(&mut Outbox::default()).await;
        }
    }

    /// Nothing can be written any more: it was closed, or it failed.
    pub fn is_closed(&self) -> bool {
        matches!(self.sink, Sink::Closed)
    }
}

fn poll_stream(
    stream: Pin<&mut Box<dyn AsyncWrite + Send + Unpin>>,
    cx: &mut Context<'_>,
    outbox: &Outbox,
) -> Poll<io::Result<usize>> {
    let mut slices = [IoSlice::new(&[]); SLICES];
    let filled = outbox.slices(&mut slices);
    let outcome = match &slices[..filled] {
        [only] => stream.poll_write(cx, only),
        several => stream.poll_write_vectored(cx, several),
    };
    match outcome {
        Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
        other => other,
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stream(_) => "Stream",
            Self::Messages(_) => "Messages",
            Self::Thread(_) => "Thread",
            Self::Closed => "Closed",
        })
    }
}

/// The error says that the peer ended, not that something is wrong here: log it as an end.
pub fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::BrokenPipe
            | Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::NotConnected
            | Kind::TimedOut
            | Kind::UnexpectedEof
            | Kind::WriteZero
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
    )
}

/// The reading end of a pipe of our own. It is made non-blocking.
///
/// # Errors
/// It is no pipe, or the runtime cannot watch it.
pub fn pipe_reader(descriptor: OwnedFd) -> io::Result<Reader> {
    let source = Source::Stream(Box::new(pipe::Receiver::from_owned_fd(descriptor)?));
    Ok(Reader { source, piece: PIPE_READ_BYTES })
}

/// The writing end of a pipe of our own. It is made non-blocking.
///
/// # Errors
/// It is no pipe, or the runtime cannot watch it.
pub fn pipe_writer(descriptor: OwnedFd) -> io::Result<Writer> {
    Ok(Writer::stream(pipe::Sender::from_owned_fd(descriptor)?))
}

#[cfg(test)]
mod tests;
