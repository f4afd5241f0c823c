//! A descriptor that the kernel cannot wait for without disturbing others (a terminal) or at all (a file):
//! a thread reads or writes it. The thread is nobody's to join: a terminal nobody types on does not keep the
//! process from ending.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::task::{Context, Poll, ready};
use std::thread;

use bytes::BytesMut;
use tokio::sync::mpsc::{Receiver, channel};

use crate::outbox::Outbox;

/// Bytes of one read or write.
const CHUNK: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct ThreadReader {
    chunks: Receiver<io::Result<Vec<u8>>>,
}

impl ThreadReader {
    pub(super) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        // Two chunks: one is worked on while the next is read. A full channel is back-pressure.
        let (sender, chunks) = channel(1);
        let mut file = std::fs::File::from(descriptor);
        thread::Builder::new().name("reader".into()).spawn(move || {
            let mut room = vec![0; CHUNK];
            loop {
                let chunk = match file.read(&mut room) {
                    Ok(count) => Ok(room[..count].to_vec()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let last = chunk.as_ref().map_or(true, Vec::is_empty);
                if sender.blocking_send(chunk).is_err() || last {
                    return;
                }
            }
        })?;
        Ok(Self { chunks })
    }

    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        match ready!(self.chunks.poll_recv(cx)) {
            Some(Ok(chunk)) => {
                buffer.extend_from_slice(&chunk);
                Poll::Ready(Ok(chunk.len()))
            }
            Some(Err(error)) => Poll::Ready(Err(error)),
            None => Poll::Ready(Ok(0)),
        }
    }
}

#[derive(Debug)]
pub(super) struct ThreadWriter {
    chunks: SyncSender<Vec<u8>>,
    done: Receiver<io::Result<()>>,
    /// The thread has a chunk and has not said what became of it.
    busy: bool,
}

impl ThreadWriter {
    pub(super) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let (chunks, work) = sync_channel::<Vec<u8>>(1);
        let (report, done) = channel(1);
        let mut file = std::fs::File::from(descriptor);
        thread::Builder::new().name("writer".into()).spawn(move || {
            while let Ok(chunk) = work.recv() {
                let outcome = file.write_all(&chunk);
                let failed = outcome.is_err();
                if report.blocking_send(outcome).is_err() || failed {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, done, busy: false })
    }

    /// Hands the next chunk to the thread, which counts as written (as it does when the kernel has it).
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, outbox: &Outbox) -> Poll<io::Result<usize>> {
        ready!(self.poll_last(cx))?;
        let chunk = outbox.copy(CHUNK);
        let count = chunk.len();
        if self.chunks.send(chunk).is_err() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.busy = true;
        Poll::Ready(Ok(count))
    }

    /// Ready when the thread has nothing left to write.
    pub(super) fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_last(cx).map(|_| ())
    }

    fn poll_last(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.busy {
            return Poll::Ready(Ok(()));
        }
        let outcome = ready!(self.done.poll_recv(cx));
        self.busy = false;
        Poll::Ready(outcome.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into())))
    }
}
