//! What a write-through displaces until the host's verdict, and what an accepted occurrence overtakes
//! (contract 5, 7.4).

use super::Engine;
use super::output::Fate;
use super::subject::SubjectKey;
use super::work::{Stage, Work, WorkKey};

impl Engine {
    /// Sets an unread occupant aside while a write-through that displaces it waits for its verdict.
    pub(super) fn set_aside(&mut self, key: WorkKey) {
        self.unlist(key);
        let Some(work) = self.works.get_mut(key) else { return };
        work.stage = Stage::Aside { due: work.stage != Stage::Held };
        let Some(id) = work.subject else { return };
        if let Some(subject) = self.subjects.get_mut(id)
            && subject.occupant == Some(key)
        {
            subject.occupant = None;
        }
        self.unblock(id);
    }

    /// The occurrence that arrived as number `arrived` is accepted, not merely written through: what is
    /// unread of its subject and older ends as `fate`, and what is out and older is not tried again.
    pub(super) fn overtake(&mut self, subject: Option<SubjectKey>, arrived: u64, fate: &Fate) {
        let Some(id) = subject else { return };
        let Some(subject) = self.subjects.get(id) else { return };
        let (occupant, many) = (subject.occupant, subject.out + subject.works > 1);
        let works = &self.works;
        let is_older = |key: WorkKey| works.get(key).is_some_and(|work| work.arrived < arrived);
        if subject.out > 0 {
            let (step, by) = (self.seq + u64::from(!self.stepped), self.admitting);
            for out in self.outs.values_mut().filter(|out| out.subject == Some(id) && is_older(out.work)) {
                out.supersede(fate, step, by);
            }
        }
        let mut older: Vec<WorkKey> = if many { self.set_aside_of(id).collect() } else { Vec::new() };
        older.extend(
            occupant
                .filter(|&key| is_older(key) && works.get(key).is_some_and(|work| work.through.is_none())),
        );
        older.retain(|&key| is_older(key));
        older.sort_by_key(|&key| works.get(key).map(|work| work.arrived));
        for key in older {
            self.end(key, fate.clone());
        }
    }

    /// The accepted occurrence that is unread of a subject, set aside or not.
    pub(super) fn unread_of(&self, id: SubjectKey) -> Option<WorkKey> {
        let occupant = self.subjects.get(id)?.occupant;
        occupant
            .filter(|&key| self.works.get(key).is_some_and(|work| work.through.is_none()))
            .or_else(|| self.set_aside_of(id).next())
    }

    /// What write-throughs of a subject have set aside.
    fn set_aside_of(&self, id: SubjectKey) -> impl Iterator<Item = WorkKey> {
        let works = self.throughs.values().filter_map(|&key| self.works.get(key));
        works
            .filter(move |work| work.subject == Some(id))
            .filter_map(|work| work.through.as_ref()?.displaced)
            .filter(|&key| self.works.contains_key(key))
    }

    /// An accepted occurrence, set aside or in no list, is unread again: it stays aside where a write-through
    /// that came after it waits for its verdict; else it is the occupant.
    pub(super) fn put_back(&mut self, key: WorkKey, due: bool) {
        let Some(work) = self.works.get(key) else { return };
        let (id, place, arrived) = (work.subject, work.place, work.arrived);
        let due = due || self.is_past_release(work);
        if let Some(newer) = self.displacing(work) {
            if let Some(through) = self.works.get_mut(newer).and_then(|work| work.through.as_mut()) {
                through.displaced = Some(key);
            }
            if let Some(work) = self.works.get_mut(key) {
                work.stage = Stage::Aside { due };
            }
            return;
        }
        let channel = work.channel().map(str::to_owned);
        if let Some(subject) = id.and_then(|id| self.subjects.get_mut(id)) {
            let newer = subject.occupant.and_then(|other| self.works.get(other));
            if let Some(newer) = newer.filter(|other| other.arrived > arrived) {
                self.admitting = newer.number;
                return self.end(key, Fate::Replaced);
            }
            subject.occupant = Some(key);
        }
        if let Some(work) = self.works.get_mut(key) {
            work.stage = Stage::Held;
        }
        if let Some(channel) = channel {
            self.order.hold(&channel, place, key);
        }
        if due {
            self.mark_due(key);
        } else {
            self.all_due = false;
            self.set_release(key);
        }
    }

    /// The oldest write-through that came after `work`, would take its place, and displaces nothing yet.
    fn displacing(&self, work: &Work) -> Option<WorkKey> {
        let id = work.subject?;
        self.throughs
            .values()
            .filter_map(|&key| Some((key, self.works.get(key)?)))
            .filter(|(_, other)| other.subject == Some(id) && other.arrived > work.arrived)
            .filter(|(_, other)| {
                let displaced = other.through.as_ref().map(|through| through.displaced);
                displaced.is_some_and(|key| key.is_none_or(|key| !self.works.contains_key(key)))
            })
            .min_by_key(|(_, other)| other.arrived)
            .map(|(key, _)| key)
    }

    /// What is set aside keeps every reason it is given, too.
    pub(super) fn mark_aside_due(&mut self) {
        for key in self.throughs.values() {
            let displaced = self.works.get(*key).and_then(|work| work.through.as_ref()?.displaced);
            if let Some(work) = displaced.and_then(|key| self.works.get_mut(key)) {
                work.stage = Stage::Aside { due: true };
            }
        }
    }
}
