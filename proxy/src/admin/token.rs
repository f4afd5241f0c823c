//! The bearer token (contract 12): from a file, compared in constant time, shown nowhere.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The largest token file that is read, in bytes.
pub const TOKEN_FILE_BYTES: u64 = 4096;

/// A file with a bearer token. It is read anew for every request, so that a new token counts at once.
#[derive(Clone)]
pub struct Token(PathBuf);

/// Shows where the token is, never what it is.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Token").field(&self.0).finish()
    }
}

impl Token {
    /// The token in that file, white space around it not counted.
    pub fn in_file(path: PathBuf) -> Self {
        Self(path)
    }

    /// Whether the file can be read and has a token in it: for the start.
    ///
    /// # Errors
    /// What the system said; `InvalidData` for a file that is empty or longer than [`TOKEN_FILE_BYTES`].
    pub fn check(&self) -> io::Result<()> {
        read(&self.0).map(drop)
    }

    /// Whether that is the token.
    pub(super) async fn is(&self, given: &[u8]) -> io::Result<bool> {
        let path = self.0.clone();
        let token = tokio::task::spawn_blocking(move || read(&path)).await.map_err(io::Error::other)??;
        Ok(same(&token, given))
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(TOKEN_FILE_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > TOKEN_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long for a token"));
    }
    match text.trim_ascii() {
        [] => Err(io::Error::new(io::ErrorKind::InvalidData, "it has no token in it")),
        token => Ok(token.to_vec()),
    }
}

/// Compares without a hint in the time it takes, but for the length.
fn same(token: &[u8], given: &[u8]) -> bool {
    let differ = token.iter().zip(given).fold(0, |differ, (a, b)| std::hint::black_box(differ | (a ^ b)));
    token.len() == given.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_is_the_same() {
        assert!(same(b"hush", b"hush"));
        for given in [&b""[..], b"h", b"hus", b"hush!", b"Hush", b"husH"] {
            assert!(!same(b"hush", given));
        }
    }

    #[test]
    fn a_file_without_a_token_lets_nobody_in() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("token");
        let token = Token::in_file(path.clone());
        assert_eq!(token.check().unwrap_err().kind(), io::ErrorKind::NotFound);
        for text in ["", " \r\n", &"x".repeat(TOKEN_FILE_BYTES as usize + 1)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(token.check().unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        std::fs::write(&path, "hush\r\n").unwrap();
        assert_eq!(read(&path).unwrap(), b"hush");
        assert!(!format!("{token:?}").contains("hush"));
    }
}
