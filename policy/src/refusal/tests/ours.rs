//! The golden test: every refusal of ours, in every form.

use mcpl_codec::Fault;

use crate::admission::Authority;
use crate::refusal::{Ours, Shortage};

fn fault() -> Fault {
    Fault { field: "coalesce.key".into(), reason: "must be a string".into() }
}

#[test]
fn every_refusal_of_ours_in_its_forms() {
    let cases: [(Ours, &str, &str); 14] = [
        (
            Ours::Malformed(fault()),
            r#""error":{"code":-32602,"message":"Invalid params: coalesce.key must be a string","data":{"field":"coalesce.key","reason":"must be a string","refusal":"invalid","retryable":false}}"#,
            r#""reason":"coalesce_invalid","refusal":"invalid","retryable":false"#,
        ),
        (
            Ours::Unfit(fault()),
            r#""error":{"code":-32602,"message":"Invalid params: coalesce.key must be a string","data":{"field":"coalesce.key","reason":"must be a string","refusal":"invalid","retryable":false}}"#,
            r#""reason":"coalesce.key must be a string","refusal":"invalid","retryable":false"#,
        ),
        (
            Ours::Conflict,
            r#""error":{"code":-32602,"message":"event_id_conflict: the same eventId came with other content","data":{"field":"eventId","reason":"event_id_conflict","refusal":"invalid","retryable":false}}"#,
            r#""reason":"event_id_conflict","refusal":"invalid","retryable":false"#,
        ),
        (
            Ours::Authority(Authority::UnknownFeatureSet("a\"b".into())),
            r#""error":{"code":-32003,"message":"Unknown feature set: a\"b","data":{"featureSet":"a\"b","refusal":"invalid","retryable":false}}"#,
            r#""reason":"Unknown feature set: a\"b","refusal":"invalid","retryable":false"#,
        ),
        (
            Ours::Authority(Authority::CapabilityDenied("pushEvents")),
            r#""error":{"code":-32002,"message":"Capability denied: pushEvents","data":{"capability":"pushEvents","refusal":"not_permitted","retryable":false}}"#,
            r#""reason":"Capability denied: pushEvents","refusal":"not_permitted","retryable":false"#,
        ),
        (
            Ours::Authority(Authority::FeatureSetNotEnabled("doc".into())),
            r#""error":{"code":-32001,"message":"Feature set not enabled: doc","data":{"featureSet":"doc","refusal":"not_permitted","retryable":false}}"#,
            r#""reason":"Feature set not enabled: doc","refusal":"not_permitted","retryable":false"#,
        ),
        (
            Ours::Authority(Authority::UnknownChannel("c".into())),
            r#""error":{"code":-32023,"message":"unknown channel \"c\": register it first","data":{"channelId":"c","refusal":"unknown_channel"}}"#,
            r#""reason":"unknown channel \"c\": register it first","refusal":"unknown_channel""#,
        ),
        (
            Ours::Authority(Authority::ChannelNotPermitted),
            r#""error":{"code":-32017,"message":"Channel not permitted: channels.incoming is not granted","data":{"capability":"channels.incoming","refusal":"not_permitted","retryable":false}}"#,
            r#""reason":"Channel not permitted: channels.incoming is not granted","refusal":"not_permitted","retryable":false"#,
        ),
        (
            Ours::BeforePolicy(Authority::CapabilityDenied("pushEvents")),
            r#""error":{"code":-32002,"message":"the host's initial policy is not yet established","data":{"capability":"pushEvents","refusal":"not_permitted","retryable":true}}"#,
            r#""reason":"the host's initial policy is not yet established","refusal":"not_permitted","retryable":true"#,
        ),
        (
            Ours::TooLarge(200),
            r#""error":{"code":-32031,"message":"content is over the limit of 200 bytes","data":{"refusal":"too_large","retryable":false,"limitBytes":200}}"#,
            r#""reason":"content is over the limit of 200 bytes","refusal":"too_large","retryable":false,"limitBytes":200"#,
        ),
        (
            Ours::Unavailable(Shortage::Rate, 7),
            r#""result":{"accepted":false,"reason":"rate limit reached","refusal":"unavailable","retryable":true,"retryAfterMs":7}"#,
            r#""reason":"rate limit reached","refusal":"unavailable","retryable":true,"retryAfterMs":7"#,
        ),
        (
            Ours::Unavailable(Shortage::Room, 7),
            r#""result":{"accepted":false,"reason":"no room to hold more work","refusal":"unavailable","retryable":true,"retryAfterMs":7}"#,
            r#""reason":"no room to hold more work","refusal":"unavailable","retryable":true,"retryAfterMs":7"#,
        ),
        (
            Ours::Unavailable(Shortage::Disk, 7),
            r#""result":{"accepted":false,"reason":"the journal cannot take more work","refusal":"unavailable","retryable":true,"retryAfterMs":7}"#,
            r#""reason":"the journal cannot take more work","refusal":"unavailable","retryable":true,"retryAfterMs":7"#,
        ),
        (
            Ours::Unavailable(Shortage::Draining, 7),
            r#""result":{"accepted":false,"reason":"draining, no new work is taken","refusal":"unavailable","retryable":true,"retryAfterMs":7}"#,
            r#""reason":"draining, no new work is taken","refusal":"unavailable","retryable":true,"retryAfterMs":7"#,
        ),
    ];
    for (ours, push, channel) in cases {
        let line = ours.push_answer(b"0.10");
        let text = String::from_utf8(line.text().to_vec()).unwrap();
        assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":0.10,{push}}}"#));
        let message = String::from_utf8(ours.on_channel(Some(b"7"))).unwrap();
        assert_eq!(message, format!(r#"{{"messageId":7,"accepted":false,{channel}}}"#));
        let nameless = String::from_utf8(ours.on_channel(None)).unwrap();
        assert_eq!(nameless, format!(r#"{{"accepted":false,{channel}}}"#));
    }
}

#[test]
fn a_limit_of_ours_is_at_least_one_byte() {
    assert_eq!(Ours::TooLarge(0).refusal().limit_bytes, Some(1));
}

#[test]
fn a_long_name_is_repeated_only_in_part() {
    let long = Authority::UnknownFeatureSet("\u{e9}".repeat(1_000_000));
    assert!(long.message().len() < 1200 && long.data().len() < 1200);
}
