//! The CAs that a peer's certificate may come from.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls_platform_verifier::Verifier;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::Warning;
use crate::fault::{Fault, Wrong};
use crate::pem;

/// A bundle of CAs.
pub(super) struct Bundle {
    /// Those of a CA that is valid now.
    pub(super) roots: Arc<RootCertStore>,
    /// When the first of them expires, or one that is not valid yet becomes so, Unix seconds.
    pub(super) until: Option<i64>,
    /// Said if some are not used.
    pub(super) warning: Option<Warning>,
}

impl Bundle {
    /// The bundle of this text, at this time (Unix seconds).
    pub(super) fn new(text: &[u8], path: &Path, now: i64) -> Result<Self, Fault> {
        let all = pem::certificates_in(text, path)?;
        let count = all.len();
        let mut roots = RootCertStore::empty();
        let mut until = None;
        for (number, der) in all.into_iter().enumerate() {
            let bad = |_| Wrong::BadCertificate(number + 1).at(path);
            let (_, parsed) = X509Certificate::from_der(&der).map_err(bad)?;
            let (from, to) =
                (parsed.validity().not_before.timestamp(), parsed.validity().not_after.timestamp());
            let authority = parsed.is_ca();
            if !authority || to < now {
                continue;
            }
            let change = if from <= now { to + 1 } else { from };
            until = Some(until.map_or(change, |until: i64| until.min(change)));
            if from <= now {
                // What TLS cannot use is counted as not used.
                let _ = roots.add(der);
            }
        }
        if roots.is_empty() {
            return Err(Wrong::NoAuthority.at(path));
        }
        let unused = count - roots.len();
        let warning =
            (unused > 0).then(|| Warning::UnusedAuthorities { file: path.to_owned(), unused, all: count });
        Ok(Self { roots: Arc::new(roots), until, warning })
    }
}

/// The verifier with the system's roots. Reading these takes some milliseconds: it is done once in a process.
pub(super) fn system(provider: &Arc<CryptoProvider>) -> Result<Arc<Verifier>, Fault> {
    static LOADED: Mutex<Option<Arc<Verifier>>> = Mutex::new(None);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(verifier) = &*loaded {
        return Ok(Arc::clone(verifier));
    }
    let none = |_| Wrong::NoRoots.at(Path::new("the system's CA certificates"));
    let verifier = Arc::new(Verifier::new(Arc::clone(provider)).map_err(none)?);
    Ok(Arc::clone(loaded.insert(verifier)))
}
