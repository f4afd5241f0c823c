//! A third of the black-box tests over WebSocket on both sides (contract section 3.2), and the proof that it is one.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

#[path = "over/promises.rs"]
mod promises;

use mcpl_tests::{Carrier, Host, World, push};

#[tokio::test]
async fn this_is_websocket_on_both_sides() {
    assert_eq!(Carrier::here(), Carrier::WebSocket);
    let mut world = World::started().await;
    let wire = world.wire().await;
    let here = wire.seen().expect("it is looked at");
    let host = Host::on(wire);
    host.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
    let there = world.reached_wire().await.seen().expect("it is looked at");

    // We are the client here, and the server there.
    for (client, server, path) in
        [(here.said(), here.heard(), "/host"), (there.heard(), there.said(), "/producer")]
    {
        let text = String::from_utf8_lossy(&client).into_owned();
        assert!(text.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{text}");
        assert!(text.to_ascii_lowercase().contains("\r\nsec-websocket-version: 13\r\n"), "{text}");
        let text = String::from_utf8_lossy(&server).into_owned();
        assert!(text.starts_with("HTTP/1.1 101 "), "{text}");
        assert!(
            !text.to_ascii_lowercase().contains("sec-websocket-extensions"),
            "an extension is used: {text}"
        );
    }
    // A final text frame, masked: what a line would be cannot be read.
    let said = here.said();
    let head = said.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    assert_eq!(&said[head..head + 2], [0x81, 0x80 | 0x3a], "{:x?}", &said[head..]);
    assert!(!String::from_utf8_lossy(&said).contains("jsonrpc"));
}

#[tokio::test]
async fn a_session_passes_through_it() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.push(push("e", "EVENT").key("k").initial()).await;
    session.assemble().await;
    session.host.is_given("EVENT").await;
}
