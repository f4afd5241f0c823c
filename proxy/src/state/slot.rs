//! The slots of `wrap`: each window of a host has a state directory of its own under one name.

use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{Held, Taken, hold, lock_file, open};

/// Slots under one name; past it `wrap` exits 73.
pub const MOST: usize = 64;

/// How long another `wrap` may take to choose its slot, and how often we look whether it has.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// The folder of a name's slots: `<state>/wrap/<name>`, `state` as of [`super::default_dir`] or
/// `state_dir`. The slots in it are `0` to `63`.
pub fn folder(state: &Path, name: &str) -> PathBuf {
    state.join("wrap").join(name)
}

/// Takes a free slot: the one with the oldest held work, else the first free one (contract section 1).
///
/// `oldest` says since when (milliseconds since the epoch, or any measure that orders) work is held in a
/// slot's directory; `None`: nothing is held there. It is asked of free slots only, while they are locked.
///
/// # Errors
/// [`Taken`]: exit code 73.
pub fn take(folder: &Path, oldest: &dyn Fn(&Path) -> Option<u64>) -> Result<Held, Taken> {
    let unusable = |why| Taken::Unusable { path: folder.to_owned(), why };
    open(folder).map_err(unusable)?;
    // Choosing tries the locks of all slots: two that choose at once would see each other's tries.
    let choosing = lock_file(folder).map_err(unusable)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match choosing.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(LOOK),
            Err(TryLockError::WouldBlock) => return Err(Taken::InUse { path: folder.to_owned(), pid: None }),
            Err(TryLockError::Error(why)) => return Err(unusable(why)),
        }
    }
    let mut choice = Choice::default();
    for n in 0..MOST {
        let path = folder.join(n.to_string());
        if path.exists() {
            match hold(&path) {
                Ok(held) => choice.free(n, oldest(held.path()), held),
                Err(Taken::InUse { .. }) => {}
                // One slot that is spoilt is no reason not to take another.
                Err(other) => choice.spoilt = Some(other),
            }
        } else {
            choice.missing.get_or_insert(n);
        }
    }
    choice.take(folder)
}

/// What there is to choose from.
#[derive(Default)]
struct Choice {
    /// The best free slot so far, and its place in the order.
    best: Option<(Order, Held)>,
    /// The first slot that nobody has made yet.
    missing: Option<usize>,
    spoilt: Option<Taken>,
}

/// Held work before none, older before newer, lower numbers before higher.
type Order = (bool, u64, usize);

impl Choice {
    fn free(&mut self, n: usize, oldest: Option<u64>, held: Held) {
        let order = (oldest.is_none(), oldest.unwrap_or(0), n);
        if self.best.as_ref().is_none_or(|(best, _)| order < *best) {
            self.best = Some((order, held));
        }
    }

    fn take(self, folder: &Path) -> Result<Held, Taken> {
        match (self.best, self.missing) {
            (Some(((true, _, n), _)), Some(missing)) if missing < n => {
                hold(&folder.join(missing.to_string()))
            }
            (Some((_, held)), _) => Ok(held),
            (None, Some(missing)) => hold(&folder.join(missing.to_string())),
            (None, None) => Err(self.spoilt.unwrap_or_else(|| Taken::Full { path: folder.to_owned() })),
        }
    }
}
