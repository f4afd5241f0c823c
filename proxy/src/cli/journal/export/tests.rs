//! What is saved, and what is said of the rest.

use std::path::PathBuf;

use mcpl_policy::fate::Fate;
use mcpl_policy::journal::Table;
use serde_json::Value;
use tempfile::tempdir;

use super::*;
use crate::cli::journal::args::Command;
use crate::cli::journal::tests::{parsed, place};
use crate::journal::FILE;
use crate::journal::account::sample::{Written, batch, ended, open, spoil, work, write};

fn lines(text: &[u8]) -> Vec<Value> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

fn filled(dir: &Path, count: u64) {
    let changes = (1..=count).flat_map(|n| match n % 2 {
        0 => ended(n, &format!("e{n}"), Fate::Delivered),
        _ => open(n, &format!("e{n}"), &work(Fate::Held)),
    });
    write(dir, "discord", changes.collect());
}

fn saved(dir: &Path) -> (Result<u64, u8>, Vec<Value>) {
    let mut to = Vec::new();
    let result = exported(&place(dir), &mut to, Progress::new(false));
    (result, lines(&to))
}

#[test]
fn everything_is_a_line_with_its_content() {
    let tmp = tempdir().unwrap();
    filled(tmp.path(), 4);
    let (result, lines) = saved(tmp.path());
    assert_eq!((result, lines.len()), (Ok(4), 4));
    assert_eq!(lines[0]["event"]["payload"]["content"], "hush");
    assert_eq!((&lines[1]["state"], lines[1].get("event")), (&"delivered".into(), None));
}

#[test]
fn a_batch_is_saved_with_its_notices() {
    let tmp = tempdir().unwrap();
    let mut changes = batch(1, "few", 2);
    changes.extend(open(2, "plain", &work(Fate::Held)));
    write(tmp.path(), "discord", changes);
    let (result, lines) = saved(tmp.path());
    assert_eq!(result, Ok(2));
    assert_eq!(lines[0]["batch"], serde_json::json!({"notices": 2, "kept": 2}));
    assert_eq!((&lines[0]["notices"][1]["data"], &lines[0]["event"]["eventId"]), (&1.into(), &"few".into()));
    assert_eq!((lines[1].get("batch"), lines[1].get("notices")), (None, None));
    spoil(tmp.path(), Table::Notice, 65);
    let (result, lines) = saved(tmp.path());
    assert_eq!((result, lines[0]["notices"].as_array().map(Vec::len)), (Err(exit::INTERNAL), Some(1)));
}

#[test]
fn a_journal_that_is_written_is_saved_as_it_is() {
    let tmp = tempdir().unwrap();
    let mut running = Written::new(tmp.path(), "discord");
    running.write(open(1, "a", &work(Fate::Held)));
    assert_eq!(saved(tmp.path()).0, Ok(1));
    assert_eq!(saved(&tmp.path().join("never")).0, Ok(0), "and where there is none, none is");
}

#[test]
fn a_spoilt_row_costs_nothing_but_itself() {
    let tmp = tempdir().unwrap();
    filled(tmp.path(), 9);
    spoil(tmp.path(), Table::Receipt, 4);
    spoil(tmp.path(), Table::Content, 5);
    let (result, lines) = saved(tmp.path());
    assert_eq!((result, lines.len()), (Err(exit::INTERNAL), 8));
    assert_eq!((&lines[3]["eventId"], lines[3].get("event")), (&"e5".into(), None));
}

#[test]
fn damaged_pages_cost_what_lies_in_them() {
    let tmp = tempdir().unwrap();
    filled(tmp.path(), 4000);
    let file = tmp.path().join(FILE);
    let mut bytes = std::fs::read(&file).unwrap();
    let pages = bytes.len() / 4096;
    // Some in the middle, where rows are.
    for page in [pages / 2, pages * 3 / 4] {
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
    }
    std::fs::write(&file, bytes).unwrap();
    let (result, lines) = saved(tmp.path());
    assert_eq!(result, Err(exit::INTERNAL));
    assert!(lines.len() > 3000, "{}", lines.len());
    let mut ids: Vec<&str> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), lines.len(), "nothing twice");
}

#[test]
fn a_file_that_is_no_journal_any_more_is_said_to_be_lost() {
    let tmp = tempdir().unwrap();
    filled(tmp.path(), 2);
    std::fs::write(tmp.path().join(FILE), [0xa5; 8192]).unwrap();
    let (result, lines) = saved(tmp.path());
    assert!(result.is_err() && lines.is_empty(), "{result:?}");
}

#[test]
fn an_export_is_its_owners_only() {
    let tmp = tempdir().unwrap();
    filled(tmp.path(), 2);
    let other = tempdir().unwrap();
    let to: PathBuf = other.path().join("out.jsonl");
    std::fs::write(&to, "what was there before, and is longer than nothing").unwrap();
    std::fs::set_permissions(&to, Permissions::from_mode(0o644)).unwrap();
    let Command::Export(asked) = parsed(&format!("export --output {}", to.display())) else { panic!() };
    export(&asked, &place(tmp.path())).unwrap();
    assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(lines(&std::fs::read(&to).unwrap()).len(), 2);
    let Command::Export(asked) = parsed("export --output /nowhere/at/all") else { panic!() };
    assert_eq!(export(&asked, &place(tmp.path())).unwrap_err(), exit::USAGE);
}

#[test]
fn progress_is_a_share_of_what_there_is() {
    assert_eq!(line("discord", 512, 50, Some(200)), "discord: 512 occurrences (25%)");
    assert_eq!(line("discord", 512, 300, Some(200)), "discord: 512 occurrences");
    assert_eq!(line("discord", 512, 300, None), "discord: 512 occurrences");
}

#[test]
fn an_export_is_never_written_over_the_journal() {
    let tmp = tempdir().unwrap();
    let (state, other) = (tmp.path().join("state"), tmp.path().join("other"));
    for dir in [&state, &other] {
        std::fs::create_dir(dir).unwrap();
    }
    filled(&state, 4);
    std::os::unix::fs::symlink(state.join(FILE), other.join("link")).unwrap();
    std::os::unix::fs::symlink(&state, other.join("folder")).unwrap();
    for name in ["state/journal.db", "state/new.jsonl", "other/link", "other/folder/reserve"] {
        let path = tmp.path().join(name);
        assert!(is_within(&path, &state), "{name}");
    }
    for name in ["other/new.jsonl", "state.jsonl", "nowhere/x"] {
        assert!(!is_within(&tmp.path().join(name), &state), "{name}");
    }
    assert!(!is_within(Path::new("new.jsonl"), &state));
}

#[test]
fn a_damaged_log_is_told_and_what_is_before_it_is_saved() {
    let tmp = tempdir().unwrap();
    crate::journal::account::sample::killed(tmp.path(), "discord", 20);
    let log = tmp.path().join(format!("{FILE}-wal"));
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let (result, lines) = saved(tmp.path());
    assert_eq!(result, Err(exit::INTERNAL));
    assert!((1..20).contains(&lines.len()), "{}", lines.len());
    assert_eq!(std::fs::read(&log).unwrap(), bytes, "nothing was changed");
}
