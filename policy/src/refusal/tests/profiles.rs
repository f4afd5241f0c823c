//! The rows of the table of profiles (contract 8.10).

use super::*;

#[test]
fn each_sentence_of_agent_framework_means_what_the_profile_says() {
    let host = classifier(Profile::AgentFramework);
    let big = About { content_bytes: 1_048_577, ..About::default() };
    let said = |kind: &str, retryable, ms| Refusal {
        kind: Kind::from(kind),
        retryable,
        retry_after_ms: ms,
        limit_bytes: None,
    };
    for (text, refusal) in [
        ("Feature set not enabled: X", said("not_permitted", Some(false), None)),
        ("Unknown feature set: X", said("invalid", Some(false), None)),
        ("Feature set validation failed", said("invalid", Some(false), None)),
        ("invalid channel/message identity", said("invalid", Some(false), None)),
        ("unknown channel \"c9\" \u{2014} register it first", said("unknown_channel", None, None)),
        ("host is stopping", said("unavailable", Some(true), Some(5_000))),
        ("host could not persist the acceptance; retry", said("unavailable", Some(true), Some(1_000))),
        ("host could not make the acceptance durable; retry", said("unavailable", Some(true), Some(1_000))),
    ] {
        let reason = result(&format!(r#"{{"accepted":false,"reason":{}}}"#, raw::quote(text)));
        let verdict = judged(&host, Lane::Push, &reason, About::default());
        assert_eq!(verdict, Verdict::Refused { refusal: refusal.clone(), code: None }, "{text}");
        let message = error("-32603", text, None);
        let verdict = judged(&host, Lane::Channel, &message, About::default());
        assert_eq!(verdict, Verdict::Refused { refusal, code: Some(-32603) }, "{text}");
    }
    let early = "push-event rejected: capability \"pushEvents\" initial policy not yet established";
    for (code, text, data, about, refusal) in [
        (-32002, early, None, About::default(), said("not_permitted", Some(true), None)),
        (-32002, "no such capability", None, About::default(), said("not_permitted", Some(false), None)),
        (-32602, "bad", Some(r#"{"field":"payload.content"}"#), big, Refusal::too_large(1_048_576)),
        (-32602, "payload.content is bad", None, big, Refusal::too_large(1_048_576)),
        (-32602, "bad", Some(r#"{"field":"payload.content"}"#), About::default(), Refusal::invalid()),
        (-32602, "bad", Some(r#"{"field":"coalesce.key"}"#), big, Refusal::invalid()),
        (-32603, "anything else", None, About::default(), said("unavailable", Some(true), Some(1234))),
        (
            -32000,
            "durable, could not make",
            None,
            About::default(),
            said("unavailable", Some(true), Some(1234)),
        ),
        (-32000, "could not make it", None, About::default(), said("unavailable", Some(true), Some(1234))),
    ] {
        let text = error(&code.to_string(), text, data);
        let verdict = judged(&host, Lane::Push, &text, about);
        assert_eq!(verdict, Verdict::Refused { refusal, code: Some(code) }, "{text}");
    }
    let generic =
        judged(&classifier(Profile::Generic), Lane::Push, &error("-32002", early, None), About::default());
    assert_eq!(generic, Verdict::Refused { refusal: Refusal::not_permitted(), code: Some(-32002) });
}

#[test]
fn each_sentence_of_cc_bridge_means_what_the_profile_says() {
    let host = classifier(Profile::CcBridge);
    let (code, data) = error_becomes(&host, -32000, "not admitted on this host: x", None);
    assert_eq!((code, data), (-32000, json!({"refusal": "not_permitted", "retryable": false})));
    assert_eq!(error_becomes(&host, -32000, "internal error", None).0, -32030);
    let internal = result_becomes(&host, r#"{"accepted":false,"reason":"internal error"}"#, About::default());
    assert_eq!((&internal["refusal"], &internal["retryAfterMs"]), (&json!("unavailable"), &json!(1234)));
    let bare = result_becomes(&host, r#"{"accepted":false}"#, About::default());
    assert_eq!(bare["refusal"], json!("not_permitted"));
}
