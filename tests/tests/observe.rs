//! Observe mode, from outside: nothing is changed, and what would have been is told (contract 13.4).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

use mcpl_tests::{Reply, World, Wrap, push};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// What `GET /v1/producers` says of the only one.
async fn shown(world: &World) -> Value {
    let mut control = UnixStream::connect(world.state().join("control")).await.unwrap();
    control.write_all(b"GET /v1/producers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut reply = String::new();
    control.read_to_string(&mut reply).await.unwrap();
    let body = reply.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str::<Value>(body).expect("JSON")[0].take()
}

#[tokio::test]
async fn what_would_have_been_is_counted_and_shown_while_everything_passes() {
    let mut world =
        World::new().await.table("coalesce", "mode = \"observe\"\nquiet_ms = 60000").start().await;
    let session = world.session().await;
    for (id, text) in [("e1", "one"), ("e2", "two"), ("e3", "three")] {
        let answer = session.push(push(id, text).key("doc").initial()).await;
        assert_eq!(answer["result"], json!({"accepted": true}), "the host's own answer");
    }
    session.host.script.then(Reply::Error(-32000, "busy"));
    let refused = session.push(push("p", "uncoalesced")).await;
    assert_eq!(refused["error"]["code"], json!(-32000), "{refused}");
    assert_eq!(session.host.given(), ["one", "two", "three", "uncoalesced"]);
    let observed = shown(&world).await["observed"].take();
    assert_eq!(observed["outcomes"]["first"], json!(1), "{observed}");
    assert_eq!(observed["outcomes"]["replaced"], json!(2), "{observed}");
    assert_eq!((&observed["folded"], &observed["refused"]), (&json!(2), &json!(1)), "{observed}");
    assert_eq!(observed["held"], json!(1), "{observed}");
    assert!(world.listed(&[]).await.is_empty(), "nothing is written down");
}

#[tokio::test]
async fn what_is_due_by_time_would_have_been_delivered_by_then() {
    let mut world = World::new().await.table("coalesce", "mode = \"observe\"\nquiet_ms = 20").start().await;
    let session = world.session().await;
    session.push(push("e1", "one").key("doc").initial()).await;
    while shown(&world).await["observed"]["delivered"] == json!(0) {
        tokio::task::yield_now().await;
    }
    assert_eq!(session.host.given(), ["one"], "and is given once");
}

#[tokio::test]
async fn a_wrap_says_at_its_end_what_it_would_have_done() {
    let mut wrap = Wrap::configured("coalesce = { mode = \"observe\", quiet_ms = 60000 }");
    wrap.introduce().await;
    for id in ["e1", "e2"] {
        let event = format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"push/event","params":{}}}"#,
            push(id, id).key("doc").params()
        );
        wrap.tell("do/say", &json!({"line": event})).await;
        wrap.host.is_given(id).await;
    }
    wrap.host.close().await;
    assert!(wrap.exit().await.success());
    let said = wrap.program().stderr();
    assert!(said.contains("0 still held; but for observe mode: 2 accepted, "), "{said}");
}
