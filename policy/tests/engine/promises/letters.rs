//! What an operator settles (contract 9.3, 9.5).

use mcpl_policy::Settings;
use mcpl_policy::engine::{Fate, Outcome, Unresolved, Word};
use mcpl_policy::journal::Table;
use mcpl_policy::profile::Dedup;

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::{Say, legacy};

fn message(id: &str) -> Draft {
    Draft::message(id, "chan-a").key("k").tags(&["chat:addressed"])
}

/// `e` is in doubt, in a session with a host that does not drop repeats.
fn in_doubt() -> Rig {
    let mut rig = Rig::open(Settings::default());
    rig.send(&message("e"));
    rig.write("e");
    rig.end();
    assert_eq!(rig.standing("e"), Some((Fate::InDoubt, 2)));
    rig.begin_open(legacy(Dedup::Push));
    rig
}

/// `e` is a dead letter.
fn dead() -> Rig {
    let mut rig = Rig::open(Settings::default());
    rig.send(&message("e"));
    rig.reply("e", &Say::Code(-32602));
    assert!(matches!(rig.standing("e"), Some((Fate::Dead(_), 2))));
    rig
}

#[test]
fn in_doubt_the_host_has_it() {
    let mut rig = in_doubt();
    assert_eq!(rig.resolve("e", Word::Submitted, Some(2)), Ok(Fate::Delivered));
    assert_eq!(rig.standing("e"), Some((Fate::Delivered, 3)));
    assert_eq!((rig.book.count(Table::Work), rig.book.count(Table::Content)), (0, 0));
    assert_eq!(rig.send(&message("z").retract()), Answered::Ours(Outcome::Noted, None), "and it was read");
}

#[test]
fn in_doubt_the_host_does_not_have_it_and_is_given_it() {
    for word in [Word::NotSubmitted, Word::Again] {
        let mut rig = in_doubt();
        assert_eq!(rig.resolve("e", word, Some(2)), Ok(Fate::Held));
        assert_eq!(rig.told, ["e", "e"]);
        rig.reply("e", &Say::Accepted);
        assert_eq!(rig.standing("e").map(|(fate, _)| fate), Some(Fate::Delivered));
    }
}

#[test]
fn in_doubt_nobody_is_to_be_given_it() {
    let mut rig = in_doubt();
    assert_eq!(rig.resolve("e", Word::Drop, None), Ok(Fate::Dropped));
    assert_eq!(rig.standing("e"), Some((Fate::Dropped, 3)));
    assert_eq!((rig.book.count(Table::Work), rig.told.len()), (0, 1));
}

#[test]
fn a_dead_letter_is_sent_again_or_dropped_and_nothing_else() {
    for word in [Word::Submitted, Word::NotSubmitted] {
        let mut rig = dead();
        assert!(matches!(rig.resolve("e", word, Some(2)), Err(Unresolved::NotOpen(Fate::Dead(_)))));
        assert_eq!(rig.engine.load().dead, 1);
    }
    let mut rig = dead();
    assert_eq!(rig.resolve("e", Word::Again, Some(2)), Ok(Fate::Held));
    assert_eq!((rig.told.as_slice(), rig.engine.load().dead), (["e".into(), "e".into()].as_slice(), 0));
    let mut rig = dead();
    assert!(matches!(rig.resolve("e", Word::Drop, Some(2)), Ok(Fate::Dead(_))), "it stays what it was");
    assert_eq!((rig.book.count(Table::Work), rig.engine.load().dead), (0, 0));
}

#[test]
fn another_revision_changes_nothing() {
    for mut rig in [in_doubt(), dead()] {
        let before = rig.standing("e");
        for word in [Word::Submitted, Word::NotSubmitted, Word::Again, Word::Drop] {
            assert_eq!(rig.resolve("e", word, Some(1)), Err(Unresolved::Revision(2)));
        }
        assert_eq!((rig.standing("e"), rig.told.len()), (before, 1));
    }
}

#[test]
fn words_are_heard_after_a_kill_and_offline() {
    for mut rig in [in_doubt(), dead()] {
        rig.kill(0);
        assert_eq!(rig.resolve("e", Word::Again, Some(1)), Err(Unresolved::Revision(2)));
        assert_eq!(rig.resolve("e", Word::Again, Some(2)), Ok(Fate::Held));
        rig.kill(0);
        rig.begin_open(legacy(Dedup::None));
        assert_eq!(rig.told, ["e", "e"]);
    }
}

#[test]
fn rows_that_were_read_before_the_last_change_settle_nothing() {
    let mut rig = in_doubt();
    let number = rig.engine.find("e").unwrap();
    let (work, text) = (rig.book.work(number), rig.book.row(Table::Content, number).map(Into::into));
    rig.resolve("e", Word::Again, Some(2)).unwrap();
    rig.write("e");
    rig.end();
    let (_, revision) = rig.standing("e").unwrap();
    let text = text.map(|text: Vec<u8>| text.into());
    let stale =
        mcpl_policy::engine::Resolve { request: 2, number, expect: None, word: Word::Again, work, text };
    rig.feed(mcpl_policy::Input::Resolve(Box::new(stale)));
    assert_eq!(rig.resolved.pop(), Some(Err(Unresolved::Revision(revision))));
}

#[test]
fn what_waits_for_the_next_session_can_be_settled_before_it() {
    let urgent = Draft::push("e", "fs-a").key("k").tags(&["chat:addressed"]);
    let waiting = || {
        let mut rig = Rig::open(Settings::default());
        rig.send(&urgent);
        rig.kill(0);
        rig
    };
    let mut rig = waiting();
    assert_eq!(rig.resolve("e", Word::Submitted, Some(1)), Ok(Fate::Delivered));
    let mut rig = waiting();
    assert_eq!(rig.resolve("e", Word::Drop, Some(1)), Ok(Fate::Dropped));
    let mut rig = waiting();
    assert_eq!(rig.resolve("e", Word::NotSubmitted, Some(1)), Ok(Fate::Held));
    rig.begin_open(legacy(Dedup::None));
    assert_eq!(rig.told, ["e", "e"], "also to a host that drops no repeats");
}

#[test]
fn what_is_held_or_out_or_over_is_not_an_operators_to_settle() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&Draft::push("e", "fs-a").key("k"));
    assert_eq!(rig.resolve("e", Word::Drop, None), Err(Unresolved::NotOpen(Fate::Held)));
    rig.wait(6_000);
    assert_eq!(rig.resolve("e", Word::Drop, None), Err(Unresolved::NotOpen(Fate::Submitted)));
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.resolve("e", Word::Drop, None), Err(Unresolved::Unknown));
    assert_eq!(rig.resolve("nothing", Word::Drop, None), Err(Unresolved::Unknown));
}

#[test]
fn sent_anew_it_gives_way_to_what_is_unread_and_came_after_it() {
    let mut rig = in_doubt();
    rig.send(&Draft::message("f", "chan-a").key("k"));
    assert_eq!(rig.resolve("e", Word::Again, Some(2)), Ok(Fate::Replaced));
    rig.deliver("f");
    assert_eq!(rig.told, ["e", "f"]);
}

#[test]
fn of_two_that_are_sent_anew_the_later_one_is_told_whichever_is_asked_for_first() {
    for first in ["e", "f"] {
        let mut rig = Rig::open(Settings::default());
        for id in ["e", "f"] {
            rig.send(&message(id));
            rig.write(id);
            rig.end();
            rig.begin_open(legacy(Dedup::Push));
        }
        rig.feed(mcpl_policy::Input::Congested(true));
        let second = if first == "e" { "f" } else { "e" };
        rig.resolve(first, Word::Again, None).unwrap();
        rig.resolve(second, Word::Again, None).unwrap();
        rig.feed(mcpl_policy::Input::Congested(false));
        assert_eq!(rig.told, ["e", "f", "f"]);
        assert_eq!(rig.standing("e").map(|(fate, _)| fate), Some(Fate::Replaced));
    }
}

#[test]
fn past_their_bound_the_oldest_dead_letters_keep_only_what_identifies_them() {
    let mut rig = Rig::open(settings(|settings| settings.max_dead_letters = 2));
    for id in ["e", "f", "g"] {
        rig.send(&message(id));
        rig.reply(id, &Say::Code(-32602));
    }
    assert_eq!(
        (rig.engine.load().dead, rig.book.count(Table::Work), rig.book.count(Table::Content)),
        (3, 3, 2)
    );
    let row = rig.book.work(rig.book.number("e").unwrap()).unwrap();
    assert_eq!(row.event_id.as_deref(), Some("e"));
    for _ in 0..2 {
        assert_eq!(rig.resolve("e", Word::Again, Some(2)), Err(Unresolved::NoText));
        rig.kill(0);
        assert_eq!(rig.engine.load().dead, 3);
        rig.begin_open(legacy(Dedup::Push));
    }
    assert!(matches!(rig.resolve("e", Word::Drop, Some(2)), Ok(Fate::Dead(_))));
    assert_eq!(rig.book.count(Table::Work), 2);
    rig.send(&message("h"));
    rig.reply("h", &Say::Code(-32602));
    assert_eq!(rig.book.count(Table::Content), 2, "the bound holds across a kill");
}

#[test]
fn a_text_that_was_read_before_it_was_given_up_is_not_sent_anew() {
    let mut rig = Rig::open(settings(|settings| settings.max_dead_letters = 1));
    rig.send(&message("e"));
    rig.reply("e", &Say::Code(-32602));
    let number = rig.engine.find("e").unwrap();
    let (work, text) = (rig.book.work(number), rig.book.row(Table::Content, number).map(<[u8]>::to_vec));
    rig.send(&message("f"));
    rig.reply("f", &Say::Code(-32602));
    let text = text.map(Into::into);
    let stale =
        mcpl_policy::engine::Resolve { request: 2, number, expect: None, word: Word::Again, work, text };
    rig.feed(mcpl_policy::Input::Resolve(Box::new(stale)));
    assert_eq!(rig.resolved.pop(), Some(Err(Unresolved::NoText)));
}
