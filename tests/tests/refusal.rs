//! A refused event says why, whether to resend and when, in fields (contract section 8).

use std::time::Duration;

use mcpl_tests::{Reply, Session, World, error_code, message, push, refusal};
use serde_json::{Value, json};
use tokio::time::sleep;

async fn session() -> (World, Session) {
    let mut world = World::started().await;
    let session = world.session().await;
    (world, session)
}

/// Sends one uncoalesced push that the host answers with `reply`.
async fn refused(session: &Session, reply: Reply) -> Value {
    session.host.script.then(reply);
    session.push(push("e", "X")).await
}

#[tokio::test]
async fn every_code_of_a_host_has_its_kind() {
    let (_world, session) = session().await;
    let no: Option<bool> = None;
    for (code, kind, retryable, sent) in [
        (-32602, "invalid", Some(false), -32602),
        (-32600, "invalid", Some(false), -32600),
        (-32700, "invalid", Some(false), -32700),
        (-32003, "invalid", Some(false), -32003),
        (-32001, "not_permitted", Some(false), -32001),
        (-32002, "not_permitted", Some(false), -32002),
        (-32017, "not_permitted", Some(false), -32017),
        (-32023, "unknown_channel", no, -32023),
        (-32030, "unavailable", Some(true), -32030),
        (-32000, "unavailable", Some(true), -32030),
        (-32603, "unavailable", Some(true), -32030),
        (-32031, "too_large", Some(false), -32031),
        (-32601, "not_permitted", Some(false), -32601),
        (-1, "not_permitted", Some(false), -1),
        (0, "not_permitted", Some(false), 0),
    ] {
        let answer = refused(&session, Reply::Error(code, "model zed-0429 not found, 503")).await;
        assert_eq!(error_code(&answer), Some(sent), "{answer}");
        let data = &answer["error"]["data"];
        assert_eq!(data["refusal"], json!(kind), "{code}: {answer}");
        assert_eq!(data.get("retryable").and_then(Value::as_bool), retryable, "{code}: {answer}");
        assert_eq!(
            answer["error"]["message"],
            json!("model zed-0429 not found, 503"),
            "the host's words changed"
        );
        let host = data.get("host").and_then(|host| host["code"].as_i64());
        assert_eq!(host, (code != sent).then_some(code), "{code}: {answer}");
        if kind == "invalid" {
            assert!(data.get("retryAfterMs").is_none(), "{answer}");
        }
    }
}

#[tokio::test]
async fn results_stay_results() {
    let (_world, session) = session().await;
    let duplicate = refused(&session, Reply::Refuse("duplicate")).await;
    assert_eq!(
        duplicate["result"],
        json!({"accepted": false, "reason": "duplicate", "refusal": "duplicate"})
    );
    let bare = refused(&session, Reply::Result(json!({"accepted": false}))).await;
    assert_eq!(bare["result"], json!({"accepted": false, "refusal": "not_permitted", "retryable": false}));
    let unknown = refused(
        &session,
        Reply::Result(json!({"accepted": false, "refusal": "on_holiday", "retryable": true})),
    )
    .await;
    assert_eq!(
        unknown["result"]["refusal"],
        json!("on_holiday"),
        "a kind of the host's own was replaced: {unknown}"
    );
    let accepted = refused(&session, Reply::Result(json!({"accepted": true, "inferenceId": "i"}))).await;
    assert_eq!(accepted["result"], json!({"accepted": true, "inferenceId": "i"}));
}

#[tokio::test]
async fn a_hosts_time_to_wait_is_whole_or_its_own() {
    let (_world, session) = session().await;
    let told = |data: Value| {
        Reply::Result(json!({"accepted": false, "refusal": "unavailable", "retryAfterMs": data}))
    };
    let answer = refused(&session, told(json!(250))).await;
    assert_eq!(answer["result"]["retryAfterMs"], json!(250));
    for odd in [json!("120"), json!("soon"), json!(null), json!(true), json!([5]), json!(-3), json!(1e30)] {
        let answer = refused(&session, told(odd.clone())).await;
        let got = &answer["result"]["retryAfterMs"];
        assert!(got.as_u64().is_some() || *got == odd || got.is_null(), "{odd} became {got}");
    }
}

#[tokio::test]
async fn only_the_event_lanes_are_classified() {
    let (_world, session) = session().await;
    session.mute();
    session.passes_to_host(&[r#"{"jsonrpc":"2.0","id":31,"method":"inference/request","params":{}}"#]).await;
    session
        .passes_to_producer(&[r#"{"jsonrpc":"2.0","id":31,"error":{"code":-32000,"message":"busy"}}"#])
        .await;
    session.passes_to_producer(&[r#"{"jsonrpc":"2.0","id":32,"method":"tools/call","params":{}}"#]).await;
    session.passes_to_host(&[r#"{"jsonrpc":"2.0","id":32,"error":{"code":-32603,"message":"busy"}}"#]).await;
}

#[tokio::test]
async fn an_error_for_a_batch_condemns_no_message() {
    let (_world, session) = session().await;
    session.host.script.then(Reply::Error(-32602, "one of them is bad"));
    session.host.script.then(Reply::Accept);
    session.host.script.then(Reply::Error(-32602, "this one"));
    session.host.script.then(Reply::Refuse("capability_denied"));
    let answer = session.incoming(["a", "b", "c"].map(|id| message(id, id))).await;
    let results = answer["result"]["results"].as_array().cloned().unwrap_or_default();
    assert_eq!(results.len(), 3, "{answer}");
    assert_eq!((&results[0]["messageId"], &results[0]["accepted"]), (&json!("a"), &json!(true)), "{answer}");
    assert_eq!(
        (&results[1]["messageId"], &results[1]["refusal"]),
        (&json!("b"), &json!("invalid")),
        "{answer}"
    );
    assert_eq!((&results[2]["messageId"], &results[2]["accepted"]), (&json!("c"), &json!(false)), "{answer}");
    assert_eq!(session.host.given(), ["a", "b", "c", "a", "b", "c"]);
}

#[tokio::test]
async fn an_unavailable_batch_is_unavailable_message_by_message() {
    let (_world, session) = session().await;
    session.host.script.then(Reply::Error(-32000, "shutting down"));
    let answer = session.incoming(["a", "b"].map(|id| message(id, id))).await;
    for (n, id) in ["a", "b"].iter().enumerate() {
        let result = &answer["result"]["results"][n];
        assert_eq!(
            (&result["messageId"], &result["refusal"], &result["retryable"]),
            (&json!(id), &json!("unavailable"), &json!(true)),
            "{answer}"
        );
    }
    assert_eq!(session.host.given(), ["a", "b"]);
}

#[tokio::test]
async fn a_batch_of_one_keeps_the_form_of_an_error() {
    let (_world, session) = session().await;
    session.host.script.then(Reply::Error(-32000, "shutting down"));
    let answer = session.incoming([message("a", "a")]).await;
    assert_eq!(error_code(&answer), Some(-32030), "{answer}");
    assert_eq!(refusal(&answer)["refusal"], json!("unavailable"), "{answer}");
}

#[tokio::test]
async fn over_the_rate_each_event_is_told_when_and_nothing_else_is_limited() {
    let mut world = World::new().await.table("limits", "rate_per_s = 5\nburst = 1").start().await;
    let session = world.session().await;
    let mut waits = Vec::new();
    for n in 0..3 {
        let answer = session.push(push(&format!("e{n}"), "X")).await;
        if n == 0 {
            assert_eq!(answer["result"]["accepted"], json!(true), "{answer}");
            continue;
        }
        let result = &answer["result"];
        assert_eq!(
            (&result["accepted"], &result["refusal"], &result["retryable"]),
            (&json!(false), &json!("unavailable"), &json!(true)),
            "{answer}"
        );
        assert!(result["reason"].is_string(), "{answer}");
        waits.push(result["retryAfterMs"].as_u64().expect("a time to wait"));
    }
    // Pings, calls, answers and notifications take no token.
    for _ in 0..20 {
        session.sync().await;
    }
    session.passes(&[r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#]).await;
    sleep(Duration::from_millis(*waits.iter().max().expect("two refusals"))).await;
    let answer = session.push(push("e1", "X")).await;
    assert_eq!(answer["result"]["accepted"], json!(true), "the time it was told was not honest: {answer}");
}

#[tokio::test]
async fn content_over_the_limit_is_too_large_and_says_the_limit() {
    let mut world = World::new().await.table("limits", "max_content_bytes = 200").start().await;
    let session = world.session().await;
    // [{"text":"…","type":"text"}] is 27 bytes around the text.
    let fits = session.push(push("fits", &"x".repeat(173)).key("a")).await;
    assert_eq!(fits["result"]["accepted"], json!(true), "{fits}");
    let over = session.push(push("over", &"x".repeat(174)).key("b")).await;
    assert_eq!(error_code(&over), Some(-32031), "{over}");
    let data = refusal(&over);
    assert_eq!(
        (&data["refusal"], &data["retryable"], &data["limitBytes"]),
        (&json!("too_large"), &json!(false), &json!(200))
    );
    let result = session.incoming([message("m", &"x".repeat(300)).key("c", "m")]).await;
    let result = &result["result"]["results"][0];
    assert_eq!((&result["refusal"], &result["limitBytes"]), (&json!("too_large"), &json!(200)), "{result}");
}

#[tokio::test]
async fn a_rule_of_the_operators_comes_first() {
    let rule = "retry_after_ms = 1000\n[[producer.refusals.rule]]\ncode = -32000\nmessage = \"(?i)shutting down\"\nrefusal = \"unavailable\"\nretryable = true\nretry_after_ms = 5000";
    let mut world = World::new().await.table("refusals", rule).start().await;
    let session = world.session().await;
    let by_rule = refused(&session, Reply::Error(-32000, "Shutting down now")).await;
    assert_eq!(refusal(&by_rule)["retryAfterMs"], json!(5000), "{by_rule}");
    let by_default = refused(&session, Reply::Error(-32000, "busy")).await;
    assert_eq!(refusal(&by_default)["retryAfterMs"], json!(1000), "{by_default}");
}
