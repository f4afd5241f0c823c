//! The end of the program: what it still does, and for how long (contract sections 1 and 3.1).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

mod control;

use std::time::{Duration, Instant};

use mcpl_tests::{PATIENCE, Reply, Session, World, Wrap, push};
use rustix::process::Signal;
use serde_json::json;
use tokio::net::TcpStream;

/// A host that is given what is held, and does not answer for it: a drain lasts as long as it may.
async fn drained(drain_ms: u64) -> (World, Session) {
    let mut world = World::new().await.top(&format!("drain_ms = {drain_ms}")).start().await;
    let session = world.session().await;
    session.host.script.always(Reply::Silence);
    session.push(push("held", "HELD").key("k").initial()).await;
    (world, session)
}

#[tokio::test]
async fn at_the_first_signal_nobody_comes_in_and_the_program_is_not_ready() {
    let (mut world, session) = drained(600_000).await;
    assert_eq!(control::get(&world.state(), "/ready").await.0, 200);
    world.program().signal(Signal::TERM);
    session.host.is_given("HELD").await;
    assert!(TcpStream::connect(("127.0.0.1", world.port())).await.is_err(), "the door is shut");
    let (status, body) = control::get(&world.state(), "/ready").await;
    assert_eq!((status, &body["reasons"]), (503, &json!(["the program ends"])), "{body}");
    assert_eq!(control::get(&world.state(), "/live").await.0, 200);
    assert!(world.program().runs(), "it waits for its host");
}

#[tokio::test]
async fn a_drain_ends_by_its_time_and_what_is_left_is_in_the_journal() {
    let (mut world, session) = drained(2000).await;
    let began = Instant::now();
    world.program().signal(Signal::TERM);
    session.host.is_given("HELD").await;
    assert_eq!(world.program().exit().await.code(), Some(0));
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(1), "it was given time: {took:?}");
    assert!(took < Duration::from_millis(3500), "it ends by its time: {took:?}");
    let listed = world.listed(&[]).await;
    assert_eq!(listed[0]["eventId"], json!("held"), "{listed:?}");
}

#[tokio::test]
async fn a_drain_without_time_gives_nothing_more_and_ends() {
    let (mut world, _session) = drained(0).await;
    let began = Instant::now();
    world.program().signal(Signal::TERM);
    assert_eq!(world.program().exit().await.code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(world.listed(&[]).await[0]["eventId"], json!("held"));
}

#[tokio::test]
async fn the_second_signal_ends_at_once() {
    let (mut world, session) = drained(600_000).await;
    world.program().signal(Signal::TERM);
    session.host.is_given("HELD").await;
    let began = Instant::now();
    world.program().signal(Signal::INT);
    assert_eq!(world.program().exit().await.code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(world.listed(&[]).await[0]["eventId"], json!("held"));
}

#[tokio::test]
async fn the_second_signal_ends_a_wrap_at_once_whatever_its_child_does() {
    let deaf = "trap '' TERM INT HUP; echo '{\"jsonrpc\":\"2.0\",\"method\":\"ready\"}'; while :; do sleep 0.1; done";
    for ending_already in [false, true] {
        let mut wrap = Wrap::shell(deaf);
        wrap.host.send(r#"{"jsonrpc":"2.0","method":"hello"}"#).await;
        wrap.host.until(0, "the child's first line", |_| true).await;
        if ending_already {
            wrap.host.close().await;
            // From here on only the child is waited for.
            let end = Instant::now() + PATIENCE;
            while !wrap.program().stderr().contains("the session is over") {
                assert!(Instant::now() < end, "the session is not over");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let began = Instant::now();
        wrap.program().signal(Signal::TERM);
        // Two of a kind at once are one to the system.
        wrap.program().signal(Signal::INT);
        assert_eq!(wrap.exit().await.code(), Some(137), "{ending_already}");
        assert!(began.elapsed() < Duration::from_millis(1800), "{ending_already}: {:?}", began.elapsed());
    }
}
