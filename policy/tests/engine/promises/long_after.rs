//! What an operator, a restart or a repeat meets long after (contract 6.2, 6.7, 9.3, 13.2).

use bytes::Bytes;
use mcpl_policy::engine::{Fate, Host, Resolve, Stance, Word};
use mcpl_policy::journal::{HistoryRow, SubjectRow, Table};
use mcpl_policy::profile::Dedup;
use mcpl_policy::{Input, Settings};

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::{Say, legacy};

fn create(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k")
}

fn reboot(rig: &mut Rig, settings: Settings) {
    rig.out.clear();
    rig.engine = rig.book.engine(settings, 1_767_225_600_000 + rig.now_ms as i64);
    rig.now_ms = rig.now_ms.max(rig.engine.clock_ms());
}

fn resolve(rig: &mut Rig, number: u64, word: Word) {
    let work = rig.book.work(number);
    let text = rig.book.row(Table::Content, number).map(Bytes::copy_from_slice);
    rig.feed(Input::Resolve(Box::new(Resolve { request: 1, number, expect: None, word, work, text })));
}

/// LRU order over two restarts.
#[test]
fn the_least_recently_used_is_forgotten_first_over_restarts() {
    let s = || settings(|s| s.coalesce.max_subjects = 2);
    let mut rig = Rig::open(s());
    // Many steps, so that the counter is far.
    for n in 0..20 {
        rig.send(&Draft::push(&format!("x{n}"), "fs-a").key("old"));
    }
    rig.feed(Input::Flush);
    rig.write("x19");
    rig.reply("x19", &Say::Accepted);
    reboot(&mut rig, s());
    rig.begin_open(legacy(Dedup::Push));
    rig.send(&Draft::push("y", "fs-a").key("young").initial());
    rig.feed(Input::Flush);
    rig.write("y");
    rig.reply("y", &Say::Accepted);
    reboot(&mut rig, s());
    rig.begin_open(legacy(Dedup::Push));
    // A third subject: `old` was used last before `young` was.
    rig.send(&Draft::push("z", "fs-a").key("third").initial());
    let names: Vec<String> = rig
        .book
        .table(Table::Subject)
        .map(|(id, row)| SubjectRow::decode(id, row).unwrap().name.to_string())
        .collect();
    assert!(names.iter().any(|n| n.ends_with("young")), "the one used last was forgotten");
}

/// A merged channel message has no `coalesce` any more: what is it about when an operator sends it again?
#[test]
fn a_merged_message_sent_again_is_still_about_its_subject() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&Draft::message("m", "chan-a").key("k").initial());
    rig.send(&Draft::push("edit1", "fs-a").channel("chan-a").key("k"));
    rig.feed(Input::Flush);
    rig.write("edit1");
    rig.reply("edit1", &Say::Code(-32602));
    assert!(matches!(rig.fate("edit1"), Some(Fate::Dead(_))));
    // A newer one of the same subject is unread.
    rig.send(&Draft::push("edit2", "fs-a").channel("chan-a").key("k"));
    resolve(&mut rig, 2, Word::Again);
    assert_eq!(rig.resolved, [Ok(Fate::Replaced)]);
}

#[test]
fn a_merged_message_that_the_host_has_makes_history() {
    let mut rig = Rig::new(Settings::default());
    rig.begin_open(legacy(Dedup::None));
    rig.send(&Draft::message("m", "chan-a").key("k").initial());
    rig.send(&Draft::push("edit1", "fs-a").channel("chan-a").key("k"));
    rig.feed(Input::Flush);
    rig.write("edit1");
    rig.end();
    rig.begin_open(legacy(Dedup::None));
    resolve(&mut rig, 2, Word::Submitted);
    let names: Vec<(String, HistoryRow)> = rig
        .book
        .table(Table::Subject)
        .map(|(id, row)| SubjectRow::decode(id, row).unwrap())
        .map(|r| (r.name.to_string(), r.history))
        .collect();
    assert!(names.iter().any(|(_, h)| *h == HistoryRow::Some));
}

/// A reason once given stays given, also over a restart.
#[test]
fn a_reason_once_given_outlives_a_restart() {
    let s = || {
        settings(|s| {
            s.coalesce.quiet_ms = 600_000;
            s.coalesce.max_hold_ms = 3_600_000;
            s.in_flight = 1;
        })
    };
    let mut rig = Rig::open(s());
    rig.send(&Draft::push("slow", "fs-a").key("a").tags(&["chat:addressed"]));
    rig.send(&Draft::push("urgent", "fs-a").key("b").tags(&["chat:mention"]));
    assert_eq!(rig.out_ids(), ["slow"]);
    rig.write("slow");
    reboot(&mut rig, s());
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.out_ids(), ["slow"]);
    rig.write("slow");
    rig.reply("slow", &Say::Duplicate);
    rig.wait(60_000);
    assert_eq!(rig.out_ids(), ["urgent"], "it had its reason");
}

/// A dead letter whose time is over is sent again.
#[test]
fn what_expired_meanwhile_is_not_said_to_be_held_again() {
    let mut rig = Rig::open(Settings::default());
    let at = 1_767_225_600_000 + 5_000;
    rig.send(&create("e").expires(at));
    rig.feed(Input::Flush);
    rig.write("e");
    rig.reply("e", &Say::Code(-32602));
    rig.wait(60_000);
    resolve(&mut rig, 1, Word::Again);
    rig.feed(Input::Tick);
    assert_ne!(rig.resolved, [Ok(Fate::Held)], "it was not held: it expired at once");
}

/// stored: order, and a retry of the first content of a re-used id.
#[test]
fn a_retry_of_an_older_content_of_one_id_has_no_effect() {
    let s = || settings(|s| s.store_uncoalesced = true);
    let mut rig = Rig::open(s());
    let a = Draft::push("id", "fs-a").content("one");
    let b = Draft::push("id", "fs-a").content("two");
    assert_eq!(rig.send(&a), Answered::Stored);
    assert_eq!(rig.send(&b), Answered::Stored);
    assert_eq!(rig.send(&a), Answered::Stored);
    for _ in 0..5 {
        if let Some(s) = rig.out.first().cloned() {
            rig.write(&s.id);
            rig.out.remove(0);
            rig.feed(Input::Replied(s.number, Say::Accepted.reply()));
        }
    }
    assert_eq!(rig.told.len(), 2, "the retry of the first was given again");
}

/// An old dead letter sent again, whose session ends without an answer.
#[test]
fn what_an_operator_sends_again_is_fresh_where_the_host_drops_repeats() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&create("e"));
    rig.feed(Input::Flush);
    rig.write("e");
    rig.reply("e", &Say::Code(-32602));
    rig.wait(2 * 3_600_000 + 5_000);
    resolve(&mut rig, 1, Word::Again);
    rig.write("e");
    rig.end();
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.out_ids(), ["e"], "handed over a moment ago on a lane that deduplicates");
}

/// In a session that is stepped aside from, everything held goes, however much it is.
#[test]
fn everything_held_goes_when_the_sidecar_steps_aside() {
    let mut rig = Rig::open(settings(|settings| settings.coalesce.quiet_ms = 600_000));
    let held = 3_000;
    for number in 0..held {
        let event = Draft { id: format!("e{number}"), ..Draft::push("x", "fs-a") };
        rig.send(&event.key(["a", "b", "c", "d"][number % 4]));
        rig.send(
            &Draft::push(&format!("gone{number}"), "fs-a").key(["a", "b", "c", "d"][number % 4]).retract(),
        );
    }
    rig.end();
    rig.feed(Input::Began(Host { stance: Stance::Aside, ..legacy(Dedup::Push) }));
    rig.permit();
    let mut given = 0;
    while let Some(sent) = rig.out.first().cloned() {
        rig.out.remove(0);
        rig.feed(Input::HandedOver(sent.number));
        rig.feed(Input::Written(sent.number));
        rig.feed(Input::Replied(sent.number, Say::Accepted.reply()));
        given += 1;
    }
    assert!(given >= held, "{given}");
    assert_eq!(rig.engine.load().held, 0);
}
