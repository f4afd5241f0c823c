//! Room, rates and sizes (contract 6.7, 8.7, 8.8).

use mcpl_policy::Settings;
use mcpl_policy::engine::Outcome;

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::Say;

fn keyed(id: &str, key: &'static str) -> Draft {
    Draft::push(id, "fs-a").key(key)
}

fn two() -> Settings {
    settings(|settings| settings.coalesce.max_subjects = 2)
}

#[test]
fn with_every_slot_unread_it_is_appended_and_displaces_nobody() {
    let mut rig = Rig::open(two());
    rig.event(&keyed("a", "a").initial());
    rig.event(&keyed("b", "b").initial());
    assert_eq!(rig.send(&keyed("c", "c").initial()), Answered::Ours(Outcome::Appended, None));
    assert_eq!(rig.send(&keyed("c2", "c")), Answered::Ours(Outcome::Appended, None));
    assert_eq!(rig.send(&keyed("d", "d").deferred()), Answered::Ours(Outcome::Appended, None));
    assert_eq!(rig.send(&keyed("w", "e").retract()), Answered::Ours(Outcome::Noted, None));
    assert_eq!(rig.engine.load().subjects, 2);
    rig.wait(6_000);
    assert_eq!(rig.told, ["a", "b", "c", "c2", "d", "w"]);
}

#[test]
fn what_has_nothing_unread_is_forgotten_first_and_its_history_is_unknown_then() {
    let mut rig = Rig::open(two());
    rig.event(&keyed("a", "a").initial());
    rig.event(&keyed("wa", "a").retract().content(""));
    rig.event(&keyed("b", "b").initial());
    assert_eq!(rig.send(&keyed("c", "c").initial()), Answered::Ours(Outcome::First, None));
    assert_eq!(rig.send(&keyed("wa2", "a").retract().content("")), Answered::Ours(Outcome::Consumed, None));
}

#[test]
fn the_least_recently_used_is_forgotten_before_others() {
    let mut rig = Rig::open(two());
    for (key, ids) in [("a", ["a", "wa"]), ("b", ["b", "wb"])] {
        rig.event(&keyed(ids[0], key).initial());
        rig.event(&keyed(ids[1], key).retract().content(""));
    }
    assert_eq!(rig.send(&keyed("wa2", "a").retract()), Answered::Ours(Outcome::Retracted, None), "a is used");
    rig.event(&keyed("c", "c").initial());
    assert_eq!(rig.send(&keyed("wa3", "a").retract()), Answered::Ours(Outcome::Retracted, None));
    assert_eq!(rig.send(&keyed("wb2", "b").retract().content("")), Answered::Ours(Outcome::Consumed, None));
}

#[test]
fn short_of_room_what_may_go_goes_and_then_new_work_is_unavailable() {
    let little = settings(|settings| (settings.coalesce.max_held_bytes, settings.in_flight) = (700, 1));
    let mut rig = Rig::open(little);
    let draft = |id: &str, key| keyed(id, key).content(&"x".repeat(200));
    assert_eq!(rig.send(&draft("a", "a")), Answered::Ours(Outcome::Appended, None));
    assert_eq!(rig.send(&draft("b", "b")), Answered::Ours(Outcome::Appended, None));
    assert_eq!(rig.send(&draft("c", "c")), Answered::Ours(Outcome::Appended, None));
    assert_eq!(rig.told, ["a"], "released early");
    assert_eq!(rig.send(&draft("d", "d")), Answered::Refused("unavailable".into(), Some(1_000)));
    assert!(rig.engine.load().held_bytes <= 700);
    assert_eq!(rig.send(&draft("c2", "c")), Answered::Ours(Outcome::Replaced, Some("c".into())), "no growth");
    rig.reply("a", &Say::Accepted);
    assert_eq!(rig.send(&draft("d", "d")), Answered::Ours(Outcome::Appended, None), "nothing was remembered");
}

#[test]
fn a_merge_counts_as_what_is_told() {
    let little = settings(|settings| (settings.coalesce.max_held_bytes, settings.in_flight) = (1_000, 1));
    let mut rig = Rig::open(little);
    rig.event(&keyed("out", "out").tags(&["chat:addressed"]));
    rig.event(&Draft { metadata: 500, ..Draft::message("m", "chan-a").key("k") });
    let edit = keyed("edit", "k").channel("chan-a").content(&"x".repeat(500));
    assert_eq!(rig.send(&edit), Answered::Refused("unavailable".into(), Some(1_000)));
    assert!(rig.engine.load().held_bytes <= 1_000, "{:?}", rig.engine.load());
}

#[test]
fn folding_and_withdrawing_take_no_token() {
    let mut rig =
        Rig::open(settings(|settings| (settings.limits.rate_per_s, settings.limits.burst) = (0.001, 1)));
    assert_eq!(rig.send(&keyed("a", "a")), Answered::Ours(Outcome::Appended, None));
    for n in 0..5 {
        let answer = rig.send(&keyed(&format!("a{n}"), "a"));
        assert!(matches!(answer, Answered::Ours(Outcome::Replaced, _)), "{answer:?}");
    }
    assert_eq!(rig.send(&keyed("a4", "a")), Answered::Ours(Outcome::Replaced, Some("a3".into())), "a retry");
    assert!(matches!(rig.send(&keyed("b", "b")), Answered::Refused(kind, Some(_)) if kind == "unavailable"));
    assert!(matches!(rig.send(&keyed("w", "a").retract()), Answered::Ours(Outcome::Noted, _)));
}

#[test]
fn content_of_the_limit_is_admitted_and_over_it_too_large() {
    let mut rig = Rig::open(settings(|settings| settings.max_content_bytes = 12));
    assert_eq!(rig.send(&keyed("e", "a").content("0123456789")), Answered::Ours(Outcome::Appended, None));
    let over = keyed("f", "a").content("01234567890");
    assert_eq!(rig.send(&over), Answered::Refused("too_large".into(), None));
    assert_eq!(rig.send(&Draft { key: None, ..over }), Answered::Refused("too_large".into(), None));
}

#[test]
fn checks_come_in_their_order() {
    let mut rig = Rig::open(settings(|settings| settings.max_content_bytes = 60));
    rig.event(&keyed("e", "a"));
    let large = "x".repeat(100);
    let shapeless =
        Draft { wrong: Some(crate::draft::Wrong::Timestamp), ..Draft::push("s", "no-set").key("a") };
    assert_eq!(rig.send(&shapeless), Answered::Refused("invalid".into(), None), "shape before authority");
    let forbidden = Draft::message("e", "chan-z").key("a");
    assert_eq!(
        rig.send(&forbidden),
        Answered::Refused("unknown_channel".into(), None),
        "authority before conflict"
    );
    assert_eq!(
        rig.send(&keyed("e", "a").content(&large)),
        Answered::Refused("invalid".into(), None),
        "conflict before size"
    );
}

#[test]
fn reloads_leave_no_timers_behind() {
    let mut rig = Rig::open(Settings::default());
    for key in ["a", "b", "c"] {
        rig.event(&keyed(key, key));
    }
    for n in 0..2_000 {
        let reloaded = settings(|settings| settings.coalesce.quiet_ms = 4_000 + n % 2);
        rig.feed(mcpl_policy::Input::Settings(Box::new(reloaded)));
    }
    assert!(rig.engine.load().timers <= 1_100, "{:?}", rig.engine.load());
}
