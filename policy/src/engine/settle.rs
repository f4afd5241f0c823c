//! The host's answer to a forward, or none (contract 7.4, 9.3).

use mcpl_codec::refusal::Kind;
use mcpl_codec::{Lane, Refusal, code};

use super::Engine;
use super::input::HostReply;
use super::out::{ANSWER_MS, Out};
use super::output::{Answer, Fate, Outcome, Output};
use super::record::Admitted;
use super::session::Session;
use super::subject::{History, SubjectKey};
use super::timer::Timer;
use super::work::{Stage, Work, WorkKey};
use crate::fate::Deferral;
use crate::refusal::Verdict;
use crate::settings::InDoubt;

/// The first back-off, in ms; it doubles.
pub const BACKOFF_MS: u64 = 250;
/// The longest that a host's `retryAfterMs` is kept to, in ms: a day. A longer one would mean never, also to
/// the hosts of later sessions.
pub const RETRY_AFTER_MOST_MS: u64 = 86_400_000;
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
                Course::Changed => self.unread_again(&out, |work| {
                    work.stuck = true;
                    work.deferral = Some(Deferral::Other);
                }),
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
            self.wake(id);
            self.touch_subject(id);
        }
        Some(out)
    }

    fn is_doubtful(&self, key: WorkKey) -> bool {
        self.works.get(key).is_some_and(|work| work.doubtful)
    }

    pub(super) fn set_history(&mut self, id: Option<SubjectKey>, history: History) {
        let Some(id) = id else { return };
        if let Some(subject) = self.subjects.get_mut(id) {
            subject.history = history;
            self.touch_subject(id);
        }
    }

    /// A receipt: the host has it.
    fn delivered(&mut self, out: &Out, reply: Option<&HostReply>) {
        self.set_history(out.subject, History::Some);
        let Some(mut work) = self.works.remove(out.work) else { return };
        self.threads.uncount(work.thread.is_some());
        let after = Some(self.step());
        if let Some(through) = &work.through {
            self.throughs.remove(&work.fingerprint);
            let text = reply.map(|reply| reply.text.clone()).unwrap_or_default();
            let number = self.admit(Some(work.fingerprint), work.digest);
            let outcome = work.outcome.map(|outcome| (outcome, work.prior.clone()));
            let answer = Answer::Host { text: text.clone(), error: false, outcome };
            let admitted = Admitted {
                number,
                event: &work.event,
                digest: work.digest,
                admitted_ms: self.now.mono_ms,
                outcome: work.outcome,
                prior: work.prior.clone(),
            };
            self.keep_receipt(admitted, Some(text.clone()), Fate::Delivered);
            self.note_told(&work, &text);
            for &ticket in &through.tickets {
                self.outputs.push_back(Output::Answer { ticket, answer: answer.clone(), after });
            }
            let fate = if work.outcome == Some(Outcome::Noted) { Fate::Withdrawn } else { Fate::Replaced };
            if let Some(displaced) = through.displaced {
                self.end(displaced, fate.clone());
            }
            self.overtake(work.subject, work.arrived, &fate, work.is_notice());
            self.threads.drop_of(number);
        }
        self.close(&mut work, &Fate::Delivered);
        self.unqueue(out.work, &work);
        self.outputs.push_back(Output::Ended { event_id: work.event_id(), fate: Fate::Delivered });
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
            let due = self.works.get(displaced).is_some_and(|work| work.stage == Stage::Aside { due: true });
            self.put_back(displaced, due);
        }
        if let Some(id) = work.subject
            && through.began_subject
        {
            self.subjects.unlearn(id);
            self.hand_on(id);
        }
    }

    /// Of a subject that a refused write-through began, nothing is known until the next one is accepted.
    fn hand_on(&mut self, id: SubjectKey) {
        let Some(subject) = self.subjects.get(id) else { return };
        let others: Vec<WorkKey> = self
            .throughs
            .values()
            .copied()
            .filter(|&key| self.works.get(key).is_some_and(|work| work.subject == Some(id)))
            .collect();
        if others.len() as u64 == u64::from(subject.out) + u64::from(subject.works)
            && let Some(through) =
                others.first().and_then(|&key| self.works.get_mut(key)).and_then(|work| work.through.as_mut())
        {
            through.began_subject = true;
        }
    }

    fn end_out(&mut self, out: &Out, fate: Fate) {
        if let Some(mut work) = self.works.remove(out.work) {
            self.threads.uncount(work.thread.is_some());
            self.unqueue(out.work, &work);
            self.finish(&mut work, fate);
        }
    }

    /// Contract 7.4: the host kept nothing; it is tried again, not before its figure and our back-off.
    fn later(&mut self, out: &Out, after_ms: Option<u64>) {
        let attempts = self.works.get(out.work).map_or(0, |work| work.attempts);
        let most = (BACKOFF_MS << attempts.min(16)).min(BACKOFF_MOST_MS);
        let after_ms = after_ms.unwrap_or(0).min(RETRY_AFTER_MOST_MS);
        let wait_ms = after_ms.max(self.jitter.u64(0..=most));
        let not_before_ms = self.now.mono_ms.saturating_add(wait_ms);
        if let Some(work) = self.works.get(out.work) {
            self.outputs.push_back(Output::Retrying { event_id: work.event_id(), wait_ms });
        }
        self.unread_again(out, |work| {
            work.attempts = work.attempts.saturating_add(1);
            work.not_before_ms = not_before_ms;
            work.deferral = Some(Deferral::Backpressure);
        });
    }

    /// The work is unread again, changed as `with` says; or, where something newer came meanwhile, that one
    /// inherits the change and the older one ends.
    pub(super) fn unread_again(&mut self, out: &Out, with: impl Fn(&mut Work)) {
        let Some(work) = self.works.get_mut(out.work) else { return };
        with(work);
        let (attempts, not_before_ms, stuck) = (work.attempts, work.not_before_ms, work.stuck);
        let fixed = !work.is_replaceable();
        if let (Some(superseded), false) = (&out.superseded, fixed) {
            for key in out.subject.map_or_else(Vec::new, |id| self.all_unread_of(id)) {
                let Some(work) = self.works.get_mut(key) else { continue };
                work.attempts = attempts;
                work.not_before_ms = work.not_before_ms.max(not_before_ms);
                work.stuck |= stuck;
                self.touch(key);
            }
            self.admitting = superseded.by();
            return self.end_out(out, superseded.fate().clone());
        }
        self.step();
        self.touch(out.work);
        let Some(work) = self.works.get_mut(out.work) else { return };
        self.held_bytes += work.bytes();
        // It is out no longer, and in no list yet.
        work.stage = Stage::Aside { due: true };
        if let Some(id) = work.subject
            && let Some(subject) = self.subjects.get_mut(id)
        {
            subject.works += 1;
            self.subjects.settle(id);
        }
        self.queue(out.work);
        if fixed {
            if let Some(work) = self.works.get(out.work)
                && let Some(subject) = work.subject.and_then(|id| self.subjects.get_mut(id))
            {
                subject.seat(out.work, work);
            }
            self.make_ready(out.work);
        } else {
            self.put_back(out.work, true);
        }
        if let Some(at) = self.works.get(out.work).and_then(|work| work.expires_ms) {
            self.set_expiry(out.work, at);
        }
    }

    /// The session is over and the host never answered (contract 7.4, 8.5, 9.3).
    pub(super) fn on_lost(&mut self, number: u64) {
        let Some(out) = self.take_out(number) else { return };
        let Some(work) = self.works.get(out.work) else { return };
        let (lane, through) = (work.event.lane, work.through.is_some());
        if out.handed {
            self.set_history(out.subject, History::Unknown);
            // The host may have read it: its subject is not forgotten with it.
            if let Some(through) = self.works.get_mut(out.work).and_then(|work| work.through.as_mut()) {
                through.began_subject = false;
            }
        }
        if through {
            self.undo_through(out.work, &Answer::Unanswered);
        } else if !out.handed {
            self.unread_again(&out, |_| {});
        } else if self.resends(lane, out.work) {
            self.unread_again(&Out { superseded: None, ..out }, |work| work.doubtful = true);
        } else {
            self.end_out(&out, Fate::InDoubt);
        }
        if let Some(id) = out.subject {
            self.subjects.settle(id);
        }
    }

    /// Whether work in doubt is sent again by itself: where the host drops repeats, inside the retry
    /// window, or where the operator said so.
    pub(super) fn resends(&self, lane: Lane, key: WorkKey) -> bool {
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
        }
        self.arm_answer(number);
    }

    pub(super) fn on_handed(&mut self, number: u64) {
        if let Some(out) = self.outs.get_mut(&number) {
            out.handed = true;
        }
    }

    /// 25 s of being read without an answer: the next version of the subject may go (contract 7.4).
    pub(super) fn on_unanswered(&mut self, number: u64, set_for: u64) {
        let read_ms = self.read_ms();
        let Some(out) = self.outs.get_mut(&number) else { return };
        if out.timer_ms != Some(set_for) {
            return;
        }
        out.timer_ms = None;
        let Some(written_ms) = out.written_ms else { return };
        if written_ms + ANSWER_MS > read_ms {
            return self.arm_answer(number);
        }
        let Some(out) = self.outs.get(&number) else { return };
        if let Some(id) = out.subject
            && let Some(subject) = self.subjects.get_mut(id)
            && subject.blocking == Some(number)
        {
            subject.blocking = None;
            self.unblock(id);
        }
        self.pass_by(number);
    }

    /// Sets the timer of the 25 s, which run only while the host is being read.
    pub(super) fn arm_answer(&mut self, number: u64) {
        let (now_ms, read_ms) = (self.now.mono_ms, self.read_ms());
        let reading = self.session.as_ref().is_some_and(Session::is_reading);
        if let Some(out) = self.outs.get_mut(&number).filter(|out| reading && out.timer_ms.is_none())
            && let Some(written_ms) = out.written_ms
        {
            let at = now_ms + (written_ms + ANSWER_MS).saturating_sub(read_ms);
            out.timer_ms = Some(at);
            self.timers.set(at, Timer::Answer(number));
        }
    }

    pub(super) fn on_retry(&mut self, key: WorkKey, set_for: u64) {
        let Some(work) = self.works.get_mut(key) else { return };
        if work.retry_timer_ms == Some(set_for) {
            work.retry_timer_ms = None;
        }
        if work.stage == Stage::Waiting {
            // Not yet: it is looked at again, and waits on.
            self.make_ready(key);
        }
    }
}
