use bytes::Bytes;
use mcpl_codec::{Event, Lane, Scope};
use regex::Regex;

use super::*;

#[allow(clippy::unnecessary_wraps, reason = "it is a pattern as a rule has it")]
fn pattern(text: &str) -> Option<Regex> {
    Some(Regex::new(text).unwrap())
}

/// A rule that matches everything, with this key.
fn rule(patterns: Patterns, key: &str) -> Rule {
    let key = Template::parse(key, Some(&patterns)).unwrap();
    Rule {
        lane: None,
        patterns,
        tags_any: Vec::new(),
        tags_none: Vec::new(),
        key,
        scope: Place::Named("messages".into()),
        initial: false,
        retract: false,
        distinct: false,
    }
}

fn push(more: &str) -> Event {
    let text = format!(r#"{{"featureSet":"fs","eventId":"msg_17","payload":{{"content":"x"}}{more}}}"#);
    Event::push(Bytes::from(text))
}

fn message(more: &str) -> Event {
    let text = format!(r#"{{"channelId":"c1","messageId":"17","content":"x"{more}}}"#);
    Event::message(Bytes::from(text))
}

/// The key that one rule makes of an event.
fn key_of(rule: Rule, mut event: Event) -> Option<String> {
    let applied = Rules::new(vec![rule]).apply(&mut event);
    let key = event.coalesce.map(|coalesce| coalesce.unwrap().key.into());
    assert_eq!(applied == Applied::Yes, key.is_some());
    key
}

fn by_event_id(text: &str) -> Patterns {
    Patterns { event_id: pattern(text), ..Patterns::default() }
}

#[test]
fn a_key_is_made_of_text_groups_and_pointers() {
    let origin =
        r#","origin":{"messageId":5,"a/b":{"c~d":"deep"},"list":["zero",{"x":"é"}],"yes":true,"no":null}"#;
    for (key, made) in [
        ("message:{id}", Some("message:17")),
        ("{id}{id}", Some("1717")),
        ("{{{id}}}", Some("{17}")),
        ("}}{{", Some("}{")),
        ("{/origin/messageId}", Some("5")),
        ("{/origin/a~1b/c~0d}", Some("deep")),
        ("{/origin/list/1/x}/{/origin/list/0}", Some("é/zero")),
        ("{/origin/yes}", Some("true")),
        ("{/origin/no}", None),
        ("{/origin/list}", None),
        ("{/origin/list/01}", None),
        ("{/origin/list/2}", None),
        ("{/nowhere/at/all}", None),
        ("{/eventId/0}", None),
    ] {
        let rule = rule(by_event_id(r"^msg_(?<id>\d+)$"), key);
        assert_eq!(key_of(rule, push(origin)).as_deref(), made, "{key}");
    }
}

#[test]
fn a_key_of_no_bytes_or_over_256_is_none() {
    let with = |name: &str| push(&format!(r#","origin":{{"k":"{name}"}}"#));
    let origin = || rule(Patterns::default(), "{/origin/k}");
    assert_eq!(key_of(origin(), with("")), None);
    assert_eq!(key_of(origin(), with(&"é".repeat(128))).map(|key| key.len()), Some(256));
    assert_eq!(key_of(origin(), with(&format!("{}x", "é".repeat(128)))), None);
    let optional = rule(by_event_id("^msg_(?<a>x)?"), "{a}");
    assert_eq!(key_of(optional, push("")), None, "the group took no part");
}

#[test]
fn a_member_that_is_two_things_makes_no_key() {
    let rule = || rule(Patterns::default(), "{/origin/k}");
    assert_eq!(key_of(rule(), push(r#","origin":{"k":"a","k":"b"}"#)), None);
    assert_eq!(key_of(rule(), push(r#","origin":{"k":"a","\u006b":"a"}"#)).as_deref(), Some("a"));
    assert_eq!(key_of(rule(), push(r#","origin":{"k":"\ud800"}"#)), None);
}

#[test]
fn each_condition_that_is_given_must_hold() {
    let tagged = r#","tags":["chat:a","chat:b"]"#;
    let hint = r#","origin":{"channelId":"c9"}"#;
    let plain = || rule(Patterns::default(), "k");
    let patterns = |patterns| rule(patterns, "k");
    let tags = |any: &[&str], none: &[&str]| Rule {
        tags_any: any.iter().map(ToString::to_string).collect(),
        tags_none: none.iter().map(ToString::to_string).collect(),
        ..plain()
    };
    let lane = |lane| Rule { lane: Some(lane), ..plain() };
    let scoped = |scope| Rule { scope, ..plain() };
    for (name, rule, event, matches) in [
        ("lane", lane(Lane::Push), push(""), true),
        ("other lane", lane(Lane::Channel), push(""), false),
        ("id", patterns(by_event_id("sg_")), push(""), true),
        ("other id", patterns(by_event_id("^sg_")), push(""), false),
        ("no id", patterns(by_event_id(".")), message(""), false),
        (
            "message",
            patterns(Patterns { message_id: pattern("^17$"), ..Patterns::default() }),
            message(""),
            true,
        ),
        (
            "no message",
            patterns(Patterns { message_id: pattern("."), ..Patterns::default() }),
            push(""),
            false,
        ),
        (
            "number",
            patterns(Patterns { message_id: pattern("^5$"), ..Patterns::default() }),
            push(r#","messageId":5"#),
            true,
        ),
        ("set", patterns(Patterns { feature_set: pattern("^fs$"), ..Patterns::default() }), push(""), true),
        (
            "no set",
            patterns(Patterns { feature_set: pattern("."), ..Patterns::default() }),
            message(""),
            false,
        ),
        (
            "channel",
            patterns(Patterns { channel: pattern("^c1$"), ..Patterns::default() }),
            message(""),
            true,
        ),
        ("origin", patterns(Patterns { channel: pattern("^c9$"), ..Patterns::default() }), push(hint), true),
        ("no origin", patterns(Patterns { channel: pattern("."), ..Patterns::default() }), push(""), false),
        ("any", tags(&["no", "chat:b"], &[]), push(tagged), true),
        ("not any", tags(&["chat:"], &[]), push(tagged), false),
        ("any of none", tags(&["chat:a"], &[]), push(""), false),
        ("none", tags(&[], &["chat:c"]), push(tagged), true),
        ("one of none", tags(&[], &["chat:c", "chat:a"]), push(tagged), false),
        ("scope channel", scoped(Place::Channel), push(hint), true),
        ("scope channel of nothing", scoped(Place::Channel), push(""), false),
        ("scope set of a message", scoped(Place::FeatureSet), message(""), false),
        ("scope own", scoped(Place::Own), message(""), true),
    ] {
        assert_eq!(key_of(rule, event).is_some(), matches, "{name}");
    }
}

#[test]
fn the_first_rule_that_matches_counts_also_where_it_makes_no_key() {
    let rules =
        Rules::new(vec![rule(by_event_id("^msg_"), "{/origin/k}"), rule(by_event_id("^msg_"), "second")]);
    let mut event = push("");
    assert_eq!(rules.apply(&mut event), Applied::NoKey);
    assert!(event.coalesce.is_none());
}

#[test]
fn an_event_that_speaks_for_itself_or_could_not_be_coalesced_is_left_alone() {
    let rules = Rules::new(vec![rule(Patterns::default(), "k")]);
    for event in [
        push(r#","coalesce":{"key":"own"}"#),
        push(r#","coalesce":7"#),
        push(r#","featureSet":"other""#),
        Event::push(Bytes::from_static(br#"{"featureSet":"fs","payload":{"content":"x"}}"#)),
        Event::push(Bytes::from_static(br#"{"eventId":"","payload":{"content":"x"}}"#)),
        Event::push(Bytes::from_static(br#"{"eventId":"e"}"#)),
        Event::push(Bytes::from_static(br#"{"eventId":"e","payload":{"content":[null]}}"#)),
    ] {
        let mut ruled = event.clone();
        assert_eq!(rules.apply(&mut ruled), Applied::No);
        assert_eq!(ruled.coalesce, event.coalesce);
    }
}

#[test]
fn a_rule_says_what_coalesce_would_and_the_scope_beside_it() {
    let origin = r#","origin":{"mcplChannelId":"c7"}"#;
    for (place, event, scope) in [
        (Place::Own, push(""), Scope::Own),
        (Place::FeatureSet, push(""), Scope::Own),
        (Place::Channel, message(""), Scope::Own),
        (Place::Channel, push(origin), Scope::Channel("c7".into())),
        (Place::Named("n".into()), message(""), Scope::Named("n".into())),
    ] {
        let rule = Rule { scope: place, retract: true, distinct: true, ..rule(Patterns::default(), "k") };
        let mut event = event;
        assert_eq!(Rules::new(vec![rule]).apply(&mut event), Applied::Yes);
        let coalesce = event.coalesce.unwrap().unwrap();
        assert!(coalesce.retract && !coalesce.initial && !coalesce.deferred && coalesce.channel.is_none());
        let ruled = coalesce.ruled.unwrap();
        assert!(ruled.distinct);
        assert_eq!(ruled.scope, scope);
    }
}

#[test]
fn what_is_wrong_with_a_template_is_said_with_its_place() {
    let patterns = by_event_id(r"(?<id>\d+)");
    for (key, offset, why) in [
        ("", 0, "empty"),
        ("a:{id", 2, "without its `}`"),
        ("a}b", 1, "without its `{`"),
        ("{id}{}", 4, "nothing between"),
        ("é{other}", 2, "no pattern"),
        ("{/a~2b}", 0, "`~`"),
        ("{/a~}", 0, "`~`"),
        (&"x".repeat(257), 0, "256"),
    ] {
        let fault = Template::parse(key, Some(&patterns)).unwrap_err();
        assert_eq!(fault.offset, offset, "{key}");
        assert!(fault.why.contains(why), "{key}: {fault}");
        assert!(!fault.hint.is_empty());
    }
    assert!(Template::parse("{other}", None).is_ok(), "of patterns that are not read nothing is said");
}

#[test]
fn rules_are_the_same_when_they_are_written_the_same() {
    let one = || Rules::new(vec![rule(by_event_id("a(?<id>.)"), "{id}")]);
    assert_eq!(one(), one());
    assert_ne!(one(), Rules::new(vec![rule(by_event_id("b(?<id>.)"), "{id}")]));
    assert_ne!(one(), Rules::new(vec![rule(by_event_id("a(?<id>.)"), "x{id}")]));
    assert!(!format!("{:?}", one()).contains("id>"), "patterns and keys are in no log");
}
