//! The program on a disk without space: a limit on its files, a bound of its own, and a small file system that is
//! full (contract sections 9.1, 9.5).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use mcpl_tests::{PATIENCE, Session, World, not_run, outcome, push};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

fn assert_unavailable(answer: &Value) {
    let result = &answer["result"];
    assert_eq!(result["refusal"], json!("unavailable"), "{answer}");
    assert_eq!(result["retryable"], json!(true), "{answer}");
    assert!(result["retryAfterMs"].as_u64().is_some_and(|ms| ms > 0), "{answer}");
}

/// Sends held work, 2 KiB each, until one is refused; the texts of what was accepted.
async fn until_refused(session: &Session, name: &str) -> Vec<String> {
    let mut accepted = Vec::new();
    for n in 0..20_000 {
        let text = format!("{name} {n}");
        let filler = "x".repeat(2048);
        let event = push(&format!("{name}{n}"), &text).key(&format!("{name}{n}")).initial();
        let answer = session.push(event.with("filler", json!(filler))).await;
        if answer["result"]["accepted"] != json!(true) {
            assert_unavailable(&answer);
            return accepted;
        }
        accepted.push(text);
    }
    panic!("it was never full");
}

/// Sends one event until it is taken.
async fn taken(session: &Session, id: &str) {
    let end = Instant::now() + PATIENCE;
    loop {
        let answer = session.push(push(id, id).key(id).initial()).await;
        if answer["result"]["accepted"] == json!(true) {
            assert_eq!(outcome(&answer), Some("first"), "{answer}");
            return;
        }
        assert!(Instant::now() < end, "the space was not noticed: {answer}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// What needs no disk passes.
async fn passes(session: &Session, id: &str) {
    let plain = session.push(push(id, "PASSES")).await;
    assert_eq!(plain["result"]["accepted"], json!(true), "{plain}");
    session.passes_to_producer(&[r#"{"jsonrpc":"2.0","method":"to/producer"}"#]).await;
    session.passes_to_host(&[r#"{"jsonrpc":"2.0","method":"to/host"}"#]).await;
}

/// What the host was given of held work.
async fn given(session: &Session, last: &str) -> Vec<String> {
    session.host.is_given(last).await;
    session.host.given().into_iter().filter(|text| text != "PASSES").collect()
}

/// The program may write no file beyond this size, whatever it runs as.
fn limit(world: &mut World, bytes: Option<u64>) {
    let pid = Pid::from_raw(world.program().pid().cast_signed());
    let maximum = getrlimit(Resource::Fsize).maximum;
    prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum }).expect("a limit can be set");
}

#[tokio::test]
async fn a_disk_that_takes_no_writes_loses_nothing_and_promises_nothing() {
    // A limit ends a process that does not ignore the signal; what is ignored stays so.
    let mut world = World::new().await.behind(["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).start().await;
    let session = world.session().await;
    let first = session.push(push("first", "first").key("first").initial()).await;
    limit(&mut world, Some(400 << 10));
    let mut held = until_refused(&session, "full").await;
    assert!(!held.is_empty(), "it never took anything");
    held.insert(0, "first".to_owned());
    assert_unavailable(&session.push(push("more", "more").key("more")).await);
    passes(&session, "plain").await;
    drop(session);

    // Killed like that, and started on a disk as full as before.
    world.kill().await;
    assert_eq!(world.listed(&[]).await.len(), held.len());
    world.restart().await;
    let session = world.session().await;
    let again = session.push(push("first", "first").key("first").initial()).await;
    assert_eq!(again["result"], first["result"]);
    taken(&session, "after").await;
    held.push("after".to_owned());
    session.assemble().await;
    assert_eq!(given(&session, "after").await, held);
}

#[tokio::test]
async fn space_that_comes_back_is_noticed_without_a_restart() {
    let mut world = World::new().await.behind(["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).start().await;
    let session = world.session().await;
    limit(&mut world, Some(300 << 10));
    let mut held = until_refused(&session, "full").await;
    passes(&session, "plain").await;
    limit(&mut world, None);
    taken(&session, "after").await;
    held.push("after".to_owned());
    session.assemble().await;
    assert_eq!(given(&session, "after").await, held);
    let end = Instant::now() + PATIENCE;
    for said in ["the disk is full", "the journal takes everything again"] {
        while !world.program().stderr().contains(said) {
            assert!(Instant::now() < end, "an operator is not told: {said:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn at_its_own_bound_the_old_is_handed_over_and_then_there_is_room() {
    let mut world = World::new().await.top("max_journal_bytes = 1048576").start().await;
    let session = world.session().await;
    let mut held = until_refused(&session, "bound").await;
    passes(&session, "plain").await;
    drop(session);
    world.restart().await;
    let session = world.session().await;
    // The log is emptied at a start: there may be room for a few.
    held.extend(until_refused(&session, "more").await);
    session.assemble().await;
    assert_eq!(given(&session, held.last().expect("some")).await, held);
    taken(&session, "after").await;
    session.assemble().await;
    held.push("after".to_owned());
    assert_eq!(given(&session, "after").await, held);
}

/// A small file system that only processes started by [`Mount::front`] see. It is gone with this process.
struct Mount {
    keeper: Child,
    at: PathBuf,
}

impl Mount {
    /// `megabytes` at the folder `at`.
    fn new(at: PathBuf, megabytes: u32) -> Result<Self, String> {
        let script = "mount -t tmpfs -o size=\"$1\"m,mode=700 tmpfs \"$0\" && echo mounted && exec cat";
        let flags: &[&str] = if rustix::process::geteuid().is_root() {
            &["--mount"]
        } else {
            &["--user", "--map-root-user", "--mount"]
        };
        let mut keeper = Command::new("unshare")
            .args(flags)
            .args(["sh", "-c", script])
            .arg(&at)
            .arg(megabytes.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| format!("unshare: {error}"))?;
        let mut line = String::new();
        let stdout = keeper.stdout.take().expect("it is piped");
        let _ = std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line);
        if line.trim() != "mounted" {
            let _ = keeper.kill();
            let _ = keeper.wait();
            return Err("no tmpfs can be mounted (needs root, or user namespaces)".to_owned());
        }
        Ok(Self { keeper, at })
    }

    /// A command line that starts what follows it where the file system is seen.
    fn front(&self) -> Vec<String> {
        let mut front =
            vec!["nsenter".to_owned(), format!("--target={}", self.keeper.id()), "--mount".to_owned()];
        if !rustix::process::geteuid().is_root() {
            front.extend(["--user".to_owned(), "--preserve-credentials".to_owned()]);
        }
        front.push("--wd=.".to_owned());
        front
    }

    /// A path in it, for this process.
    fn path(&self, name: &str) -> PathBuf {
        let inside = self.at.strip_prefix("/").expect("an absolute path").join(name);
        PathBuf::from(format!("/proc/{}/root", self.keeper.id())).join(inside)
    }

    /// Takes all space there is.
    fn fill(&self) {
        use std::io::Write as _;
        let options = std::fs::File::options().create(true).append(true).open(self.path("filler"));
        let mut file = options.expect("a file");
        for size in [1 << 20, 4096, 1] {
            while file.write_all(&vec![0xaa; size]).is_ok() {}
        }
    }

    fn clear(&self) {
        std::fs::remove_file(self.path("filler")).expect("the filler is there");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

#[tokio::test]
async fn on_a_full_file_system_the_reserve_lets_the_old_be_handed_over_and_a_kill_loses_nothing() {
    let world = World::new().await.state_at("small/state");
    let at = world.folder().join("small");
    std::fs::create_dir(&at).expect("a folder");
    let mount = match Mount::new(at, 40) {
        Ok(mount) => mount,
        Err(why) => return not_run("a full file system", &why),
    };
    let mut world = world.behind(mount.front()).start().await;
    let session = world.session().await;
    session.push(push("first", "first").key("first").initial()).await;
    assert!(mount.path("state/reserve").exists(), "there is no reserve, or it is not where it is looked for");
    mount.fill();
    let mut held = until_refused(&session, "full").await;
    held.insert(0, "first".to_owned());
    assert!(!mount.path("state/reserve").exists(), "the reserve was not used");
    passes(&session, "plain").await;
    // Withdrawals, hand-overs and their settlement go on.
    let gone = session.push(push("gone", "").key("first").retract()).await;
    assert_eq!(gone["result"]["accepted"], json!(true), "{gone}");
    held.remove(0);
    drop(session);

    world.restart().await;
    let session = world.session().await;
    assert_unavailable(&session.push(push("more", "more").key("more")).await);
    session.assemble().await;
    if let Some(last) = held.last() {
        assert_eq!(given(&session, last).await, held);
    }
    let end = Instant::now() + PATIENCE;
    while !world.listed(&[]).await.is_empty() {
        assert!(Instant::now() < end, "what was handed over is not settled: {:?}", world.listed(&[]).await);
        sleep(Duration::from_millis(20)).await;
    }
    assert_unavailable(&session.push(push("more", "more").key("more")).await);

    // Not even the reserve's space is left: nothing is promised, and what passes passes.
    mount.fill();
    for n in 0..3 {
        assert_unavailable(&session.push(push(&format!("m{n}"), "more").key("more")).await);
    }
    passes(&session, "plain2").await;
    drop(session);
    world.kill().await;
    mount.clear();
    world.restart().await;
    let session = world.session().await;
    taken(&session, "after").await;
    session.assemble().await;
    assert_eq!(given(&session, "after").await, ["after"], "something came twice");

    // And without a restart.
    mount.fill();
    until_refused(&session, "again").await;
    mount.clear();
    taken(&session, "noticed").await;
    assert!(mount.path("state/reserve").exists(), "there is no reserve again");
}
