//! What a kill or a loss of power cut off the write-ahead log.
//!
//! `SQLite` drops, without a word, what comes after the first frame that does not match its checksum. That is right
//! for a commit that was under way; what was dropped is counted here, for the log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME};

/// The head of the log, bytes.
const HEAD: u64 = 32;
/// The head of a frame, bytes.
const FRAME: u64 = 24;

/// What was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dropped {
    /// Pages.
    pub(super) pages: u64,
    /// Ends of commits among them.
    pub(super) commits: u64,
}

/// Says in the log what was dropped when the file was opened. To be called before anything is written.
pub(super) fn report(file: &Path, connection: &Connection, page: u64) {
    let Ok((kept, _)) = connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::NOOP) else { return };
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    // Only the log, never the file itself: closing that would drop SQLite's locks.
    let Ok(dropped) = dropped(Path::new(&log), u64::try_from(kept).unwrap_or(0), page) else { return };
    match dropped {
        Dropped { pages: 0, .. } => {}
        Dropped { pages, commits: 0 | 1 } => {
            tracing::info!(
                "the last run was cut off while it wrote {pages} pages to the journal; they were dropped"
            );
        }
        Dropped { pages, commits } => tracing::warn!(
            "the journal's write-ahead log is damaged: {pages} pages of {commits} commits were dropped"
        ),
    }
}

/// Counts the frames of the log's current run that come after those that are kept.
fn dropped(log: &Path, kept: u64, page: u64) -> io::Result<Dropped> {
    let log = File::open(log)?;
    let mut head = [0; HEAD as usize];
    log.read_exact_at(&mut head, 0)?;
    let salt = &head[16..24];
    let mut dropped = Dropped::default();
    let mut frame = [0; FRAME as usize];
    let mut at = HEAD + kept * (FRAME + page);
    // Older runs' frames have another salt; garbage has none.
    while log.read_exact_at(&mut frame, at).is_ok() && &frame[8..16] == salt {
        dropped.pages += 1;
        dropped.commits += u64::from(frame[4..8] != [0; 4]);
        at += FRAME + page;
    }
    Ok(dropped)
}

#[cfg(test)]
mod tests;
