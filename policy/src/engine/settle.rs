//! The host's answer to a forward, or none (contract 7.4, 9.3).

use mcpl_codec::refusal::Kind;
use mcpl_codec::{Lane, Refusal, code};

use super::Engine;
use super::input::HostReply;
use super::out::{ANSWER_MS, Out};
use super::output::{Answer, Fate, Outcome, Output};
use super::receipt::{Answered, Receipt};
use super::subject::{History, SubjectKey};
use super::timer::Timer;
use super::work::{Role, Stage, Work, WorkKey};
use crate::refusal::Verdict;
use crate::settings::InDoubt;

/// The first back-off, in ms; it doubles.
pub const BACKOFF_MS: u64 = 250;
/// The longest back-off, in ms.
pub const BACKOFF_MOST_MS: u64 = 30_000;

/// What a refusal means for work of ours.
enum Course {
    /// Later, by itself.
    Later(Option<u64>),
    /// Once the grant changes, or its channel.
    Changed,
    /// Never.
    Never,
}

impl Course {
    fn of(refusal: &Refusal, error: Option<i64>) -> Self {
        match (&refusal.kind, error) {
            (
                _,
                Some(code::FEATURE_SET_NOT_ENABLED | code::CAPABILITY_DENIED | code::CHANNEL_NOT_PERMITTED),
            )
            | (Kind::UnknownChannel, _) => Self::Changed,
            (Kind::Unavailable, _) if refusal.retryable != Some(false) => Self::Later(refusal.retry_after_ms),
            (Kind::Other(_) | Kind::NotPermitted, _) if refusal.retryable == Some(true) => {
                Self::Later(refusal.retry_after_ms)
            }
            _ => Self::Never,
        }
    }
}

impl Engine {
    pub(super) fn on_reply(&mut self, number: u64, reply: &HostReply) {
        let Some(out) = self.take_out(number) else { return };
        let Some(work) = self.works.get(out.work) else { return };
        let claims = work.claims();
        if let Some(learned) = reply.verdict.teaches() {
            self.learn(&claims, learned);
        }
        let (subject, through) = (out.subject, self.works.get(out.work).is_some_and(|w| w.through.is_some()));
        match &reply.verdict {
            Verdict::Accepted => self.delivered(&out, Some(reply)),
            Verdict::Refused { refusal, .. }
                if refusal.kind == Kind::Duplicate && self.is_doubtful(out.work) =>
            {
                self.delivered(&out, None);
            }
            Verdict::Refused { refusal, .. } if through => {
                if refusal.kind == Kind::Duplicate {
                    self.set_history(subject, History::Some);
                }
                self.refused_through(&out, reply);
            }
            Verdict::Refused { refusal, code } => match Course::of(refusal, *code) {
                Course::Later(after_ms) => self.later(&out, after_ms),
                Course::Changed => self.unread_again(&out, |work| work.stuck = true),
                Course::Never => {
                    if refusal.kind == Kind::Duplicate {
                        self.set_history(subject, History::Some);
                    }
                    let fate = Fate::Dead(refusal.clone());
                    self.end_out(&out, fate);
                }
            },
            Verdict::Unreadable if through => self.refused_through(&out, reply),
            Verdict::Unreadable => self.later(&out, None),
        }
        if let Some(id) = subject {
            self.subjects.settle(id);
        }
        self.pump();
    }

    /// The forward is out no longer; what waited behind it may go.
    fn take_out(&mut self, number: u64) -> Option<Out> {
        let out = self.outs.remove(&number)?;
        if let Some(id) = out.subject
            && let Some(subject) = self.subjects.get_mut(id)
        {
            subject.out -= 1;
            if subject.blocking == Some(number) {
                subject.blocking = None;
                self.unblock(id);
            }
        }
        Some(out)
    }

    fn is_doubtful(&self, key: WorkKey) -> bool {
        self.works.get(key).is_some_and(|work| work.role == Role::InDoubt)
    }

    fn set_history(&mut self, id: Option<SubjectKey>, history: History) {
        if let Some(subject) = id.and_then(|id| self.subjects.get_mut(id)) {
            subject.history = history;
        }
    }

    /// A receipt: the host has it.
    fn delivered(&mut self, out: &Out, reply: Option<&HostReply>) {
        self.set_history(out.subject, History::Some);
        let Some(work) = self.works.remove(out.work) else { return };
        let after = Some(self.step());
        if let Some(through) = &work.through {
            self.throughs.remove(&work.fingerprint);
            let text = reply.map(|reply| reply.text.clone()).unwrap_or_default();
            let answer = Answered::Host(text, work.outcome, work.prior.clone());
            let receipt = Receipt { digest: work.digest, admitted_ms: self.now.mono_ms, answer };
            for &ticket in &through.tickets {
                self.outputs.push_back(Output::Answer { ticket, answer: receipt.answer(), after });
            }
            self.receipts.remember(work.fingerprint, receipt);
            let fate = if work.outcome == Outcome::Noted { Fate::Withdrawn } else { Fate::Replaced };
            if let Some(displaced) = through.displaced {
                self.end(displaced, fate.clone());
            }
            self.end_older(&work, &fate);
        }
        self.outputs.push_back(Output::Ended { event_id: work.event_id(), fate: Fate::Delivered });
    }

    /// What came back to the subject while this one was out is older than it.
    fn end_older(&mut self, work: &Work, fate: &Fate) {
        self.end_set_aside(work.subject, fate);
        let occupant = work.subject.and_then(|id| self.subjects.get(id)).and_then(|subject| subject.occupant);
        if let Some(key) = occupant
            && self.works.get(key).is_some_and(|older| older.arrived < work.arrived)
        {
            self.end(key, fate.clone());
        }
    }

    /// A write-through the host did not take leaves everything as it was (contract 5, 8.4).
    fn refused_through(&mut self, out: &Out, reply: &HostReply) {
        let answer = Answer::Host { text: reply.text.clone(), error: reply.error, outcome: None };
        self.undo_through(out.work, &answer);
    }

    /// Answers a write-through that came to nothing and puts back what it displaced.
    pub(super) fn undo_through(&mut self, key: WorkKey, answer: &Answer) {
        let Some(work) = self.remove(key) else { return };
        let Some(through) = work.through else { return };
        for ticket in through.tickets {
            self.outputs.push_back(Output::Answer { ticket, answer: answer.clone(), after: None });
        }
        if let Some(displaced) = through.displaced {
            self.take_back(displaced);
        }
        if let Some(id) = work.subject
            && through.began_subject
        {
            self.subjects.forget(id);
        }
    }

    fn end_out(&mut self, out: &Out, fate: Fate) {
        if let Some(work) = self.works.remove(out.work) {
            self.step();
            self.outputs.push_back(Output::Ended { event_id: work.event_id(), fate });
        }
    }

    /// Contract 7.4: the host kept nothing; it is tried again, not before its figure and our back-off.
    fn later(&mut self, out: &Out, after_ms: Option<u64>) {
        let attempts = self.works.get(out.work).map_or(0, |work| work.attempts);
        let most = (BACKOFF_MS << attempts.min(16)).min(BACKOFF_MOST_MS);
        let wait_ms = after_ms.unwrap_or(0).max(self.jitter.u64(0..=most));
        let not_before_ms = self.now.mono_ms.saturating_add(wait_ms);
        if let Some(work) = self.works.get(out.work) {
            self.outputs.push_back(Output::Retrying { event_id: work.event_id(), wait_ms });
        }
        self.unread_again(out, |work| {
            work.attempts = work.attempts.saturating_add(1);
            work.not_before_ms = not_before_ms;
        });
    }

    /// The work is unread again, changed as `with` says; or, where something newer came meanwhile, that one
    /// inherits the change and the older one ends.
    pub(super) fn unread_again(&mut self, out: &Out, with: impl Fn(&mut Work)) {
        let Some(work) = self.works.get_mut(out.work) else { return };
        with(work);
        let (attempts, not_before_ms, stuck) = (work.attempts, work.not_before_ms, work.stuck);
        let fixed = !matches!(work.role, Role::Occupant { .. });
        let newer = out.subject.and_then(|id| self.subjects.get(id)).and_then(|subject| subject.occupant);
        if let (Some(fate), false) = (&out.superseded, fixed) {
            if let Some(work) = newer.and_then(|key| self.works.get_mut(key)) {
                work.attempts = attempts;
                work.not_before_ms = work.not_before_ms.max(not_before_ms);
                work.stuck |= stuck;
            }
            return self.end_out(out, fate.clone());
        }
        self.step();
        let Some(work) = self.works.get_mut(out.work) else { return };
        self.held_bytes += work.bytes();
        if let Some(id) = work.subject
            && let Some(subject) = self.subjects.get_mut(id)
        {
            subject.works += 1;
            if !fixed {
                subject.occupant = Some(out.work);
            }
            self.subjects.settle(id);
        }
        self.make_ready(out.work);
        if let Some(at) = self.works.get(out.work).and_then(|work| work.expires_ms) {
            self.set_expiry(out.work, at);
        }
    }

    /// A newer version or a withdrawal came: what is out of its subject is not tried again.
    pub(super) fn supersede(&mut self, subject: Option<SubjectKey>, fate: &Fate) {
        let Some(id) = subject else { return };
        if self.subjects.get(id).is_some_and(|subject| subject.out > 0) {
            for out in self.outs.values_mut().filter(|out| out.subject == Some(id)) {
                out.superseded = Some(fate.clone());
            }
        }
    }

    /// The session is over and the host never answered (contract 7.4, 8.5, 9.3).
    pub(super) fn on_lost(&mut self, number: u64) {
        let Some(out) = self.take_out(number) else { return };
        let Some(work) = self.works.get(out.work) else { return };
        let (lane, through) = (work.event.lane, work.through.is_some());
        if out.handed {
            self.set_history(out.subject, History::Unknown);
        }
        if through {
            self.undo_through(out.work, &Answer::Unanswered);
        } else if !out.handed {
            self.unread_again(&out, |_| {});
        } else if self.resends(lane, out.work) {
            self.unread_again(&Out { superseded: None, ..out }, |work| work.role = Role::InDoubt);
        } else {
            self.end_out(&out, Fate::InDoubt);
        }
        if let Some(id) = out.subject {
            self.subjects.settle(id);
        }
    }

    /// Whether work in doubt is sent again by itself: where the host drops repeats, inside the retry
    /// window, or where the operator said so.
    fn resends(&self, lane: Lane, key: WorkKey) -> bool {
        let drops = self.session.as_ref().is_some_and(|session| session.host.dedup.covers(lane));
        let window = self.settings.coalesce.retry_window_ms;
        let fresh = self.works.get(key).is_some_and(|work| work.changed_ms + window >= self.now.mono_ms);
        (drops && fresh) || self.settings.host.in_doubt == InDoubt::Resend
    }

    pub(super) fn on_written(&mut self, number: u64) {
        let read_ms = self.read_ms();
        if let Some(out) = self.outs.get_mut(&number) {
            out.handed = true;
            out.written_ms = Some(read_ms);
            self.timers.set(self.now.mono_ms + ANSWER_MS, Timer::Answer(number));
        }
    }

    pub(super) fn on_handed(&mut self, number: u64) {
        if let Some(out) = self.outs.get_mut(&number) {
            out.handed = true;
        }
    }

    /// 25 s of being read without an answer: the next version of the subject may go (contract 7.4).
    pub(super) fn on_unanswered(&mut self, number: u64) {
        let read_ms = self.read_ms();
        let Some(out) = self.outs.get(&number) else { return };
        let Some(written_ms) = out.written_ms else { return };
        let left = (written_ms + ANSWER_MS).saturating_sub(read_ms);
        if left > 0 {
            return self.timers.set(self.now.mono_ms + left, Timer::Answer(number));
        }
        if let Some(id) = out.subject
            && let Some(subject) = self.subjects.get_mut(id)
            && subject.blocking == Some(number)
        {
            subject.blocking = None;
            self.unblock(id);
        }
    }

    pub(super) fn on_retry(&mut self, key: WorkKey) {
        let Some(work) = self.works.get(key) else { return };
        if work.stage == Stage::Waiting {
            if work.not_before_ms > self.now.mono_ms {
                return self.timers.set(work.not_before_ms, Timer::Retry(key));
            }
            self.make_ready(key);
        }
    }
}
