//! Uncoalesced events that are kept until the host has them (contract 9, 13.2).

use mcpl_policy::Input;
use mcpl_policy::engine::{ANSWER_MS, Fate, StoreState};
use mcpl_policy::journal::Table;
use mcpl_policy::profile::Dedup;

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::{Say, legacy};

fn message(id: &str) -> Draft {
    Draft::message(id, "chan-a")
}

fn storing() -> Rig {
    Rig::open(settings(|settings| settings.store_uncoalesced = true))
}

#[test]
fn it_is_accepted_and_told_in_order_of_its_channel_one_after_the_other() {
    let mut rig = storing();
    for id in ["e", "f", "g"] {
        assert_eq!(rig.send(&message(id)), Answered::Stored);
    }
    assert_eq!(rig.send(&Draft::message("o", "chan-b")), Answered::Stored);
    assert_eq!(rig.told, ["e", "o"], "another channel does not wait");
    for id in ["e", "f", "g"] {
        rig.write(id);
        rig.reply(id, &Say::Accepted);
    }
    assert_eq!(rig.told, ["e", "o", "f", "g"]);
    assert_eq!(rig.fate("g"), Some(&Fate::Delivered));
}

#[test]
fn behind_one_that_the_host_cannot_take_now_the_others_wait() {
    let mut rig = storing();
    rig.send(&message("e"));
    rig.send(&message("f"));
    rig.reply("e", &Say::Unavailable(Some(10_000)));
    rig.wait(9_999);
    assert_eq!(rig.told, ["e"]);
    rig.wait(1);
    assert_eq!(rig.told, ["e", "e"]);
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.told, ["e", "e", "f"]);
}

#[test]
fn one_that_is_refused_for_good_is_a_dead_letter_and_the_next_goes() {
    let mut rig = storing();
    rig.send(&message("e"));
    rig.send(&message("f"));
    rig.reply("e", &Say::Code(-32602));
    assert!(matches!(rig.fate("e"), Some(Fate::Dead(_))));
    assert_eq!(rig.told, ["e", "f"]);
}

#[test]
fn one_that_is_never_answered_holds_the_others_back_for_25_s() {
    let mut rig = storing();
    rig.send(&message("e"));
    rig.send(&message("f"));
    rig.write("e");
    rig.wait(ANSWER_MS - 1);
    assert_eq!(rig.told, ["e"]);
    rig.wait(1);
    assert_eq!(rig.told, ["e", "f"]);
}

#[test]
fn the_same_event_again_is_answered_the_same_and_has_no_effect() {
    let mut rig = storing();
    assert_eq!(rig.send(&message("e")), Answered::Stored);
    assert_eq!(rig.send(&message("e")), Answered::Stored);
    rig.reply("e", &Say::Accepted);
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.send(&message("e")), Answered::Stored);
    assert_eq!(rig.told, ["e"]);
}

#[test]
fn its_order_and_its_texts_outlive_a_kill() {
    let mut rig = storing();
    for id in ["e", "f", "g"] {
        rig.send(&message(id));
    }
    rig.reply("e", &Say::Accepted);
    rig.kill(0);
    assert_eq!((rig.book.count(Table::Work), rig.engine.load().held), (2, 2));
    rig.begin_open(legacy(Dedup::Both));
    rig.reply("f", &Say::Duplicate);
    assert_eq!(rig.told, ["e", "f", "f", "g"]);
}

#[test]
fn one_in_doubt_is_an_operators_and_the_next_goes() {
    let mut rig = storing();
    rig.send(&message("e"));
    rig.send(&message("f"));
    rig.write("e");
    rig.kill(0);
    rig.begin_open(legacy(Dedup::None));
    assert_eq!(rig.standing("e").map(|(fate, _)| fate), Some(Fate::InDoubt));
    assert_eq!(rig.told, ["e", "f"]);
}

#[test]
fn what_the_disk_cannot_take_passes_as_if_nothing_were_kept_unless_it_would_overtake() {
    let mut rig = storing();
    rig.feed(Input::Store(StoreState::Short));
    assert_eq!(rig.send(&message("e")), Answered::Passed);
    rig.feed(Input::Store(StoreState::Good));
    rig.send(&message("f"));
    rig.feed(Input::Store(StoreState::Short));
    let refused = rig.send(&message("g"));
    assert_eq!(refused, Answered::Refused("unavailable".to_owned(), Some(1_000)));
    rig.reply("f", &Say::Accepted);
    assert_eq!(rig.send(&message("g")), Answered::Passed);
    assert_eq!(rig.told, ["pass", "f", "pass"]);
}

#[test]
fn coalesced_work_of_its_channel_goes_before_it() {
    let mut rig = storing();
    rig.send(&message("k").key("k"));
    rig.send(&message("e"));
    assert_eq!(rig.told, ["k", "e"]);
}

#[test]
fn unless_it_is_asked_for_nothing_is_kept() {
    let mut rig = Rig::open(settings(|_| {}));
    assert_eq!(rig.send(&message("e")), Answered::Passed);
    assert_eq!(rig.book.count(Table::Work), 0);
}
