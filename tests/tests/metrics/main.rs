//! What `/metrics` says of a run is what happened in it (contract 10.2).

// A panic is how a test reports; counts are exact.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::float_cmp)]

mod counts;
mod odd;
mod rare;
mod run;
mod text;

use mcpl_tests::{Render, Reply, World, push};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use run::folds;
use text::Scrape;

struct Watched {
    world: World,
}

/// A world with an admin listener.
async fn watched(world: World) -> Watched {
    Watched { world: world.watched("").start().await }
}

impl Watched {
    async fn get(&self, path: &str) -> (String, String) {
        let port = self.world.admin_port();
        let connect = async || TcpStream::connect(("127.0.0.1", port)).await;
        // It is there a moment after the program was started.
        let end = tokio::time::Instant::now() + mcpl_tests::PATIENCE;
        let mut stream = loop {
            match connect().await {
                Ok(stream) => break stream,
                Err(error) => assert!(tokio::time::Instant::now() < end, "the admin listener: {error}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        let ask = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).await.expect("it reads");
        let mut said = String::new();
        stream.read_to_string(&mut said).await.expect("it answers");
        let (head, body) = said.split_once("\r\n\r\n").expect("a head and a body");
        (head.to_ascii_lowercase(), body.to_owned())
    }

    async fn scrape(&self) -> Scrape {
        let (head, body) = self.get("/metrics").await;
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{head}");
        Scrape::read(&body)
    }

    /// Scrapes until `done`: what a peer has seen is published a moment later.
    async fn scrape_until(&self, what: &str, done: impl Fn(&Scrape) -> bool) -> Scrape {
        let end = tokio::time::Instant::now() + mcpl_tests::PATIENCE;
        loop {
            let scrape = self.scrape().await;
            if done(&scrape) {
                return scrape;
            }
            assert!(tokio::time::Instant::now() < end, "never: {what}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

const MAIN: (&str, &str) = ("mcpl_producer", "main");

#[tokio::test]
async fn no_counter_goes_backwards_when_a_session_or_a_binding_begins_anew() {
    let mut watched = watched(World::new().await).await;
    let session = watched.world.session().await;
    folds(&session).await;
    let mut before = watched.scrape().await.monotonic();
    drop(session);
    let mut grows = async |watched: &Watched, sessions: f64| {
        let what = |scrape: &Scrape| scrape.value("mcpl_sessions_total", &[MAIN]) >= sessions;
        let now = watched.scrape_until("the session counts", what).await.monotonic();
        for (series, was) in &before {
            assert!(
                now.get(series).is_some_and(|is| is >= was),
                "{series:?} was {was}, is {:?}",
                now.get(series)
            );
        }
        before = now;
    };
    let session = watched.world.session().await;
    grows(&watched, 2.0).await;
    session.producer.script.render(Render::Error);
    let main = watched.world.producer_named("main");
    watched.world.reload(&[main.replace("\"main\"", "\"other\"")]).await;
    watched.world.reload(&[main]).await;
    let _session = watched.world.session().await;
    grows(&watched, 3.0).await;
    let scrape = watched.scrape().await;
    assert_eq!(scrape.value("mcpl_reloads_total", &[("mcpl_reload_result", "applied")]), 2.0);
    assert_eq!(scrape.value("mcpl_sessions_active", &[MAIN]), 1.0);
    let sessions = "mcp_server_session_duration_seconds_count";
    assert_eq!(scrape.matching(sessions, &[MAIN, ("mcp_protocol_version", "2024-11-05")]).sum::<f64>(), 2.0);
}

#[tokio::test]
async fn what_a_peer_says_becomes_no_label() {
    let mut watched = watched(World::new().await).await;
    let session = watched.world.session().await;
    session.host_asks("secret/method", &json!({})).await;
    session.producer_asks("another/secret", &json!({})).await;
    session
        .host
        .script
        .then(Reply::Result(json!({"accepted": false, "refusal": "secretly", "reason": "secret"})));
    session.push(push("secret-id", "secret").key("secret-key")).await;
    session.assemble().await;
    session.host.script.then(Reply::Error(-4242, "secret"));
    session.push(push("u", "secret")).await;
    session.sync().await;
    let (_, body) = watched.get("/metrics").await;
    assert!(!body.contains("secret") && !body.contains("4242"), "{body}");
    let scrape = Scrape::read(&body);
    let other = [MAIN, ("mcp_method_name", "_OTHER")];
    let count = "mcp_server_operation_duration_seconds_count";
    assert_eq!(scrape.matching(count, &other).sum::<f64>(), 2.0);
    let refused = [MAIN, ("mcpl_refusal_source", "host"), ("mcpl_refusal", "_OTHER")];
    assert_eq!(scrape.value("mcpl_refusals_total", &refused), 1.0);
    assert_eq!(scrape.value(count, &[("error_type", "_OTHER"), ("mcp_method_name", "push/event")]), 1.0);
}

#[tokio::test]
async fn without_an_admin_listener_there_are_no_metrics() {
    let mut world = World::started().await;
    let _session = world.session().await;
    let mut stream =
        tokio::net::UnixStream::connect(world.state().join("control")).await.expect("the control socket");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 404 ") && said.contains("no metrics are kept"), "{said}");
}
