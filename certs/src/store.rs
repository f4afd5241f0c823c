//! TLS settings that follow their files (contract section 12).
//!
//! A store reads its files, and publishes what they come to once all of it fits together; readers get what is
//! published, whole. What does not fit is said, and what was published before stays.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use ring::digest::{Context, SHA256};

use crate::fault::Fault;
use crate::pem;
use crate::stamp::Stamp;

mod client;
mod pair;
mod roots;
mod server;
#[cfg(test)]
mod tests;

pub use self::client::{ClientFiles, ClientStore};
pub(crate) use self::pair::Pair;
pub use self::server::{ServerFiles, ServerStore};

/// What a look at the files has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Refreshed {
    /// What is published still says what the files do, or they are bad in a way that was said before.
    Same,
    /// The files have changed, fit together, and are what is published now.
    Published,
    /// The files have changed for the worse: what was published before stays. Said once for each bad state.
    Kept(Fault),
}

/// Something that is served in spite of it, and that somebody should know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// Any user of the machine can read or change the key.
    #[error("{}: any user of this machine can read or change this key; hint: chmod 600 it, or mount it with a stricter mode", .0.display())]
    OpenKey(PathBuf),
    /// Some certificates of a CA bundle are not of a CA, or not valid now, and are not used.
    #[error("{}: {unused} of {all} certificates are of no CA that is valid now, and are not used; hint: remove them", file.display())]
    UnusedAuthorities {
        /// The bundle.
        file: PathBuf,
        /// How many are not used.
        unused: usize,
        /// How many there are.
        all: usize,
    },
}

/// The files of a store, and what to make of them.
trait Files {
    /// What is published.
    type Config;
    /// The files, always as many and in the same order.
    fn paths(&self) -> Vec<&Path>;
    /// Makes of their texts, in the same order, what is published, if they fit together at this time (Unix seconds).
    fn build(&self, texts: &[Vec<u8>], now: i64) -> Result<Built<Self::Config>, Fault>;
}

/// What is published, and what to know about it.
struct Built<C> {
    config: Arc<C>,
    /// When the leaf expires, Unix seconds.
    not_after: Option<i64>,
    /// When the same files come to something else, Unix seconds.
    until: Option<i64>,
    warnings: Vec<Warning>,
}

/// The store itself.
struct Store<F: Files> {
    files: F,
    published: RwLock<Arc<Built<F::Config>>>,
    seen: Mutex<Seen>,
}

/// The last look at the files.
struct Seen {
    stamp: Stamp,
    /// No later change can go unnoticed.
    settled: bool,
    /// The digest of what was read, or what kept it from being read.
    content: Result<Digest, Fault>,
    /// Why it is not published. It is tried again each time, since clocks and file systems mend themselves.
    bad: Option<Fault>,
}

type Digest = [u8; 32];

impl<F: Files> Store<F> {
    fn open(files: F) -> Result<Self, Fault> {
        let now = SystemTime::now();
        let (stamp, texts) = read(&files);
        let texts = texts?;
        let built = files.build(&texts, seconds(now))?;
        let settled = stamp.is_settled(now);
        let seen = Seen { stamp, settled, content: Ok(digest(&texts)), bad: None };
        Ok(Self { files, published: RwLock::new(Arc::new(built)), seen: Mutex::new(seen) })
    }

    fn published(&self) -> Arc<Built<F::Config>> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn refresh(&self) -> Refreshed {
        let now = SystemTime::now();
        // Held all the while: of two looks at once, the later must not be overtaken by what the earlier has read.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let over = self.published().until.is_some_and(|until| until <= seconds(now));
        let due = over || seen.bad.is_some();
        if seen.settled && !due && Stamp::of(self.files.paths()) == seen.stamp {
            return Refreshed::Same;
        }
        let (stamp, texts) = read(&self.files);
        seen.settled = stamp.is_settled(now);
        seen.stamp = stamp;
        let content = texts.as_deref().map(digest).map_err(Clone::clone);
        let changed = content != seen.content;
        seen.content = content;
        if !changed && !due {
            return Refreshed::Same;
        }
        match texts.and_then(|texts| self.files.build(&texts, seconds(now))) {
            Ok(built) => {
                seen.bad = None;
                *self.published.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(built);
                Refreshed::Published
            }
            Err(fault) if !changed && seen.bad.as_ref() == Some(&fault) => Refreshed::Same,
            Err(fault) => {
                seen.bad = Some(fault.clone());
                Refreshed::Kept(fault)
            }
        }
    }
}

/// The texts of the files, all of one moment if they hold still for one; and the stamp that they had before.
fn read(files: &impl Files) -> (Stamp, Result<Vec<Vec<u8>>, Fault>) {
    let mut stamp = Stamp::of(files.paths());
    let mut tries = 3;
    loop {
        let texts = files.paths().into_iter().map(pem::text).collect();
        let after = Stamp::of(files.paths());
        tries -= 1;
        if after == stamp || tries == 0 {
            return (stamp, texts);
        }
        stamp = after;
    }
}

fn digest(texts: &[Vec<u8>]) -> Digest {
    let mut context = Context::new(&SHA256);
    for text in texts {
        context.update(&(text.len() as u64).to_le_bytes());
        context.update(text);
    }
    let mut digest = Digest::default();
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

pub(crate) fn seconds(time: SystemTime) -> i64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// Whether others than the owner and the group may read or write the key.
pub(crate) fn open_key(path: &Path) -> Option<Warning> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    (mode & 0o006 != 0).then(|| Warning::OpenKey(path.to_owned()))
}
