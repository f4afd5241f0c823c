//! What a WebSocket runs on: TCP, or TLS over it.

use mcpl_certs::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_rustls::rustls::CommonState;
use tokio_rustls::{client, server};

use crate::transport::Facts;

/// A stream that can be read and written by two who know nothing of each other.
pub(in crate::transport) trait Stream:
    AsyncRead + AsyncWrite + Send + Unpin + 'static
{
    type Read: AsyncRead + Send + Unpin + 'static;
    type Write: AsyncWrite + Send + Unpin + 'static;

    fn halves(self) -> (Self::Read, Self::Write);

    /// The peer's certificate, where it has shown one that was verified.
    fn leaf(&self) -> Option<CertificateDer<'static>> {
        None
    }

    /// What is known of the peer.
    fn facts(&self) -> Facts {
        Facts::WEBSOCKET
    }
}

impl Stream for TcpStream {
    type Read = OwnedReadHalf;
    type Write = OwnedWriteHalf;

    fn halves(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        self.into_split()
    }
}

impl Stream for server::TlsStream<TcpStream> {
    type Read = ReadHalf<Self>;
    type Write = WriteHalf<Self>;

    fn halves(self) -> (Self::Read, Self::Write) {
        split(self)
    }

    fn leaf(&self) -> Option<CertificateDer<'static>> {
        leaf(self.get_ref().1)
    }

    fn facts(&self) -> Facts {
        encrypted(self.leaf().as_ref())
    }
}

impl Stream for client::TlsStream<TcpStream> {
    type Read = ReadHalf<Self>;
    type Write = WriteHalf<Self>;

    fn halves(self) -> (Self::Read, Self::Write) {
        split(self)
    }

    fn leaf(&self) -> Option<CertificateDer<'static>> {
        leaf(self.get_ref().1)
    }

    fn facts(&self) -> Facts {
        encrypted(self.leaf().as_ref())
    }
}

fn leaf(state: &CommonState) -> Option<CertificateDer<'static>> {
    Some(state.peer_certificates()?.first()?.clone().into_owned())
}

fn encrypted(leaf: Option<&CertificateDer<'_>>) -> Facts {
    let names = leaf.map(mcpl_certs::names).unwrap_or_default();
    Facts { is_encrypted: true, names, ..Facts::WEBSOCKET }
}
