//! A commit that fails is a crash of the engine, not of what the host was told (contract 9.1).

use mcpl_policy::engine::{Fate, StoreState};
use mcpl_policy::{Input, Settings};

use super::rig::{Rig, settings};
use crate::draft::Draft;
use crate::say::Say;

fn create(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k")
}

/// Another producer's commit fails: the store is Gone for a while, and this binding has no step under way.
#[test]
fn an_answer_that_comes_while_the_journal_takes_nothing_is_not_lost() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&create("e"));
    rig.feed(Input::Flush);
    rig.write("e");
    rig.engine.durable(rig.engine.steps());
    rig.feed(Input::Store(StoreState::Gone));
    rig.reply("e", &Say::Accepted);
    rig.feed(Input::Store(StoreState::Good));
    rig.wait(60_000);
    assert_eq!(rig.fate("e"), Some(&Fate::Delivered), "the host accepted it");
}

/// The same of a write-through: its producer is never answered.
#[test]
fn the_producer_of_a_write_through_is_answered_when_the_journal_takes_something_again() {
    let mut rig = Rig::unknown(Settings::default());
    let t = rig.event(&create("e"));
    rig.write("e");
    rig.engine.durable(rig.engine.steps());
    rig.feed(Input::Store(StoreState::Gone));
    rig.reply("e", &Say::Accepted);
    rig.feed(Input::Store(StoreState::Good));
    rig.wait(60_000);
    assert_ne!(rig.answer(t), None, "the producer is answered");
}

/// The host accepted a write-through that displaced a held older one; that commit fails.
#[test]
fn what_an_accepted_write_through_displaced_does_not_come_back() {
    let mut rig = Rig::open(Settings::default());
    let other = Draft::push("closer", "fs-a").key("other").tags(&["chat:addressed"]);
    rig.event(&other);
    rig.event(&create("old"));
    rig.reply("closer", &Say::Code(-32001));
    rig.event(&create("new"));
    rig.write("new");
    rig.stall();
    rig.reply("new", &Say::Accepted);
    rig.fail();
    rig.restore(StoreState::Good);
    rig.permit();
    rig.wait(60_000);
    assert!(
        !rig.told.iter().skip_while(|id| *id != "new").any(|id| id == "old"),
        "the older state after the newer"
    );
}

#[test]
fn a_reason_once_given_outlives_a_failed_commit() {
    let s = || {
        settings(|s| {
            s.coalesce.quiet_ms = 600_000;
            s.coalesce.max_hold_ms = 3_600_000;
            s.in_flight = 1;
        })
    };
    let mut rig = Rig::open(s());
    rig.send(&Draft::push("slow", "fs-a").key("a").tags(&["chat:addressed"]));
    rig.write("slow");
    rig.send(&Draft::push("urgent", "fs-a").key("b").tags(&["chat:mention"]));
    rig.stall();
    rig.event(&Draft::push("lost", "fs-a").key("c"));
    rig.fail();
    rig.restore(StoreState::Good);
    rig.reply("slow", &Say::Accepted);
    rig.wait(60_000);
    assert_eq!(rig.out_ids(), ["urgent"], "it had its reason");
}
