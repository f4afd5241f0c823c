//! Space kept for the hour when there is none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

use super::{RESERVE, RESERVE_BYTES};

/// So much more must be free before a new reserve is kept: else the next commit would take it again at once.
const SPARE_BYTES: u64 = 4 << 20;

/// A file that only occupies space.
pub(super) struct Reserve {
    path: PathBuf,
    there: bool,
}

impl Reserve {
    /// The reserve of a state directory, as an earlier run left it.
    pub(super) fn of(dir: &Path) -> Self {
        let path = dir.join(RESERVE);
        let there = fs::metadata(&path).is_ok_and(|meta| meta.len() >= RESERVE_BYTES);
        Self { path, there }
    }

    /// Whether there is one.
    pub(super) fn is_there(&self) -> bool {
        self.there
    }

    /// Gives it up; whether there was one.
    pub(super) fn give_up(&mut self) -> bool {
        std::mem::take(&mut self.there) && fs::remove_file(&self.path).is_ok()
    }

    /// Makes it, if it is not there and there is enough space; whether it is there.
    pub(super) fn make(&mut self) -> bool {
        if !self.there {
            self.there = self.occupy().is_ok();
            if !self.there {
                // Half a reserve is no use, and what it takes others may need.
                let _ = fs::remove_file(&self.path);
            }
        }
        self.there
    }

    fn occupy(&self) -> io::Result<()> {
        let disk = statvfs(self.path.parent().unwrap_or(&self.path))?;
        // Looked at first: what is tried in vain would be missing elsewhere for a while.
        if disk.f_bavail.saturating_mul(disk.f_frsize) < RESERVE_BYTES + SPARE_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&self.path)?;
        super::sqlite::close_to_others(&self.path)?;
        if fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES).is_err() {
            fill(&file)?;
        }
        file.sync_all()
    }
}

/// For file systems that allocate nothing ahead; with bytes that cannot be compressed away.
fn fill(mut file: &File) -> io::Result<()> {
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = Vec::with_capacity(64 << 10);
    for _ in 0..RESERVE_BYTES / (64 << 10) {
        block.clear();
        while block.len() < 64 << 10 {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            block.extend_from_slice(&noise.to_le_bytes());
        }
        file.write_all(&block)?;
    }
    Ok(())
}
