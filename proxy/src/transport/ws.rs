//! WebSocket (RFC 6455): one JSON text is one text message (contract 3.2).
//!
//! Frames are read and written here, not by a library's socket: a message over `max_message_bytes` is answered
//! and the session goes on, and no message is copied to be framed. The head of a frame, the digest of the
//! handshake and its keys are tungstenite's; HTTP is hyper's.

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Connection, Facts, Reader, Sink, Source, Writer};

mod answer;
pub mod close;
mod controls;
mod fault;
mod frames;
pub mod front;
mod mask;
mod reader;
pub(super) mod request;
mod stream;
mod utf8;
mod visit;
mod writer;

pub(super) use self::controls::Controls;
pub(super) use self::reader::MessageReader;
pub use self::reader::SILENCE;
pub(super) use self::writer::MessageWriter;
pub use self::writer::PULSE;

/// Who we are on a connection: a client masks what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// We dialled.
    Client,
    /// We were dialled.
    Server,
}

/// A connection of two halves that have shaken hands; `begun` was read after the handshake already.
pub fn connection(
    (reader, writer): (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static),
    role: Role,
    begun: &Bytes,
    peer: String,
) -> Connection {
    let controls = Controls::default();
    let messages = MessageReader::new(reader, role, begun, controls.clone());
    let reader = Reader { source: Source::Messages(Box::new(messages)), piece: 0 };
    let messages = MessageWriter::new(writer, role, controls.clone());
    let writer = Writer { sink: Sink::Messages(Box::new(messages)), controls: Some(controls) };
    Connection { reader, writer, peer, facts: Facts::WEBSOCKET }
}

#[cfg(test)]
mod tests;
