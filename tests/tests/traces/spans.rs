//! What the spans of a collector are compared by.

use std::collections::BTreeMap;

use mcpl_sidecar::telemetry::names;
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind};
use serde_json::Value;

use super::collector::{Collector, attributes, hex};
use super::trace_id;

pub(crate) fn is(span: &Span, kind: SpanKind, name: &str, trace: u8) -> bool {
    span.kind == kind as i32 && span.name == name && hex(&span.trace_id) == trace_id(trace)
}

pub(crate) fn status(span: &Span) -> i32 {
    span.status.as_ref().map_or(0, |status| status.code)
}

pub(crate) fn links(span: &Span) -> Vec<String> {
    span.links.iter().map(|link| hex(&link.span_id)).collect()
}

pub(crate) fn events(span: &Span) -> Vec<(String, Vec<(String, String)>)> {
    let told = |pairs: &[_]| attributes(pairs).into_iter().collect();
    span.events.iter().map(|event| (event.name.clone(), told(&event.attributes))).collect()
}

/// All attributes of a span of `method` are these and those that every span has. What nobody can know stands as
/// `ours` or `theirs` (ids of requests) and `ms` (times).
pub(crate) fn has_exactly(span: &Span, method: &str, more: &[(&str, &str)]) {
    let mut told = attributes(&span.attributes);
    assert_eq!(told.remove("mcp.session.id").map(|id| id.len()), Some(16), "{told:?}");
    if let Some(id) = told.get_mut("jsonrpc.request.id") {
        if id.starts_with("mcpl-sidecar/") { "ours" } else { "theirs" }.clone_into(id);
    }
    if let Some(held) = told.get_mut("mcpl.hold_ms").filter(|held| held.parse::<u64>().is_ok()) {
        "ms".clone_into(held);
    }
    let common = [
        ("mcp.method.name", method),
        ("mcp.protocol.version", "2024-11-05"),
        ("mcpl.producer", "main"),
        ("network.transport", "tcp"),
    ];
    let want: BTreeMap<String, String> =
        common.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(told, want, "{method}");
}

/// The span id in the `traceparent` of what a peer was sent.
pub(crate) fn carried(params: &Value) -> String {
    let parent = params["_meta"]["traceparent"].as_str().expect("a traceparent");
    parent.split('-').nth(2).expect("a span").to_owned()
}

/// What a peer was sent is under our span, with all else that the occurrence came with.
pub(crate) fn carries_on(params: &Value, forward: &Span) {
    assert_eq!(carried(params), hex(&forward.span_id));
    assert_eq!(params["_meta"]["baggage"], "user=alice");
    assert_eq!(params["_meta"]["tracestate"], "rojo=00f067aa0ba902b7");
}

/// Every attribute on every span is one of those that are named.
pub(crate) fn only_named(collector: &Collector) {
    for span in &collector.kept().spans {
        let on_events = span.events.iter().flat_map(|event| &event.attributes);
        for pair in span.attributes.iter().chain(on_events) {
            assert!(names::SPAN_ATTRIBUTES.contains(&&*pair.key), "{} on {}", pair.key, span.name);
        }
    }
}

/// What a push has that was accepted with this outcome.
pub(crate) fn taken(outcome: &'static str) -> [(&'static str, &'static str); 3] {
    let id = ("jsonrpc.request.id", "theirs");
    [id, ("mcpl.coalesce.outcome", outcome), ("mcpl.subject.scope", "featureSet")]
}

/// What a forward of a push has.
pub(crate) const HANDED: [(&str, &str); 3] =
    [("jsonrpc.request.id", "ours"), ("mcpl.hold_ms", "ms"), ("mcpl.subject.scope", "featureSet")];
