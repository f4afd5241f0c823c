//! What the steps write, and when that counts.

use std::collections::{BTreeMap, BTreeSet};

use mcpl_policy::engine::{Fate, Seq};
use mcpl_policy::journal::{Change, ReceiptRow, Step, Table, WorkRow};

use super::{Moment, Note, Occurrence, Oracle, Reply};
use crate::book::Book;

/// What ended in one step.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Ends {
    /// By `eventId`, as the engine says.
    pub(in super::super) told: Vec<(String, Fate)>,
    /// What an operator settled.
    pub(in super::super) settled: Option<(u64, Fate)>,
}

impl Oracle {
    /// A step was made. `live` is what the disk says once it is there.
    pub(in super::super) fn step(&mut self, step: &Step, live: &Book, ended: &Ends, moment: Moment) {
        let (mut touched, mut fresh) = (BTreeSet::new(), BTreeSet::new());
        let mut said: BTreeMap<u64, (Fate, u32)> = BTreeMap::new();
        for change in &step.changes {
            match change {
                Change::Put { table: Table::Receipt, id, row } => {
                    let row = ReceiptRow::decode(*id, row).unwrap();
                    touched.insert(*id);
                    if !self.all.contains_key(id) {
                        fresh.insert(*id);
                    }
                    said.insert(*id, (row.fate.clone(), row.revision));
                    self.admitted(*id, &row, moment);
                }
                Change::Delete { table: Table::Work, id } | Change::Put { table: Table::Work, id, .. } => {
                    touched.insert(*id);
                }
                _ => {}
            }
        }
        for change in &step.changes {
            if let Change::Put { table: Table::Work, id, row } = change {
                let row = WorkRow::decode(*id, row).unwrap();
                if live.row(Table::Work, *id).is_some() {
                    said.insert(*id, (row.fate, row.revision));
                }
            }
        }
        for number in touched {
            let Some(one) = self.all.get(&number) else { continue };
            let alive = live.row(Table::Work, number).is_some();
            let settled =
                ended.settled.clone().filter(|(settled, _)| *settled == number).map(|(_, fate)| fate);
            let told =
                ended.told.iter().find(|(id, _)| *id == one.id).map(|(_, fate)| fate.clone()).or(settled);
            if let Some(after) = said.get(&number) {
                self.moved(number, after);
            }
            if !alive {
                let last = said.get(&number).map(|(fate, _)| fate.clone());
                let before = self.standing.get(&number).map(|(fate, _)| fate.clone());
                let fate = last.or(told).or(before).expect("it ended somehow");
                self.notes.push_back((step.seq, Note::Closed(number, fate)));
            }
            if let Some(after) = said.remove(&number) {
                self.standing.insert(number, after);
            }
        }
        self.batches(step, live, &fresh);
    }

    fn admitted(&mut self, number: u64, row: &ReceiptRow, moment: Moment) {
        if let Some(one) = self.all.get(&number) {
            assert_eq!((&*row.event_id, row.answer()), (&*one.id, one.answer.clone()), "of {number}");
            return;
        }
        let id = String::from(&*row.event_id);
        let earlier = self.newest.entry(id.clone()).or_default();
        for number in &*earlier {
            let until = self.all[number].admitted_ms + self.settings.coalesce.retry_window_ms;
            assert!(until < moment.now_ms, "{id} is admitted twice");
        }
        earlier.push(number);
        let one = Occurrence {
            draft: self.drafts[&id].clone(),
            id,
            admitted_ms: row.admitted_ms,
            answer: row.answer(),
            told: false,
            sent: None,
            left_ms: None,
            unsure: false,
            asked: None,
            reply: Reply::None,
            since_ms: 0,
            doubt: false,
            renewed: false,
            had: 0,
            loose: false,
            ended: None,
            batch: super::Batch::default(),
        };
        // What the host took through, and was told again after a failed commit, was admitted a little earlier.
        assert!(row.admitted_ms <= moment.now_ms);
        self.all.insert(number, one);
    }

    /// Every change is a legal one, and has a revision of its own.
    fn moved(&self, number: u64, after: &(Fate, u32)) {
        let id = &self.all[&number].id;
        let Some(before) = self.standing.get(&number) else { return };
        let ((was, old), (is, new)) = (before, after);
        assert!(new >= old, "{id}: revision {new} after {old}");
        if was != is {
            assert!(new > old, "{id}: {was:?} became {is:?} at revision {new}");
        }
        let legal = was.may_become(is) || was.renewed().is_some_and(|renewed| renewed.may_become(is));
        assert!(legal, "{id}: {was:?} became {is:?}");
    }

    /// Steps up to `seq` are on disk: what they say counts.
    pub(in super::super) fn durable(&mut self, seq: Seq, moment: Moment) {
        self.renders_durable(seq);
        while let Some((_, note)) = self.notes.pop_front_if(|(at, _)| *at <= seq) {
            match note {
                Note::Closed(number, fate) => self.closed(number, &fate, moment),
                Note::Again(number) => {
                    if let Some(one) = self.all.get_mut(&number) {
                        // The host does not have it, an operator says; or may have it twice.
                        (one.unsure, one.loose) = (false, true);
                    }
                }
            }
        }
        for one in self.all.values_mut() {
            if let Reply::Dealt(at) | Reply::Last(at) = one.reply
                && at <= seq
            {
                (one.reply, one.unsure) = (Reply::None, one.doubt);
            }
        }
    }

    /// An occurrence ended, once, and for a reason that was seen.
    fn closed(&mut self, number: u64, fate: &Fate, moment: Moment) {
        let one = self.all.get_mut(&number).expect("it was admitted");
        assert_eq!(one.ended.replace(fate.clone()), None, "{} ended twice", one.id);
        let one = &self.all[&number];
        let evidence = self.evidence.get(&one.id).copied().unwrap_or_default();
        let newer = |retract: bool| {
            one.draft.retract && retract
                || self.all.range(number + 1..).any(|(_, newer)| {
                    newer.draft.subject() == one.draft.subject()
                        && newer.draft.retract == retract
                        && !(newer.draft.deferred && self.is_frozen(number))
                })
        };
        let operators = self.settings.expires_after_ms > 0;
        let reason = match fate {
            Fate::Delivered => evidence.accepted || evidence.duplicate || evidence.submitted,
            Fate::Replaced => newer(false),
            Fate::Withdrawn => newer(true),
            Fate::Expired => operators || one.draft.expires_ms.is_some_and(|at| at <= moment.wall_ms),
            // A dead letter that an operator dropped stays what it was.
            Fate::Dead(_) => (evidence.refused || evidence.duplicate) && evidence.dropped,
            Fate::Empty => self.is_empty(number),
            // No other is ever taken away.
            Fate::Lapsed => one.draft.deferred && one.draft.scope == "fs-a",
            Fate::Dropped => evidence.dropped,
            _ => false,
        };
        assert!(reason, "{} ended as {fate:?}: {evidence:?}", one.id);
        self.seen.fate(fate);
    }
}
