//! Who is who: PEM files in, certificates and keys out (contract section 12).
//!
//! [`certificates`] and [`private_key`] read one file each; what is wrong with it is a [`Fault`] that says what,
//! where, and what to do. No bytes of a file reach an error or a [`std::fmt::Debug`] output, because the file may
//! be a key in the wrong place.

mod fault;
mod key;
mod pem;

pub use fault::{Fault, Wrong};
pub use key::Key;
pub use pem::{MAX_FILE_BYTES, certificates, private_key};
pub use rustls_pki_types::{CertificateDer, PrivateKeyDer};
