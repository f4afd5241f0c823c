//! Requests that are split, cancelled, watched only, too many, or carry odd context.

use mcpl_sidecar::telemetry::spans::OPEN;
use mcpl_tests::{Reply, World, message, push};
use serde_json::{Value, json};

use super::ends::{dropped, until_dropped};
use super::{SpanKind, attributes, carried, hex, is, meta, only_named, parent, status, traced, with_parent};

#[tokio::test]
async fn messages_that_are_sent_one_at_a_time_have_a_span_each_under_their_request() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    session.host.script.then(Reply::Error(-32602, "one of them is wrong"));
    let messages = json!([message("m1", "M1").value(), message("m2", "M2").value()]);
    session.producer_asks("channels/incoming", &json!({"messages": messages, "_meta": meta(0xa8, 8)})).await;
    let server = collector.span("in", |span| is(span, SpanKind::Server, "channels/incoming", 0xa8)).await;
    assert_eq!(status(&server), 0, "each message has its own result");
    let clients: Vec<_> = {
        let kept = collector.kept();
        kept.spans
            .iter()
            .filter(|span| is(span, SpanKind::Client, "channels/incoming", 0xa8))
            .cloned()
            .collect()
    };
    let told: Vec<Option<String>> =
        clients.iter().map(|span| attributes(&span.attributes).remove("error.type")).collect();
    assert_eq!(told, [Some("-32602".to_owned()), None, None]);
    assert!(clients.iter().all(|span| span.parent_span_id == server.span_id));
    let sent = session.host.since(0);
    let sent = sent.iter().filter(|said| said.method().as_deref() == Some("channels/incoming"));
    let carry: Vec<String> = sent.map(|said| carried(&said.json()["params"])).collect();
    assert_eq!(carry, ["08".repeat(8), hex(&clients[1].span_id), hex(&clients[2].span_id)]);
    only_named(&collector);
}

#[tokio::test]
async fn a_request_that_is_cancelled_has_spans_that_say_so_and_leaves_none_open() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    session.mute();
    let request =
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": meta(0xa9, 9)}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    session.passes_to_producer(&[&request.to_string(), &cancel.to_string()]).await;
    for kind in [SpanKind::Server, SpanKind::Client] {
        let span = collector.span("cancelled", |span| is(span, kind, "tools/list", 0xa9)).await;
        assert_eq!(attributes(&span.attributes)["error.type"], "cancelled");
    }
}

#[tokio::test]
async fn an_event_that_is_only_watched_has_spans_until_the_host_answers() {
    let (world, collector) = {
        let collector = super::Collector::listening(false).await;
        let front = ["env", "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_TRACES_SAMPLER=parentbased_always_off"];
        let world = World::new().await.top(&super::endpoint(&collector)).behind(front);
        (world.table("coalesce", "mode = \"observe\"").start().await, collector)
    };
    let mut world = world;
    let session = world.session().await;
    session.host.script.then(Reply::Error(-32000, "busy"));
    session.push(with_parent(push("e", "E").key("k"), 0xaa, 1)).await;
    for kind in [SpanKind::Server, SpanKind::Client] {
        let span = collector.span("watched", |span| is(span, kind, "push/event", 0xaa)).await;
        assert_eq!(attributes(&span.attributes)["error.type"], "-32000");
        assert!(attributes(&span.attributes).contains_key("jsonrpc.request.id"));
    }
}

#[tokio::test]
async fn context_that_is_odd_goes_on_as_far_as_it_is_any() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    let odd: [(u8, Value); 5] = [
        (0x31, json!({"traceparent": parent(0x31, 1), "tracestate": "a=b,".repeat(400)})),
        (0x32, json!({"traceparent": parent(0x32, 1), "baggage": {"not": "a string"}})),
        (0x33, json!({"traceparent": parent(0x33, 1), "baggage": "x=".to_owned() + &"y".repeat(9000)})),
        (0x34, json!({"traceparent": parent(0x34, 1), "tracestate": 7})),
        (0x35, json!({"traceparent": parent(0x35, 1), "mine": [1, 2]})),
    ];
    for (trace, meta) in &odd {
        let text = format!("E{trace}");
        session.push(push(&text, &text).key(&text).initial().with("_meta", meta.clone())).await;
    }
    // No context at all, in whatever stands where it should be.
    for (nth, bad) in
        [json!("traceparent"), json!([parent(0x3f, 1)]), json!({"traceparent": parent(0x3f, 1) + "-x"})]
            .into_iter()
            .enumerate()
    {
        let text = format!("N{nth}");
        session.push(push(&text, &text).key(&text).initial().with("_meta", bad)).await;
    }
    let params = push("two", "TWO").key("two").initial().params().to_string();
    let (first, second) = (meta(0x36, 1), meta(0x37, 2));
    let two = params.replacen('{', &format!(r#"{{"_meta":{first},"_meta":{second},"#), 1);
    let line = format!(r#"{{"jsonrpc":"2.0","id":"two","method":"push/event","params":{two}}}"#);
    session.producer.ask("\"two\"", &line).await;
    session.assemble().await;
    for (trace, meta) in &odd {
        let given = session.host.is_given(&format!("E{trace}")).await.json();
        let forward = collector.span("out", |span| is(span, SpanKind::Client, "push/event", *trace)).await;
        let sent = &given["params"]["_meta"];
        assert_eq!(carried(&given["params"]), hex(&forward.span_id));
        assert_eq!(sent.get("tracestate"), None, "what is none is not passed on as one");
        assert_eq!(sent["mine"], meta["mine"]);
    }
    for nth in 0..3 {
        session.host.is_given(&format!("N{nth}")).await;
    }
    let given = session.host.is_given("TWO").await;
    let told: Vec<u8> = [0x36, 0x37]
        .into_iter()
        .filter(|trace| {
            collector.kept().spans.iter().any(|span| is(span, SpanKind::Server, "push/event", *trace))
        })
        .collect();
    assert_eq!(told.len(), 1, "one of the two");
    let forward = collector.span("out", |span| is(span, SpanKind::Client, "push/event", told[0])).await;
    assert_eq!(given.str().matches("traceparent").count(), 1, "{}", given.str());
    assert_eq!(carried(&given.json()["params"]), hex(&forward.span_id));
    assert!(collector.kept().spans.iter().all(|span| hex(&span.trace_id) != "3f".repeat(16)));
}

#[tokio::test]
async fn past_the_spans_that_may_be_open_messages_go_on_without_and_that_is_counted() {
    let (mut world, collector) = traced(&["OTEL_BSP_MAX_QUEUE_SIZE=20000"]).await;
    let session = world.session().await;
    session.mute();
    // Two spans each.
    let (fit, more) = (OPEN / 2, 7);
    let request = |id: usize| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": meta(0xab, 1)}})
            .to_string()
    };
    let lines: Vec<String> = (0..fit + more).map(request).collect();
    for some in lines.chunks(1000) {
        session.passes_to_producer(&some.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    until_dropped(&world, more as u64).await;
    assert_eq!(dropped(&world).await, more as u64);
    // One that is answered makes room for one.
    session.passes_to_host(&[r#"{"jsonrpc":"2.0","id":0,"result":{}}"#]).await;
    session.passes_to_producer(&[&request(OPEN)]).await;
    drop(session);
    world.program().signal(rustix::process::Signal::TERM);
    world.program().exit().await;
    let kept = collector.kept();
    let all = kept.spans.iter().filter(|span| span.name == "tools/list").count() as u64;
    // The end is bounded in time; none that was taken is told twice.
    assert!(all <= OPEN as u64 + 2 && all > 0, "{all}");
}
