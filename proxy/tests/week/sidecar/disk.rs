//! The disk of the journal: slow, full, or failing.

use mcpl_policy::Input;
use mcpl_policy::engine::StoreState;
use mcpl_sidecar::exchange::Cargo;

use super::{Gated, Item, PASS_MS, Sidecar};
use crate::oracle::Oracle;

impl Sidecar {
    /// The disk gets on; or it does not.
    pub(super) fn commit(&mut self, now_ms: u64, oracle: &mut Oracle) -> bool {
        let Some(process) = &mut self.process else { return false };
        if process.commit_ms.is_none_or(|at| at > now_ms) {
            return false;
        }
        process.commit_ms = None;
        let failing = now_ms < self.fails_until_ms;
        if process.lost {
            if failing {
                process.commit_ms = Some(self.fails_until_ms);
                return false;
            }
            process.lost = false;
            let state = if self.is_full { StoreState::Short } else { StoreState::Good };
            let recovery = self.book.recovery(0);
            process.engine.restore(process.durable, state, recovery).unwrap();
            let now = process.now(now_ms);
            process.exchange.carry_out(&mut process.engine, now);
            self.carry(now_ms, oracle);
            return true;
        }
        if failing && process.disk.iter().any(|item| matches!(item, Item::Step(_))) {
            process.lost = true;
            let items: Vec<Item> = process.disk.drain(..).collect();
            while let Some(gated) = process.gate.pop_front() {
                process.give_up(gated);
            }
            self.tell(now_ms, Input::Store(StoreState::Gone), oracle);
            for item in items {
                if let (Item::Read { ticket, .. }, Some(process)) = (item, &mut self.process) {
                    process.exchange.read(ticket, None);
                    self.carry(now_ms, oracle);
                }
            }
            if let Some(process) = &mut self.process {
                process.commit_ms = Some(self.fails_until_ms);
            }
            return true;
        }
        let mut read = Vec::new();
        for item in process.disk.drain(..) {
            match item {
                Item::Step(step) => {
                    self.book.apply(&step);
                    process.durable = step.seq;
                }
                Item::Read { ticket, receipt } => read.push((ticket, self.book.receipt(receipt))),
            }
        }
        process.engine.durable(process.durable);
        while process.gate.front().is_some_and(|gated| gated.after <= process.durable) {
            if let Some(gated) = process.gate.pop_front() {
                process.queue(gated);
            }
        }
        for (ticket, receipt) in read {
            if let Some(process) = &mut self.process {
                process.exchange.read(ticket, receipt);
                self.carry(now_ms, oracle);
            }
        }
        true
    }

    /// The disk is full, or has room again.
    pub(super) fn fill(&mut self, now_ms: u64, oracle: &mut Oracle) {
        let full = now_ms < self.full_until_ms;
        if full == self.is_full || self.process.as_ref().is_none_or(|process| process.lost) {
            return;
        }
        self.is_full = full;
        let state = if full { StoreState::Short } else { StoreState::Good };
        self.tell(now_ms, Input::Store(state), oracle);
    }

    pub(super) fn pass_late(&mut self, now_ms: u64) {
        let Some(process) = &mut self.process else { return };
        let late = |gated: &Gated| matches!(gated.cargo, Cargo::Pass) && gated.since_ms + PASS_MS <= now_ms;
        while let Some(at) = process.gate.iter().position(late) {
            if let Some(gated) = process.gate.remove(at) {
                process.exchange.went_ahead();
                process.queue(gated);
            }
        }
    }
}
