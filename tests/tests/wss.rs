//! WebSocket over TLS on both sides (contract 12): who is trusted, who is let in, and what the others are told.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

use std::path::{Path, PathBuf};

use mcpl_certs::{Authority, ClientFiles, ClientStore, Leaf, Made, Name, ServerFiles, ServerStore};
use mcpl_tests::{Answer, World, WsPeer};
use rustls::pki_types::ServerName;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A CA in a folder, and what it issued.
struct Ca(PathBuf);

impl Ca {
    fn new(folder: &Path, name: &str) -> Self {
        Authority::create(&folder.join(name), name, 30).unwrap();
        Self(folder.join(name))
    }

    fn file(&self) -> PathBuf {
        self.0.join("ca.crt")
    }

    fn server(&self, name: &str) -> Made {
        let leaf = Leaf { names: vec![Name::host(name).unwrap()], client: false, days: 30 };
        Authority::open(&self.0).unwrap().issue(&leaf, &self.0.join(name)).unwrap()
    }

    fn client(&self, uri: &str, base: &str) -> Made {
        let leaf = Leaf { names: vec![Name::uri(uri).unwrap()], client: true, days: 30 };
        Authority::open(&self.0).unwrap().issue(&leaf, &self.0.join(base)).unwrap()
    }
}

/// A table of TLS with a certificate and a key.
fn identity(made: &Made) -> String {
    let (cert, key) = (made.cert_file.display(), made.key_file.display());
    format!("cert_file = \"{cert}\"\nkey_file = \"{key}\"\n")
}

/// A host that trusts that CA, with a certificate or without.
async fn host(world: &mut World, ca: &Ca, identity: Option<&Made>) -> Result<WsPeer, Answer> {
    let identity = identity.map(|made| (made.cert_file.clone(), made.key_file.clone()));
    let store = ClientStore::open(ClientFiles { ca_file: Some(ca.file()), identity }).unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = TlsConnector::from(store.config()).connect(name, world.dial().await).await.unwrap();
    WsPeer::dial_on(stream, "/host", &[]).await
}

/// The producer's end of the next dial, over TLS.
async fn producer(world: &World, made: &Made, client_ca: Option<&Ca>) -> std::io::Result<WsPeer> {
    let (cert_file, key_file) = (made.cert_file.clone(), made.key_file.clone());
    let store =
        ServerStore::open(ServerFiles { cert_file, key_file, client_ca_file: client_ca.map(Ca::file) });
    let acceptor = TlsAcceptor::from(store.unwrap().config());
    let stream = acceptor.accept(world.reached_bare().await).await?;
    Ok(WsPeer::accept_on(stream, &[]).await)
}

const FIRST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"first"}"#;

#[tokio::test]
async fn messages_pass_over_tls_on_both_sides_with_certificates_on_both_ends() {
    let world = World::new().await.listen("wss", "/host").connect("wss", "/producer");
    let ca = Ca::new(world.folder(), "ca");
    let (server, client) = (ca.server("127.0.0.1"), ca.client("spiffe://x/us", "us"));
    let listen = format!(
        "{}client_ca_file = \"{}\"\nclient_names = [\"spiffe://x/ops\"]\n",
        identity(&server),
        ca.file().display()
    );
    let connect = format!("ca_file = \"{}\"\n{}", ca.file().display(), identity(&client));
    let mut world = world.table("listen_tls", &listen).table("connect_tls", &connect).start().await;
    let ops = ca.client("spiffe://x/ops", "ops");
    let mut host = host(&mut world, &ca, Some(&ops)).await.unwrap();
    host.send(FIRST).await;
    let mut producer = producer(&world, &server, Some(&ca)).await.unwrap();
    assert_eq!(producer.text().await, FIRST);
    for size in [100, 70_000, 3 << 20] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"x","params":"{}"}}"#, "A".repeat(size));
        producer.send(&text).await;
        assert!(host.text().await == text);
        host.send(&text).await;
        assert!(producer.text().await == text);
    }
    producer.send_close(4404, "gone").await;
    assert_eq!(host.closed().await, (4404, "gone".to_owned()));
    assert_eq!(producer.closed().await.0, 4404);
}

#[tokio::test]
async fn a_host_without_the_right_certificate_is_not_let_in() {
    let world = World::new().await.listen("wss", "/host");
    let (ca, stranger) = (Ca::new(world.folder(), "ca"), Ca::new(world.folder(), "stranger"));
    let listen = format!(
        "{}client_ca_file = \"{}\"\nclient_names = [\"spiffe://x/ops\"]\n",
        identity(&ca.server("127.0.0.1")),
        ca.file().display()
    );
    let mut world = world.table("listen_tls", &listen).start().await;
    // One that the CA knows under another name can read why.
    let other = ca.client("spiffe://x/dev", "dev");
    let refused = host(&mut world, &ca, Some(&other)).await.err().expect("it is refused");
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("client_names"), "{}", refused.body);
    // The others do not get as far.
    for identity in [None, Some(stranger.client("spiffe://x/ops", "ops"))] {
        let identity = identity.map(|made| (made.cert_file, made.key_file));
        let store = ClientStore::open(ClientFiles { ca_file: Some(ca.file()), identity }).unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = TlsConnector::from(store.config()).connect(name, world.dial().await).await;
        // In TLS 1.3 the refusal comes with the first read.
        let Ok(mut stream) = stream else { continue };
        let read = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 64]).await;
        assert!(read.is_err(), "{read:?}");
    }
    let ops = ca.client("spiffe://x/ops", "ops");
    assert!(host(&mut world, &ca, Some(&ops)).await.is_ok());
}

#[tokio::test]
async fn a_producer_that_is_not_trusted_is_not_talked_to_and_the_reason_is_told() {
    for (what, words) in [
        ("another CA", "unknown issuer"),
        ("another name", "wrong name"),
        ("no client certificate", "client certificate"),
        ("no TLS", "TLS"),
    ] {
        let world = World::new().await.connect("wss", "/?token=hush").keys("connect_timeout_ms = 1500");
        let (ca, stranger) = (Ca::new(world.folder(), "ca"), Ca::new(world.folder(), "stranger"));
        let made = match what {
            "another CA" => stranger.server("127.0.0.1"),
            "another name" => ca.server("other.example"),
            _ => ca.server("127.0.0.1"),
        };
        let mut world =
            world.table("connect_tls", &format!("ca_file = \"{}\"", ca.file().display())).start().await;
        let host = world.host().await;
        let mark = host.count();
        host.send(FIRST).await;
        let refusing = async {
            loop {
                if what == "no TLS" {
                    let mut stream = world.reached_bare().await;
                    let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
                    let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await;
                } else {
                    let wants = (what == "no client certificate").then_some(&ca);
                    let _ = producer(&world, &made, wants).await;
                }
            }
        };
        let told = tokio::select! {
            told = host.answer(mark, "1") => told,
            () = refusing => unreachable!(),
        };
        let told = told.str();
        assert!(told.contains(words) && told.contains("127.0.0.1"), "{what}: {told}");
        assert!(!told.contains("hush"), "{told}");
    }
}
