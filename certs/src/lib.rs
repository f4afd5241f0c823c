//! Who is who: PEM files in, TLS settings and identities out (contract section 12).
//!
//! - [`ServerStore`] and [`ClientStore`] hold the TLS settings of a listener and of a client as their files have them:
//!   validated, then published, and followed when they are renewed.
//! - [`names`] says what a peer's certificate calls it, [`is_pinned`] whether it is the one that is meant.
//! - [`Authority`] is a CA for development, [`Sheet`] what a certificate says.
//! - [`certificates`] and [`private_key`] read one file each.
//!
//! What is wrong with a file is a [`Fault`] that says what, where, and what to do. No bytes of a file reach an error or
//! a [`std::fmt::Debug`] output, because the file may be a key in the wrong place. Verification cannot be switched off.

mod authority;
mod deposit;
mod fault;
#[cfg(test)]
mod fixture;
mod key;
mod name;
mod names;
mod pem;
mod provider;
mod sheet;
mod stamp;
mod store;

pub use authority::{Authority, Leaf, Made};
pub use fault::{Fault, Wrong};
pub use key::Key;
pub use name::{Name, NotAName};
pub use names::{is_pinned, names};
pub use pem::{MAX_FILE_BYTES, certificates, private_key};
pub use rustls_pki_types::{CertificateDer, PrivateKeyDer};
pub use sheet::Sheet;
pub use store::{ClientFiles, ClientStore, Refreshed, ServerFiles, ServerStore, Warning};
