//! Renders within what there is room for, and through what fails (contract 6.5, 6.7, 7.1, 7.4, 9.1).

use mcpl_policy::admission::Learned;
use mcpl_policy::engine::{Answer, Arrival, Fate, MAX_RENDERS, Outcome, StoreState, Taught, Ticket};
use mcpl_policy::journal::Table;
use mcpl_policy::profile::Dedup;
use mcpl_policy::{Input, Output, Settings};

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::{Say, legacy};

fn plain(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k")
}

fn notice(id: &str) -> Draft {
    plain(id).deferred()
}

/// Nothing goes by itself.
fn patient() -> Settings {
    settings(|settings| {
        settings.coalesce.quiet_ms = 600_000;
        settings.coalesce.max_hold_ms = 3_600_000;
    })
}

fn closed() -> Input {
    Input::Taught(Taught::of(&plain("x").event()), Learned::Closed)
}

/// What was rendered of `n` is out.
fn rendered_out(rig: &mut Rig) {
    rig.send(&notice("n"));
    rig.feed(Input::Flush);
    let number = rig.asked.last().unwrap().0;
    rig.render(number, Some("fresh"));
    rig.write("n");
}

#[test]
fn the_first_answer_counts_while_the_journal_takes_nothing() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(Input::Flush);
    rig.feed(Input::Store(StoreState::Gone));
    rig.render(1, Some("first"));
    rig.render(1, Some("second"));
    rig.wait(60_000);
    rig.feed(Input::Store(StoreState::Good));
    assert_eq!(rig.given, [("n".to_owned(), "first".to_owned())]);
}

#[test]
fn renders_are_asked_for_up_to_their_bound_and_one_that_is_cancelled_makes_room() {
    let mut rig = Rig::open(settings(|settings| {
        *settings = patient();
        settings.in_flight = 1_000;
    }));
    let keys: Vec<&'static str> = (0..70).map(|n| &*Box::leak(format!("k{n}").into_boxed_str())).collect();
    for key in &keys {
        rig.send(&Draft::push(&format!("n-{key}"), "fs-a").key(key).deferred());
    }
    rig.feed(Input::Flush);
    assert_eq!((rig.asked.len(), rig.engine.load().rendering), (MAX_RENDERS, MAX_RENDERS));
    rig.send(&Draft::push("p", "fs-a").key(keys[3]));
    assert_eq!((rig.asked.len(), rig.engine.load().rendering), (MAX_RENDERS + 1, MAX_RENDERS));
    rig.render(4, Some("late"));
    assert!(rig.told.is_empty());
    for number in (1..=MAX_RENDERS as u64).filter(|&number| number != 4) {
        rig.render(number, Some("fresh"));
    }
    assert_eq!((rig.told.len(), rig.asked.len()), (MAX_RENDERS - 1, 70));
}

#[test]
fn what_is_rendered_and_what_is_out_keep_to_in_flight() {
    let mut rig = Rig::open(settings(|settings| {
        *settings = patient();
        settings.in_flight = 2;
    }));
    for key in ["a", "b", "c"] {
        rig.send(&Draft::push(key, "fs-a").key(key).deferred());
    }
    rig.feed(Input::Flush);
    assert_eq!(rig.asked.len(), 2);
    rig.render(1, Some("fresh"));
    assert_eq!((rig.told.len(), rig.asked.len()), (1, 2));
    rig.reply("a", &Say::Accepted);
    assert_eq!(rig.asked.len(), 3);
}

#[test]
fn what_cannot_go_makes_way_at_once_for_a_batch_that_can_be_rendered() {
    let mut rig = Rig::open(settings(|settings| {
        *settings = patient();
        settings.in_flight = 1;
    }));
    let other = Draft::push("e", "fs-b").key("other");
    rig.send(&other);
    rig.feed(Input::Taught(Taught::of(&other.event()), Learned::Closed));
    rig.send(&notice("n"));
    rig.feed(Input::Flush);
    assert_eq!((rig.told.len(), rig.asked.len()), (0, 1), "what was before it waits for its scope");
}

#[test]
fn a_failed_commit_of_each_step_of_a_render_loses_nothing_and_asks_at_most_once_that_left() {
    for failing in 0..3 {
        let mut rig = Rig::open(patient());
        rig.send(&notice("n"));
        let begin = |rig: &mut Rig| rig.feed(Input::Flush);
        if failing == 0 {
            rig.stall();
        }
        begin(&mut rig);
        if failing == 0 {
            rig.fail();
            rig.restore(StoreState::Good);
            begin(&mut rig);
            assert_eq!(rig.asked.len(), 2, "the first never left");
        }
        let number = rig.asked.last().unwrap().0;
        if failing == 1 {
            rig.stall();
        }
        rig.render(number, Some("fresh"));
        if failing == 1 {
            rig.out.clear();
            rig.given.clear();
            rig.fail();
            rig.restore(StoreState::Good);
            rig.wait(1);
        }
        rig.write("n");
        if failing == 2 {
            rig.stall();
        }
        rig.reply("n", &Say::Accepted);
        if failing == 2 {
            rig.fail();
            rig.restore(StoreState::Good);
        }
        rig.wait(60_000);
        assert_eq!(rig.given, [("n".to_owned(), "fresh".to_owned())], "{failing}");
        assert_eq!(rig.standing("n").map(|(fate, _)| fate), Some(Fate::Delivered), "{failing}");
        assert_eq!((rig.engine.load().held, rig.book.count(Table::Notice)), (0, 0));
    }
}

#[test]
fn what_was_not_handed_over_when_its_session_ended_counts_once() {
    let mut rig = Rig::open(patient());
    rendered_out(&mut rig);
    rig.reply("n", &Say::Accepted);
    let idle = rig.engine.load().held_bytes;
    rig.send(&notice("m"));
    rig.feed(Input::Flush);
    rig.render(2, Some("fresh"));
    rig.feed(closed());
    rig.event(&notice("t"));
    rig.end();
    rig.send(&plain("w").retract().content(""));
    rig.begin_open(legacy(Dedup::Push));
    rig.send(&plain("v").retract().content(""));
    assert_eq!((idle, rig.engine.load().held_bytes), (0, 0));
}

#[test]
fn what_was_rendered_before_its_session_ended_is_told_when_the_journal_takes_something_again() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(Input::Flush);
    rig.feed(Input::Store(StoreState::Gone));
    rig.render(1, Some("fresh"));
    rig.end();
    rig.wait(60_000);
    rig.begin_open(legacy(Dedup::Push));
    rig.feed(Input::Store(StoreState::Good));
    assert_eq!(rig.given, [("n".to_owned(), "fresh".to_owned())]);
}

#[test]
fn a_full_disk_lets_what_is_there_be_rendered_and_told() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(Input::Store(StoreState::Short));
    rig.feed(Input::Flush);
    rig.render(1, Some("fresh"));
    rig.reply("n", &Say::Accepted);
    assert_eq!(rig.fate("n"), Some(&Fate::Delivered));
}

#[test]
fn sixty_thousand_open_batches_keep_to_their_bounds() {
    let mut rig = Rig::open(settings(|settings| settings.in_flight = 64));
    let mut event = notice("n").event();
    for index in 0..60_000_u64 {
        let text = format!(
            r#"{{"featureSet":"fs-a","eventId":"n{index}","timestamp":"2026-01-01T00:00:00Z","coalesce":{{"key":"k{index}","deferred":true,"data":1}},"payload":{{"content":"x"}}}}"#
        );
        event.clone_from(&mcpl_codec::Event::push(text.into()));
        let now = mcpl_policy::Now { mono_ms: rig.now_ms, wall_ms: rig.wall_ms() };
        let arrival = Arrival {
            ticket: Ticket(index),
            answerable: true,
            event: event.clone(),
            digest: None,
            thread: None,
        };
        rig.engine.handle(now, Input::Event(arrival));
        while let Some(output) = rig.engine.poll() {
            if let Output::Answer { answer, .. } = output {
                assert!(matches!(answer, Answer::Accepted { outcome: Outcome::First, .. }));
            }
        }
    }
    let load = rig.engine.load();
    assert_eq!((load.held, load.subjects), (60_000, 60_000));
    assert!(load.timers <= 4 * 60_000 + 1_024, "{load:?}");
    assert!(load.held_bytes < 60_000 * 200, "{load:?}");
    rig.feed(Input::Flush);
    assert_eq!(rig.engine.load().rendering, MAX_RENDERS);
}

#[test]
fn the_pace_towards_the_host_is_the_pace_of_renders() {
    let mut rig = Rig::open(settings(|settings| {
        *settings = patient();
        settings.forward_rate_per_s = 1.0;
    }));
    for key in ["a", "b"] {
        rig.send(&Draft::push(key, "fs-a").key(key).deferred());
    }
    rig.feed(Input::Flush);
    assert_eq!(rig.asked.len(), 1);
    rig.render(1, Some("fresh"));
    assert_eq!((rig.told.len(), rig.asked.len()), (1, 1), "the second may go in a second only");
    rig.wait(999);
    assert_eq!(rig.asked.len(), 1);
    rig.wait(1);
    assert_eq!(rig.asked.len(), 2);
}

#[test]
fn a_batch_counts_for_the_notices_it_keeps_and_then_for_its_fallback() {
    let length = notice("n10").event().raw.len() as u64;
    let mut rig = Rig::open(settings(|settings| {
        *settings = patient();
        settings.coalesce.max_held_bytes = 64 * length + 1;
    }));
    for index in 10..90 {
        let wanted = if index == 10 { Outcome::First } else { Outcome::Replaced };
        let Answered::Ours(outcome, _) = rig.send(&notice(&format!("n{index}"))) else { panic!("refused") };
        assert_eq!(outcome, wanted);
        assert_eq!(rig.engine.load().held_bytes, (index - 9).min(64) * length);
    }
    rig.feed(Input::Flush);
    assert_eq!(rig.asked[0].1["dropped"], 16);
    assert_eq!(rig.engine.load().held_bytes, length, "its fallback");
    rig.render(1, Some(&"x".repeat(500)));
    assert_eq!(rig.engine.load().held_bytes, 0);
    rig.reply("n89", &Say::Unavailable(None));
    assert_eq!(rig.engine.load().held_bytes, length + 500 - "content of n89".len() as u64);
}

#[test]
fn where_room_runs_short_a_batch_is_rendered_and_the_notice_opens_the_next() {
    let length = notice("n10").event().raw.len() as u64;
    let small = settings(|settings| {
        *settings = patient();
        settings.coalesce.max_held_bytes = 3 * length;
    });
    let mut rig = Rig::open(small.clone());
    for index in 10..13 {
        rig.send(&notice(&format!("n{index}")));
    }
    assert_eq!(rig.send(&notice("n13")), Answered::Ours(Outcome::First, None));
    assert_eq!((rig.asked.len(), rig.engine.load().held_bytes), (1, 2 * length));
    let mut rig = Rig::open(small);
    for index in 10..13 {
        rig.send(&notice(&format!("n{index}")));
    }
    rig.feed(Input::Congested(true));
    assert_eq!(rig.send(&notice("n13")), Answered::Refused("unavailable".into(), Some(1_000)));
    rig.feed(Input::Congested(false));
    let notices = rig.asked[0].1["notices"].as_array().unwrap();
    assert_eq!(notices.len(), 3, "what was refused is not in it");
}

#[test]
fn draining_renders_what_is_pending_and_takes_no_new_batch() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(Input::Drain);
    assert_eq!(rig.asked.len(), 1);
    assert_eq!(rig.send(&notice("m")), Answered::Refused("unavailable".into(), Some(1_000)));
    rig.render(1, Some("fresh"));
    assert_eq!(rig.told, ["n"]);
}

#[test]
fn what_was_rendered_and_cannot_be_written_yet_is_displaced_by_a_plain_occurrence() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(Input::Flush);
    rig.feed(Input::Congested(true));
    rig.render(1, Some("fresh"));
    assert_eq!(rig.send(&notice("m")), Answered::Ours(Outcome::First, None));
    assert_eq!(rig.send(&plain("p")), Answered::Ours(Outcome::Replaced, Some("m".into())));
    rig.feed(Input::Congested(false));
    assert_eq!((rig.told.clone(), rig.asked.len()), (vec!["p".to_owned()], 1));
}

#[test]
fn nobody_is_asked_while_the_way_to_the_host_is_full() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(Input::Congested(true));
    rig.feed(Input::Flush);
    rig.send(&notice("m"));
    assert!(rig.asked.is_empty());
    rig.feed(Input::Congested(false));
    assert_eq!(rig.asked[0].1["notices"].as_array().unwrap().len(), 2);
}

#[test]
fn a_forward_that_is_not_answered_for_25_s_holds_the_next_render_back_no_longer() {
    let mut rig = Rig::open(patient());
    rendered_out(&mut rig);
    rig.send(&notice("m"));
    rig.feed(Input::Flush);
    rig.wait(24_999);
    assert_eq!(rig.asked.len(), 1);
    rig.wait(1);
    assert_eq!(rig.asked.len(), 2);
    rig.reply("n", &Say::Unavailable(Some(60_000)));
    rig.render(2, Some("newer"));
    assert_eq!((rig.engine.load().held, &*rig.told), (2, &["n".to_owned()][..]), "deltas are told in order");
    rig.send(&plain("p"));
    assert_eq!((rig.fate("n"), rig.fate("m")), (Some(&Fate::Replaced), Some(&Fate::Replaced)));
}

#[test]
fn a_producer_that_is_not_heard_is_not_late() {
    let mut rig = Rig::open(patient());
    rig.send(&Draft::push("n", "fs-a").key("k").deferred());
    rig.feed(Input::Flush);
    rig.feed(Input::Congested(true));
    rig.wait(60_000);
    rig.feed(Input::Congested(false));
    rig.wait(4_000);
    assert_eq!((rig.asked.len(), rig.told.len()), (1, 0), "its time begins anew");
    rig.wait(1_000);
    assert_eq!(rig.told, ["n"]);
}

#[test]
fn new_settings_count_from_the_next_render_on() {
    let mut rig = Rig::open(settings(|settings| {
        *settings = patient();
        settings.in_flight = 1;
    }));
    for key in ["a", "b"] {
        rig.send(&Draft::push(key, "fs-a").key(key).deferred());
    }
    rig.feed(Input::Flush);
    rig.feed(Input::Settings(Box::new(settings(|settings| {
        *settings = patient();
        settings.coalesce.render_timeout_ms = 1_000;
    }))));
    assert_eq!(rig.asked.len(), 2);
    rig.wait(1_000);
    assert_eq!(rig.told, ["b"]);
    rig.wait(4_000);
    assert_eq!(rig.told, ["b", "a"]);
}
