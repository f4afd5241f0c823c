//! Traces: what comes in and goes out has spans that hang together (contract 10.1).

// A panic is how a test reports.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod carriers;
mod collector;
mod decisions;
mod encrypted;
mod ends;
mod requests;
mod restart;
mod secrets;
mod spans;

use mcpl_tests::{Push, Render, Reply, Session, World, error_code, message, outcome, push};
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use serde_json::{Value, json};

use collector::{Collector, attributes, hex};
use spans::{HANDED, carried, carries_on, events, has_exactly, is, links, only_named, status, taken};

/// A world that sends what it traces to a collector; only what comes with a sampled parent is.
async fn traced(more: &[&str]) -> (World, Collector) {
    let collector = Collector::listening(false).await;
    let world = World::new().await.top(&endpoint(&collector));
    let mut front = vec!["env", "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_TRACES_SAMPLER=parentbased_always_off"];
    front.extend(more);
    let world = world.table("host", "policy_wait_ms = 0").behind(front).start().await;
    (world, collector)
}

fn endpoint(collector: &Collector) -> String {
    format!("[telemetry]\notlp_endpoint = \"http://127.0.0.1:{}\"\nlog = \"debug\"", collector.port)
}

/// A sampled parent in trace `trace`, span `span`.
fn parent(trace: u8, span: u8) -> String {
    format!("00-{}-{}-01", trace_id(trace), format!("{span:02x}").repeat(8))
}

fn trace_id(trace: u8) -> String {
    format!("{trace:02x}").repeat(16)
}

fn meta(trace: u8, span: u8) -> Value {
    json!({ "traceparent": parent(trace, span), "tracestate": "rojo=00f067aa0ba902b7", "baggage": "user=alice" })
}

fn with_parent(push: Push, trace: u8, span: u8) -> Push {
    push.with("_meta", meta(trace, span))
}

#[tokio::test]
async fn a_request_that_passes_has_two_spans_and_keeps_its_bytes() {
    let (mut world, collector) = traced(&["OTEL_RESOURCE_ATTRIBUTES=team=blue"]).await;
    let session = world.session().await;
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":"t-x","method":"tools/call","params":{{"name":"get-weather","arguments":{{"a":1e400}},"_meta":{{"traceparent":"{}"}}}}}}"#,
        parent(0xa1, 1)
    );
    session.passes_to_producer(&[&line]).await;
    session.host.answer(0, "\"t-x\"").await;
    let server =
        collector.span("in", |span| is(span, SpanKind::Server, "tools/call get-weather", 0xa1)).await;
    let client =
        collector.span("out", |span| is(span, SpanKind::Client, "tools/call get-weather", 0xa1)).await;
    assert_eq!(hex(&server.parent_span_id), "01".repeat(8));
    assert_eq!(client.parent_span_id, server.span_id);
    for span in [&server, &client] {
        let more = [
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "get-weather"),
            ("jsonrpc.request.id", "theirs"),
        ];
        has_exactly(span, "tools/call", &more);
        assert_eq!(attributes(&span.attributes)["jsonrpc.request.id"], "t-x");
        assert!(events(span).is_empty());
        assert_eq!(status(span), StatusCode::Unset as i32);
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano && links(span).is_empty());
    }
    let resource = collector.kept().resource.clone();
    for pair in [("service.name", "mcpl-sidecar"), ("team", "blue")] {
        assert!(resource.contains(&(pair.0.to_owned(), pair.1.to_owned())), "{resource:?}");
    }

    // Nobody asked for the rest of the session's traces.
    session.sync().await;
    assert!(collector.kept().spans.iter().all(|span| hex(&span.trace_id) == trace_id(0xa1)));
    only_named(&collector);
}

#[tokio::test]
async fn a_failed_request_and_a_notification_have_theirs() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    let asked = json!({"_meta": meta(0xa2, 2)});
    session.producer.script.mute(true);
    let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"secret/thing","params":{asked}}}"#);
    session.passes_to_producer(&[&line]).await;
    session.producer.send(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}"#).await;
    let server = collector.span("in", |span| is(span, SpanKind::Server, "_OTHER", 0xa2)).await;
    let client = collector.span("out", |span| is(span, SpanKind::Client, "_OTHER", 0xa2)).await;
    for span in [&server, &client] {
        let code = "-32601";
        let more =
            [("error.type", code), ("rpc.response.status_code", code), ("jsonrpc.request.id", "theirs")];
        has_exactly(span, "_OTHER", &more);
        assert_eq!(attributes(&span.attributes)["jsonrpc.request.id"], "7");
        assert_eq!(status(span), StatusCode::Error as i32);
    }
    let line = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"_meta":{}}}}}"#,
        meta(0xa3, 3)
    );
    session.passes_to_host(&[&line]).await;
    let server =
        collector.span("in", |span| is(span, SpanKind::Server, "notifications/progress", 0xa3)).await;
    let client =
        collector.span("out", |span| is(span, SpanKind::Client, "notifications/progress", 0xa3)).await;
    assert_eq!(hex(&server.parent_span_id), "03".repeat(8));
    assert_eq!(client.parent_span_id, server.span_id);
    has_exactly(&server, "notifications/progress", &[]);
    has_exactly(&client, "notifications/progress", &[]);
}

#[tokio::test]
async fn a_forward_has_a_link_to_each_occurrence_that_was_folded_into_it() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    for (nth, (id, text)) in [("e1", "one"), ("e2", "two"), ("e3", "three")].into_iter().enumerate() {
        let event = with_parent(push(id, text).key("k").initial(), 0xb1 + nth as u8, 1 + nth as u8);
        let told = outcome(&session.push(event).await).map(ToOwned::to_owned);
        assert_eq!(told.as_deref(), Some(if nth == 0 { "first" } else { "replaced" }));
    }
    let mut servers = Vec::new();
    for nth in 0..3 {
        let server = collector.span("in", |span| is(span, SpanKind::Server, "push/event", 0xb1 + nth)).await;
        assert_eq!(hex(&server.parent_span_id), format!("{:02x}", nth + 1).repeat(8));
        has_exactly(&server, "push/event", &taken(if nth == 0 { "first" } else { "replaced" }));
        assert!(status(&server) == 0 && links(&server).is_empty() && events(&server).is_empty());
        servers.push(hex(&server.span_id));
    }
    session.assemble().await;
    let given = session.host.is_given("three").await;
    let forward = collector.span("out", |span| is(span, SpanKind::Client, "push/event", 0xb3)).await;
    assert_eq!(hex(&forward.parent_span_id), servers[2]);
    assert_eq!(links(&forward), servers);
    let traces: Vec<String> = forward.links.iter().map(|link| hex(&link.trace_id)).collect();
    assert_eq!(traces, [trace_id(0xb1), trace_id(0xb2), trace_id(0xb3)]);
    has_exactly(&forward, "push/event", &HANDED);
    assert!(status(&forward) == 0 && events(&forward).is_empty());
    carries_on(&given.json()["params"], &forward);
    only_named(&collector);
}

#[tokio::test]
async fn a_channel_message_carries_its_context_beside_the_messages() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    let messages = json!([message("m1", "M1").key("m", "m1").value()]);
    session.producer_asks("channels/incoming", &json!({"messages": messages, "_meta": meta(0xb8, 8)})).await;
    session.assemble().await;
    let given = session.host.is_given("M1").await;
    let server = collector.span("in", |span| is(span, SpanKind::Server, "channels/incoming", 0xb8)).await;
    let forward = collector.span("out", |span| is(span, SpanKind::Client, "channels/incoming", 0xb8)).await;
    assert_eq!(forward.parent_span_id, server.span_id);
    assert!(links(&forward).is_empty(), "nothing was folded");
    let scope = ("mcpl.subject.scope", "channel");
    let more = [("jsonrpc.request.id", "theirs"), ("mcpl.coalesce.outcome", "appended"), scope];
    has_exactly(&server, "channels/incoming", &more);
    has_exactly(&forward, "channels/incoming", &[HANDED[0], HANDED[1], scope]);
    let params = &given.json()["params"];
    assert_eq!(carried(params), hex(&forward.span_id));
    assert!(params["messages"][0].get("_meta").is_none());
}

#[tokio::test]
async fn what_nobody_answered_when_the_session_ended_says_so() {
    let (mut world, collector) = traced(&[]).await;
    let mut session = world.session().await;
    session.push(with_parent(push("e", "E").key("k").initial(), 0x41, 1)).await;
    session.host.script.then(Reply::Silence);
    session.assemble().await;
    session.host.is_given("E").await;
    session.producer.script.mute(true);
    let line =
        format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{{"_meta":{}}}}}"#, meta(0x42, 2));
    session.passes_to_producer(&[&line]).await;
    session.host.close().await;
    session.producer.close().await;
    let mut left =
        vec![collector.span("forward", |span| is(span, SpanKind::Client, "push/event", 0x41)).await];
    for kind in [SpanKind::Server, SpanKind::Client] {
        left.push(collector.span("request", |span| is(span, kind, "tools/list", 0x42)).await);
    }
    for span in left {
        assert_eq!(attributes(&span.attributes)["error.type"], "session_ended", "{}", span.name);
    }
}

#[tokio::test]
async fn what_is_withdrawn_is_followed_by_nothing() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    session.push(with_parent(push("e1", "gone").key("k").initial(), 0xc1, 1)).await;
    let told = session.push(with_parent(push("e2", "").key("k").retract(), 0xc2, 2)).await;
    assert_eq!(outcome(&told), Some("retracted"));
    session.assemble().await;
    let server = collector.span("in", |span| is(span, SpanKind::Server, "push/event", 0xc2)).await;
    has_exactly(&server, "push/event", &taken("retracted"));
    assert!(
        hex(&server.parent_span_id) == "02".repeat(8) && status(&server) == 0 && events(&server).is_empty()
    );
    let first = collector.span("in", |span| is(span, SpanKind::Server, "push/event", 0xc1)).await;
    has_exactly(&first, "push/event", &taken("first"));
    session.sync().await;
    session.push(with_parent(push("last", "L"), 0xc3, 3)).await;
    collector.span("last", |span| is(span, SpanKind::Client, "push/event", 0xc3)).await;
    collector.kept().spans.retain(|span| hex(&span.trace_id) != trace_id(0xc3));
    assert_eq!(collector.kept().spans.len(), 2);
}

#[tokio::test]
async fn a_refusal_is_an_event_on_the_span_of_who_was_refused() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    let ours = session.push(with_parent(push("x", "X").coalesce("key", json!("")), 0xd1, 1)).await;
    assert_eq!(error_code(&ours), Some(-32602));
    let refused = |source: &str, kind: &str| {
        let told = [("mcpl.refusal", kind), ("mcpl.refusal.source", source)];
        vec![("mcpl.refused".to_owned(), told.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec())]
    };
    let server = collector.span("in", |span| is(span, SpanKind::Server, "push/event", 0xd1)).await;
    assert_eq!(events(&server), refused("sidecar", "invalid"));
    let id = ("jsonrpc.request.id", "theirs");
    let code = [("error.type", "-32602"), ("rpc.response.status_code", "-32602")];
    let scope = ("mcpl.subject.scope", "featureSet");
    has_exactly(&server, "push/event", &[id, code[0], code[1], ("mcpl.refusal", "invalid"), scope]);
    assert_eq!(status(&server), StatusCode::Error as i32);

    session.host.script.then(Reply::Refuse("unknown"));
    session.push(with_parent(push("y", "Y"), 0xd2, 2)).await;
    let server = collector.span("in", |span| is(span, SpanKind::Server, "push/event", 0xd2)).await;
    let client = collector.span("out", |span| is(span, SpanKind::Client, "push/event", 0xd2)).await;
    assert_eq!(client.parent_span_id, server.span_id);
    assert_eq!(events(&server), refused("host", "not_permitted"));
    assert!(events(&client).is_empty(), "who is told is who asked");
    let error = ("error.type", "not_permitted");
    has_exactly(&server, "push/event", &[id, error, ("mcpl.refusal", "not_permitted"), scope]);
    has_exactly(&client, "push/event", &[id, error, scope]);
    for span in [&server, &client] {
        assert_eq!(status(span), StatusCode::Error as i32);
    }
    only_named(&collector);
}

#[tokio::test]
async fn a_retry_is_an_event_and_the_next_forward_a_span_of_its_own() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    session.push(with_parent(push("e", "E").key("k").initial(), 0xe1, 1)).await;
    let later = json!({"accepted": false, "refusal": "unavailable", "retryable": true, "retryAfterMs": 40});
    session.host.script.then(Reply::Result(later));
    session.assemble().await;
    let is_forward = |span: &Span| is(span, SpanKind::Client, "push/event", 0xe1);
    let first = collector.span("refused", |span| is_forward(span) && status(span) == 2).await;
    let second = collector.span("taken", |span| is_forward(span) && status(span) == 0).await;
    let names: Vec<String> = events(&first).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["mcpl.refused", "mcpl.retry"]);
    assert!(attributes(&first.events[1].attributes)["mcpl.wait_ms"].parse::<u64>().unwrap() >= 40);
    let why = [("error.type", "unavailable"), ("mcpl.refusal", "unavailable")];
    has_exactly(&first, "push/event", &[&HANDED[..], &why].concat());
    has_exactly(&second, "push/event", &HANDED);
    let source = attributes(&first.events[0].attributes);
    assert_eq!((&*source["mcpl.refusal"], &*source["mcpl.refusal.source"]), ("unavailable", "host"));
    assert!(events(&second).is_empty() && links(&first).is_empty() && links(&second).is_empty());
    assert_eq!(first.parent_span_id, second.parent_span_id);
    assert_ne!(first.span_id, second.span_id);
    let sent: Vec<String> = session
        .host
        .since(0)
        .iter()
        .filter(|said| said.method().as_deref() == Some("push/event"))
        .map(|said| carried(&said.json()["params"]))
        .collect();
    assert_eq!(sent, [hex(&first.span_id), hex(&second.span_id)]);
}

#[tokio::test]
async fn a_render_has_a_span_with_links_to_its_notices() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    session.producer.script.render(Render::Text("RENDERED"));
    session.push(with_parent(push("n1", "F1").key("k").initial().deferred(), 0xf1, 1)).await;
    session.push(with_parent(push("n2", "F2").key("k").deferred(), 0xf2, 2)).await;
    session.assemble().await;
    let given = session.host.is_given("RENDERED").await;
    let mut servers = Vec::new();
    for trace in [0xf1, 0xf2] {
        let server = collector.span("in", |span| is(span, SpanKind::Server, "push/event", trace)).await;
        servers.push(hex(&server.span_id));
    }
    let render = collector.span("render", |span| is(span, SpanKind::Client, "push/render", 0xf2)).await;
    assert_eq!((links(&render), hex(&render.parent_span_id)), (servers.clone(), servers[1].clone()));
    has_exactly(&render, "push/render", &[HANDED[0]]);
    assert_eq!(status(&render), StatusCode::Unset as i32);
    let asked = session.producer.since(0);
    let asked =
        asked.iter().find(|said| said.method().as_deref() == Some("push/render")).expect("it was asked");
    assert_eq!(carried(&asked.json()["params"]), hex(&render.span_id));
    let forward = collector.span("forward", |span| is(span, SpanKind::Client, "push/event", 0xf2)).await;
    assert_eq!((links(&forward), hex(&forward.parent_span_id)), (servers.clone(), servers[1].clone()));
    has_exactly(&forward, "push/event", &HANDED);
    assert_eq!(carried(&given.json()["params"]), hex(&forward.span_id));
    only_named(&collector);
}

#[tokio::test]
async fn what_is_handed_over_after_a_restart_follows_its_occurrence_as_before() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    session.push(with_parent(push("e", "E").key("k").initial(), 0x91, 7)).await;
    let server = collector.span("in", |span| is(span, SpanKind::Server, "push/event", 0x91)).await;
    world.restart().await;
    drop(session);
    let session: Session = world.session().await;
    session.assemble().await;
    let given = session.host.is_given("E").await;
    let forward = collector.span("out", |span| is(span, SpanKind::Client, "push/event", 0x91)).await;
    assert_eq!(forward.parent_span_id, server.span_id, "our span, not the producer's");
    has_exactly(&forward, "push/event", &HANDED);
    assert_eq!(carried(&given.json()["params"]), hex(&forward.span_id));
}

#[tokio::test]
async fn what_is_not_sampled_has_no_span_and_keeps_its_bytes() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    let left_out = json!({"traceparent": parent(0x81, 1).replace("-01", "-00")});
    session.push(push("e1", "E1").key("k1").initial().with("_meta", left_out.clone())).await;
    session.push(push("e2", "E2").key("k2").initial()).await;
    session.assemble().await;
    let given = session.host.is_given("E1").await.json();
    assert_eq!(given["params"]["_meta"], left_out);
    let given = session.host.is_given("E2").await.json();
    assert!(given["params"].get("_meta").is_none());
    session.push(with_parent(push("last", "L"), 0x82, 2)).await;
    collector.span("last", |span| is(span, SpanKind::Client, "push/event", 0x82)).await;
    assert!(collector.kept().spans.iter().all(|span| hex(&span.trace_id) == trace_id(0x82)));
}

#[tokio::test]
async fn lines_of_the_log_say_which_trace_they_belong_to() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    session.push(with_parent(push("e", "E").key("k").initial(), 0x71, 1)).await;
    let server = collector.span("in", |span| is(span, SpanKind::Server, "push/event", 0x71)).await;
    let stderr = world.program().stderr();
    let line = stderr.lines().find(|line| line.contains("an occurrence is accepted")).expect("the line");
    let want = format!("trace{{trace_id={} span_id={}}}", trace_id(0x71), hex(&server.span_id));
    assert!(line.contains(&want), "{line}");
}
