//! Many batches, two producers, producers that do not read.

use std::collections::BTreeSet;
use std::time::Duration;

use mcpl_tests::{Host, Render, Session, World, push};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep_until;

use super::scene::{
    answer, is_asked, is_render, nothing_is_left, notice, renders, says, session, settles, tells,
};

/// A producer that takes its time is not asked for everything at once, and everything is given once.
#[tokio::test]
async fn of_three_hundred_batches_few_are_rendered_at_once_and_each_is_given_once() {
    const COUNT: usize = 300;
    let (world, session) = session().await;
    session.producer.script.always_render(Render::Silence);
    for n in 0..COUNT {
        tells(&session, push(&format!("n{n}"), "F").key(&format!("k{n}")).deferred().initial(), "first")
            .await;
    }
    session.assemble().await;
    let mut answered = 0;
    while answered < COUNT {
        is_asked(&session.producer, answered + 1).await;
        session.sync().await;
        let lines = session.producer.since(0);
        let asked: Vec<_> = lines.iter().filter(|said| is_render(said)).collect();
        assert!(asked.len() - answered <= 64, "{} renders are out", asked.len() - answered);
        // All that are out, the newest first.
        let out: Vec<String> = asked[answered..]
            .iter()
            .rev()
            .map(|said| answer(said, &says(&said.json()["params"]["key"].to_string())))
            .collect();
        session.producer.send(out.join("\n")).await;
        answered = asked.len();
    }
    let all: BTreeSet<String> = (0..COUNT).map(|n| json!(format!("k{n}")).to_string()).collect();
    for text in &all {
        session.host.is_given(text).await;
    }
    settles(&session).await;
    let given = session.host.given();
    assert_eq!(given.len(), COUNT);
    assert_eq!(given.into_iter().collect::<BTreeSet<_>>(), all);
    assert_eq!(renders(&session.producer).len(), COUNT);
    nothing_is_left(&world).await;
}

/// Renders that nobody answers hold nothing else up.
#[tokio::test]
async fn while_renders_are_out_everything_else_goes_on() {
    let (_world, session) = session().await;
    session.producer.script.always_render(Render::Silence);
    for n in 0..100 {
        tells(&session, push(&format!("n{n}"), "F").key(&format!("k{n}")).deferred().initial(), "first")
            .await;
    }
    session.assemble().await;
    is_asked(&session.producer, 64).await;
    session.push(push("u", "UNCOALESCED")).await;
    tells(&session, push("p", "PLAIN").key("p").initial(), "first").await;
    session.assemble().await;
    session.host.is_given("UNCOALESCED").await;
    session.host_asks("tools/list", &json!({})).await;
    session.producer_asks("sampling/createMessage", &json!({})).await;
}

/// The producer reads nothing any more: its batches become their fallbacks, and it is still heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_that_reads_no_render_is_heard_and_its_fallbacks_are_given() {
    const COUNT: usize = 200;
    const SIZE: usize = 4_000;
    let coalesce = "quiet_ms = 60000\nmax_hold_ms = 600000\nrender_timeout_ms = 300";
    let mut world = World::new().await.table("coalesce", coalesce).start().await;
    let session = world.session().await;
    let data = json!("d".repeat(SIZE));
    for n in 0..COUNT {
        for part in 0..8 {
            let event = push(&format!("n{n}-{part}"), &format!("F{n}")).key(&format!("k{n}")).deferred();
            session.push(event.coalesce("data", data.clone())).await;
        }
    }
    session.producer.pause();
    // The read under way at the pause takes this.
    session.host.send(r#"{"jsonrpc":"2.0","method":"n"}"#).await;
    session
        .host
        .send(r#"{"jsonrpc":"2.0","method":"inference/lifecycle","params":{"inferenceId":"i","phase":"completed"}}"#)
        .await;
    for n in 0..COUNT {
        session.host.is_given(&format!("F{n}")).await;
    }
    session.producer.send(r#"{"jsonrpc":"2.0","method":"still/here"}"#).await;
    session.host.until(0, "what it says", |said| said.str().contains("still/here")).await;
    session.producer.resume();
    settles(&session).await;
    assert_eq!(session.host.given().len(), COUNT, "late answers changed something");
    nothing_is_left(&world).await;
}

/// While the host has no room the producer is not read: that is no time of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_that_is_not_read_meanwhile_is_not_late() {
    const TIME_MS: u64 = 2_000;
    let coalesce = format!("quiet_ms = 60000\nmax_hold_ms = 600000\nrender_timeout_ms = {TIME_MS}");
    let mut world = World::new().await.table("coalesce", &coalesce).start().await;
    let host = Host::on(world.dial_with_little_room().await);
    let session = Session::open(host, &mut world).await;
    session.producer.script.render(Render::Silence);
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    session.assemble().await;
    let render = is_asked(&session.producer, 1).await;
    session.host.pause();
    let line = format!(r#"{{"jsonrpc":"2.0","method":"n","params":"{}"}}"#, "x".repeat(100_000));
    let part = Duration::from_millis(300);
    // What is not taken ends with a line that is none.
    while session.producer.offer_bytes(format!("{line}\n").as_bytes(), part).await {}
    sleep_until((render.at + Duration::from_millis(TIME_MS + 700)).into()).await;
    session.host.resume();
    session.producer.send_bytes(b"\n").await;
    session.producer.send(answer(&render, &says("IN TIME"))).await;
    session.host.is_given("IN TIME").await;
    settles(&session).await;
    assert_eq!(session.host.given(), ["IN TIME"]);
}

/// Two bindings never share a subject, nor a render.
#[tokio::test]
async fn each_of_two_producers_renders_its_own() {
    let mut other = World::new().await;
    let mut world = World::started().await;
    let both = [world.producer_named("main"), other.producer_named("other")];
    world.reload(&both).await;
    let ours = world.session().await;
    let theirs = other.session().await;
    for session in [&ours, &theirs] {
        session.producer.script.always_render(Render::Silence);
        tells(session, notice("n1", "FALLBACK").initial(), "first").await;
    }
    ours.assemble().await;
    let render = is_asked(&ours.producer, 1).await;
    theirs.sync().await;
    assert_eq!(renders(&theirs.producer), Vec::<Value>::new(), "another's reason");
    // The other's answer under this id is nobody's.
    theirs.producer.send(answer(&render, &says("WRONG"))).await;
    theirs.sync().await;
    theirs.assemble().await;
    let other_render = is_asked(&theirs.producer, 1).await;
    ours.producer.send(answer(&render, &says("OURS"))).await;
    theirs.producer.send(answer(&other_render, &says("THEIRS"))).await;
    ours.host.is_given("OURS").await;
    theirs.host.is_given("THEIRS").await;
    assert_eq!((ours.host.given(), theirs.host.given()), (vec!["OURS".into()], vec!["THEIRS".into()]));
}

/// A flush is a reason like any other.
#[tokio::test]
async fn an_operators_flush_renders_what_is_pending() {
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
    let admin = format!("[admin]\nlisten = \"127.0.0.1:{port}\"");
    let mut world = World::new().await.top(&admin).start().await;
    let session = world.session().await;
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("the admin listener");
    let request = format!(
        "POST /v1/producers/main/flush HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("it is written");
    let mut said = String::new();
    tokio::time::timeout(Duration::from_secs(10), stream.read_to_string(&mut said))
        .await
        .expect("in time")
        .expect("an answer");
    assert!(said.starts_with("HTTP/1.1 2"), "{said}");
    session.host.is_given("RENDERED").await;
    session.sync().await;
    assert_eq!(session.host.given(), ["RENDERED"]);
}
