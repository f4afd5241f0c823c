//! Which journals the arguments name.

use std::path::Path;

use clap::Parser;
use tempfile::tempdir;

use super::*;

/// The arguments after `journal`.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    journal: Journal,
}

pub(super) fn parsed(line: &str) -> Command {
    Line::try_parse_from(std::iter::once("journal").chain(line.split(' '))).unwrap().journal.command
}

pub(super) fn place(dir: &Path) -> Vec<Place> {
    vec![Place { dir: dir.to_owned(), slot: None }]
}

fn at(line: &str) -> Where {
    match parsed(line) {
        Command::List(list) => list.at,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_names_its_state_directory_and_nothing_is_guessed() {
    let tmp = tempdir().unwrap();
    let file = tmp.path().join("x.toml");
    std::fs::write(&file, "state_dir = 'here'\n[[producer]]\nname = 'one'\n").unwrap();
    let config = format!("list --config {}", file.display());
    let here = tmp.path().join("here");
    assert_eq!(places(&at(&config), &|_| None).unwrap(), [Place { dir: here.clone(), slot: None }]);
    std::fs::create_dir_all(here.join("wrap/one/3")).unwrap();
    let slots = places(&at(&format!("{config} --name one")), &|_| None).unwrap();
    assert_eq!(
        slots,
        [Place { dir: here.join("wrap/one/3"), slot: Some(3) }],
        "a wrap's, under its state_dir"
    );
    assert_eq!(places(&at("list"), &|_| None).unwrap_err(), exit::USAGE);
    std::fs::write(&file, "nonsense = 1\n").unwrap();
    assert_eq!(places(&at(&config), &|_| None).unwrap_err(), exit::CONFIG);
}

#[test]
fn a_variable_that_only_the_service_has_is_not_asked_for() {
    let tmp = tempdir().unwrap();
    let file = tmp.path().join("x.toml");
    let at = at(&format!("list --config {}", file.display()));
    let of = |state_dir: &str, env: Env<'_>| {
        let rest = "[[producer]]\nname = 'one'\nenv = { TOKEN = '${TOKEN}' }\n";
        std::fs::write(&file, format!("state_dir = '{state_dir}'\n{rest}")).unwrap();
        places(&at, env).map(|places| places[0].dir.clone())
    };
    assert_eq!(of("here", &|_| None), Ok(tmp.path().join("here")));
    assert_eq!(of("${WHERE}/s", &|_| None), Err(exit::CONFIG), "where state lies is not guessed");
    let known = |name: &str| (name == "WHERE").then(|| "there".to_owned());
    assert_eq!(of("${WHERE}/s", &known), Ok(tmp.path().join("there/s")));
}

#[test]
fn a_name_stands_for_every_slot_that_there_is() {
    let tmp = tempdir().unwrap();
    let home = tmp.path().to_str().unwrap().to_owned();
    let env = |name: &str| (name == "XDG_STATE_HOME").then(|| home.clone());
    let folder = tmp.path().join("mcpl-sidecar/wrap/kept");
    assert!(places(&at("list --name kept"), &env).unwrap().is_empty(), "never used: nothing, and no error");
    for slot in ["0", "2", "63", "64", "lock"] {
        std::fs::create_dir_all(folder.join(slot)).unwrap();
    }
    let slots = |line: &str| -> Vec<usize> {
        places(&at(line), &env).unwrap().into_iter().filter_map(|place| place.slot).collect()
    };
    assert_eq!(slots("list --name kept"), [0, 2, 63]);
    assert_eq!(slots("list --name kept --slot 2"), [2]);
    assert_eq!(places(&at("list --name No"), &env).unwrap_err(), exit::USAGE);
    assert_eq!(places(&at("list --name kept"), &|_| None).unwrap_err(), exit::STATE);
}

#[test]
fn what_cannot_be_meant_is_no_command() {
    for line in [
        "resolve a/1",
        "resolve a/1 --submitted --drop",
        "resolve --submitted",
        "list --slot 1",
        "list --name a --slot 64",
        "list --state nonsense",
        "resolve a/1 --drop --expect -1",
        "show",
    ] {
        assert!(Line::try_parse_from(std::iter::once("journal").chain(line.split(' '))).is_err(), "{line}");
    }
}

#[test]
fn a_journal_that_cannot_be_read_at_all_is_told_from_an_empty_one() {
    let tmp = tempdir().unwrap();
    let file = tmp.path().join(crate::journal::FILE);
    let read = || place(tmp.path())[0].accounts().map(|accounts| accounts.is_some());
    std::fs::write(&file, "").unwrap();
    assert_eq!(read(), Ok(false), "nothing was ever written to it");
    std::fs::write(&file, [b'x'; 4096]).unwrap();
    assert_eq!(read(), Err(exit::STATE), "damaged");
    std::fs::remove_file(&file).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE other(id)").unwrap();
    assert_eq!(read(), Err(exit::STATE), "another program's");
}
