//! What is seldom right by itself: requests that nobody answers, that are cancelled, split, or read in two ways.

use mcpl_tests::{Render, Reply, World, message, push};
use serde_json::{Value, json};

use super::text::Scrape;
use super::{MAIN, Watched, watched};

const SERVER: &str = "mcp_server_operation_duration_seconds_count";
const CLIENT: &str = "mcp_client_operation_duration_seconds_count";

fn request(id: &Value, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// How many operations of a method failed like this; without a failure: went well.
fn operations(scrape: &Scrape, part: &str, method: &str, failure: &str) -> f64 {
    let of = [MAIN, ("mcp_method_name", method)];
    let failed = |error: &str| scrape.matching(part, &[of[0], of[1], ("error_type", error)]).sum::<f64>();
    if failure.is_empty() {
        let errors = ["session_ended", "cancelled", "-32602", "-32600", "-32000", "producer_unreached"];
        return scrape.matching(part, &of).sum::<f64>()
            - errors.iter().map(|error| failed(error)).sum::<f64>();
    }
    failed(failure)
}

async fn over(watched: &Watched) -> Scrape {
    let over = |scrape: &Scrape| scrape.value("mcpl_sessions_active", &[MAIN]) == 0.0;
    watched.scrape_until("the session is over", over).await
}

#[tokio::test]
async fn what_nobody_answered_before_the_session_ended_took_until_then_on_both_sides() {
    let mut watched = watched(World::new().await).await;
    let mut session = watched.world.session().await;
    session.producer.script.render(Render::Silence);
    session.push(push("held", "HELD").key("k").initial()).await;
    session.push(push("batch", "FALLBACK").key("b").initial().deferred()).await;
    session.host.script.then(Reply::Silence);
    session.assemble().await;
    session.host.is_given("HELD").await;
    session.producer.until(0, "a render", |said| said.method().as_deref() == Some("push/render")).await;
    session.mute();
    session.passes_to_producer(&[&request(&json!(1), "tools/list", &json!({}))]).await;
    // The same id in the other direction, and twice.
    let sample = request(&json!(1), "sampling/createMessage", &json!({}));
    session.passes_to_host(&[&sample, &sample]).await;
    session.passes_to_host(&[&request(&json!(2), "push/event", &push("u", "U").params())]).await;
    session.host.close().await;
    session.producer.close().await;
    let scrape = over(&watched).await;
    let lost = |part, method| operations(&scrape, part, method, "session_ended");
    for part in [SERVER, CLIENT] {
        assert_eq!(lost(part, "tools/list"), 1.0, "{part}");
        assert_eq!(lost(part, "sampling/createMessage"), 2.0, "{part}");
    }
    assert_eq!((lost(SERVER, "push/event"), lost(CLIENT, "push/event")), (1.0, 2.0));
    assert_eq!(lost(CLIENT, "push/render"), 1.0);
    let forward = [MAIN, ("mcpl_lane", "push"), ("error_type", "session_ended")];
    assert_eq!(scrape.value("mcpl_forward_duration_seconds_count", &forward), 1.0);
}

#[tokio::test]
async fn two_requests_of_one_id_are_two_and_the_other_direction_has_ids_of_its_own() {
    let mut watched = watched(World::new().await).await;
    let session = watched.world.session().await;
    session.mute();
    let roots = request(&json!("x"), "roots/list", &json!({}));
    session.passes_to_host(&[&roots, &roots]).await;
    session.passes_to_producer(&[&request(&json!("x"), "tools/list", &json!({}))]).await;
    let answer = r#"{"jsonrpc":"2.0","id":"x","result":{}}"#;
    session.passes_to_producer(&[answer, answer, answer]).await;
    session.passes_to_host(&[answer]).await;
    let done = |scrape: &Scrape| {
        [SERVER, CLIENT].iter().all(|part| {
            operations(scrape, part, "roots/list", "") == 2.0
                && operations(scrape, part, "tools/list", "") == 1.0
        })
    };
    watched.scrape_until("each is counted once", done).await;
}

#[tokio::test]
async fn a_request_that_is_cancelled_is_over_and_its_late_answer_passes() {
    let mut watched = watched(World::new().await).await;
    let session = watched.world.session().await;
    session.mute();
    let cancel = |id: Value| {
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
            .to_string()
    };
    session
        .passes_to_producer(&[&request(&json!(7), "tools/call", &json!({"name": "t"})), &cancel(json!(7))])
        .await;
    session.passes_to_host(&[&request(&json!(7), "roots/list", &json!({})), &cancel(json!(7))]).await;
    // Of nothing, and of nothing that is an id.
    session.passes_to_producer(&[&cancel(json!(8)), &cancel(json!({"x": 7}))]).await;
    let answer = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    session.passes(&[answer]).await;
    let done = |scrape: &Scrape| {
        let is = |part, method| operations(scrape, part, method, "cancelled") == 1.0;
        [SERVER, CLIENT].iter().all(|part| is(part, "tools/call") && is(part, "roots/list"))
    };
    let scrape = watched.scrape_until("both are over", done).await;
    assert_eq!(operations(&scrape, SERVER, "tools/call", ""), 0.0, "once is enough");
}

#[tokio::test]
async fn messages_that_are_sent_one_at_a_time_are_requests_each() {
    let mut watched = watched(World::new().await).await;
    let session = watched.world.session().await;
    session.host.script.then(Reply::Error(-32602, "one of them is wrong"));
    let taken = session.incoming([message("m1", "M1"), message("m2", "M2")]).await;
    assert_eq!(taken["result"]["results"].as_array().map(Vec::len), Some(2), "{taken}");
    let done = |scrape: &Scrape| operations(scrape, SERVER, "channels/incoming", "") == 1.0;
    let scrape = watched.scrape_until("it is answered", done).await;
    assert_eq!(operations(&scrape, CLIENT, "channels/incoming", "-32602"), 1.0);
    assert_eq!(operations(&scrape, CLIENT, "channels/incoming", ""), 2.0);
    let passed = [MAIN, ("mcpl_lane", "channel"), ("mcpl_event_outcome", "passed")];
    assert_eq!(scrape.value("mcpl_events_total", &passed), 2.0);
}

#[tokio::test]
async fn an_event_that_is_two_is_refused_and_counted() {
    let mut watched = watched(World::new().await).await;
    let session = watched.world.session().await;
    let two = r#"{"jsonrpc":"2.0","id":"two","method":"push/event","params":{"a":1},"params":{"a":2}}"#;
    let answer = session.producer.ask("\"two\"", two).await;
    assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
    let two = r#"{"jsonrpc":"2.0","id":"none","method":"push/event","method":"ping","params":{}}"#;
    let answer = session.producer.ask("\"none\"", two).await;
    assert_eq!(answer["error"]["code"], json!(-32600), "{answer}");
    let done = |scrape: &Scrape| operations(scrape, SERVER, "push/event", "-32602") == 1.0;
    let scrape = watched.scrape_until("it is timed", done).await;
    let refused = [MAIN, ("mcpl_lane", "push"), ("mcpl_event_outcome", "refused")];
    assert_eq!(scrape.value("mcpl_events_total", &refused), 1.0);
    let invalid = [MAIN, ("mcpl_refusal_source", "sidecar"), ("mcpl_refusal", "invalid")];
    assert_eq!(scrape.value("mcpl_refusals_total", &invalid), 1.0);
}

#[tokio::test]
async fn a_host_whose_producer_is_not_there_was_answered_with_an_error() {
    let world = World::unreachable().keys("connect_timeout_ms = 200");
    let mut watched = watched(world).await;
    let host = watched.world.host().await;
    let answer = host.ask("\"i\"", &request(&json!("i"), "initialize", &json!({}))).await;
    assert_eq!(answer["error"]["code"], json!(-32000), "{answer}");
    let scrape = over(&watched).await;
    assert_eq!(operations(&scrape, SERVER, "initialize", "-32000"), 1.0);
    assert_eq!(operations(&scrape, CLIENT, "initialize", "producer_unreached"), 1.0);
}

#[tokio::test]
async fn in_observe_mode_events_take_as_long_as_the_host_does() {
    let world = World::new().await.table("coalesce", "mode = \"observe\"");
    let mut watched = watched(world).await;
    let session = watched.world.session().await;
    session.push(push("e", "E").key("k").initial()).await;
    session.host.script.then(Reply::Error(-32000, "busy"));
    session.push(push("f", "F")).await;
    let done = |scrape: &Scrape| {
        [SERVER, CLIENT].iter().all(|part| {
            operations(scrape, part, "push/event", "") == 1.0
                && operations(scrape, part, "push/event", "-32000") == 1.0
        })
    };
    let scrape = watched.scrape_until("both are timed", done).await;
    let passed = [MAIN, ("mcpl_lane", "push"), ("mcpl_event_outcome", "passed")];
    assert_eq!(scrape.value("mcpl_events_total", &passed), 2.0);
}

#[tokio::test]
async fn each_event_of_an_array_counts_and_so_does_each_message_of_a_request() {
    let mut watched = watched(World::new().await).await;
    let session = watched.world.session().await;
    let messages =
        json!([message("m1", "M1").key("m", "m1").value(), message("m2", "M2").key("n", "m2").value()]);
    let batch = json!([
        {"jsonrpc": "2.0", "id": "p", "method": "push/event", "params": push("e", "E").key("k").initial().params()},
        {"jsonrpc": "2.0", "id": "c", "method": "channels/incoming", "params": {"messages": messages}},
        {"jsonrpc": "2.0", "method": "push/event", "params": push("n", "N").params()},
    ]);
    let mark = session.producer.count();
    session.producer.send(batch.to_string()).await;
    session.producer.until(mark, "the answers", |said| said.str().starts_with('[')).await;
    let events = |scrape: &Scrape, lane, came| {
        scrape.value("mcpl_events_total", &[MAIN, ("mcpl_lane", lane), ("mcpl_event_outcome", came)])
    };
    let done = |scrape: &Scrape| events(scrape, "push", "first") == 1.0;
    let scrape = watched.scrape_until("they count", done).await;
    assert_eq!((events(&scrape, "channel", "appended"), events(&scrape, "push", "passed")), (2.0, 1.0));
    assert_eq!(operations(&scrape, SERVER, "push/event", ""), 1.0, "a notification is no operation");
    assert_eq!(operations(&scrape, SERVER, "channels/incoming", ""), 1.0);
}

#[tokio::test]
async fn after_a_kill_what_is_held_in_doubt_or_dead_is_shown_before_any_session() {
    let world = World::new().await.table("host", "in_doubt = \"hold\"\ndedup = \"none\"");
    let mut watched = watched(world).await;
    let session = watched.world.session().await;
    session.push(push("dead", "DEAD").key("d").initial()).await;
    session.host.script.then(Reply::Error(-32602, "never"));
    session.assemble().await;
    session.push(push("doubt", "DOUBT").key("u").initial()).await;
    session.host.script.then(Reply::Silence);
    session.assemble().await;
    session.host.is_given("DOUBT").await;
    session.push(push("held", "HELD").key("h").initial()).await;
    watched.world.kill().await;
    drop(session);
    watched.world.restart().await;
    let gauges = |scrape: &Scrape| {
        ["mcpl_held_occurrences", "mcpl_dead_letters"].map(|name| scrape.matching(name, &[MAIN]).sum::<f64>())
    };
    let scrape = watched.scrape_until("it is shown", |scrape| gauges(scrape)[1] == 1.0).await;
    // What is in doubt is so once a host is there whose lanes say so.
    assert_eq!(gauges(&scrape), [2.0, 1.0]);
    assert_eq!(scrape.value("mcpl_sessions_total", &[MAIN]), 0.0);
    let session = watched.world.session().await;
    let doubt = |scrape: &Scrape| scrape.value("mcpl_in_doubt", &[MAIN]) == 1.0;
    let scrape = watched.scrape_until("an operator is to decide", doubt).await;
    assert_eq!(gauges(&scrape), [1.0, 1.0]);
    drop(session);
}

#[tokio::test]
async fn a_render_that_is_never_answered_is_counted_when_it_is_given_up() {
    let coalesce = "quiet_ms = 600000\nmax_hold_ms = 600000\nrender_timeout_ms = 50";
    let world = World::new().await.table("coalesce", coalesce);
    let mut watched = watched(world).await;
    let session = watched.world.session().await;
    session.producer.script.render(Render::Silence);
    session.push(push("batch", "FALLBACK").key("b").initial().deferred()).await;
    session.assemble().await;
    session.host.is_given("FALLBACK").await;
    let renders =
        |scrape: &Scrape, how| scrape.value("mcpl_renders_total", &[MAIN, ("mcpl_render_result", how)]);
    let scrape = watched.scrape_until("it is given up", |scrape| renders(scrape, "unanswered") == 1.0).await;
    assert_eq!((renders(&scrape, "late"), renders(&scrape, "failed")), (0.0, 0.0));
}
