//! How much is held, how long, and that nothing is left.

use mcpl_policy::engine::{ANSWER_MS, Load, Stance};

use super::renders::Role;
use super::{Fact, Occurrence, Oracle, State};
use crate::simulation::subject::Subject;

impl Oracle {
    /// Memory within its bound.
    pub(super) fn bounds(&self, fact: &Fact, load: Load) {
        let live = |one: &&Occurrence| matches!(one.state, State::Accepted | State::Pending(_));
        let held = self.all.iter().filter(live).filter(|one| one.out.is_none()).count();
        assert_eq!(load.held, held, "held: the engine's count and the oracle's");
        assert_eq!(load.out, self.ways.len(), "out: the engine's count and the oracle's");
        assert_eq!(load.rendering, self.renders.len(), "renders: the engine's count and the oracle's");
        assert!(load.held > 0 || load.held_bytes == 0, "bytes of nothing");
        let most = self.settings.coalesce.max_held_bytes;
        let grown = matches!(fact, Fact::Event { .. }) && load.held_bytes > self.before.held_bytes;
        assert!(!grown || load.held_bytes <= most, "{} bytes held, {most} at most", load.held_bytes);
        assert!(load.subjects <= self.settings.coalesce.max_subjects);
        assert!(load.timers <= 4 * (load.held + load.out + load.rendering) + 1024, "{} timers", load.timers);
    }

    /// Nothing is held past its bound where nothing hinders it (contract 7.1, 7.2).
    ///
    /// To be asked once the engine was woken for everything it wanted to be woken for by now.
    pub(in super::super) fn times(&self) {
        let Some(session) = &self.session else { return };
        let free = session.host.stance == Stance::Over && session.open && !session.congested;
        if !free || self.ways.len() >= self.settings.in_flight || self.settings.forward_rate_per_s > 0.0 {
            return;
        }
        let coalesce = &self.settings.coalesce;
        let busy_until = session.started_ms + coalesce.busy_max_ms;
        let busy = coalesce.while_busy && !session.running.is_empty() && busy_until > self.now_ms;
        let unread = |one: &Occurrence| one.state == State::Accepted && one.out.is_none();
        for (at, one) in self.all.iter().enumerate().filter(|(_, one)| unread(one)) {
            let waits = match one.role {
                Role::Plain | Role::Rendered => false,
                Role::Batch(_) => self.is_render_hindered(at),
                Role::Rendering(_) => true,
            };
            let hindered = waits
                || one.sent.is_some()
                || one.stuck
                || one.not_before_ms > self.now_ms
                || self.is_behind(&one.subject)
                || self.waits_for_earlier(at)
                || self.is_unsure(&one.subject);
            let due = (one.changed_ms + coalesce.quiet_ms).min(one.first_ms + coalesce.max_hold_ms);
            // What came of a batch goes at once.
            let due = if one.role == Role::Rendered { 0 } else { due };
            let busy = busy && one.role != Role::Rendered;
            assert!(hindered || busy || due > self.now_ms, "{} is held past its bound {due}", one.draft.id);
        }
    }

    pub(super) fn subject(&self, one: &Occurrence) -> &Subject {
        &self.subjects[&one.subject]
    }

    /// Whether a forward of the subject is out that keeps the next version back: for 25 s of the host being
    /// read (contract 7.4).
    pub(super) fn is_behind(&self, subject: &str) -> bool {
        self.subjects[subject].out.iter().any(|number| {
            let written_ms = self.ways[number].written_ms;
            written_ms.is_none_or(|written_ms| self.read_ms() < written_ms + ANSWER_MS)
        })
    }

    /// Whether a write-through of the subject waits for its verdict.
    pub(super) fn is_unsure(&self, subject: &str) -> bool {
        self.all.iter().any(|one| one.subject == subject && matches!(one.state, State::Pending(_)))
    }

    /// Whether something of its subject came before it, is unread, and waits for a time: one subject is told in
    /// the order of its arrival (contract 6.4).
    pub(super) fn waits_for_earlier(&self, at: usize) -> bool {
        let one = &self.all[at];
        self.all[..at].iter().any(|other| {
            let unread =
                other.subject == one.subject && other.state == State::Accepted && other.out.is_none();
            unread && (other.not_before_ms > self.now_ms || (other.sent.is_some() && other.stuck))
        })
    }

    /// At the end, with a host that takes everything: nothing is left.
    pub(in super::super) fn at_rest(&self) {
        for one in &self.all {
            assert!(matches!(one.state, State::Ended(_) | State::Gone), "{} never ended", one.draft.id);
        }
        assert!(self.tickets.is_empty(), "never answered: {:?}", self.tickets);
    }
}
