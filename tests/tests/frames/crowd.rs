//! Many at one port at the same time.

use mcpl_tests::{BareSocket, Knock, LineSocket};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{bare, hears, world};

/// After a network was away, all hosts come at once, and each of them is let in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_all_come_at_once_are_all_let_in() {
    const HOSTS: usize = 300;
    let mut world = world().await;
    drop(world.dial().await);
    let port = world.port();
    let mut hosts = JoinSet::new();
    for _ in 0..HOSTS {
        hosts.spawn(async move {
            let stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(|error| format!("{error}"))?;
            let knock = Knock::at(&format!("ws://127.0.0.1:{port}/host"));
            LineSocket::knock(stream, knock).await.map(|_| ()).map_err(|refused| format!("{refused:?}"))
        });
    }
    let outcomes = hosts.join_all().await;
    let failed: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(failed.is_empty(), "{} of {HOSTS} were not let in: {:?}", failed.len(), failed.first());
}

/// Connections that never say what they want keep nobody out.
#[tokio::test]
async fn those_who_say_nothing_keep_nobody_out() {
    let mut world = world().await;
    let mut silent = Vec::new();
    for n in 0..200 {
        let mut stream = world.dial().await;
        if n % 2 == 0 {
            stream.write_all(b"GET /host HTTP/1.1\r\nHo").await.expect("a write");
        }
        silent.push(stream);
    }
    let (mut host, mut producer) = bare(&mut world).await;
    host.say(r#"{"jsonrpc":"2.0","method":"n"}"#).await;
    hears(&mut producer).await;
}

/// A WebSocket on which nothing is ever said starts nothing and ends nothing.
#[tokio::test]
async fn a_probe_over_websocket_starts_nothing_and_ends_nothing() {
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    let mut probes = Vec::new();
    for _ in 0..20 {
        probes.push(BareSocket::knock(world.dial().await, "/host").await);
    }
    host.say(r#"{"jsonrpc":"2.0","method":"n"}"#).await;
    hears(&mut producer).await;
    drop(probes);
    host.say(r#"{"jsonrpc":"2.0","method":"n"}"#).await;
    hears(&mut producer).await;
}
