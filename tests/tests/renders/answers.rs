//! What the producer answers, or does not.

use mcpl_tests::{Render, World, push};
use serde_json::Value;

use super::scene::{
    answer, asked, is_asked, nothing_is_left, notice, renders, says, session, settles, tells,
};

#[tokio::test]
async fn an_error_leaves_the_fallback() {
    let (_world, session, render) = asked().await;
    session.producer.send(answer(&render, r#""error":{"code":-32603,"message":"SECRET"}"#)).await;
    session.host.is_given("FALLBACK").await;
    settles(&session).await;
    assert_eq!(session.host.given(), ["FALLBACK"]);
    assert!(!session.host.texts(0).concat().contains("SECRET"));
}

#[tokio::test]
async fn no_answer_in_time_leaves_the_fallback_and_a_late_one_changes_nothing() {
    let coalesce = "quiet_ms = 60000\nmax_hold_ms = 600000\nrender_timeout_ms = 200";
    let mut world = World::new().await.table("coalesce", coalesce).start().await;
    let session = world.session().await;
    session.producer.script.render(Render::Silence);
    tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
    session.assemble().await;
    let render = is_asked(&session.producer, 1).await;
    let given = session.host.is_given("FALLBACK").await;
    assert!(given.at - render.at >= std::time::Duration::from_millis(190), "{:?}", given.at - render.at);
    session.producer.send(answer(&render, &says("LATE"))).await;
    settles(&session).await;
    assert_eq!(session.host.given(), ["FALLBACK"]);
    assert!(!session.host.texts(0).concat().contains("LATE"), "a late answer reached the host");
}

/// The first answer counts, however it comes; none of the others reaches anyone.
#[tokio::test]
async fn of_several_answers_the_first_counts() {
    let (_world, session, render) = asked().await;
    let error = answer(&render, r#""error":{"code":1,"message":"m"}"#);
    let lines = [answer(&render, &says("ONE")), answer(&render, &says("TWO")), error];
    session.producer.send(lines.join("\n")).await;
    session.host.is_given("ONE").await;
    session.producer.send(format!("[{}]", lines.join(","))).await;
    settles(&session).await;
    assert_eq!(session.host.given(), ["ONE"]);
    assert!(!session.host.texts(0).concat().contains("TWO"), "an answer to us reached the host");
}

#[tokio::test]
async fn answers_inside_a_json_rpc_batch_are_taken_out_of_it() {
    let (_world, session, render) = asked().await;
    session.producer.script.render(Render::Silence);
    tells(&session, push("o1", "OTHER FALLBACK").key("other").deferred(), "first").await;
    session.assemble().await;
    let other = is_asked(&session.producer, 2).await;
    session.producer.script.mute(true);
    session.host.send(r#"{"jsonrpc":"2.0","id":"theirs","method":"tools/list"}"#).await;
    session.producer.until(0, "the host's request", |said| said.str().contains("theirs")).await;
    let mark = session.host.count();
    let batch = format!(
        r#"[ {} , {{"jsonrpc":"2.0", "id":"theirs","result":1e400}},{},{{"jsonrpc":"2.0","method":"n"}}]"#,
        answer(&other, &says("SECOND")),
        answer(&render, &says("FIRST")),
    );
    session.producer.send(batch).await;
    session.host.is_given("FIRST").await;
    session.host.is_given("SECOND").await;
    // What is not ours goes on in its order; what the answers brought about may come between.
    let rest = session.host.until(mark, "the rest", |said| said.str().contains(r#""method":"n""#)).await;
    let passed = session.host.texts(mark).concat();
    let theirs = passed.find(r#"{"jsonrpc":"2.0", "id":"theirs","result":1e400}"#);
    let told = passed.find(r#"{"jsonrpc":"2.0","method":"n"}"#);
    assert!(theirs.is_some() && theirs < told, "{passed}");
    assert!(rest.str().starts_with('[') && rest.str().ends_with(']'), "{}", rest.str());
    assert!(!passed.contains(r#""result":{"content""#), "an answer to us reached the host: {passed}");
}

#[tokio::test]
async fn nothing_to_tell_is_not_told() {
    for empty in [r#"{"content":""}"#, r#"{"content":[]}"#, r#"{"content":[{"type":"text","text":""}]}"#] {
        let (world, session) = session().await;
        session.producer.script.render(Render::Result(empty));
        tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
        session.assemble().await;
        is_asked(&session.producer, 1).await;
        settles(&session).await;
        assert_eq!(session.host.given(), Vec::<String>::new(), "{empty}");
        nothing_is_left(&world).await;
        // Nobody has seen anything of it.
        tells(&session, push("v", "V").key("k"), "first").await;
    }
}

/// What could not be pushed is not given: the fallback is.
#[tokio::test]
async fn unfit_content_leaves_the_fallback() {
    for unfit in [
        "{}",
        "null",
        "[]",
        "5",
        r#"{"content":null}"#,
        r#"{"content":7}"#,
        r#"{"content":{"type":"text","text":"OBJECT"}}"#,
        r#"{"content":[{"text":"NO TYPE"}]}"#,
        r#"{"content":[null]}"#,
        r#"{"content":"ONE","content":"TWO"}"#,
        r#"{"content":[{"type":"text","text":"TOO LONG, MUCH TOO LONG, AND ON AND ON IT GOES, LINE BY LINE"}]}"#,
    ] {
        let mut world = World::new().await.table("limits", "max_content_bytes = 80").start().await;
        let session = world.session().await;
        session.producer.script.render(Render::Result(unfit));
        tells(&session, notice("n1", "FALLBACK").initial(), "first").await;
        session.assemble().await;
        session.host.is_given("FALLBACK").await;
        settles(&session).await;
        assert_eq!(session.host.given(), ["FALLBACK"], "{unfit}");
        assert_eq!(renders(&session.producer).len(), 1);
    }
}

/// Members that only look like what we interpret are the producer's.
#[tokio::test]
async fn rendered_content_keeps_its_bytes() {
    let (_world, session, render) = asked().await;
    let content = r#"[ {"type":"text","text":"\u0052\ud83d\ude00é","n":1e400,"coalesce":{"key":5}} ]"#;
    session.producer.send(answer(&render, &format!(r#""result":{{"content":{content}}}"#))).await;
    let given = session.host.until(0, "the render", |said| said.str().contains("1e400")).await.str();
    assert!(given.contains(&format!(r#""content":{content}"#)), "{given}");
}

#[tokio::test]
async fn a_producer_that_leaves_during_a_render_leaves_the_fallback() {
    let (mut world, mut session, _) = asked().await;
    session.producer.close().await;
    session.host.ended().await;
    let again = world.session().await;
    again.assemble().await;
    again.host.is_given("FALLBACK").await;
    settles(&again).await;
    assert_eq!(again.host.given(), ["FALLBACK"]);
    assert_eq!(renders(&again.producer), Vec::<Value>::new(), "it was asked twice");
}

/// An id of ours is no secret: an answer to an old session's render is no answer to this one's.
#[tokio::test]
async fn an_answer_to_a_render_of_an_earlier_session_changes_nothing() {
    let (mut world, session, old) = asked().await;
    drop(session);
    let again = world.session().await;
    again.producer.script.render(Render::Silence);
    again.assemble().await;
    again.host.is_given("FALLBACK").await;
    tells(&again, notice("n2", "FALLBACK 2"), "first").await;
    again.assemble().await;
    let new = is_asked(&again.producer, 1).await;
    again.producer.send(answer(&old, &says("OLD"))).await;
    again.producer.send(answer(&new, &says("NEW"))).await;
    again.host.is_given("NEW").await;
    settles(&again).await;
    assert_eq!(again.host.given(), ["FALLBACK", "NEW"]);
}
