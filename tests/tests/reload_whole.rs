//! Reload over the file and everything it names (contract sections 2 and 12).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

mod control;

use std::path::Path;

use mcpl_tests::{Host, PATIENCE, Session, World};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant, sleep};

/// Puts a configuration in place, whole.
fn configure(world: &World, producers: &[String]) {
    let text = format!("state_dir = \"state\"\n\n{}", producers.join("\n"));
    let fresh = world.folder().join("fresh");
    std::fs::write(&fresh, text).unwrap();
    std::fs::rename(fresh, world.folder().join("sidecar.toml")).unwrap();
}

/// `GET /v1/reloads` once it counts so many, applied and rejected.
async fn reloads(state: &Path, applied: u64, rejected: u64) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let (status, body) = control::get(state, "/v1/reloads").await;
        assert_eq!(status, 200, "{body}");
        if (body["applied"].as_u64(), body["rejected"].as_u64()) == (Some(applied), Some(rejected)) {
            return body;
        }
        assert!(Instant::now() < end, "{applied} and {rejected} were expected: {body}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// The names of the producers that are served.
async fn served(world: &World) -> Vec<String> {
    let (_, body) = control::get(&world.state(), "/v1/producers").await;
    body.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap().to_owned()).collect()
}

/// Lines pass to the host, one after the other, while something else happens.
async fn streaming(session: &Session, what: impl Future<Output = ()>) -> u32 {
    let (mut what, mut passed) = (std::pin::pin!(what), 0);
    loop {
        let line =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"n":{passed}}}}}"#);
        tokio::select! {
            () = what.as_mut() => return passed,
            () = async { session.passes_to_host(&[&*line]).await } => passed += 1,
        }
    }
}

#[tokio::test]
async fn a_stream_is_untouched_while_another_producer_comes_changes_and_goes() {
    let mut world = World::started().await;
    let session = world.session().await;
    let other = World::new().await;
    let moved = World::new().await;
    let main = world.producer_named("main");
    let second = other.producer_named("second");
    let changed = moved.producer_named("second").replace("quiet_ms = 60000", "quiet_ms = 59000");
    let steps = [vec![main.clone(), second], vec![main.clone(), changed], vec![main]];
    for (n, producers) in steps.into_iter().enumerate() {
        let passed = streaming(&session, world.reload(&producers)).await;
        // What was on its way when the reload was over has passed as well.
        session.sync().await;
        assert_eq!(served(&world).await.len(), producers.len(), "step {n}, after {passed} lines");
    }
    assert_eq!(reloads(&world.state(), 3, 0).await["last"]["result"], json!("applied"));
}

#[tokio::test]
async fn a_changed_listen_counts_for_new_sessions_and_leaves_the_old_ones() {
    let mut world = World::started().await;
    let session = world.session().await;
    let other = World::unreachable();
    let (old, new) = (world.port(), other.port());
    let moved = world.producer_named("main").replace(&format!(":{old}\""), &format!(":{new}\""));
    world.reload(&[moved]).await;
    session.sync().await;
    assert!(TcpStream::connect(("127.0.0.1", old)).await.is_err(), "the old place is shut");
    let stream = TcpStream::connect(("127.0.0.1", new)).await.expect("the new one is open");
    Session::open(Host::on(stream), &mut world).await.sync().await;
    let (_, body) = control::get(&world.state(), "/v1/producers").await;
    assert_eq!(body[0]["listen"], json!(format!("tcp://127.0.0.1:{new}")), "{body}");
}

#[tokio::test]
async fn two_producers_can_change_places() {
    let mut world = World::started().await;
    let mut other = World::new().await;
    let (a, b) = (world.producer_named("main"), other.producer_named("second"));
    world.reload(&[a.clone(), b.clone()]).await;
    let (at_a, at_b) = (
        format!("listen = \"tcp://127.0.0.1:{}\"", world.port()),
        format!("listen = \"tcp://127.0.0.1:{}\"", other.port()),
    );
    world.reload(&[a.replace(&at_a, &at_b), b.replace(&at_b, &at_a)]).await;
    let stream = TcpStream::connect(("127.0.0.1", world.port())).await.expect("the place of the first");
    Session::open(Host::on(stream), &mut other).await.sync().await;
    let stream = TcpStream::connect(("127.0.0.1", other.port())).await.expect("the place of the second");
    Session::open(Host::on(stream), &mut world).await.sync().await;
}

#[tokio::test]
async fn what_names_files_that_cannot_be_used_is_rejected_whole() {
    let mut world = World::started().await;
    let session = world.session().await;
    let second = World::unreachable().producer_named("second").replace("listen = \"tcp", "listen = \"wss");
    let second =
        second.replacen("\n\n", "\nlisten_tls = { cert_file = \"no.crt\", key_file = \"no.key\" }\n\n", 1);
    configure(&world, &[world.producer_named("main").replace("quiet_ms = 60000", "quiet_ms = 1"), second]);
    world.program().signal(Signal::HUP);
    let last = reloads(&world.state(), 0, 1).await;
    assert_eq!(last["last"]["result"], json!("rejected"), "{last}");
    assert_eq!(served(&world).await, ["main"]);
    session.sync().await;
    let said = world.program().stderr();
    for file in ["no.crt", "no.key"] {
        assert!(said.contains("sidecar.toml:") && said.contains(file) && said.contains("; hint: "), "{said}");
    }
}

#[tokio::test]
async fn a_change_of_the_file_is_found_without_a_signal_and_a_bad_one_keeps_the_old() {
    let world = World::started().await;
    let end = Instant::now() + PATIENCE;
    while !world.state().join("control").exists() || control::get(&world.state(), "/ready").await.0 != 200 {
        assert!(Instant::now() < end, "it is not ready");
        sleep(Duration::from_millis(10)).await;
    }
    configure(&world, &["nonsense = 1".to_owned(), world.producer_named("main")]);
    let last = reloads(&world.state(), 0, 1).await;
    assert!(last["last"]["why"].as_str().unwrap().contains("unknown key `nonsense`"), "{last}");
    configure(&world, &[world.producer_named("other")]);
    reloads(&world.state(), 1, 1).await;
    assert_eq!(served(&world).await, ["other"]);
}

#[tokio::test]
async fn a_new_token_is_told_of_and_a_bad_one_too() {
    let token = tempfile::tempdir().unwrap();
    let file = token.path().join("token");
    std::fs::write(&file, "hush-1").unwrap();
    let mut world = World::new()
        .await
        .top(&format!("[admin]\nlisten = \"127.0.0.1:0\"\ntoken_file = \"{}\"", file.display()))
        .start()
        .await;
    world.session().await.sync().await;
    std::fs::write(&file, "hush-22").unwrap();
    reloads(&world.state(), 1, 0).await;
    std::fs::write(&file, "").unwrap();
    let last = reloads(&world.state(), 1, 1).await;
    assert!(last["last"]["why"].as_str().unwrap().contains("no token in it"), "{last}");
    let said = world.program().stderr();
    assert!(!said.contains("hush") && !last.to_string().contains("hush"), "{said}");
}

#[tokio::test]
async fn the_admin_listener_is_changed_without_the_program() {
    let mut world = World::started().await;
    let session = world.session().await;
    let main = world.producer_named("main");
    // Free, and nobody else's until the test is over.
    let (one, two) = (World::unreachable(), World::unreachable());
    for port in [one.port(), two.port()] {
        world.reload(&[format!("[admin]\nlisten = \"127.0.0.1:{port}\"\n"), main.clone()]).await;
        assert!(TcpStream::connect(("127.0.0.1", port)).await.is_ok());
    }
    assert!(TcpStream::connect(("127.0.0.1", one.port())).await.is_err(), "the old one is shut");
    let taken = std::net::TcpListener::bind(("127.0.0.1", one.port())).unwrap();
    configure(&world, &[format!("[admin]\nlisten = \"127.0.0.1:{}\"\n", one.port()), main]);
    world.program().signal(Signal::HUP);
    reloads(&world.state(), 2, 1).await;
    assert!(TcpStream::connect(("127.0.0.1", two.port())).await.is_ok(), "what cannot be bound is not taken");
    session.sync().await;
    drop(taken);
}

#[tokio::test]
async fn the_start_is_refused_with_every_file_that_cannot_be_used() {
    let world = World::unreachable();
    let producer = world.producer_named("main").replace("listen = \"tcp", "listen = \"wss");
    let tables = "listen_tls = { cert_file = \"no.crt\", key_file = \"no.key\" }\nlisten_auth.token_file = \"no.token\"\n";
    configure(&world, &[producer.replacen("\n\n", &format!("\n{tables}\n"), 1)]);
    let checked = world.output(&["check", "--config", "sidecar.toml"]).await;
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stderr));
    for command in
        [&["run", "--config", "sidecar.toml"][..], &["check", "--files", "--config", "sidecar.toml"]]
    {
        let said = world.output(command).await;
        assert_eq!(said.status.code(), Some(78));
        let stderr = String::from_utf8_lossy(&said.stderr);
        let lines: Vec<&str> = stderr.lines().collect();
        assert_eq!(lines.len(), 3, "{stderr}");
        for (line, file) in lines.iter().zip(["no.crt", "no.key", "no.token"]) {
            assert!(
                line.starts_with("sidecar.toml:") && line.contains(file) && line.contains("; hint: "),
                "{line}"
            );
        }
        assert!(!world.state().join("journal.db").exists(), "nothing was begun");
    }
}
