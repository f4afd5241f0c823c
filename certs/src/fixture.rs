//! Certificates made for one test, and TLS between two ends in memory.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};
use rustls_pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use time::OffsetDateTime;

use crate::name::Name;
use crate::store::seconds;
use crate::{ClientFiles, ClientStore, ServerFiles, ServerStore};

pub(crate) fn now() -> i64 {
    seconds(SystemTime::now())
}

/// A CA.
pub(crate) struct Ca(CertifiedIssuer<'static, KeyPair>);

/// PEM texts.
#[derive(Clone)]
pub(crate) struct Issued {
    pub(crate) cert: String,
    pub(crate) key: String,
    pub(crate) der: CertificateDer<'static>,
}

/// From when and until when, in seconds from now.
pub(crate) type Span = (i64, i64);
pub(crate) const VALID: Span = (-100, 100_000);
pub(crate) const EXPIRED: Span = (-100, -10);
pub(crate) const TO_COME: Span = (10_000, 100_000);

impl Ca {
    pub(crate) fn new(name: &str) -> Self {
        Self::valid(name, VALID)
    }

    pub(crate) fn valid(name: &str, span: Span) -> Self {
        let mut params = params(span);
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn server(&self, name: &str) -> Issued {
        self.issue(&[Name::host(name).unwrap()], VALID, ExtendedKeyUsagePurpose::ServerAuth)
    }

    pub(crate) fn client(&self, uri: &str) -> Issued {
        self.issue(&[Name::uri(uri).unwrap()], VALID, ExtendedKeyUsagePurpose::ClientAuth)
    }

    pub(crate) fn issue(&self, names: &[Name], span: Span, usage: ExtendedKeyUsagePurpose) -> Issued {
        let mut params = params(span);
        params.subject_alt_names = names.iter().map(|name| name.entry().unwrap()).collect();
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        Issued { cert: cert.pem(), key: key.serialize_pem(), der: cert.der().clone() }
    }
}

fn params((from, to): Span) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_before = OffsetDateTime::from_unix_timestamp(now() + from).unwrap();
    params.not_after = OffsetDateTime::from_unix_timestamp(now() + to).unwrap();
    params
}

/// A folder with the files of a listener and of a client in it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, in place if there is one.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.at(name), text).unwrap();
        self.at(name)
    }

    /// Writes `NAME.crt` and `NAME.key`.
    pub(crate) fn put(&self, name: &str, issued: &Issued) -> (PathBuf, PathBuf) {
        (self.write(&format!("{name}.crt"), &issued.cert), self.write(&format!("{name}.key"), &issued.key))
    }

    /// A listener with `tls.crt`, `tls.key`.
    pub(crate) fn server(&self, issued: &Issued) -> ServerStore {
        let (cert_file, key_file) = self.put("tls", issued);
        ServerStore::open(ServerFiles { cert_file, key_file, client_ca_file: None }).unwrap()
    }

    /// One that asks for certificates of the CAs in `clients.crt`.
    pub(crate) fn mutual(&self, issued: &Issued, clients: &str) -> ServerStore {
        let (cert_file, key_file) = self.put("tls", issued);
        let client_ca_file = Some(self.write("clients.crt", clients));
        ServerStore::open(ServerFiles { cert_file, key_file, client_ca_file }).unwrap()
    }

    /// A client that trusts the CAs in `ca.crt`, and shows `me.crt` if it is given one.
    pub(crate) fn client(&self, cas: &str, me: Option<&Issued>) -> ClientStore {
        let ca_file = Some(self.write("ca.crt", cas));
        ClientStore::open(ClientFiles { ca_file, identity: me.map(|me| self.put("me", me)) }).unwrap()
    }
}

/// A client of `cas`, for one handshake.
pub(crate) fn client(cas: &str, me: Option<&Issued>) -> Arc<ClientConfig> {
    Folder::new().client(cas, me).config()
}

/// Both ends after a handshake, and how it went.
pub(crate) struct Shaken {
    pub(crate) client: ClientConnection,
    pub(crate) server: ServerConnection,
    pub(crate) outcome: Result<(), rustls::Error>,
}

/// A handshake in memory; the first error of either end, the server's before what it tells the client.
pub(crate) fn shake(client: Arc<ClientConfig>, server: Arc<ServerConfig>, name: &str) -> Shaken {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let client = ClientConnection::new(client, name).unwrap();
    let mut both = Shaken { client, server: ServerConnection::new(server).unwrap(), outcome: Ok(()) };
    both.outcome = both.exchange();
    both
}

impl Shaken {
    /// Carries what either end has to say until both are silent.
    pub(crate) fn exchange(&mut self) -> Result<(), rustls::Error> {
        let mut moved = true;
        while moved {
            moved = false;
            let mut wire = Vec::new();
            while self.client.wants_write() {
                self.client.write_tls(&mut wire).unwrap();
            }
            let mut rest = &wire[..];
            while !rest.is_empty() {
                moved = true;
                self.server.read_tls(&mut rest).unwrap();
                self.server.process_new_packets()?;
            }
            wire.clear();
            while self.server.wants_write() {
                self.server.write_tls(&mut wire).unwrap();
            }
            let mut rest = &wire[..];
            while !rest.is_empty() {
                moved = true;
                self.client.read_tls(&mut rest).unwrap();
                self.client.process_new_packets()?;
            }
        }
        assert!(!self.client.is_handshaking() && !self.server.is_handshaking());
        Ok(())
    }

    /// Sends a text from the client to the server, which must get just that.
    pub(crate) fn carries(&mut self, text: &str) {
        use std::io::Write as _;
        self.client.writer().write_all(text.as_bytes()).unwrap();
        self.exchange().unwrap();
        let mut got = vec![0; text.len()];
        self.server.reader().read_exact(&mut got).unwrap();
        assert_eq!(got, text.as_bytes());
    }

    /// The leaf that the server presented.
    pub(crate) fn presented(&self) -> &CertificateDer<'static> {
        &self.client.peer_certificates().unwrap()[0]
    }
}
