//! Between the sidecar and the host: nothing twice, nothing changed, nothing before it is on disk.

use mcpl_policy::engine::{ANSWER_MS, Answer, Host, Seq};
use mcpl_policy::journal::{Place, WorkRow};
use mcpl_policy::settings::InDoubt;

use super::{Note, Oracle, Reply};
use crate::book::Book;
use crate::durability::wire::Way;
use crate::say::{Meaning, Say};

/// The session a forward leaves in.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Seat<'a> {
    pub(in super::super) number: u64,
    pub(in super::super) host: &'a Host,
}

impl Oracle {
    /// A forward is made, and will leave: nothing newer of its subject was answered as accepted by now, unless
    /// an operator or a doubt has it sent all the same.
    pub(in super::super) fn made(&self, number: u64, row: &WorkRow) {
        let one = &self.all[&number];
        assert!(!matches!(row.place, Place::Batch(_)), "{} is handed over, and was not rendered", one.id);
        let replaceable = matches!(row.place, Place::Plain | Place::Rendered);
        if !replaceable || row.doubtful || one.renewed {
            return;
        }
        let newer = self.all.range(number + 1..).map(|(_, newer)| newer);
        // A write-through may have come before it; its number says when the host took it.
        let newer = newer.filter(|newer| newer.told && !matches!(newer.answer, Answer::Host { .. }));
        let frozen = row.place == Place::Rendered;
        let newer = newer
            .filter(|newer| !(frozen && newer.draft.deferred))
            .find(|newer| newer.draft.subject() == one.draft.subject());
        if let Some(newer) = newer {
            panic!("{} is handed over, and {} was accepted after it", one.id, newer.id);
        }
    }

    /// The bytes of a forward leave the sidecar.
    pub(in super::super) fn left(&mut self, way: &Way, seat: Seat<'_>, book: &Book, at_ms: u64) {
        let Some(number) = way.number else { return };
        let row = book.work(number).unwrap_or_else(|| panic!("{} leaves, and is not on disk", way.id));
        assert!(row.fate.is_submitted(), "{} leaves, and is {:?} on disk", way.id, row.fate);
        if row.place == Place::Stored {
            self.in_order(number, book, way);
        }
        self.materialised(number, &way.body);
        let window_ms = self.settings.coalesce.retry_window_ms;
        let one = self.all.get_mut(&number).expect("admitted");
        match &one.sent {
            Some(sent) => assert_eq!(*sent, way.body, "{} is sent again, changed", way.id),
            None => one.sent = Some(way.body.clone()),
        }
        if one.unsure {
            assert_ne!(one.asked, Some(seat.number), "{} again in the session that never answered", way.id);
            let wanted = self.settings.host.in_doubt == InDoubt::Resend;
            let fresh = one.since_ms + window_ms >= way.made_ms;
            let drops = seat.host.dedup.covers(way.lane) && fresh;
            assert!(wanted || drops, "{} is sent again, and may be had twice", way.id);
            one.loose |= wanted;
            self.seen.resent += 1;
        } else {
            one.since_ms = way.made_ms;
        }
        self.seen.again += u64::from(one.renewed);
        (one.doubt, one.unsure, one.asked) = (one.unsure, true, Some(seat.number));
        one.left_ms = Some(at_ms);
        self.seen.left_sidecar += 1;
    }

    /// What is stored goes in the order of its channel: nothing earlier of it waits, unless the host was asked
    /// for that one and has been silent for 25 s.
    fn in_order(&self, number: u64, book: &Book, way: &Way) {
        let one = &self.all[&number];
        if one.sent.is_some() {
            return;
        }
        let queue = |one: &super::Occurrence| {
            (one.draft.told_in().is_none(), one.draft.told_in().unwrap_or(one.draft.scope))
        };
        for (&earlier, other) in self.all.range(..number) {
            if other.ended.is_some() || other.draft.key.is_some() || queue(other) != queue(one) {
                continue;
            }
            if other.renewed {
                continue;
            }
            let row = book.work(earlier).expect("it did not end");
            let waits = !row.fate.is_in_doubt() && !matches!(row.fate, mcpl_policy::engine::Fate::Dead(_));
            let silent = other.left_ms.is_some_and(|at_ms| at_ms + ANSWER_MS <= way.made_ms);
            assert!(!waits || silent, "{} goes before {}", one.id, other.id);
        }
    }

    /// The host answers a forward; by then it dealt with it. `dealt`: the step by which the engine has, if it
    /// can.
    pub(in super::super) fn replied(&mut self, way: &Way, say: &Say, dealt: Option<Seq>) {
        let evidence = self.evidence.entry(way.id.clone()).or_default();
        match say.meaning() {
            Meaning::Duplicate => evidence.duplicate = true,
            Meaning::Never => evidence.refused = true,
            Meaning::Delivered | Meaning::Later(_) | Meaning::Changed => {}
        }
        if let Some(one) = way.number.and_then(|number| self.all.get_mut(&number)) {
            one.asked = None;
            // A host that has had it may say "not now" all the same: only a receipt, or a no, settles a doubt.
            one.doubt &= matches!(say.meaning(), Meaning::Later(_) | Meaning::Changed);
            one.reply = dealt.map_or(Reply::Waits, Reply::Dealt);
        }
    }

    /// A host takes an event for new, or once more where it keeps no account.
    pub(in super::super) fn had(&mut self, way: &Way) {
        self.evidence.entry(way.id.clone()).or_default().accepted = true;
        let Some(one) = way.number.and_then(|number| self.all.get_mut(&number)) else { return };
        one.had += 1;
        assert!(one.had == 1 || one.loose, "{} is had {} times", way.id, one.had);
    }

    /// An operator wants a fresh attempt, once this step is on disk.
    pub(super) fn wanted(&mut self, number: u64, step: Seq) {
        self.notes.push_back((step, Note::Again(number)));
        if let Some(one) = self.all.get_mut(&number) {
            one.renewed = true;
        }
    }
}
