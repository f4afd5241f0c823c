//! Connections that have not said anything yet: port probes are harmless (contract 3.1).

use std::task::{Context, Poll};
use std::time::Duration;

use mcpl_codec::sniff::sniff;
use mcpl_codec::{Frame, Framer, Line};
use tokio::time::Instant;

use crate::outbox::Outbox;
use crate::transport::Connection;
use crate::transport::ws::close::Close;

/// A connection silent this long is closed.
pub const SILENCE: Duration = Duration::from_secs(10);
/// Silent connections kept at once; past it the oldest is closed.
pub const MAX_PROBES: usize = 16;
/// The longest first message of a connection that is no session yet; a session takes `max_message_bytes`.
pub const FIRST_MESSAGE_BYTES: usize = 4 << 20;
/// How long telling such a connection that it is closed may take.
const PARTING: Duration = Duration::from_secs(1);
/// Lines that are no message after which such a connection is closed.
const MAX_NOISE: usize = 100;

/// One of them.
#[derive(Debug)]
pub(super) struct Probe {
    connection: Connection,
    framer: Framer,
    pub(super) until: Option<Instant>,
    noise: usize,
}

/// What became of it.
pub(super) enum Said {
    /// Its first message: it is a session.
    Message(Line),
    /// A line that is none, or one that is too long.
    Noise(Frame),
    /// Nothing yet.
    Nothing,
    /// It ended.
    End,
}

impl Probe {
    /// `patient`: it may be silent as long as it likes (stdio has one peer only).
    pub(super) fn new(connection: Connection, limit: usize, patient: bool) -> Self {
        let until = (!patient).then(|| Instant::now() + SILENCE);
        let limit = if patient { limit } else { limit.min(FIRST_MESSAGE_BYTES) };
        let framer = connection.framer(limit);
        Self { connection, framer, until, noise: 0 }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Said {
        loop {
            if self.noise > MAX_NOISE && self.until.is_some() {
                return Said::End;
            }
            if let Some(frame) = self.framer.next() {
                self.noise += 1;
                return said(frame);
            }
            let read = self.connection.reader.poll_read(cx, &mut self.framer);
            if self.connection.writer.has_own_words() {
                // A ping is answered; a peer that takes nothing is not waited for.
                let _ = self.connection.writer.poll_write(cx, &mut Outbox::default());
            }
            match read {
                Poll::Pending => return Said::Nothing,
                Poll::Ready(Ok(0)) => return self.framer.finish().map_or(Said::End, said),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(_)) => return Said::End,
            }
        }
    }

    /// Closes it; a WebSocket is told why.
    pub(super) fn dismiss(self, why: &Close) {
        let Connection { mut reader, mut writer, .. } = self.connection;
        if !writer.has_own_words() {
            return;
        }
        writer.part(why.clone());
        tokio::task::spawn_local(async move {
            let parting = async {
                writer.finish().await;
                reader.finish().await;
            };
            // Past its time there is nobody who reads.
            let _ = tokio::time::timeout(PARTING, parting).await;
        });
    }

    pub(super) fn into_parts(self) -> (Connection, Framer) {
        (self.connection, self.framer)
    }
}

fn said(frame: Frame) -> Said {
    match frame {
        Frame::Line(line) if sniff(line.text()).is_ok() => Said::Message(line),
        other => Said::Noise(other),
    }
}
