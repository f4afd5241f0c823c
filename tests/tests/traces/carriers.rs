//! What spans say of how a peer is reached, and how many of what they hold (contract 10.1).

use std::process::Stdio;

use mcpl_tests::{Carrier, Push, World, Wrap, outcome, peer_binary, push};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::json;

use super::collector::{Collector, attributes, hex};
use super::{SpanKind, endpoint, is, links, meta, traced, with_parent};

/// `network.transport` and `network.protocol.name` of a span.
fn carrier(span: &Span) -> (String, Option<String>) {
    let mut told = attributes(&span.attributes);
    (told["network.transport"].clone(), told.remove("network.protocol.name"))
}

#[tokio::test]
async fn a_websocket_is_named_on_the_span_of_each_side() {
    let over =
        |transport: &str, protocol: Option<&str>| (transport.to_owned(), protocol.map(ToOwned::to_owned));
    let websocket = over("tcp", Some("websocket"));
    for carried in [Carrier::Lines, Carrier::WebSocket, Carrier::Secure] {
        let collector = Collector::listening(false).await;
        let front = ["env", "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_TRACES_SAMPLER=parentbased_always_off"];
        let world = World::new().await.over(carried).top(&endpoint(&collector)).behind(front);
        let mut world = world.start().await;
        let session = world.session().await;
        session.host_asks("tools/list", &json!({"_meta": meta(0x21, 1)})).await;
        for kind in [SpanKind::Server, SpanKind::Client] {
            let span = collector.span("it", |span| is(span, kind, "tools/list", 0x21)).await;
            let want = if carried == Carrier::Lines { over("tcp", None) } else { websocket.clone() };
            assert_eq!(carrier(&span), want);
        }
    }
}

#[tokio::test]
async fn stdin_and_stdout_are_a_pipe() {
    let collector = Collector::listening(false).await;
    let wrap = Wrap::command_with([peer_binary("scripted_producer")], |command| {
        command.stderr(Stdio::null());
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{}", collector.port));
        command.env("OTEL_BSP_SCHEDULE_DELAY", "20");
    });
    wrap.introduce().await;
    wrap.ask("1", "tools/list", &json!({"_meta": meta(0x22, 1)})).await;
    for kind in [SpanKind::Server, SpanKind::Client] {
        let span = collector.span("it", |span| is(span, kind, "tools/list", 0x22)).await;
        assert_eq!(carrier(&span), ("pipe".to_owned(), None));
    }
}

#[tokio::test]
async fn a_push_of_a_channel_says_so() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    let event: Push = push("e", "E").key("k").initial().channel("chat");
    assert_eq!(outcome(&session.push(with_parent(event, 0x23, 1)).await), Some("first"));
    session.assemble().await;
    for kind in [SpanKind::Server, SpanKind::Client] {
        let span = collector.span("it", |span| is(span, kind, "push/event", 0x23)).await;
        assert_eq!(attributes(&span.attributes)["mcpl.subject.scope"], "channel", "{kind:?}");
    }
}

#[tokio::test]
async fn a_forward_has_links_to_the_newest_128_of_what_was_folded() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    for nth in 0..131 {
        session
            .push(with_parent(push(&format!("e{nth}"), &format!("n{nth}")).key("k").initial(), 0x24, 1))
            .await;
    }
    session.assemble().await;
    session.host.is_given("n130").await;
    let forward = collector.span("out", |span| is(span, SpanKind::Client, "push/event", 0x24)).await;
    let mut servers = Vec::new();
    while servers.len() < 131 {
        servers = collector
            .kept()
            .spans
            .iter()
            .filter(|span| is(span, SpanKind::Server, "push/event", 0x24))
            .map(|span| (span.start_time_unix_nano, hex(&span.span_id)))
            .collect();
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    servers.sort();
    let newest: Vec<String> = servers.into_iter().skip(3).map(|(_, id)| id).collect();
    assert_eq!(links(&forward), newest);
}
