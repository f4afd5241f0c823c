//! Producers as they are: how they spell, and what they send at once.

use mcpl_tests::{Render, World, outcome, push};
use serde_json::json;

use super::scene::{
    answer, asked, ids, is_asked, nothing_is_left, notice, renders, says, session, settles, tells,
};

/// Some libraries escape every slash.
#[tokio::test]
async fn an_answer_counts_however_its_id_is_spelled() {
    for (slash, with) in [("/", "\\/"), ("m", "\\u006d"), ("-", "\\u002D")] {
        let (_world, session, render) = asked().await;
        let id = render.raw("id").expect("an id");
        let spelled = id.replace(slash, with);
        assert_ne!(id, spelled);
        session.producer.send(format!(r#"{{ {}, "id":{spelled},"jsonrpc":"2.0"}}"#, says("ONE"))).await;
        session.host.is_given("ONE").await;
        settles(&session).await;
        assert_eq!(session.host.given(), ["ONE"]);
        assert!(!session.host.texts(0).concat().contains(&spelled), "it reached the host");
    }
}

/// Nobody waits for the time of an answer that came.
#[tokio::test]
async fn an_answer_that_cannot_be_used_leaves_the_fallback_at_once() {
    let long = json!({"content": [{"type": "text", "text": "x".repeat(100_000)}]});
    for said in [
        format!(r#""result":{long}"#),
        r#""result":{"content":"a"},"error":{"code":1,"message":"m"}"#.to_owned(),
        r#""result":{"content":"a"},"result":{"content":"b"}"#.to_owned(),
        r#""error":null"#.to_owned(),
        r#""result":null"#.to_owned(),
    ] {
        let coalesce = "quiet_ms = 60000\nmax_hold_ms = 600000\nrender_timeout_ms = 3600000";
        let limits = "max_message_bytes = 70000";
        let world = World::new().await.table("coalesce", coalesce).table("limits", limits);
        let mut world = world.start().await;
        let session = world.session().await;
        session.producer.script.render(Render::Silence);
        tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
        session.assemble().await;
        let render = is_asked(&session.producer, 1).await;
        session.producer.send(answer(&render, &said)).await;
        session.host.is_given("FALLBACK").await;
        settles(&session).await;
        assert_eq!(session.host.given(), ["FALLBACK"]);
        let told = session.host.texts(0);
        assert!(!told.iter().any(|line| line.contains("-32600")), "{told:?}");
    }
}

#[tokio::test]
async fn notices_in_one_json_rpc_batch_are_one_batch() {
    let (_world, session) = session().await;
    let line = |n: usize| {
        let event = notice(&format!("n{n}"), "F").initial().params();
        format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"push/event","params":{event}}}"#)
    };
    let mark = session.producer.count();
    session.producer.send(format!("[{},{},{}]", line(0), line(1), line(2))).await;
    let told = session.producer.until(mark, "one array", |said| said.str().starts_with('[')).await.json();
    let outcomes: Vec<_> = told.as_array().expect("an array").iter().map(outcome).collect();
    assert_eq!(outcomes, [Some("first"), Some("replaced"), Some("replaced")]);
    settles(&session).await;
    session.host.is_given("RENDERED").await;
    assert_eq!(ids(&renders(&session.producer)[0]), ["n0", "n1", "n2"]);
}

/// Contract 7.1a: it is begun, and not waited for.
#[tokio::test]
async fn an_uncoalesced_event_of_its_channel_starts_a_render_and_does_not_wait_for_it() {
    let (_world, session) = session().await;
    session.producer.script.render(Render::Silence);
    tells(&session, push("n", "F").key("k").channel("chat").deferred().initial(), "first").await;
    let direct = push("u", "DIRECT").with("origin", json!({"channelId": "chat"}));
    let told = session.push(direct).await;
    assert_eq!(told["result"]["accepted"], json!(true), "{told}");
    let render = is_asked(&session.producer, 1).await;
    assert_eq!(session.host.given(), ["DIRECT"]);
    session.producer.send(answer(&render, &says("DIGEST"))).await;
    session.host.is_given("DIGEST").await;
}

#[tokio::test]
async fn a_notice_with_an_urgent_tag_is_rendered_at_once() {
    let (_world, session) = session().await;
    tells(&session, notice("n1", "F").initial(), "first").await;
    tells(&session, notice("n2", "F").with("tags", json!(["chat:mention"])), "replaced").await;
    session.host.is_given("RENDERED").await;
    assert_eq!(ids(&renders(&session.producer)[0]), ["n1", "n2"]);
}

#[tokio::test]
async fn a_channel_that_is_removed_during_a_render_drops_its_batch() {
    let (world, session) = session().await;
    session.producer.script.render(Render::Silence);
    tells(&session, push("n", "F").key("k").channel("chat").deferred().initial(), "first").await;
    session.assemble().await;
    let render = is_asked(&session.producer, 1).await;
    session
        .producer
        .send(r#"{"jsonrpc":"2.0","method":"channels/changed","params":{"removed":["chat"]}}"#)
        .await;
    session.producer.send(answer(&render, &says("LATE"))).await;
    settles(&session).await;
    assert_eq!(session.host.given(), Vec::<String>::new());
    nothing_is_left(&world).await;
}

/// A newer session ends the older one, whatever it was waiting for.
#[tokio::test]
async fn a_host_that_reconnects_during_a_render_is_given_the_fallback() {
    let (mut world, old, render) = asked().await;
    tells(&old, notice("n2", "FALLBACK 2"), "first").await;
    let new = world.session().await;
    old.host.ended().await;
    old.producer.send(answer(&render, &says("LATE"))).await;
    new.assemble().await;
    new.host.is_given("FALLBACK").await;
    new.assemble().await;
    new.host.is_given("RENDERED").await;
    settles(&new).await;
    assert_eq!(new.host.given(), ["FALLBACK", "RENDERED"]);
    assert_eq!(ids(&renders(&new.producer)[0]), ["n2"]);
}

/// Its pace is that of what the host is given: a render costs nothing more.
#[tokio::test]
async fn with_a_pace_each_batch_is_given_and_costs_once() {
    let mut world =
        World::new().await.table("limits", "forward_rate_per_s = 20\nin_flight = 1").start().await;
    let session = world.session().await;
    for n in 0..30 {
        tells(&session, push(&format!("n{n}"), "F").key(&format!("k{n}")).deferred().initial(), "first")
            .await;
    }
    let begun = std::time::Instant::now();
    session.assemble().await;
    for n in 0..30 {
        let id = format!("\"n{n}\"");
        session.host.until(0, "each of them", |said| said.str().contains(&id)).await;
    }
    let took = begun.elapsed().as_millis();
    assert!(took < 2_500, "{took} ms for 30 at 20 a second");
    settles(&session).await;
    assert_eq!(session.host.given().len(), 30);
    assert_eq!(renders(&session.producer).len(), 30);
}
