//! Ways out: gRPC and HTTP, a collector that is away, the end of the program.

use std::time::Duration;

use mcpl_tests::{Session, World, push};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::collector::Collector;
use super::{SpanKind, endpoint, is, traced, with_parent};

async fn exported(collector: &Collector, front: &[String]) {
    let front = std::iter::once("env".to_owned()).chain(front.iter().cloned());
    let mut world = World::new().await.behind(front).start().await;
    let session = world.session().await;
    session.push(with_parent(push("e", "E").key("k").initial(), 0x61, 1)).await;
    collector.span("in", |span| is(span, SpanKind::Server, "push/event", 0x61)).await;
    let end = Instant::now() + mcpl_tests::PATIENCE;
    while !collector.kept().metrics.iter().any(|name| name == "mcpl.events") {
        assert!(Instant::now() < end, "there are no metrics: {:?}", collector.kept().metrics);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_standard_variables_alone_make_it_export_over_http() {
    let collector = Collector::listening(false).await;
    let vars = [
        format!("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{}", collector.port),
        "OTEL_BSP_SCHEDULE_DELAY=20".to_owned(),
        "OTEL_METRIC_EXPORT_INTERVAL=100".to_owned(),
    ];
    exported(&collector, &vars).await;
}

#[tokio::test]
async fn it_exports_over_grpc() {
    let collector = Collector::listening(true).await;
    let vars = [
        format!("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{}", collector.port),
        "OTEL_EXPORTER_OTLP_PROTOCOL=grpc".to_owned(),
        "OTEL_BSP_SCHEDULE_DELAY=20".to_owned(),
        "OTEL_METRIC_EXPORT_INTERVAL=100".to_owned(),
    ];
    exported(&collector, &vars).await;
}

/// A world that would export only at the end.
async fn unhurried(collector: &Collector) -> (World, Session) {
    let front = ["env", "OTEL_BSP_SCHEDULE_DELAY=600000", "OTEL_METRIC_EXPORT_INTERVAL=600000"];
    let mut world = World::new().await.top(&endpoint(collector)).behind(front).start().await;
    let session = world.session().await;
    session.push(with_parent(push("e", "E").key("k").initial(), 0x62, 1)).await;
    (world, session)
}

#[tokio::test]
async fn what_is_not_exported_yet_is_when_the_program_ends() {
    let collector = Collector::listening(false).await;
    let (mut world, _session) = unhurried(&collector).await;
    assert!(collector.kept().spans.is_empty());
    world.program().signal(Signal::TERM);
    assert!(timeout(mcpl_tests::PATIENCE, world.program().exit()).await.expect("it ends").success());
    let kept = collector.kept();
    assert!(kept.spans.iter().any(|span| is(span, SpanKind::Server, "push/event", 0x62)));
    assert!(kept.metrics.iter().any(|name| name == "mcpl.events"));
}

#[tokio::test]
async fn a_collector_that_hangs_holds_the_end_up_for_two_seconds_at_most() {
    let collector = Collector::listening(false).await;
    collector.kept().hangs = true;
    let (mut world, session) = unhurried(&collector).await;
    drop(session);
    let began = Instant::now();
    world.program().signal(Signal::TERM);
    timeout(mcpl_tests::PATIENCE, world.program().exit()).await.expect("it ends");
    // Two seconds, and what the rest of the end takes on a busy machine.
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_collector_that_hangs_costs_spans_that_are_counted_and_nothing_else() {
    let (mut world, collector) =
        traced(&["OTEL_BSP_MAX_QUEUE_SIZE=4", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=2"]).await;
    collector.kept().hangs = true;
    let session = world.session().await;
    for nth in 0..50 {
        session.push(with_parent(push(&format!("e{nth}"), "E").key("k"), 0x63, 1)).await;
    }
    session.sync().await;
    let mut stream =
        tokio::net::UnixStream::connect(world.state().join("control")).await.expect("the control socket");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let line =
        text.lines().find(|line| line.starts_with("mcpl_telemetry_dropped_total{")).expect("the metric");
    let dropped: f64 = line.rsplit(' ').next().and_then(|count| count.parse().ok()).expect("a number");
    // Four wait, and two are on their way.
    assert!((40.0..=50.0).contains(&dropped), "{line}");
}
