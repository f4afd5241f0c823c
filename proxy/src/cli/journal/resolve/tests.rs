//! What becomes of an operator's word while no sidecar runs.

use std::path::Path;

use mcpl_codec::Refusal;
use mcpl_policy::journal::{Change, Table, WorkRow};
use tempfile::tempdir;

use super::*;
use crate::cli::journal::args::Command;
use crate::cli::journal::tests::{parsed, place};
use crate::journal::account::Books;
use crate::journal::account::sample::{ended, open, work, write};

fn resolved(line: &str, dir: &Path) -> Result<String, u8> {
    let Command::Resolve(resolve) = parsed(line) else { panic!("{line}") };
    super::resolved(&resolve, &place(dir))
}

fn account(dir: &Path, number: u64) -> Account {
    Books::open(dir).unwrap().account("discord", number).unwrap().unwrap()
}

fn row(fate: Fate, event_id: &str) -> WorkRow {
    WorkRow { revision: 3, event_id: Some(event_id.into()), ..work(fate) }
}

/// In doubt, dead, held, over; then one whose text is not kept any more.
fn filled(dir: &Path) {
    let mut changes = open(1, "doubt", &row(Fate::InDoubt, "doubt"));
    changes.extend(open(2, "dead", &row(Fate::Dead(Refusal::not_permitted()), "dead")));
    changes.extend(open(3, "held", &work(Fate::Held)));
    changes.extend(ended(4, "over", Fate::Delivered));
    let trimmed = open(5, "trimmed", &row(Fate::Dead(Refusal::not_permitted()), "trimmed"));
    let no_text = |change: &Change| !matches!(change, Change::Put { table: Table::Content, .. });
    changes.extend(trimmed.into_iter().filter(no_text));
    write(dir, "discord", changes);
}

#[test]
fn each_word_is_carried_out_and_stays() {
    for (line, said, state, open) in [
        ("resolve discord/1 --submitted --expect 3", "discord/1 is settled: delivered\n", "delivered", false),
        ("resolve discord/1 --not-submitted --expect 3", "discord/1 is held again", "held", true),
        ("resolve discord/1 --again", "discord/1 is held again", "held", true),
        ("resolve discord/1 --drop", "discord/1 is dropped\n", "dropped", false),
    ] {
        let tmp = tempdir().unwrap();
        filled(tmp.path());
        let told = resolved(line, tmp.path()).unwrap();
        assert!(told.starts_with(said), "{line}: {told}");
        let account = account(tmp.path(), 1);
        assert_eq!((account.state, account.open, account.revision > 3), (state, open, true), "{line}");
    }
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    assert!(resolved("resolve discord/2 --again --expect 3", tmp.path()).unwrap().contains("held again"));
    assert_eq!(account(tmp.path(), 2).state, "held");
    resolved("resolve discord/5 --drop", tmp.path()).unwrap();
    assert!(!account(tmp.path(), 5).open, "a dead letter that was let go is known by its receipt alone");
}

#[test]
fn another_revision_is_told_and_nothing_changed() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    let before = format!("{:?}", account(tmp.path(), 1));
    for word in ["--submitted", "--not-submitted", "--again", "--drop"] {
        let line = format!("resolve discord/1 {word} --expect 2");
        assert_eq!(resolved(&line, tmp.path()).unwrap_err(), exit::CHANGED);
    }
    assert_eq!(format!("{:?}", account(tmp.path(), 1)), before);
    // It ended meanwhile.
    assert_eq!(resolved("resolve discord/4 --drop --expect 1", tmp.path()).unwrap_err(), exit::CHANGED);
    resolved("resolve discord/1 --submitted --expect 3", tmp.path()).unwrap();
    assert_eq!(resolved("resolve discord/1 --drop --expect 3", tmp.path()).unwrap_err(), exit::CHANGED);
}

#[test]
fn what_is_not_there_or_not_open_is_a_usage_error() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    for line in [
        "resolve discord/9 --drop",
        "resolve nobody/1 --drop",
        "resolve doubt --drop",
        "resolve discord/2 --submitted",
        "resolve discord/2 --not-submitted",
        "resolve discord/3 --drop",
        "resolve discord/4 --again",
        "resolve discord/4 --again --expect 2",
        "resolve discord/5 --again",
    ] {
        assert_eq!(resolved(line, tmp.path()).unwrap_err(), exit::USAGE, "{line}");
    }
    let never = tmp.path().join("never");
    assert_eq!(resolved("resolve discord/1 --drop", &never).unwrap_err(), exit::USAGE);
    assert!(!never.exists(), "nothing is made to look for it");
}

#[test]
fn what_is_said_of_an_answer_fits_it() {
    let told = |word, answer| told("a/1", word, &answer);
    let done = |state: &str| Answer::Done(state.to_owned());
    assert_eq!(told(Word::Drop, done("dead-letter")).unwrap(), "a/1 is dropped\n");
    assert!(told(Word::Again, done("outcome-unknown")).unwrap().contains("is handed over"));
    assert!(told(Word::Again, done("replaced")).unwrap().contains("a newer one"));
    assert_eq!(told(Word::Submitted, done("delivered")).unwrap(), "a/1 is settled: delivered\n");
    assert_eq!(told(Word::Drop, Answer::Revision(7)).unwrap_err(), exit::CHANGED);
    for answer in [Answer::NotOpen("held".to_owned()), Answer::NoText, Answer::Unknown] {
        assert_eq!(told(Word::Drop, answer).unwrap_err(), exit::USAGE);
    }
    assert!(not_open("a/1", Word::Submitted, "dead-letter").contains("--again or --drop"));
}

#[test]
fn a_sidecar_that_holds_the_directory_and_cannot_be_asked_is_named() {
    let tmp = tempdir().unwrap();
    filled(tmp.path());
    let held = state::hold(tmp.path()).unwrap();
    assert_eq!(resolved("resolve discord/1 --drop", tmp.path()).unwrap_err(), exit::STATE);
    drop(held);
    assert_eq!(account(tmp.path(), 1).state, "manual-reconciliation");
    resolved("resolve discord/1 --drop", tmp.path()).unwrap();
}
