use std::ffi::OsString;
use std::io::Read as _;
use std::time::Duration;

use mcpl_codec::frame::{Frame, Framer};
use mcpl_codec::line::Line;
use tokio::time::timeout;

use super::*;
use crate::outbox::Outbox;

fn shell(script: &str) -> Spec {
    Spec { command: ["sh", "-c", script].map(OsString::from).to_vec(), ..Spec::default() }
}

fn start(script: &str) -> (Child, Connection) {
    Child::spawn(&shell(script)).unwrap()
}

async fn text(connection: &mut Connection) -> String {
    let mut framer = Framer::new(1 << 20);
    let mut text = String::new();
    let read = async {
        while connection.reader.read(&mut framer).await.unwrap() > 0 {}
        while let Some(Frame::Line(line)) = framer.finish() {
            text.push_str(str::from_utf8(line.wire()).unwrap());
        }
    };
    timeout(Duration::from_secs(20), read).await.unwrap();
    text
}

async fn line(connection: &mut Connection) -> String {
    let mut framer = Framer::new(1 << 20);
    loop {
        if let Some(Frame::Line(line)) = framer.next() {
            return str::from_utf8(line.text()).unwrap().to_owned();
        }
        let read = timeout(Duration::from_secs(20), connection.reader.read(&mut framer)).await;
        assert!(read.unwrap().unwrap() > 0);
    }
}

async fn end(child: &mut Child) -> (Status, Duration) {
    let began = Instant::now();
    (timeout(Duration::from_secs(20), child.end()).await.unwrap(), began.elapsed())
}

fn is_gone(pid: i32) -> bool {
    Pid::from_raw(pid).is_none_or(|pid| rustix::process::test_kill_process(pid).is_err())
}

/// The last of a group is the system's to bury, if it was not our own child.
async fn assert_gone(pid: i32) {
    let gone = async {
        while !is_gone(pid) {
            let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if status.contains(") Z ") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(5), gone).await.unwrap();
}

#[tokio::test]
async fn it_is_spoken_to_and_ends_with_its_input() {
    let (mut child, mut connection) = start("cat; exit 3");
    let mut outbox = Outbox::default();
    outbox.push(&Line::from_text(b"hello"), None);
    connection.writer.write(&mut outbox).await.unwrap();
    connection.writer.close_write();
    assert_eq!(text(&mut connection).await, "hello\n");
    assert_eq!(timeout(Duration::from_secs(20), child.exited()).await.unwrap(), Status::Exited(3));
    let (status, took) = end(&mut child).await;
    assert_eq!(status.code(), 3);
    assert!(took < Duration::from_millis(900), "{took:?}");
    // Buried: no zombie, and asking again is harmless.
    assert!(is_gone(child.pid()));
    assert_eq!(end(&mut child).await.0, Status::Exited(3));
}

#[tokio::test]
async fn a_signal_that_ended_it_is_128_more() {
    for (script, code) in [("kill -9 $$", 137), ("kill -SEGV $$", 139), ("kill -TERM $$", 143), ("exit 0", 0)]
    {
        let (mut child, _connection) = start(script);
        assert_eq!(end(&mut child).await.0.code(), code, "{script}");
    }
}

#[tokio::test]
async fn env_and_cwd_are_given_to_it() {
    let home = tempfile::tempdir().unwrap();
    let mut spec = shell("echo $TOKEN; pwd");
    spec.env.insert("TOKEN".to_owned(), "hidden".to_owned());
    spec.cwd = Some(home.path().canonicalize().unwrap());
    assert!(!format!("{spec:?}").contains("hidden") && !format!("{spec:?}").contains("echo"));
    let (mut child, mut connection) = Child::spawn(&spec).unwrap();
    let expected = format!("hidden\n{}\n", spec.cwd.unwrap().display());
    assert_eq!(text(&mut connection).await, expected);
    end(&mut child).await;
}

#[tokio::test]
async fn a_command_that_cannot_start_says_why() {
    let spec = |program: &str| Spec { command: vec![program.into(), "secret".into()], ..Spec::default() };
    let error = Child::spawn(&spec("/no/such/program")).unwrap_err().to_string();
    assert!(
        error.contains("/no/such/program") && error.contains("PATH") && !error.contains("secret"),
        "{error}"
    );
    let error = Child::spawn(&spec("/etc/passwd")).unwrap_err().to_string();
    assert!(error.contains("executable"), "{error}");
    let missing = Spec { cwd: Some("/no/such".into()), ..shell("true") };
    let error = Child::spawn(&missing).unwrap_err().to_string();
    assert!(error.contains("cwd") && error.contains("/no/such"), "{error}");
    assert!(matches!(Child::spawn(&Spec::default()), Err(SpawnError::Empty)));
}

#[tokio::test]
async fn what_ignores_the_end_of_input_gets_sigterm_after_a_second() {
    let (mut child, mut connection) =
        start("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done");
    assert_eq!(line(&mut connection).await, "up");
    connection.writer.close_write();
    let (status, took) = end(&mut child).await;
    assert_eq!(status, Status::Exited(7));
    assert!((Duration::from_secs(1)..Duration::from_millis(2400)).contains(&took), "{took:?}");
    assert_eq!(text(&mut connection).await, "bye\n");
}

#[tokio::test]
async fn what_ignores_sigterm_too_is_killed_with_its_descendants() {
    let (mut child, mut connection) = start(
        "trap '' TERM; sh -c \"trap '' TERM; echo \\$\\$; while :; do sleep 1; done\" & wait; wait; sleep 60",
    );
    let grandchild: i32 = line(&mut connection).await.parse().unwrap();
    connection.writer.close_write();
    let (status, took) = end(&mut child).await;
    assert_eq!(status.code(), 137);
    assert!((Duration::from_millis(2500)..Duration::from_millis(3600)).contains(&took), "{took:?}");
    assert_gone(grandchild).await;
}

#[tokio::test]
async fn the_rest_of_the_group_ends_after_its_leader() {
    let (mut child, mut connection) = start("sleep 300 & echo $!; exit 5");
    let grandchild: i32 = line(&mut connection).await.parse().unwrap();
    assert_eq!(timeout(Duration::from_secs(20), child.exited()).await.unwrap(), Status::Exited(5));
    assert!(!is_gone(grandchild));
    let (status, took) = end(&mut child).await;
    assert_eq!(status, Status::Exited(5));
    assert!(took < Duration::from_millis(2400), "{took:?}");
    assert_gone(grandchild).await;
}

#[tokio::test]
async fn the_ladder_counts_from_the_beginning_of_the_end_and_survives_being_dropped() {
    let (mut child, mut connection) = start("trap '' TERM; echo up; while :; do sleep 0.05; done");
    line(&mut connection).await;
    child.begin_end();
    let began = Instant::now();
    let mut tries = 0;
    let status = loop {
        tries += 1;
        if let Ok(status) = timeout(Duration::from_millis(70), child.end()).await {
            break status;
        }
    };
    assert_eq!(status.code(), 137);
    assert!(tries > 10 && began.elapsed() < Duration::from_millis(3600), "{tries} {:?}", began.elapsed());
}

#[tokio::test]
async fn signals_go_to_the_whole_group_and_a_second_request_kills_at_once() {
    let (mut child, mut connection) = start("trap '' TERM INT; echo up; while :; do sleep 0.05; done");
    line(&mut connection).await;
    child.signal(Signal::INT);
    child.kill();
    let (status, took) = end(&mut child).await;
    assert_eq!(status.code(), 137);
    assert!(took < Duration::from_millis(900), "{took:?}");
    child.signal(Signal::TERM);
}

#[tokio::test]
async fn a_dropped_child_leaves_nothing_behind() {
    let (child, mut connection) = start("sleep 300 & echo $!; wait");
    let grandchild: i32 = line(&mut connection).await.parse().unwrap();
    let pid = child.pid();
    drop(child);
    assert!(is_gone(pid));
    assert_gone(grandchild).await;
}

#[tokio::test]
async fn its_stderr_never_stops_its_stdout() {
    // Nobody reads our stderr, and the child says 5 MiB on it without a line end before it answers.
    let (out, full) = std::io::pipe().unwrap();
    let stderr = Stderr::for_test(full.into(), 100_000);
    let script = "head -c 5242880 /dev/zero >&2; echo answer; exec 2>&-; echo more";
    let (mut child, mut connection) = Child::spawn_with(&shell(script), stderr.clone()).unwrap();
    assert_eq!(text(&mut connection).await, "answer\nmore\n");
    let (status, took) = end(&mut child).await;
    assert_eq!(status, Status::Exited(0));
    assert!(took < Duration::from_millis(900), "{took:?}");
    assert!(stderr.dropped() > 4_000_000, "{}", stderr.dropped());
    drop(out);
}

#[tokio::test]
async fn its_last_words_are_passed_on_before_its_end_is_told() {
    let (mut out, end_of_pipe) = std::io::pipe().unwrap();
    let stderr = Stderr::for_test(end_of_pipe.into(), 100_000);
    let script = "echo one >&2; printf two >&2; exit 1";
    let (mut child, _connection) = Child::spawn_with(&shell(script), stderr.clone()).unwrap();
    end(&mut child).await;
    assert!(stderr.flush_within(Duration::from_secs(10)));
    let mut heard = [0; 7];
    out.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"one\ntwo");
}
