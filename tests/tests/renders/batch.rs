//! What the producer is asked, and what the host is given for it.

use mcpl_tests::{Render, outcome, push};
use serde_json::json;

use super::scene::{answer, asked, ids, is_asked, notice, renders, says, session, settles, tells};

/// Odd numbers, escapes, order, repeats and white space of its `data` are the producer's own.
#[tokio::test]
async fn notices_are_handed_back_byte_for_byte_and_never_reach_the_host() {
    let (_world, session) = session().await;
    let odd = [
        r#"{"z":1e400,"a":12345678901234567890.10,"z":-0,"u":"\u00e9\ud83d\ude00é\/","s": [ 1 ,2 ]}"#,
        r#""cut \ud83d""#,
        "-0.0E-0",
        "null",
        r#"[[],{},"DATA",false]"#,
    ];
    for (n, data) in odd.iter().enumerate() {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{n},"method":"push/event","params":{{"featureSet":"doc","eventId":"e\u0031-{n}","timestamp":"2026-01-01T00:00:0{n}\u005a","coalesce":{{"key":"k\u00e9","deferred":true,"data":{data}}},"payload":{{"content":[{{"type":"text","text":"FALLBACK"}}]}}}}}}"#
        );
        let told = session.producer.ask(&n.to_string(), &line).await;
        assert_eq!(outcome(&told), Some(if n == 0 { "first" } else { "replaced" }), "{told}");
    }
    session.assemble().await;
    let render = is_asked(&session.producer, 1).await.str();
    for (n, data) in odd.iter().enumerate() {
        let notice =
            format!(r#"{{"eventId":"e\u0031-{n}","timestamp":"2026-01-01T00:00:0{n}\u005a","data":{data}}}"#);
        assert!(render.contains(&notice), "{notice} is not in {render}");
    }
    session.host.is_given("RENDERED").await;
    settles(&session).await;
    assert_eq!(session.host.given(), ["RENDERED"]);
    for line in session.host.texts(0) {
        assert!(
            !line.contains("1e400") && !line.contains("DATA") && !line.contains("notices"),
            "data reached the host: {line}"
        );
        assert!(!line.contains("coalesce\":{\"key"), "{line}");
    }
}

#[tokio::test]
async fn of_two_hundred_notices_the_newest_come_back_and_the_others_are_counted() {
    let (_world, session) = session().await;
    for n in 0..200 {
        let event = notice(&format!("n{n}"), "FALLBACK").coalesce("data", json!({"n": n}));
        tells(&session, event, if n == 0 { "first" } else { "replaced" }).await;
    }
    session.assemble().await;
    is_asked(&session.producer, 1).await;
    let asked = &renders(&session.producer)[0];
    let kept = ids(asked);
    assert!(kept.len() >= 64, "{}", kept.len());
    assert_eq!(asked["dropped"], json!(200 - kept.len()));
    let newest: Vec<String> = (200 - kept.len()..200).map(|n| format!("n{n}")).collect();
    assert_eq!(kept, newest);
    assert_eq!(asked["notices"][0]["data"]["n"], json!(200 - kept.len()));
    assert_eq!(asked["eventId"], json!("n199"));
    session.host.is_given("RENDERED").await;
}

#[tokio::test]
async fn what_was_rendered_is_an_ordinary_event_under_the_newest_notice() {
    let (_world, session) = session().await;
    let timed = r#"{"content":[{"type":"text","text":"TIMED"}],"timestamp":"2031-05-05T05:05:05Z","more":1}"#;
    session.producer.script.render(Render::Result(timed));
    let old = notice("n1", "OLD").with("tags", json!(["old"])).with("origin", json!({"channelId": "a"}));
    let new = notice("n2", "NEW")
        .with("tags", json!(["new"]))
        .with("origin", json!({"channelId": "b", "messageId": 1.50}))
        .with("metadata", json!({"m": true}));
    tells(&session, old, "first").await;
    tells(&session, new, "replaced").await;
    session.assemble().await;
    let given = session.host.is_given("TIMED").await.json();
    assert_eq!(given["method"], json!("push/event"));
    let expected = push("n2", "TIMED")
        .with("tags", json!(["new"]))
        .with("origin", json!({"channelId": "b", "messageId": 1.50}))
        .with("metadata", json!({"m": true}))
        .with("timestamp", json!("2031-05-05T05:05:05Z"));
    assert_eq!(given["params"], expected.params());
}

#[tokio::test]
async fn a_batch_is_frozen_when_its_render_begins() {
    let (_world, session, first) = asked().await;
    session.producer.script.render(Render::Silence);
    tells(&session, notice("n2", "FALLBACK 2"), "first").await;
    tells(&session, notice("n3", "FALLBACK 3"), "replaced").await;
    settles(&session).await;
    assert_eq!(renders(&session.producer).len(), 1, "a second render while one is out");
    session.producer.send(answer(&first, &says("ONE"))).await;
    session.host.is_given("ONE").await;
    let second = is_asked(&session.producer, 2).await;
    session.producer.send(answer(&second, &says("TWO"))).await;
    session.host.is_given("TWO").await;
    settles(&session).await;
    assert_eq!(session.host.given(), ["ONE", "TWO"]);
    let asked = renders(&session.producer);
    assert_eq!((ids(&asked[0]), ids(&asked[1])), (vec!["n1"], vec!["n2", "n3"]));
    assert_eq!(asked[1]["dropped"], json!(0));
}

#[tokio::test]
async fn a_batch_of_a_channel_names_it_and_one_of_a_feature_set_does_not() {
    let (_world, session) = session().await;
    tells(&session, push("c", "F").key("k").channel("chat").deferred(), "first").await;
    tells(&session, push("f", "F").key("k").deferred(), "first").await;
    session.assemble().await;
    is_asked(&session.producer, 2).await;
    let mut asked = renders(&session.producer);
    asked.sort_by_key(|params| params["eventId"].to_string());
    assert_eq!(asked[0]["channelId"], json!("chat"));
    assert_eq!(asked[1].get("channelId"), None);
    for params in &asked {
        assert_eq!((&params["featureSet"], &params["key"]), (&json!("doc"), &json!("k")));
    }
}
