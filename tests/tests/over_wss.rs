//! The same as `over_ws`, over TLS with certificates on both ends (contract sections 3.2, 12).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

#[path = "over/promises.rs"]
mod promises;

use mcpl_tests::{Carrier, Host, Seen, World};

/// A record of TLS: of a handshake, and its version is 3.x.
fn is_tls(bytes: &[u8]) -> bool {
    bytes.len() > 3 && bytes[0] == 0x16 && bytes[1] == 3
}

#[tokio::test]
async fn this_is_tls_on_both_sides() {
    assert_eq!(Carrier::here(), Carrier::Secure);
    let mut world = World::started().await;
    let wire = world.wire().await;
    let here = wire.seen().expect("it is looked at");
    let host = Host::on(wire);
    host.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
    let there = world.reached_wire().await.seen().expect("it is looked at");
    let readable = |seen: &Seen| String::from_utf8_lossy(&[seen.said(), seen.heard()].concat()).into_owned();
    for seen in [here, there] {
        assert!(is_tls(&seen.said()) && is_tls(&seen.heard()), "{}", readable(&seen));
        for word in ["GET ", "HTTP/1.1", "jsonrpc"] {
            assert!(!readable(&seen).contains(word), "{word:?} can be read on the wire");
        }
    }
}
