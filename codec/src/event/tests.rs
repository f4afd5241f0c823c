use super::*;
use crate::sample;
use crate::sniff::sniff;

const KEY: DigestKey = DigestKey([7; 16]);

fn push(text: &str) -> Event {
    assert!(sniff(text.as_bytes()).is_ok(), "{text}");
    Event::push(Bytes::copy_from_slice(text.as_bytes()))
}

fn message(text: &str) -> Event {
    assert!(sniff(text.as_bytes()).is_ok(), "{text}");
    Event::message(Bytes::copy_from_slice(text.as_bytes()))
}

/// A push whose `coalesce` is this.
fn coalesced(coalesce: &str) -> Event {
    push(&format!(
        r#"{{"featureSet":"f","eventId":"e","timestamp":"t","coalesce":{coalesce},"payload":{{"content":"x"}}}}"#
    ))
}

fn fault(event: &Event) -> &str {
    match &event.coalesce {
        Some(Err(fault)) => &fault.field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_push_is_read() {
    let event = push(
        r#"{"featureSet":"doc","eventId":"e\u0031","timestamp":"t","origin":{"channelId":"b","mcplChannelId":"a"},
            "tags":["chat:mention",7,"x:\u0079"],"expiresAt":"2026-01-01T00:00:01.5Z",
            "coalesce":{"key":"k","channelId":"c","deferred":true,"initial":true,"data":{ "n":1}},
            "payload":{"x":0,"content":[{"type":"text","text":"hi"}]}}"#,
    );
    assert_eq!(event.lane, Lane::Push);
    assert_eq!(event.event_id.as_deref(), Some("e1"));
    assert_eq!(event.feature_set.as_deref(), Some("doc"));
    assert_eq!((&event.channel, &event.message_id), (&None, &None));
    assert_eq!(event.hint.as_deref(), Some("a"));
    assert_eq!(event.tags().collect::<Vec<_>>(), ["chat:mention", "x:y"]);
    assert_eq!(event.expires_at, Some(1_767_225_601_500));
    assert_eq!(event.content.as_deref(), Some(&br#"[{"type":"text","text":"hi"}]"#[..]));
    assert_eq!((event.shape, event.silent, event.timestamp), (ContentShape::Blocks, false, true));
    let Some(Ok(coalesce)) = &event.coalesce else { panic!("{:?}", event.coalesce) };
    assert_eq!((&*coalesce.key, coalesce.channel.as_deref()), ("k", Some("c")));
    assert_eq!((coalesce.deferred, coalesce.retract, coalesce.initial), (true, false, true));
    assert_eq!(coalesce.data.as_deref(), Some(&br#"{ "n":1}"#[..]));
    assert_eq!((event.ambiguous, event.shape_fault()), (None, None));
}

#[test]
fn a_channel_message_is_read() {
    let event = message(
        r#"{"channelId":"general","messageId":7.0,"threadId":"t","author":{"id":"u"},"timestamp":"t",
            "eventId":"e","content":"hi","coalesce":{"key":"k"},"featureSet":"not ours","origin":{"channelId":"x"}}"#,
    );
    assert_eq!(event.lane, Lane::Channel);
    assert_eq!(event.channel.as_deref(), Some("general"));
    assert_eq!(event.message_id.as_deref(), Some(&b"7.0"[..]));
    assert_eq!((&event.feature_set, &event.hint), (&None, &None));
    assert_eq!(event.shape, ContentShape::Text);
    assert!(matches!(event.coalesce, Some(Ok(_))));
}

#[test]
fn anything_can_be_read_as_an_event() {
    for text in [
        "{}",
        "[]",
        "{\"eventId\":7,\"featureSet\":null,\"tags\":3,\"payload\":[],\"origin\":1,\"expiresAt\":{}}",
    ] {
        let event = push(text);
        assert_eq!((&event.event_id, &event.feature_set, event.expires_at), (&None, &None, None));
        assert_eq!((event.shape, event.silent), (ContentShape::Missing, true));
        assert_eq!(event.tags().count(), 0);
        assert!(event.coalesce.is_none() && event.ambiguous.is_none());
    }
    assert_eq!(push(r#"{"eventId":"\ud800"}"#).event_id, None, "unreadable is as good as absent");
}

#[test]
fn times_are_rfc_3339() {
    let expires = |time: &str| push(&format!(r#"{{"expiresAt":{time}}}"#)).expires_at;
    assert_eq!(expires(r#""1970-01-01T00:00:01Z""#), Some(1000));
    assert_eq!(expires(r#""1970-01-01T01:00:00+01:00""#), Some(0));
    assert_eq!(expires(r#""1969-12-31T23:59:59Z""#), Some(-1000));
    for no_time in [r#""tomorrow""#, r#""1970-01-01""#, r#""1970-01-01T00:00:01""#, "5", "null"] {
        assert_eq!(expires(no_time), None, "{no_time}");
    }
}

#[test]
fn content_has_a_shape_and_may_tell_nothing() {
    use ContentShape::{Blocks, Missing, Other, Text};
    for (content, shape, silent) in [
        (r#""hi""#, Text, false),
        (r#""""#, Text, true),
        (r#"" ""#, Text, false),
        ("[]", Blocks, true),
        (r#"[{"type":"text","text":""}]"#, Blocks, true),
        (r#"[{"text":"","t\u0079pe":"text"},{"type":"text","text":""}]"#, Blocks, true),
        (r#"[{"type":"text","text":""},{"type":"text","text":"x"}]"#, Blocks, false),
        (r#"[{"type":"text","text":"x"},{"type":"text","text":""}]"#, Blocks, false),
        (r#"[{"type":"image","text":""}]"#, Blocks, false),
        (r#"[{"type":"text"}]"#, Blocks, false),
        (r#"[{"text":"untyped"}]"#, Other, false),
        (r#"[{"type":7}]"#, Other, false),
        (r#"[{"type":"text","text":"x"},null]"#, Other, false),
        ("[null]", Other, false),
        (r#"{"type":"text"}"#, Other, false),
        ("null", Other, false),
    ] {
        let event = push(&format!(r#"{{"payload":{{"content":{content}}}}}"#));
        assert_eq!((event.shape, event.silent), (shape, silent), "{content}");
        let event = message(&format!(r#"{{"content":{content}}}"#));
        assert_eq!((event.shape, event.silent), (shape, silent), "{content}");
    }
    assert_eq!(push(r#"{"content":"not there"}"#).shape, Missing);
}

#[test]
fn the_shape_of_a_coalesced_event_is_checked_in_order() {
    let field = |event: Event| event.shape_fault().map(|fault| fault.field.into_owned());
    for (text, expected) in [
        (r#"{"timestamp":"t","payload":{"content":"x"}}"#, Some("eventId")),
        (r#"{"eventId":"","timestamp":"t","payload":{"content":"x"}}"#, Some("eventId")),
        (r#"{"eventId":"e","payload":{"content":"x"}}"#, Some("timestamp")),
        (r#"{"eventId":"e","timestamp":5,"payload":{"content":"x"}}"#, Some("timestamp")),
        (r#"{"eventId":"e","timestamp":"t"}"#, Some("payload.content")),
        (r#"{"eventId":"e","timestamp":"t","payload":{"content":[null]}}"#, Some("payload.content")),
        (r#"{"eventId":"e","timestamp":"t","payload":{"content":[]}}"#, None),
    ] {
        assert_eq!(field(push(text)).as_deref(), expected, "{text}");
    }
    assert_eq!(field(message(r#"{"eventId":"e","timestamp":"t"}"#)).as_deref(), Some("content"));
}

#[test]
fn a_malformed_coalesce_names_its_field() {
    let long = format!(r#"{{"key":"{}"}}"#, "x".repeat(257));
    let wide = format!(r#"{{"key":"{}"}}"#, "é".repeat(129));
    let data = format!(r#"{{"key":"k","deferred":true,"data":"{}"}}"#, "x".repeat(4095));
    for (coalesce, field) in [
        ("null", "coalesce"),
        ("[]", "coalesce"),
        ("{}", "coalesce.key"),
        (r#"{"key":""}"#, "coalesce.key"),
        (r#"{"key":7}"#, "coalesce.key"),
        (r#"{"key":null}"#, "coalesce.key"),
        (r#"{"key":"\ud800"}"#, "coalesce.key"),
        (long.as_str(), "coalesce.key"),
        (wide.as_str(), "coalesce.key"),
        (r#"{"key":"k","deferred":1}"#, "coalesce.deferred"),
        (r#"{"key":"k","retract":"true"}"#, "coalesce.retract"),
        (r#"{"key":"k","initial":null}"#, "coalesce.initial"),
        (r#"{"key":"k","retract":true,"deferred":true}"#, "coalesce.retract"),
        (r#"{"key":"k","retract":true,"initial":true}"#, "coalesce.retract"),
        (r#"{"key":"k","channelId":7}"#, "coalesce.channelId"),
        (r#"{"key":"k","data":1}"#, "coalesce.data"),
        (r#"{"key":"k","deferred":false,"data":1}"#, "coalesce.data"),
        (data.as_str(), "coalesce.data"),
    ] {
        assert_eq!(fault(&coalesced(coalesce)), field, "{coalesce}");
    }
}

#[test]
fn a_coalesce_at_its_limits_is_well_formed() {
    let key = format!(r#"{{"key":"{}"}}"#, "x".repeat(256));
    let data = format!(r#"{{"key":"k","deferred":true,"data":  "{}"}}"#, "x".repeat(4094));
    for coalesce in
        [key.as_str(), &data, r#"{"key":"\u006b","retract":false,"deferred":false,"initial":true,"later":9}"#]
    {
        assert!(matches!(coalesced(coalesce).coalesce, Some(Ok(_))), "{coalesce}");
    }
}

#[test]
fn a_coalesced_message_needs_an_event_id_and_no_push_members() {
    for (rest, field) in [
        (r#""coalesce":{"key":"k"}"#, "eventId"),
        (r#""eventId":"","coalesce":{"key":"k"}"#, "eventId"),
        (r#""eventId":7,"coalesce":{"key":"k"}"#, "eventId"),
        (r#""eventId":"e","coalesce":{"key":"k","channelId":"c"}"#, "coalesce.channelId"),
        (r#""eventId":"e","coalesce":{"key":"k","deferred":true}"#, "coalesce.deferred"),
        (r#""eventId":"e","coalesce":{"key":"k","deferred":false}"#, "coalesce.deferred"),
    ] {
        assert_eq!(fault(&message(&format!("{{{rest}}}"))), field, "{rest}");
    }
}

#[test]
fn a_push_without_event_id_is_a_fault_of_shape_not_of_coalesce() {
    let event = push(r#"{"coalesce":{"key":"k"},"timestamp":"t","payload":{"content":"x"}}"#);
    assert!(matches!(event.coalesce, Some(Ok(_))));
    assert_eq!(event.shape_fault().map(|fault| fault.field.into_owned()).as_deref(), Some("eventId"));
}

#[test]
fn repeats_that_disagree_make_an_event_ambiguous() {
    for (text, field) in [
        (r#"{"eventId":"a","eventId":"b"}"#, "eventId"),
        (r#"{"messageId":"a","messageId":"b"}"#, "messageId"),
        (r#"{"featureSet":"a","featureSet":"b"}"#, "featureSet"),
        (r#"{"timestamp":"a","timestamp":"b"}"#, "timestamp"),
        (r#"{"tags":["a"],"tags":[]}"#, "tags"),
        (r#"{"payload":{"content":"a"},"payload":{"content":"b"}}"#, "payload"),
        (r#"{"payload":{"content":"a","\u0063ontent":"b"}}"#, "payload.content"),
        (r#"{"expiresAt":1,"expiresAt":2}"#, "expiresAt"),
        (r#"{"coalesce":{"key":"K"},"coalesce":{"key":"L"}}"#, "coalesce"),
        (r#"{"coalesce":{"key":"K","key":"L"}}"#, "coalesce.key"),
        (r#"{"coalesce":{"key":"K","data":1,"data":2}}"#, "coalesce.data"),
        (r#"{"coalesce":{"key":"K","retract":true,"retract":false}}"#, "coalesce.retract"),
    ] {
        assert_eq!(push(text).ambiguous, Some(field), "{text}");
    }
    assert_eq!(message(r#"{"channelId":"a","channelId":"b"}"#).ambiguous, Some("channelId"));
    assert_eq!(message(r#"{"content":"a","content":"b"}"#).ambiguous, Some("content"));
    for text in [
        r#"{"eventId":"a","eventId":"\u0061","u":1,"u":2,"coalesce":{"key":"K","x":1,"x":2}}"#,
        r#"{"payload":{"content":"a","y":1},"payload":{"y":1 ,"content":"a"}}"#,
        r#"{"origin":{"channelId":"a"},"origin":{"channelId":"b"}}"#,
        r#"{"channelId":"a","channelId":"b","content":1,"content":2}"#,
    ] {
        assert_eq!(push(text).ambiguous, None, "{text}");
    }
}

const BASE: &str = r#"{"featureSet":"f","eventId":"e","timestamp":"t","tags":["a"],"expiresAt":"x","messageId":"m",
    "origin":{"a":1},"_meta":{},"coalesce":{"key":"k","data":1,"deferred":true},"payload":{"content":[{"type":"text","text":"A"}]}}"#;

#[test]
fn a_retry_has_the_same_digest() {
    let digest = push(BASE).digest(&KEY);
    for (from, to) in [
        (r#""timestamp":"t""#, r#""timestamp":"u""#),
        (r#"{"a":1}"#, r#"{"a":2}"#),
        (r#""_meta":{}"#, r#""metadata":{}"#),
        (r#"{"type":"text","text":"A"}"#, r#"{"text":"\u0041", "t\u0079pe":"text"}"#),
        (r#"{"key":"k","data":1,"deferred":true}"#, r#"{"deferred":true,"data":1,"key":"k"}"#),
    ] {
        let retry = BASE.replace(from, to);
        assert_ne!(retry, BASE);
        assert_eq!(push(&retry).digest(&KEY), digest, "{to}");
    }
}

#[test]
fn another_occurrence_has_another_digest() {
    let digest = push(BASE).digest(&KEY);
    for (from, to) in [
        (r#""featureSet":"f""#, r#""featureSet":"g""#),
        (r#""tags":["a"],"#, r#""tags":["b"],"#),
        (r#""tags":["a"],"#, ""),
        (r#""expiresAt":"x""#, r#""expiresAt":"y""#),
        (r#""messageId":"m""#, r#""messageId":7"#),
        (r#""key":"k""#, r#""key":"l""#),
        (r#""data":1"#, r#""data":1.0"#),
        (r#""deferred":true"#, r#""deferred":true,"channelId":"c""#),
        (r#""text":"A""#, r#""text":"B""#),
    ] {
        let other = BASE.replace(from, to);
        assert_ne!(other, BASE, "{from}");
        assert_ne!(push(&other).digest(&KEY), digest, "{to}");
    }
    assert_ne!(message(BASE).digest(&KEY), digest);
}

#[test]
fn a_bare_event_has_no_coalesce_and_all_else() {
    let text =
        r#"{"coalesce":{"key":"k"}, "u":1,"u":2 ,"co\u0061lesce":{"key":"k"},"payload":{"coalesce":1}}"#;
    assert_eq!(push(text).bare(), br#"{"u":1,"u":2,"payload":{"coalesce":1}}"#);
    assert_eq!(push("{ }").bare(), b"{ }");
}

#[test]
fn a_detached_event_is_the_same_in_other_memory() {
    let buffer = Bytes::from(BASE.to_owned() + &" ".repeat(9000));
    let event = Event::push(buffer.slice(..BASE.len()));
    let digest = event.digest(&KEY);
    let detached = event.detached();
    assert_eq!((detached.digest(&KEY), &detached.raw[..]), (digest, BASE.as_bytes()));
    assert_eq!(detached.tags().collect::<Vec<_>>(), ["a"]);
    let data = match &detached.coalesce {
        Some(Ok(coalesce)) => coalesce.data.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    for part in
        [&detached.raw, &data, detached.content.as_ref().unwrap(), detached.message_id.as_ref().unwrap()]
    {
        assert!(scan::range_of(&buffer, part).is_none(), "still in the read buffer");
        assert!(scan::range_of(&detached.raw, part).is_some(), "a copy of its own");
    }
}

#[test]
fn an_edit_by_push_leaves_the_message_its_identity() {
    let create = message(
        r#"{"channelId":"c", "messageId":"m","threadId":"th","author":{"id":"u"},"coalesce":{"key":"k","initial":true},
            "eventId":"e1","timestamp":"t1","tags":["old"],"metadata":{"k":[1, 2]},"expiresAt":"x","content":"one"}"#,
    );
    let edit = push(
        r#"{"featureSet":"f","eventId":"e\u0032","timestamp":"t2","coalesce":{"key":"k","channelId":"c"},
            "payload":{"content":[ {"type":"text","text":"two"}]}}"#,
    );
    let merged = Event::merged(&create, &edit);
    let expected = r#"{"channelId":"c", "messageId":"m","threadId":"th","author":{"id":"u"},
            "eventId":"e\u0032","timestamp":"t2","metadata":{"k":[1, 2]},"content":[ {"type":"text","text":"two"}]}"#;
    assert_eq!(String::from_utf8_lossy(&merged.raw), expected);
    assert_eq!((merged.lane, merged.event_id.as_deref()), (Lane::Channel, Some("e2")));
    assert!(merged.coalesce.is_none());
}

#[test]
fn an_edit_brings_what_the_create_did_not_have() {
    let create = message(r#"{"channelId":"c","content":"one"}"#);
    let edit =
        push(r#"{"eventId":"e","tags":[1],"expiresAt":"x","timestamp":"t","payload":{"content":"two"}}"#);
    assert_eq!(
        String::from_utf8_lossy(&Event::merged(&create, &edit).raw),
        r#"{"channelId":"c","content":"two","eventId":"e","timestamp":"t","tags":[1],"expiresAt":"x"}"#
    );
}

#[test]
fn an_edit_on_the_same_lane_is_the_newer_as_it_is() {
    let (old, new) =
        (message(r#"{"content":"one"}"#), message(r#"{"content":"two","coalesce":{"key":"k"}}"#));
    assert_eq!(Event::merged(&old, &new).raw, new.raw);
    assert_eq!(Event::merged(&push("{}"), &new).raw, new.raw);
}

#[test]
fn debug_prints_no_content() {
    let event = coalesced(r#"{"key":"secret","channelId":"secret","deferred":true,"data":"secret"}"#);
    let shown = format!("{event:?} {:?}", event.coalesce);
    assert!(matches!(event.coalesce, Some(Ok(_))) && !shown.contains("secret"), "{shown}");
}

#[test]
fn depth_costs_neither_stack_nor_square_time() {
    for depth in [10_000, 1_000_000] {
        let deep = sample::arrays(depth);
        let event = push(&format!(
            r#"{{"eventId":"e","timestamp":"t","tags":{deep},"coalesce":{{"key":"k","deferred":true,"data":{deep}}},"payload":{{"content":{deep}}}}}"#
        ));
        assert_eq!(fault(&event), "coalesce.data");
        assert_eq!((event.shape, event.ambiguous), (ContentShape::Other, None));
        event.digest(&KEY);
        assert!(event.bare().len() > 4 * depth);
        assert!(Event::merged(&message("{}"), &event).raw.len() > 4 * depth);
    }
}

#[test]
fn an_event_is_renamed_in_that_member_only() {
    let mut event = push(
        r#"{"eventId" : "e" ,"n":1e400,"payload":{"content":"x"},"eventId":"e","origin":{"eventId":"e"}}"#,
    );
    event.coalesce = push(r#"{"coalesce":{"key":"k"}}"#).coalesce;
    let renamed = event.renamed("e~\"");
    assert_eq!(
        String::from_utf8_lossy(&renamed.raw),
        r#"{"eventId" : "e~\"" ,"n":1e400,"payload":{"content":"x"},"origin":{"eventId":"e"}}"#
    );
    assert_eq!(renamed.event_id.as_deref(), Some("e~\""));
    assert_eq!(renamed.coalesce, event.coalesce);
    let key = crate::DigestKey([7; 16]);
    assert_eq!(renamed.digest(&key), event.digest(&key), "it is the same content");
}
