//! What an account says of its rows.

use std::collections::HashSet;

use mcpl_codec::Refusal;
use mcpl_policy::fate::Deferral;
use mcpl_policy::journal::{BatchRow, Place};
use serde_json::{Value, json};

use super::sample::{fates, meta, push, receipt, work};
use super::*;

fn account(number: u64, rows: Rows) -> Account {
    Account::of("discord", number, rows, Some(&Clock::of(&meta()))).unwrap()
}

fn value(account: &Account) -> Value {
    serde_json::to_value(account).unwrap()
}

#[test]
fn every_fate_has_a_state_of_the_list_and_the_facts_of_the_contract() {
    let facts = |fate: &Fate| {
        let account = account(1, Rows { receipt: Some(receipt("e", fate.clone())), ..Rows::default() });
        let value = value(&account);
        assert_eq!((&value["state"], value["revision"].as_u64()), (&json!(fate.state()), Some(2)));
        let named = |name: &str| value[name].as_str().unwrap().to_owned();
        let decision = &value["decision"];
        let reason = decision.get("reason").map_or("", |reason| reason.as_str().unwrap());
        [
            named("delivery"),
            decision["state"].as_str().unwrap().to_owned(),
            reason.to_owned(),
            named("outcome"),
        ]
    };
    for (fate, said) in [
        (Fate::Held, ["durably-received", "pending", "", "not-observed"]),
        (
            Fate::Deferred(Deferral::Backpressure),
            ["durably-received", "deferred", "backpressure", "not-observed"],
        ),
        (Fate::Submitted, ["durably-received", "pending", "", "not-observed"]),
        (Fate::InDoubt, ["durably-received", "pending", "", "not-observed"]),
        (Fate::SubmittedAfter(Deferral::Other), ["durably-received", "deferred", "other", "not-observed"]),
        (Fate::InDoubtAfter(Deferral::Other), ["durably-received", "deferred", "other", "not-observed"]),
        (Fate::Delivered, ["adapter-submitted", "accepted", "accepted", "not-observed"]),
        (Fate::Replaced, ["failed", "stale", "stale-objective", "not-observed"]),
        (Fate::Withdrawn, ["failed", "revoked", "revoked", "not-observed"]),
        (Fate::Dead(Refusal::not_permitted()), ["failed", "rejected", "policy-denied", "not-observed"]),
        (Fate::Empty, ["failed", "revoked", "revoked", "not-observed"]),
        (Fate::Lapsed, ["failed", "revoked", "revoked", "not-observed"]),
        (Fate::Dropped, ["failed", "revoked", "revoked", "not-observed"]),
        (Fate::Expired, ["expired", "expired", "expired", "not-observed"]),
        (Fate::Dead(Refusal::invalid()), ["failed", "rejected", "other", "not-observed"]),
    ] {
        assert_eq!(facts(&fate), said, "{fate:?}");
    }
    let states: HashSet<&str> = fates().iter().map(Fate::state).collect();
    assert_eq!(states, Fate::STATES.into_iter().collect(), "what a list can be asked for is what there is");
}

#[test]
fn what_is_held_is_told_with_all_that_is_known() {
    let text = push("msg_1");
    let mut row = work(Fate::Deferred(Deferral::Backpressure));
    (row.revision, row.attempts, row.not_before_ms) = (3, 2, 61_500);
    (row.outcome, row.prior, row.expires_ms) = (Some(Outcome::Replaced), Some("msg_0".into()), Some(0));
    let rows = Rows {
        work: Some(row),
        text: Some(text.clone()),
        receipt: Some(receipt("msg_1", Fate::Held)),
        ..Rows::default()
    };
    assert_eq!(
        value(&account(12, rows)),
        json!({
            "id": "discord/12", "producer": "discord", "eventId": "msg_1", "state": "deferred",
            "waits": "retry",
            "delivery": "durably-received", "decision": {"state": "deferred", "reason": "backpressure"},
            "outcome": "not-observed", "revision": 3, "lane": "push/event", "scope": {"featureSet": "fs"},
            "key": "k", "admitted": "2027-01-15T07:59:59.000Z", "attempts": 2,
            "notBefore": "2027-01-15T08:00:01.500Z", "expiresAt": "1970-01-01T00:00:00.000Z",
            "coalesce": {"outcome": "replaced", "priorEventId": "msg_0"}, "bytes": text.len(),
        }),
        "the row of the work counts where the receipt says something else, and content is not shown"
    );
}

#[test]
fn a_pending_batch_says_what_it_stands_for_and_nothing_else_does() {
    let mut row = work(Fate::Held);
    row.place = Place::Batch(BatchRow { id: 1, total: 100 });
    let shown = |row: WorkRow, kept| {
        let mut account = account(1, Rows { work: Some(row), kept, ..Rows::default() });
        account.show_notices(&[
            br#"{"eventId":"a",
"data":1.0}"#
                .to_vec(),
            b"damaged".to_vec(),
        ]);
        value(&account)
    };
    let told = shown(row.clone(), 64);
    assert_eq!(told["batch"], json!({"notices": 100, "kept": 64}));
    assert_eq!(told["notices"].as_array().map(Vec::len), Some(1));
    row.place = Place::Batch(BatchRow { id: 1, total: 2 });
    assert_eq!(shown(row.clone(), 3)["batch"], json!({"notices": 2, "kept": 2}), "read as it grew");
    for place in [Place::Plain, Place::Rendered, Place::Fixed, Place::Stored] {
        row.place = place;
        let told = shown(row.clone(), 0);
        assert_eq!((told.get("batch"), told.get("notices")), (None, None), "{place:?}");
    }
}

#[test]
fn what_is_not_known_is_left_out() {
    let mut row = receipt("e", Fate::Delivered);
    row.outcome = None;
    let account = Account::of("discord", 1, Rows { receipt: Some(row), ..Rows::default() }, None).unwrap();
    assert_eq!(
        value(&account),
        json!({
            "id": "discord/1", "producer": "discord", "eventId": "e", "state": "delivered",
            "delivery": "adapter-submitted", "decision": {"state": "accepted", "reason": "accepted"},
            "outcome": "not-observed", "revision": 2,
        })
    );
    assert!(Account::of("discord", 1, Rows::default(), None).is_none(), "no rows, no account");
}

#[test]
fn a_channel_message_is_of_its_channel_and_known_by_its_message_id() {
    let mut row = work(Fate::Held);
    (row.lane, row.outcome) = (Lane::Channel, None);
    let text = Bytes::from_static(br#"{"channelId":"chat","messageId":7.50,"content":"x"}"#);
    let value = value(&account(1, Rows { work: Some(row), text: Some(text), ..Rows::default() }));
    assert_eq!((&value["eventId"], &value["lane"]), (&json!("7.50"), &json!("channels/incoming")));
    assert_eq!((&value["scope"], value.get("key")), (&json!({"channel": "chat"}), None));
    let text =
        Bytes::from_static(br#"{"featureSet":"fs","eventId":"e","coalesce":{"key":"k","channelId":"chat"}}"#);
    let pushed = account(1, Rows { work: Some(work(Fate::Held)), text: Some(text), ..Rows::default() });
    assert_eq!(pushed.scope, Some(Scope::Channel("chat".to_owned())), "a push that is told in a channel");
}

#[test]
fn what_put_an_end_to_it_is_named_for_what_it_did() {
    for (fate, member, other) in
        [(Fate::Replaced, "replacedBy", "withdrawnBy"), (Fate::Withdrawn, "withdrawnBy", "replacedBy")]
    {
        let mut row = receipt("a", fate);
        row.by = 9;
        let value =
            value(&account(1, Rows { receipt: Some(row), by: Some("b".to_owned()), ..Rows::default() }));
        assert_eq!(value[member], json!({"id": "discord/9", "eventId": "b"}));
        assert_eq!(value.get(other), None);
    }
}

#[test]
fn a_dead_letter_says_why_and_is_not_tried_again_by_itself() {
    let mut row = work(Fate::Dead(Refusal::too_large(10)));
    (row.event_id, row.attempts, row.not_before_ms) = (Some("e".into()), 3, 70_000);
    let account = account(1, Rows { work: Some(row), ..Rows::default() });
    let value = value(&account);
    assert_eq!((&value["eventId"], &value["state"]), (&json!("e"), &json!("dead-letter")));
    assert_eq!(value["refusal"]["refusal"], "too_large");
    for absent in ["attempts", "notBefore", "scope", "key", "bytes", "event"] {
        assert_eq!(value.get(absent), None, "{absent}");
    }
}

#[test]
fn a_dead_letter_that_was_dropped_says_so() {
    let mut open = account(1, Rows { work: Some(work(Fate::Dead(Refusal::invalid()))), ..Rows::default() });
    open.tell();
    assert_eq!(open.says.as_deref(), Some("refused by the host for good: invalid"));
    let receipt = receipt("e", Fate::Dead(Refusal::invalid()));
    let mut dropped = account(1, Rows { receipt: Some(receipt), ..Rows::default() });
    dropped.tell();
    let says = dropped.says.as_deref();
    assert_eq!(says, Some("refused by the host for good: invalid; then dropped by an operator"));
}

#[test]
fn an_event_is_shown_as_it_was_sent_and_on_one_line() {
    let mut account = account(1, Rows { work: Some(work(Fate::Held)), ..Rows::default() });
    account.show_event(b"{\"a\":\n 1e400,\r\n\"b\":\"\\ud800\"}");
    assert_eq!(account.event.as_ref().unwrap().get(), "{\"a\":  1e400,  \"b\":\"\\ud800\"}");
    let line = serde_json::to_string(&account).unwrap();
    assert!(
        line.ends_with("\"event\":{\"a\":  1e400,  \"b\":\"\\ud800\"}}") && !line.contains('\n'),
        "{line}"
    );
    account.show_event(b"no JSON");
    assert_eq!(account.event.unwrap().get(), "\"no JSON\"");
}

#[test]
fn an_operator_is_asked_about_nothing_but_what_waits_for_one() {
    use Word::{Again, Drop, NotSubmitted, Submitted};
    let words = |fate: Fate, text: bool| {
        account(1, Rows { work: Some(work(fate)), text: text.then(|| push("e")), ..Rows::default() }).words()
    };
    let all = [Submitted, NotSubmitted, Again, Drop];
    assert_eq!(words(Fate::InDoubt, true), all);
    assert_eq!(words(Fate::Submitted, true), all);
    assert_eq!(words(Fate::InDoubtAfter(Deferral::Other), true), all);
    assert_eq!(words(Fate::InDoubt, false), [Submitted, Drop], "what is not there cannot be handed over");
    assert_eq!(words(Fate::Dead(Refusal::invalid()), true), [Again, Drop]);
    assert_eq!(words(Fate::Dead(Refusal::invalid()), false), [Drop]);
    assert!(words(Fate::Held, true).is_empty());
    for fate in fates() {
        let settled = account(1, Rows { receipt: Some(receipt("e", fate)), ..Rows::default() });
        assert!(settled.words().is_empty(), "a receipt alone is settled");
    }
}

#[test]
fn what_became_of_it_is_told_for_what_it_did() {
    let told = |outcome: Option<Outcome>, prior: Option<&str>, fate: Fate| {
        let mut row = receipt("e", fate);
        (row.outcome, row.prior) = (outcome, prior.map(Into::into));
        let mut account = account(1, Rows { receipt: Some(row), ..Rows::default() });
        account.tell();
        (account.says.unwrap(), account.history.unwrap().remove(0).says)
    };
    let (says, first) = told(Some(Outcome::Retracted), Some("old"), Fate::Withdrawn);
    assert_eq!(says, "a withdrawal: it did its work, and the host is given nothing");
    assert!(first.contains("it withdrew old") && !first.contains("place"), "{first}");
    let (says, first) = told(Some(Outcome::Consumed), None, Fate::Withdrawn);
    assert!(
        says.contains("nothing to take back") && first.contains("nothing to take back"),
        "{says} {first}"
    );
    let (says, first) = told(Some(Outcome::First), None, Fate::Withdrawn);
    assert_eq!((&*says, &*first), ("withdrawn by its sender", "accepted, the first of its subject"));
    let (_, first) = told(Some(Outcome::Replaced), Some("old"), Fate::Delivered);
    assert_eq!(first, "accepted, and took the place of old");
    let (_, first) = told(None, None, Fate::Delivered);
    assert_eq!(first, "accepted");
    let mut firsts: Vec<String> = [
        Outcome::First,
        Outcome::Replaced,
        Outcome::Appended,
        Outcome::Retracted,
        Outcome::Noted,
        Outcome::Consumed,
    ]
    .map(|outcome| told(Some(outcome), Some("old"), Fate::Delivered).1)
    .into();
    firsts.sort();
    firsts.dedup();
    assert_eq!(firsts.len(), 6, "each is told for itself: {firsts:?}");
}

#[test]
fn what_was_seen_is_told_after_that_it_was_accepted_and_nothing_twice() {
    let past = |revision: u32, says: &str| Past {
        at: Some(format!("t{revision}")),
        revision: Some(revision),
        says: says.to_owned(),
    };
    let recalled = |seen: Vec<Past>| {
        let mut account =
            account(1, Rows { receipt: Some(receipt("e", Fate::Delivered)), ..Rows::default() });
        account.tell();
        account.recall(seen);
        let told = |past: Past| format!("{:?} {}", past.revision, past.says);
        account.history.unwrap().into_iter().map(told).collect::<Vec<_>>()
    };
    let held = "held: nothing asks for it yet; a newer one may still take its place";
    let accepted = "accepted, the first of its subject";
    assert_eq!(
        recalled(vec![past(1, held), past(1, "held: it is due"), past(2, "given to the host")]),
        [
            format!("Some(1) {accepted}"),
            "Some(1) held: it is due".to_owned(),
            "Some(2) given to the host".to_owned()
        ]
    );
    assert_eq!(
        recalled(vec![past(2, "given to the host"), past(3, "delivered")]),
        [format!("None {accepted}"), "Some(2) given to the host".to_owned(), "Some(3) delivered".to_owned()],
        "what came before it was seen is not lost"
    );
    assert_eq!(recalled(Vec::new()), [format!("None {accepted}"), "Some(2) delivered".to_owned()]);
}
