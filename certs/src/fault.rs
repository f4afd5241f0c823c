//! What is wrong with a file of certificates or a key.

use std::io;
use std::path::{Path, PathBuf};

/// A file that could not be used: where, what, and what to do about it.
///
/// Its text is `FILE: what; hint: what to do`, and never a byte of the file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {wrong}; hint: {}", path.display(), wrong.hint())]
pub struct Fault {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub wrong: Wrong,
}

/// What may be wrong with a PEM file.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// It cannot be read.
    #[error("cannot be read ({0})")]
    Unreadable(io::ErrorKind),
    /// It is longer than [`MAX_FILE_BYTES`](crate::MAX_FILE_BYTES).
    #[error("is longer than {0} bytes")]
    TooLong(u64),
    /// It is no PEM, or its base64 is broken.
    #[error("is no well-formed PEM")]
    Malformed,
    /// It has no certificate.
    #[error("holds no certificate")]
    NoCertificate,
    /// It has no private key.
    #[error("holds no private key")]
    NoKey,
    /// It has more than one private key, so which one is meant is a guess.
    #[error("holds {0} private keys")]
    ManyKeys(usize),
}

impl Wrong {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable(io::ErrorKind::NotFound) => {
                "check the path; a relative one is relative to the configuration"
            }
            Self::Unreadable(io::ErrorKind::PermissionDenied) => "let the user that runs the program read it",
            Self::Unreadable(_) => "check that it is a file",
            Self::TooLong(_) => "name a file with only the certificates or the key that are needed",
            Self::Malformed => {
                "it must hold whole BEGIN and END blocks of base64; was it still being written?"
            }
            Self::NoCertificate => "name a file with BEGIN CERTIFICATE blocks, the leaf first",
            Self::NoKey => {
                "name a file with one BEGIN PRIVATE KEY block; an encrypted key must be decrypted first"
            }
            Self::ManyKeys(_) => "leave the one that belongs to the certificate",
        }
    }

    /// The fault of this file.
    pub(crate) fn at(self, path: &Path) -> Fault {
        Fault { path: path.to_owned(), wrong: self }
    }
}
