use serde_json::{Value, json};

use super::*;

mod bounds;
mod channels;
mod verdicts;

const CAPS: [&str; 3] = ["pushEvents", "channels.incoming", "channels.register"];

fn bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn push(feature_set: &str) -> Claim<'_> {
    Claim::Push { feature_set }
}

fn scoped<'a>(feature_set: &'a str, channel: &'a str) -> Claim<'a> {
    Claim::ScopedPush { feature_set, channel }
}

fn message(channel: &str) -> Claim<'_> {
    Claim::Message { channel }
}

fn features(declared: &Value) -> FeatureSets {
    FeatureSets::of(&bytes(&json!({"capabilities": {"experimental": {"mcpl": {"featureSets": declared}}}})))
}

/// A producer with the sets `doc` and `other`, in a session of which nothing else is known.
fn fresh() -> Admission {
    let mut admission = Admission::new();
    admission.declare(features(&json!({"doc": {"uses": ["pushEvents"]}, "other": {"uses": ["pushEvents"]}})));
    admission
}

fn grant(admission: &mut Admission, id: u64, params: &Value) {
    admission.update_requested(id, &bytes(params));
    assert_eq!(admission.update_answered(id, true), Changed::Grant);
}

/// As [`fresh`], with everything granted and the channel `chat` registered.
fn known() -> Admission {
    let mut admission = fresh();
    grant(&mut admission, 0, &json!({"effectiveCapabilities": CAPS}));
    admission.registered(&["chat"], br#"{"results":[{"id":"chat","accepted":true}]}"#);
    admission
}

fn code(admission: &Admission, claim: Claim<'_>) -> i64 {
    match admission.look(&claim) {
        Standing::Forbidden(authority) => authority.code(),
        Standing::Open => 1,
        Standing::Permitted => 2,
        Standing::Unknown => 3,
        Standing::Closed => 4,
    }
}

const OPEN: i64 = 1;
const PERMITTED: i64 = 2;
const UNKNOWN: i64 = 3;
const CLOSED: i64 = 4;

#[test]
fn every_standing() {
    let mut admission = known();
    assert_eq!(admission.look(&push("doc")), Standing::Permitted);
    assert_eq!(admission.look(&scoped("doc", "chat")), Standing::Permitted);
    assert_eq!(admission.look(&message("chat")), Standing::Permitted);
    assert_eq!(
        admission.look(&push("ghost")),
        Standing::Forbidden(Authority::UnknownFeatureSet("ghost".into()))
    );
    assert_eq!(
        admission.look(&message("nowhere")),
        Standing::Forbidden(Authority::UnknownChannel("nowhere".into()))
    );
    assert!(admission.learn(&push("doc"), Learned::Open));
    assert_eq!(admission.look(&push("doc")), Standing::Open);
    assert!(admission.learn(&push("doc"), Learned::Closed));
    assert_eq!(admission.look(&push("doc")), Standing::Closed);
    assert!(!admission.learn(&push("doc"), Learned::Closed), "no news");
    assert_eq!(fresh().look(&push("doc")), Standing::Unknown);
    for (standing, holds) in [
        (Standing::Open, true),
        (Standing::Permitted, true),
        (Standing::Forbidden(Authority::ChannelNotPermitted), false),
        (Standing::Unknown, false),
        (Standing::Closed, false),
    ] {
        assert_eq!(standing.holds(), holds);
    }
}

#[test]
fn what_forbids_is_named_in_the_hosts_order() {
    let mut admission = known();
    grant(&mut admission, 1, &json!({"effectiveCapabilities": [], "enabled": ["other"]}));
    assert_eq!(code(&admission, scoped("ghost", "nowhere")), -32003);
    assert_eq!(code(&admission, scoped("doc", "nowhere")), -32002);
    grant(&mut admission, 2, &json!({"effectiveCapabilities": ["pushEvents"], "enabled": ["other"]}));
    assert_eq!(code(&admission, scoped("doc", "nowhere")), -32001);
    assert_eq!(code(&admission, scoped("other", "nowhere")), -32023);
    assert_eq!(code(&admission, scoped("other", "chat")), -32017);
    assert_eq!(code(&admission, push("other")), PERMITTED);
    assert_eq!(code(&admission, message("nowhere")), -32023);
    assert_eq!(code(&admission, message("chat")), -32017);
}

#[test]
fn what_forbids_wins_over_what_is_unknown_wherever_it_comes() {
    let mut admission = Admission::new();
    grant(&mut admission, 1, &json!({"effectiveCapabilities": ["pushEvents"]}));
    assert_eq!(code(&admission, push("doc")), UNKNOWN, "no feature sets are declared");
    assert_eq!(code(&admission, scoped("doc", "chat")), -32017, "nor is a channel registered");
    admission.registered(&["chat"], b"{}");
    assert_eq!(code(&admission, scoped("doc", "nowhere")), -32023);
}

#[test]
fn absent_capabilities_grant_nothing_and_absent_lists_constrain_nothing() {
    let mut admission = known();
    grant(&mut admission, 1, &json!({"enabled": ["doc"]}));
    assert_eq!(code(&admission, push("doc")), -32002);
    assert_eq!(code(&admission, message("chat")), -32017);
    grant(&mut admission, 2, &json!({"effectiveCapabilities": CAPS, "enabled": null, "disabled": null}));
    assert_eq!(code(&admission, push("doc")), PERMITTED);
    grant(&mut admission, 3, &json!({"effectiveCapabilities": CAPS, "enabled": []}));
    assert_eq!(code(&admission, push("doc")), -32001, "an empty list allows nothing");
    grant(
        &mut admission,
        4,
        &json!({"effectiveCapabilities": CAPS, "enabled": ["doc"], "disabled": ["doc"]}),
    );
    assert_eq!(code(&admission, push("doc")), -32001, "disabled subtracts");
}

#[test]
fn lists_of_another_shape_neither_grant_nor_deny() {
    let mut admission = known();
    grant(&mut admission, 1, &json!({"effectiveCapabilities": "all"}));
    assert_eq!(code(&admission, push("doc")), UNKNOWN);
    for odd in [
        json!({"effectiveCapabilities": CAPS, "enabled": {"doc": true}}),
        json!({"effectiveCapabilities": CAPS, "disabled": true}),
    ] {
        grant(&mut admission, 2, &odd);
        assert_eq!(code(&admission, push("doc")), UNKNOWN, "{odd}");
    }
    admission.update_requested(3, b"[]");
    assert_eq!(code(&admission, push("doc")), -32002, "params that say nothing grant nothing");
}

#[test]
fn a_star_is_one_segment_in_capabilities_and_in_sets() {
    let mut admission = known();
    grant(&mut admission, 1, &json!({"effectiveCapabilities": ["pushEvents", "channels.*"]}));
    assert_eq!(code(&admission, scoped("doc", "chat")), PERMITTED);
    grant(&mut admission, 2, &json!({"effectiveCapabilities": ["*"], "enabled": ["*"]}));
    assert_eq!(code(&admission, push("doc")), PERMITTED);
    assert_eq!(code(&admission, scoped("doc", "chat")), -32017);
    grant(&mut admission, 3, &json!({"effectiveCapabilities": CAPS, "disabled": ["*"]}));
    assert_eq!(code(&admission, push("doc")), -32001);
    grant(&mut admission, 4, &json!({"effectiveCapabilities": CAPS, "enabled": ["*.x"]}));
    assert_eq!(code(&admission, push("doc")), -32001);
}

#[test]
fn a_narrowing_counts_when_seen_and_a_widening_when_answered() {
    let mut admission = known();
    let (wide, narrow) = (
        json!({"effectiveCapabilities": CAPS, "enabled": ["doc", "other"]}),
        json!({"effectiveCapabilities": CAPS, "enabled": ["doc"]}),
    );
    admission.update_requested(1, &bytes(&narrow));
    assert_eq!(code(&admission, push("other")), -32001, "at once");
    assert_eq!(admission.update_answered(1, true), Changed::Grant);
    admission.update_requested(2, &bytes(&wide));
    assert_eq!(code(&admission, push("other")), -32001, "not yet");
    assert_eq!(admission.update_answered(2, true), Changed::Grant);
    assert_eq!(code(&admission, push("other")), PERMITTED);
    assert_eq!(admission.update_answered(2, true), Changed::Nothing, "answered already");
    assert_eq!(admission.update_answered(9, true), Changed::Nothing, "never asked");
}

#[test]
fn a_request_that_is_not_accepted_leaves_its_narrowing() {
    let mut admission = known();
    admission.update_requested(1, &bytes(&json!({"effectiveCapabilities": CAPS, "enabled": ["doc"]})));
    assert_eq!(admission.update_answered(1, false), Changed::Grant);
    assert_eq!(code(&admission, push("other")), -32001);
    assert_eq!(code(&admission, push("doc")), PERMITTED);
    grant(&mut admission, 2, &json!({"effectiveCapabilities": CAPS}));
    assert_eq!(code(&admission, push("other")), PERMITTED, "until a newer one is accepted");
}

#[test]
fn the_newest_accepted_request_is_the_grant_whatever_order_the_answers_have() {
    let mut admission = known();
    admission.update_requested(1, &bytes(&json!({"effectiveCapabilities": CAPS, "enabled": ["doc"]})));
    admission.update_requested(2, &bytes(&json!({"effectiveCapabilities": CAPS, "enabled": ["other"]})));
    assert_eq!((code(&admission, push("doc")), code(&admission, push("other"))), (-32001, -32001));
    admission.update_answered(2, true);
    assert_eq!((code(&admission, push("doc")), code(&admission, push("other"))), (-32001, PERMITTED));
    assert_eq!(admission.update_answered(1, true), Changed::Nothing);
    assert_eq!((code(&admission, push("doc")), code(&admission, push("other"))), (-32001, PERMITTED));
}

#[test]
fn a_notification_only_narrows_and_only_by_disabled() {
    let mut admission = known();
    let other = json!({"enabled": ["other"], "effectiveCapabilities": []});
    assert_eq!(admission.update_notified(&bytes(&other)), Changed::Nothing);
    assert_eq!(code(&admission, push("doc")), PERMITTED);
    assert_eq!(admission.update_notified(br#"{"disabled":["other"]}"#), Changed::Grant);
    assert_eq!(admission.update_notified(br#"{"disabled":["x.*"]}"#), Changed::Grant);
    assert_eq!(code(&admission, push("other")), -32001);
    assert_eq!(code(&admission, push("doc")), PERMITTED);
    grant(&mut admission, 1, &json!({"effectiveCapabilities": CAPS}));
    assert_eq!(code(&admission, push("other")), PERMITTED, "a newer request says otherwise");
}

#[test]
fn a_notification_after_a_request_outlives_its_answer() {
    let mut admission = known();
    admission.update_requested(1, &bytes(&json!({"effectiveCapabilities": CAPS})));
    admission.update_notified(br#"{"disabled":["doc"]}"#);
    admission.update_answered(1, true);
    assert_eq!(code(&admission, push("doc")), -32001);
}

#[test]
fn without_an_accepted_request_only_what_is_said_against_a_set_forbids() {
    let mut admission = fresh();
    assert_eq!(code(&admission, push("doc")), UNKNOWN);
    assert_eq!(code(&admission, push("ghost")), UNKNOWN, "not even an undeclared set is refused");
    admission.update_notified(br#"{"enabled":["doc"],"disabled":["other"]}"#);
    assert_eq!((code(&admission, push("doc")), code(&admission, push("other"))), (UNKNOWN, -32001));
    admission.update_requested(1, &bytes(&json!({"effectiveCapabilities": ["channels.incoming"]})));
    assert_eq!(code(&admission, push("doc")), -32002, "what a pending request denies");
    assert_eq!(code(&admission, push("ghost")), -32002);
    assert!(!admission.policy_known());
    admission.update_answered(1, false);
    assert!(!admission.policy_known(), "an answer that does not accept completes nothing");
    grant(&mut admission, 2, &json!({"effectiveCapabilities": CAPS}));
    assert!(admission.policy_known());
    assert_eq!(code(&admission, push("ghost")), -32003);
}

#[test]
fn a_set_that_uses_a_denied_capability_is_not_enabled() {
    let mut admission = known();
    admission.declare(features(&json!([
        {"name": "doc", "uses": ["pushEvents"]},
        {"name": "deep", "uses": ["pushEvents", "modelInfo"]},
        {"name": "silent"},
        {"name": "empty", "uses": []},
        {"name": "odd", "uses": "pushEvents"},
        {"name": "twice", "uses": ["pushEvents"]},
        {"name": "twice", "uses": ["modelInfo"]},
        {"id": "nameless"}, 7, null, "bare",
    ])));
    for (set, standing) in [
        ("doc", PERMITTED),
        ("deep", -32001),
        ("silent", UNKNOWN),
        ("empty", UNKNOWN),
        ("odd", UNKNOWN),
        ("twice", UNKNOWN),
        ("bare", UNKNOWN),
        ("nameless", -32003),
        ("ghost", -32003),
    ] {
        assert_eq!(code(&admission, push(set)), standing, "{set}");
    }
    grant(&mut admission, 1, &json!({"effectiveCapabilities": CAPS, "disabled": ["silent"]}));
    assert_eq!(code(&admission, push("silent")), -32001, "unknown, unless something forbids it");
}

#[test]
fn a_producer_that_declares_no_sets_leaves_them_unknown() {
    for declared in [json!({}), json!([]), json!(null), json!(true), json!("doc"), json!([1, {"x": 1}])] {
        let mut admission = known();
        let sets = features(&declared);
        assert!(sets.is_empty());
        admission.declare(sets);
        assert_eq!(code(&admission, push("doc")), UNKNOWN, "{declared}");
    }
    assert!(FeatureSets::of(b"{}").is_empty());
    assert!(
        FeatureSets::of(br#"{"capabilities":{"experimental":{"mcpl":{"featureSets":{"\ud800":{}}}}}}"#)
            .is_empty()
    );
    assert_eq!(features(&json!({"doc": {}, "other": 7})).len(), 2);
}

#[test]
fn only_accepted_true_accepts_an_update() {
    assert!(Admission::accepts(br#"{"accepted":true}"#));
    for text in [
        r#"{"accepted":false}"#,
        "{}",
        "null",
        r#"{"accepted":"true"}"#,
        r#"{"accepted":true,"accepted":false}"#,
    ] {
        assert!(!Admission::accepts(text.as_bytes()), "{text}");
    }
}
