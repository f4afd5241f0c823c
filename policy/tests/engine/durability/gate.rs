//! What waits for the journal, and leaves when its step is on disk; or never.

use mcpl_policy::engine::Answer;

use super::oracle::Told;
use super::wire::{Ask, Gated};
use super::world::World;

impl World {
    pub(super) fn gate(&mut self, after: Option<u64>, gated: Gated) {
        match after.filter(|&after| after > self.disk.durable) {
            None => self.leave(gated),
            Some(_) if self.disk.lost => self.give_up(gated),
            Some(after) => self.wire.push(after, gated),
        }
    }

    /// Its step is on disk, or it rests on none.
    pub(super) fn leave(&mut self, gated: Gated) {
        if self.boundary() {
            return;
        }
        match gated {
            Gated::Answer { ticket, answer } => {
                let (id, told) = self.oracle.answered(ticket, &answer, &self.disk.book, self.moment());
                self.hear(ticket, &id, told);
            }
            Gated::Forward(way) => {
                assert!(
                    !self.disk.lost || way.number.is_some(),
                    "nothing is handed over while nothing is kept"
                );
                self.wire.ways.insert(way.forward, way);
            }
            Gated::Render(ask) => {
                assert!(!self.disk.lost, "nobody is asked while nothing is kept");
                self.oracle.render_left(ask.number, &self.disk.book);
                self.wire.newest = ask.render;
                self.wire.asks.insert(ask.render, Ask { left_ms: self.mono_ms(), ..ask });
            }
            Gated::Pass { ticket, .. } => {
                let id = self.asked.get(&ticket).cloned().unwrap_or_default();
                self.oracle.passed(ticket);
                self.hear(ticket, &id, Told::Accepted);
            }
            Gated::Resolved { request } => {
                self.words.remove(&request);
            }
        }
    }

    pub(super) fn hear(&mut self, ticket: u64, id: &str, told: Told) {
        self.asked.remove(&ticket);
        // Some answers get lost on their way.
        if self.chance.percent(85)
            && let Some(errand) = self.errands.iter_mut().find(|errand| errand.draft.id == id)
        {
            errand.told = Some(told);
            errand.waits = false;
        }
    }

    /// Its step will not be on disk.
    pub(super) fn give_up(&mut self, gated: Gated) {
        match gated {
            Gated::Answer { ticket, answer } => match answer {
                Answer::Accepted { .. } | Answer::Stored | Answer::Host { outcome: Some(_), .. } => {
                    let id = self.oracle.passed(ticket);
                    self.hear(ticket, &id, Told::Later);
                }
                answer => self.leave(Gated::Answer { ticket, answer }),
            },
            Gated::Pass { .. } => self.leave(gated),
            Gated::Forward(_) | Gated::Render(_) => {}
            Gated::Resolved { request } => {
                self.words.remove(&request);
            }
        }
    }
}
