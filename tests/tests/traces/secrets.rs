//! What people say to each other, keys, tokens and environments appear nowhere (contract 10.1).

use mcpl_tests::{Render, World, message, push};
use serde_json::json;

use super::collector::Collector;
use super::{endpoint, meta};

/// Everything that is nobody's business.
const SECRETS: [&str; 15] = [
    "CANARY-content",
    "CANARY-key",
    "CANARY-data",
    "CANARY-tag",
    "CANARY-argument",
    "CANARY-result",
    "CANARY-author",
    "CANARY-env",
    "CANARY-token",
    "CANARY-rendered",
    "CANARY-header",
    "CANARY-baggage",
    "CANARY-long",
    "CANARY-password",
    "CANARY-query",
];

#[tokio::test]
async fn no_secret_reaches_a_log_a_span_or_a_metric() {
    keeps_them_to_itself("text").await;
}

#[tokio::test]
async fn no_secret_reaches_a_log_of_json() {
    keeps_them_to_itself("json").await;
}

/// A configuration that is wrong wherever it has something to hide.
const WRONG: &str = r#"
[telemetry]
otlp_endpoint = "http://x:CANARY-password@h:1"
[[producer]]
name = "main"
listen = "tcp://x:CANARY-password@127.0.0.1:1"
connect = "wss://x:CANARY-password@h/?token=CANARY-query#CANARY-query"
env = { A = ["CANARY-env"], B = "${CANARY}" }
connect_auth = { token = "CANARY-token" }
"#;

async fn keeps_them_to_itself(format: &str) {
    let collector = Collector::listening(false).await;
    let front = [
        "env",
        "OTEL_BSP_SCHEDULE_DELAY=20",
        "OTEL_METRIC_EXPORT_INTERVAL=50",
        "OTEL_EXPORTER_OTLP_HEADERS=authorization=CANARY-header",
        "CANARY=CANARY-env",
    ];
    let admin =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
    let top = endpoint(&collector).replace("\"debug\"", "\"trace\"");
    let top = format!(
        "{top}\nlog_format = \"{format}\"\n[admin]\nlisten = \"127.0.0.1:{admin}\"\ntoken_file = \"token\""
    );
    let limits = "rate_per_s = 0.000001\nburst = 8\nmax_content_bytes = 5000\nmax_message_bytes = 20000";
    let world = World::new().await.top(&top).behind(front).keys("undelivered = true").table("limits", limits);
    std::fs::write(world.folder().join("token"), "CANARY-token\n").expect("a token");
    let mut world = world.start().await;
    let session = world.session().await;
    session.producer.script.render(Render::Text("CANARY-rendered"));
    let mut context = meta(0x51, 1);
    context["baggage"] = json!("x=CANARY-baggage");
    let event = |id: &str| {
        let event = push(id, "CANARY-content").key("CANARY-key").with("tags", json!(["CANARY-tag"]));
        event.with("_meta", context.clone())
    };
    session.push(event("e1")).await;
    session.push(event("e2")).await;
    session.push(event("n1").deferred().coalesce("data", json!({"x": "CANARY-data"}))).await;
    session.push(event("bad").coalesce("key", json!(["CANARY-key"]))).await;
    session.push(push("plain", "CANARY-content").with("_meta", context.clone())).await;
    let author = json!({"id": "u", "name": "CANARY-author"});
    session.incoming([message("m1", "CANARY-content").key("CANARY-key", "m1").with("author", author)]).await;
    let call = json!({"name": "t", "arguments": {"x": "CANARY-argument"}, "_meta": context});
    session.host_asks("tools/call", &call).await;
    session.host_asks("CANARY-argument", &call).await;
    session.producer_asks("sampling/createMessage", &json!({"x": "CANARY-result", "_meta": context})).await;
    session.host.script.then(mcpl_tests::Reply::Error(-32603, "CANARY-result"));
    session.assemble().await;
    session.push(event("dead")).await;
    session.host.script.then(mcpl_tests::Reply::Error(-32602, "CANARY-result"));
    session.assemble().await;
    for id in ["w1", "w2", "w3", "w4"] {
        session.push(event(id).coalesce("key", json!(format!("CANARY-key {id}")))).await;
    }
    session.push(event("w1").key("CANARY-key w1").retract()).await;
    session.push(push("large", &"CANARY-content".repeat(1000)).key("CANARY-key l")).await;
    let long = json!({"jsonrpc": "2.0", "id": "long", "method": "x", "params": "CANARY-long".repeat(5000)});
    session.host.ask("\"long\"", &long.to_string()).await;
    session.push(event("again")).await;
    let two =
        r#"{"jsonrpc":"2.0","id":"two","method":"push/event","params":{"a":"CANARY-content"},"params":{}}"#;
    session.producer.ask("\"two\"", two).await;
    session.host_asks("featureSets/update", &json!({"effectiveCapabilities": [], "enabled": []})).await;
    session.push(event("barred")).await;
    session.assemble().await;
    let good = std::fs::read_to_string(world.folder().join("sidecar.toml")).expect("a configuration");
    std::fs::write(world.folder().join("sidecar.toml"), WRONG).expect("a configuration");
    world.program().signal(rustix::process::Signal::HUP);
    world.says("the configuration was not reloaded", 1).await;
    std::fs::write(world.folder().join("sidecar.toml"), good).expect("a configuration");
    session.sync().await;
    collector.span("a span of all that", |span| span.name == "push/render").await;
    let end = tokio::time::Instant::now() + mcpl_tests::PATIENCE;
    while collector.kept().metrics.is_empty() {
        assert!(tokio::time::Instant::now() < end, "there are no metrics");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    world.program().signal(rustix::process::Signal::TERM);
    world.program().exit().await;

    let stderr = world.program().stderr();
    for said in [
        "an occurrence is accepted",
        "an event is refused",
        "an event passes",
        "an occurrence is released",
        "an occurrence is handed to the host",
        "the producer is asked to render",
        "dead letter",
        "over max_message_bytes",
        "is no address",
    ] {
        assert!(stderr.contains(said), "the log says everything else, not {said}: {stderr}");
    }
    let kept = collector.kept();
    assert!(kept.bodies.len() > 2);
    for secret in SECRETS {
        let line = stderr.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is in the log");
        for body in &kept.bodies {
            let found = body.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in what is exported");
        }
    }
}
