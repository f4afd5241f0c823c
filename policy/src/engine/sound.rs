//! What must hold between two inputs, whatever came: checked after each, in builds that check themselves.

use super::Engine;
use super::input::{Stance, StoreState};
use super::render::MAX_RENDERS;
use super::work::{Role, Stage, Work, WorkKey};

/// Past this much work it is not checked after every input: that would cost more than the input.
const MOST: usize = 128;

impl Engine {
    /// Panics where what the engine keeps of its work does not fit together.
    pub(super) fn assert_sound(&self) {
        if self.works.len() > MOST || self.subjects.len() > MOST {
            return;
        }
        let held: u64 = self.works.values().filter(|work| !is_out(work)).map(Work::bytes).sum();
        assert_eq!(held, self.held_bytes, "bytes held");
        let held = self.works.values().filter(|work| !is_out(work)).count();
        assert_eq!(held, self.count_held(), "work held");
        let threads = self.works.values().filter(|work| work.thread.is_some()).count();
        assert_eq!(threads, self.threads.held(), "work whose trace is known");
        for (key, work) in &self.works {
            self.assert_listed(key, work);
        }
        for (number, out) in &self.outs {
            let stage = self.works.get(out.work).map(|work| work.stage);
            assert_eq!(stage, Some(Stage::Out(*number)), "what is out is out once");
        }
        for (number, render) in &self.renders {
            let stage = self.works.get(render.work).map(|work| work.stage);
            assert_eq!(stage, Some(Stage::Rendering(*number)), "what is rendered is rendered once");
        }
        for key in self.throughs.values() {
            assert!(self.works.get(*key).is_some_and(|work| work.through.is_some()), "written through");
        }
        for subject in self.subjects.all() {
            let seated = subject.occupant.iter().chain(&subject.rendered);
            for key in seated {
                let apart = |work: &Work| is_out(work) || matches!(work.stage, Stage::Aside { .. });
                assert!(self.works.get(*key).is_some_and(|work| !apart(work)), "an occupant is unread");
            }
        }
        let listed = |wanted: fn(&Work) -> bool| self.works.values().filter(|work| wanted(work)).count();
        let ready = listed(|work| work.stage == Stage::Ready);
        let parked = listed(|work| work.stage == Stage::Parked);
        let held = listed(|work| work.stage == Stage::Held && work.channel().is_some());
        assert_eq!(self.order.counts(), (ready, parked, held), "lists hold what is there");
    }

    /// Panics where something could go, and does not.
    pub(super) fn assert_pumped(&self) {
        let Some(session) = &self.session else { return };
        let apart = session.host.stance == Stance::Apart || session.congested;
        if apart || self.store == StoreState::Gone || self.pace.most() < usize::MAX {
            return;
        }
        let most = self.settings.in_flight;
        let (ready, _) = self.order.ready_counts();
        assert!(ready == 0 || self.outs.len() >= most, "{ready} could be handed over");
        if let Some((place, _)) = self.order.next_batch(0) {
            let before = self.order.ready_before(place, most);
            let full = self.renders.len() + self.outs.len() + before >= most;
            assert!(full || self.renders.len() >= MAX_RENDERS, "a batch could be rendered");
        }
    }

    fn assert_listed(&self, key: WorkKey, work: &Work) {
        let (in_ready, in_batches) = self.order.is_ready(work.place, key);
        match work.stage {
            Stage::Ready => {
                let batch = work.is_pending();
                assert_eq!((in_ready, in_batches), (!batch, batch), "it is listed as what it is");
            }
            Stage::Held | Stage::Waiting | Stage::Aside { .. } => {}
            Stage::Parked => assert_eq!(self.order.parked.get(&work.place), Some(&key)),
            Stage::Behind => {
                let subject = work.subject.and_then(|id| self.subjects.get(id));
                let behind = subject.is_some_and(|subject| subject.behind.get(&work.place) == Some(&key));
                let queued = self.queues.values().any(|queue| queue.get(&work.place) == Some(&key));
                assert!(behind || queued, "it waits behind something");
            }
            Stage::Rendering(number) => {
                assert_eq!(self.renders.get(&number).map(|render| render.work), Some(key));
                assert_eq!(work.role, Role::Rendered);
            }
            Stage::Out(number) => assert_eq!(self.outs.get(&number).map(|out| out.work), Some(key)),
        }
        assert!(!in_ready && !in_batches || work.stage == Stage::Ready, "listed as ready, and is not");
        let Some(subject) = work.subject.and_then(|id| self.subjects.get(id)) else {
            assert!(
                matches!(work.role, Role::Fixed | Role::Stored),
                "what a newer one replaces has a subject"
            );
            return;
        };
        let apart = is_out(work) || matches!(work.stage, Stage::Aside { .. });
        assert!(!is_out(work) || !work.is_pending(), "a batch is not handed over");
        let seats = subject.rendered.iter().filter(|&&other| other == key).count();
        match work.role {
            Role::Pending(_) if !apart => assert_eq!(subject.occupant, Some(key), "one pending batch"),
            Role::Rendered if !apart && !work.doubtful => {
                assert_eq!(seats, 1, "what is rendered has its seat");
            }
            _ => assert_eq!(seats, 0),
        }
    }
}

fn is_out(work: &Work) -> bool {
    matches!(work.stage, Stage::Out(_))
}
