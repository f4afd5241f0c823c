//! What a host says before its producer is there, and connections that are no session (contract section 3.1).

use std::time::Duration;

use mcpl_tests::{Session, World, error_code, outcome, push};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}"#;

#[tokio::test]
async fn what_is_said_early_waits_and_goes_first() {
    let mut world = World::unreachable().start().await;
    let host = world.host().await;
    let early = [HELLO, r#"{"jsonrpc":"2.0","method":"a"}"#, r#"{"jsonrpc":"2.0","id":2,"method":"b"}"#];
    host.send(early.join("\n")).await;
    // Long enough for a first dial to be refused.
    sleep(Duration::from_millis(400)).await;
    world.open().await;
    let producer = world.reached().await;
    host.answer(0, "2").await;
    assert_eq!(producer.texts(0), early);
}

#[tokio::test]
async fn a_producer_that_never_comes_is_said_under_each_id() {
    let mut world = World::unreachable().keys("connect_timeout_ms = 600").start().await;
    let host = world.host().await;
    host.send(HELLO).await;
    host.send(r#"{"jsonrpc":"2.0","id":"two","method":"tools/list"}"#).await;
    for id in ["1", "\"two\""] {
        let answer = host.answer(0, id).await.json();
        assert_eq!(error_code(&answer), Some(-32000), "{answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|why| !why.is_empty()), "{answer}");
    }
    host.ended().await;
    assert_eq!(host.count(), 2);

    world.open().await;
    let session = world.session().await;
    assert_eq!(outcome(&session.push(push("a", "A").key("k").initial()).await), Some("first"));
}

#[tokio::test]
async fn a_slow_answer_to_initialize_is_waited_for() {
    let mut world = World::new().await.keys("connect_timeout_ms = 300").start().await;
    world.producer.mute(true);
    let host = world.host().await;
    host.send(HELLO).await;
    let producer = world.reached().await;
    producer.until(0, "initialize", |_| true).await;
    // Three times connect_timeout_ms: no time limit of ours may end this.
    sleep(Duration::from_millis(900)).await;
    assert!(!host.has_ended() && host.count() == 0, "{:?}", host.texts(0));
    producer.send(r#"{"jsonrpc":"2.0","id":1,"result":{"late":true}}"#).await;
    assert_eq!(host.answer(0, "1").await.json()["result"], json!({"late": true}));
}

#[tokio::test]
async fn a_port_probe_starts_nothing_and_ends_nothing() {
    let mut world = World::started().await;
    drop(world.dial().await);
    let session = world.session().await;
    session.push(push("a", "A").key("k").initial()).await;
    drop(world.dial().await);
    let mut web = world.dial().await;
    web.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("a write");
    let silent = world.dial().await;
    session.sync().await;
    assert_eq!(outcome(&session.push(push("b", "B").key("k")).await), Some("replaced"));
    session.assemble().await;
    assert_eq!(session.host.given(), ["B"]);
    drop((web, silent));
}

#[tokio::test]
async fn a_newer_host_ends_the_older_one() {
    let mut world = World::started().await;
    let first = world.session().await;
    first.push(push("a", "A").key("k").initial()).await;
    let second = world.session().await;
    first.host.ended().await;
    first.producer.ended().await;
    assert_eq!(outcome(&second.push(push("b", "B").key("k")).await), Some("replaced"));
    second.assemble().await;
    assert_eq!(second.host.given(), ["B"]);
    assert_eq!(first.host.given(), Vec::<String>::new());
}

#[tokio::test]
async fn the_end_of_one_direction_leaves_the_other() {
    let mut world = World::started().await;
    let mut session = world.session().await;
    session.mute();
    session.passes_to_producer(&[r#"{"jsonrpc":"2.0","id":"last","method":"tools/call"}"#]).await;
    session.host.half_close().await;
    session.producer.ended().await;
    session
        .passes_to_host(&[
            r#"{"jsonrpc":"2.0","method":"late"}"#,
            r#"{"jsonrpc":"2.0","id":"last","result":{}}"#,
        ])
        .await;
    session.producer.close().await;
    session.host.ended().await;

    let session = world.session().await;
    session.producer.half_close().await;
    session.host.ended().await;
    session.passes_to_producer(&[r#"{"jsonrpc":"2.0","method":"later"}"#]).await;
}

#[tokio::test]
async fn when_one_side_is_gone_the_other_is_ended() {
    let mut world = World::started().await;
    let mut session = world.session().await;
    session.host.close().await;
    session.producer.ended().await;
    drop(session);

    let mut session: Session = world.session().await;
    session.producer.close().await;
    session.host.ended().await;
}

#[tokio::test]
async fn a_byte_order_mark_at_the_start_is_dropped() {
    let mut world = World::started().await;
    let host = world.host().await;
    host.send_bytes(format!("\u{feff}{HELLO}\r\n").as_bytes()).await;
    let mut producer = world.reached_bare().await;
    let mut got = vec![0; HELLO.len() + 1];
    timeout(Duration::from_secs(5), producer.read_exact(&mut got)).await.expect("in time").expect("read");
    assert_eq!(String::from_utf8_lossy(&got), format!("{HELLO}\n"));
    producer
        .write_all("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".as_bytes())
        .await
        .expect("write");
    assert_eq!(host.answer(0, "1").await.str(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}
