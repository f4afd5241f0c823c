//! What is held stands for the same spans after the program was killed, or stopped, and started anew (contract 9.3,
//! 10.1).

use mcpl_tests::{PATIENCE, Render, Reply, Session, World, message, outcome, push};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use rustix::process::Signal;
use serde_json::json;
use tokio::time::{Duration, Instant, sleep};

use super::collector::{Collector, hex};
use super::{carried, carries_on, endpoint, is, links, meta, only_named, traced, with_parent};

/// The SERVER spans of these traces.
async fn servers<const N: usize>(collector: &Collector, name: &str, traces: [u8; N]) -> Vec<Vec<u8>> {
    let mut servers = Vec::new();
    for trace in traces {
        servers.push(collector.span("in", |span| is(span, SpanKind::Server, name, trace)).await.span_id);
    }
    servers
}

fn spelled(ids: &[Vec<u8>]) -> Vec<String> {
    ids.iter().map(|id| hex(id)).collect()
}

/// Kills the program and starts it again.
async fn killed(world: &mut World, session: Session) -> Session {
    world.restart().await;
    drop(session);
    world.session().await
}

/// Stops the program while no host is there to be given anything, and starts it again.
async fn stopped(world: &mut World, mut session: Session) -> Session {
    session.host.close().await;
    session.producer.close().await;
    world.says("the session is over", 1).await;
    world.program().signal(Signal::TERM);
    world.program().exit().await;
    killed(world, session).await
}

/// Whether any file of the journal has these bytes.
fn there(world: &World, id: &[u8]) -> bool {
    let entries = std::fs::read_dir(world.state()).expect("the folder is there").flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let read = |entry: std::fs::DirEntry| std::fs::read(entry.path()).unwrap_or_default();
    files.map(read).any(|bytes| bytes.windows(id.len()).any(|window| window == id))
}

#[tokio::test]
async fn a_forward_has_a_link_to_what_was_folded_before_a_kill_and_after_it() {
    let (mut world, collector) = traced(&[]).await;
    let mut session = world.session().await;
    for (nth, (id, text)) in [("e1", "one"), ("e2", "two"), ("e3", "three")].into_iter().enumerate() {
        let event = with_parent(push(id, text).key("k").initial(), 0x11 + nth as u8, 1 + nth as u8);
        session.push(event).await;
        servers(&collector, "push/event", [0x11 + nth as u8]).await;
        session = killed(&mut world, session).await;
    }
    // It comes again, and is what it was.
    session.push(with_parent(push("e3", "three").key("k").initial(), 0x14, 4)).await;
    session.assemble().await;
    let given = session.host.is_given("three").await;
    let servers = spelled(&servers(&collector, "push/event", [0x11, 0x12, 0x13]).await);
    let forward = collector.span("out", |span| is(span, SpanKind::Client, "push/event", 0x13)).await;
    assert_eq!((links(&forward), hex(&forward.parent_span_id)), (servers.clone(), servers[2].clone()));
    carries_on(&given.json()["params"], &forward);
    only_named(&collector);
}

#[tokio::test]
async fn a_channel_message_carries_its_context_after_a_stop() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    let messages = json!([message("m1", "M1").key("m", "m1").value()]);
    session.producer_asks("channels/incoming", &json!({"messages": messages, "_meta": meta(0x18, 8)})).await;
    let servers = spelled(&servers(&collector, "channels/incoming", [0x18]).await);
    let session = stopped(&mut world, session).await;
    session.assemble().await;
    let given = session.host.is_given("M1").await;
    let forward = collector.span("out", |span| is(span, SpanKind::Client, "channels/incoming", 0x18)).await;
    assert_eq!(hex(&forward.parent_span_id), servers[0]);
    assert!(links(&forward).is_empty(), "nothing was folded");
    carries_on(&given.json()["params"], &forward);
}

#[tokio::test]
async fn a_render_and_its_forward_have_links_to_notices_of_before_a_kill() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    session.push(with_parent(push("n1", "F1").key("k").initial().deferred(), 0x21, 1)).await;
    session.push(with_parent(push("n2", "F2").key("k").deferred(), 0x22, 2)).await;
    let servers = servers(&collector, "push/event", [0x21, 0x22]).await;
    let session = killed(&mut world, session).await;
    session.producer.script.render(Render::Text("RENDERED"));
    session.assemble().await;
    session.host.is_given("RENDERED").await;
    let wanted = (spelled(&servers), hex(&servers[1]));
    for name in ["push/render", "push/event"] {
        let span = collector.span(name, |span| is(span, SpanKind::Client, name, 0x22)).await;
        assert_eq!((links(&span), hex(&span.parent_span_id)), wanted, "{name}");
    }
    only_named(&collector);
}

#[tokio::test]
async fn what_the_host_left_unanswered_is_sent_again_after_a_kill_with_the_same_links() {
    let collector = Collector::listening(false).await;
    let world = World::new().await.top(&endpoint(&collector)).behind(["env", "OTEL_BSP_SCHEDULE_DELAY=20"]);
    let mut world = world.table("host", "policy_wait_ms = 0\nin_doubt = \"resend\"").start().await;
    let session = world.session().await;
    session.push(with_parent(push("e1", "one").key("k").initial(), 0x31, 1)).await;
    session.push(with_parent(push("e2", "two").key("k"), 0x32, 2)).await;
    let servers = spelled(&servers(&collector, "push/event", [0x31, 0x32]).await);
    session.host.script.then(Reply::Silence);
    session.assemble().await;
    let before = carried(&session.host.is_given("two").await.json()["params"]);
    let session = killed(&mut world, session).await;
    session.assemble().await;
    let given = session.host.is_given("two").await;
    let forward = collector.span("out", |span| is(span, SpanKind::Client, "push/event", 0x32)).await;
    assert_eq!((links(&forward), hex(&forward.parent_span_id)), (servers.clone(), servers[1].clone()));
    assert_eq!(carried(&given.json()["params"]), hex(&forward.span_id));
    assert_ne!(before, hex(&forward.span_id), "each time it is sent has a span of its own");
}

#[tokio::test]
async fn of_what_ended_no_span_is_left_on_disk() {
    let (mut world, collector) = traced(&[]).await;
    let session = world.session().await;
    let event = |id, text, key| push(id, text).key(key).initial();
    session.push(with_parent(event("e1", "one", "gone"), 0x41, 1)).await;
    session.push(with_parent(event("e2", "two", "gone"), 0x42, 2)).await;
    session.push(with_parent(event("e3", "three", "given"), 0x43, 3)).await;
    let ids = servers(&collector, "push/event", [0x41, 0x42, 0x43]).await;
    let session = killed(&mut world, session).await;
    assert!(ids.iter().all(|id| there(&world, id)), "this test looks in the wrong place");
    let taken = session.push(with_parent(push("e4", "").key("gone").retract(), 0x44, 4)).await;
    assert_eq!(outcome(&taken), Some("retracted"));
    session.assemble().await;
    session.host.is_given("three").await;
    session.sync().await;
    let end = Instant::now() + PATIENCE;
    while let Some(id) = ids.iter().find(|id| there(&world, id)) {
        assert!(Instant::now() < end, "{} is still on disk", hex(id));
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn of_what_is_not_sampled_nothing_is_on_disk_but_its_text() {
    let (mut world, _collector) = traced(&[]).await;
    let session = world.session().await;
    let left_out = json!({ "traceparent": super::parent(0x51, 0x51).replace("-01", "-00") });
    session.push(push("e1", "E1").key("k1").initial().with("_meta", left_out)).await;
    session.sync().await;
    assert!(there(&world, b"E1"), "this test looks in the wrong place");
    assert!(!there(&world, &[0x51; 16]), "its trace");
}
