//! The tables of outcomes (contract 6.3 to 6.5), row by row, in a session in which everything is permitted.

use mcpl_codec::Lane;
use mcpl_policy::Settings;
use mcpl_policy::engine::{Fate, Outcome};
use mcpl_policy::profile::Dedup;
use serde_json::json;

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::{Say, legacy};

fn plain(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k")
}

fn withdrawal(id: &str) -> Draft {
    plain(id).retract()
}

fn ours(outcome: Outcome) -> Answered {
    Answered::Ours(outcome, None)
}

fn displacing(outcome: Outcome, prior: &str) -> Answered {
    Answered::Ours(outcome, Some(prior.to_owned()))
}

/// A subject with history `some`.
fn read() -> Rig {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("read").initial());
    rig.deliver("read");
    rig
}

#[test]
fn plain_with_nothing_held_and_history_none_is_first() {
    let mut rig = Rig::open(Settings::default());
    assert_eq!(rig.send(&plain("e").initial()), ours(Outcome::First));
}

#[test]
fn plain_with_an_unread_occupant_replaces_it() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("old").initial());
    assert_eq!(rig.send(&plain("new")), displacing(Outcome::Replaced, "old"));
    assert_eq!(rig.fate("old"), Some(&Fate::Replaced));
    rig.wait(6_000);
    assert_eq!(rig.told, ["new"], "no trace of the old one remains");
}

#[test]
fn plain_with_an_unread_batch_replaces_it() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("notice").deferred());
    assert_eq!(rig.send(&plain("new")), displacing(Outcome::Replaced, "notice"));
}

#[test]
fn plain_with_history_some_is_appended() {
    assert_eq!(read().send(&plain("e")), ours(Outcome::Appended));
}

#[test]
fn plain_with_history_unknown_is_appended() {
    let mut rig = Rig::open(Settings::default());
    assert_eq!(rig.send(&plain("e")), ours(Outcome::Appended));
}

#[test]
fn initial_never_lowers_what_is_known() {
    assert_eq!(read().send(&plain("e").initial()), ours(Outcome::Appended));
}

#[test]
fn initial_counts_only_where_the_operator_lets_it() {
    let mut rig = Rig::open(settings(|settings| settings.coalesce.initial = false));
    assert_eq!(rig.send(&plain("e").initial()), ours(Outcome::Appended));
}

#[test]
fn a_subject_whose_create_was_withdrawn_unread_still_has_no_history() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e").initial());
    rig.event(&withdrawal("w"));
    assert_eq!(rig.send(&plain("f")), ours(Outcome::First));
}

#[test]
fn a_withdrawal_with_history_none_is_retracted_whatever_its_notice_says() {
    for notice in ["", "deleted"] {
        let mut rig = Rig::open(Settings::default());
        rig.event(&plain("e").initial());
        assert_eq!(rig.send(&withdrawal("w").content(notice)), displacing(Outcome::Retracted, "e"));
        rig.wait(10_000);
        assert_eq!((rig.told.len(), rig.fate("e")), (0, Some(&Fate::Withdrawn)));
    }
}

#[test]
fn a_withdrawal_of_what_was_read_is_noted() {
    let mut rig = read();
    rig.event(&plain("edit"));
    assert_eq!(rig.send(&withdrawal("w")), displacing(Outcome::Noted, "edit"));
    rig.wait(6_000);
    assert_eq!(rig.told, ["read", "w"]);
}

#[test]
fn a_withdrawal_of_what_was_read_with_nothing_to_tell_is_consumed() {
    let mut rig = read();
    rig.event(&plain("edit"));
    assert_eq!(rig.send(&withdrawal("w").content("")), displacing(Outcome::Consumed, "edit"));
    rig.wait(6_000);
    assert_eq!(rig.told, ["read"]);
}

#[test]
fn a_withdrawal_where_history_is_unknown_is_noted_or_consumed() {
    let mut rig = Rig::open(Settings::default());
    assert_eq!(rig.send(&withdrawal("w")), ours(Outcome::Noted));
    assert_eq!(
        rig.send(&Draft::push("v", "fs-a").key("other").retract().content("")),
        ours(Outcome::Consumed)
    );
}

#[test]
fn a_create_after_a_deletion_notice_does_not_replace_it() {
    let mut rig = read();
    rig.event(&withdrawal("w"));
    assert_eq!(rig.send(&plain("again")), ours(Outcome::Appended));
    rig.wait(6_000);
    rig.write("w");
    rig.reply("w", &Say::Accepted);
    assert_eq!(rig.told, ["read", "w", "again"]);
}

#[test]
fn while_a_forward_is_out_the_subject_counts_as_read() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e").initial());
    rig.wait(6_000);
    assert_eq!(rig.send(&withdrawal("w").content("")), ours(Outcome::Consumed));
    rig.reply("e", &Say::Unavailable(None));
    assert_eq!(rig.fate("e"), Some(&Fate::Withdrawn), "it is not tried again");
}

#[test]
fn a_forward_the_host_did_not_take_leaves_history_as_it_was() {
    for say in [Say::Unavailable(None), Say::Code(-32602)] {
        let mut rig = Rig::open(Settings::default());
        rig.event(&plain("e").initial());
        rig.wait(6_000);
        rig.reply("e", &say);
        let outcome = rig.send(&withdrawal("w"));
        assert!(matches!(outcome, Answered::Ours(Outcome::Retracted, _)), "{outcome:?}");
    }
}

#[test]
fn a_duplicate_that_was_not_in_doubt_is_dead_and_its_subject_read() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e").initial());
    rig.wait(6_000);
    rig.reply("e", &Say::Duplicate);
    assert!(matches!(rig.fate("e"), Some(Fate::Dead(_))));
    assert_eq!(rig.send(&plain("f")), ours(Outcome::Appended));
}

#[test]
fn a_lost_answer_makes_history_unknown() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e").initial());
    rig.wait(6_000);
    rig.write("e");
    rig.end();
    rig.begin_open(legacy(Dedup::None));
    assert_eq!(rig.send(&withdrawal("w").content("")), ours(Outcome::Consumed));
}

#[test]
fn a_push_replaces_a_channel_message_and_is_told_as_it() {
    let mut rig = Rig::open(Settings::default());
    let message = Draft { metadata: 9, ..Draft::message("m", "chan-a").key("k").tags(&["x"]).initial() };
    rig.event(&message);
    let edit = plain("edit").channel("chan-a").content("newer");
    assert_eq!(rig.send(&edit), displacing(Outcome::Replaced, "m"));
    rig.wait(6_000);
    let told = &rig.out[0].body;
    assert_eq!((&told["messageId"], &told["eventId"]), (&json!("m-m"), &json!("edit")));
    assert_eq!((&told["content"], &told["metadata"]), (&json!("newer"), &json!("mmmmmmmmm")));
    assert_eq!(told.get("tags"), None, "none where the edit has none");
}

#[test]
fn a_push_after_the_message_was_released_is_told_as_a_push() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&Draft::message("m", "chan-a").key("k").initial());
    rig.deliver("m");
    assert_eq!(rig.send(&plain("edit").channel("chan-a")), ours(Outcome::Appended));
    rig.wait(6_000);
    assert_eq!(rig.out[0].body["featureSet"], json!("fs-a"));
}

#[test]
fn subjects_of_other_scopes_kinds_and_keys_never_meet() {
    let mut rig = Rig::open(Settings::default());
    let others = [
        plain("1"),
        Draft::push("2", "fs-b").key("k"),
        Draft::push("3", "fs-a").key("other"),
        plain("4").channel("chan-a"),
        Draft::message("5", "chan-b").key("k"),
    ];
    for draft in &others {
        assert_eq!(rig.send(draft), ours(Outcome::Appended), "{draft:?}");
    }
    let same = Draft::message("6", "chan-a").key("k");
    assert_eq!((same.lane, rig.send(&same)), (Lane::Channel, displacing(Outcome::Replaced, "4")));
}

#[test]
fn a_notice_opens_a_batch_the_next_joins_and_a_plain_occupant_is_displaced() {
    let mut rig = Rig::open(Settings::default());
    assert_eq!(rig.send(&plain("n1").deferred()), ours(Outcome::First));
    assert_eq!(rig.send(&plain("n2").deferred()), displacing(Outcome::Replaced, "n1"));
    let mut rig = read();
    rig.event(&plain("edit"));
    assert_eq!(rig.send(&plain("n").deferred()), displacing(Outcome::Replaced, "edit"));
}
