//! Hosts that coalesce themselves, in part or not at all (contract 4.3, 4.5, 8.10).

use std::time::Duration;

use mcpl_tests::{
    AgentFramework, CcBridge, Harness, Host, Mind, Render, Reply, Session, World, message, push,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::scene::{
    answer, asked, ids, is_asked, nothing_is_left, notice, renders, says, session, settles, tells,
};

const ALL: [&str; 4] = ["pushEvents", "channelsIncoming", "deferred", "channelScopedPush"];

/// A session with a host that says this of its own coalescing.
async fn with_host(world: &mut World, coalescing: &Value) -> Session {
    let host = world.host().await;
    Session::introduced(host, world, &json!({"eventCoalescing": coalescing})).await.granted().await
}

/// The three modes, as lines of the producer.
fn events() -> [String; 4] {
    let line = |id: &str, method: &str, params: &Value| {
        format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":{params}}}"#)
    };
    let channel = json!({"messages": [message("m1", "M").key("m", "m-1").value()]});
    [
        line("plain", "push/event", &push("p1", "PLAIN").key("p").initial().params()),
        line("retract", "push/event", &push("w1", "GONE").key("p").retract().params()),
        line(
            "deferred",
            "push/event",
            &notice("d1", "FALLBACK").coalesce("data", json!({"x": 1.5})).params(),
        ),
        line("channel", "channels/incoming", &channel),
    ]
}

#[tokio::test]
async fn a_host_that_coalesces_itself_is_given_every_mode_untouched() {
    for coalescing in [json!(true), ALL.iter().map(|leaf| ((*leaf).to_owned(), json!(true))).collect()] {
        let mut world = World::started().await;
        let session = with_host(&mut world, &coalescing).await;
        session.host.script.mute(true);
        let lines = events();
        session.passes_to_host(&lines.each_ref().map(String::as_str)).await;
        session.host.script.mute(false);
        settles(&session).await;
        assert_eq!(renders(&session.producer), Vec::<Value>::new(), "{coalescing}");
        nothing_is_left(&world).await;
        // It renders itself, and its requests and their answers are not ours.
        session.producer.script.mute(true);
        let render = r#"{"jsonrpc":"2.0","id":1.0,"method":"push/render","params":{"key":"k","notices":[]}}"#;
        session.passes_to_producer(&[render]).await;
        let infers = r#"{"jsonrpc":"2.0","id":"i","method":"inference/request","params":{}}"#;
        session.host.script.mute(true);
        session.passes_to_host(&[infers, r#"{"jsonrpc":"2.0","id":1.0,"result":{"content":[ ]}}"#]).await;
    }
}

/// Contract 4.5: no subject lives in two places.
#[tokio::test]
async fn what_an_earlier_session_held_goes_before_the_first_event_of_its_scope() {
    let (mut world, earlier) = session().await;
    tells(&earlier, notice("n1", "FALLBACK 1").initial(), "first").await;
    tells(&earlier, notice("n2", "FALLBACK 2"), "replaced").await;
    drop(earlier);
    let host = world.host().await;
    let session = Session::introduced(host, &mut world, &json!({"eventCoalescing": true})).await;
    let event = notice("n3", "FALLBACK 3").params();
    session.producer_asks("push/event", &event).await;
    let given = session.host.given();
    let last = given.iter().position(|text| text == "FALLBACK 3").expect("it passed");
    let held = given.iter().position(|text| text == "FALLBACK 2" || text == "RENDERED");
    assert!(held.is_some_and(|held| held < last), "{given:?}");
    settles(&session).await;
    assert_eq!(session.host.given().len(), 2, "{:?}", session.host.given());
    let passed = session.host.is_given("FALLBACK 3").await.json();
    assert_eq!(passed["params"], event, "untouched");
    nothing_is_left(&world).await;
}

/// Whatever state the batches of an earlier session are in: they go first.
#[tokio::test]
async fn what_was_rendered_and_what_is_pending_go_before_the_first_event_of_their_scope() {
    for killed in [false, true] {
        let (mut world, earlier, render) = asked().await;
        let wait =
            json!({"accepted": false, "refusal": "unavailable", "retryable": true, "retryAfterMs": 300});
        earlier.host.script.always(Reply::Result(wait));
        earlier.producer.send(answer(&render, &says("ONE"))).await;
        earlier.host.is_given("ONE").await;
        earlier.sync().await;
        // Another subject's render is out, and a third has a batch.
        earlier.producer.script.render(Render::Silence);
        tells(&earlier, push("o1", "OTHER").key("other").deferred(), "first").await;
        earlier.assemble().await;
        is_asked(&earlier.producer, 2).await;
        tells(&earlier, push("p1", "PENDING").key("pending").deferred(), "first").await;
        if killed {
            world.restart().await;
        }
        drop(earlier);
        // The host's time, and any back-off of ours, is over.
        sleep(Duration::from_millis(1_500)).await;
        let host = world.host().await;
        let session = Session::introduced(host, &mut world, &json!({"eventCoalescing": true})).await;
        session.producer_asks("push/event", &notice("n3", "THREE").params()).await;
        settles(&session).await;
        let given = session.host.given();
        assert_eq!(given.len(), 4, "{given:?}");
        assert_eq!(given[3], "THREE", "{given:?}");
        assert!(given[0] == "ONE" && given[1] == "OTHER" && given[2] == "PENDING", "{given:?}");
        assert_eq!(renders(&session.producer), Vec::<Value>::new());
        nothing_is_left(&world).await;
    }
}

#[tokio::test]
async fn what_an_earlier_session_held_goes_once_its_scope_is_admissible() {
    let (mut world, earlier) = session().await;
    tells(&earlier, notice("n1", "FALLBACK 1").initial(), "first").await;
    drop(earlier);
    let session = with_host(&mut world, &json!(true)).await;
    session
        .host
        .until(0, "what was held", |said| {
            said.str().contains("RENDERED") || said.str().contains("FALLBACK 1")
        })
        .await;
    let mut given = session.host.texts(0);
    given.retain(|line| line.contains("push/event"));
    assert!(!given.concat().contains("coalesce\":"), "{given:?}");
    settles(&session).await;
    assert_eq!(session.host.given().len(), 1);
    nothing_is_left(&world).await;
}

/// Some leaves are as good as none: it would hold what we hold.
#[tokio::test]
async fn a_host_with_only_some_leaves_is_taken_over_whole() {
    for without in ALL {
        let mut coalescing: Value = ALL.iter().map(|leaf| ((*leaf).to_owned(), json!(true))).collect();
        coalescing[without] = json!(false);
        let mut world = World::started().await;
        let session = with_host(&mut world, &coalescing).await;
        let greeting = session.producer.since(0)[0].json();
        let ours = &greeting["params"]["capabilities"]["experimental"]["mcpl"]["eventCoalescing"];
        for leaf in ALL {
            assert_eq!(ours[leaf], json!(true), "{greeting}");
        }
        tells(&session, push("p1", "V1").key("p").initial(), "first").await;
        tells(&session, push("p2", "V2").key("p"), "replaced").await;
        session.incoming([message("m1", "M1").key("m", "c1")]).await;
        session.incoming([message("m1", "M2").key("m", "c2")]).await;
        tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
        assert_eq!(session.host.given(), Vec::<String>::new());
        session.assemble().await;
        session.host.is_given("RENDERED").await;
        let mut given = session.host.given();
        given.sort();
        assert_eq!(given, ["M2", "RENDERED", "V2"]);
        let events = session.host.texts(0).concat();
        assert!(!events.contains(r#""coalesce":{"#), "{events}");
        assert_eq!(ids(&renders(&session.producer)[0]), ["n1"]);
    }
}

#[tokio::test]
async fn a_mode_that_is_off_leaves_deferred_events_alone() {
    let coalesce = "mode = \"off\"";
    let mut world = World::new().await.table("coalesce", coalesce).start().await;
    let session = world.session().await;
    session.host.script.mute(true);
    let lines = events();
    session.passes_to_host(&lines.each_ref().map(String::as_str)).await;
    session.host.script.mute(false);
    settles(&session).await;
    assert_eq!(renders(&session.producer), Vec::<Value>::new());
}

/// A batch that was held before the mode was turned off is given all the same.
#[tokio::test]
async fn a_batch_held_before_the_mode_was_off_is_given() {
    let (mut world, session) = session().await;
    tells(&session, notice("n1", "FALLBACK 1").initial(), "first").await;
    drop(session);
    world.kill().await;
    let mut world = world.table("coalesce", "mode = \"off\"").start().await;
    let again = world.session().await;
    again
        .host
        .until(0, "what was held", |said| {
            said.str().contains("RENDERED") || said.str().contains("FALLBACK 1")
        })
        .await;
    settles(&again).await;
    assert_eq!(again.host.given().len(), 1);
    nothing_is_left(&world).await;
}

async fn legacy(profile: &str, mind: impl Mind) -> (World, Session) {
    let mut world = World::new().await.table("host", &format!("profile = \"{profile}\"")).start().await;
    let host = Host::with_mind(world.wire().await, mind);
    let session = Session::introduced(host, &mut world, &json!({"version": "0.4"})).await;
    (world, session)
}

/// Where nothing is known of its scope a notice is written through as its fallback; after that the scope is open.
async fn is_given_both(world: &World, session: &Session) {
    tells(session, notice("n1", "ONE"), "appended").await;
    assert_eq!(session.host.given(), ["ONE"]);
    tells(session, notice("n2", "TWO"), "first").await;
    tells(session, notice("n3", "THREE"), "replaced").await;
    session
        .host
        .send(r#"{"jsonrpc":"2.0","method":"inference/lifecycle","params":{"phase":"completed"}}"#)
        .await;
    session.host.send(r#"{"jsonrpc":"2.0","id":"b","method":"context/beforeInference","params":{}}"#).await;
    is_asked(&session.producer, 1).await;
    session.host.is_given("RENDERED").await;
    assert_eq!(ids(&renders(&session.producer)[0]), ["n2", "n3"]);
    assert_eq!(session.host.given(), ["ONE", "RENDERED"]);
    assert!(!session.host.texts(0).concat().contains("coalesce"), "a legacy host was told of coalescing");
    session.producer_asks("channels/register", &json!({"channels": []})).await;
    nothing_is_left(world).await;
}

#[tokio::test]
async fn agent_framework_is_given_what_is_rendered() {
    let (world, session) = legacy("agent-framework", AgentFramework::new(&["doc"], &["doc"])).await;
    is_given_both(&world, &session).await;
}

/// It dies of text content: that is no render of ours to give it.
#[tokio::test]
async fn agent_framework_survives_whatever_a_producer_renders() {
    for deadly in [r#"{"content":"TEXT"}"#, r#"{"content":[null]}"#, r#"{"content":[{"text":"NO TYPE"}]}"#] {
        let (_world, session) = legacy("agent-framework", AgentFramework::new(&["doc"], &["doc"])).await;
        tells(&session, push("o", "OPEN").key("open"), "appended").await;
        session.producer.script.render(Render::Result(deadly));
        tells(&session, notice("n1", "FALLBACK"), "first").await;
        session.assemble_unanswered().await;
        session.host.is_given("FALLBACK").await;
        assert!(!session.host.has_ended(), "{deadly}");
    }
}

#[tokio::test]
async fn cc_bridge_is_given_what_is_rendered() {
    let (world, session) = legacy("cc-bridge", CcBridge { admitted: vec!["doc"] }).await;
    is_given_both(&world, &session).await;
}

#[tokio::test]
async fn a_bare_harness_is_given_what_is_rendered() {
    let (world, session) = legacy("generic", Harness).await;
    is_given_both(&world, &session).await;
}

/// Contract 7.5: after `policy_wait_ms` it goes, and the answer is the verdict.
#[tokio::test]
async fn a_host_that_never_sends_a_policy_is_given_a_batch_of_an_earlier_session() {
    let mut world = World::new().await.table("host", "policy_wait_ms = 300").start().await;
    let earlier = world.session().await;
    tells(&earlier, notice("n1", "FALLBACK").initial(), "first").await;
    drop(earlier);
    let host = Host::with_mind(world.wire().await, Harness);
    let session = Session::introduced(host, &mut world, &json!({"version": "0.4"})).await;
    session.assemble_unanswered().await;
    session.host.is_given("RENDERED").await;
    assert_eq!(ids(&renders(&session.producer)[0]), ["n1"]);
    assert_eq!(session.host.given(), ["RENDERED"]);
}

/// Contract 4.5: it is given nothing, and nothing is lost.
#[tokio::test]
async fn a_host_that_is_no_mcpl_host_leaves_a_batch_where_it_is() {
    let (mut world, earlier) = session().await;
    tells(&earlier, notice("n1", "FALLBACK").initial(), "first").await;
    drop(earlier);
    let host = world.host().await;
    let mark = host.count();
    host.send(r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"capabilities":{}}}"#).await;
    let producer = world.reached().await;
    host.answer(mark, "\"i\"").await;
    let other = Session { host, producer };
    other.assemble().await;
    other.sync().await;
    assert_eq!((other.host.given().len(), renders(&other.producer).len()), (0, 0));
    assert_eq!(world.listed(&[]).await.len(), 1);
    let again = world.session().await;
    again.assemble().await;
    again.host.is_given("RENDERED").await;
    assert_eq!(ids(&renders(&again.producer)[0]), ["n1"]);
}
