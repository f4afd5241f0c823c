//! When held work goes, and in what order (contract 7.1 to 7.5).

use mcpl_policy::engine::{Outcome, Phase, Stance};
use mcpl_policy::profile::Dedup;
use mcpl_policy::settings::Position;
use mcpl_policy::{Input, Settings};

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::{Say, legacy};

fn message(id: &str, key: &'static str) -> Draft {
    Draft::message(id, "chan-a").key(key)
}

fn plain(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k")
}

#[test]
fn a_quiet_subject_is_released_and_each_version_starts_the_quiet_anew() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e"));
    rig.wait(1_000);
    rig.event(&plain("f"));
    rig.wait(1_499);
    assert!(rig.told.is_empty());
    rig.wait(1);
    assert_eq!(rig.told, ["f"]);
}

#[test]
fn replacements_never_extend_the_longest_time() {
    let mut rig = Rig::open(Settings::default());
    for n in 0..5 {
        rig.event(&plain(&format!("e{n}")));
        rig.wait(if n < 4 { 1_200 } else { 199 });
    }
    assert!(rig.told.is_empty());
    rig.wait(1);
    assert_eq!(rig.told, ["e4"]);
}

#[test]
fn urgent_tags_release_at_once_and_their_closure_counts() {
    for tag in ["chat:addressed", "chat:mention", "chat:reply", "chat:dm"] {
        let mut rig = Rig::open(Settings::default());
        rig.event(&plain("e").tags(&[tag]));
        assert_eq!(rig.told, ["e"], "{tag}");
    }
    let mut rig = Rig::open(settings(|settings| settings.coalesce.urgent_tags = vec!["chat:private".into()]));
    rig.event(&plain("e").tags(&["chat:mention"]));
    assert!(rig.told.is_empty());
    rig.event(&plain("f").tags(&["chat:dm"]));
    assert_eq!(rig.told, ["f"]);
}

#[test]
fn whatever_releases_everything_keeps_the_order_of_places() {
    for input in [Input::Assembling, Input::Flush, Input::Inference("i".into(), Phase::Ended)] {
        let mut rig = Rig::open(Settings::default());
        for (n, key) in ["a", "b", "c"].into_iter().enumerate() {
            rig.event(&Draft::push(&format!("e{n}"), "fs-a").key(key));
        }
        rig.feed(input.clone());
        assert_eq!(rig.told, ["e0", "e1", "e2"], "{input:?}");
    }
}

#[test]
fn a_running_inference_makes_the_times_wait_but_not_for_ever() {
    let mut rig = Rig::open(Settings::default());
    rig.feed(Input::Inference("i".into(), Phase::Started));
    rig.event(&plain("e"));
    rig.wait(119_999);
    assert!(rig.told.is_empty());
    rig.wait(1);
    assert_eq!(rig.told, ["e"]);
}

#[test]
fn busy_ends_with_the_session() {
    let mut rig = Rig::open(Settings::default());
    rig.feed(Input::Inference("i".into(), Phase::Started));
    rig.event(&plain("e"));
    rig.end();
    rig.begin_open(legacy(Dedup::Push));
    rig.wait(1_500);
    assert_eq!(rig.told, ["e"]);
}

#[test]
fn a_channel_is_told_in_order_of_places() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&message("first", "a"));
    rig.event(&Draft::message("elsewhere", "chan-b").key("a"));
    rig.event(&message("second", "b").tags(&["chat:addressed"]));
    assert_eq!(rig.told, ["first", "second"], "another channel is not told");
}

#[test]
fn a_replacement_keeps_its_slot_or_goes_to_the_tail() {
    for (position, order) in
        [(Position::Slot, ["e2", "f"]), (Position::Auto, ["e2", "f"]), (Position::Tail, ["f", "e2"])]
    {
        let mut rig = Rig::open(settings(|settings| settings.coalesce.position = position));
        for draft in [message("e", "a"), message("f", "b"), message("e2", "a")] {
            rig.event(&draft);
        }
        rig.feed(Input::Flush);
        assert_eq!(rig.told, order, "{position:?}");
    }
}

#[test]
fn an_uncoalesced_event_of_the_channel_goes_after_what_its_channel_holds() {
    let hinted = Draft::push("p", "fs-a").channel("chan-a");
    for event in [Draft::message("p", "chan-a"), hinted] {
        let mut rig = Rig::open(Settings::default());
        rig.event(&message("held", "a"));
        rig.event(&Draft::message("elsewhere", "chan-b").key("a"));
        assert_eq!(rig.send(&event), Answered::Passed);
        assert_eq!(rig.told, ["held", "pass"]);
    }
}

#[test]
fn an_uncoalesced_event_without_a_channel_releases_nothing() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&message("held", "a"));
    assert_eq!(rig.send(&Draft::push("p", "fs-a")), Answered::Passed);
    assert_eq!(rig.told, ["pass"]);
}

#[test]
fn what_waits_for_a_time_is_passed_by() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&message("late", "a").tags(&["chat:addressed"]));
    rig.reply("late", &Say::Unavailable(Some(60_000)));
    rig.event(&message("next", "b").tags(&["chat:addressed"]));
    assert_eq!(rig.told, ["late", "next"]);
}

#[test]
fn no_more_is_out_than_in_flight_and_the_rest_follows_by_itself() {
    let mut rig = Rig::open(settings(|settings| settings.in_flight = 1));
    rig.event(&message("e", "a"));
    rig.event(&message("f", "b"));
    rig.feed(Input::Assembling);
    assert_eq!(rig.told, ["e"]);
    rig.event(&message("f2", "b"));
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.told, ["e", "f2"], "a slow host is given the newest");
}

#[test]
fn a_full_way_keeps_work_back_replaceable() {
    let mut rig = Rig::open(Settings::default());
    rig.feed(Input::Congested(true));
    rig.event(&plain("e").tags(&["chat:addressed"]));
    assert_eq!(rig.send(&plain("f")), Answered::Ours(Outcome::Replaced, Some("e".into())));
    assert!(rig.told.is_empty());
    rig.feed(Input::Congested(false));
    assert_eq!(rig.told, ["f"]);
}

#[test]
fn held_work_without_a_session_waits_and_stays_replaceable() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e"));
    rig.end();
    rig.wait(600_000);
    assert!(rig.told.is_empty());
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.told, ["e"], "it was due long ago");
}

#[test]
fn an_unknown_scope_is_tried_once_the_wait_for_a_policy_is_over() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e"));
    rig.end();
    rig.feed(Input::Began(legacy(Dedup::Push)));
    rig.wait(9_999);
    assert!(rig.told.is_empty());
    rig.wait(1);
    assert_eq!(rig.told, ["e"]);
}

#[test]
fn a_reload_of_the_wait_for_a_policy_counts_for_the_running_session() {
    for wait_ms in [2_000, 20_000] {
        let mut rig = Rig::open(Settings::default());
        rig.event(&plain("e"));
        rig.end();
        rig.feed(Input::Began(legacy(Dedup::Push)));
        rig.wait(1_000);
        let reloaded = settings(|settings| settings.host.policy_wait_ms = wait_ms);
        rig.feed(Input::Settings(Box::new(reloaded)));
        rig.wait(wait_ms - 1_001);
        assert!(rig.told.is_empty(), "{wait_ms}");
        rig.wait(1);
        assert_eq!(rig.told, ["e"], "{wait_ms}");
    }
}

#[test]
fn what_is_positively_forbidden_waits_for_the_authority() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e"));
    rig.grant(br#"{"effectiveCapabilities":[]}"#);
    rig.wait(600_000);
    assert!(rig.told.is_empty());
    assert_eq!(rig.send(&plain("f")), Answered::Refused("not_permitted".into(), None));
    rig.permit();
    assert_eq!(rig.told, ["e"]);
}

#[test]
fn what_expired_is_not_released() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e").expires(1_767_225_600_000 + 1_000 + 1_400));
    rig.wait(10_000);
    assert!(rig.told.is_empty());
    assert_eq!(rig.fate("e"), Some(&mcpl_policy::engine::Fate::Expired));
}

#[test]
fn what_is_held_goes_before_the_first_event_of_its_scope_passes() {
    let paced = || settings(|settings| (settings.in_flight, settings.forward_rate_per_s) = (1, 0.1));
    for aside in [Settings::default(), paced()] {
        let mut rig = Rig::open(aside);
        rig.event(&Draft::push("other", "fs-b").key("k"));
        rig.event(&Draft::push("another", "fs-b").key("l"));
        rig.event(&plain("e"));
        rig.end();
        rig.feed(Input::Began(mcpl_policy::engine::Host { stance: Stance::Aside, ..legacy(Dedup::Push) }));
        assert!(rig.told.is_empty(), "nothing is known of the scopes yet");
        rig.grant(br#"{"effectiveCapabilities":["pushEvents"],"disabled":["fs-b"]}"#);
        assert_eq!(rig.send(&plain("f")), Answered::Passed);
        assert_eq!(rig.told, ["e", "pass"]);
        rig.permit();
        assert_eq!(rig.send(&Draft::push("g", "fs-b").key("l")), Answered::Passed);
        assert_eq!(rig.told.last().map(String::as_str), Some("pass"));
        assert!(rig.told.contains(&"another".to_owned()), "{:?}", rig.told);
    }
}

#[test]
fn what_is_held_goes_before_its_scope_passes_though_the_pace_keeps_others_back() {
    let mut rig = Rig::open(settings(|settings| settings.forward_rate_per_s = 0.001));
    rig.event(&Draft::push("other", "fs-b").key("k"));
    rig.event(&Draft::push("another", "fs-b").key("l"));
    rig.event(&plain("e"));
    rig.end();
    rig.begin_open(mcpl_policy::engine::Host { stance: Stance::Aside, ..legacy(Dedup::Push) });
    assert_eq!(rig.told, ["other"]);
    assert_eq!(rig.send(&plain("f")), Answered::Passed);
    assert_eq!(rig.told, ["other", "e", "pass"]);
}

#[test]
fn due_work_that_moves_to_the_tail_takes_what_its_channel_holds_before_it_along() {
    let mut rig = Rig::open(settings(|settings| {
        (settings.coalesce.position, settings.in_flight) = (Position::Tail, 1);
    }));
    rig.event(&plain("out").tags(&["chat:addressed"]));
    rig.event(&message("e", "a").tags(&["chat:addressed"]));
    rig.event(&message("f", "b"));
    rig.event(&message("e2", "a"));
    rig.reply("out", &Say::Accepted);
    rig.reply("f", &Say::Accepted);
    assert_eq!(rig.told, ["out", "f", "e2"]);
}

#[test]
fn an_event_that_does_not_pass_releases_nothing_of_its_scope() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&message("held", "a"));
    rig.end();
    rig.feed(Input::Began(mcpl_policy::engine::Host { stance: Stance::Aside, ..legacy(Dedup::Push) }));
    let twice = Draft { wrong: Some(crate::draft::Wrong::Twice), ..Draft::message("p", "chan-a") };
    assert_eq!(rig.send(&twice), Answered::Refused("invalid".into(), None));
    rig.feed(Input::Tick);
    assert!(rig.told.is_empty());
    assert_eq!(rig.send(&Draft::message("q", "chan-a")), Answered::Passed);
    assert_eq!(rig.told, ["held", "pass"]);
}

#[test]
fn a_deletion_notice_that_waits_is_not_passed_by_what_its_subject_became_since() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&Draft::push("old", "fs-a").key("k"));
    rig.feed(Input::Flush);
    rig.deliver("old");
    rig.send(&Draft::push("gone", "fs-a").key("k").retract());
    rig.feed(Input::Flush);
    rig.reply("gone", &Say::Unavailable(Some(60_000)));
    rig.send(&Draft::push("new", "fs-a").key("k").tags(&["chat:addressed"]));
    rig.feed(Input::Flush);
    assert_eq!(rig.told, ["old", "gone"]);
    rig.wait(60_000);
    assert_eq!(rig.told, ["old", "gone", "gone"]);
    rig.deliver("gone");
    assert_eq!(rig.told, ["old", "gone", "gone", "new"], "the last word is the newest");
}

#[test]
fn a_held_deletion_notice_goes_before_the_urgent_create_that_came_after_it() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&Draft::push("old", "fs-a").key("k"));
    rig.feed(Input::Flush);
    rig.deliver("old");
    rig.send(&Draft::push("gone", "fs-a").key("k").retract());
    rig.send(&Draft::push("new", "fs-a").key("k").tags(&["chat:addressed"]));
    assert_eq!(rig.told, ["old", "gone"]);
    rig.deliver("gone");
    assert_eq!(rig.told, ["old", "gone", "new"]);
}

#[test]
fn what_is_sent_again_after_doubt_and_waits_is_not_passed_by_a_newer_version() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&Draft::push("first", "fs-a").key("k"));
    rig.feed(Input::Flush);
    rig.write("first");
    rig.end();
    rig.begin_open(legacy(Dedup::Push));
    rig.reply("first", &Say::Unavailable(Some(60_000)));
    rig.send(&Draft::push("second", "fs-a").key("k"));
    rig.feed(Input::Flush);
    assert_eq!(rig.told, ["first", "first"]);
    rig.wait(60_000);
    rig.deliver("first");
    assert_eq!(rig.told, ["first", "first", "first", "second"]);
}
