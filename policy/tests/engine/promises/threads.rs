//! What is handed over stands for the traces of all that was folded into it, whatever comes in between (contract
//! 10.1).

use mcpl_policy::engine::{Fate, MAX_THREADS, Outcome, StoreState, Word};
use mcpl_policy::journal::Table;
use mcpl_policy::profile::Dedup;
use mcpl_policy::settings::InDoubt;
use mcpl_policy::thread::{Mark, Thread};
use mcpl_policy::{Input, Settings};

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::marks::mark;
use crate::say::{Say, legacy};

fn plain(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k")
}

/// A rig in an open session, in which every event's trace is followed.
fn followed(settings: Settings) -> Rig {
    let mut rig = Rig::open(settings);
    rig.follow = Some("");
    rig
}

/// The marks of these, of which the last is the occurrence itself.
fn marks(names: &[&str]) -> Vec<Mark> {
    names.iter().map(|name| mark(name)).collect()
}

fn all(thread: Option<&Thread>) -> Vec<Mark> {
    let own = thread.and_then(Thread::own).map(|(mark, _)| mark);
    thread.into_iter().flat_map(Thread::folded).chain(own).collect()
}

/// What the newest forward or render stands for.
fn handed(rig: &Rig) -> Vec<Mark> {
    all(rig.threads.last().expect("something is handed over").as_deref())
}

/// What the row of `id` says it stands for.
fn written(rig: &Rig, id: &str) -> Vec<Mark> {
    let row = rig.book.number(id).and_then(|number| rig.book.work(number));
    all(row.expect("a row").thread.as_deref())
}

#[test]
fn an_edit_stands_for_those_before_it_across_kills() {
    let mut rig = followed(Settings::default());
    for id in ["e", "f", "g"] {
        rig.send(&plain(id));
        rig.kill(0);
        rig.begin_open(legacy(Dedup::Push));
    }
    rig.wait(6_000);
    assert_eq!(handed(&rig), marks(&["e", "f", "g"]));
    assert_eq!(rig.threads[0].as_ref().and_then(|thread| thread.own()), Some((mark("g"), &b"luggage"[..])));
    rig.reply("g", &Say::Accepted);
    assert_eq!(rig.book.count(Table::Work), 0, "nothing of it is left");
}

#[test]
fn the_same_occurrence_again_is_known_by_the_trace_it_came_with_first() {
    let mut rig = followed(Settings::default());
    rig.send(&plain("e"));
    rig.follow = Some("again");
    rig.send(&plain("e"));
    rig.send(&plain("e").content("but different"));
    rig.wait(6_000);
    assert_eq!(handed(&rig), marks(&["e"]));
}

#[test]
fn one_whose_trace_is_not_followed_hands_on_those_that_are() {
    let mut rig = followed(Settings::default());
    rig.send(&plain("e"));
    rig.follow = None;
    rig.send(&plain("f"));
    assert_eq!(written(&rig, "f"), marks(&["e"]));
    rig.follow = Some("");
    rig.send(&plain("g"));
    rig.wait(6_000);
    assert_eq!(handed(&rig), marks(&["e", "g"]));
}

#[test]
fn what_is_not_followed_is_written_as_if_there_were_no_traces() {
    let (mut off, mut on) = (Rig::open(Settings::default()), followed(Settings::default()));
    for rig in [&mut off, &mut on] {
        rig.send(&plain("e"));
    }
    let row = |rig: &Rig, id: &str| {
        let number = rig.book.number(id).unwrap();
        rig.book.row(Table::Work, number).unwrap().to_vec()
    };
    let (without, with) = (row(&off, "e"), row(&on, "e"));
    assert_eq!((without[0] & 64, with[0] & 64), (0, 64));
    assert_eq!((&without[1..], without[0] | 64), (&with[1..without.len()], with[0]), "nothing else differs");
}

#[test]
fn a_thousand_edits_rewrite_no_more_than_128_marks_each() {
    let mut rig = followed(Settings::default());
    let mut longest = 0;
    for number in 0..1_000 {
        rig.send(&plain(&format!("e{number:03}")));
        longest = longest.max(rig.book.table(Table::Work).map(|(_, row)| row.len()).max().unwrap_or(0));
        assert_eq!(rig.book.count(Table::Work), 1);
    }
    assert!(longest < 128 * 26 + 100, "{longest} bytes");
    rig.wait(6_000);
    let names: Vec<String> = (872..1_000).map(|number| format!("e{number}")).collect();
    assert_eq!(handed(&rig), names.iter().map(|name| mark(name)).collect::<Vec<_>>());
}

#[test]
fn a_batch_stands_for_its_notices_when_it_is_rendered_and_when_that_is_given() {
    let mut rig = followed(Settings::default());
    rig.send(&plain("n").deferred());
    rig.send(&plain("o").deferred());
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    rig.wait(6_000);
    let (render, _) = rig.asked[0];
    assert_eq!(handed(&rig), marks(&["n", "o"]));
    rig.render(render, Some("rendered"));
    assert_eq!((rig.threads.len(), handed(&rig)), (2, marks(&["n", "o"])));
}

#[test]
fn what_is_tried_again_stands_for_the_same_and_what_took_its_place_for_both() {
    let mut rig = followed(Settings::default());
    rig.send(&plain("d"));
    rig.send(&plain("e"));
    rig.wait(6_000);
    rig.write("e");
    rig.reply("e", &Say::Unavailable(None));
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    rig.wait(6_000);
    assert_eq!((rig.threads.len(), handed(&rig)), (2, marks(&["d", "e"])));
    rig.write("e");
    rig.send(&plain("f"));
    rig.reply("e", &Say::Unavailable(None));
    assert_eq!(rig.fate("e"), Some(&Fate::Replaced));
    assert_eq!(written(&rig, "f"), marks(&["d", "e", "f"]));
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    rig.wait(40_000);
    assert_eq!(handed(&rig), marks(&["d", "e", "f"]));
}

#[test]
fn what_is_in_doubt_is_sent_again_with_the_same() {
    let mut rig = followed(settings(|settings| settings.host.in_doubt = InDoubt::Resend));
    rig.send(&plain("d"));
    rig.send(&plain("e"));
    rig.wait(6_000);
    rig.write("e");
    rig.kill(0);
    rig.begin_open(legacy(Dedup::None));
    rig.wait(6_000);
    assert_eq!((rig.threads.len(), handed(&rig)), (2, marks(&["d", "e"])));
}

#[test]
fn a_dead_letter_that_is_given_again_stands_for_the_same_and_a_dropped_one_leaves_nothing() {
    let mut rig = followed(Settings::default());
    for dropped in [false, true] {
        rig.send(&plain("d"));
        rig.send(&plain("e"));
        rig.wait(6_000);
        rig.write("e");
        rig.reply("e", &Say::Code(-32602));
        rig.kill(0);
        rig.begin_open(legacy(Dedup::Push));
        assert_eq!(written(&rig, "e"), marks(&["d", "e"]));
        if dropped {
            rig.resolve("e", Word::Drop, None).unwrap();
        } else {
            rig.resolve("e", Word::Again, None).unwrap();
            assert_eq!((rig.threads.len(), handed(&rig)), (2, marks(&["d", "e"])));
            rig.reply("e", &Say::Accepted);
            rig.wait(3_602_000);
        }
        assert_eq!(rig.book.count(Table::Work), 0);
    }
}

#[test]
fn a_write_through_takes_over_what_it_displaced_once_the_host_took_it_or_it_waits_itself() {
    let mut rig = Rig::unknown(Settings::default());
    rig.follow = Some("");
    rig.permit();
    rig.send(&plain("e"));
    rig.end();
    rig.feed(Input::Began(legacy(Dedup::Push)));
    let through = rig.event(&plain("f"));
    assert_eq!(handed(&rig), marks(&["f"]), "it goes for itself");
    rig.write("f");
    rig.reply("f", &Say::Code(-32602));
    assert_eq!(rig.answer(through), Some(Answered::Host(None)));
    assert_eq!(written(&rig, "e"), marks(&["e"]), "it is as it was");
    rig.feed(Input::Congested(true));
    rig.event(&plain("g"));
    // What comes after it makes it one that is accepted, whatever the host will say.
    rig.event(&plain("h"));
    assert_eq!(written(&rig, "g"), marks(&["e", "g"]));
}

#[test]
fn what_was_displaced_by_what_is_displaced_at_once_is_not_lost() {
    let mut rig = followed(Settings::default());
    rig.send(&plain("e"));
    rig.end();
    rig.feed(Input::Began(legacy(Dedup::Push)));
    rig.feed(Input::Congested(true));
    let through = rig.event(&plain("f"));
    assert_eq!(rig.answer(through), None, "it is to be written through");
    rig.permit();
    assert_eq!(rig.send(&plain("g")), Answered::Ours(Outcome::Replaced, Some("f".into())));
    assert_eq!(written(&rig, "g"), marks(&["e", "f", "g"]));
}

#[test]
fn a_letter_that_comes_too_late_is_carried_by_what_took_its_place() {
    let mut rig = followed(Settings::default());
    rig.send(&plain("d"));
    rig.send(&plain("e"));
    rig.wait(6_000);
    rig.write("e");
    rig.reply("e", &Say::Code(-32602));
    rig.send(&plain("f"));
    assert_eq!(rig.resolve("e", Word::Again, None), Ok(Fate::Replaced));
    assert_eq!(written(&rig, "f"), marks(&["d", "e", "f"]));
}

#[test]
fn a_deletion_notice_stands_for_what_it_withdrew_and_a_silent_withdrawal_leaves_nothing() {
    let mut rig = followed(Settings::default());
    rig.send(&plain("e"));
    assert_eq!(
        rig.send(&plain("f").retract().content("gone")),
        Answered::Ours(Outcome::Noted, Some("e".into()))
    );
    rig.wait(6_000);
    assert_eq!(handed(&rig), marks(&["e", "f"]));
    rig.send(&Draft::push("x", "fs-a").key("other").initial());
    rig.send(&Draft::push("y", "fs-a").key("other").retract().content(""));
    rig.reply("f", &Say::Accepted);
    assert_eq!(rig.book.count(Table::Work), 0);
}

#[test]
fn what_is_stored_uncoalesced_is_known_by_its_trace_after_a_kill() {
    let mut rig = followed(settings(|settings| settings.store_uncoalesced = true));
    let uncoalesced = Draft::push("e", "fs-a");
    rig.feed(Input::Congested(true));
    assert_eq!(rig.send(&uncoalesced), Answered::Stored);
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(handed(&rig), marks(&["e"]));
}

#[test]
fn what_no_commit_wrote_was_never_folded() {
    let mut rig = followed(Settings::default());
    rig.send(&plain("e"));
    rig.stall();
    rig.send(&plain("f"));
    rig.fail();
    rig.restore(StoreState::Good);
    rig.send(&plain("g"));
    rig.wait(6_000);
    assert_eq!(handed(&rig), marks(&["e", "g"]));
}

#[test]
fn past_its_bound_none_is_kept_and_those_that_are_stay() {
    let mut rig = followed(settings(|settings| settings.coalesce.max_subjects = 2 * MAX_THREADS));
    rig.feed(Input::Congested(true));
    let key = |number: usize| -> &'static str { format!("k{number}").leak() };
    let first = Draft::push("e0", "fs-a").key(key(0));
    rig.send(&first);
    for number in 1..=MAX_THREADS {
        rig.send(&Draft::push(&format!("e{number}"), "fs-a").key(key(number)));
    }
    let last = format!("e{MAX_THREADS}");
    let told = |rig: &Rig, id: &str| {
        let number = rig.engine.find(id).unwrap();
        all(rig.book.work(number).unwrap().thread.as_deref())
    };
    assert_eq!(told(&rig, &last), []);
    assert_eq!(told(&rig, &format!("e{}", MAX_THREADS - 1)).len(), 1);
    rig.send(&Draft::push("f0", "fs-a").key(key(0)));
    assert_eq!(told(&rig, "f0"), marks(&["e0"]));
    rig.send(&Draft::push("w", "fs-a").key(key(1)).retract().content(""));
    rig.send(&Draft::push("last", "fs-a").key("last"));
    assert_eq!(told(&rig, "last"), marks(&["last"]), "there is room again");
}
