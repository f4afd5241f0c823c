//! The operator's rules.

use super::*;

#[test]
fn a_rule_needs_all_that_it_gives() {
    let rules = ruled(vec![
        Rule { code: Some(-32000), message: Some(regex("(?i)shutting down")), ..rule("too_large") },
        Rule { reason: Some(regex("(?i)queue full")), retry_after_ms: Some(77), ..rule("unavailable") },
        Rule { method: Some("channels/incoming".into()), code: Some(-32603), ..rule("invalid") },
        Rule { message: Some(regex("only a message")), ..rule("duplicate") },
    ]);
    let kind = |lane, text: &str| match judged(&rules, lane, text, About::default()) {
        Verdict::Refused { refusal, .. } => refusal.kind.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(Lane::Push, &error("-32000", "Shutting Down", None)), "too_large");
    assert_eq!(kind(Lane::Push, &error("-32001", "Shutting Down", None)), "not_permitted");
    assert_eq!(kind(Lane::Push, &error("-32000", "other", None)), "unavailable");
    assert_eq!(kind(Lane::Push, &result(r#"{"accepted":false,"reason":"Queue full!"}"#)), "unavailable");
    assert_eq!(kind(Lane::Push, &error("-32001", "queue full", None)), "not_permitted", "no error's message");
    assert_eq!(kind(Lane::Push, &error("-32603", "boom", None)), "unavailable");
    assert_eq!(kind(Lane::Channel, &error("-32603", "boom", None)), "invalid");
    assert_eq!(
        kind(Lane::Push, &result(r#"{"accepted":false,"reason":"only a message"}"#)),
        "not_permitted",
        "no result's reason"
    );
    assert_eq!(kind(Lane::Push, &error("-32001", "only a message", None)), "duplicate");
    assert_eq!(
        judged(&rules, Lane::Push, &result(r#"{"accepted":true,"reason":"queue full"}"#), About::default()),
        Verdict::Accepted
    );
}

#[test]
fn the_first_rule_that_matches_wins_over_the_host_and_its_profile() {
    let rules = vec![
        Rule { message: Some(regex("house rule")), retry_after_ms: Some(11), ..rule("unavailable") },
        Rule { message: Some(regex("house")), ..rule("not_permitted") },
    ];
    let host = Classifier::new(rules, Profile::AgentFramework, 1000);
    let (code, data) = error_becomes(&host, -32000, "house rule: host is stopping", None);
    assert_eq!((code, &data["retryAfterMs"]), (-32030, &json!(11)));
    let (_, data) =
        error_becomes(&host, -32000, "house", Some(r#"{"refusal":"unavailable","retryable":true}"#));
    assert_eq!(data, json!({"refusal": "not_permitted", "retryable": false}), "the host's kind gave way");
    let (_, data) = error_becomes(&host, -32000, "house", Some(r#"{"refusal":"novel","retryable":true}"#));
    assert_eq!(data["refusal"], json!("novel"), "never replaced");
    let (_, data) = error_becomes(&host, -32000, "house rule", Some(r#"{"retryAfterMs":3}"#));
    assert_eq!(data["retryAfterMs"], json!(3), "a host's figure is passed on as it is");
}

#[test]
fn what_a_rule_leaves_open_goes_by_its_kind() {
    for (kind, retryable, ms) in [
        ("invalid", Some(false), None),
        ("not_permitted", Some(false), None),
        ("unknown_channel", None, None),
        ("unavailable", Some(true), Some(1234)),
        ("too_large", Some(false), None),
        ("duplicate", None, None),
        ("house_kind", None, None),
    ] {
        let refusal = Refusal { kind: Kind::from(kind), retryable, retry_after_ms: ms, limit_bytes: None };
        let text = result(r#"{"accepted":false}"#);
        let verdict = judged(&ruled(vec![rule(kind)]), Lane::Push, &text, About::default());
        assert_eq!(verdict, Verdict::Refused { refusal, code: None });
    }
    let rule = Rule { retryable: Some(false), retry_after_ms: Some(5), ..rule("unavailable") };
    let (_, data) = error_becomes(&ruled(vec![rule]), -32000, "x", None);
    assert_eq!((&data["retryable"], data.get("retryAfterMs")), (&json!(false), None));
}
