//! What keeps rendered content, and the notices that wait for it, from being lost, displaced or told too early
//! (contract 6.5, 7.4, 7.5).

use bytes::Bytes;
use mcpl_policy::admission::Learned;
use mcpl_policy::engine::{Fate, GrantFact, Outcome, StoreState, Taught};
use mcpl_policy::settings::Position;
use mcpl_policy::{Input, Settings};

use super::rig::{Answered, Rig, settings};
use crate::draft::Draft;
use crate::say::Say;

fn plain(id: &str) -> Draft {
    Draft::push(id, "fs-a").key("k")
}

fn notice(id: &str) -> Draft {
    plain(id).deferred()
}

/// The producer is asked for a batch of this one notice; the number of the render.
fn asked(rig: &mut Rig, id: &str) -> u64 {
    let before = rig.asked.len();
    rig.event(&notice(id));
    rig.wait(2_000);
    assert_eq!(rig.asked.len(), before + 1, "asked for {id}");
    rig.asked[before].0
}

/// Rendered content is with the host, which has not answered.
fn out(id: &str) -> Rig {
    let mut rig = Rig::open(Settings::default());
    let render = asked(&mut rig, id);
    rig.render(render, Some("rendered"));
    rig.write(id);
    rig
}

/// From now on everything of the subject is written through.
fn close(rig: &mut Rig) {
    rig.feed(Input::Taught(Taught::of(&plain("any").event()), Learned::Closed));
}

#[test]
fn a_render_that_takes_too_long_lapses_with_its_authority() {
    let mut rig = Rig::open(Settings::default());
    asked(&mut rig, "n");
    rig.feed(Input::Grant(GrantFact::Notified(Bytes::from_static(br#"{"disabled":["fs-a"]}"#))));
    rig.wait(6_000);
    assert_eq!(rig.fate("n"), Some(&Fate::Lapsed));
}

#[test]
fn rendered_content_that_comes_back_is_not_displaced_by_a_notice_that_is_written_through() {
    let mut rig = out("n1");
    close(&mut rig);
    rig.event(&notice("n2"));
    rig.reply("n1", &Say::Unavailable(Some(0)));
    assert_eq!(rig.fate("n1"), None);
}

#[test]
fn rendered_content_that_is_set_aside_is_not_displaced_by_a_notice() {
    let mut rig = out("n1");
    close(&mut rig);
    rig.event(&plain("p"));
    rig.reply("n1", &Say::Unavailable(Some(0)));
    rig.permit();
    rig.event(&notice("n2"));
    assert_eq!(rig.fate("n1"), None);
}

#[test]
fn rendered_content_that_comes_back_waits_for_the_verdict_on_what_is_written_through() {
    let mut rig = out("n1");
    rig.event(&notice("n2"));
    close(&mut rig);
    rig.event(&plain("p"));
    rig.reply("n1", &Say::Unavailable(Some(0)));
    assert_eq!(rig.fate("n1"), None);
}

#[test]
fn a_batch_that_comes_back_is_not_displaced_by_a_notice_that_is_told_for_itself() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&notice("n1"));
    close(&mut rig);
    rig.event(&plain("p"));
    rig.event(&notice("n2"));
    rig.write("p");
    rig.reply("p", &Say::Code(-32602));
    assert_eq!(rig.fate("n1"), None);
}

#[test]
fn what_replaces_a_batch_behind_a_forward_goes_when_that_is_answered() {
    let mut rig = Rig::open(settings(|settings| settings.in_flight = 2));
    rig.event(&plain("p1").initial());
    rig.wait(2_000);
    rig.write("p1");
    rig.event(&notice("n"));
    rig.wait(2_000);
    // No render may begin now.
    rig.event(&plain("other").key("other"));
    rig.wait(2_000);
    rig.event(&plain("p2"));
    rig.reply("p1", &Say::Accepted);
    rig.wait(2_000);
    assert_eq!(rig.out_ids(), ["other", "p2"]);
}

#[test]
fn what_is_rendered_waits_as_long_as_the_host_asked_for_the_version_before_it() {
    let mut rig = Rig::open(Settings::default());
    rig.event(&plain("p").initial());
    rig.wait(2_000);
    rig.write("p");
    rig.wait(26_000);
    let render = asked(&mut rig, "n");
    rig.reply("p", &Say::Unavailable(Some(60_000)));
    rig.render(render, Some("rendered"));
    assert!(rig.out_ids().is_empty());
    rig.wait(61_000);
    assert_eq!(rig.out_ids(), ["n"]);
}

#[test]
fn the_newest_of_two_that_were_rendered_is_what_a_plain_occurrence_names() {
    let mut rig = out("n1");
    rig.wait(26_000);
    asked(&mut rig, "n2");
    rig.reply("n1", &Say::Unavailable(Some(60_000)));
    assert_eq!(rig.send(&plain("p")), Answered::Ours(Outcome::Replaced, Some("n2".to_owned())));
}

#[test]
fn of_two_answers_while_nothing_can_be_written_the_first_counts() {
    let mut rig = Rig::open(Settings::default());
    let render = asked(&mut rig, "n");
    rig.fail();
    rig.render(render, None);
    rig.render(render, Some("too late"));
    rig.restore(StoreState::Good);
    rig.wait(10);
    assert_eq!(rig.out[0].body["payload"]["content"], "content of n");
}

#[test]
fn a_batch_that_a_later_place_of_its_channel_releases_starts_its_render_at_once() {
    let mut rig = Rig::open(settings(|settings| settings.coalesce.position = Position::Tail));
    let message = |id| Draft::message(id, "chan-a").key("k");
    rig.event(&message("m1").initial());
    rig.wait(2_000);
    rig.write("m1");
    rig.event(&message("m2"));
    rig.wait(2_000);
    // It waits for the answer, and is replaced by one that is behind the notice.
    rig.event(&notice("n").channel("chan-a").key("other"));
    rig.event(&message("m3"));
    rig.reply("m1", &Say::Accepted);
    assert_eq!((rig.asked.len(), rig.out_ids()), (1, vec!["m3"]));
}
