//! Whom the program takes for a producer.

use mcpl_tests::{Authority, Identity, Leaf, Session, World, server_settings};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::{PATIENCE, world};

/// A world whose producer shows `shown`, and asks for a certificate of `asked`.
async fn with_producer(
    connect_tls: &str,
    shown: &Identity,
    asked: Option<&str>,
) -> (World, tokio::task::JoinHandle<()>) {
    let world = World::unreachable().over(mcpl_tests::Carrier::Secure);
    let world = world.table("connect_tls", connect_tls).keys("connect_timeout_ms = 1500");
    std::fs::write(world.folder().join("ca.crt"), &Authority::common().pem).expect("a folder to write in");
    let listener = TcpListener::bind(("127.0.0.1", world.producer_port())).await.expect("a port");
    let acceptor = TlsAcceptor::from(server_settings(shown, asked));
    let producer = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            if let Ok(stream) = acceptor.accept(stream).await {
                // It says nothing: whoever comes this far was let in.
                std::mem::forget(stream);
            }
        }
    });
    (world.start().await, producer)
}

/// What a host is told that asks for a session, and that it is told in time.
async fn told(connect_tls: &str, shown: &Identity, asked: Option<&str>) -> String {
    let (mut world, producer) = with_producer(connect_tls, shown, asked).await;
    let host = world.host().await;
    let asked_at = Instant::now();
    let answer = host.ask("1", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
    assert_eq!(answer["error"]["code"], Value::from(-32000), "{answer}");
    let took = asked_at.elapsed();
    assert!(took < PATIENCE / 3, "it was told after {took:?}");
    host.ended().await;
    producer.abort();
    answer["error"]["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_producer_that_is_not_trusted_is_not_reached_and_the_host_reads_why() {
    const TRUSTED: &str = "ca_file = \"ca.crt\"";
    let ours = Authority::common();
    let cases = [
        ("wrong CA", TRUSTED.to_owned(), Authority::new("tests").issue(&Leaf::local()), "ca_file"),
        ("expired", TRUSTED.to_owned(), ours.issue(&Leaf::local().expired()), "expired"),
        ("not yet valid", TRUSTED.to_owned(), ours.issue(&Leaf::local().not_yet()), "not valid yet"),
        ("wrong name", TRUSTED.to_owned(), ours.issue(&Leaf::named(&["elsewhere.example"])), "another name"),
        (
            "not the name it is to have",
            format!("{TRUSTED}\nserver_name = \"producer.example\""),
            ours.issue(&Leaf::local()),
            "another name",
        ),
        ("the system's roots only", String::new(), ours.issue(&Leaf::local()), "ca_file"),
    ];
    for (case, tls, shown, words) in cases {
        let why = told(&tls, &shown, None).await;
        assert!(why.contains(words), "{case}: {why}");
    }
}

#[tokio::test]
async fn a_producer_that_asks_for_our_certificate_is_told_who_we_are_or_not_reached() {
    let ours = Authority::common();
    let why = told("ca_file = \"ca.crt\"", &ours.issue(&Leaf::local()), Some(&ours.pem)).await;
    assert!(why.contains("cert_file"), "{why}");
}

#[tokio::test]
async fn a_producer_is_known_by_the_name_it_is_to_have() {
    // The fakes' own certificate is for localhost and 127.0.0.1.
    let tls = "ca_file = \"ca.crt\"\ncert_file = \"here.crt\"\nkey_file = \"here.key\"\nserver_name = \"localhost\"";
    let mut world = world().await.table("connect_tls", tls).start().await;
    let session: Session = world.session().await;
    session.sync().await;
}
