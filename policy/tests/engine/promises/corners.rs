//! Batches where they meet what else there is (contract 4.5, 5, 6.5, 7.1, 7.4, 7.5, 9).

use mcpl_policy::admission::Learned;
use mcpl_policy::engine::{Arrival, Fate, Host, Outcome, Stance, Taught, Ticket, Word};
use mcpl_policy::profile::Dedup;
use mcpl_policy::{Input, Settings};

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

/// The same, and the host has no room for it for a minute.
fn rendered_waits(rig: &mut Rig) {
    rendered_out(rig);
    rig.reply("n", &Say::Unavailable(Some(60_000)));
}

#[test]
fn a_plain_occurrence_that_replaces_a_batch_behind_a_forward_goes_when_that_is_answered() {
    let mut rig = Rig::open(patient());
    rendered_out(&mut rig);
    rig.send(&notice("m"));
    rig.feed(Input::Flush);
    assert_eq!(rig.send(&plain("p")), Answered::Ours(Outcome::Replaced, Some("m".into())));
    rig.reply("n", &Say::Accepted);
    assert_eq!((rig.told, rig.asked.len()), (vec!["n".to_owned(), "p".into()], 1));
}

#[test]
fn a_plain_occurrence_that_cancels_a_render_and_replaces_what_is_behind_it_goes() {
    let mut rig = Rig::open(Settings::default());
    rig.send(&notice("n"));
    rig.feed(Input::Flush);
    rig.send(&notice("m"));
    rig.feed(Input::Flush);
    rig.send(&plain("p"));
    rig.wait(60_000);
    assert_eq!((rig.out_ids(), rig.asked.len()), (vec!["p"], 1));
}

#[test]
fn a_notice_that_replaces_what_is_behind_a_forward_is_rendered_when_that_is_answered() {
    let mut rig = Rig::open(patient());
    rendered_out(&mut rig);
    rig.send(&plain("p"));
    rig.feed(Input::Flush);
    assert_eq!(rig.send(&notice("m")), Answered::Ours(Outcome::Replaced, Some("p".into())));
    rig.reply("n", &Say::Accepted);
    assert_eq!((rig.told, rig.asked.len()), (vec!["n".to_owned()], 2), "it is not told as its fallback");
}

#[test]
fn a_notice_that_is_written_through_ends_nothing_that_was_rendered() {
    let mut rig = Rig::open(patient());
    rendered_out(&mut rig);
    rig.feed(closed());
    let ticket = rig.event(&notice("t"));
    assert_eq!(rig.answer(ticket), None, "it waits for what is out");
    rig.reply("n", &Say::Unavailable(None));
    assert_eq!(rig.fate("n"), None, "a notice does not displace it");
    rig.reply("t", &Say::Code(-32602));
    rig.permit();
    rig.wait(1_000);
    assert_eq!(rig.out_ids(), ["n"]);
}

#[test]
fn a_batch_that_a_refused_write_through_displaced_is_not_lost_to_a_notice_that_is_not_accepted() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(closed());
    rig.event(&plain("t"));
    rig.event(&notice("u"));
    rig.reply("t", &Say::Code(-32602));
    assert_eq!(rig.fate("n"), None);
    rig.reply("u", &Say::Code(-32602));
    rig.permit();
    rig.feed(Input::Flush);
    assert_eq!(rig.asked.len(), 1);
    assert_eq!(rig.asked[0].1["notices"][0]["eventId"], "n");
}

#[test]
fn a_batch_that_is_set_aside_survives_a_notice_that_the_host_accepts() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(closed());
    rig.event(&plain("t"));
    rig.write("t");
    rig.event(&notice("u"));
    rig.wait(25_000);
    rig.reply("u", &Say::Accepted);
    rig.reply("t", &Say::Code(-32602));
    assert_eq!(rig.fate("n"), None, "nothing that was accepted took its place");
}

#[test]
fn what_was_rendered_and_is_set_aside_survives_a_notice() {
    let mut rig = Rig::open(patient());
    rendered_out(&mut rig);
    rig.feed(closed());
    rig.event(&plain("t"));
    rig.reply("n", &Say::Unavailable(None));
    assert_eq!(rig.out_ids(), ["t"]);
    rig.permit();
    assert_eq!(rig.send(&notice("m")), Answered::Ours(Outcome::First, None));
    rig.reply("t", &Say::Code(-32602));
    assert_eq!(rig.fate("n"), None);
    rig.permit();
    rig.wait(1_000);
    assert_eq!(rig.out_ids(), ["n"]);
}

#[test]
fn a_notice_that_joins_a_write_through_is_asked_for_with_it() {
    let mut rig = Rig::open(patient());
    rendered_out(&mut rig);
    rig.feed(closed());
    let waiting = rig.event(&notice("t"));
    rig.permit();
    assert_eq!(rig.send(&notice("m")), Answered::Ours(Outcome::Replaced, Some("t".into())));
    assert_eq!(rig.answer(waiting), Some(Answered::Ours(Outcome::Appended, None)));
    rig.reply("n", &Say::Accepted);
    rig.feed(Input::Flush);
    let notices = rig.asked[1].1["notices"].as_array().unwrap();
    assert_eq!(notices.iter().map(|notice| &notice["eventId"]).collect::<Vec<_>>(), ["t", "m"]);
}

#[test]
fn a_batch_that_joins_a_newer_one_gives_it_its_reason() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(Input::Congested(true));
    rig.feed(Input::Flush);
    rig.feed(closed());
    rig.feed(Input::Congested(false));
    rig.event(&plain("t"));
    rig.permit();
    assert_eq!(rig.send(&notice("m")), Answered::Ours(Outcome::First, None));
    rig.reply("t", &Say::Code(-32602));
    rig.permit();
    let notices = rig.asked[0].1["notices"].as_array().unwrap();
    assert_eq!(notices.iter().map(|notice| &notice["eventId"]).collect::<Vec<_>>(), ["n", "m"]);
}

#[test]
fn what_is_rendered_inherits_the_time_of_what_it_superseded() {
    let mut rig = Rig::open(patient());
    rig.send(&plain("p"));
    rig.feed(Input::Flush);
    rig.write("p");
    rig.wait(25_000);
    rig.send(&notice("n"));
    rig.feed(Input::Flush);
    rig.reply("p", &Say::Unavailable(Some(10_000)));
    rig.render(1, Some("fresh"));
    rig.wait(9_999);
    assert_eq!((rig.told.len(), rig.fate("p")), (1, Some(&Fate::Replaced)));
    rig.wait(1);
    assert_eq!(rig.out_ids(), ["n"]);
}

#[test]
fn a_host_that_dies_of_a_text_is_told_nothing_where_nothing_was_rendered() {
    let mut rig = Rig::new(patient());
    rig.begin_open(Host { dies_of_malformed: true, ..legacy(Dedup::Push) });
    let blocks = |id: &str| {
        let text = format!(
            r#"{{"featureSet":"fs-a","eventId":"{id}","timestamp":"t","coalesce":{{"key":"k","deferred":true}},"payload":{{"content":[{{"type":"text","text":"fallback"}}]}}}}"#
        );
        mcpl_codec::Event::push(text.into())
    };
    let ticket = Ticket(900);
    rig.feed(Input::Event(Arrival {
        ticket,
        answerable: true,
        event: blocks("n"),
        digest: None,
        thread: None,
    }));
    rig.feed(Input::Flush);
    rig.render(1, Some(""));
    assert_eq!((rig.fate("n"), rig.told.len()), (Some(&Fate::Empty), 0));
}

#[test]
fn a_batch_whose_authority_lapsed_is_dropped_when_its_render_takes_too_long() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(Input::Flush);
    rig.grant(br#"{"effectiveCapabilities":[]}"#);
    assert_eq!(rig.fate("n"), None);
    rig.wait(5_000);
    assert_eq!(rig.fate("n"), Some(&Fate::Lapsed));
    rig.permit();
    rig.render(1, Some("late"));
    assert!(rig.told.is_empty());
}

#[test]
fn a_rendered_dead_letter_sent_again_is_what_was_rendered() {
    let mut rig = Rig::open(patient());
    rendered_out(&mut rig);
    rig.reply("n", &Say::Code(-32602));
    rig.send(&notice("m"));
    assert_eq!(rig.resolve("n", Word::Again, None), Ok(Fate::Held));
    assert_eq!(rig.given.last(), Some(&("n".to_owned(), "fresh".to_owned())));
    assert_eq!(rig.fate("m"), None, "what is pending is told after it");
    rig.feed(Input::Flush);
    assert_eq!(rig.asked.len(), 1, "and is not asked for before");
    rig.reply("n", &Say::Accepted);
    assert_eq!(rig.asked.len(), 2);
}

#[test]
fn a_plain_dead_letter_is_not_told_before_what_was_rendered_since() {
    let mut rig = Rig::open(patient());
    rig.send(&plain("p").tags(&["chat:addressed"]));
    rig.reply("p", &Say::Code(-32602));
    rendered_waits(&mut rig);
    assert_eq!(rig.resolve("p", Word::Again, None), Ok(Fate::Replaced));
}

#[test]
fn a_batch_behind_what_waits_for_a_time_is_passed_by_in_its_channel() {
    let mut rig = Rig::open(settings(|settings| {
        *settings = patient();
        settings.store_uncoalesced = true;
    }));
    let in_channel = |id: &str| notice(id).channel("chan-a");
    rig.send(&in_channel("n"));
    rig.feed(Input::Flush);
    rig.render(1, Some("fresh"));
    rig.reply("n", &Say::Unavailable(Some(60_000)));
    rig.send(&Draft::message("e", "chan-a"));
    rig.send(&in_channel("m").tags(&["chat:addressed"]));
    rig.send(&Draft::message("f", "chan-a"));
    rig.reply("e", &Say::Accepted);
    assert_eq!(rig.told, ["n", "e", "f"], "it waits for a minute, and nobody waits for it");
}

#[test]
fn in_a_session_that_is_stepped_aside_from_a_batch_and_what_is_rendered_go_before_their_scope() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n"));
    rig.feed(Input::Flush);
    rig.send(&notice("m"));
    rig.end();
    rig.feed(Input::Began(Host { stance: Stance::Aside, ..legacy(Dedup::Push) }));
    rig.event(&plain("x"));
    assert_eq!(rig.given[..1], [("n".to_owned(), "content of n".to_owned())]);
    assert!(rig.told.contains(&"pass".to_owned()));
    rig.reply("n", &Say::Accepted);
    assert_eq!(rig.told.iter().filter(|id| *id == "m").count(), 1, "as its fallback: {:?}", rig.told);
    assert_eq!(rig.asked.len(), 1);
}

#[test]
fn a_batch_is_rendered_before_the_places_behind_it_go_and_none_of_them_waits() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n").channel("chan-a"));
    rig.send(&Draft::message("e", "chan-a").key("other").tags(&["chat:addressed"]));
    assert_eq!((rig.asked.len(), rig.told.clone()), (1, vec!["e".to_owned()]));
    rig.event(&Draft::message("u", "chan-a"));
    assert_eq!(rig.told, ["e", "pass"]);
}

#[test]
fn where_a_replacement_keeps_its_place_a_plain_that_cancelled_a_render_has_that_of_the_batch() {
    let mut rig = Rig::open(patient());
    rig.send(&notice("n").channel("chan-a").tags(&["chat:addressed"]));
    rig.send(&Draft::message("e", "chan-a").key("other"));
    rig.send(&plain("p").channel("chan-a"));
    assert!(rig.told.is_empty(), "it waits for a reason of its own");
    rig.feed(Input::Flush);
    assert_eq!(rig.told, ["p", "e"]);
}
