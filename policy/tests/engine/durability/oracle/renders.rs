//! Batches, across everything that can be lost: asked for once, told once, and no notice of them lost.

use std::collections::BTreeSet;

use bytes::Bytes;
use mcpl_policy::engine::{Fate, Seq};
use mcpl_policy::journal::{Change, Place, Step, Table, WorkRow};
use serde_json::Value;

use super::{Note, Oracle};
use crate::book::Book;
use crate::telling::{Telling, assert_spelled, request};

/// What is known of the batch of an occurrence.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// Its notices since it opened, while it is pending.
    pending: Option<Vec<u64>>,
    /// Its notices, from when its render began.
    frozen: Option<Vec<u64>>,
    /// Its notices when it ended, where its render never began on disk.
    last: Option<Vec<u64>>,
    /// Its producer was asked.
    asked: bool,
    answer: Option<Answered>,
    /// What would have cancelled its render was lost: it may go on, or not.
    shaky: bool,
}

/// The first answer to a render.
#[derive(Clone, Debug)]
struct Answered {
    telling: Telling,
    /// It could be pushed like this.
    fit: bool,
    /// It surely came in time.
    sure: bool,
    /// The step that deals with it; `None`: nothing can be written.
    dealt: Option<Seq>,
    /// That step is on disk.
    durable: bool,
}

/// How an answer came.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Timing {
    pub(in super::super) sure: bool,
    pub(in super::super) dealt: Option<Seq>,
}

/// What it was before a step.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    step: Seq,
    number: u64,
    pending: Option<Vec<u64>>,
    frozen: Option<Vec<u64>>,
}

impl Oracle {
    /// What a step makes of batches. `fresh`: what it admits.
    pub(super) fn batches(&mut self, step: &Step, live: &Book, fresh: &BTreeSet<u64>) {
        let place = |number: u64| live.work(number).map(|row| row.place);
        let mut touched = BTreeSet::new();
        for change in &step.changes {
            if let Change::Put { table: Table::Work, id, .. } | Change::Delete { table: Table::Work, id } =
                change
            {
                touched.insert(*id);
            }
        }
        for &number in fresh {
            // What is replaced at once had been one.
            let kept = matches!(place(number), None | Some(Place::Batch(_) | Place::Rendered));
            if kept && let Some(one) = self.all.get_mut(&number).filter(|one| one.draft.deferred) {
                one.batch.pending = Some(vec![number]);
            }
        }
        for &number in &touched {
            let place = place(number);
            let Some(one) = self.all.get(&number) else { continue };
            if one.batch.pending.is_none() || matches!(place, Some(Place::Batch(_))) {
                continue;
            }
            self.note_undo(step.seq, number);
            let notices =
                self.all.get_mut(&number).and_then(|one| one.batch.pending.take()).unwrap_or_default();
            if place.is_none() {
                if let Some(one) = self.all.get_mut(&number) {
                    one.batch.last = Some(notices.clone());
                }
                self.rehouse(step.seq, number, notices, fresh);
            } else if let Some(one) = self.all.get_mut(&number) {
                assert!(matches!(place, Some(Place::Rendered)), "{} is no batch any more", one.id);
                one.batch.frozen = Some(notices);
            }
        }
        for &number in &touched {
            if let (Some(Place::Batch(row)), Some(one)) = (place(number), self.all.get(&number)) {
                let notices = one.batch.pending.as_ref().map(|notices| notices.len() as u64);
                assert_eq!(Some(row.total), notices, "notices of {}", one.id);
            }
        }
    }

    fn note_undo(&mut self, step: Seq, number: u64) {
        let batch = &self.all[&number].batch;
        let (pending, frozen) = (batch.pending.clone(), batch.frozen.clone());
        self.undo.push(Undo { step, number, pending, frozen });
    }

    /// A pending batch ended: a newer one of its subject has its notices, or nothing has for a reason.
    fn rehouse(&mut self, step: Seq, number: u64, notices: Vec<u64>, fresh: &BTreeSet<u64>) {
        let fate = self.notes.iter().rev().find_map(|(_, note)| match note {
            Note::Closed(closed, fate) if *closed == number => Some(fate.clone()),
            _ => None,
        });
        if fate != Some(Fate::Replaced) {
            return;
        }
        let subject = self.all[&number].draft.subject();
        let of_subject = |other: &u64| self.all[other].draft.subject() == subject;
        let newer: Vec<u64> = fresh.iter().copied().filter(of_subject).collect();
        if newer.iter().any(|other| !self.all[other].draft.deferred) {
            // No trace of it remains.
            return;
        }
        let heir = self.all.range(number + 1..).rev().map(|(&other, _)| other);
        let heir = heir.filter(|other| self.all[other].batch.pending.is_some()).find(of_subject);
        let Some(heir) = heir else {
            assert!(!newer.is_empty(), "the notices of {} are lost", self.all[&number].id);
            return;
        };
        self.note_undo(step, heir);
        if let Some(pending) = self.all.get_mut(&heir).and_then(|one| one.batch.pending.as_mut()) {
            pending.extend(notices);
            pending.sort_unstable();
        }
    }

    /// A render is asked for by this step; whose it is.
    pub(in super::super) fn render_made(&self, params: &Bytes, step: &Step) -> u64 {
        let asked: Value = serde_json::from_slice(params).expect("a render is JSON");
        let id = asked["eventId"].as_str().expect("an eventId");
        let begun = step.changes.iter().filter_map(|change| match change {
            Change::Put { table: Table::Work, id, row } => Some((*id, WorkRow::decode(*id, row).unwrap())),
            _ => None,
        });
        let begun = begun.filter(|(_, row)| row.place == Place::Rendered).map(|(number, _)| number);
        // The same input may have ended it again.
        let ended = step.changes.iter().filter_map(|change| match change {
            Change::Delete { table: Table::Work, id } => Some(*id),
            _ => None,
        });
        let number = begun.chain(ended).find(|&number| self.is(number, id));
        let number = number.unwrap_or_else(|| panic!("{id} is rendered, and that is not written"));
        let one = &self.all[&number];
        let frozen = one.batch.frozen.as_ref().or(one.batch.last.as_ref());
        let frozen = frozen.unwrap_or_else(|| panic!("{id} is no batch"));
        let drafts: Vec<_> = frozen.iter().map(|number| &self.all[number].draft).collect();
        assert_eq!(asked, request(&drafts), "what is asked for {id}");
        assert_spelled(params, &drafts);
        assert!(!one.batch.asked, "{id} is asked for a second time");
        assert!(one.sent.is_none(), "{id} was told, and is rendered");
        number
    }

    /// The request leaves the sidecar.
    pub(in super::super) fn render_left(&mut self, number: u64, book: &Book) {
        let row = book.work(number);
        let Some(one) = self.all.get_mut(&number) else { panic!("{number} was never admitted") };
        // What cancels it may be on disk already.
        let begun = row.is_none_or(|row| row.place == Place::Rendered);
        assert!(begun, "{} is rendered, and that is not on disk", one.id);
        assert!(!std::mem::replace(&mut one.batch.asked, true), "{} is asked for a second time", one.id);
        let notices = one.batch.frozen.clone().or(one.batch.last.clone());
        for notice in notices.expect("it was frozen") {
            assert!(self.given.insert(notice), "notice {notice} is in two requests");
        }
        self.seen.asked += 1;
    }

    /// The producer answers, while it may.
    pub(in super::super) fn rendered(&mut self, number: u64, telling: &Telling, timing: Timing) {
        let most = self.settings.max_content_bytes;
        let Some(one) = self.all.get_mut(&number) else { return };
        if one.batch.answer.is_some() {
            self.seen.twice += 1;
            return;
        }
        let Timing { sure, dealt } = timing;
        let fit = telling.is_fit(most);
        one.batch.answer = Some(Answered { telling: telling.clone(), fit, sure, dealt, durable: false });
        self.seen.rendered += 1;
    }

    /// What the host is told of a batch is what was rendered of it, or its fallback.
    pub(super) fn materialised(&mut self, number: u64, body: &Bytes) {
        let one = &self.all[&number];
        let Some(frozen) = &one.batch.frozen else { return };
        let told: Value = serde_json::from_slice(body).expect("a forward is JSON");
        let fallback = told == Value::Object(one.draft.bare());
        let right = match &one.batch.answer {
            None => fallback,
            Some(answer) => {
                let content = answer.fit
                    && !answer.telling.is_silent()
                    && told == Value::Object(answer.telling.told(&one.draft));
                let sure = answer.sure && !one.batch.shaky && answer.fit;
                content || (fallback && !sure)
            }
        };
        assert!(right, "{} is told as {told}, after {:?}", one.id, one.batch);
        for notice in frozen.clone() {
            let batch = *self.told.entry(notice).or_insert(number);
            assert_eq!(batch, number, "notice {notice} is told twice");
        }
        self.seen.fallbacks += u64::from(fallback);
    }

    /// Whether it may have been rendered empty.
    pub(super) fn is_empty(&self, number: u64) -> bool {
        let answer = self.all[&number].batch.answer.as_ref();
        answer.is_some_and(|answer| answer.fit && answer.telling.is_silent())
    }

    /// Whether no notice may displace it any more.
    pub(super) fn is_frozen(&self, number: u64) -> bool {
        self.all[&number].batch.frozen.is_some()
    }

    /// Steps up to `seq` are on disk.
    pub(super) fn renders_durable(&mut self, seq: Seq) {
        self.durable = seq;
        self.undo.retain(|undo| undo.step > seq);
        for one in self.all.values_mut() {
            if let Some(answer) = &mut one.batch.answer {
                answer.durable |= answer.dealt.is_some_and(|at| at <= seq);
            }
        }
    }

    /// Steps that are not on disk never were.
    pub(super) fn renders_rolled_back(&mut self, lost: &[(Option<String>, bool)], killed: bool) {
        for undo in std::mem::take(&mut self.undo).into_iter().rev() {
            if let Some(one) = self.all.get_mut(&undo.number) {
                (one.batch.pending, one.batch.frozen) = (undo.pending, undo.frozen);
            }
        }
        for one in self.all.values_mut() {
            let cancelled =
                |(subject, deferred): &(Option<String>, bool)| !deferred && *subject == one.draft.subject();
            one.batch.shaky |= one.batch.frozen.is_some() && lost.iter().any(cancelled);
            match &mut one.batch.answer {
                Some(answer) if !answer.durable && killed => one.batch.answer = None,
                Some(answer) if !answer.durable => answer.dealt = None,
                _ => {}
            }
        }
        if killed {
            self.durable = 0;
        }
    }

    /// Answers are dealt with anew, by this step at the latest.
    pub(super) fn renders_restored(&mut self, seq: Seq) {
        for one in self.all.values_mut() {
            if let Some(answer) = &mut one.batch.answer {
                answer.dealt = answer.dealt.or(Some(seq));
            }
        }
    }

    /// What is not on disk of answers may be forgotten from now on, or judged by other rules.
    pub(super) fn renders_unsure(&mut self) {
        for one in self.all.values_mut() {
            if one.batch.answer.as_ref().is_some_and(|answer| !answer.durable) {
                one.batch.shaky = true;
            }
        }
    }
}
