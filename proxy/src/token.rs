//! Bearer tokens (contract 12): where they are, how they are shown to a peer, how a peer's is compared.
//!
//! A token is read anew each time it is used, so that a new one counts at once. It is in no error, no log
//! and no [`Debug`](std::fmt::Debug) output; [`Secret`] is what carries one.
//!
//! There are three forms, for peers that cannot set a header:
//!
//! | form | where |
//! |---|---|
//! | header | `Authorization: Bearer TOKEN` |
//! | subprotocol | an entry `mcpl.bearer.BASE64URL(TOKEN)` of `Sec-WebSocket-Protocol`, beside `mcpl` |
//! | query | the parameter `token=TOKEN`, percent-encoded |

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::config::TokenSource;

mod outbound;
mod presented;
#[cfg(test)]
mod tests;

pub use self::presented::{Presented, bearer, presented, without_token};

/// The largest token file that is read, in bytes; also the longest token there can be.
pub const TOKEN_FILE_BYTES: u64 = 4096;

/// The WebSocket subprotocol of MCPL.
pub const PROTOCOL: &str = "mcpl";

/// What an entry of `Sec-WebSocket-Protocol` that holds a token begins with.
pub const BEARER_PROTOCOL: &str = "mcpl.bearer.";

/// The name of the query's parameter that holds a token.
pub const PARAMETER: &str = "token";

/// Where a bearer token is. `Debug` shows the place, never what is there.
#[derive(Clone, Debug)]
pub struct Token(TokenSource);

/// A token that was read or presented. Neither `Debug` nor anything else prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl From<&TokenSource> for Token {
    fn from(source: &TokenSource) -> Self {
        Self(source.clone())
    }
}

impl Token {
    /// The token in that file, white space around it not counted.
    pub fn in_file(path: PathBuf) -> Self {
        Self(TokenSource::File(path))
    }

    /// The token in that environment variable, white space around it not counted.
    pub fn in_env(name: &str) -> Self {
        Self(TokenSource::Env(name.to_owned()))
    }

    /// Whether there is a token: for the start. Reads the file.
    ///
    /// # Errors
    /// What the system said; `NotFound` also for a variable that is not set; `InvalidData` for a token that
    /// is empty, longer than [`TOKEN_FILE_BYTES`], or holds what no header can carry.
    pub fn check(&self) -> io::Result<()> {
        self.now().map(drop)
    }

    /// The token as it is now.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub async fn read(&self) -> io::Result<Secret> {
        let token = self.clone();
        tokio::task::spawn_blocking(move || token.now()).await.map_err(io::Error::other)?
    }

    /// Whether that is the token as it is now.
    ///
    /// # Errors
    /// As [`Self::check`]; then nobody can know it.
    pub async fn is(&self, given: &[u8]) -> io::Result<bool> {
        Ok(self.read().await?.is(given))
    }

    fn now(&self) -> io::Result<Secret> {
        let text = match &self.0 {
            TokenSource::File(path) => text_of(path)?,
            TokenSource::Env(name) => std::env::var_os(name).map(OsString::into_vec).ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, format!("the environment variable {name} is not set"))
            })?,
        };
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
        match text.trim_ascii() {
            [] => Err(wrong("it has no token in it")),
            token if token.len() as u64 > TOKEN_FILE_BYTES => Err(wrong("it is too long for a token")),
            token if token.iter().any(u8::is_ascii_control) => {
                Err(wrong("it has several lines, or a control character in it"))
            }
            token => Ok(Secret(token.to_vec())),
        }
    }
}

impl Secret {
    /// Whether that is the same token. Takes as long wherever they differ, but for the length.
    pub fn is(&self, given: &[u8]) -> bool {
        let differ =
            self.0.iter().zip(given).fold(0, |differ, (a, b)| std::hint::black_box(differ | (a ^ b)));
        self.0.len() == given.len() && differ == 0
    }

    /// The token's bytes, to be compared: `token.is(secret.bytes())`.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

fn text_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(TOKEN_FILE_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > TOKEN_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long for a token"));
    }
    Ok(text)
}
