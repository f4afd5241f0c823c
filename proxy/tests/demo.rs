//! `demo`: without set-up, to its end, the same every time.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::{Command, Output, Stdio};

fn demo() -> Output {
    let nowhere = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_mcpl-sidecar"))
        .arg("demo")
        .env_clear()
        .current_dir(nowhere.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(nowhere.path().read_dir().unwrap().count(), 0, "it leaves nothing behind");
    output
}

/// The two counts of a line of the sums.
fn counts(text: &str, of: &str) -> (usize, usize) {
    let line = text.lines().find_map(|line| line.strip_prefix(of)).unwrap_or_else(|| panic!("{of}: {text}"));
    let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
fn it_needs_nothing_and_shows_fewer_events_and_no_loss() {
    let first = demo();
    assert!(first.status.success(), "{first:?}");
    assert_eq!(String::from_utf8(first.stderr).unwrap(), "");
    let text = String::from_utf8(first.stdout.clone()).unwrap();
    assert_eq!(counts(&text, "events the host was given"), (25, 14));
    assert_eq!(counts(&text, "refusals in English only"), (5, 0));
    assert_eq!(counts(&text, "refusals with fields that a program can act on"), (0, 11));
    assert_eq!(counts(&text, "events lost to a passing failure of the host"), (2, 0));
    assert_eq!(counts(&text, "events discord-mcpl sent"), (7, 7));
    assert_eq!(counts(&text, "events the model was shown"), (6, 3));
    assert_eq!(counts(&text, "edits the host dropped as duplicates"), (1, 0));
    assert!(!text.contains('\u{1b}'), "a pipe gets no colour");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(demo().stdout, first.stdout, "every run shows the same");
}
