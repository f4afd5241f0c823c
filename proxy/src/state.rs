//! Where state lies, and whose it is: the state directory and its lock (contract sections 1 and 9.5).

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

pub mod slot;

/// The name of the lock file in a state directory.
pub const LOCK: &str = "lock";

/// The folder of this program's state: `$XDG_STATE_HOME/mcpl-sidecar`, else
/// `$HOME/.local/state/mcpl-sidecar`. As the XDG base directory specification asks, a relative
/// `XDG_STATE_HOME` is not taken. `None` if neither variable helps.
///
/// There is no fall-back to a temporary folder: what was accepted must be found again by the next run.
pub fn default_dir(env: crate::config::Env<'_>) -> Option<PathBuf> {
    let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    base.map(|base| base.join("mcpl-sidecar"))
}

/// A state directory that is ours until this is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    lock: File,
}

impl Held {
    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // A lock file without a pid says that the last holder ended well; the lock itself goes with the file.
        let _ = self.lock.set_len(0);
    }
}

/// Why a state directory cannot be ours: exit code 73 (contract section 1).
#[derive(Debug, thiserror::Error)]
pub enum Taken {
    /// Another process holds it.
    #[error("the state directory {} is in use by {}; stop that process, or set another state_dir", .path.display(), by(*.pid))]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process that holds it, if it has said so.
        pid: Option<u32>,
    },
    /// All slots of a name are held.
    #[error("all {} state directories in {} are in use; end some of those processes, or give another --name", slot::MOST, .path.display())]
    Full {
        /// The folder of the slots.
        path: PathBuf,
    },
    /// It cannot be made, opened or written.
    #[error("the state directory {} cannot be used: {why}; make it a folder that this user may write, or set another state_dir", .path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
}

fn by(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

/// Makes a directory ours: created if it is not there (0700, parents too), locked, our pid in the lock
/// file. An existing directory is closed to others (0700) if it is empty or was a state directory before;
/// one that holds anything else keeps its mode, since it is somebody's.
///
/// # Errors
/// [`Taken`]: exit code 73.
pub fn hold(path: &Path) -> Result<Held, Taken> {
    let unusable = |why| Taken::Unusable { path: path.to_owned(), why };
    open(path).map_err(unusable)?;
    let mut lock = lock_file(path).map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Taken::InUse { path: path.to_owned(), pid: holder(&mut lock) });
        }
        Err(TryLockError::Error(why)) => return Err(unusable(why)),
    }
    sign(&mut lock).map_err(unusable)?;
    Ok(Held { path: path.to_owned(), lock })
}

/// Creates a directory, or closes an existing one to others where that is ours to do.
fn open(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 && (path.join(LOCK).exists() || fs::read_dir(path)?.next().is_none()) {
        // On a mounted volume that belongs to another user this fails: the files in it are 0600 anyway.
        let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
    }
    Ok(())
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path.join(LOCK))
}

/// Writes our pid, which also shows early that the disk takes writes.
fn sign(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    lock.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// The pid in a lock file; for a message only, the lock is what counts.
fn holder(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    lock.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests;
