use std::collections::BTreeSet;

use mcpl_codec::refusal::Kind;
use proptest::prelude::*;

use super::*;
use crate::disposition::{DecisionState, Delivery, Observed};

fn every_fate() -> Vec<Fate> {
    let mut all = vec![
        Fate::Held,
        Fate::Submitted,
        Fate::InDoubt,
        Fate::Delivered,
        Fate::Replaced,
        Fate::Withdrawn,
        Fate::Empty,
        Fate::Lapsed,
        Fate::Dropped,
        Fate::Expired,
    ];
    for why in [Deferral::Backpressure, Deferral::Other] {
        all.extend([Fate::Deferred(why), Fate::SubmittedAfter(why), Fate::InDoubtAfter(why)]);
    }
    let kinds =
        ["invalid", "not_permitted", "unknown_channel", "unavailable", "too_large", "duplicate", "novel", ""];
    for kind in kinds {
        for retryable in [None, Some(false), Some(true)] {
            for limit_bytes in [None, Some(0), Some(u64::MAX)] {
                let kind = Kind::from(kind);
                all.push(Fate::Dead(Refusal { kind, retryable, retry_after_ms: None, limit_bytes }));
            }
        }
    }
    all
}

/// Whether zero or more legal steps lead from one to the other.
fn leads<T: Copy + PartialEq>(all: &[T], may: fn(T, T) -> bool, from: T, to: T) -> bool {
    let mut reached = vec![from];
    let mut at = 0;
    while let Some(&here) = reached.get(at) {
        let next: Vec<T> =
            all.iter().copied().filter(|&next| may(here, next) && !reached.contains(&next)).collect();
        reached.extend(next);
        at += 1;
    }
    reached.contains(&to)
}

/// Whether each fact of `from` may come to be that of `to`.
fn facts_lead(from: (Delivery, DecisionState, Observed), to: &Fate) -> bool {
    let to = to.facts();
    leads(&Delivery::ALL, Delivery::may_become, from.0, to.delivery())
        && leads(&DecisionState::ALL, DecisionState::may_become, from.1, to.decision().state())
        && leads(&Observed::ALL, Observed::may_become, from.2, to.outcome())
}

fn facts(fate: &Fate) -> (Delivery, DecisionState, Observed) {
    let facts = fate.facts();
    (facts.delivery(), facts.decision().state(), facts.outcome())
}

#[test]
fn whatever_becomes_of_an_occurrence_each_fact_moves_by_legal_steps() {
    let mut changes = 0;
    for from in every_fate() {
        for to in every_fate() {
            if from.may_become(&to) {
                assert!(facts_lead(facts(&from), &to), "{from:?} -> {to:?}");
                changes += usize::from(from != to);
            }
        }
    }
    assert!(changes > 100, "only {changes} changes were looked at");
}

#[test]
fn whatever_is_first_known_of_an_occurrence_is_reached_by_legal_steps() {
    let start = (Delivery::ControlPlaneAccepted, DecisionState::Pending, Observed::NotObserved);
    for fate in every_fate() {
        assert!(facts_lead(start, &fate), "{fate:?}");
    }
}

#[test]
fn no_facts_contradict_each_other() {
    for fate in every_fate() {
        let (delivery, decision, outcome) = facts(&fate);
        if matches!(delivery, Delivery::ContextAdmitted | Delivery::AdapterSubmitted) {
            assert!(matches!(decision, DecisionState::Accepted | DecisionState::Revoked), "{fate:?}");
        }
        if outcome != Observed::NotObserved {
            assert_eq!(delivery, Delivery::AdapterSubmitted, "{fate:?}");
        }
        if matches!(decision, DecisionState::Expired | DecisionState::Rejected) {
            assert_ne!(delivery, Delivery::AdapterSubmitted, "{fate:?}");
        }
        assert_eq!(delivery == Delivery::Expired, decision == DecisionState::Expired, "{fate:?}");
    }
}

#[test]
fn every_change_of_fate_is_one_of_these() {
    let names = |fate: &Fate| match fate {
        Fate::Dead(_) => "Dead".to_owned(),
        fate => format!("{fate:?}"),
    };
    let row = |from: &Fate| {
        let next: BTreeSet<String> =
            every_fate().iter().filter(|to| from != *to && from.may_become(to)).map(names).collect();
        next.into_iter().collect::<Vec<_>>().join(" ")
    };
    for (from, next) in [
        (Fate::Held, "Empty Expired Lapsed Replaced Submitted Withdrawn"),
        (Fate::Deferred(Deferral::Backpressure), "Expired Replaced SubmittedAfter(Backpressure) Withdrawn"),
        (Fate::Deferred(Deferral::Other), "Expired Replaced SubmittedAfter(Other) Withdrawn"),
        (
            Fate::Submitted,
            "Dead Deferred(Backpressure) Deferred(Other) Delivered Dropped Expired Held InDoubt \
             InDoubtAfter(Backpressure) InDoubtAfter(Other) Replaced SubmittedAfter(Backpressure) \
             SubmittedAfter(Other) Withdrawn",
        ),
        (
            Fate::SubmittedAfter(Deferral::Backpressure),
            "Dead Deferred(Backpressure) Deferred(Other) Delivered Dropped Expired \
             InDoubtAfter(Backpressure) InDoubtAfter(Other) Replaced SubmittedAfter(Other) Withdrawn",
        ),
        (
            Fate::SubmittedAfter(Deferral::Other),
            "Dead Deferred(Backpressure) Deferred(Other) Delivered Dropped Expired \
             InDoubtAfter(Backpressure) InDoubtAfter(Other) Replaced SubmittedAfter(Backpressure) Withdrawn",
        ),
        (Fate::InDoubt, "Delivered Dropped Replaced"),
        (Fate::InDoubtAfter(Deferral::Backpressure), "Delivered Dropped Replaced"),
        (Fate::InDoubtAfter(Deferral::Other), "Delivered Dropped Replaced"),
    ] {
        assert_eq!(row(&from), next, "{from:?}");
    }
}

#[test]
fn what_ended_becomes_nothing_else() {
    for from in every_fate() {
        let changes = every_fate().iter().any(|to| from != *to && from.may_become(to));
        assert_eq!(changes, !from.is_end(), "{from:?}");
        assert!(from.may_become(&from), "{from:?}");
    }
}

#[test]
fn what_was_never_handed_over_is_neither_taken_nor_refused_nor_in_doubt() {
    for from in every_fate().iter().filter(|fate| matches!(fate, Fate::Held | Fate::Deferred(_))) {
        for to in every_fate() {
            let says_so = to.is_in_doubt() || matches!(to, Fate::Delivered | Fate::Dead(_));
            assert!(!(says_so && from.may_become(&to)), "{from:?} -> {to:?}");
        }
    }
}

#[test]
fn a_fresh_attempt_begins_a_disposition_and_continues_none() {
    for fate in every_fate() {
        let operators = fate.is_in_doubt() || matches!(fate, Fate::Dead(_));
        assert_eq!(fate.renewed(), operators.then_some(Fate::Held), "{fate:?}");
        if let Some(fresh) = fate.renewed() {
            assert!(!fate.may_become(&fresh), "{fate:?}");
        }
    }
}

#[test]
fn a_deferral_is_remembered_until_it_is_decided() {
    assert_eq!((Fate::submitted(None), Fate::in_doubt(None)), (Fate::Submitted, Fate::InDoubt));
    for why in [Deferral::Backpressure, Deferral::Other] {
        let (out, lost) = (Fate::submitted(Some(why)), Fate::in_doubt(Some(why)));
        for fate in [&Fate::Deferred(why), &out, &lost] {
            assert_eq!(fate.deferral(), Some(why));
        }
        assert!(Fate::Deferred(why).may_become(&out) && out.may_become(&lost));
        assert!(out.is_submitted() && lost.is_in_doubt());
        assert!(!out.may_become(&Fate::Held) && !out.may_become(&Fate::InDoubt));
        assert!(!Fate::Deferred(why).may_become(&Fate::Held));
    }
    for fate in every_fate().iter().filter(|fate| fate.is_end()) {
        assert_eq!(fate.deferral(), None, "{fate:?}");
    }
}

#[test]
fn every_state_has_a_name_and_every_name_a_state() {
    let names: BTreeSet<_> = every_fate().iter().map(Fate::state).collect();
    assert_eq!(names, BTreeSet::from(Fate::STATES));
}

#[test]
fn people_are_told_one_line_and_no_failure_where_there_is_none() {
    for fate in every_fate() {
        let told = fate.told();
        assert!(!told.is_empty() && !told.contains(char::is_control), "{told}");
        assert!(!told.contains("fail"), "{told}");
    }
    assert_eq!(Fate::Replaced.told(), "replaced by a newer one");
    assert_eq!(
        Fate::Dead(Refusal::too_large(9)).told(),
        "refused by the host for good: too_large (at most 9 bytes)"
    );
    let odd = Kind::Other(format!("\u{1b}[2J\n{}", "x".repeat(9_000)).into());
    let told = Fate::Dead(Refusal { kind: odd, ..Refusal::invalid() }).told();
    assert!(!told.contains(char::is_control) && told.len() < 200, "{told}");
}

#[test]
fn every_fate_comes_back_from_its_bytes_and_says_where_they_end() {
    let mut spellings = BTreeSet::new();
    for fate in every_fate() {
        let mut bytes = Vec::new();
        fate.encode(&mut bytes);
        let length = bytes.len();
        assert!(length == 1 || matches!(fate, Fate::Dead(_)), "{fate:?}");
        assert!(spellings.insert(bytes.clone()), "{fate:?} is spelled as another one");
        for cut in 0..length {
            assert_eq!(Fate::decode(&bytes[..cut]), None, "{fate:?} cut at {cut}");
        }
        bytes.extend(b"the rest of the row");
        assert_eq!(Fate::decode(&bytes), Some((fate, length)));
    }
}

/// `refusal` as it comes back.
fn kept(refusal: Refusal) -> (Refusal, usize) {
    let mut bytes = Vec::new();
    Fate::Dead(refusal).encode(&mut bytes);
    match Fate::decode(&bytes) {
        Some((Fate::Dead(refusal), length)) => (refusal, length),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_long_kind_is_cut_between_characters() {
    let of = |kind: String| {
        let refusal = Refusal { kind: Kind::Other(kind.into()), ..Refusal::too_large(7) };
        let (refusal, length) = kept(refusal);
        assert!(length <= 76, "{length}");
        refusal.kind.as_str().to_owned()
    };
    assert_eq!(of("x".repeat(64)), "x".repeat(64));
    assert_eq!(of("x".repeat(65)), "x".repeat(64));
    assert_eq!(of("\u{20ac}".repeat(99)), "\u{20ac}".repeat(21));
}

#[test]
fn of_a_refusal_only_the_time_to_try_again_is_not_kept() {
    let (refusal, _) = kept(Refusal::unavailable(5));
    assert_eq!(refusal, Refusal { retry_after_ms: None, ..Refusal::unavailable(5) });
}

#[test]
fn a_known_kind_has_one_spelling() {
    let (refusal, _) = kept(Refusal { kind: Kind::Other("invalid".into()), ..Refusal::invalid() });
    assert_eq!(refusal, Refusal::invalid());
    assert_eq!(Fate::decode(b"\x0a\x06\x07invalid\x01"), None);
}

#[test]
fn a_longer_kind_than_is_ever_written_is_not_read() {
    let spelled = |length: usize| [&[10, 6, length as u8][..], &vec![b'x'; length], &[1]].concat();
    assert_eq!(Fate::decode(&spelled(64)).map(|(_, length)| length), Some(68));
    assert_eq!(Fate::decode(&spelled(65)), None);
}

proptest! {
    #[test]
    fn no_bytes_are_misread(bytes in prop::collection::vec(0u8..20, 0..24)) {
        if let Some((fate, length)) = Fate::decode(&bytes) {
            let mut again = Vec::new();
            fate.encode(&mut again);
            prop_assert_eq!(again, &bytes[..length]);
        }
    }
}
