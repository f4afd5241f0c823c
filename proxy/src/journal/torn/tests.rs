use std::fs;

use super::{Dropped, dropped};

const PAGE: u64 = 16;

/// A log: its head, then frames of a salt, each the end of a commit or not.
fn log(frames: &[(u8, bool)]) -> tempfile::NamedTempFile {
    let mut bytes = vec![0; 32];
    bytes[16..24].fill(1);
    for (salt, commit) in frames {
        let mut frame = [0; 24];
        frame[7] = u8::from(*commit);
        frame[8..16].fill(*salt);
        bytes.extend_from_slice(&frame);
        bytes.extend_from_slice(&[0; PAGE as usize]);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    file
}

#[test]
fn only_frames_of_this_run_after_those_kept_were_dropped() {
    let file = log(&[(1, true), (1, false), (1, true), (1, false), (9, true)]);
    let count = |kept| dropped(file.path(), kept, PAGE).unwrap();
    assert_eq!(count(4), Dropped::default());
    assert_eq!(count(3), Dropped { pages: 1, commits: 0 });
    assert_eq!(count(1), Dropped { pages: 3, commits: 1 });
    assert_eq!(count(0), Dropped { pages: 4, commits: 2 });
}

#[test]
fn a_log_without_a_head_has_dropped_nothing_that_could_be_told() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(dropped(file.path(), 0, PAGE).is_err());
}
