//! Collectors behind TLS: whom we trust, who we are, and what is said where that does not hold (contract 10.1, 12).

use std::path::{Path, PathBuf};

use mcpl_certs::{Authority, Leaf, Name, ServerFiles, ServerStore};
use mcpl_tests::{Session, World, outcome, push};
use tempfile::TempDir;

use super::collector::{Collector, Manner};
use super::ends::{in_batches, until_dropped};
use super::{SpanKind, is, with_parent};

/// A CA, a collector's certificate for `localhost`, and one of a client.
struct Trust(TempDir);

impl Trust {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ca", "clients"] {
            Authority::create(&folder.path().join(name), name, 30).unwrap();
        }
        let this = Self(folder);
        this.issue("ca", "localhost", false, "collector");
        this.issue("clients", "sidecar", true, "us");
        this
    }

    fn issue(&self, ca: &str, name: &str, client: bool, base: &str) {
        let leaf = Leaf { names: vec![Name::host(name).unwrap()], client, days: 30 };
        Authority::open(&self.path(ca)).unwrap().issue(&leaf, &self.path(base)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A variable that names a file.
    fn var(&self, name: &str, file: &str) -> String {
        format!("{name}={}", self.path(file).display())
    }

    /// A collector with its certificate, which with `asks` wants one of a client.
    async fn collector(&self, grpc: bool, asks: bool) -> Collector {
        let files = ServerFiles {
            cert_file: self.path("collector.crt"),
            key_file: self.path("collector.key"),
            client_ca_file: asks.then(|| self.path("clients/ca.crt")),
        };
        let tls = Some((*ServerStore::open(files).unwrap().config()).clone());
        Collector::with(Manner { grpc, tls, ..Manner::default() }).await
    }
}

/// A world that exports to a collector at `localhost`, or as another name has it.
async fn exporting(collector: &Collector, grpc: bool, host: &str, more: &[String]) -> (World, Session) {
    let protocol = if grpc { "grpc" } else { "http/protobuf" };
    let ours = [
        "env".to_owned(),
        format!("OTEL_EXPORTER_OTLP_ENDPOINT=https://{host}:{}", collector.port),
        format!("OTEL_EXPORTER_OTLP_PROTOCOL={protocol}"),
        "OTEL_BSP_SCHEDULE_DELAY=20".to_owned(),
        "OTEL_TRACES_SAMPLER=parentbased_always_off".to_owned(),
        "OTEL_METRIC_EXPORT_INTERVAL=100".to_owned(),
    ];
    let front = ours.into_iter().chain(more.iter().cloned());
    let mut world = World::new().await.table("host", "policy_wait_ms = 0").behind(front).start().await;
    let session = world.session().await;
    (world, session)
}

#[tokio::test]
async fn spans_and_metrics_reach_a_collector_whose_ca_is_named() {
    let trust = Trust::new();
    for grpc in [false, true] {
        let collector = trust.collector(grpc, false).await;
        let named = [trust.var("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca/ca.crt")];
        let (mut world, session) = exporting(&collector, grpc, "localhost", &named).await;
        in_batches(&session, &collector).await;
        let end = tokio::time::Instant::now() + mcpl_tests::PATIENCE;
        while !collector.kept().metrics.iter().any(|name| name == "mcpl.events") {
            assert!(tokio::time::Instant::now() < end, "there are no metrics");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(collector.kept().connections, 2, "one for each signal");
        assert!(!world.program().stderr().contains("the collector"));
    }
}

#[tokio::test]
async fn without_a_name_the_systems_roots_are_trusted() {
    let trust = Trust::new();
    let collector = trust.collector(false, false).await;
    let system = [trust.var("SSL_CERT_FILE", "ca/ca.crt")];
    let (_world, session) = exporting(&collector, false, "localhost", &system).await;
    in_batches(&session, &collector).await;
}

#[tokio::test]
async fn a_grpc_address_without_a_scheme_is_under_tls() {
    let trust = Trust::new();
    let collector = trust.collector(true, false).await;
    let named = [
        trust.var("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "ca/ca.crt"),
        format!("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=localhost:{}", collector.port),
        "OTEL_METRICS_EXPORTER=none".to_owned(),
    ];
    let (_world, session) = exporting(&collector, true, "localhost", &named).await;
    in_batches(&session, &collector).await;
}

/// A collector with which there is no trust costs spans, which are counted, and one warning with these words.
async fn distrusted(collector: &Collector, grpc: bool, host: &str, more: &[String], words: &str) {
    let more = [&["OTEL_METRICS_EXPORTER=none".to_owned()], more].concat();
    let (mut world, session) = exporting(collector, grpc, host, &more).await;
    for nth in 0..3 {
        let told = session.push(with_parent(push(&format!("e{nth}"), "E").key("k").initial(), 0x31, 1)).await;
        assert!(outcome(&told).is_some(), "messages go on: {told:?}");
        until_dropped(&world, nth + 1).await;
    }
    world.says("the collector does not take spans", 1).await;
    let stderr = world.program().stderr();
    assert_eq!(stderr.matches("the collector does not take").count(), 1, "{stderr}");
    assert!(stderr.contains(words), "{words} is not in {stderr}");
    assert!(collector.kept().spans.is_empty());
}

#[tokio::test]
async fn a_collector_that_is_not_trusted_costs_counted_spans_and_one_warning() {
    let trust = Trust::new();
    for grpc in [false, true] {
        let collector = trust.collector(grpc, false).await;
        let words = "unknown issuer); name its CA in OTEL_EXPORTER_OTLP_CERTIFICATE";
        let other = [trust.var("OTEL_EXPORTER_OTLP_CERTIFICATE", "clients/ca.crt")];
        distrusted(&collector, grpc, "localhost", &other, words).await;
        let named = [trust.var("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca/ca.crt")];
        let words = "for another name (wrong name); write the address with the name it has";
        distrusted(&collector, grpc, "127.0.0.1", &named, words).await;
    }
}

#[tokio::test]
async fn a_collector_that_asks_for_it_is_shown_a_client_certificate() {
    let trust = Trust::new();
    let ca = trust.var("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca/ca.crt");
    for grpc in [false, true] {
        let collector = trust.collector(grpc, true).await;
        let words = "it asks for a client certificate; see OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE";
        distrusted(&collector, grpc, "localhost", std::slice::from_ref(&ca), words).await;
        let ours = [
            ca.clone(),
            trust.var("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "us.crt"),
            trust.var("OTEL_EXPORTER_OTLP_CLIENT_KEY", "us.key"),
        ];
        let (_world, session) = exporting(&collector, grpc, "localhost", &ours).await;
        in_batches(&session, &collector).await;
    }
}

#[tokio::test]
async fn a_renewed_ca_counts_from_the_next_connection_on() {
    let trust = Trust::new();
    let collector = trust.collector(false, false).await;
    copy(&trust.path("clients/ca.crt"), &trust.path("trusted.crt"));
    let named =
        [trust.var("OTEL_EXPORTER_OTLP_CERTIFICATE", "trusted.crt"), "OTEL_METRICS_EXPORTER=none".to_owned()];
    let (world, session) = exporting(&collector, false, "localhost", &named).await;
    session.push(with_parent(push("e", "E").key("k").initial(), 0x32, 1)).await;
    until_dropped(&world, 1).await;
    copy(&trust.path("ca/ca.crt"), &trust.path("trusted.crt"));
    in_batches(&session, &collector).await;
}

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
}

#[tokio::test]
async fn files_that_cannot_be_used_are_said_and_the_program_goes_on() {
    let trust = Trust::new();
    let collector = trust.collector(false, false).await;
    for (more, words) in [
        (vec![trust.var("OTEL_EXPORTER_OTLP_CERTIFICATE", "none.crt")], "none.crt: cannot be read"),
        (
            vec![trust.var("OTEL_EXPORTER_OTLP_CLIENT_KEY", "us.key")],
            "of OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY one is missing",
        ),
    ] {
        let (mut world, session) = exporting(&collector, false, "localhost", &more).await;
        session.push(with_parent(push("e", "E").key("k").initial(), 0x33, 1)).await;
        world.says("no telemetry is exported", 1).await;
        assert!(world.program().stderr().contains(words), "{}", world.program().stderr());
    }
    assert!(!collector.kept().spans.iter().any(|span| is(span, SpanKind::Server, "push/event", 0x33)));
}
