//! What a TLS listener presents and asks for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};

use super::pair::Pair;
use super::roots::Bundle;
use super::{Built, Files, Refreshed, Store, Warning, open_key};
use crate::fault::{Fault, Wrong};
use crate::provider;

/// The files of a TLS listener, all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFiles {
    /// The certificate, the leaf first, then what leads to its root.
    pub cert_file: PathBuf,
    /// The leaf's private key.
    pub key_file: PathBuf,
    /// The CAs of clients. With it, a client without a certificate of one of them is refused in the handshake.
    pub client_ca_file: Option<PathBuf>,
}

/// The TLS settings of a listener, as its files have them. A clone is the same store.
///
/// TLS 1.2 and 1.3, ALPN `http/1.1`. With client certificates no session is resumed, so each connection's
/// certificate is verified against what is published when it connects.
#[derive(Clone)]
pub struct ServerStore(pub(super) Arc<Store<ServerFiles>>);

impl ServerStore {
    /// Reads and validates the files, and publishes what they come to. Blocks for as long as they take to read.
    ///
    /// # Errors
    ///
    /// The first [`Fault`] of a file: the chain does not parse, the key is not its leaf's, the leaf is not valid
    /// now, or the bundle has no CA that is.
    pub fn open(files: ServerFiles) -> Result<Self, Fault> {
        Ok(Self(Arc::new(Store::open(files)?)))
    }

    /// What is published now, for one connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.published().config)
    }

    /// Looks whether the files have changed; publishes what they come to if they fit together, and else keeps what
    /// there is. Costs a few microseconds if they have not. Connections that are open already are not touched.
    pub fn refresh(&self) -> Refreshed {
        self.0.refresh()
    }

    /// When the published leaf expires, in Unix seconds. It is served beyond that if nothing better comes.
    pub fn not_after(&self) -> i64 {
        self.0.published().not_after.unwrap_or(i64::MAX)
    }

    /// What is served in spite of it, and somebody should know.
    pub fn warnings(&self) -> Vec<Warning> {
        let published = self.0.published();
        published.warnings.iter().cloned().chain(open_key(&self.0.files.key_file)).collect()
    }
}

impl std::fmt::Debug for ServerStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ServerStore").field(&self.0.files).finish()
    }
}

impl Files for ServerFiles {
    type Config = ServerConfig;

    fn paths(&self) -> Vec<&Path> {
        let ca = self.client_ca_file.as_deref();
        [&*self.cert_file, &*self.key_file].into_iter().chain(ca).collect()
    }

    fn build(&self, texts: &[Vec<u8>], now: i64) -> Result<Built<ServerConfig>, Fault> {
        let text = |index: usize| texts.get(index).map(Vec::as_slice).unwrap_or_default();
        let provider = provider::ring();
        let pair = Pair::new((text(0), &self.cert_file), (text(1), &self.key_file), &provider, now)?;
        let refused = |error: rustls::Error| Wrong::Refused(error.to_string()).at(&self.cert_file);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(refused)?;
        let mut until = None;
        let mut warnings = Vec::new();
        let mut config = if let Some(path) = &self.client_ca_file {
            let bundle = Bundle::new(text(2), path, now)?;
            until = bundle.until;
            warnings.extend(bundle.warning);
            let verifier = WebPkiClientVerifier::builder_with_provider(bundle.roots, provider)
                .build()
                .map_err(|error| Wrong::Refused(error.to_string()).at(path))?;
            let mut config = builder.with_client_cert_verifier(verifier).with_cert_resolver(pair.presented);
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
            config
        } else {
            builder.with_no_client_auth().with_cert_resolver(pair.presented)
        };
        config.alpn_protocols = vec![provider::ALPN.to_vec()];
        Ok(Built { config: Arc::new(config), not_after: Some(pair.not_after), until, warnings })
    }
}
