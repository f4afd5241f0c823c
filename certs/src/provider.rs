//! The one cryptographic provider, never a default of the process.

use std::sync::{Arc, OnceLock};

use rustls::crypto::CryptoProvider;

/// The protocol inside TLS: WebSocket and the admin listener both begin with HTTP/1.1.
pub(crate) const ALPN: &[u8] = b"http/1.1";

/// ring.
pub(crate) fn ring() -> Arc<CryptoProvider> {
    static RING: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    Arc::clone(RING.get_or_init(|| Arc::new(rustls::crypto::ring::default_provider())))
}
