use super::*;
use crate::demo::table::Sums;

fn performance() -> (Played, Played) {
    both(&script::drafts()).unwrap()
}

fn texts(played: &Played) -> Vec<&str> {
    played.book.iter().filter(|given| given.taken).map(|given| &*given.text).collect()
}

#[test]
fn both_columns_are_what_the_two_hosts_were_given() {
    let (without, with) = performance();
    let plain = Sums::of(&without);
    assert_eq!(plain, Sums { sent: 30, given: 25, in_words: 5, in_fields: 0, limited: 0, lost: 2 });
    let ours = Sums::of(&with);
    assert_eq!(ours, Sums { sent: 30, given: 14, in_words: 0, in_fields: 11, limited: 7, lost: 0 });
    let told: Vec<&str> = texts(&with).into_iter().filter(|text| !text.starts_with("alert")).collect();
    assert_eq!(
        told,
        [
            "good morning",
            "lunch at 12:30?",
            "lunch at 13:00?",
            "message 1 deleted",
            "battery 80 %",
            "battery 77 %",
            "still here",
            "stand-up in 5 min",
            "battery 76 %",
        ]
    );
    let tally = with.tally.unwrap();
    assert_eq!((tally.folded, tally.retried, tally.dead, tally.in_doubt), (5, 1, 0, 0), "{tally}");
}

#[test]
fn of_a_released_producer_the_model_is_shown_what_is_so_in_the_end() {
    let (without, with) = both(&discord::act()).unwrap();
    assert_eq!(
        texts(&without),
        [
            "good morning",
            "lunch at nonn?",
            "lunch at noon?",
            "wrong window",
            "message 3 deleted",
            "message 1 deleted"
        ],
        "the second edit is a duplicate to the host"
    );
    assert_eq!(texts(&with), ["good morning", "lunch at 12:30?", "message 1 deleted"]);
    assert_eq!((Sums::of(&with).in_words, Sums::of(&with).in_fields), (0, 0), "nothing is refused");
}

#[test]
fn it_fits_and_shows_no_colour_but_on_a_terminal() {
    let plain = show(Paint { on: false }).unwrap();
    for line in plain.lines() {
        assert!(line.chars().count() <= 100 && line.is_ascii(), "{line}");
    }
    assert!(!plain.contains('\u{1b}'));
    let coloured = show(Paint { on: true }).unwrap();
    assert!(coloured.contains("\u{1b}[1m"));
}

#[test]
fn a_second_performance_shows_the_same() {
    let shown = || show(Paint { on: false }).unwrap();
    assert_eq!(shown(), shown());
}
