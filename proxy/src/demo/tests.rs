use super::*;
use crate::demo::table::Sums;

fn performance() -> (Vec<script::Scene>, Played, Played) {
    let script = script::script();
    let (without, with) = both(&script).unwrap();
    (script, without, with)
}

fn texts(played: &Played) -> Vec<&str> {
    played.book.iter().filter(|given| given.taken).map(|given| &*given.text).collect()
}

#[test]
fn both_columns_are_what_the_two_hosts_were_given() {
    let (_, without, with) = performance();
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
fn it_fits_and_shows_no_colour_but_on_a_terminal() {
    let (script, without, with) = performance();
    let plain = table::table(&script, &without, &with, Paint { on: false });
    for line in plain.lines() {
        assert!(line.chars().count() <= 100 && line.is_ascii(), "{line}");
    }
    assert!(!plain.contains('\u{1b}'));
    let coloured = table::table(&script, &without, &with, Paint { on: true });
    assert!(coloured.contains("\u{1b}[1m"));
}

#[test]
fn a_second_performance_shows_the_same() {
    let shown = || {
        let (script, without, with) = performance();
        table::table(&script, &without, &with, Paint { on: false })
    };
    assert_eq!(shown(), shown());
}
