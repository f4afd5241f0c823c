//! `demo --live`: a newcomer watches events fold without any set-up.

// A panic is how a test reports.
#![allow(clippy::expect_used)]

use std::process::Stdio;

use mcpl_tests::{Follower, PATIENCE, StreamSocket, World, sidecar_binary};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;
use tokio::time::timeout;

#[tokio::test]
async fn it_shows_folds_as_they_happen_and_leaves_nothing_behind() {
    let (spare, temporary) = (World::unreachable(), tempfile::tempdir().expect("a folder"));
    let at = format!("127.0.0.1:{}", spare.port());
    let demo = Command::new(sidecar_binary())
        .args(["demo", "--live", &at])
        .env("TMPDIR", temporary.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program");
    let mut socket = StreamSocket::open(spare.port()).await;
    let mut follower = Follower::default();
    socket.say(&follower.wanted()).await;
    while !follower.known.values().any(|known| known["state"] == "replaced") {
        let message = socket.hear().await.expect("the program goes on");
        follower.take(&message).expect("no gap");
    }
    let pid = demo.id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("it runs");
    kill_process(pid, Signal::TERM).expect("a signal");
    let ended = timeout(PATIENCE, demo.wait_with_output()).await.expect("it ends").expect("its end");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains(&format!("http://{at}/")), "{ended:?}");
    assert_eq!(temporary.path().read_dir().expect("a folder").count(), 0, "its state is still there");
    let refused = tokio::net::TcpStream::connect(("127.0.0.1", spare.port())).await;
    assert!(refused.is_err(), "the program outlived its demonstration");
}

#[tokio::test]
async fn an_address_that_is_taken_is_said_with_the_programs_own_words_and_code() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = taken.local_addr().expect("an address").to_string();
    let demo = Command::new(sidecar_binary()).args(["demo", "--live", &at]).stdin(Stdio::null()).output();
    let ended = timeout(PATIENCE, demo).await.expect("it ends").expect("its end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(69), "{said}");
    assert!(said.contains(&at) && said.contains("choose another port"), "{said}");
}
