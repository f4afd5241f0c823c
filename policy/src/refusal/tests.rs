use mcpl_codec::sniff::{Sniff, sniff};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod ours;
mod profiles;
mod rules;
mod verdicts;

fn classifier(profile: Profile) -> Classifier {
    Classifier::new(Vec::new(), profile, 1234)
}

fn ruled(rules: Vec<Rule>) -> Classifier {
    Classifier::new(rules, Profile::Generic, 1234)
}

fn rule(refusal: &str) -> Rule {
    Rule {
        code: None,
        message: None,
        reason: None,
        method: None,
        refusal: Kind::from(refusal),
        retryable: None,
        retry_after_ms: None,
        limit_bytes: None,
    }
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

/// A whole response through `translate`: the text as the producer gets it.
fn translated(classifier: &Classifier, lane: Lane, text: &str, about: &[About]) -> String {
    let Ok(Sniff::Message(envelope)) = sniff(text.as_bytes()) else { panic!("no message: {text}") };
    match classifier.translate(lane, text.as_bytes(), &envelope, about) {
        Some(new) => {
            let new = String::from_utf8(new).unwrap();
            assert_ne!(new, text, "a translation that changes nothing");
            assert!(sniff(new.as_bytes()).is_ok(), "{new}");
            new
        }
        None => text.to_owned(),
    }
}

fn error(code: &str, message: &str, data: Option<&str>) -> String {
    let data = data.map_or(String::new(), |data| format!(r#","data":{data}"#));
    format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":{}{data}}}}}"#, raw::quote(message))
}

fn result(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}

/// The error as the producer gets it: code and data.
fn error_becomes(classifier: &Classifier, code: i64, message: &str, data: Option<&str>) -> (i64, Value) {
    let text = translated(classifier, Lane::Push, &error(&code.to_string(), message, data), &[]);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["error"]["message"], json!(message), "the host's own words");
    (value["error"]["code"].as_i64().unwrap(), value["error"]["data"].clone())
}

fn result_becomes(classifier: &Classifier, text: &str, about: About) -> Value {
    let text = translated(classifier, Lane::Push, &result(text), &[about]);
    serde_json::from_str::<Value>(&text).unwrap()["result"].clone()
}

fn judged(classifier: &Classifier, lane: Lane, text: &str, about: About) -> Verdict {
    let Ok(Sniff::Message(envelope)) = sniff(text.as_bytes()) else { panic!("no message: {text}") };
    classifier.judge(lane, &Reply::of(&envelope), about)
}

#[test]
fn each_code_of_the_table_has_its_kind_and_keeps_its_code() {
    let host = classifier(Profile::Generic);
    for (code, kind, retryable) in [
        (-32602, "invalid", Some(false)),
        (-32600, "invalid", Some(false)),
        (-32700, "invalid", Some(false)),
        (-32003, "invalid", Some(false)),
        (-32001, "not_permitted", Some(false)),
        (-32002, "not_permitted", Some(false)),
        (-32017, "not_permitted", Some(false)),
        (-32023, "unknown_channel", None),
        (-32030, "unavailable", Some(true)),
        (-32031, "too_large", Some(false)),
        (-32601, "not_permitted", Some(false)),
        (-32005, "not_permitted", Some(false)),
        (-1, "not_permitted", Some(false)),
        (0, "not_permitted", Some(false)),
        (7, "not_permitted", Some(false)),
    ] {
        let mut fields = json!({"refusal": kind, "n": 7});
        if let Some(retryable) = retryable {
            fields["retryable"] = json!(retryable);
        }
        if kind == "unavailable" {
            fields["retryAfterMs"] = json!(1234);
        }
        assert_eq!(error_becomes(&host, code, "m", Some(r#"{"n":7}"#)), (code, fields), "{code}");
    }
}

#[test]
fn what_becomes_unavailable_or_too_large_gets_its_code_and_keeps_what_the_host_said() {
    let host = classifier(Profile::Generic);
    for code in [-32000, -32603] {
        assert_eq!(
            error_becomes(&host, code, "shutting down", Some(r#"{"why":"x"}"#)),
            (
                -32030,
                json!({"why": "x", "refusal": "unavailable", "retryable": true, "retryAfterMs": 1234,
                       "host": {"code": code, "message": "shutting down"}})
            )
        );
        let big = ruled(vec![Rule { limit_bytes: Some(4096), ..rule("too_large") }]);
        assert_eq!(
            error_becomes(&big, code, "too big", None),
            (
                -32031,
                json!({"refusal": "too_large", "retryable": false, "limitBytes": 4096,
                       "host": {"code": code, "message": "too big"}})
            )
        );
        assert_eq!(error_becomes(&ruled(vec![rule("not_permitted")]), code, "no", None).0, code);
        assert_eq!(error_becomes(&big, -32602, "too big", None).0, -32602, "only these two codes change");
    }
}

#[test]
fn data_that_is_no_object_moves_and_a_host_member_that_was_there_is_kept() {
    let host = classifier(Profile::Generic);
    for data in [r#""words""#, "null", "[1]", "7", "false"] {
        let was: Value = serde_json::from_str(data).unwrap();
        assert_eq!(
            error_becomes(&host, -32602, "bad", Some(data)).1,
            json!({"refusal": "invalid", "retryable": false, "host": {"data": was}})
        );
        assert_eq!(
            error_becomes(&host, -32000, "busy", Some(data)).1["host"],
            json!({"code": -32000, "message": "busy", "data": was})
        );
    }
    let data = Some(r#"{"host":"db1"}"#);
    assert_eq!(error_becomes(&host, -32602, "bad", data).1["host"], json!("db1"));
    assert_eq!(
        error_becomes(&host, -32000, "busy", data).1["host"],
        json!({"code": -32000, "message": "busy", "host": "db1"})
    );
}

#[test]
fn each_result_of_the_table_has_its_kind() {
    let host = classifier(Profile::Generic);
    let plain = About::default();
    let unregistered = About { unregistered: true, ..plain };
    let coalesced = About { coalesced: true, ..plain };
    for (text, about, kind, retryable) in [
        (r#"{"accepted":false,"reason":"coalesce_invalid"}"#, plain, "invalid", Some(false)),
        (r#"{"accepted":false,"reason":"duplicate"}"#, plain, "duplicate", None),
        (r#"{"accepted":false,"reason":"duplicate"}"#, coalesced, "not_permitted", Some(false)),
        (r#"{"accepted":false}"#, unregistered, "unknown_channel", None),
        (r#"{"accepted":false,"reason":""}"#, unregistered, "unknown_channel", None),
        (r#"{"accepted":false,"reason":"muted"}"#, unregistered, "not_permitted", Some(false)),
        (r#"{"accepted":false}"#, plain, "not_permitted", Some(false)),
        (r#"{"accepted":false,"reason":"policy"}"#, plain, "not_permitted", Some(false)),
        (r#"{"accepted":false,"reason":7}"#, plain, "not_permitted", Some(false)),
    ] {
        let new = result_becomes(&host, text, about);
        let mut expected: Value = serde_json::from_str(text).unwrap();
        expected["refusal"] = json!(kind);
        if let Some(retryable) = retryable {
            expected["retryable"] = json!(retryable);
        }
        assert_eq!(new, expected, "{text}");
    }
}

#[test]
fn what_accepts_and_what_cannot_be_read_passes_as_it_came() {
    let all = ruled(vec![rule("invalid")]);
    for text in [
        r#"{"accepted":true}"#,
        r#"{"accepted":true,"reason":"fine"}"#,
        r#"{"accepted":"false"}"#,
        r#"{"accepted":null}"#,
        r#"{"accepted":false,"accepted":true}"#,
        "{}",
        "null",
        "[]",
        r#""no""#,
        r#"{"results":[]}"#,
        r#"{"results":[{"accepted":true},7,null]}"#,
    ] {
        for lane in [Lane::Push, Lane::Channel] {
            assert_eq!(translated(&all, lane, &result(text), &[]), result(text));
        }
    }
    for text in [
        r#"{"id":1}"#,
        r#"{"id":1,"error":"boom"}"#,
        r#"{"id":1,"error":null,"result":{"accepted":true}}"#,
        r#"{"id":1,"error":{"code":-32602},"error":{"code":-32000}}"#,
    ] {
        assert_eq!(translated(&all, Lane::Push, text, &[]), text);
    }
}

#[test]
fn everything_but_the_fields_keeps_its_bytes() {
    let host = classifier(Profile::Generic);
    assert_eq!(
        translated(
            &host,
            Lane::Push,
            r#"{ "result" : { "x" : 1e400, "accepted" : false , "reason":"\u006eo", "x":[ ] } , "id" : 0.10 }"#,
            &[]
        ),
        r#"{ "result" : { "x" : 1e400, "accepted" : false , "reason":"\u006eo", "x":[ ],"refusal":"not_permitted","retryable":false } , "id" : 0.10 }"#
    );
    assert_eq!(
        translated(
            &host,
            Lane::Push,
            r#"{"error":{"message":"\u0062usy","data":{ "a":1 },"extra":[1.0],"code":-32000},"id":"1"}"#,
            &[]
        ),
        r#"{"error":{"message":"\u0062usy","data":{ "a":1,"refusal":"unavailable","retryable":true,"retryAfterMs":1234,"host":{"code":-32000,"message":"\u0062usy"} },"extra":[1.0],"code":-32030},"id":"1"}"#
    );
}

#[test]
fn repeats_that_agree_still_agree() {
    let host = classifier(Profile::Generic);
    let text = r#"{"id":1,"error":{"code":-32602},"error":{"code":-32602}}"#;
    assert_eq!(
        translated(&host, Lane::Push, text, &[]),
        r#"{"id":1,"error":{"code":-32602,"data":{"refusal":"invalid","retryable":false}}}"#
    );
}

#[test]
fn the_results_of_a_batch_are_classified_one_by_one() {
    let host = classifier(Profile::Generic);
    let about = [About::default(), About { unregistered: true, ..About::default() }, About::default()];
    let text = r#"{"results":[ {"messageId":"A","accepted":true,"c":1} , {"messageId":"B","accepted":false},{"messageId":"C","accepted":false,"reason":"duplicate"} , {"accepted":false}],"more":1}"#;
    assert_eq!(
        translated(&host, Lane::Channel, &result(text), &about),
        result(
            r#"{"results":[ {"messageId":"A","accepted":true,"c":1} , {"messageId":"B","accepted":false,"refusal":"unknown_channel"},{"messageId":"C","accepted":false,"reason":"duplicate","refusal":"duplicate"} , {"accepted":false,"refusal":"not_permitted","retryable":false}],"more":1}"#
        )
    );
}

#[test]
fn fields_of_the_hosts_own_are_passed_on() {
    let host = classifier(Profile::AgentFramework);
    for text in [
        r#"{"accepted":false,"reason":"host is stopping","refusal":"not_permitted","retryable":true}"#,
        r#"{"accepted":false,"refusal":"quota_exhausted","retryable":true,"retryAfterMs":9}"#,
        r#"{"accepted":false,"refusal":"quota_exhausted"}"#,
        r#"{"accepted":false,"refusal":"quota_exhausted","retryAfter":5}"#,
        r#"{"accepted":false,"reason":"duplicate","refusal":""}"#,
        r#"{"accepted":false,"refusal":"unavailable","retryable":true,"retryAfterMs":7}"#,
        r#"{"accepted":false,"refusal":"unavailable","retryable":false}"#,
        r#"{"accepted":false,"refusal":"too_large","retryable":false,"limitBytes":10}"#,
        r#"{"accepted":false,"refusal":"unknown_channel"}"#,
        r#"{"accepted":false,"refusal":"not_permitted","retryable":false,"retryAfterMs":1e3}"#,
    ] {
        assert_eq!(translated(&host, Lane::Push, &result(text), &[]), result(text));
    }
    assert_eq!(
        error_becomes(&host, -32050, "odd", Some(r#"{"refusal":"moon_phase"}"#)),
        (-32050, json!({"refusal": "moon_phase"}))
    );
    assert_eq!(
        error_becomes(&host, -32000, "odd", Some(r#"{"refusal":"moon_phase"}"#)).0,
        -32000,
        "what a kind that is not known means, nobody knows"
    );
    assert_eq!(
        error_becomes(&host, -32030, "later", Some(r#"{"retryAfterMs":321}"#)).1,
        json!({"retryAfterMs": 321, "refusal": "unavailable", "retryable": true})
    );
    assert_eq!(
        error_becomes(&host, -32031, "big", Some(r#"{"limitBytes":10}"#)).1,
        json!({"limitBytes": 10, "refusal": "too_large", "retryable": false})
    );
    assert_eq!(
        result_becomes(&host, r#"{"accepted":false,"refusal":null,"retryable":"yes"}"#, About::default()),
        json!({"accepted": false, "refusal": "not_permitted", "retryable": false}),
        "a member of the wrong type says nothing"
    );
}

#[test]
fn a_time_that_says_nothing_is_replaced_by_ours() {
    let host = classifier(Profile::Generic);
    for (data, ms) in [
        (r#"{"retryAfterMs":299.2}"#, json!(300)),
        (r#"{"retryAfterMs":"120"}"#, json!(120)),
        (r#"{"retryAfterMs":0}"#, json!(0)),
        (r#"{"retryAfterMs":-3}"#, json!(1234)),
        (r#"{"retryAfterMs":"soon"}"#, json!(1234)),
        (r#"{"retryAfterMs":1e308}"#, json!(1234)),
        (r#"{"retryAfterMs":null}"#, json!(1234)),
        (r#"{"retryAfterMs":[5]}"#, json!(1234)),
        (r#"{"retryAfter":120}"#, json!(120_000)),
        (r#"{"retry_after":"299.997"}"#, json!(299_997)),
        (r#"{"headers":{"Retry-After":"2"}}"#, json!(2_000)),
        (r#"{"retryAfterMs":"soon","retryAfter":"3"}"#, json!(3_000)),
        (r#"{"retryAfterMs":5,"retryAfter":"3"}"#, json!(5)),
        (r#"{"retryAfter":"soon"}"#, json!(1234)),
    ] {
        let was: Value = serde_json::from_str(data).unwrap();
        let (_, data) = error_becomes(&host, -32030, "later", Some(data));
        assert_eq!(data["retryAfterMs"], ms, "{was}");
        for other in ["retryAfter", "retry_after", "headers"] {
            assert_eq!(data.get(other), was.get(other), "the host's own stays");
        }
    }
}

#[test]
fn no_time_goes_with_what_is_refused_for_good() {
    let host = classifier(Profile::Generic);
    for text in [
        r#"{"accepted":false,"reason":"duplicate","retryAfterMs":5}"#,
        r#"{"accepted":false,"refusal":"duplicate","retryAfterMs":5}"#,
        r#"{"accepted":false,"refusal":"invalid","retryAfterMs":5}"#,
        r#"{"accepted":false,"refusal":"invalid","retryAfter":5}"#,
        r#"{"accepted":false,"retryAfter":5}"#,
        r#"{"accepted":false,"retryAfterMs":"soon"}"#,
    ] {
        assert!(result_becomes(&host, text, About::default()).get("retryAfterMs").is_none(), "{text}");
    }
    assert_eq!(error_becomes(&host, -32602, "no", Some(r#"{"retryAfterMs":1}"#)).1.get("retryAfterMs"), None);
    let rule = Rule { retry_after_ms: Some(5), retryable: Some(true), ..rule("invalid") };
    assert_eq!(error_becomes(&ruled(vec![rule]), -32000, "x", None).1.get("retryAfterMs"), None);
}

#[test]
fn a_code_that_is_no_whole_number_is_in_no_row() {
    let host = classifier(Profile::Generic);
    for code in [r#""-32000""#, "null", "-32000.5", "1e99", "[]"] {
        let text = translated(&host, Lane::Push, &error(code, "m", None), &[]);
        let value: Value = serde_json::from_str(&text.replace("1e99", "1")).unwrap();
        assert_eq!(value["error"]["data"], json!({"refusal": "not_permitted", "retryable": false}));
        assert!(text.contains(&format!(r#""code":{code},"#)), "{text}");
        let verdict = judged(&host, Lane::Push, &error(code, "m", None), About::default());
        assert_eq!(verdict, Verdict::Refused { refusal: Refusal::not_permitted(), code: None });
    }
}

proptest! {
    #[test]
    fn no_answer_makes_a_panic_or_broken_json(
        pieces in prop::collection::vec(prop::sample::select(vec![
            r#""accepted":false"#, r#""accepted":true"#, r#""reason":"duplicate""#, r#""reason":"\ud800""#,
            r#""refusal":"novel""#, r#""refusal":5"#, r#""retryable":1"#, r#""retryable":true"#,
            r#""retryAfterMs":1.5"#, r#""retryAfterMs":"x""#, r#""limitBytes":0"#, r#""host":1"#,
            r#""code":-32000"#, r#""code":-32602"#, r#""message":"m""#, r#""message":7"#,
            r#""data":{"retryAfterMs":"x"}"#, r#""data":7"#, r#""results":[{"accepted":false},{},1]"#,
        ]), 0..6),
        member in prop::sample::select(vec!["result", "error"]),
        profile in prop::sample::select(Profile::ALL.to_vec()),
    ) {
        let text = format!(r#"{{"id":1,"{member}":{{{}}}}}"#, pieces.join(" , "));
        for lane in [Lane::Push, Lane::Channel] {
            let first = translated(&classifier(profile), lane, &text, &[]);
            // What has been told is told: a second sidecar in a row finds nothing to add.
            prop_assert_eq!(translated(&classifier(Profile::Generic), lane, &first, &[]), first);
        }
    }
}
