//! The child's stderr: read always, passed to ours, never waited for (contract 3.2).

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::transport::stderr::Stderr;

/// Bytes of one read; a line longer than this is passed on in pieces.
const PIECE: usize = 64 * 1024;
/// A line without an end (a prompt) is passed on after this long.
const UNFINISHED: Duration = Duration::from_millis(50);

/// Reads `errors` to its end. Whole lines go together, so that they do not mix with lines of our own log.
pub(super) fn start(errors: OwnedFd, stderr: Stderr) -> io::Result<JoinHandle<()>> {
    let mut pipe = pipe::Receiver::from_owned_fd(errors)?;
    Ok(tokio::spawn(async move {
        let mut buffer = BytesMut::new();
        loop {
            buffer.reserve(PIECE);
            let empty = buffer.is_empty();
            let read = pipe.read_buf(&mut buffer);
            let outcome = if empty { Ok(read.await) } else { timeout(UNFINISHED, read).await };
            let pass = match outcome {
                Ok(Ok(0) | Err(_)) => {
                    stderr.pass(&buffer);
                    return;
                }
                Ok(Ok(_)) if buffer.len() < PIECE => {
                    buffer.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
                }
                // Too long to be kept, or nothing has come for a while.
                Ok(Ok(_)) | Err(_) => buffer.len(),
            };
            if pass > 0 {
                stderr.pass(&buffer[..pass]);
                buffer.advance(pass);
            }
        }
    }))
}
