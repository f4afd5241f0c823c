//! Events whose producer says nothing of subjects, and whose operator does (contract 13.1).

use bytes::Bytes;
use mcpl_codec::{Event, Lane};
use mcpl_policy::engine::{Fate, Outcome, StoreState};
use mcpl_policy::profile::Dedup;
use mcpl_policy::rules::{Patterns, Place, Rule, Rules, Template};
use mcpl_policy::{Input, Settings};
use regex::Regex;
use serde_json::json;

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::{Say, legacy};

const FIRST: Answered = Answered::Ours(Outcome::First, None);
const APPENDED: Answered = Answered::Ours(Outcome::Appended, None);

fn replaced(prior: &str) -> Answered {
    Answered::Ours(Outcome::Replaced, Some(prior.to_owned()))
}

fn rule(lane: Lane, pattern: &str) -> Rule {
    let pattern = Some(Regex::new(pattern).unwrap());
    let patterns = match lane {
        Lane::Push => Patterns { event_id: pattern, ..Patterns::default() },
        Lane::Channel => Patterns { message_id: pattern, ..Patterns::default() },
    };
    Rule {
        lane: Some(lane),
        key: Template::parse("message:{id}", Some(&patterns)).unwrap(),
        patterns,
        tags_any: Vec::new(),
        tags_none: Vec::new(),
        scope: Place::Named("messages".into()),
        initial: false,
        retract: false,
        distinct: true,
    }
}

/// A chat: creates on either lane, edits and deletions on the push lane, one `eventId` for every edit.
pub(super) fn chat() -> Settings {
    chat_in(&Place::Named("messages".into()))
}

/// The same where its subjects live in another scope.
pub(super) fn chat_in(scope: &Place) -> Settings {
    let rule = |lane, pattern| Rule { scope: scope.clone(), ..rule(lane, pattern) };
    settings(|settings| {
        settings.rules = Rules::new(vec![
            Rule { initial: true, ..rule(Lane::Channel, r"^(?<id>\d+)$") },
            Rule { initial: true, ..rule(Lane::Push, r"^msg_(?<id>\d+)$") },
            rule(Lane::Push, r"^edit_(?<id>\d+)$"),
            Rule { retract: true, ..rule(Lane::Push, r"^del_(?<id>\d+)$") },
            Rule { distinct: false, ..rule(Lane::Push, r"^once_(?<id>\d+)$") },
        ]);
    })
}

fn push(id: &str, text: &str) -> Event {
    let event = json!({"featureSet": "fs-a", "eventId": id, "timestamp": "2026-01-01T00:00:00Z",
        "origin": {"channelId": "chan-a"}, "payload": {"content": [{"type": "text", "text": text}]}});
    Event::push(Bytes::from(event.to_string()))
}

fn message(id: &str, channel: &str, text: &str) -> Event {
    let event = json!({"channelId": channel, "messageId": id, "author": {"name": "ann"}, "content": text});
    Event::message(Bytes::from(event.to_string()))
}

trait Sends {
    fn say(&mut self, event: Event) -> Answered;
    /// Bodies that are out.
    fn texts(&self) -> Vec<String>;
}

impl Sends for Rig {
    fn say(&mut self, event: Event) -> Answered {
        let ticket = self.spelled(event);
        self.answer(ticket).expect("answered at once")
    }

    fn texts(&self) -> Vec<String> {
        let text = |body: &serde_json::Value| match &body["content"] {
            serde_json::Value::Null => body["payload"]["content"][0]["text"].as_str().map(str::to_owned),
            content => content.as_str().or(content[0]["text"].as_str()).map(str::to_owned),
        };
        self.out.iter().filter_map(|sent| text(&sent.body)).collect()
    }
}

#[test]
fn an_unread_message_takes_its_edits_from_the_other_lane_and_stays_that_message() {
    let mut rig = Rig::open(chat());
    assert_eq!(rig.say(message("17", "chan-a", "v1")), FIRST);
    assert_eq!(rig.say(push("edit_17", "v2")), replaced("17"));
    assert_eq!(rig.say(push("edit_17", "v3")), replaced("edit_17"));
    rig.wait(6_000);
    assert_eq!(rig.out.len(), 1);
    let body = &rig.out[0].body;
    assert_eq!(body["messageId"], "17");
    assert_eq!(body["author"], json!({"name": "ann"}));
    assert_eq!(body["content"][0]["text"], "v3");
    assert!(body.get("coalesce").is_none() && body.get("payload").is_none());
}

#[test]
fn an_edit_that_names_its_channel_otherwise_stays_where_its_message_was() {
    let mut rig = Rig::open(chat());
    let named = |id: &str, channel: Option<&str>| {
        let mut event = json!({"featureSet": "fs-a", "eventId": id, "payload": {"content": id}});
        if let Some(channel) = channel {
            event["origin"] = json!({"channelId": channel});
        }
        Event::push(Bytes::from(event.to_string()))
    };
    rig.say(named("msg_1", Some("chan-a")));
    rig.say(named("msg_2", Some("chan-a")));
    rig.say(named("edit_1", Some("501")));
    rig.say(named("edit_2", None));
    rig.say(named("msg_3", None));
    rig.say(named("edit_3", Some("chan-b")));
    assert_eq!(rig.say(message("system", "chan-b", "passes")), Answered::Passed);
    assert_eq!(rig.told, ["edit_3", "pass"], "it is told in a channel now");
    rig.say(named("other", Some("chan-a")));
    assert_eq!(rig.told, ["edit_3", "pass", "edit_1", "edit_2", "pass"]);
    // And between what a rule coalesces and what speaks for itself.
    rig.send(&Draft::push("own", "fs-a").key("k"));
    let mut rig = Rig::open(settings(|settings| {
        let rule = rule(Lane::Push, "^(?<id>x)");
        settings.rules = Rules::new(vec![Rule { scope: Place::FeatureSet, ..rule }]);
    }));
    rig.say(named("x1", Some("chan-a")));
    assert_eq!(rig.send(&Draft::push("own", "fs-a").key("message:x")), replaced("x1"));
    assert_eq!(rig.say(message("system", "chan-a", "passes")), Answered::Passed);
    assert_eq!(rig.told, ["pass"], "its sender says of no channel");
    assert_eq!(rig.say(named("x2", Some("chan-a"))), replaced("own"));
    assert_eq!(rig.say(message("system", "chan-a", "passes")), Answered::Passed);
    assert_eq!(rig.told, ["pass", "x2", "pass"]);
}

#[test]
fn a_message_that_is_deleted_unread_leaves_nothing_and_a_read_one_one_line() {
    let mut rig = Rig::open(chat());
    rig.say(message("17", "chan-a", "v1"));
    rig.say(push("edit_17", "v2"));
    assert_eq!(rig.say(push("del_17", "gone")), Answered::Ours(Outcome::Retracted, Some("edit_17".into())));
    rig.wait(6_000);
    assert_eq!(rig.told, Vec::<String>::new());

    rig.say(message("18", "chan-a", "v1"));
    rig.deliver("18");
    assert_eq!(rig.say(push("del_18", "gone")), Answered::Ours(Outcome::Noted, None));
    rig.wait(6_000);
    assert_eq!(rig.texts(), ["gone"]);
    assert_eq!(rig.out[0].id, "del_18", "nothing of it is rewritten");
}

#[test]
fn one_event_id_with_new_content_is_a_new_occurrence_under_a_name_of_its_own() {
    let mut rig = Rig::open(chat());
    assert_eq!(rig.say(push("edit_17", "v1")), APPENDED);
    rig.deliver("edit_17");
    assert_eq!(rig.say(push("edit_17", "v2")), APPENDED);
    rig.wait(6_000);
    let second = rig.out[0].id.clone();
    let digest = second.strip_prefix("edit_17~").expect("the id it was sent under comes first");
    assert!(digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{second}");
    rig.deliver(&second);
    rig.say(push("edit_17", "v3"));
    rig.wait(6_000);
    let third = rig.out[0].id.clone();
    assert!(third.starts_with("edit_17~") && third != second);
    // What the host was given is the event, but for that member.
    assert_eq!(rig.out[0].body["origin"], json!({"channelId": "chan-a"}));
    assert_eq!(rig.texts(), ["v3"]);
}

#[test]
fn an_id_that_the_window_has_forgotten_is_not_used_for_new_content() {
    let mut rig = Rig::open(chat());
    rig.say(push("edit_17", "v1"));
    rig.deliver("edit_17");
    rig.wait(4_000_000);
    rig.say(push("edit_17", "v2"));
    rig.wait(6_000);
    assert!(rig.out[0].id.starts_with("edit_17~"), "the host may drop it as a repeat: {:?}", rig.out[0].id);
}

#[test]
fn each_content_sent_again_is_a_retry_and_has_no_effect() {
    let mut rig = Rig::open(chat());
    rig.say(push("edit_17", "v1"));
    rig.deliver("edit_17");
    rig.say(push("edit_17", "v2"));
    rig.wait(6_000);
    let second = rig.out[0].id.clone();
    rig.deliver(&second);
    let told = rig.told.clone();
    for text in ["v1", "v2", "v1"] {
        assert_eq!(rig.say(push("edit_17", text)), APPENDED);
    }
    rig.kill(1_000);
    rig.begin_open(legacy(Dedup::Push));
    for text in ["v1", "v2"] {
        assert_eq!(rig.say(push("edit_17", text)), APPENDED, "after a restart, too");
    }
    rig.wait(6_000);
    assert_eq!(rig.told, told);
}

#[test]
fn without_distinct_one_event_id_with_new_content_is_a_conflict() {
    let mut rig = Rig::open(chat());
    assert_eq!(rig.say(push("once_1", "v1")), APPENDED);
    assert_eq!(rig.say(push("once_1", "v2")), Answered::Refused("invalid".into(), None));
    assert_eq!(rig.say(push("once_1", "v1")), APPENDED);
}

#[test]
fn a_message_id_is_no_event_id_two_channels_may_have_the_same() {
    let mut rig = Rig::open(settings(|settings| {
        let own = Rule { scope: Place::Own, distinct: false, ..rule(Lane::Channel, r"^(?<id>\d+)$") };
        settings.rules = Rules::new(vec![own]);
    }));
    assert_eq!(rig.say(message("1", "chan-a", "x")), APPENDED);
    assert_eq!(rig.say(message("1", "chan-b", "x")), APPENDED, "another subject");
    assert_eq!(rig.say(message("1", "chan-a", "y")), replaced("1"));
    rig.wait(6_000);
    assert_eq!(rig.texts(), ["y", "x"]);
    assert!(rig.out.iter().all(|sent| sent.body.get("eventId").is_none()), "nothing is added to it");
    assert_eq!(rig.say(message("1", "chan-a", "y")), replaced("1"), "a retry of it");
    for _ in 0..2 {
        rig.write("1");
        rig.reply("1", &Say::Accepted);
    }
    rig.kill(1_000);
    rig.begin_open(legacy(Dedup::Push));
    for _ in 0..2 {
        assert_eq!(rig.say(message("1", "chan-b", "x")), APPENDED, "a retry still");
        assert_eq!(rig.say(message("1", "chan-a", "y")), replaced("1"));
    }
    rig.wait(6_000);
    assert_eq!(rig.out.len(), 0, "it is given to nobody again");
}

#[test]
fn a_batch_may_hold_messages_that_match_and_some_that_do_not() {
    let mut rig = Rig::open(chat());
    assert_eq!(rig.say(message("17", "chan-a", "held")), FIRST);
    assert_eq!(rig.say(message("system", "chan-b", "passes")), Answered::Passed);
    assert_eq!(rig.say(message("seventeen", "chan-a", "passes")), Answered::Passed);
    assert_eq!(rig.told, ["pass", "17", "pass"], "and the channel is told in order");
}

#[test]
fn what_the_sender_says_itself_comes_before_any_rule() {
    let mut rig = Rig::open(chat());
    assert_eq!(rig.send(&Draft::push("msg_1", "fs-a").key("own")), APPENDED);
    assert_eq!(rig.say(push("msg_2", "x")), FIRST);
}

#[test]
fn in_front_of_a_host_that_coalesces_itself_no_rule_counts() {
    let mut rig = Rig::new(chat());
    rig.begin_open(mcpl_policy::engine::Host {
        stance: mcpl_policy::engine::Stance::Aside,
        ..legacy(Dedup::Push)
    });
    assert_eq!(rig.say(push("edit_17", "v1")), Answered::Passed);
}

#[test]
fn what_the_host_is_known_to_forbid_it_is_asked_all_the_same() {
    let mut rig = Rig::open(chat());
    rig.grant(br#"{"effectiveCapabilities":[]}"#);
    let ticket = rig.spelled(push("msg_17", "v1"));
    assert_eq!(rig.answer(ticket), None);
    assert_eq!(rig.out_ids(), ["msg_17"]);
    rig.write("msg_17");
    rig.reply("msg_17", &Say::Code(-32002));
    assert_eq!(rig.answer(ticket), Some(Answered::Host(None)), "the host's own words");
}

#[test]
fn an_edit_of_what_waits_for_its_scope_is_kept_with_it() {
    let mut rig = Rig::open(chat());
    rig.say(message("17", "chan-a", "v1"));
    rig.grant(br#"{"effectiveCapabilities":["pushEvents"]}"#);
    rig.wait(6_000);
    assert_eq!(rig.out.len(), 0, "its channel may not be told now");
    rig.grant(br#"{"effectiveCapabilities":[]}"#);
    assert_eq!(rig.say(push("edit_17", "v2")), replaced("17"));
    rig.permit();
    rig.wait(6_000);
    assert_eq!(rig.texts(), ["v2"]);
}

#[test]
fn a_named_scope_is_no_other_scope_of_that_name() {
    let mut rig = Rig::open(settings(|settings| {
        let named = |name: &str| Place::Named(name.into());
        settings.rules = Rules::new(vec![
            Rule { scope: named("fs-a"), ..rule(Lane::Push, r"^a_(?<id>\d+)$") },
            Rule { scope: Place::FeatureSet, ..rule(Lane::Push, r"^b_(?<id>\d+)$") },
            Rule { scope: Place::Channel, ..rule(Lane::Push, r"^c_(?<id>\d+)$") },
            Rule { scope: named("chan-a"), ..rule(Lane::Push, r"^d_(?<id>\d+)$") },
            Rule { scope: Place::Channel, ..rule(Lane::Channel, r"^(?<id>\d+)$") },
        ]);
    }));
    for id in ["a_1", "b_1", "c_1", "d_1"] {
        assert_eq!(rig.say(push(id, "x")), APPENDED, "{id}");
    }
    assert_eq!(rig.say(message("1", "chan-a", "y")), replaced("c_1"), "one channel, either lane");
    assert_eq!(rig.send(&Draft::push("own", "fs-a").key("message:1")), replaced("b_1"));
}

#[test]
fn an_event_that_makes_no_key_passes_and_is_counted() {
    let mut rig = Rig::open(settings(|settings| {
        let key = Template::parse("{/origin/nothing}", None).unwrap();
        settings.rules = Rules::new(vec![Rule { key, ..rule(Lane::Push, "^x(?<id>)") }]);
    }));
    assert_eq!(rig.say(push("x", "y")), Answered::Passed);
    assert_eq!(rig.engine.load().without_key, 1);
}

#[test]
fn what_cannot_be_written_down_passes_unless_it_would_overtake_what_is_held() {
    let mut rig = Rig::open(chat());
    rig.say(message("17", "chan-b", "v1"));
    rig.fail();
    assert_eq!(rig.say(push("msg_18", "x")), Answered::Passed);
    let refused = rig.say(push("edit_17", "v2"));
    assert!(matches!(refused, Answered::Refused(kind, _) if kind == "unavailable"));
    rig.restore(StoreState::Short);
    assert_eq!(rig.say(push("msg_19", "x")), Answered::Passed);
}

/// Its forward was decided on, and that it was is never on disk: it is held again as soon as anything can be.
#[test]
fn what_cannot_be_written_down_does_not_overtake_what_was_about_to_be_handed_over() {
    let mut rig = Rig::open(chat());
    rig.say(message("17", "chan-b", "v1"));
    rig.stall();
    rig.wait(6_000);
    assert_eq!(rig.texts(), ["v1"]);
    rig.fail();
    rig.out.clear();
    let refused = rig.say(push("edit_17", "v2"));
    assert!(matches!(refused, Answered::Refused(kind, _) if kind == "unavailable"));
    rig.restore(StoreState::Good);
    rig.wait(6_000);
    assert_eq!(rig.texts(), ["v1"]);
    // What is out, and on disk, is what it follows on.
    rig.fail();
    assert_eq!(rig.say(push("edit_17", "v2")), Answered::Passed);
}

/// A host that drops repeats would take the next edit for the one that passed.
#[test]
fn an_id_that_passed_while_nothing_could_be_written_down_is_used() {
    let mut rig = Rig::open(chat());
    rig.fail();
    assert_eq!(rig.say(push("edit_17", "v2")), Answered::Passed);
    rig.restore(StoreState::Good);
    rig.say(push("edit_17", "v3"));
    rig.wait(6_000);
    assert_eq!(rig.texts(), ["v3"]);
    assert!(rig.out_ids()[0].starts_with("edit_17~"), "{:?}", rig.out_ids());
}

#[test]
fn where_there_is_no_room_and_while_the_sidecar_stops_it_passes() {
    let mut rig = Rig::open(Settings {
        coalesce: mcpl_policy::settings::CoalesceSettings { max_held_bytes: 50, ..chat().coalesce },
        ..chat()
    });
    assert_eq!(rig.say(push("msg_1", "longer than that")), Answered::Passed);
    let mut rig = Rig::open(chat());
    rig.feed(Input::Drain);
    assert_eq!(rig.say(push("msg_1", "x")), Answered::Passed);
}

#[test]
fn held_by_a_rule_it_is_held_after_a_restart_and_its_edits_find_it() {
    let mut rig = Rig::open(chat());
    rig.say(message("17", "chan-a", "v1"));
    rig.say(push("edit_17", "v2"));
    rig.say(push("msg_20", "y"));
    rig.kill(1_000);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.say(push("edit_17", "v3")), replaced("edit_17"));
    assert_eq!(rig.say(push("del_20", "gone")), Answered::Ours(Outcome::Retracted, Some("msg_20".into())));
    rig.wait(6_000);
    assert_eq!(rig.texts(), ["v3"]);
    assert_eq!(rig.out[0].body["messageId"], "17");
}

#[test]
fn a_renamed_one_in_doubt_is_sent_again_as_it_was() {
    let mut rig = Rig::open(chat());
    rig.say(push("edit_17", "v1"));
    rig.deliver("edit_17");
    rig.say(push("edit_17", "v2"));
    rig.wait(6_000);
    let sent = rig.out[0].clone();
    rig.write(&sent.id);
    rig.kill(1_000);
    rig.begin_open(legacy(Dedup::Push));
    rig.wait(6_000);
    assert_eq!((&rig.out[0].id, &rig.out[0].body), (&sent.id, &sent.body));
    rig.reply(&sent.id, &Say::Duplicate);
    assert_eq!(rig.fate(&sent.id), Some(&Fate::Delivered));
}

#[test]
fn new_rules_count_from_the_next_event() {
    let mut rig = Rig::open(settings(|_| {}));
    assert_eq!(rig.say(push("msg_1", "x")), Answered::Passed);
    rig.feed(Input::Settings(Box::new(chat())));
    assert_eq!(rig.say(push("msg_2", "x")), FIRST);
    rig.feed(Input::Settings(Box::new(settings(|_| {}))));
    assert_eq!(rig.say(push("edit_2", "y")), Answered::Passed, "and what is held goes before it");
    assert_eq!(rig.told, ["pass", "msg_2", "pass"]);
}

#[test]
fn an_earlier_version_in_doubt_goes_first_on_whichever_lane_it_is() {
    let mut rig = Rig::new(chat());
    rig.begin_open(legacy(Dedup::Both));
    rig.say(message("17", "chan-a", "v1"));
    rig.wait(6_000);
    rig.write("17");
    rig.end();
    // The next host says what it grants before its channels are registered.
    rig.feed(Input::Began(legacy(Dedup::Both)));
    rig.say(push("edit_17", "v2"));
    rig.grant(br#"{"effectiveCapabilities":["pushEvents","channels.incoming"]}"#);
    rig.feed(Input::Assembling);
    assert_eq!(rig.told, ["17"], "the host would be told the older one last");
    rig.permit();
    assert_eq!(rig.told, ["17", "17"]);
    rig.write("17");
    rig.reply("17", &Say::Unavailable(Some(10_000)));
    rig.feed(Input::Assembling);
    assert_eq!(rig.told, ["17", "17"], "nor while the host cannot take it");
    rig.wait(10_000);
    rig.write("17");
    rig.reply("17", &Say::Accepted);
    assert_eq!(rig.told, ["17", "17", "17", "edit_17"]);
}
