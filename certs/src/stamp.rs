//! Whether files have changed since they were looked at, without reading them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How long after a change another one may bear the same times: file systems keep them as coarsely as 2 s.
const COARSE: Duration = Duration::from_secs(2);

/// What the system says of some files, each found through all symbolic links on the way to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamp(Vec<Option<Facts>>);

/// Of one file. A file that is not found has none.
#[derive(Debug, PartialEq, Eq)]
struct Facts {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
    /// Owner, permissions and every write, also one whose modification time was set back.
    changed: (i64, i64),
}

impl Stamp {
    /// Looks at the files.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let facts = |path| {
            let found = fs::metadata(path).ok()?;
            Some(Facts {
                device: found.dev(),
                inode: found.ino(),
                len: found.len(),
                modified: (found.mtime(), found.mtime_nsec()),
                changed: (found.ctime(), found.ctime_nsec()),
            })
        };
        Self(paths.into_iter().map(facts).collect())
    }

    /// Whether a later change of a file is bound to give another stamp. Right after a change it is not: then the
    /// files are to be read again.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let until = now.saturating_sub(COARSE).as_secs() as i64;
        self.0.iter().flatten().all(|facts| facts.changed.0 < until)
    }
}
