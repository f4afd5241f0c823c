//! What answers come to for the engine.

use super::*;

#[test]
fn acceptance_opens_five_codes_close_and_nothing_else_teaches() {
    let host = classifier(Profile::AgentFramework);
    let teaches = |text: &str| judged(&host, Lane::Push, text, About::default()).teaches();
    assert_eq!(teaches(&result(r#"{"accepted":true}"#)), Some(Learned::Open));
    for code in ["-32001", "-32002", "-32003", "-32017", "-32023"] {
        assert_eq!(teaches(&error(code, "no", None)), Some(Learned::Closed), "{code}");
    }
    for code in ["-32602", "-32000", "-32030", "-32031", "-32601", "7"] {
        assert_eq!(teaches(&error(code, "Feature set not enabled", None)), None, "{code}");
    }
    assert_eq!(teaches(&result(r#"{"accepted":false,"reason":"Feature set not enabled"}"#)), None);
    assert_eq!(teaches(&result("{}")), None);
}

#[test]
fn a_forward_on_the_channel_lane_is_judged_by_its_only_result() {
    let host = classifier(Profile::Generic);
    let judged = |text: &str| judged(&host, Lane::Channel, &result(text), About::default());
    assert_eq!(judged(r#"{"results":[{"messageId":"A","accepted":true}]}"#), Verdict::Accepted);
    assert!(matches!(judged(r#"{"results":[{"accepted":false}]}"#), Verdict::Refused { code: None, .. }));
    assert_eq!(judged(r#"{"results":[]}"#), Verdict::Unreadable);
    assert_eq!(judged(r#"{"results":7}"#), Verdict::Unreadable);
    assert!(matches!(judged(r#"{"accepted":false}"#), Verdict::Refused { .. }));
    assert_eq!(host.judge_message(br#"{"accepted":true}"#, About::default()), Verdict::Accepted);
}

#[test]
fn an_error_for_a_batch_condemns_or_not_by_its_kind() {
    let host = classifier(Profile::Generic);
    let splits = |code: &str, messages| {
        judged(&host, Lane::Channel, &error(code, "m", None), About::default()).splits(messages)
    };
    for code in ["-32602", "-32600", "-32003", "-32031", "-32023", "-32017"] {
        assert!(splits(code, 2) && splits(code, 100), "{code}");
        assert!(!splits(code, 0) && !splits(code, 1) && !splits(code, 101), "{code}");
    }
    for code in ["-32001", "-32002", "-32601", "-32000", "-32030"] {
        assert!(!splits(code, 2), "{code}");
    }
    assert!(!Verdict::Accepted.splits(2));
}

#[test]
fn an_error_for_a_batch_becomes_the_result_of_each_message() {
    let host = classifier(Profile::Generic);
    let as_message = |id: Option<&[u8]>, text: &str| {
        let Ok(Sniff::Message(envelope)) = sniff(text.as_bytes()) else { panic!("no message") };
        String::from_utf8(host.as_message(id, &Reply::of(&envelope), About::default())).unwrap()
    };
    assert_eq!(
        as_message(Some(br#""\u0041""#), &error("-32000", "say \"busy\"", None)),
        r#"{"messageId":"\u0041","accepted":false,"reason":"say \"busy\"","refusal":"unavailable","retryable":true,"retryAfterMs":1234}"#
    );
    assert_eq!(
        as_message(None, r#"{"id":1,"error":{"code":-32031,"data":{"limitBytes":9}}}"#),
        r#"{"accepted":false,"refusal":"too_large","retryable":false,"limitBytes":9}"#
    );
}
