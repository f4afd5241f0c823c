//! What is shown of one occurrence.

use std::path::Path;

use mcpl_codec::Refusal;
use mcpl_policy::journal::Table;
use serde_json::{Value, json};
use tempfile::tempdir;

use super::*;
use crate::cli::exit;
use crate::cli::journal::args::Command;
use crate::cli::journal::tests::{parsed, place};
use crate::journal::account::sample::{batch, ended, open, put, receipt, work, write};

fn shown(line: &str, places: &[Place]) -> Result<String, u8> {
    let Command::Show(show) = parsed(line) else { panic!("{line}") };
    text(&show, places)
}

fn filled(dir: &Path) {
    let mut replaced = receipt("old", Fate::Replaced);
    replaced.by = 2;
    let mut changes = vec![put(Table::Receipt, 1, replaced.encode())];
    changes.extend(open(2, "new", &work(Fate::InDoubt)));
    changes.extend(open(3, "dead", &work(Fate::Dead(Refusal::not_permitted()))));
    changes.extend(ended(4, "discord/2", Fate::Delivered));
    write(dir, "discord", changes);
}

#[test]
fn an_id_and_an_event_id_show_the_same() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    let places = place(tmp.path());
    let by_id = shown("show discord/3", &places).unwrap();
    assert_eq!(shown("show dead", &places).unwrap(), by_id);
    assert!(
        by_id.starts_with("discord/3: ") && by_id.contains("\n  refusal      not_permitted\n"),
        "{by_id}"
    );
    let value: Value = serde_json::from_str(&shown("show discord/2 --json", &places).unwrap()).unwrap();
    assert_eq!(value["eventId"], "new", "what reads like an id is one where there is one");
    assert_eq!(shown("show nothing", &places).unwrap_err(), exit::USAGE);
    assert_eq!(shown("show discord/9", &places).unwrap_err(), exit::USAGE);
    assert_eq!(shown("show discord/9", &[]).unwrap_err(), exit::USAGE);
}

#[test]
fn a_batch_is_shown_with_how_many_notices_it_stands_for() {
    let tmp = tempdir().unwrap();
    let mut changes = batch(1, "few", 2);
    changes.extend(batch(2, "many", 65));
    write(tmp.path(), "discord", changes);
    let places = place(tmp.path());
    let page = shown("show many", &places).unwrap();
    assert!(
        page.contains("\n  notices      65, the newest 64 kept\n") && !page.contains("\"n64\""),
        "{page}"
    );
    let page = shown("show few --content", &places).unwrap();
    assert!(page.contains("\n  notices      2, all kept\n"), "{page}");
    assert!(
        page.contains("\n  notice       {\"eventId\":\"n1\",\"timestamp\":\"t\",\"data\":1}\n"),
        "{page}"
    );
    let value: Value = serde_json::from_str(&shown("show many --json", &places).unwrap()).unwrap();
    assert_eq!((&value["batch"], value.get("notices")), (&json!({"notices": 65, "kept": 64}), None));
}

#[test]
fn what_was_replaced_is_told_with_what_replaced_it() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    let page = shown("show old", &place(tmp.path())).unwrap();
    assert!(page.contains("\n  replaced by  discord/2 (new)\n"), "{page}");
    assert!(!page.contains("journal resolve"), "nothing is to be done about it: {page}");
}

#[test]
fn what_can_be_done_is_said_as_it_is_to_be_typed() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    let page = shown("show new", &place(tmp.path())).unwrap();
    for flag in ["--submitted", "--not-submitted", "--drop"] {
        assert!(page.contains(&format!("journal resolve discord/2 {flag} --expect 1")), "{page}");
    }
    assert!(!page.contains("--again"), "{page}");
    let page = shown("show dead", &place(tmp.path())).unwrap();
    assert!(page.contains("--again") && page.contains("--drop") && !page.contains("submitted"), "{page}");
}

#[test]
fn content_is_shown_only_if_it_was_asked_for() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    let places = place(tmp.path());
    for line in ["show new", "show new --json"] {
        assert!(!shown(line, &places).unwrap().contains("hush"));
        let with = shown(&format!("{line} --content"), &places).unwrap();
        assert!(with.contains("hush"), "{with}");
    }
    let value: Value = serde_json::from_str(&shown("show new --json --content", &places).unwrap()).unwrap();
    assert_eq!(value["event"]["payload"], json!({"content": "hush"}));
    assert!(shown("show old --content", &places).unwrap().contains("not kept any more"));
}

#[test]
fn one_event_id_of_several_is_asked_for_by_id() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    write(tmp.path(), "portal", open(1, "new", &work(Fate::Held)));
    assert_eq!(shown("show new", &place(tmp.path())).unwrap_err(), exit::USAGE);
    assert!(shown("show portal/1", &place(tmp.path())).unwrap().starts_with("portal/1: "));
}

#[test]
fn one_id_of_several_slots_is_asked_for_by_slot() {
    let tmp = tempdir().unwrap();
    let slot = |n: usize| Place { dir: tmp.path().join(n.to_string()), slot: Some(n) };
    for n in [0, 1] {
        std::fs::create_dir(&slot(n).dir).unwrap();
        write(&slot(n).dir, "kept", open(1, &format!("e{n}"), &work(Fate::InDoubt)));
    }
    assert_eq!(shown("show kept/1", &[slot(0), slot(1)]).unwrap_err(), exit::USAGE);
    let page = shown("show e1", &[slot(0), slot(1)]).unwrap();
    assert!(page.contains("--expect 1 --slot 1 "), "{page}");
}

#[test]
fn what_is_to_be_typed_names_the_journal_it_was_read_from() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    for (line, journal) in [
        ("show dead --config /etc/mcpl/sidecar.toml", " --config /etc/mcpl/sidecar.toml  "),
        ("show dead --config $HOME/x", " --config '$HOME/x'  "),
        ("show dead --config it's", r" --config 'it'\''s'  "),
        ("show dead --name chat", " --name chat  "),
    ] {
        let page = shown(line, &place(tmp.path())).unwrap();
        let typed = "  mcpl-sidecar journal resolve discord/3 --again --expect 1";
        assert!(page.contains(&format!("{typed}{journal}")), "{line}: {page}");
    }
}
