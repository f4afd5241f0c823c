//! TLS for a stream that one thread reads and writes in turns.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

/// A stream that can be read and written by two owners on one thread.
pub(super) struct Turns<S>(Rc<RefCell<S>>);

impl<S> Turns<S> {
    pub(super) fn new(stream: S) -> Self {
        Self(Rc::new(RefCell::new(stream)))
    }
}

impl<S> Clone for Turns<S> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<S: Read> Read for Turns<S> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(room)
    }
}

impl<S: Write> Write for Turns<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    read.map_err(io::Error::other)
}

/// What a client trusts: the certificates of one file.
pub(super) fn client(ca: &Path) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca)? {
        roots.add(certificate).map_err(io::Error::other)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

pub(super) fn connect(
    config: &Arc<ClientConfig>,
    stream: TcpStream,
) -> io::Result<rustls::StreamOwned<ClientConnection, TcpStream>> {
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    Ok(rustls::StreamOwned::new(connection, stream))
}

/// Who a server is: a certificate and its key.
pub(super) fn server(cert: &Path, key: &Path) -> io::Result<Arc<ServerConfig>> {
    let key = PrivateKeyDer::from_pem_file(key).map_err(io::Error::other)?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(certificates(cert)?, key)
        .map_err(io::Error::other)?;
    Ok(Arc::new(config))
}

pub(super) fn accept(
    config: &Arc<ServerConfig>,
    stream: TcpStream,
) -> io::Result<rustls::StreamOwned<ServerConnection, TcpStream>> {
    let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    Ok(rustls::StreamOwned::new(connection, stream))
}
