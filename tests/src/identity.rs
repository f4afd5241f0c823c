//! Certificates made for a test: a CA, and what it issues.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use time::{Duration, OffsetDateTime};

/// A CA of a test's own.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate.
    pub pem: String,
}

/// A certificate and its key, as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub cert: String,
    /// Its private key.
    pub key: String,
}

/// What a certificate is to say.
#[derive(Debug, Clone)]
pub struct Leaf {
    names: Vec<String>,
    uris: Vec<String>,
    from: Duration,
    until: Duration,
}

impl Leaf {
    /// For the place where tests run.
    pub fn local() -> Self {
        Self::named(&["localhost", "127.0.0.1"])
    }

    /// For these DNS names and addresses.
    pub fn named(names: &[&str]) -> Self {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Self { names, uris: Vec::new(), from: Duration::days(-1), until: Duration::days(1) }
    }

    /// For somebody who is known by a URI.
    pub fn known_as(uri: &str) -> Self {
        Self { uris: vec![uri.to_owned()], ..Self::named(&[]) }
    }

    /// It was good until an hour ago.
    #[must_use]
    pub fn expired(mut self) -> Self {
        self.until = Duration::hours(-1);
        self
    }

    /// It will be good in an hour.
    #[must_use]
    pub fn not_yet(mut self) -> Self {
        self.from = Duration::hours(1);
        self
    }
}

impl Authority {
    /// A fresh one.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.not_before = OffsetDateTime::now_utc() - Duration::days(2);
        params.not_after = OffsetDateTime::now_utc() + Duration::days(2);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// The one that every world of this process trusts.
    pub fn common() -> &'static Self {
        static MADE: OnceLock<Authority> = OnceLock::new();
        MADE.get_or_init(|| Self::new("tests"))
    }

    /// A certificate that says this, for a server and for a client.
    pub fn issue(&self, leaf: &Leaf) -> Identity {
        let mut params = CertificateParams::new(leaf.names.clone()).expect("names");
        for uri in &leaf.uris {
            params.subject_alt_names.push(SanType::URI(uri.as_str().try_into().expect("a URI")));
        }
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "leaf");
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.not_before = OffsetDateTime::now_utc() + leaf.from;
        params.not_after = OffsetDateTime::now_utc() + leaf.until;
        let key = KeyPair::generate().expect("a key");
        let cert = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        Identity { cert, key: key.serialize_pem() }
    }
}

impl Identity {
    /// Writes both files: `NAME.crt`, `NAME.key`.
    pub fn write(&self, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let files = (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
        std::fs::write(&files.0, &self.cert).expect("a folder to write in");
        std::fs::write(&files.1, &self.key).expect("a folder to write in");
        files
    }

    /// The certificate as it goes over the wire.
    pub fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.cert.as_bytes()).expect("a certificate")
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).expect("a key")
    }
}

fn roots(pems: &[&str]) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for pem in pems {
        roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).expect("a CA")).expect("a CA");
    }
    Arc::new(roots)
}

/// The settings of a client that trusts this CA and, where it is asked, shows who it is.
pub fn client_settings(trusted: &str, shown: Option<&Identity>) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("versions").with_root_certificates(roots(&[trusted]));
    let settings = match shown {
        Some(me) => {
            builder.with_client_auth_cert(vec![me.der()], me.key()).expect("a certificate and its key")
        }
        None => builder.with_no_client_auth(),
    };
    Arc::new(settings)
}

/// The settings of a server; with a CA it lets in nobody without a certificate of that CA.
pub fn server_settings(shown: &Identity, asked: Option<&str>) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = match asked {
        Some(ca) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots(&[ca]), provider).build();
            builder.with_client_cert_verifier(verifier.expect("a verifier"))
        }
        None => builder.with_no_client_auth(),
    };
    Arc::new(builder.with_single_cert(vec![shown.der()], shown.key()).expect("a certificate and its key"))
}
