//! What a write-through displaces until the host's verdict, and what an accepted occurrence overtakes
//! (contract 5, 7.4).

use super::Engine;
use super::out::Out;
use super::output::Fate;
use super::subject::SubjectKey;
use super::work::{Role, Stage, Work, WorkKey};
use crate::journal::{Change, Table};

impl Engine {
    /// Sets an unread occupant aside while a write-through that displaces it waits for its verdict.
    pub(super) fn set_aside(&mut self, key: WorkKey) {
        self.unlist(key);
        let Some(work) = self.works.get_mut(key) else { return };
        work.stage = Stage::Aside { due: work.stage != Stage::Held };
        let Some(id) = work.subject else { return };
        if let Some(subject) = self.subjects.get_mut(id) {
            subject.unseat(key);
        }
        self.unblock(id);
    }

    /// The occurrence that arrived as number `arrived` is accepted, not merely written through: what is
    /// unread of its subject and older ends as `fate`, and what is out and older is not tried again.
    ///
    /// A `notice` is not the whole of its subject's state: what was rendered stays, and what was pending and is
    /// set aside joins its batch (contract 6.5).
    pub(super) fn overtake(&mut self, subject: Option<SubjectKey>, arrived: u64, fate: &Fate, notice: bool) {
        let Some(id) = subject else { return };
        let Some(subject) = self.subjects.get(id) else { return };
        let (occupant, many) = (subject.occupant, subject.out + subject.works > 1);
        let rendered = if notice { Vec::new() } else { subject.rendered.clone() };
        let works = &self.works;
        let is_older = |key: WorkKey| works.get(key).is_some_and(|work| work.arrived < arrived);
        // No notice displaces what was rendered, wherever it is.
        let stays = |key: WorkKey| notice && works.get(key).is_some_and(|work| work.role == Role::Rendered);
        if subject.out > 0 {
            let (step, by) = (self.seq + u64::from(!self.stepped), self.admitting);
            let older = |out: &&mut Out| out.subject == Some(id) && is_older(out.work) && !stays(out.work);
            for out in self.outs.values_mut().filter(older) {
                out.supersede(fate, step, by);
            }
        }
        let mut older: Vec<WorkKey> = if many { self.set_aside_of(id).collect() } else { Vec::new() };
        older.extend(
            occupant
                .filter(|&key| is_older(key) && works.get(key).is_some_and(|work| work.through.is_none())),
        );
        older.extend(rendered);
        older.retain(|&key| is_older(key));
        if notice {
            let is = |key: &WorkKey, of: fn(&Work) -> bool| works.get(*key).is_some_and(of);
            older.retain(|key| !is(key, |work| work.role == Role::Rendered));
            let (batches, others) = older.into_iter().partition(|key| is(key, Work::is_pending));
            older = others;
            for key in batches {
                if let Some(occupant) = occupant {
                    self.absorb(occupant, key);
                }
            }
        }
        let works = &self.works;
        older.sort_by_key(|&key| works.get(key).map(|work| work.arrived));
        for key in older {
            self.end(key, fate.clone());
        }
    }

    /// The notices of an older batch join a newer one of their subject, where that is one; it ends as replaced.
    fn absorb(&mut self, newer: WorkKey, older: WorkKey) {
        if newer == older || !self.works.get(newer).is_some_and(Work::is_pending) {
            return;
        }
        let Some(Role::Pending(batch)) =
            self.works.get_mut(older).map(|work| std::mem::replace(&mut work.role, Role::Plain))
        else {
            return;
        };
        self.changes.push(batch.clear());
        let freed = batch.bytes();
        let given = self.works.get(older).map(|work| (work.first_ms, work.stage));
        if let Some(work) = self.works.get_mut(newer)
            && let Role::Pending(into) = &mut work.role
        {
            let before = into.bytes();
            into.absorb(*batch);
            self.held_bytes = self.held_bytes + into.bytes() - before;
            let rows = into.rows().map(|(id, row)| Change::Put { table: Table::Notice, id, row });
            self.changes.extend(rows);
            self.admitting = work.number;
        }
        if let Some(work) = self.works.get(older) {
            // What it counts for from here on is its fallback alone.
            self.held_bytes = self.held_bytes + work.bytes() - freed;
        }
        self.touch(newer);
        self.end(older, Fate::Replaced);
        // It is the same batch: its longest time runs from its first notice, and its reason stays given.
        let Some((first_ms, stage)) = given else { return };
        if let Some(work) = self.works.get_mut(newer) {
            work.first_ms = work.first_ms.min(first_ms);
            work.release_timer_ms = None;
        }
        match stage {
            Stage::Held | Stage::Aside { due: false } => self.set_release(newer),
            Stage::Ready
            | Stage::Parked
            | Stage::Waiting
            | Stage::Behind
            | Stage::Rendering(_)
            | Stage::Aside { due: true }
            | Stage::Out(_) => self.mark_due(newer),
        }
    }

    /// The accepted occurrence that is unread of a subject, set aside or not.
    pub(super) fn unread_of(&self, id: SubjectKey) -> Option<WorkKey> {
        let occupant = self.subjects.get(id)?.occupant;
        occupant
            .filter(|&key| self.works.get(key).is_some_and(|work| work.through.is_none()))
            .or_else(|| self.set_aside_of(id).next())
    }

    /// The same, and what is unread of what was rendered, or is being rendered.
    pub(super) fn all_unread_of(&self, id: SubjectKey) -> Vec<WorkKey> {
        let rendered = self.subjects.get(id).map_or(&[][..], |subject| &subject.rendered);
        self.unread_of(id).into_iter().chain(rendered.iter().copied()).collect()
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
        let (batch, rendered) = (work.is_pending(), work.role == Role::Rendered);
        let occupant = id.and_then(|id| self.subjects.get(id)).and_then(|subject| subject.occupant);
        let newer = occupant.and_then(|key| Some((key, self.works.get(key)?)));
        if let Some((newer, other)) = newer.filter(|(_, other)| other.arrived > arrived) {
            let (through, notice) = (other.through.is_some(), other.is_notice());
            if batch && other.is_pending() {
                return self.absorb(newer, key);
            }
            if batch && through && notice {
                // It is told for itself, whatever is said to it: it has no place to give up.
                self.fix(newer);
            } else if !(rendered && (through || other.is_pending())) {
                self.admitting = other.number;
                return self.end(key, Fate::Replaced);
            }
        }
        if let Some(work) = self.works.get_mut(key) {
            work.stage = Stage::Held;
            if let Some(subject) = id.and_then(|id| self.subjects.get_mut(id)) {
                subject.unseat(key);
                subject.seat(key, work);
            }
        }
        if let Some(channel) = channel {
            self.order.hold(&channel, place, key);
        }
        if due {
            // It had its reason before: nothing is decided by giving it back.
            let notes = self.notes.take();
            self.mark_due(key);
            self.notes = notes;
        } else {
            self.all_due = false;
            self.set_release(key);
        }
    }

    /// Nothing replaces this any more.
    fn fix(&mut self, key: WorkKey) {
        let Some(work) = self.works.get_mut(key) else { return };
        work.role = Role::Fixed;
        if let Some(subject) = work.subject.and_then(|id| self.subjects.get_mut(id)) {
            subject.unseat(key);
        }
    }

    /// The oldest write-through that came after `work`, would take its place, and displaces nothing yet.
    fn displacing(&self, work: &Work) -> Option<WorkKey> {
        let id = work.subject?;
        self.throughs
            .values()
            .filter_map(|&key| Some((key, self.works.get(key)?)))
            .filter(|(_, other)| other.subject == Some(id) && other.arrived > work.arrived)
            .filter(|(_, other)| work.role == Role::Plain || !other.is_notice())
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
