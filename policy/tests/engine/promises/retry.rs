//! Retries of the producer (contract 6.2), of ours (7.4), and doubt (9.3).

use mcpl_policy::engine::{ANSWER_MS, Fate, Outcome, Stance};
use mcpl_policy::profile::Dedup;
use mcpl_policy::settings::InDoubt;
use mcpl_policy::{Input, Settings};

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::{CODES, Say, legacy};

fn urgent(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k").tags(&["chat:addressed"])
}

fn message(id: &str) -> Draft {
    Draft::message(id, "chan-a").key("k").tags(&["chat:addressed"])
}

fn plain(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k")
}

#[test]
fn the_same_event_again_gets_the_original_result_and_has_no_effect() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("old"));
    let first = rig.send(&plain("new"));
    let load = rig.engine.load();
    assert_eq!(first, Answered::Ours(Outcome::Replaced, Some("old".into())));
    assert_eq!(
        (rig.send(&plain("new")), rig.send(&plain("old"))),
        (first, Answered::Ours(Outcome::Appended, None))
    );
    assert_eq!(rig.engine.load(), load);
}

#[test]
fn a_retry_is_known_across_sessions_and_until_the_window_is_over() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e").initial());
    rig.deliver("e");
    rig.end();
    rig.begin_open(legacy(Dedup::Push));
    rig.wait(3_600_000 - 6_000);
    assert_eq!(rig.send(&plain("e").initial()), Answered::Ours(Outcome::First, None));
    rig.wait(1);
    assert_eq!(rig.send(&plain("e").initial()), Answered::Ours(Outcome::Appended, None), "new work");
}

#[test]
fn the_same_event_id_with_other_content_is_a_conflict() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("e"));
    for other in
        [plain("e").content("x"), plain("e").tags(&["x"]), plain("e").expires(9), plain("e").initial()]
    {
        assert_eq!(rig.send(&other), Answered::Refused("invalid".into(), None), "{other:?}");
    }
}

#[test]
fn what_was_refused_is_not_remembered() {
    let limited = settings(|settings| (settings.limits.rate_per_s, settings.limits.burst) = (1.0, 1));
    let mut rig = Rig::open(limited);
    rig.event(&plain("e"));
    let other = Draft::push("f", "fs-a").key("other");
    let Answered::Refused(kind, Some(wait_ms)) = rig.send(&other) else { panic!("over the rate") };
    assert_eq!(kind, "unavailable");
    rig.wait(wait_ms);
    assert_eq!(rig.send(&other.content("changed")), Answered::Ours(Outcome::Appended, None));
}

#[test]
fn unavailable_is_tried_again_after_the_hosts_own_figure() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.reply("e", &Say::Unavailable(Some(60_000)));
    rig.wait(59_999);
    assert_eq!(rig.told, ["e"]);
    rig.wait(1);
    assert_eq!(rig.told, ["e", "e"]);
}

#[test]
fn without_a_figure_it_is_tried_again_within_the_back_off() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    for attempt in 0..10_u32 {
        rig.reply("e", &Say::Unavailable(None));
        rig.wait((250_u64 << attempt).min(30_000));
        assert_eq!(rig.out_ids(), ["e"], "attempt {attempt}");
    }
}

#[test]
fn a_version_that_came_meanwhile_supersedes_it_inherits_its_time_and_needs_a_reason() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.event(&plain("f"));
    rig.reply("e", &Say::Unavailable(Some(1_000)));
    assert_eq!(rig.fate("e"), Some(&Fate::Replaced));
    rig.wait(1_499);
    assert_eq!(rig.told, ["e"], "its time has come, but not its reason");
    rig.wait(1);
    assert_eq!(rig.told, ["e", "f"]);
}

#[test]
fn what_supersedes_it_goes_no_sooner_than_the_host_said() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.event(&plain("f"));
    rig.reply("e", &Say::Unavailable(Some(60_000)));
    rig.wait(59_999);
    assert_eq!(rig.told, ["e"]);
    rig.wait(1);
    assert_eq!(rig.told, ["e", "f"]);
}

#[test]
fn one_that_replaces_it_while_it_waits_is_due() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.reply("e", &Say::Unavailable(Some(1_000)));
    rig.wait(900);
    assert_eq!(rig.send(&plain("f")), Answered::Ours(Outcome::Replaced, Some("e".into())));
    rig.wait(100);
    assert_eq!(rig.told, ["e", "f"]);
}

#[test]
fn the_next_version_waits_for_the_answer_or_25_s() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.write("e");
    rig.event(&urgent("f"));
    rig.event(&urgent("g"));
    rig.wait(ANSWER_MS - 1);
    assert_eq!(rig.told, ["e"]);
    rig.wait(1);
    assert_eq!(rig.told, ["e", "g"], "the newest only");
}

#[test]
fn the_25_s_run_from_the_last_byte_and_only_while_the_host_is_read() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.event(&urgent("f"));
    rig.wait(60_000);
    assert_eq!(rig.told, ["e"], "not written yet");
    rig.write("e");
    rig.wait(10_000);
    rig.feed(Input::Reading(false));
    rig.wait(600_000);
    assert_eq!(rig.told, ["e"], "nobody reads the host");
    rig.feed(Input::Reading(true));
    rig.wait(14_999);
    assert_eq!(rig.told, ["e"]);
    rig.wait(1);
    assert_eq!(rig.told, ["e", "f"]);
}

#[test]
fn while_the_host_is_not_read_nobody_is_woken_for_its_answers() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.write("e");
    rig.wait(ANSWER_MS - 1);
    rig.feed(Input::Reading(false));
    let mut woken = 0;
    while let Some(at) = rig.engine.deadline_ms().filter(|&at| at < 3_600_000) {
        rig.now_ms = at;
        rig.feed(Input::Tick);
        woken += 1;
    }
    assert!(woken < 10, "woken {woken} times in an hour");
}

#[test]
fn each_code_that_speaks_of_authority_waits_until_it_changes() {
    for code in [-32001, -32002, -32017, -32023] {
        let mut rig = Rig::open(Settings::default());
        rig.event(&message("e"));
        rig.reply("e", &Say::Code(code));
        rig.wait(600_000);
        assert_eq!((rig.told.len(), rig.fate("e")), (1, None), "{code}");
        rig.permit();
        assert_eq!(rig.told, ["e", "e"], "{code}");
    }
}

#[test]
fn every_other_code_is_for_good() {
    for code in CODES.into_iter().filter(|code| ![-32001, -32002, -32017, -32023, -32030].contains(code)) {
        let mut rig = Rig::open(Settings::default());
        rig.event(&urgent("e"));
        rig.reply("e", &Say::Code(code));
        assert!(matches!(rig.fate("e"), Some(Fate::Dead(_))), "{code}");
    }
}

#[test]
fn in_doubt_on_a_lane_with_dedup_it_is_sent_again_in_the_next_session() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.write("e");
    rig.end();
    assert_eq!(rig.fate("e"), None);
    rig.begin_open(legacy(Dedup::Push));
    assert_eq!(rig.told, ["e", "e"]);
    rig.reply("e", &Say::Duplicate);
    assert_eq!(rig.fate("e"), Some(&Fate::Delivered), "a duplicate is a receipt then");
}

#[test]
fn in_doubt_on_a_lane_without_dedup_it_is_left_for_an_operator() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&message("e"));
    rig.write("e");
    rig.end();
    assert_eq!(rig.fate("e"), Some(&Fate::InDoubt));
    rig.begin_open(legacy(Dedup::Push));
    rig.wait(60_000);
    assert_eq!(rig.told, ["e"]);
}

#[test]
fn in_doubt_resend_chooses_at_least_once() {
    let mut rig = Rig::open(settings(|settings| settings.host.in_doubt = InDoubt::Resend));
    rig.event(&message("e"));
    rig.write("e");
    rig.end();
    rig.begin_open(legacy(Dedup::None));
    assert_eq!(rig.told, ["e", "e"]);
}

#[test]
fn in_doubt_is_not_sent_to_a_host_that_does_not_drop_it() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.write("e");
    rig.end();
    rig.begin_open(legacy(Dedup::None));
    assert_eq!((rig.told.len(), rig.fate("e")), (1, Some(&Fate::InDoubt)));
}

#[test]
fn in_doubt_past_the_retry_window_is_left_for_an_operator() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.write("e");
    rig.end();
    rig.begin_open(legacy(Dedup::Push));
    rig.reply("e", &Say::Unavailable(Some(3_600_001)));
    rig.wait(3_600_001);
    assert_eq!(rig.told.len(), 2);
    assert!(rig.fate("e").is_some_and(mcpl_policy::engine::Fate::is_in_doubt));
}

#[test]
fn of_what_no_byte_was_handed_over_nothing_is_in_doubt() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&message("e"));
    rig.end();
    assert_eq!((rig.engine.load().held, rig.fate("e")), (1, None));
    rig.begin_open(legacy(Dedup::None));
    assert_eq!(rig.told, ["e", "e"]);
}

#[test]
fn a_host_that_is_no_mcpl_host_is_given_nothing() {
    let mut rig = Rig::new(Settings::default());
    rig.begin_open(legacy(Dedup::Push));
    rig.event(&plain("e"));
    rig.end();
    rig.begin_open(mcpl_policy::engine::Host { stance: Stance::Apart, ..legacy(Dedup::Push) });
    rig.feed(Input::Flush);
    rig.wait(600_000);
    assert_eq!((rig.told.len(), rig.engine.load().held), (0, 1));
}

#[test]
fn waiting_work_sets_no_more_timers_however_often_it_is_looked_at() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&urgent("e"));
    rig.reply("e", &Say::Unavailable(Some(3_600_000)));
    rig.end();
    rig.begin_open(mcpl_policy::engine::Host { stance: Stance::Aside, ..legacy(Dedup::Push) });
    for n in 0..3_000 {
        rig.event(&plain(&format!("p{n}")));
    }
    assert!(rig.engine.load().timers <= 1_100, "{:?}", rig.engine.load());
}

#[test]
fn what_inherits_a_lack_of_permission_goes_once_the_grant_changes() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&Draft::push("e", "fs-a").key("k").tags(&["chat:addressed"]));
    rig.event(&Draft::push("f", "fs-a").key("k"));
    rig.reply("e", &Say::Code(-32001));
    rig.feed(Input::Flush);
    assert_eq!(rig.out_ids(), Vec::<&str>::new(), "the host said no to its subject");
    let mut held = Rig::open(Settings::default());
    held.event(&Draft::push("e", "fs-a").key("k").tags(&["chat:addressed"]));
    held.event(&Draft::push("f", "fs-a").key("k"));
    held.reply("e", &Say::Code(-32001));
    for rig in [&mut rig, &mut held] {
        rig.permit();
        rig.feed(Input::Flush);
        assert_eq!(rig.out_ids(), ["f"]);
    }
}

#[test]
fn a_withdrawal_is_taken_while_the_sidecar_drains_and_new_work_is_not() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&Draft::push("e", "fs-a").key("k").tags(&["chat:addressed"]));
    rig.reply("e", &Say::Accepted);
    rig.feed(Input::Drain);
    let refused = rig.send(&Draft::push("f", "fs-a").key("other"));
    assert!(matches!(refused, Answered::Refused(ref kind, Some(_)) if kind == "unavailable"), "{refused:?}");
    let noted = rig.send(&Draft::push("z", "fs-a").key("k").retract());
    assert!(matches!(noted, Answered::Ours(Outcome::Noted, None)), "{noted:?}");
}
