//! A run in which everything happens that a metric tells apart, and what must be said of it.

use std::collections::BTreeMap;

use mcpl_sidecar::telemetry::names::{self, Kind};
use mcpl_tests::{Carrier, Render, Reply, Session, World, message, outcome, push};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::counts::{self, Run, Told};
use super::{MAIN, Watched, watched};

/// New work that this run admits; the rate lets in no more.
const NEW_WORK: usize = 16;

fn is(answer: &Value, what: &str) {
    assert_eq!(outcome(answer), Some(what), "{answer}");
}

/// What is folded, passed and refused, seven new pieces of work; all of it is handed over.
pub(crate) async fn folds(session: &Session) {
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

/// One render fails, one is answered when nobody waits any more.
async fn renders(session: &Session) {
    session.producer.script.render(Render::Error);
    is(&session.push(push("n2", "FAILED").key("n2").initial().deferred()).await, "first");
    session.assemble().await;
    session.host.is_given("FAILED").await;
    session.producer.script.render(Render::Silence);
    is(&session.push(push("n3", "LATE").key("n3").initial().deferred()).await, "first");
    session.assemble().await;
    let mut asked = 0;
    let render = session.producer.until(0, "a third render", |said| {
        asked += usize::from(said.method().as_deref() == Some("push/render"));
        asked == 3
    });
    let id = render.await.raw("id").expect("a request").clone();
    is(&session.push(push("n4", "").key("n3").retract()).await, "retracted");
    session.producer.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)).await;
    session.sync().await;
}

/// The host refuses one for good and is not ready for another.
async fn fails(session: &Session) {
    is(&session.push(push("e1", "E1").key("e").initial()).await, "first");
    session.host.script.then(Reply::Error(-32602, "never"));
    session.assemble().await;
    session.host.is_given("E1").await;
    is(&session.push(push("f1", "F1").key("f").initial()).await, "first");
    session.host.script.then(Reply::Error(-32030, "not now"));
    session.assemble().await;
    let mut given = 0;
    let twice = session.host.until(0, "F1 twice", |said| {
        given += usize::from(said.method().as_deref() == Some("push/event") && said.str().contains("F1"));
        given == 2
    });
    twice.await;
    session.sync().await;
}

/// What passes is counted as it was sent, what is no message is not passed.
async fn passes(watched: &Watched, session: &Session) {
    let of = |scrape: &super::Scrape| {
        ["to_host", "to_producer"].map(|way| {
            let labels = [MAIN, ("mcpl_direction", way)];
            let both = ["mcpl_passed_messages_total", "mcpl_passed_size_bytes_total"];
            both.map(|name| scrape.value(name, &labels) as usize)
        })
    };
    let mut before = of(&watched.scrape().await);
    // What was read before may not be published yet.
    let quiet = loop {
        let now = of(&watched.scrape().await);
        if now == std::mem::replace(&mut before, now) {
            break now;
        }
    };
    let up = [r#"{"jsonrpc":"2.0","method":"up"}"#, r#"{"jsonrpc":"2.0","method":"up/ä","params":{}}"#];
    let down = [r#"{"jsonrpc":"2.0","method":"notifications/down"}"#];
    let bytes = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    session.passes_to_host(&up).await;
    session.passes_to_producer(&down).await;
    let [[to_host, up_bytes], [to_producer, down_bytes]] = quiet;
    let wanted = [[to_host + 2, up_bytes + bytes(&up)], [to_producer + 1, down_bytes + bytes(&down)]];
    watched.scrape_until("what passed is counted, its bytes as well", |scrape| of(scrape) == wanted).await;
    session.producer.send("noise").await;
    session.producer.send("more of it").await;
    session.host.send("noise").await;
    session.sync().await;
}

/// The host goes with two things under way: one that it was passed, one that it was handed.
async fn breaks(watched: &Watched, session: &mut Session) {
    session.host.script.always(Reply::Silence);
    let passed = push("u1", "U1").params();
    session
        .producer
        .send(json!({"jsonrpc": "2.0", "id": "u", "method": "push/event", "params": passed}).to_string())
        .await;
    session.host.is_given("U1").await;
    session.incoming([message("m3", "M3").key("m3", "m3")]).await;
    session.assemble().await;
    session.host.is_given("M3").await;
    session.host.close().await;
    let over = |scrape: &super::Scrape| scrape.value("mcpl_sessions_active", &[MAIN]) == 0.0;
    watched.scrape_until("the session is over", over).await;
}

/// One is out, one is being rendered, one is held, one is over the rate; the bytes of what the host was not given.
async fn stays(session: &Session) -> usize {
    session.host.script.always(Reply::Silence);
    session.producer.script.render(Render::Silence);
    is(&session.push(push("h1", "H1").key("h").initial()).await, "first");
    let rendered = push("r1", "R1").key("r").initial().deferred();
    is(&session.push(rendered.clone()).await, "first");
    session.assemble().await;
    session.host.is_given("H1").await;
    let held = push("g1", "G1").key("g").initial();
    is(&session.push(held.clone()).await, "first");
    let over = session.push(push("z1", "Z1").key("z").initial()).await;
    assert_eq!(over["result"]["refusal"], json!("unavailable"), "{over}");
    [rendered, held].into_iter().map(|event| event.params().to_string().len()).sum()
}

/// A configuration that does not validate, then one that does.
async fn reloads(watched: &mut Watched) {
    let file = watched.world.folder().join("sidecar.toml");
    let good = std::fs::read_to_string(&file).expect("the configuration");
    std::fs::write(&file, format!("nonsense = 1\n{good}")).expect("a configuration");
    watched.world.program().signal(Signal::HUP);
    watched.world.says("the configuration was not reloaded", 1).await;
    let main = watched.world.producer_named("main");
    watched.world.reload(&[main]).await;
}

/// When the certificate ends, as the program says of the file.
async fn not_after(watched: &Watched) -> f64 {
    let said = watched.world.output(&["certs", "show", "here.crt", "--json"]).await;
    let told: Value = serde_json::from_slice(&said.stdout).expect("what it says of a certificate");
    let ends = told[0]["notAfter"].as_str().unwrap_or_else(|| panic!("{told}"));
    let parsed = time::OffsetDateTime::parse(ends, &time::format_description::well_known::Rfc3339);
    parsed.expect("a date").unix_timestamp() as f64
}

#[tokio::test]
async fn every_metric_is_there_after_a_run_and_counts_what_happened() {
    let began = Instant::now();
    let world = World::new()
        .await
        .over(Carrier::Secure)
        .table("coalesce", "quiet_ms = 600000\nmax_hold_ms = 600000\nrender_timeout_ms = 600000")
        .table("limits", &format!("rate_per_s = 0.000001\nburst = {NEW_WORK}"));
    let mut watched = watched(world).await;
    let mut session = watched.world.session().await;
    folds(&session).await;
    renders(&session).await;
    fails(&session).await;
    passes(&watched, &session).await;
    breaks(&watched, &mut session).await;
    let session = watched.world.session().await;
    let held = stays(&session).await as f64;
    reloads(&mut watched).await;
    session.sync().await;
    let settled = |scrape: &super::Scrape| {
        let limited = scrape.value("mcpl_rate_limited_total", &[MAIN]) == 1.0;
        limited && scrape.value("mcpl_forwards_in_flight", &[MAIN]) == 1.0
    };
    let scrape = watched.scrape_until("the last event is counted", settled).await;
    let run = Run { took: began.elapsed().as_secs_f64(), ends: not_after(&watched).await, held };

    let told: BTreeMap<&str, &Told> = counts::TOLD.iter().map(|(metric, told)| (metric.name, told)).collect();
    assert_eq!(told.len(), counts::TOLD.len(), "a metric is in the table twice");
    let mut wrong = Vec::new();
    for metric in names::METRICS {
        let name = metric.prometheus();
        let family = scrape.0.get(&name).unwrap_or_else(|| panic!("{name} is not there"));
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        assert_eq!((&*family.kind, &*family.help), (kind, metric.about), "{name}");
        let Some(told) = told.get(metric.name) else {
            wrong.push(format!("{name} is not in the table"));
            continue;
        };
        wrong.extend(told.faults(metric, family, &run));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let known: Vec<String> = names::METRICS.iter().map(|metric| metric.prometheus()).collect();
    let foreign: Vec<_> = scrape.0.keys().filter(|name| !known.contains(name)).collect();
    assert_eq!(foreign, ["target_info"]);
}
