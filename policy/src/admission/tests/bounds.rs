//! Every bound, and what is known past it.

use super::*;

#[test]
fn verdicts_are_bounded() {
    let mut admission = fresh();
    for i in 0..MAX_NAMES {
        let name = i.to_string();
        admission.learn(&if i % 2 == 0 { message(&name) } else { scoped("doc", &name) }, Learned::Open);
    }
    assert_eq!(admission.verdicts.len(), MAX_NAMES);
    admission.learn(&message("0"), Learned::Closed);
    assert_eq!((admission.verdicts.len(), code(&admission, message("0"))), (MAX_NAMES, CLOSED));
    admission.learn(&push("doc"), Learned::Open);
    assert_eq!(admission.verdicts.len(), 1);
    assert_eq!((code(&admission, push("doc")), code(&admission, message("0"))), (OPEN, UNKNOWN));
    let long = "x".repeat(names::NAME_BYTES + 1);
    assert!(!admission.learn(&push(&long), Learned::Open), "too long to be kept");
    assert_eq!(code(&admission, push(&long)), UNKNOWN);
}

#[test]
fn channels_are_bounded_and_the_rest_is_unknown() {
    let ids: Vec<String> = (0..MAX_NAMES).map(|i| i.to_string()).collect();
    let mut admission = known();
    admission.removed(&["chat"]);
    admission.registered(&ids, b"{}");
    assert_eq!((code(&admission, message("0")), code(&admission, message("x"))), (PERMITTED, -32023));
    admission.registered(&["one more"], b"{}");
    assert_eq!(code(&admission, message("0")), PERMITTED);
    assert_eq!(code(&admission, message("one more")), UNKNOWN);
    assert_eq!(code(&admission, message("x")), UNKNOWN, "unknown rather than unregistered");

    let mut admission = known();
    admission.registered(&["x".repeat(names::NAME_BYTES + 1)], b"{}");
    assert_eq!(code(&admission, message("y")), UNKNOWN);

    let list: Vec<String> = (0..MAX_NAMES + 9).map(|i| i.to_string()).collect();
    assert_eq!(channel_ids(&bytes(&json!({"channels": list})), "channels").len(), MAX_NAMES + 1);
}

#[test]
fn feature_sets_are_bounded_and_the_rest_is_unknown() {
    let sets = |n: usize| -> FeatureSets {
        features(&(0..n).map(|i| json!({"name": i.to_string(), "uses": ["pushEvents"]})).collect::<Value>())
    };
    let mut admission = known();
    admission.declare(sets(MAX_NAMES));
    assert_eq!((code(&admission, push("0")), code(&admission, push("x"))), (PERMITTED, -32003));
    let more = sets(MAX_NAMES + 1);
    assert_eq!(more.len(), MAX_NAMES);
    admission.declare(more);
    assert_eq!((code(&admission, push("0")), code(&admission, push("x"))), (PERMITTED, UNKNOWN));
    let uses: Vec<String> = (0..=MAX_NAMES).map(|i| format!("cap.{i}")).collect();
    admission.declare(features(&json!({"doc": {"uses": uses}})));
    assert_eq!(code(&admission, push("doc")), UNKNOWN, "needs more than is kept");
}

#[test]
fn names_in_grants_are_bounded_and_the_rest_is_unknown() {
    let names: Vec<String> = (0..MAX_NAMES).map(|i| format!("n{i}")).collect();
    let mut admission = known();
    grant(&mut admission, 1, &json!({"effectiveCapabilities": CAPS, "enabled": names}));
    assert_eq!(code(&admission, push("doc")), UNKNOWN, "the list may have it further on");
    let mut admission = known();
    grant(&mut admission, 2, &json!({"effectiveCapabilities": CAPS, "disabled": names}));
    assert_eq!(code(&admission, push("doc")), UNKNOWN);
    admission.update_notified(br#"{"disabled":["a","b","c","doc"]}"#);
    assert_eq!(code(&admission, push("doc")), UNKNOWN, "no room to remember it, and nothing is permitted");
    let long = json!({"disabled": ["x".repeat(names::NAME_BYTES + 1)]});
    let mut admission = known();
    assert_eq!(admission.update_notified(&bytes(&long)), Changed::Grant);
    assert_eq!(code(&admission, push("doc")), UNKNOWN, "too long to be kept, and it may be a pattern");
}

#[test]
fn pending_requests_are_bounded_and_their_narrowing_stays() {
    let mut admission = known();
    admission.update_requested(0, &bytes(&json!({"effectiveCapabilities": CAPS, "enabled": ["other"]})));
    for id in 1..=grant::MAX_PENDING as u64 {
        admission.update_requested(id, &bytes(&json!({"effectiveCapabilities": CAPS})));
    }
    assert_eq!(admission.update_answered(0, true), Changed::Nothing, "its answer came too late");
    assert_eq!(code(&admission, push("doc")), -32001);
    assert_eq!(admission.update_answered(1, true), Changed::Grant);
    assert_eq!(code(&admission, push("doc")), PERMITTED);
}

#[test]
fn refused_requests_are_bounded_and_repeats_count_once() {
    let mut admission = known();
    let narrow = bytes(&json!({"effectiveCapabilities": CAPS, "enabled": ["doc"]}));
    for id in 0..1_000 {
        admission.update_requested(id, &narrow);
        admission.update_answered(id, false);
    }
    assert_eq!((code(&admission, push("doc")), code(&admission, push("other"))), (PERMITTED, -32001));
    for id in 1_000..1_000 + grant::MAX_SETTLED as u64 {
        let odd = json!({"effectiveCapabilities": CAPS, "disabled": [id.to_string()]});
        admission.update_requested(id, &bytes(&odd));
        admission.update_answered(id, false);
    }
    assert_eq!(
        code(&admission, push("other")),
        UNKNOWN,
        "what was lost is not known, and nothing is permitted"
    );
    assert_eq!(code(&admission, push("doc")), UNKNOWN);
    assert!(admission.policy_known());
}
