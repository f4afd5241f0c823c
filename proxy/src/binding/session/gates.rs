//! What waits for the journal, and goes when it may (contract 7.6, 9.1).

use mcpl_policy::journal::ReceiptRow;
use tokio::time::Instant;

use super::Session;
use crate::binding::core::Core;
use crate::binding::waiting::{Gated, Kind};

impl Session {
    /// More is on disk: what waited for it goes.
    pub(in crate::binding) fn release(&mut self, core: &Core) {
        while let Some(gated) = self.waiting.due(core.durable) {
            self.queue(gated.to, &gated.line, &gated.kind);
        }
    }

    /// A commit failed: what waited for it never happened (contract 9.1).
    pub(in crate::binding) fn revoke(&mut self) {
        while let Some(gated) = self.waiting.take() {
            self.give_up(&gated);
        }
    }

    /// What a line is whose step does not become durable.
    pub(super) fn give_up(&mut self, gated: &Gated) {
        match &gated.kind {
            Kind::Answer(Some(instead)) => self.queue(gated.to, instead, &Kind::Answer(None)),
            // A refusal, or an answer of the host's, rests on nothing that is lost.
            kind @ (Kind::Answer(None) | Kind::Pass(_)) => self.queue(gated.to, &gated.line, kind),
            Kind::Forward(_) => {}
            Kind::Render(wire) => self.exchange.render_dropped(*wire),
        }
    }

    /// What has waited for the journal long enough goes without it (contract 7.6).
    pub(super) fn pass_late(&mut self) {
        let now = Instant::now();
        if self.waiting.deadline(self.journal_wait).is_none_or(|at| at > now) {
            return;
        }
        let Some(before) = now.checked_sub(self.journal_wait) else { return };
        for gated in self.waiting.late(before) {
            self.exchange.went_ahead();
            if !std::mem::replace(&mut self.ahead, true) {
                tracing::warn!(
                    wait_ms = self.journal_wait.as_millis() as u64,
                    "the journal is slow: what passes waits for it no longer, and goes ahead of held work"
                );
            }
            self.queue(gated.to, &gated.line, &gated.kind);
        }
    }

    /// A receipt that was asked for.
    pub(in crate::binding) fn recall(&mut self, core: &mut Core, ticket: u64, row: Option<&[u8]>) {
        let receipt = row.and_then(|row| ReceiptRow::decode(0, row).ok());
        self.exchange.read(ticket, receipt);
        self.carry(core);
    }

    /// The engine has wishes that no input of this session brought about.
    pub(in crate::binding) fn carry_out(&mut self, core: &mut Core) {
        self.exchange.carry_out(&mut core.engine, core.clock.now());
        self.carry(core);
    }
}
