//! What a list shows.

use std::path::Path;

use mcpl_codec::Refusal;
use mcpl_policy::fate::Fate;
use mcpl_policy::journal::Table as Rows;
use serde_json::Value;
use tempfile::tempdir;

use super::*;
use crate::cli::journal::args::Command;
use crate::cli::journal::tests::{parsed, place};
use crate::journal::account::sample::{Written, ended, open, spoil, work, write};

fn out(line: &str, places: &[Place]) -> Result<String, u8> {
    let Command::List(list) = parsed(line) else { panic!("{line}") };
    let mut to = Vec::new();
    let result = listed(&list, places, &mut to, None);
    result.map(|()| String::from_utf8(to).unwrap())
}

fn ids(line: &str, places: &[Place]) -> Vec<String> {
    let rows: Value = serde_json::from_str(&out(&format!("{line} --json"), places).unwrap()).unwrap();
    let id = |row: &Value| row["id"].as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(id).collect()
}

/// One producer with something of every sort.
fn filled(dir: &Path) {
    let mut changes = open(1, "a", &work(Fate::Held));
    changes.extend(open(2, "b", &work(Fate::InDoubt)));
    changes.extend(open(3, "c", &work(Fate::Dead(Refusal::not_permitted()))));
    changes.extend(ended(4, "d", Fate::Delivered));
    write(dir, "discord", changes);
}

#[test]
fn without_all_only_what_is_not_over_is_listed() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    let places = place(tmp.path());
    assert_eq!(ids("list", &places), ["discord/1", "discord/2", "discord/3"]);
    assert_eq!(ids("list --all", &places), ["discord/1", "discord/2", "discord/3", "discord/4"]);
    assert_eq!(
        ids("list --state manual-reconciliation --state dead-letter", &places),
        ["discord/2", "discord/3"]
    );
    assert_eq!(ids("list --state delivered", &places), ["discord/4"], "asking for it is enough");
    assert!(ids("list --all --state expired", &places).is_empty());
}

#[test]
fn a_row_of_the_array_has_the_members_of_the_contract() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    let text = out("list --json", &place(tmp.path())).unwrap();
    let rows: Value = serde_json::from_str(&text).unwrap();
    for row in rows.as_array().unwrap() {
        for member in ["id", "producer", "eventId", "state", "delivery", "decision", "outcome", "revision"] {
            assert!(row.get(member).is_some(), "{member}: {row}");
        }
        assert!(row["revision"].is_u64() && row["decision"]["state"].is_string(), "{row}");
    }
    assert!(!text.contains("hush"), "content is not listed");
}

#[test]
fn people_get_a_table_or_a_word_that_there_is_nothing() {
    let tmp = tempdir().unwrap();
    assert_eq!(out("list", &place(tmp.path())).unwrap(), "Nothing is held, in doubt or dead.\n");
    assert_eq!(out("list --all", &[]).unwrap(), "The journal is empty.\n");
    filled(tmp.path());
    let table = out("list", &place(tmp.path())).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("ID         STATE"), "{table}");
    assert!(lines[3].starts_with("discord/3  dead-letter") && lines[3].ends_with("not_permitted"), "{table}");
    assert_eq!(lines.len(), 4);
    assert_eq!(out("list --state expired", &place(tmp.path())).unwrap(), "Nothing like that.\n");
}

#[test]
fn a_directory_without_a_journal_is_an_empty_list() {
    let tmp = tempdir().unwrap();
    assert_eq!(out("list --json", &place(tmp.path())).unwrap(), "[]\n");
    assert_eq!(out("list --json --all", &place(&tmp.path().join("never"))).unwrap(), "[]\n");
    assert_eq!(std::fs::read_dir(tmp.path()).unwrap().count(), 0, "and looking leaves nothing behind");
}

#[test]
fn a_journal_that_is_written_can_be_listed() {
    let tmp = tempdir().unwrap();
    let mut running = Written::new(tmp.path(), "discord");
    running.write(open(1, "a", &work(Fate::Held)));
    assert_eq!(ids("list", &place(tmp.path())), ["discord/1"]);
    running.write(open(2, "b", &work(Fate::Held)));
    assert_eq!(ids("list", &place(tmp.path())), ["discord/1", "discord/2"]);
}

#[test]
fn a_producer_that_nobody_knows_is_a_slip_of_the_pen() {
    let tmp = tempdir().unwrap();
    assert!(ids("list --producer discord", &place(tmp.path())).is_empty(), "there may be one some day");
    filled(tmp.path());
    write(tmp.path(), "portal", open(1, "p", &work(Fate::Held)));
    assert_eq!(ids("list --producer portal", &place(tmp.path())), ["portal/1"]);
    assert_eq!(ids("list --producer discord", &place(tmp.path())).len(), 3);
    assert_eq!(out("list --producer discrod", &place(tmp.path())).unwrap_err(), exit::USAGE);
}

#[test]
fn every_slot_of_a_name_is_listed_with_its_number() {
    let tmp = tempdir().unwrap();
    let slot = |n: usize| Place { dir: tmp.path().join(n.to_string()), slot: Some(n) };
    for n in [0, 2] {
        std::fs::create_dir(tmp.path().join(n.to_string())).unwrap();
        write(&slot(n).dir, "kept", open(1, &format!("e{n}"), &work(Fate::Held)));
    }
    let text = out("list --json", &[slot(0), slot(2)]).unwrap();
    let rows: Value = serde_json::from_str(&text).unwrap();
    let of = |n: usize| (rows[n]["id"].as_str().unwrap(), rows[n]["slot"].as_u64().unwrap());
    assert_eq!((of(0), of(1)), (("kept/1", 0), ("kept/1", 2)));
    assert!(out("list", &[slot(0), slot(2)]).unwrap().contains("kept/1 (slot 2)"));
}

#[test]
fn what_can_be_read_of_a_damaged_journal_is_listed_and_the_exit_code_tells() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    spoil(tmp.path(), Rows::Work, 2);
    let Command::List(list) = parsed("list --json") else { panic!() };
    let mut to = Vec::new();
    assert_eq!(listed(&list, &place(tmp.path()), &mut to, None).unwrap_err(), exit::INTERNAL);
    let rows: Value = serde_json::from_slice(&to).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    struct Gone(usize);
    impl Write for Gone {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    for line in ["list --json", "list"] {
        let Command::List(list) = parsed(line) else { panic!() };
        for writes in 0..4 {
            listed(&list, &place(tmp.path()), &mut Gone(writes), None).unwrap();
        }
    }
}

#[test]
fn a_damaged_log_is_told_and_what_is_there_is_shown() {
    let tmp = tempdir().unwrap();
    crate::journal::account::sample::killed(tmp.path(), "discord", 9);
    assert_eq!(ids("list", &place(tmp.path())).len(), 9);
    let log = tmp.path().join(format!("{}-wal", crate::journal::FILE));
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[3] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    // Another process would not know what this one remembers of the log.
    let _ = std::fs::remove_file(tmp.path().join(format!("{}-shm", crate::journal::FILE)));
    let mut to = Vec::new();
    let Command::List(list) = parsed("list") else { panic!() };
    assert_eq!(listed(&list, &place(tmp.path()), &mut to, None), Err(exit::INTERNAL));
    assert!(!to.is_empty());
}
