//! What is wrong with a file of certificates or a key.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// A file that could not be used: where, what, and what to do about it.
///
/// Its text is `FILE: what; hint: what to do`, and never a byte of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {wrong}; hint: {}", path.display(), wrong.hint())]
pub struct Fault {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub wrong: Wrong,
}

/// What may be wrong with a PEM file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Wrong {
    /// It cannot be read.
    #[error("cannot be read ({0})")]
    Unreadable(io::ErrorKind),
    /// It cannot be written.
    #[error("cannot be written ({0})")]
    Unwritable(io::ErrorKind),
    /// It is there already, and nothing is overwritten.
    #[error("exists already")]
    Exists,
    /// It is longer than [`MAX_FILE_BYTES`](crate::MAX_FILE_BYTES).
    #[error("is longer than {0} bytes")]
    TooLong(u64),
    /// It is no PEM, or its base64 is broken.
    #[error("is no well-formed PEM")]
    Malformed,
    /// It has no certificate.
    #[error("holds no certificate")]
    NoCertificate,
    /// A block is no X.509 certificate; they are counted from 1.
    #[error("its certificate {0} is no X.509 certificate")]
    BadCertificate(usize),
    /// It has no private key.
    #[error("holds no private key")]
    NoKey,
    /// It has more than one private key, so which one is meant is a guess.
    #[error("holds {0} private keys")]
    ManyKeys(usize),
    /// The key is broken, or of a kind that is not served.
    #[error("holds a key that cannot be used")]
    UnusableKey,
    /// The key is another one than the first certificate's of that file.
    #[error("is not the key of the first certificate in {}", .0.display())]
    OtherKey(PathBuf),
    /// The first certificate is not valid any more, since this time (Unix seconds).
    #[error("its first certificate expired at {}", time(*.0))]
    Expired(i64),
    /// The first certificate is not valid before this time (Unix seconds).
    #[error("its first certificate is valid from {} only", time(*.0))]
    NotYetValid(i64),
    /// No certificate in it is one of a CA that is valid now.
    #[error("holds no certificate of a CA that is valid now")]
    NoAuthority,
    /// The system has no root certificates, or they cannot be read.
    #[error("none can be loaded")]
    NoRoots,
    /// It cannot be made, for a reason that is nobody's fault but the program's.
    #[error("cannot be made ({0})")]
    Unmade(String),
    /// TLS does not take it, for a reason none of the others names.
    #[error("cannot be used for TLS ({0})")]
    Refused(String),
}

impl Wrong {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable(io::ErrorKind::NotFound) => {
                "check the path (in a configuration, a relative one starts at its folder)"
            }
            Self::Unreadable(io::ErrorKind::PermissionDenied) => "let the user that runs the program read it",
            Self::Unreadable(_) => "check that it is a file",
            Self::Unwritable(io::ErrorKind::PermissionDenied) => {
                "choose a folder that you can write to, or change its permissions"
            }
            Self::Unwritable(_) => "check the path and the room on its disk",
            Self::Exists => "choose another name, or move it away if nothing needs it any more",
            Self::TooLong(_) => "name a file with only the certificates or the key that are needed",
            Self::Malformed => {
                "it must hold whole BEGIN and END blocks of base64; was it still being written?"
            }
            Self::NoCertificate => "name a file with BEGIN CERTIFICATE blocks, the leaf first",
            Self::BadCertificate(_) => "was it cut or edited? make or fetch it anew",
            Self::NoKey => {
                "name a file with one BEGIN PRIVATE KEY block; an encrypted key must be decrypted first"
            }
            Self::ManyKeys(_) => "leave the one that belongs to the certificate",
            Self::UnusableKey => "use an ECDSA (P-256, P-384), Ed25519 or RSA (2048 bits or more) key",
            Self::OtherKey(_) => {
                "put the pair there that was made together, the leaf first in its file; was one of them still to come?"
            }
            Self::Expired(_) => "put a renewed certificate and its key there",
            Self::NotYetValid(_) => "check the clock of this machine and of the one that issued it",
            Self::NoAuthority => {
                "name the certificate of the CA, not one that it issued; `mcpl-sidecar certs show` says which is which"
            }
            Self::NoRoots => "install the system's CA certificates (ca-certificates), or name a ca_file",
            Self::Unmade(_) => "report it: no input should lead to this",
            Self::Refused(_) => "`mcpl-sidecar certs show` says what is in it",
        }
    }

    /// The fault of this file.
    pub(crate) fn at(self, path: &Path) -> Fault {
        Fault { path: path.to_owned(), wrong: self }
    }
}

/// Unix seconds as people read them, in UTC.
pub(crate) fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} s"), |t| t.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../docs/tls.md");

    #[test]
    fn the_page_explains_each_fault() {
        let all = [
            (Wrong::Unreadable(io::ErrorKind::NotFound), "cannot be read (entity not found)"),
            (Wrong::Unreadable(io::ErrorKind::PermissionDenied), "cannot be read (permission denied)"),
            (Wrong::Unreadable(io::ErrorKind::Unsupported), "cannot be read (unsupported)"),
            (Wrong::Unwritable(io::ErrorKind::PermissionDenied), "cannot be written"),
            (Wrong::Exists, "exists already"),
            (Wrong::TooLong(crate::MAX_FILE_BYTES), "is longer than 1048576 bytes"),
            (Wrong::Malformed, "is no well-formed PEM"),
            (Wrong::NoCertificate, "holds no certificate"),
            (Wrong::BadCertificate(2), "its certificate 2 is no X.509 certificate"),
            (Wrong::NoKey, "holds no private key"),
            (Wrong::ManyKeys(2), "holds 2 private keys"),
            (Wrong::UnusableKey, "holds a key that cannot be used"),
            (Wrong::OtherKey("tls.crt".into()), "is not the key of the first certificate in"),
            (Wrong::Expired(0), "its first certificate expired at"),
            (Wrong::NotYetValid(0), "its first certificate is valid from"),
            (Wrong::NoAuthority, "holds no certificate of a CA that is valid now"),
            (Wrong::NoRoots, "none can be loaded"),
        ];
        for (wrong, words) in all {
            let said = wrong.to_string();
            assert!(said.contains(words), "{said}");
            assert!(PAGE.contains(&format!("{words}`")), "docs/tls.md does not know: {words}");
        }
    }
}
