//! What the journal keeps across a kill and a failed commit (contract 6.2, 9.1, 9.3, 9.4).

use mcpl_policy::engine::{Fate, Outcome, StoreState};
use mcpl_policy::journal::{Change, Step, Table};
use mcpl_policy::profile::Dedup;
use mcpl_policy::settings::InDoubt;
use mcpl_policy::{Input, Settings};

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::{Say, legacy};

fn plain(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k")
}

fn urgent(id: &str) -> Draft {
    plain(id).tags(&["chat:addressed"])
}

fn message(id: &str) -> Draft {
    Draft::message(id, "chan-a").key("k").tags(&["chat:addressed"])
}

fn refused_for_disk(answered: &Answered) -> bool {
    *answered == Answered::Refused("unavailable".to_owned(), Some(1_000))
}

#[test]
fn what_is_held_is_held_after_a_kill_and_goes_in_the_next_session() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&plain("e"));
    rig.kill(0);
    assert_eq!(rig.engine.load().held, 1);
    rig.begin_open(legacy(Dedup::Push));
    rig.wait(6_000);
    assert_eq!(rig.told, ["e"]);
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.standing("e"), Some((Fate::Delivered, 3)));
}

#[test]
fn what_is_held_is_replaceable_after_a_kill() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&plain("e"));
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.send(&plain("f")), Answered::Ours(Outcome::Replaced, Some("e".to_owned())));
    rig.deliver("f");
    assert_eq!(rig.told, ["f"]);
    assert_eq!(rig.standing("e"), Some((Fate::Replaced, 2)));
}

#[test]
fn what_ended_is_off_the_disk_at_once_but_for_its_receipt() {
    let mut rig = Rig::open(Settings::default());
    for id in ["e", "f", "g"] {
        rig.send(&plain(id));
        assert_eq!((rig.book.count(Table::Work), rig.book.count(Table::Content)), (1, 1), "{id}");
    }
    rig.send(&plain("z").retract());
    rig.deliver("z");
    assert_eq!((rig.book.count(Table::Work), rig.book.count(Table::Content)), (0, 0));
    assert_eq!(rig.book.count(Table::Receipt), 4);
    rig.wait(3_602_000);
    assert_eq!(rig.book.count(Table::Receipt), 0, "nor that, past the window");
}

#[test]
fn what_was_never_on_disk_is_gone_after_a_kill() {
    let mut rig = Rig::open(Settings::default());
    rig.stall();
    rig.send(&plain("e"));
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!((rig.engine.load().held, rig.engine.find("e")), (0, None));
    assert_eq!(rig.send(&plain("e").initial()), Answered::Ours(Outcome::First, None), "its subject, too");
}

#[test]
fn history_none_and_some_outlive_a_kill() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&plain("e").initial());
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.send(&plain("z").retract()), Answered::Ours(Outcome::Retracted, Some("e".to_owned())));
    rig.send(&plain("f"));
    rig.deliver("f");
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.send(&plain("g").retract()), Answered::Ours(Outcome::Noted, None));
}

#[test]
fn a_retry_gets_the_original_result_after_a_kill_and_past_its_end() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&plain("e").initial());
    rig.send(&plain("f"));
    rig.deliver("f");
    for _ in 0..2 {
        rig.kill(0);
        rig.begin_open(legacy(Dedup::Push));
        assert_eq!(rig.send(&plain("e").initial()), Answered::Ours(Outcome::First, None));
        assert_eq!(rig.send(&plain("f")), Answered::Ours(Outcome::Replaced, Some("e".to_owned())));
        let conflict = rig.send(&plain("f").content("another"));
        assert_eq!(conflict, Answered::Refused("invalid".to_owned(), None));
    }
    assert_eq!((rig.told.len(), rig.engine.load().held), (1, 0), "no retry had an effect");
}

#[test]
fn the_hosts_own_words_are_told_again_after_a_kill() {
    let mut rig = Rig::unknown(Settings::default());
    let ticket = rig.event(&plain("e"));
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.answer(ticket), Some(Answered::Host(Some(Outcome::Appended))));
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.send(&plain("e")), Answered::Host(Some(Outcome::Appended)));
}

#[test]
fn the_retry_window_does_not_run_while_the_sidecar_is_down() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&plain("e"));
    rig.kill(86_400_000);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.send(&plain("e")), Answered::Ours(Outcome::Appended, None));
    rig.deliver("e");
    rig.wait(3_602_000);
    assert_eq!(rig.engine.find("e"), None);
}

#[test]
fn urgent_work_is_due_after_a_kill_and_what_was_put_off_keeps_its_time() {
    let slow = settings(|settings| {
        (settings.coalesce.quiet_ms, settings.coalesce.max_hold_ms) = (600_000, 600_000);
    });
    let mut rig = Rig::open(slow.clone());
    rig.feed(mcpl_policy::Input::Congested(true));
    rig.send(&urgent("e"));
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.told, ["e"]);
    rig.reply("e", &Say::Unavailable(Some(60_000)));
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    rig.wait(59_999);
    assert_eq!(rig.told, ["e"]);
    rig.wait(1);
    assert_eq!(rig.told, ["e", "e"]);
}

#[test]
fn handed_over_and_killed_it_is_sent_again_unchanged_where_the_host_drops_repeats() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&urgent("e"));
    let body = rig.out[0].body.clone();
    rig.write("e");
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!((&*rig.out[0].id, &rig.out[0].body), ("e", &body));
    rig.reply("e", &Say::Duplicate);
    assert_eq!(rig.standing("e").map(|(fate, _)| fate), Some(Fate::Delivered), "a duplicate is a receipt");
}

#[test]
fn handed_over_and_killed_it_is_left_to_an_operator_on_a_lane_without_dedup() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&message("e"));
    rig.kill(0);
    assert_eq!(rig.standing("e"), Some((Fate::Submitted, 1)), "its outcome is unknown, nothing more");
    rig.begin_open(legacy(Dedup::Push));
    rig.wait(60_000);
    assert_eq!(rig.told, ["e"]);
    assert_eq!(rig.standing("e"), Some((Fate::InDoubt, 2)));
    assert_eq!((rig.engine.load().held, rig.engine.load().in_doubt), (0, 1));
    rig.kill(0);
    assert_eq!((rig.engine.load().held, rig.engine.load().in_doubt), (0, 1));
}

#[test]
fn handed_over_and_killed_it_is_sent_again_where_the_operator_says_so() {
    let mut rig = Rig::open(settings(|settings| settings.host.in_doubt = InDoubt::Resend));
    rig.send(&message("e"));
    rig.kill(0);
    rig.begin_open(legacy(Dedup::None));
    assert_eq!(rig.told, ["e", "e"]);
}

#[test]
fn what_was_handed_over_is_not_replaced_after_a_kill() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&urgent("e"));
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.send(&plain("f")), Answered::Ours(Outcome::Appended, None));
    rig.reply("e", &Say::Accepted);
    rig.deliver("f");
    assert_eq!(rig.told, ["e", "e", "f"]);
}

#[test]
fn an_expiry_passes_while_the_sidecar_is_down() {
    let mut rig = Rig::open(Settings::default());
    let at = 1_767_225_600_000 + rig.now_ms as i64 + 60_000;
    rig.send(&plain("e").expires(at));
    rig.kill(60_000);
    rig.wait(0);
    assert_eq!(rig.fate("e"), Some(&Fate::Expired), "also with no session");
    assert_eq!(rig.standing("e"), Some((Fate::Expired, 2)));
}

#[test]
fn a_write_through_leaves_history_unknown_after_a_kill() {
    let mut rig = Rig::unknown(Settings::default());
    rig.event(&plain("e").initial());
    rig.kill(0);
    assert_eq!((rig.engine.load().held, rig.engine.find("e")), (0, None), "it was never accepted");
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.send(&plain("f").initial()), Answered::Ours(Outcome::Appended, None));
}

#[test]
fn of_subjects_with_nothing_unread_the_least_recently_used_goes_first_across_kills() {
    let mut rig = Rig::open(settings(|settings| settings.coalesce.max_subjects = 2));
    for (id, key) in [("e", "k1"), ("f", "k2")] {
        rig.send(&Draft::push(id, "fs-a").key(key).initial());
        rig.send(&Draft::push(&format!("{id}z"), "fs-a").key(key).retract());
    }
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    rig.send(&Draft::push("g", "fs-a").key("k1"));
    rig.deliver("g");
    rig.kill(0);
    rig.begin_open(legacy(Dedup::Push));
    rig.send(&Draft::push("h", "fs-a").key("k3"));
    // k2 made room for k3: k1 is still known to have been read.
    assert_eq!(rig.send(&Draft::push("i", "fs-a").key("k2").retract()), Answered::Ours(Outcome::Noted, None));
}

#[test]
fn while_nothing_can_be_written_new_work_is_refused_and_nothing_is_handed_over() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&plain("e"));
    rig.fail();
    assert!(refused_for_disk(&rig.send(&Draft::push("f", "fs-b").key("k"))));
    assert!(refused_for_disk(&rig.send(&plain("z").retract())));
    rig.wait(60_000);
    assert!(rig.told.is_empty());
    assert_eq!(rig.send(&Draft::push("p", "fs-a")), Answered::Passed);
    rig.restore(StoreState::Good);
    rig.wait(0);
    assert_eq!(rig.told, ["pass", "e"]);
}

#[test]
fn short_of_room_new_work_is_refused_and_old_work_goes_and_ends() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&plain("e"));
    rig.feed(mcpl_policy::Input::Store(StoreState::Short));
    assert!(refused_for_disk(&rig.send(&plain("f"))), "a replacement, too");
    assert_eq!(rig.send(&plain("e")), Answered::Ours(Outcome::Appended, None), "a retry is no work");
    rig.deliver("e");
    assert_eq!(rig.standing("e").map(|(fate, _)| fate), Some(Fate::Delivered));
    rig.feed(mcpl_policy::Input::Store(StoreState::Good));
    assert_eq!(rig.send(&plain("f")), Answered::Ours(Outcome::Appended, None));
}

#[test]
fn after_a_failed_commit_everything_is_as_the_disk_says() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&plain("e").initial());
    rig.stall();
    rig.send(&plain("f"));
    rig.fail();
    rig.restore(StoreState::Good);
    assert_eq!((rig.engine.find("f"), rig.engine.load().held), (None, 1));
    assert_eq!(rig.send(&plain("f")), Answered::Ours(Outcome::Replaced, Some("e".to_owned())));
}

#[test]
fn an_answer_that_came_before_a_failed_commit_counts_and_across_the_next_failure() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&message("e"));
    rig.write("e");
    rig.stall();
    rig.reply("e", &Say::Accepted);
    for _ in 0..3 {
        rig.fail();
        rig.restore(StoreState::Good);
        rig.stall();
    }
    rig.fail();
    rig.restore(StoreState::Good);
    assert_eq!(rig.standing("e").map(|(fate, _)| fate), Some(Fate::Delivered));
    assert_eq!(rig.told, ["e"]);
}

#[test]
fn an_answer_that_comes_while_nothing_can_be_written_counts_later() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&message("e"));
    rig.write("e");
    rig.fail();
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.fate("e"), None);
    rig.restore(StoreState::Short);
    assert_eq!(rig.fate("e"), Some(&Fate::Delivered));
}

#[test]
fn a_forward_out_is_out_after_a_failed_commit_and_its_subject_waits() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&urgent("e"));
    rig.write("e");
    rig.fail();
    rig.restore(StoreState::Good);
    assert_eq!((rig.engine.load().out, rig.engine.load().held), (1, 0));
    rig.send(&urgent("f"));
    assert_eq!(rig.told, ["e"]);
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.told, ["e", "f"]);
}

#[test]
fn what_was_withdrawn_while_it_was_out_is_not_sent_again_after_a_failed_commit() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&urgent("e"));
    rig.write("e");
    assert_eq!(rig.send(&plain("z").retract().content("")), Answered::Ours(Outcome::Consumed, None));
    rig.fail();
    rig.restore(StoreState::Good);
    rig.reply("e", &Say::Unavailable(Some(10)));
    rig.wait(60_000);
    assert_eq!((rig.told.len(), rig.fate("e")), (1, Some(&Fate::Withdrawn)));
}

#[test]
fn a_withdrawal_that_was_lost_withdraws_nothing() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&urgent("e"));
    rig.write("e");
    rig.stall();
    rig.send(&plain("z").retract().content(""));
    rig.fail();
    rig.restore(StoreState::Good);
    rig.reply("e", &Say::Unavailable(Some(10)));
    rig.wait(60_000);
    assert_eq!(rig.told, ["e", "e"]);
}

#[test]
fn a_write_through_that_waits_is_not_answered_by_the_host_when_a_commit_fails() {
    let mut rig = Rig::unknown(Settings::default());
    let ticket = rig.event(&plain("e"));
    rig.fail();
    rig.restore(StoreState::Good);
    assert_eq!(rig.answer(ticket), Some(Answered::Unanswered));
    assert_eq!((rig.engine.load().out, rig.engine.load().held), (0, 0));
}

#[test]
fn notices_of_a_batch_that_is_closed_are_deleted_after_a_kill_if_they_were_not_before() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&Draft::push("n1", "fs-a").key("k").deferred());
    let kept: Vec<_> = rig.book.table(Table::Notice).map(|(id, row)| (id, row.to_vec())).collect();
    rig.wait(2_000);
    assert_eq!((kept.len(), rig.asked.len(), rig.book.count(Table::Notice)), (1, 1, 0));
    // A store may take its time with what means nothing any more.
    let changes = kept.into_iter().map(|(id, row)| Change::Put { table: Table::Notice, id, row }).collect();
    rig.book.apply(&Step { seq: 0, changes });
    rig.kill(0);
    rig.feed(Input::Tick);
    assert_eq!(rig.book.count(Table::Notice), 0);
    assert_eq!(rig.engine.load().held, 1, "its fallback");
}
