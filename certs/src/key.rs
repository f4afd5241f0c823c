//! A private key that shows itself to nobody.

use std::fmt;

use rustls_pki_types::PrivateKeyDer;

/// A private key. Its `Debug` output names neither kind nor length, let alone content.
pub struct Key(PrivateKeyDer<'static>);

impl Key {
    pub(crate) fn new(der: PrivateKeyDer<'static>) -> Self {
        Self(der)
    }

    /// The key for a TLS configuration, which is the only thing to do with it.
    pub fn into_der(self) -> PrivateKeyDer<'static> {
        self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}
