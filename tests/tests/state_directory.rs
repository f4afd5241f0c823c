//! A state directory that cannot be ours, or whose journal cannot be trusted, and what damage loses: nothing that was
//! promised (contract sections 1, 9.1).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

use std::fs;
use std::io::Write as _;
use std::process::Output;

use mcpl_tests::{World, push};
use rustix::process::Signal;

/// A world with three held events, whose program has ended by this signal.
async fn left_behind(by: Signal) -> World {
    let mut world = World::started().await;
    let session = world.session().await;
    for n in 0..3 {
        session
            .push(push(&format!("e{n}"), &format!("TEXT-{n}-{}", "x".repeat(200))).key(&format!("k{n}")))
            .await;
    }
    drop(session);
    world.program().signal(by);
    world.program().exit().await;
    world.kill().await;
    world
}

async fn run(world: &World) -> (Output, String) {
    let said = world.output(&["run", "--config", "sidecar.toml"]).await;
    let stderr = String::from_utf8_lossy(&said.stderr).into_owned();
    (said, stderr)
}

/// Puts `new` where `old`, of the same length, is in the file; how often.
fn patch(file: &std::path::Path, old: &[u8], new: &[u8]) -> usize {
    let mut bytes = fs::read(file).expect("the file is there");
    let places: Vec<usize> =
        bytes.windows(old.len()).enumerate().filter(|(_, it)| *it == old).map(|(at, _)| at).collect();
    for &at in &places {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    fs::write(file, bytes).expect("the file can be written");
    places.len()
}

#[tokio::test]
async fn a_second_process_on_one_directory_exits_73_and_names_the_first() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.push(push("e1", "HELD").key("k")).await;
    let (said, stderr) = run(&world).await;
    assert_eq!(said.status.code(), Some(73), "{stderr}");
    let pid = world.program().pid();
    assert!(stderr.contains(&format!("in use by process {pid};")), "{stderr}");
    // The first has not noticed.
    session.assemble().await;
    session.host.is_given("HELD").await;
    // After a kill nobody holds it.
    world.restart().await;
    world.session().await;
}

#[tokio::test]
async fn a_journal_of_an_unknown_format_is_refused_with_what_wrote_it_and_left_alone() {
    let world = left_behind(Signal::TERM).await;
    let file = world.state().join("journal.db");
    assert!(
        patch(&file, b"mcpl-sidecar 0.1.0", b"mcpl-sidecar 9.8.7") > 0,
        "what wrote it is not in the file"
    );
    let mut bytes = fs::read(&file).expect("a journal");
    // `user_version` of an SQLite file.
    bytes[60..64].copy_from_slice(&77_u32.to_be_bytes());
    fs::write(&file, &bytes).expect("the file can be written");
    let (said, stderr) = run(&world).await;
    assert_eq!(said.status.code(), Some(73), "{stderr}");
    assert!(stderr.contains("was written by mcpl-sidecar 9.8.7 (format 77)"), "{stderr}");
    assert!(fs::read(&file).expect("a journal") == bytes, "it was changed");
    let said = world.output(&["journal", "list", "--config", "sidecar.toml"]).await;
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(73), "{stderr}");
    assert!(stderr.contains("mcpl-sidecar 9.8.7"), "{stderr}");
}

#[tokio::test]
async fn a_row_that_changed_by_itself_is_refused_with_what_can_be_saved_and_the_rest_is_saved() {
    let world = left_behind(Signal::TERM).await;
    let file = world.state().join("journal.db");
    assert_eq!(patch(&file, b"TEXT-1-xxxx", b"TEXT-1-xxXx"), 1, "the text is not in the file");
    let (said, stderr) = run(&world).await;
    assert_eq!(said.status.code(), Some(73), "{stderr}");
    assert_eq!(patch(&file, b"TEXT-1-xxXx", b"TEXT-1-xxXx"), 1, "it was changed");
    assert!(stderr.contains("is damaged") && stderr.contains("`mcpl-sidecar journal export`"), "{stderr}");
    let said = world.output(&["journal", "export", "--config", "sidecar.toml"]).await;
    let (stdout, stderr) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert_eq!(said.status.code(), Some(70), "{stderr}");
    for text in ["TEXT-0-", "TEXT-2-"] {
        assert!(stdout.contains(text), "{text} was not saved: {stdout} {stderr}");
    }
    assert!(!stdout.contains("TEXT-1-"), "a damaged text was passed off as whole: {stdout}");
    assert!(!stderr.is_empty(), "nothing is said of what could not be saved");
}

#[tokio::test]
async fn a_page_of_rubbish_is_refused_and_never_taken_for_an_empty_journal() {
    let world = left_behind(Signal::TERM).await;
    let file = world.state().join("journal.db");
    let whole = fs::read(&file).expect("a journal");
    assert!(whole.len() >= 4 * 4096, "{} bytes", whole.len());
    for (page, filling) in [(0, 0x00), (0, 0xff), (1, 0xff), (whole.len() / 4096 - 1, 0xff), (2, 0xa5)] {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(filling);
        fs::write(&file, &bytes).expect("the file can be written");
        for beside in ["journal.db-wal", "journal.db-shm"] {
            // Of the start before.
            let _ = fs::remove_file(world.state().join(beside));
        }
        let (said, stderr) = start(&world).await;
        if said.is_none() {
            // The page had nothing that counts: then all of it must be there.
            continue;
        }
        assert_eq!(said, Some(73), "page {page} of {filling:#x}: {stderr}");
        assert!(fs::read(&file).expect("a journal") == bytes, "page {page}: it was changed");
    }
}

/// The exit code of a start that fails; `None`: it holds all three. Then it is ended.
async fn start(world: &World) -> (Option<i32>, String) {
    let log = world.folder().join("second.log");
    let stderr = fs::File::create(&log).expect("a log");
    let mut child = world
        .command(&["run", "--config", "sidecar.toml"])
        .stderr(stderr)
        .kill_on_drop(true)
        .spawn()
        .expect("the program can be started");
    let end = tokio::time::Instant::now() + mcpl_tests::PATIENCE;
    loop {
        let text = fs::read_to_string(&log).unwrap_or_default();
        if let Ok(Some(status)) = child.try_wait() {
            return (status.code(), text);
        }
        if text.contains("work of an earlier run is held producer=main held=3") {
            let _ = child.kill().await;
            return (None, text);
        }
        assert!(tokio::time::Instant::now() < end, "it neither serves nor ends: {text}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn rubbish_behind_the_log_loses_nothing() {
    for rubbish in [&b"rubbish"[..], &[0x5a; 24 + 4096], &[0xff; 3 * 4096 + 17]] {
        let mut world = left_behind(Signal::KILL).await;
        let log = world.state().join("journal.db-wal");
        assert!(fs::metadata(&log).expect("a log").len() > 0, "there is nothing in the log");
        fs::File::options()
            .append(true)
            .open(&log)
            .and_then(|mut file| file.write_all(rubbish))
            .expect("it grows");
        world.restart().await;
        let session = world.session().await;
        session.assemble().await;
        let given = session.host.given();
        assert_eq!(given.len(), 3, "after {} bytes of rubbish: {given:?}", rubbish.len());
    }
}
