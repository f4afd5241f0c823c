use mcpl_codec::Refusal;

use super::*;

/// Every decision with every reason that it has.
const DECISIONS: [Decision; 19] = [
    Decision::Pending,
    Decision::Accepted,
    Decision::Rejected(Rejection::PolicyDenied),
    Decision::Rejected(Rejection::ReceiverRejected),
    Decision::Rejected(Rejection::StructuredGateRequired),
    Decision::Rejected(Rejection::Backpressure),
    Decision::Rejected(Rejection::EvidenceInsufficient),
    Decision::Rejected(Rejection::Other),
    Decision::Deferred(Postponement::ReceiverDeferred),
    Decision::Deferred(Postponement::Backpressure),
    Decision::Deferred(Postponement::Other),
    Decision::Stale(Staleness::Incarnation),
    Decision::Stale(Staleness::Run),
    Decision::Stale(Staleness::Objective),
    Decision::Expired,
    Decision::Unsupported(Unsupported::Intent),
    Decision::Unsupported(Unsupported::DeliveryMode),
    Decision::Unsupported(Unsupported::StructuredGateRequired),
    Decision::Revoked,
];

/// Compares every pair of `all` with a table of rows `from: to to …`.
fn is_the_table<T: Copy>(all: &[T], name: fn(T) -> &'static str, may: fn(T, T) -> bool, table: &str) {
    let after = |from: &str| {
        let row = table.lines().find_map(|row| row.trim().strip_prefix(from)?.strip_prefix(':'));
        row.unwrap_or_else(|| panic!("no row {from}")).split_whitespace().collect::<Vec<_>>()
    };
    for &from in all {
        for &to in all {
            let wanted = after(name(from)).contains(&name(to));
            assert_eq!(may(from, to), wanted, "{} -> {}", name(from), name(to));
        }
    }
    let rows = table.lines().filter(|row| !row.trim().is_empty()).count();
    assert_eq!(rows, all.len(), "a row for each");
}

#[test]
fn delivery_moves_as_the_contract_says_and_in_no_other_way() {
    is_the_table(
        &Delivery::ALL,
        Delivery::as_str,
        Delivery::may_become,
        "control-plane-accepted: durably-received failed expired
         durably-received: receiver-notified checkpoint-offered adapter-submitted failed expired
         receiver-notified: context-admitted failed expired
         checkpoint-offered: context-admitted failed expired
         context-admitted: adapter-submitted failed expired
         adapter-submitted:
         failed:
         expired:",
    );
}

#[test]
fn a_decision_changes_as_the_contract_says_and_in_no_other_way() {
    is_the_table(
        &DecisionState::ALL,
        DecisionState::as_str,
        DecisionState::may_become,
        "pending: accepted rejected deferred stale expired unsupported revoked
         accepted: revoked
         rejected:
         deferred: accepted rejected stale expired revoked
         stale:
         expired:
         unsupported:
         revoked:",
    );
}

#[test]
fn an_outcome_changes_as_the_contract_says_and_in_no_other_way() {
    is_the_table(
        &Observed::ALL,
        Observed::as_str,
        Observed::may_become,
        "not-observed: effect-observed externally-verified failed
         effect-observed: externally-verified
         externally-verified:
         failed:",
    );
}

#[test]
fn every_decision_has_the_reasons_of_the_contract_and_no_others() {
    for (state, reasons) in [
        ("pending", ""),
        ("accepted", "accepted"),
        (
            "rejected",
            "policy-denied receiver-rejected structured-gate-required backpressure evidence-insufficient \
             other",
        ),
        ("deferred", "receiver-deferred backpressure other"),
        ("stale", "stale-incarnation stale-run stale-objective"),
        ("expired", "expired"),
        ("unsupported", "unsupported-intent unsupported-delivery-mode structured-gate-required"),
        ("revoked", "revoked"),
    ] {
        let has: Vec<_> = DECISIONS
            .iter()
            .filter(|decision| decision.state().as_str() == state)
            .filter_map(|decision| decision.reason())
            .collect();
        assert_eq!(has, reasons.split_whitespace().collect::<Vec<_>>(), "{state}");
    }
}

#[test]
fn every_fate_has_the_facts_of_the_contract() {
    let dead = |kind: &str| Fate::Dead(Refusal { kind: kind.into(), ..Refusal::invalid() });
    let (full, other) = (Deferral::Backpressure, Deferral::Other);
    for (fate, facts) in [
        (Fate::Held, "durably-received pending -"),
        (Fate::Deferred(full), "durably-received deferred backpressure"),
        (Fate::Deferred(other), "durably-received deferred other"),
        (Fate::Submitted, "durably-received pending -"),
        (Fate::SubmittedAfter(full), "durably-received deferred backpressure"),
        (Fate::SubmittedAfter(other), "durably-received deferred other"),
        (Fate::InDoubt, "durably-received pending -"),
        (Fate::InDoubtAfter(full), "durably-received deferred backpressure"),
        (Fate::InDoubtAfter(other), "durably-received deferred other"),
        (Fate::Delivered, "adapter-submitted accepted accepted"),
        (Fate::Replaced, "failed stale stale-objective"),
        (Fate::Withdrawn, "failed revoked revoked"),
        (Fate::Empty, "failed revoked revoked"),
        (Fate::Lapsed, "failed revoked revoked"),
        (Fate::Dropped, "failed revoked revoked"),
        (Fate::Expired, "expired expired expired"),
        (dead("not_permitted"), "failed rejected policy-denied"),
        (dead("unknown_channel"), "failed rejected policy-denied"),
        (dead("invalid"), "failed rejected other"),
        (dead("too_large"), "failed rejected other"),
        (dead("unavailable"), "failed rejected other"),
        (dead("duplicate"), "failed rejected other"),
        (dead("novel"), "failed rejected other"),
    ] {
        let has = fate.facts();
        let decision = has.decision();
        let (state, reason) = (decision.state().as_str(), decision.reason().unwrap_or("-"));
        assert_eq!(format!("{} {state} {reason}", has.delivery().as_str()), facts, "{fate:?}");
        assert_eq!(has.outcome().as_str(), "not-observed", "{fate:?}");
    }
}
