//! The process's own stdin and stdout as a connection, taken by the kind of each descriptor.

use std::io;
use std::net::TcpStream as StdTcpStream;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::net::AddressFamily;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;
use tokio::net::{TcpStream, UnixStream};

use super::threaded::{ThreadReader, ThreadWriter};
use super::{Connection, Facts, PIPE_READ_BYTES, Reader, Sink, Source, Writer};

/// Takes stdin and stdout over. From here both descriptors are `/dev/null` for the rest of the process, so
/// that a stray print cannot break the protocol and a closed writer is really closed. Works when either is
/// closed from the start: its half is at its end. Needs a running runtime.
///
/// # Errors
/// A descriptor that cannot be watched or given a thread.
pub fn take() -> io::Result<Connection> {
    let input = own(rustix::stdio::stdin());
    let output = own(rustix::stdio::stdout());
    let connection = connect(input, output)?;
    if let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        // Without it the originals stay open, and a pipe ends for the host when the process does.
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
    }
    Ok(connection)
}

/// A connection of two open files that others may share, each by its kind.
fn connect(input: Option<OwnedFd>, output: Option<OwnedFd>) -> io::Result<Connection> {
    let mut shared = None;
    let reader = match input {
        Some(input) => reader(input, &mut shared)?,
        None => Reader::ended(),
    };
    let writer = match output {
        Some(output) => writer(output, &mut shared)?,
        None => Writer::closed(),
    };
    Ok(Connection { reader, writer, peer: "stdio".to_owned(), facts: Facts::PIPE })
}

/// A descriptor of our own for the same open file; none if it is closed.
fn own(descriptor: BorrowedFd<'_>) -> Option<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(descriptor, 3).ok()
}

fn reader(input: OwnedFd, shared: &mut Option<Arc<Blocking>>) -> io::Result<Reader> {
    let source = match kind(&input)? {
        FileType::Socket => Source::Stream(socket(input, shared)?),
        FileType::Fifo => Source::Stream(match reopen(input.as_fd(), OFlags::RDONLY) {
            Some(anew) => Box::new(pipe::Receiver::from_owned_fd(anew)?),
            None => Box::new(Shared::new(input, &mut None, pipe::Receiver::from_owned_fd)?),
        }),
        _ => Source::Thread(ThreadReader::new(input)?),
    };
    Ok(Reader { source, piece: PIPE_READ_BYTES })
}

fn writer(output: OwnedFd, shared: &mut Option<Arc<Blocking>>) -> io::Result<Writer> {
    let sink = match kind(&output)? {
        FileType::Socket => Sink::Stream(socket(output, shared)?),
        FileType::Fifo => Sink::Stream(match reopen(output.as_fd(), OFlags::WRONLY) {
            Some(anew) => Box::new(pipe::Sender::from_owned_fd(anew)?),
            None => Box::new(Shared::new(output, &mut None, pipe::Sender::from_owned_fd)?),
        }),
        _ => Sink::Thread(ThreadWriter::new(output)?),
    };
    Ok(Writer::of(sink))
}

fn kind(descriptor: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(descriptor)?.st_mode))
}

/// Both ways; the unused one costs nothing.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

fn socket(descriptor: OwnedFd, shared: &mut Option<Arc<Blocking>>) -> io::Result<Box<dyn Duplex>> {
    match rustix::net::getsockname(&descriptor)?.address_family() {
        AddressFamily::INET | AddressFamily::INET6 => {
            let watch = |own| TcpStream::from_std(StdTcpStream::from(own));
            Ok(Box::new(Shared::new(descriptor, shared, watch)?))
        }
        _ => {
            let watch = |own| UnixStream::from_std(StdUnixStream::from(own));
            Ok(Box::new(Shared::new(descriptor, shared, watch)?))
        }
    }
}

/// Whether a pipe blocks is a property of the open file, which the host may share with its other children. So
/// it is opened anew where the system can. None without `/proc`, without permission, for a socket, or when
/// the other end is gone already.
fn reopen(descriptor: BorrowedFd<'_>, access: OFlags) -> Option<OwnedFd> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    rustix::fs::open(path, access | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// An open file that others may share and that cannot be opened anew.
struct Shared<S> {
    stream: S,
    _blocking: Arc<Blocking>,
}

/// The flags of such an open file, put back when the last of its two directions ends.
struct Blocking {
    original: OwnedFd,
    flags: OFlags,
}

impl<S> Shared<S> {
    /// `earlier` is what the other direction has, which may be the same open file.
    fn new(
        original: OwnedFd,
        earlier: &mut Option<Arc<Blocking>>,
        watch: impl FnOnce(OwnedFd) -> io::Result<S>,
    ) -> io::Result<Self> {
        let own = rustix::io::fcntl_dupfd_cloexec(&original, 3)?;
        let blocking = match earlier.take() {
            Some(earlier) if same(&earlier.original, &original)? => earlier,
            _ => {
                let flags = rustix::fs::fcntl_getfl(&original)?;
                rustix::fs::fcntl_setfl(&original, flags | OFlags::NONBLOCK)?;
                Arc::new(Blocking { original, flags })
            }
        };
        *earlier = Some(blocking.clone());
        Ok(Self { stream: watch(own)?, _blocking: blocking })
    }
}

fn same(one: &OwnedFd, other: &OwnedFd) -> io::Result<bool> {
    let (one, other) = (rustix::fs::fstat(one)?, rustix::fs::fstat(other)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

impl Drop for Blocking {
    fn drop(&mut self) {
        // Best effort: there is nobody left to tell.
        let _ = rustix::fs::fcntl_setfl(&self.original, self.flags);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Shared<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Shared<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
