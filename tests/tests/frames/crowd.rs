//! Many at one port at the same time.

use mcpl_tests::{Authority, BareSocket, Carrier, Knock, Leaf, LineSocket, Refused, World, client_settings};
use rustls::pki_types::ServerName;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};
use tokio_rustls::TlsConnector;

use super::{bare, hears, is_closed, world};

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

/// Over TLS, too, though each takes longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_all_come_at_once_over_tls_are_all_let_in() {
    const HOSTS: usize = 150;
    let identity = Authority::common().issue(&Leaf::local());
    let world = World::new().await.over(Carrier::Secure);
    let world = world.table("listen_tls", "cert_file = \"me.crt\"\nkey_file = \"me.key\"");
    identity.write(world.folder(), "me");
    let mut world = world.start().await;
    drop(world.dial().await);
    let port = world.port();
    let settings = client_settings(&Authority::common().pem, None);
    let mut hosts = JoinSet::new();
    for _ in 0..HOSTS {
        let settings = settings.clone();
        hosts.spawn(async move {
            let stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(|error| format!("{error}"))?;
            let name = ServerName::try_from("127.0.0.1").expect("a name");
            let tls = TlsConnector::from(settings).connect(name, stream).await;
            let tls = tls.map_err(|error| format!("{error}"))?;
            let knock = Knock::at(&format!("wss://127.0.0.1:{port}/host"));
            LineSocket::knock(tls, knock).await.map(|_| ()).map_err(|refused| format!("{refused:?}"))
        });
    }
    let outcomes = hosts.join_all().await;
    let failed: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(failed.is_empty(), "{} of {HOSTS} were not let in: {:?}", failed.len(), failed.first());
}

/// Each that comes takes over from the one before; the last one stays.
#[tokio::test]
async fn hosts_that_take_over_from_each_other_leave_the_last() {
    let mut world = world().await;
    let mut older = Vec::new();
    for _ in 0..40 {
        let mut host = BareSocket::knock(world.dial().await, "/host").await;
        host.say(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
        older.push(host);
    }
    let mut last = older.pop().expect("forty hosts");
    for host in &mut older {
        assert_eq!(is_closed(host).await.0, 1000);
    }
    // The producer may have been dialled by any of them, and was by the last one last.
    let mut dialled = Vec::new();
    while let Ok(stream) = timeout(Duration::from_secs(1), world.reached_bare()).await {
        dialled.push(stream);
    }
    let mut producer = BareSocket::welcome(dialled.pop().expect("the producer was dialled")).await;
    last.say(r#"{"jsonrpc":"2.0","method":"from the last"}"#).await;
    assert!(hears(&mut producer).await.contains("initialize"));
    assert!(hears(&mut producer).await.contains("from the last"));
}

/// A producer that comes to a port or goes from it leaves the others there as they are.
#[tokio::test]
async fn who_shares_a_port_is_not_disturbed_by_a_reload() {
    let mut world = World::new().await.over(Carrier::WebSocket);
    let (here, there) = (world.port(), world.producer_port());
    let producer = |name: &str| {
        format!(
            "[[producer]]\nname = \"{name}\"\nlisten = \"ws://127.0.0.1:{here}/{name}\"\nconnect = \"ws://127.0.0.1:{there}/{name}\"\n"
        )
    };
    world.start_with(&[producer("host"), producer("other")]).await;
    let (mut host, mut its_producer) = bare(&mut world).await;
    let status = async |world: &mut World, path: &str| {
        let knock = Knock::at(&format!("ws://127.0.0.1:{here}/{path}"));
        match LineSocket::knock(world.dial().await, knock).await {
            Ok(_) => 101,
            Err(Refused::Answer(status, _)) => status,
            Err(refused) => panic!("{refused:?}"),
        }
    };
    assert_eq!(status(&mut world, "other").await, 101);
    for (list, expected) in [
        (vec![producer("host")], 404),
        (vec![producer("other"), producer("host"), producer("third")], 101),
        (vec![producer("host"), producer("third")], 404),
    ] {
        world.reload(&list).await;
        assert_eq!(status(&mut world, "other").await, expected);
        host.say(r#"{"jsonrpc":"2.0","method":"n"}"#).await;
        assert!(hears(&mut its_producer).await.contains("\"n\""));
    }
    assert_eq!(status(&mut world, "third").await, 101);
}
