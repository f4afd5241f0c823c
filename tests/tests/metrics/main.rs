//! What `/metrics` says of a run is what happened in it (contract 10.2).

// A panic is how a test reports; counts are exact.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::float_cmp)]

mod text;

use mcpl_sidecar::telemetry::names::{self, Kind};
use mcpl_tests::{Render, Reply, Session, World, message, outcome, push};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use text::Scrape;

struct Watched {
    world: World,
    admin: u16,
}

/// A world with an admin listener.
async fn watched(tables: &[(&str, &str)]) -> Watched {
    // Taken for a moment only: the system gives it to nobody else so soon.
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|it| it.local_addr()).expect("a port");
    let admin = free.port();
    let mut world = World::new().await.top(&format!("[admin]\nlisten = \"127.0.0.1:{admin}\""));
    for (name, lines) in tables {
        world = world.table(name, lines);
    }
    Watched { world: world.start().await, admin }
}

impl Watched {
    async fn get(&self, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.admin)).await.expect("the admin listener");
        let ask =
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", self.admin);
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

/// One of everything that a metric tells apart.
async fn everything(session: &Session) {
    let is = |answer: &serde_json::Value, what| assert_eq!(outcome(answer), Some(what), "{answer}");
    is(&session.push(push("a1", "A1").key("a").initial()).await, "first");
    is(&session.push(push("a2", "A2").key("a")).await, "replaced");
    is(&session.push(push("a2", "A2").key("a")).await, "replaced");
    is(&session.push(push("b1", "B1").key("b").initial()).await, "first");
    is(&session.push(push("b2", "").key("b").retract()).await, "retracted");
    is(&session.push(push("c1", "C1").key("c")).await, "appended");
    is(&session.push(push("d1", "D1").key("d").retract()).await, "noted");
    is(&session.push(push("n1", "FALLBACK").key("n").initial().deferred()).await, "first");
    let taken = session.incoming([message("m1", "M1").key("m", "m1"), message("m2", "M2")]).await;
    assert_eq!(taken["result"]["results"][0]["coalesce"]["outcome"], json!("appended"), "{taken}");
    // Malformed, and refused by us; then one that the host refuses.
    let bad = session.push(push("x", "X").coalesce("key", json!(""))).await;
    assert_eq!(bad["error"]["code"], json!(-32602), "{bad}");
    session.host.script.then(Reply::Error(-32031, "too large"));
    let large = session.push(push("y", "Y")).await;
    assert_eq!(large["error"]["data"]["refusal"], json!("too_large"), "{large}");
    session.assemble().await;
    for text in ["A2", "C1", "D1", "RENDERED", "M1"] {
        session.host.is_given(text).await;
    }
    session.sync().await;
}

#[tokio::test]
async fn every_metric_is_there_after_a_run_and_counts_what_happened() {
    let mut watched = watched(&[]).await;
    let session = watched.world.session().await;
    everything(&session).await;
    let delivered = [MAIN, ("mcpl_occurrence_end", "delivered")];
    let scrape = watched
        .scrape_until("five were delivered", |scrape| {
            scrape.value("mcpl_occurrences_ended_total", &delivered) == 5.0
        })
        .await;

    for metric in names::METRICS {
        let name = metric.prometheus();
        // It takes a certificate.
        if metric.name == names::CERTIFICATE.name {
            continue;
        }
        // A session is told when it is over.
        let told_later = [names::SERVER_SESSION.name, names::CLIENT_SESSION.name].contains(&metric.name);
        let family = scrape.0.get(&name);
        assert!(family.is_some() || told_later, "{name} is not there");
        let Some(family) = family else { continue };
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        assert_eq!((&*family.kind, &*family.help), (kind, metric.about), "{name}");
        for (_, labels, _) in &family.samples {
            for (label, value) in labels.iter().filter(|(label, _)| *label != "le") {
                let known = metric.labels.iter().find(|known| known.name.replace('.', "_") == **label);
                let known = known.unwrap_or_else(|| panic!("{name}: label {label}"));
                let values = known.values.unwrap_or(&["main"]);
                assert!(values.contains(&value.as_str()), "{name}: {label} = {value:?}");
            }
        }
    }
    let known: Vec<String> = names::METRICS.iter().map(|metric| metric.prometheus()).collect();
    let foreign: Vec<_> = scrape.0.keys().filter(|name| !known.contains(name)).collect();
    assert_eq!(foreign, ["target_info"]);

    let event = |lane, outcome| {
        scrape.value("mcpl_events_total", &[MAIN, ("mcpl_lane", lane), ("mcpl_event_outcome", outcome)])
    };
    let push = ["first", "replaced", "again", "retracted", "appended", "noted", "refused", "passed"];
    assert_eq!(push.map(|outcome| event("push", outcome)), [3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(["appended", "passed", "first"].map(|outcome| event("channel", outcome)), [1.0, 1.0, 0.0]);
    let refusal = |source, kind| {
        scrape.value("mcpl_refusals_total", &[MAIN, ("mcpl_refusal_source", source), ("mcpl_refusal", kind)])
    };
    assert_eq!((refusal("sidecar", "invalid"), refusal("host", "too_large")), (1.0, 1.0));
    assert_eq!((refusal("sidecar", "too_large"), refusal("host", "invalid")), (0.0, 0.0));
    let ended = |how| scrape.value("mcpl_occurrences_ended_total", &[MAIN, ("mcpl_occurrence_end", how)]);
    assert_eq!(["replaced", "withdrawn", "expired"].map(ended), [1.0, 1.0, 0.0]);
    let one = |name: &str| scrape.value(name, &[MAIN]);
    assert_eq!(one("mcpl_sessions_total"), 1.0);
    assert_eq!(
        (one("mcpl_sessions_active"), one("mcpl_held_occurrences"), one("mcpl_held_size_bytes")),
        (1.0, 0.0, 0.0)
    );
    assert_eq!(scrape.value("mcpl_renders_total", &[MAIN, ("mcpl_render_result", "content")]), 1.0);
    let held = |lane| scrape.value("mcpl_hold_duration_seconds_count", &[MAIN, ("mcpl_lane", lane)]);
    assert_eq!((held("push"), held("channel")), (4.0, 1.0));
    let forwards = |lane| scrape.value("mcpl_forward_duration_seconds_count", &[MAIN, ("mcpl_lane", lane)]);
    assert_eq!((forwards("push"), forwards("channel")), (4.0, 1.0));
    let method =
        |name: &str, method| scrape.matching(name, &[MAIN, ("mcp_method_name", method)]).sum::<f64>();
    let (server, client) =
        ("mcp_server_operation_duration_seconds_count", "mcp_client_operation_duration_seconds_count");
    assert_eq!((method(server, "push/event"), method(client, "push/event")), (10.0, 5.0));
    assert_eq!((method(server, "push/render"), method(client, "push/render")), (0.0, 1.0));
    assert_eq!((method(server, "initialize"), method(client, "initialize")), (1.0, 1.0));
    assert_eq!((method(server, "channels/incoming"), method(client, "channels/incoming")), (1.0, 2.0));
    let failed =
        |name: &str, error| scrape.value(name, &[("error_type", error), ("rpc_response_status_code", error)]);
    assert_eq!(
        (failed(server, "-32602"), failed(server, "-32031"), failed(client, "-32031")),
        (1.0, 1.0, 1.0)
    );
    assert_eq!(scrape.value("mcpl_journal_state", &[("mcpl_journal_state", "good")]), 1.0);
    assert!(scrape.value("mcpl_journal_commit_duration_seconds_count", &[]) >= 1.0);
}

#[tokio::test]
async fn no_counter_goes_backwards_when_a_session_or_a_binding_begins_anew() {
    let mut watched = watched(&[]).await;
    let session = watched.world.session().await;
    everything(&session).await;
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
    let mut watched = watched(&[]).await;
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
