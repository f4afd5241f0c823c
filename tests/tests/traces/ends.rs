//! Ways out: gRPC and HTTP, a collector that is away, the end of the program.

use std::time::Duration;

use mcpl_tests::{Session, World, push};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::collector::{Collector, Manner};
use super::{SpanKind, endpoint, is, traced, with_parent};

pub(crate) async fn exported(collector: &Collector, front: &[String]) {
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
    let dropped = dropped(&world).await;
    // Four wait, and two are on their way.
    assert!((40..=50).contains(&dropped), "{dropped}");
}

/// Spans that were dropped, as the metrics have it.
pub(crate) async fn dropped(world: &World) -> u64 {
    let stream = tokio::net::UnixStream::connect(world.state().join("control")).await;
    let mut stream = stream.expect("the control socket");
    let asked = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(asked).await.expect("it takes a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("an answer");
    let mut lines = text.lines();
    let line = lines.find(|line| line.starts_with("mcpl_telemetry_dropped_total{")).expect("the metric");
    line.rsplit(' ').next().and_then(|count| count.parse().ok()).expect("a number")
}

#[tokio::test]
async fn one_connection_carries_all_batches_of_a_signal() {
    for grpc in [false, true] {
        let collector = Collector::listening(grpc).await;
        let protocol = if grpc { "grpc" } else { "http/protobuf" };
        let (mut world, _) = to(&collector, &[&format!("OTEL_EXPORTER_OTLP_PROTOCOL={protocol}")]).await;
        let session = world.session().await;
        in_batches(&session, &collector).await;
        assert_eq!(collector.kept().connections, 1);
    }
}

#[tokio::test]
async fn a_collector_that_closes_each_connection_loses_nothing() {
    let collector = Collector::with(Manner { closes: true, ..Manner::default() }).await;
    let (mut world, _) = to(&collector, &[]).await;
    let session = world.session().await;
    in_batches(&session, &collector).await;
    assert_eq!(dropped(&world).await, 0);
}

#[tokio::test]
async fn what_is_exported_is_compressed_where_that_is_asked_for() {
    for protocol in ["http/protobuf", "grpc"] {
        let collector = Collector::listening(protocol == "grpc").await;
        let more = [
            &*format!("OTEL_EXPORTER_OTLP_PROTOCOL={protocol}"),
            "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
            "OTEL_METRIC_EXPORT_INTERVAL=50",
        ];
        let (mut world, _) = to(&collector, &more).await;
        let session = world.session().await;
        in_batches(&session, &collector).await;
        let kept = collector.kept();
        assert_eq!(kept.compressed, kept.bodies.len());
    }
    let collector = Collector::listening(false).await;
    let (mut world, _) = to(&collector, &["OTEL_EXPORTER_OTLP_COMPRESSION=zstd"]).await;
    let session = world.session().await;
    in_batches(&session, &collector).await;
    world.says("OTEL_EXPORTER_OTLP_COMPRESSION is neither gzip nor none", 2).await;
}

#[tokio::test]
async fn a_collector_that_takes_nothing_is_said_once_an_episode_with_the_reason() {
    let collector = Collector::listening(false).await;
    collector.kept().refuses = Some(401);
    let (mut world, _) = to(&collector, &["OTEL_METRICS_EXPORTER=none"]).await;
    let session = world.session().await;
    for nth in 0..3 {
        session.push(with_parent(push(&format!("e{nth}"), "E").key("k"), 0x64, 1)).await;
        until_dropped(&world, nth + 1).await;
    }
    world.says("the collector does not take spans", 1).await;
    assert!(world.program().stderr().contains("it answered HTTP 401"));
    collector.kept().refuses = None;
    in_batches(&session, &collector).await;
    world.says("the collector takes spans again", 1).await;
    assert_eq!(world.program().stderr().matches("the collector does not take").count(), 1);
}

#[tokio::test]
async fn a_batch_is_given_up_after_the_time_that_is_said() {
    for protocol in ["http/protobuf", "grpc"] {
        let collector = Collector::listening(protocol == "grpc").await;
        collector.kept().hangs = true;
        let more = [&*format!("OTEL_EXPORTER_OTLP_PROTOCOL={protocol}"), "OTEL_EXPORTER_OTLP_TIMEOUT=100"];
        let (mut world, _) = to(&collector, &more).await;
        let session = world.session().await;
        session.push(with_parent(push("e", "E").key("k"), 0x65, 1)).await;
        until_dropped(&world, 1).await;
        world.says("the collector does not take spans", 1).await;
    }
}

/// A world that sends spans to a collector soon, as these variables say further; and where.
pub(crate) async fn to(collector: &Collector, more: &[&str]) -> (World, String) {
    let address = format!("http://127.0.0.1:{}", collector.port);
    let mut front = vec!["env".to_owned(), format!("OTEL_EXPORTER_OTLP_ENDPOINT={address}")];
    front.extend(
        ["OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_TRACES_SAMPLER=parentbased_always_off"].map(ToOwned::to_owned),
    );
    front.extend(more.iter().map(|var| (*var).to_owned()));
    (World::new().await.table("host", "policy_wait_ms = 0").behind(front).start().await, address)
}

/// Three spans, each exported before the next is made.
pub(crate) async fn in_batches(session: &Session, collector: &Collector) {
    for trace in 0x67..0x6a {
        session.push(with_parent(push(&format!("b{trace}"), "E").key("k"), trace, 1)).await;
        collector.span("in", |span| is(span, SpanKind::Server, "push/event", trace)).await;
    }
}

/// Waits until this many spans were dropped.
pub(crate) async fn until_dropped(world: &World, count: u64) {
    let end = Instant::now() + mcpl_tests::PATIENCE;
    loop {
        let now = dropped(world).await;
        if now >= count {
            return;
        }
        assert!(Instant::now() < end, "{now} of {count} were dropped");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_the_collector_refuses_is_counted_to_the_last_span() {
    let collector = Collector::listening(false).await;
    collector.kept().refuses = Some(400);
    let (mut world, _) = to(&collector, &[]).await;
    let session = world.session().await;
    // Two spans for each: it passes.
    for nth in 0..20 {
        session.push(with_parent(push(&format!("e{nth}"), "E"), 0x65, 1)).await;
    }
    until_dropped(&world, 40).await;
    session.sync().await;
    assert_eq!(dropped(&world).await, 40, "each once");
    collector.kept().refuses = None;
    session.push(with_parent(push("last", "E"), 0x66, 1)).await;
    collector.span("it takes them again", |span| is(span, SpanKind::Server, "push/event", 0x66)).await;
    assert_eq!(dropped(&world).await, 40);
}

#[tokio::test]
async fn variables_that_make_no_sense_are_said_once_and_do_no_harm() {
    let collector = Collector::listening(false).await;
    let vars = [
        "OTEL_BSP_SCHEDULE_DELAY=0",
        "OTEL_BSP_MAX_QUEUE_SIZE=many",
        "OTEL_METRIC_EXPORT_INTERVAL=-1",
        "OTEL_TRACES_SAMPLER=dice",
        "OTEL_METRICS_EXPORTER=carrier-pigeon",
        "OTEL_SDK_DISABLED=perhaps",
    ];
    let front = std::iter::once("env").chain(vars);
    let mut world = World::new().await.top(&endpoint(&collector)).behind(front).start().await;
    let session = world.session().await;
    session.push(with_parent(push("e", "E").key("k"), 0x67, 1)).await;
    world.program().signal(Signal::TERM);
    timeout(mcpl_tests::PATIENCE, world.program().exit()).await.expect("it ends");
    collector.span("in", |span| is(span, SpanKind::Server, "push/event", 0x67)).await;
    let stderr = world.program().stderr();
    for name in vars.iter().filter_map(|var| var.split_once('=')).map(|(name, _)| name) {
        assert_eq!(stderr.matches(name).count(), 1, "{name}: {stderr}");
    }
}
