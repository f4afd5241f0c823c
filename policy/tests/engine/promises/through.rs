//! Written through: the host's own verdict (contract 5).

use mcpl_policy::Input;
use mcpl_policy::Settings;
use mcpl_policy::engine::{Fate, Outcome};
use mcpl_policy::profile::Dedup;

use super::rig::{Answered, Rig};
use crate::draft::Draft;
use crate::say::{Say, legacy};

fn create(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k")
}

/// A rig with `old` held and accepted, whose scope was closed by the host since.
fn held_then_closed(old: &Draft) -> Rig {
    let mut rig = Rig::open(Settings::default());
    let other = Draft::push("closer", "fs-a").key("other").tags(&["chat:addressed"]);
    rig.event(&other);
    rig.event(old);
    rig.reply("closer", &Say::Code(-32001));
    assert_eq!(rig.out_ids(), Vec::<&str>::new());
    rig
}

#[test]
fn an_unknown_scope_is_answered_with_the_hosts_own_verdict() {
    let mut rig = Rig::unknown(Settings::default());
    let ticket = rig.event(&create("e"));
    assert_eq!((rig.out_ids(), rig.answer(ticket)), (vec!["e"], None));
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.answer(ticket), Some(Answered::Host(Some(Outcome::Appended))));
    assert_eq!(rig.fate("e"), Some(&Fate::Delivered));
}

#[test]
fn an_acceptance_opens_the_scope_and_the_next_is_held() {
    let mut rig = Rig::unknown(Settings::default());
    rig.event(&create("e"));
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.send(&create("f")), Answered::Ours(Outcome::Appended, None));
    assert!(rig.out.is_empty());
}

#[test]
fn the_same_event_id_joins_what_is_out() {
    let mut rig = Rig::unknown(Settings::default());
    let (first, again) = (rig.event(&create("e")), rig.event(&create("e")));
    assert_eq!(rig.out.len(), 1);
    rig.reply("e", &Say::Code(-32602));
    assert_eq!(
        (rig.answer(first), rig.answer(again)),
        (Some(Answered::Host(None)), Some(Answered::Host(None)))
    );
}

#[test]
fn the_same_event_id_with_other_content_does_not_join() {
    let mut rig = Rig::unknown(Settings::default());
    let first = rig.event(&create("e"));
    assert_eq!(rig.send(&create("e").content("other")), Answered::Refused("invalid".into(), None));
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.answer(first), Some(Answered::Host(Some(Outcome::Appended))));
}

#[test]
fn a_refusal_keeps_nothing_of_the_occurrence() {
    let mut rig = Rig::unknown(Settings::default());
    rig.event(&create("e"));
    rig.reply("e", &Say::Unavailable(Some(5)));
    assert_eq!((rig.engine.load().held, rig.engine.load().subjects, rig.engine.load().receipts), (0, 0, 0));
    let again = rig.event(&create("e").content("other"));
    assert_eq!((rig.answer(again), rig.out_ids()), (None, vec!["e"]), "a resend, even changed, is new work");
}

#[test]
fn unanswered_when_its_session_ends_it_is_not_kept() {
    let mut rig = Rig::unknown(Settings::default());
    let ticket = rig.event(&create("e"));
    rig.write("e");
    rig.end();
    assert_eq!(rig.answer(ticket), Some(Answered::Unanswered));
    assert_eq!((rig.engine.load().held, rig.fate("e")), (0, None));
}

#[test]
fn replaced_while_it_waits_it_is_answered_as_accepted() {
    let mut rig = Rig::unknown(Settings::default());
    rig.event(&create("e"));
    let waiting = rig.event(&create("f"));
    assert_eq!(rig.answer(waiting), None, "it waits behind the first");
    let newest = rig.event(&create("g"));
    assert_eq!(rig.answer(waiting), Some(Answered::Ours(Outcome::Appended, None)));
    rig.reply("e", &Say::Code(-32602));
    assert_eq!(rig.out_ids(), vec!["g"]);
    rig.reply("g", &Say::Accepted);
    assert_eq!(rig.answer(newest), Some(Answered::Host(Some(Outcome::Replaced))));
    assert_eq!(rig.fate("f"), Some(&Fate::Replaced));
}

#[test]
fn a_deferred_event_is_written_through_as_its_fallback() {
    let mut rig = Rig::unknown(Settings::default());
    let ticket = rig.event(&create("e").deferred().initial());
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.answer(ticket), Some(Answered::Host(Some(Outcome::Appended))));
}

#[test]
fn a_withdrawal_with_nothing_to_tell_needs_no_host() {
    let mut rig = Rig::unknown(Settings::default());
    assert_eq!(rig.send(&create("w").retract().content("")), Answered::Ours(Outcome::Consumed, None));
    assert!(rig.out.is_empty());
}

#[test]
fn a_refusal_puts_the_displaced_occupant_back() {
    let mut rig = held_then_closed(&create("old"));
    let ticket = rig.event(&create("new"));
    assert_eq!(rig.out_ids(), vec!["new"]);
    rig.reply("new", &Say::Code(-32602));
    assert_eq!((rig.answer(ticket), rig.fate("old")), (Some(Answered::Host(None)), None));
    rig.permit();
    rig.wait(6_000);
    assert_eq!(rig.out_ids(), vec!["closer", "old"]);
}

#[test]
fn an_acceptance_ends_the_displaced_occupant() {
    let mut rig = held_then_closed(&create("old"));
    rig.event(&create("new"));
    rig.reply("new", &Say::Accepted);
    assert_eq!((rig.fate("old"), rig.fate("new")), (Some(&Fate::Replaced), Some(&Fate::Delivered)));
    assert_eq!(rig.engine.load().held, 1, "only what closed the scope");
}

#[test]
fn a_refused_withdrawal_leaves_the_occupant_unread() {
    let mut rig = held_then_closed(&create("old"));
    assert_eq!(rig.engine.load().held, 2);
    rig.event(&create("w").retract());
    rig.reply("w", &Say::Code(-32602));
    assert_eq!(rig.fate("old"), None);
    assert_eq!(rig.engine.load().held, 2);
}

#[test]
fn a_reason_once_given_survives_a_refused_write_through() {
    let mut rig = held_then_closed(&create("old"));
    rig.feed(Input::Flush);
    rig.event(&create("new"));
    rig.reply("new", &Say::Code(-32602));
    rig.permit();
    assert_eq!(rig.out_ids(), vec!["closer", "old"], "both were due before");
}

#[test]
fn what_was_withdrawn_while_a_write_through_is_out_does_not_come_back() {
    let mut rig = held_then_closed(&create("old"));
    rig.event(&create("new"));
    assert_eq!(rig.send(&create("w").retract().content("")), Answered::Ours(Outcome::Consumed, None));
    rig.reply("new", &Say::Code(-32602));
    rig.permit();
    rig.wait(10_000);
    assert_eq!(rig.out_ids(), vec!["closer"]);
    assert_eq!(rig.fate("old"), Some(&Fate::Withdrawn));
}

#[test]
fn what_a_newer_held_occurrence_followed_does_not_come_back_behind_it() {
    let mut rig = held_then_closed(&create("old"));
    rig.event(&create("new"));
    rig.write("new");
    rig.permit();
    assert_eq!(rig.send(&create("newest")), Answered::Ours(Outcome::Appended, None));
    rig.wait(30_000);
    assert_eq!(rig.out_ids(), vec!["new", "closer", "newest"], "25 s are over");
    rig.reply("newest", &Say::Accepted);
    rig.reply("new", &Say::Code(-32602));
    rig.reply("closer", &Say::Accepted);
    rig.wait(60_000);
    assert!(!rig.told.contains(&"old".to_owned()), "{:?}", rig.told);
    assert_eq!(rig.fate("old"), Some(&Fate::Replaced));
}

#[test]
fn a_refused_write_through_supersedes_nothing() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&create("old").tags(&["chat:addressed"]));
    rig.write("old");
    rig.feed(Input::Taught(
        mcpl_policy::engine::Taught::of(&create("x").event()),
        mcpl_policy::admission::Learned::Closed,
    ));
    let ticket = rig.event(&create("new"));
    assert_eq!(rig.answer(ticket), None);
    rig.reply("old", &Say::Unavailable(None));
    rig.wait(1_000);
    rig.reply("new", &Say::Code(-32602));
    assert_eq!(rig.fate("old"), None, "it was accepted, and nothing took its place");
    rig.permit();
    rig.wait(60_000);
    assert_eq!(rig.out_ids(), vec!["old"]);
}

#[test]
fn a_create_that_was_refused_teaches_nothing_of_its_history() {
    let mut rig = Rig::unknown(Settings::default());
    rig.event(&create("first").initial());
    rig.feed(Input::Taught(
        mcpl_policy::engine::Taught::of(&create("x").event()),
        mcpl_policy::admission::Learned::Open,
    ));
    assert_eq!(rig.send(&create("held")), Answered::Ours(Outcome::Appended, None));
    rig.reply("first", &Say::Code(-32602));
    let outcome = rig.send(&create("w").retract().content(""));
    assert_eq!(outcome, Answered::Ours(Outcome::Consumed, Some("held".into())), "history is unknown");
}

#[test]
fn a_create_that_was_never_answered_may_have_been_read() {
    let mut rig = Rig::unknown(Settings::default());
    rig.event(&create("e").initial());
    rig.write("e");
    rig.end();
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.send(&create("e").initial()), Answered::Ours(Outcome::Appended, None));
    assert_eq!(
        rig.send(&create("w").retract().content("")),
        Answered::Ours(Outcome::Consumed, Some("e".into()))
    );
}
