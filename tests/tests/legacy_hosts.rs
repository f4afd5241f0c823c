//! Hosts as they are (contract sections 5, 8.10): each with a mind of its own.

use mcpl_tests::{
    AgentFramework, CcBridge, Harness, Host, Mind, Session, World, error_code, message, outcome, push,
    refusal,
};
use serde_json::{Value, json};

async fn with_host(profile: &str, mind: impl Mind) -> (World, Session) {
    let lines = format!("profile = \"{profile}\"");
    let mut world = World::new().await.table("host", &lines).start().await;
    let host = Host::with_mind(world.wire().await, mind);
    // None of these hosts answers initialize, so the session is opened by hand.
    let session = Session::introduced(host, &mut world, &json!({"version": "0.4"})).await;
    (world, session)
}

/// agent-framework of March 2026: sends its policy as a notification.
async fn agent_framework() -> (World, Session) {
    let mind = AgentFramework::new(&["doc"], &["doc", "other"]);
    let (world, session) = with_host("agent-framework", mind).await;
    let update =
        r#"{"jsonrpc":"2.0","method":"featureSets/update","params":{"enabled":["doc"],"disabled":[]}}"#;
    session.host.send(update).await;
    session.host_asks("tools/list", &json!({})).await;
    (world, session)
}

#[tokio::test]
async fn agent_framework_opens_a_scope_by_its_verdict() {
    let (_world, session) = agent_framework().await;
    // The grant is unknown: the first goes through and is answered with the host's own verdict.
    let first = session.push(push("e1", "one").key("k")).await;
    assert_eq!(first["result"]["accepted"], json!(true), "{first}");
    assert_eq!(outcome(&first), Some("appended"), "{first}");
    assert_eq!(session.host.given(), ["one"]);
    // Now it is known, and held for.
    for (id, text) in [("e2", "two"), ("e3", "three")] {
        session.push(push(id, text).key("k")).await;
    }
    session.assemble_unanswered().await;
    session.host.is_given("three").await;
    assert_eq!(session.host.given(), ["one", "three"]);
}

#[tokio::test]
async fn agent_framework_refuses_in_english_and_is_understood() {
    let (_world, session) = agent_framework().await;
    let accepted = session.push(push("e1", "one")).await;
    assert_eq!(accepted["result"]["accepted"], json!(true), "{accepted}");
    for (event, kind, retryable, reason) in [
        (push("e1", "one"), "duplicate", None, "duplicate"),
        (
            push("e2", "two").with("featureSet", json!("other")),
            "not_permitted",
            Some(false),
            "Feature set not enabled: other",
        ),
        (
            push("e3", "three").with("featureSet", json!("none")),
            "invalid",
            Some(false),
            "Unknown feature set: none",
        ),
    ] {
        let answer = session.push(event).await;
        let result = &answer["result"];
        assert_eq!(result["refusal"], json!(kind), "{answer}");
        assert_eq!(result.get("retryable").and_then(Value::as_bool), retryable, "{answer}");
        assert_eq!(result["reason"], json!(reason), "{answer}");
    }
    let nothing = session.producer.ask("7", r#"{"jsonrpc":"2.0","id":7,"method":"push/event"}"#).await;
    assert_eq!(refusal(&nothing)["refusal"], json!("invalid"), "{nothing}");
}

#[tokio::test]
async fn agent_framework_survives_malformed_events() {
    let (_world, session) = agent_framework().await;
    let contents = [json!("text"), json!([null]), json!([{"text": "no type"}]), json!({}), json!(5)];
    for (n, content) in contents.into_iter().enumerate() {
        for event in [push(&format!("p{n}"), ""), push(&format!("c{n}"), "").key("k")] {
            let answer = session.push(event.with("payload", json!({"content": content}))).await;
            assert_eq!(error_code(&answer), Some(-32602), "{content}: {answer}");
            assert_eq!(refusal(&answer)["refusal"], json!("invalid"), "{answer}");
        }
        let answer = session.incoming([message(&format!("m{n}"), "").with("content", content)]).await;
        let result =
            if error_code(&answer).is_some() { refusal(&answer) } else { &answer["result"]["results"][0] };
        assert_eq!(result["refusal"], json!("invalid"), "{answer}");
    }
    let text =
        r#"{"jsonrpc":"2.0","id":9,"method":"push/event","params":{"featureSet":"doc","eventId":"x"}}"#;
    assert_eq!(error_code(&session.producer.ask("9", text).await), Some(-32602));
    assert!(!session.host.has_ended(), "the host died");
    let alive = session.push(push("alive", "alive")).await;
    assert_eq!(alive["result"]["accepted"], json!(true), "{alive}");
}

#[tokio::test]
async fn agent_framework_leaves_questions_unanswered_and_nothing_waits_for_them() {
    let (_world, session) = agent_framework().await;
    let mark = session.producer.count();
    for method in ["ping", "model/info", "state/update"] {
        session.producer.send(format!(r#"{{"jsonrpc":"2.0","id":"{method}","method":"{method}"}}"#)).await;
    }
    for n in 0..100 {
        session.push(push(&format!("e{n}"), "X")).await;
    }
    assert_eq!(session.producer.count(), mark + 100, "a question was answered on the host's behalf");
}

#[tokio::test]
async fn agent_framework_is_not_told_twice_by_its_memory_of_a_thousand() {
    let (_world, session) = agent_framework().await;
    session.push(push("first", "first").key("k")).await;
    for n in 0..1200 {
        session.push(push(&format!("e{n}"), &format!("v{n}")).key("k")).await;
    }
    session.assemble_unanswered().await;
    session.host.is_given("v1199").await;
    // A retry of any of them is ours to answer, whatever the host forgot.
    for id in ["first", "e0", "e700", "e1199"] {
        let text = if id == "first" { "first".to_owned() } else { id.replace('e', "v") };
        let answer = session.push(push(id, &text).key("k")).await;
        assert_eq!(answer["result"]["accepted"], json!(true), "{id}: {answer}");
    }
    session.assemble_unanswered().await;
    assert_eq!(session.host.given(), ["first", "v1199"]);
}

/// mcpl-cc-bridge: its policy is a request, its channels are registered with results.
async fn cc_bridge() -> (World, Session) {
    let (world, session) = with_host("cc-bridge", CcBridge { admitted: vec!["doc", "chat"] }).await;
    let session = session.granted().await;
    (world, session)
}

#[tokio::test]
async fn cc_bridge_refuses_without_words() {
    let (_world, session) = cc_bridge().await;
    let other = session.push(push("e", "X").with("featureSet", json!("other"))).await;
    assert_eq!(other["result"]["refusal"], json!("not_permitted"), "{other}");
    assert_eq!(other["result"]["retryable"], json!(false), "{other}");
    let elsewhere = session.incoming([message("m", "X").with("channelId", json!("nowhere"))]).await;
    let result = &elsewhere["result"]["results"][0];
    assert_eq!(result["refusal"], json!("unknown_channel"), "{elsewhere}");
    assert!(result.get("retryable").is_none(), "{elsewhere}");
    let here = session.incoming([message("m", "X")]).await;
    assert_eq!(here["result"]["results"][0]["conversationId"], json!("claude-code"), "{here}");
}

#[tokio::test]
async fn cc_bridge_is_held_for() {
    let (_world, session) = cc_bridge().await;
    let first = session.push(push("e1", "one").key("k").initial()).await;
    assert_eq!(outcome(&first), Some("first"), "{first}");
    let second = session.push(push("e2", "two").key("k")).await;
    assert_eq!(outcome(&second), Some("replaced"), "{second}");
    session.assemble().await;
    session.host.is_given("two").await;
    assert_eq!(session.host.given(), ["two"]);
}

#[tokio::test]
async fn harness_registers_with_nothing_and_dies_of_noise_it_never_sees() {
    let (_world, session) = with_host("generic", Harness).await;
    let channel = json!({"id": "chat", "type": "t", "label": "chat", "direction": "bidirectional"});
    session.producer_asks("channels/register", &json!({"channels": [channel]})).await;
    session.producer.send("[discord] Client initialized (MCPL mode)").await;
    let first = session.incoming([message("m1", "one").key("m", "e1")]).await;
    assert_eq!(first["result"]["results"][0]["accepted"], json!(true), "{first}");
    for n in 2..5 {
        session.incoming([message("m1", &format!("edit {n}")).key("m", &format!("e{n}"))]).await;
    }
    session.push(push("p", "plain")).await;
    session.assemble_unanswered().await;
    session.host.is_given("edit 4").await;
    assert!(!session.host.has_ended(), "noise reached the host");
    let given = session.host.given();
    assert!(!given.contains(&"edit 2".to_owned()) && !given.contains(&"edit 3".to_owned()), "{given:?}");
}
