//! TLS on the admin listener, and who is known by a certificate (contract 12).

use std::io;

use mcpl_certs::{ServerStore, is_pinned};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// TLS as its files have it at each connection.
#[derive(Debug)]
pub struct Tls {
    /// Certificate, key, and the CAs of clients.
    pub store: ServerStore,
    /// One of a client's names must be one of these; empty: any will do.
    pub client_names: Vec<String>,
}

impl Tls {
    /// Shakes hands; whether the client is one that may come in.
    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<(TlsStream<TcpStream>, bool)> {
        let stream = TlsAcceptor::from(self.store.config()).accept(stream).await?;
        let known = self.client_names.is_empty() || {
            let leaf = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            leaf.is_some_and(|leaf| is_pinned(leaf, &self.client_names))
        };
        Ok((stream, known))
    }
}
