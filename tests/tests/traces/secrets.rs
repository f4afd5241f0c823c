//! What people say to each other, keys, tokens and environments appear nowhere (contract 10.1).

use mcpl_tests::{Render, World, message, push};
use serde_json::json;

use super::collector::Collector;
use super::{endpoint, meta};

/// Everything that is nobody's business.
const SECRETS: [&str; 12] = [
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
];

#[tokio::test]
async fn no_secret_reaches_a_log_a_span_or_a_metric() {
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
    let top = format!("{top}\n[admin]\nlisten = \"127.0.0.1:{admin}\"\ntoken_file = \"token\"");
    let world = World::new().await.top(&top).behind(front);
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
    assert!(stderr.contains("an occurrence is accepted"), "the log says everything else: {stderr}");
    let kept = collector.kept();
    assert!(kept.bodies.len() > 2);
    for secret in SECRETS {
        assert!(!stderr.contains(secret), "{secret} is in the log");
        for body in &kept.bodies {
            let found = body.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in what is exported");
        }
    }
}
