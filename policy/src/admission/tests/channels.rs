//! Registered channels.

use super::*;

#[test]
fn a_registration_is_read_in_each_of_its_shapes() {
    let submitted = ["a", "b", "c"];
    for (result, registered) in [
        (r#"{"results":[{"id":"a","accepted":true},{"id":"b","accepted":false},{"id":"c"}]}"#, "ac"),
        (r#"{"results":[{"accepted":true},{"accepted":false},{"accepted":true}]}"#, "ac"),
        (r#"{"results":["b"]}"#, "b"),
        (r#"{"results":[]}"#, ""),
        (r#"{"registered":["a","c"]}"#, "ac"),
        (r#"{"registered":[{"id":"b"},7]}"#, "b"),
        (r#"{"registered":[]}"#, ""),
        ("{}", "abc"),
        ("null", "abc"),
        (r#"{"results":7,"registered":true}"#, "abc"),
    ] {
        let mut admission = fresh();
        grant(&mut admission, 0, &json!({"effectiveCapabilities": CAPS}));
        admission.registered(&submitted, result.as_bytes());
        for id in submitted {
            let expected = if registered.contains(id) { PERMITTED } else { -32023 };
            assert_eq!(code(&admission, message(id)), expected, "{id} after {result}");
            assert_eq!(admission.is_unregistered(id), expected != PERMITTED);
        }
    }
}

#[test]
fn only_an_answer_makes_other_channels_unregistered() {
    let mut admission = fresh();
    grant(&mut admission, 0, &json!({"effectiveCapabilities": CAPS}));
    let none: [&str; 0] = [];
    assert_eq!(code(&admission, message("chat")), UNKNOWN);
    assert_eq!(admission.channels_notified(&["told"], &none), Changed::Channels(vec!["told".into()]));
    assert_eq!(admission.channel_opened("opened"), Changed::Channels(vec!["opened".into()]));
    assert_eq!(code(&admission, message("told")), PERMITTED);
    assert_eq!(code(&admission, message("opened")), PERMITTED);
    assert_eq!(code(&admission, message("chat")), UNKNOWN);
    assert!(!admission.is_unregistered("chat"));
    assert_eq!(admission.removed(&["told"]), Changed::Channels(vec!["told".into()]));
    assert_eq!(code(&admission, message("told")), UNKNOWN, "gone, and still nothing was answered");
    assert_eq!(admission.registered(&none, b"{}"), Changed::Nothing);
    assert_eq!(code(&admission, message("chat")), -32023);
    assert_eq!(code(&admission, message("opened")), PERMITTED);
    assert_eq!(
        admission.channels_notified(&["chat"], &["opened"]),
        Changed::Channels(vec!["chat".into(), "opened".into()])
    );
    assert_eq!((code(&admission, message("chat")), code(&admission, message("opened"))), (PERMITTED, -32023));
    assert_eq!(admission.channels_notified(&none, &none), Changed::Nothing);
}

#[test]
fn channel_lists_are_read_as_objects_or_strings() {
    let params =
        br#"{"channels":[{"id":"a"},"b",{"label":"x"},7,null,{"id":7},{"id":"\ud800"},{"id":"\u0063"}]}"#;
    assert_eq!(channel_ids(params, "channels"), ["a", "b", "c"].map(Box::from));
    assert!(channel_ids(params, "added").is_empty());
    assert!(channel_ids(b"[]", "channels").is_empty());
}
