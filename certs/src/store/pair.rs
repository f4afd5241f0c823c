//! A certificate chain and the key of its leaf.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{Error, InconsistentKeys};
use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::fault::{Fault, Wrong};
use crate::pem;

/// A chain and its key that belong together, and are valid now.
pub(crate) struct Pair {
    /// What TLS presents.
    pub(crate) presented: Arc<SingleCertAndKey>,
    /// The leaf itself.
    pub(crate) leaf: CertificateDer<'static>,
    /// Whether the leaf is a CA's.
    pub(crate) authority: bool,
    /// When the leaf expires, Unix seconds.
    pub(crate) not_after: i64,
}

impl Pair {
    /// The pair of these texts, at this time (Unix seconds).
    pub(crate) fn new(
        certificate: (&[u8], &Path),
        key: (&[u8], &Path),
        provider: &CryptoProvider,
        now: i64,
    ) -> Result<Self, Fault> {
        let (text, path) = certificate;
        let chain = pem::certificates_in(text, path)?;
        let mut leaf = None;
        for (number, der) in chain.iter().enumerate() {
            let bad = |_| Wrong::BadCertificate(number + 1).at(path);
            let (_, parsed) = X509Certificate::from_der(der).map_err(bad)?;
            let validity = parsed.validity();
            leaf.get_or_insert((
                der.clone(),
                parsed.is_ca(),
                validity.not_before.timestamp(),
                validity.not_after.timestamp(),
            ));
        }
        let (leaf, authority, from, until) = leaf.ok_or_else(|| Wrong::NoCertificate.at(path))?;

        let (text, key_path) = key;
        let der = pem::private_key_in(text, key_path)?.into_der();
        let key = provider.key_provider.load_private_key(der).map_err(|_| Wrong::UnusableKey.at(key_path))?;
        let pair = CertifiedKey::new(chain, key);
        match pair.keys_match() {
            // Unknown: the key cannot say what its public half is. No key of the provider is like that.
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(Error::InconsistentKeys(_)) => return Err(Wrong::OtherKey(path.to_owned()).at(key_path)),
            Err(_) => return Err(Wrong::BadCertificate(1).at(path)),
        }
        if until < now {
            return Err(Wrong::Expired(until).at(path));
        }
        if now < from {
            return Err(Wrong::NotYetValid(from).at(path));
        }
        Ok(Self { presented: Arc::new(SingleCertAndKey::from(pair)), leaf, authority, not_after: until })
    }
}
