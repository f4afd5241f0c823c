//! What a TLS client trusts and presents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::Resumption;

use super::pair::Pair;
use super::roots::{self, Bundle};
use super::{Built, Files, Refreshed, Store, Warning, open_key};
use crate::fault::{Fault, Wrong};
use crate::provider;

/// The files of a TLS client, all PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientFiles {
    /// The CAs of servers; the system's without it.
    pub ca_file: Option<PathBuf>,
    /// Our own certificate, the leaf first, and its private key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// The TLS settings of a client, as its files have them. A clone is the same store.
///
/// TLS 1.2 and 1.3, SNI, ALPN `http/1.1`. The server's certificate is always verified, name included, at each
/// connection anew: no session is resumed. The system's roots are those there were when the process first asked.
#[derive(Clone)]
pub struct ClientStore(Arc<Store<ClientFiles>>);

impl ClientStore {
    /// Reads and validates the files, and publishes what they come to. Blocks for as long as they take to read.
    ///
    /// # Errors
    ///
    /// The first [`Fault`] of a file: the bundle has no CA that is valid now, the chain does not parse, the key is
    /// not its leaf's, or the leaf is not valid now. Without a `ca_file`, that the system has no roots.
    pub fn open(files: ClientFiles) -> Result<Self, Fault> {
        Ok(Self(Arc::new(Store::open(files)?)))
    }

    /// What is published now, for one connection.
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0.published().config)
    }

    /// Looks whether the files have changed; publishes what they come to if they fit together, and else keeps what
    /// there is. Costs a few microseconds if they have not. Connections that are open already are not touched.
    pub fn refresh(&self) -> Refreshed {
        self.0.refresh()
    }

    /// When our own published leaf expires, in Unix seconds, if we have one.
    pub fn not_after(&self) -> Option<i64> {
        self.0.published().not_after
    }

    /// What is used in spite of it, and somebody should know.
    pub fn warnings(&self) -> Vec<Warning> {
        let published = self.0.published();
        let key = self.0.files.identity.as_ref().and_then(|(_, key)| open_key(key));
        published.warnings.iter().cloned().chain(key).collect()
    }
}

impl std::fmt::Debug for ClientStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ClientStore").field(&self.0.files).finish()
    }
}

impl Files for ClientFiles {
    type Config = ClientConfig;

    fn paths(&self) -> Vec<&Path> {
        let identity = self.identity.iter().flat_map(|(cert, key)| [&**cert, &**key]);
        self.ca_file.as_deref().into_iter().chain(identity).collect()
    }

    fn build(&self, texts: &[Vec<u8>], now: i64) -> Result<Built<ClientConfig>, Fault> {
        let mut texts = texts.iter().map(Vec::as_slice);
        let mut text = || texts.next().unwrap_or_default();
        let provider = provider::ring();
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Wrong::Refused(error.to_string()).at(Path::new("TLS")))?;
        let mut until = None;
        let mut warnings = Vec::new();
        let builder = if let Some(path) = &self.ca_file {
            let bundle = Bundle::new(text(), path, now)?;
            until = bundle.until;
            warnings.extend(bundle.warning);
            builder.with_root_certificates(bundle.roots)
        } else {
            // `dangerous` is what the builder calls any verifier but its own: this is the system's.
            builder.dangerous().with_custom_certificate_verifier(roots::system(&provider)?)
        };
        let mut not_after = None;
        let mut config = if let Some((cert, key)) = &self.identity {
            let pair = Pair::new((text(), cert), (text(), key), &provider, now)?;
            not_after = Some(pair.not_after);
            builder.with_client_cert_resolver(pair.presented)
        } else {
            builder.with_no_client_auth()
        };
        config.alpn_protocols = vec![provider::ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Built { config: Arc::new(config), not_after, until, warnings })
    }
}
