//! Reading PEM files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::fault::{Fault, Wrong};
use crate::key::Key;

/// The longest file that is read, in bytes. A bundle of every public root is a quarter of it.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// The certificates of a PEM file in their order; blocks of other kinds are passed over.
///
/// Whether they are valid certificates is for the TLS configuration to say.
///
/// # Errors
///
/// A [`Fault`] if the file cannot be read whole, is no PEM, or holds no certificate.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    certificates_in(&text(path)?, path)
}

/// The one private key of a PEM file (PKCS #8, PKCS #1 or SEC 1); blocks of other kinds are passed over.
///
/// # Errors
///
/// A [`Fault`] if the file cannot be read whole, is no PEM, or does not hold exactly one private key.
pub fn private_key(path: &Path) -> Result<Key, Fault> {
    private_key_in(&text(path)?, path)
}

/// The certificates in the text of a file.
pub(crate) fn certificates_in(text: &[u8], path: &Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    whole(text, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let found = found.map_err(|error| wrong(&error, Wrong::NoCertificate).at(path))?;
    if found.is_empty() { Err(Wrong::NoCertificate.at(path)) } else { Ok(found) }
}

/// The private key in the text of a file.
pub(crate) fn private_key_in(text: &[u8], path: &Path) -> Result<Key, Fault> {
    whole(text, path)?;
    let found: Result<Vec<_>, _> = PrivateKeyDer::pem_slice_iter(text).collect();
    let mut found = found.map_err(|error| wrong(&error, Wrong::NoKey).at(path))?;
    match (found.pop(), found.len()) {
        (Some(key), 0) => Ok(Key::new(key)),
        (Some(_), others) => Err(Wrong::ManyKeys(others + 1).at(path)),
        (None, _) => Err(Wrong::NoKey.at(path)),
    }
}

/// The text of a file, which is up to [`MAX_FILE_BYTES`] long.
pub(crate) fn text(path: &Path) -> Result<Vec<u8>, Fault> {
    let unreadable = |error: io::Error| Wrong::Unreadable(error.kind()).at(path);
    let kind = fs::metadata(path).map_err(unreadable)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        // To open a pipe may take for ever.
        return Err(Wrong::Unreadable(io::ErrorKind::Unsupported).at(path));
    }
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MAX_FILE_BYTES { Err(Wrong::TooLong(MAX_FILE_BYTES).at(path)) } else { Ok(text) }
}

/// A text that ends inside the first line of a block is cut; the parser takes it for prose.
fn whole(text: &[u8], path: &Path) -> Result<(), Fault> {
    let last = text.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let cut = !last.is_empty() && b"-----BEGIN ".starts_with(last);
    if cut { Err(Wrong::Malformed.at(path)) } else { Ok(()) }
}

/// The parser's errors quote the line they stumble over, which may be of a key: only their kind is kept.
fn wrong(error: &pem::Error, none: Wrong) -> Wrong {
    match error {
        pem::Error::NoItemsFound => none,
        _ => Wrong::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;

    // Three bytes each: what is read is PEM, and what it says is nobody's business here.
    const CERTIFICATES: &str = "leaf\n-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n\
        -----BEGIN CERTIFICATE-----\r\nBAUG\r\n-----END CERTIFICATE-----\r\n";
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";

    fn file(text: &str) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.pem");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn certificates_come_in_their_order() {
        let (_folder, path) = file(&format!("{KEY}{CERTIFICATES}"));
        let found = certificates(&path).unwrap();
        assert_eq!(found.iter().map(AsRef::as_ref).collect::<Vec<&[u8]>>(), [[1, 2, 3], [4, 5, 6]]);
    }

    #[test]
    fn keys_of_every_form_are_found_among_certificates() {
        for form in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"] {
            let (_folder, path) = file(&format!("{CERTIFICATES}{}", KEY.replace("PRIVATE KEY", form)));
            assert_eq!(private_key(&path).unwrap().into_der().secret_der(), b"secret", "{form}");
        }
    }

    #[test]
    fn a_file_without_what_is_sought_is_said_so() {
        let (_folder, path) = file(KEY);
        assert!(matches!(certificates(&path).unwrap_err().wrong, Wrong::NoCertificate));
        let (_folder, path) = file(CERTIFICATES);
        assert!(matches!(private_key(&path).unwrap_err().wrong, Wrong::NoKey));
        let (_folder, path) = file("");
        assert!(matches!(private_key(&path).unwrap_err().wrong, Wrong::NoKey));
        let (_folder, path) = file(&KEY.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"));
        assert!(private_key(&path).unwrap_err().to_string().contains("decrypted first"));
    }

    #[test]
    fn two_keys_are_one_too_many() {
        let (_folder, path) = file(&format!("{KEY}{KEY}"));
        assert!(matches!(private_key(&path).unwrap_err().wrong, Wrong::ManyKeys(2)));
    }

    #[test]
    fn half_a_file_is_malformed() {
        let whole = format!("{CERTIFICATES}{KEY}");
        let (_folder, path) = file(&whole[..whole.len() - 12]);
        assert!(matches!(private_key(&path).unwrap_err().wrong, Wrong::Malformed));
        let (_folder, path) = file(&CERTIFICATES.replace("AQID", "A!ID"));
        assert!(matches!(certificates(&path).unwrap_err().wrong, Wrong::Malformed));
    }

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let (_folder, path) = file(&format!("{KEY}{}", "x".repeat(MAX_FILE_BYTES as usize - KEY.len())));
        assert!(private_key(&path).is_ok());
        let (_folder, path) = file(&"x".repeat(MAX_FILE_BYTES as usize + 1));
        assert!(matches!(private_key(&path).unwrap_err().wrong, Wrong::TooLong(MAX_FILE_BYTES)));
    }

    #[test]
    fn a_fault_says_where_what_and_what_to_do() {
        let fault = certificates(Path::new("/nowhere/cert.pem")).unwrap_err().to_string();
        assert!(
            fault.starts_with("/nowhere/cert.pem: cannot be read (entity not found); hint: check the path"),
            "{fault}"
        );
        let (folder, _) = file("");
        assert!(matches!(certificates(folder.path()).unwrap_err().wrong, Wrong::Unreadable(_)));
    }

    #[test]
    fn no_byte_of_a_key_is_shown() {
        let (_folder, path) = file(KEY);
        let key = private_key(&path).unwrap();
        assert_eq!(format!("{key:?} {key:#?}"), "Key(..) Key(..)");
        for broken in [
            KEY.replace("c2VjcmV0", "c2Vj!mV0"),
            KEY.replace("-----END", "----END"),
            KEY.replace("BEGIN P", "BEGIN"),
        ] {
            let (_folder, path) = file(&broken);
            let fault = private_key(&path).unwrap_err();
            let shown = format!("{fault} {fault:?}");
            assert!(!shown.contains("c2Vj") && !shown.contains("secret"), "{shown}");
        }
    }
}
