//! What readers are told when the program ends, and those who come then.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::*;

/// A connection that has become another protocol's, and its other end.
async fn upgraded() -> (Upgraded, DuplexStream) {
    let (ours, mut theirs) = duplex(1 << 16);
    let (done, mut upgraded) = mpsc::channel(1);
    let answer = move |mut request: Request<hyper::body::Incoming>| {
        let (upgrade, done) = (hyper::upgrade::on(&mut request), done.clone());
        tokio::spawn(async move { done.send(upgrade.await.unwrap()).await });
        let mut answer = Response::new(Empty::<Bytes>::new());
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        async { Ok::<_, Infallible>(answer) }
    };
    let served = hyper::server::conn::http1::Builder::new();
    tokio::spawn(served.serve_connection(TokioIo::new(ours), service_fn(answer)).with_upgrades());
    theirs
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
        .await
        .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(theirs.read_u8().await.unwrap());
    }
    (upgraded.recv().await.unwrap(), theirs)
}

async fn rest(mut of: DuplexStream) -> Vec<u8> {
    let mut rest = Vec::new();
    timeout(Duration::from_secs(20), of.read_to_end(&mut rest)).await.expect("it is closed").unwrap();
    rest
}

#[tokio::test]
async fn who_is_served_when_the_program_ends_is_told_and_who_comes_then_is_closed() {
    let hub = Hub::new(std::path::Path::new("nowhere"));
    let (served, reader) = upgraded().await;
    hub.receive(served, hub.admit().unwrap());
    hub.end().await;
    let told = rest(reader).await;
    // A close frame: 1001, going away.
    assert_eq!((told[0], &told[2..4]), (0x88, &[3, 233][..]), "{told:?}");
    let (late, reader) = upgraded().await;
    hub.receive(late, hub.admit().unwrap());
    assert!(rest(reader).await.is_empty());
    assert!(!hub.is_watched(), "both places are given back");
}
