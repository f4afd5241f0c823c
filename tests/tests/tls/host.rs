//! Who may come in as a host.

use mcpl_tests::{Authority, Host, Identity, Leaf, Session, client_settings};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{MINE, PATIENCE, Shut, knock, listens, place, world};

/// A world that asks hosts for a certificate of `clients`; with `names`, for one of these.
async fn asking(clients: &Authority, names: &str) -> mcpl_tests::World {
    let lines = format!("{MINE}\nclient_ca_file = \"clients.crt\"\n{names}");
    let world = world().await.table("listen_tls", &lines);
    place(&world, &Authority::common().issue(&Leaf::local()));
    std::fs::write(world.folder().join("clients.crt"), &clients.pem).expect("a folder to write in");
    let mut world = world.start().await;
    listens(&mut world).await;
    world
}

/// TLS says no to this one, in words of its own.
async fn is_shut_out(port: u16, shown: Option<&Identity>, alert: &str) {
    let settings = client_settings(&Authority::common().pem, shown);
    match knock(port, settings).await {
        Err(Shut::Tls(why)) => assert!(why.contains(alert), "{why}"),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was let in"),
    }
}

#[tokio::test]
async fn a_host_without_a_certificate_or_with_anothers_is_told_by_tls() {
    let clients = Authority::new("clients");
    let mut world = asking(&clients, "").await;
    let port = world.port();
    is_shut_out(port, None, "CertificateRequired").await;
    let stranger = Authority::new("clients").issue(&Leaf::known_as("spiffe://x/host"));
    is_shut_out(port, Some(&stranger), "alert").await;
    is_shut_out(port, Some(&clients.issue(&Leaf::local().expired())), "CertificateExpired").await;
    is_shut_out(port, Some(&clients.issue(&Leaf::local().not_yet())), "alert").await;

    let settings = client_settings(&Authority::common().pem, Some(&clients.issue(&Leaf::local())));
    let (socket, _) = knock(port, settings).await.expect("one of its CA's is let in");
    Session::open(Host::on(socket), &mut world).await.sync().await;
}

#[tokio::test]
async fn a_certificate_of_another_name_is_told_so_in_words() {
    let clients = Authority::new("clients");
    let mut world = asking(&clients, "client_names = [\"spiffe://x/host\", \"ops.example\"]").await;
    for stranger in
        [Leaf::known_as("spiffe://x/hosts"), Leaf::named(&["op.example"]), Leaf::named(&["x.ops.example"])]
    {
        let settings = client_settings(&Authority::common().pem, Some(&clients.issue(&stranger)));
        match knock(world.port(), settings).await {
            Err(Shut::Http(403, body)) => {
                let body: Value = serde_json::from_str(&body).expect("an object");
                let (error, hint) = (body["error"].as_str(), body["hint"].as_str());
                assert!(error.is_some_and(|error| error.contains("certificate")), "{body}");
                assert!(hint.is_some_and(|hint| hint.contains("client_names")), "{body}");
            }
            Err(other) => panic!("{stranger:?}: {other:?}"),
            Ok(_) => panic!("{stranger:?} was let in"),
        }
    }
    for known in [Leaf::known_as("spiffe://x/host"), Leaf::named(&["other.example", "ops.example"])] {
        let settings = client_settings(&Authority::common().pem, Some(&clients.issue(&known)));
        let (socket, _) = knock(world.port(), settings).await.expect("it is on the list");
        let session = Session::open(Host::on(socket), &mut world).await;
        session.sync().await;
    }
}

/// A client that trusts another CA goes away by itself; the listener minds neither that, nor noise, nor half a hello.
#[tokio::test]
async fn what_is_no_handshake_leaves_the_listener_as_it_was() {
    let clients = Authority::new("clients");
    let mut world = asking(&clients, "").await;
    let elsewhere = client_settings(&Authority::new("elsewhere").pem, None);
    assert!(
        matches!(knock(world.port(), elsewhere).await, Err(Shut::Tls(why)) if why.contains("UnknownIssuer"))
    );
    for noise in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], b"\x16\x03\x01", &[0xff; 4096]] {
        let mut stream = TcpStream::connect(("127.0.0.1", world.port())).await.expect("it is listened to");
        stream.write_all(noise).await.expect("a write");
        drop(stream);
    }
    let settings = client_settings(&Authority::common().pem, Some(&clients.issue(&Leaf::local())));
    let (socket, _) = knock(world.port(), settings).await.expect("it is let in");
    Session::open(Host::on(socket), &mut world).await.sync().await;
}

/// A hello of this version at most, with suites that servers of its time took.
fn hello(version: u16) -> Vec<u8> {
    let [major, minor] = version.to_be_bytes();
    let suites: &[u8] = &[0xc0, 0x13, 0xc0, 0x14, 0xc0, 0x09, 0xc0, 0x0a, 0x00, 0x2f, 0x00, 0x35];
    // Groups (x25519, P-256), point formats, signatures.
    let extensions: &[u8] = &[
        0x00, 0x0a, 0x00, 0x06, 0x00, 0x04, 0x00, 0x1d, 0x00, 0x17, 0x00, 0x0b, 0x00, 0x02, 0x01, 0x00, 0x00,
        0x0d, 0x00, 0x06, 0x00, 0x04, 0x04, 0x03, 0x04, 0x01,
    ];
    let mut body = vec![major, minor];
    body.extend([7; 32]);
    body.push(0);
    body.extend((suites.len() as u16).to_be_bytes());
    body.extend(suites);
    body.extend([1, 0]);
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    let mut message = vec![1, 0];
    message.extend((body.len() as u16).to_be_bytes());
    message.extend(body);
    let mut record = vec![0x16, 3, 1];
    record.extend((message.len() as u16).to_be_bytes());
    record.extend(message);
    record
}

#[tokio::test]
async fn tls_before_1_2_is_refused() {
    let clients = Authority::new("clients");
    let world = asking(&clients, "").await;
    for version in [0x0301, 0x0302] {
        let mut stream = TcpStream::connect(("127.0.0.1", world.port())).await.expect("it is listened to");
        stream.write_all(&hello(version)).await.expect("a write");
        let mut answer = Vec::new();
        let read = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("it is closed in time");
        read.expect("a read");
        // An alert, fatal: protocol_version.
        assert_eq!((answer.first(), &answer[answer.len() - 2..]), (Some(&0x15), &[2, 70][..]), "{answer:x?}");
    }
}
