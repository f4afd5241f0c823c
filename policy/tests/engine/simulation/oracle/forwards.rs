//! What goes to the host, when, and that it never changes.

use bytes::Bytes;
use mcpl_codec::Lane;
use mcpl_policy::engine::{ANSWER_MS, BACKOFF_MOST_MS, Stance};
use mcpl_policy::settings::InDoubt;
use serde_json::Value;

use super::renders::Role;
use super::{Fact, Oracle, Session, State, Way};
use crate::say::Meaning;

impl Oracle {
    pub(super) fn forwarded(&mut self, index: usize, number: u64, lane: Lane, body: &Bytes) {
        let session = self.session.clone().expect("a forward without a session");
        assert_ne!(session.host.stance, Stance::Apart, "a host that is no MCPL host is given nothing");
        assert!(!session.congested, "the way is full");
        if session.host.stance == Stance::Over {
            assert!(self.ways.len() < self.settings.in_flight, "more out than in_flight");
        }
        let told: Value = serde_json::from_slice(body).expect("a forward is JSON");
        let id = told["eventId"].as_str().expect("an eventId");
        let at = self.newest[id];
        self.told_as_message(at, lane, &told);
        let one = &self.all[at];
        assert!(matches!(one.state, State::Pending(_) | State::Accepted), "{id} is over: {:?}", one.state);
        assert_eq!(one.out, None, "{id} is out already");
        assert_eq!((lane, &told), (one.lane, &Value::Object(one.body.clone())), "what is told of {id}");
        if let Some(sent) = &one.sent {
            assert_eq!(sent, body, "nothing released changes");
            self.seen.again += 1;
        }
        assert!(one.not_before_ms <= self.now_ms, "{id} is early: {} ms", one.not_before_ms);
        self.one_at_a_time(&one.subject);
        if one.state == State::Accepted {
            if one.doubt_in.is_none() {
                assert!(one.expires_ms.is_none_or(|at| at > self.wall_ms), "{id} has expired");
                self.newest_first(at, index);
            }
            if let Some(doubt_in) = one.doubt_in {
                assert_ne!(doubt_in, session.number, "{id} again in the session that never answered");
                let resend = self.settings.host.in_doubt == InDoubt::Resend;
                assert!(resend || session.host.dedup.covers(lane), "{id} might be had twice");
                let window_ms = self.settings.coalesce.retry_window_ms;
                assert!(resend || one.sent_ms + window_ms >= self.now_ms, "{id} is past the retry window");
                self.seen.resent += 1;
            }
        }
        self.in_order(at, &session);
        self.materialised(at);
        let one = &mut self.all[at];
        one.sent.get_or_insert_with(|| body.clone());
        if one.doubt_in.is_none() {
            one.sent_ms = self.now_ms;
        }
        one.out = Some(number);
        let subject = one.subject.clone();
        self.subjects.entry(subject).or_default().out.push(number);
        let way = Way { occurrence: at, handed: false, written_ms: None };
        assert!(self.ways.insert(number, way).is_none(), "a number used twice");
    }

    /// A push that was written through over an unread message of its subject is told as that message.
    fn told_as_message(&mut self, at: usize, lane: Lane, told: &Value) {
        let one = &self.all[at];
        if lane != Lane::Channel || one.lane != Lane::Push || one.draft.deferred {
            return;
        }
        let older =
            self.all[..at].iter().filter(|other| other.subject == one.subject && other.lane == Lane::Channel);
        let merged = older
            .map(|other| one.draft.merged_into(&other.body))
            .find(|body| *told == Value::Object(body.clone()));
        if let Some(body) = merged {
            let one = &mut self.all[at];
            (one.lane, one.body) = (Lane::Channel, body);
        }
    }

    /// A subject has one forward out, until the answer or 25 s of being read.
    pub(super) fn one_at_a_time(&self, subject: &str) {
        if self.tight {
            // What was appended past capacity belongs to no subject.
            return;
        }
        for number in &self.subjects[subject].out {
            let written_ms = self.ways[number].written_ms.expect("the earlier one is not even written");
            assert!(self.read_ms() >= written_ms + ANSWER_MS, "two forwards of {subject} out");
        }
    }

    /// A channel is told in the order of places: what is held in an earlier one, and hindered by nothing of
    /// its own, has gone before (contract 7.1a).
    fn in_order(&self, at: usize, session: &Session) {
        let one = &self.all[at];
        let ordered = !self.tight && session.host.stance == Stance::Over && one.state == State::Accepted;
        let last_word = ordered && self.all[at + 1..].iter().all(|newer| newer.subject != one.subject);
        assert!(
            !(last_word && self.waits_for_earlier(at)),
            "{} goes before what waits of its subject and came earlier",
            one.draft.id
        );
        let Some(channel) = one.draft.told_in() else { return };
        if self.tight || !session.open || session.host.stance != Stance::Over || one.place == 0 {
            return;
        }
        let passed_by = self.all.iter().enumerate().find(|(at, other)| {
            let held = other.state == State::Accepted && other.out.is_none() && other.sent.is_none();
            let earlier = other.place > 0 && other.place < one.place;
            let started = match other.role {
                Role::Plain | Role::Rendered => false,
                Role::Batch(_) => self.is_render_hindered(*at),
                Role::Rendering(_) => true,
            };
            let hindered = started
                || other.stuck
                || other.not_before_ms > self.now_ms
                || self.waits_for_earlier(*at)
                || other.expires_ms.is_some_and(|at| at <= self.wall_ms)
                || !self.subject(other).out.is_empty()
                || self.is_unsure(&other.subject);
            held && earlier && other.draft.told_in() == Some(channel) && !hindered
        });
        assert!(passed_by.is_none(), "{} goes before {passed_by:?}", one.draft.id);
    }

    /// What was replaced or withdrawn is never told.
    pub(super) fn newest_first(&self, at: usize, index: usize) {
        let one = &self.all[at];
        if self.tight || one.notice {
            return;
        }
        let newer = self.all[at + 1..].iter().find(|newer| {
            // A notice that was told for itself displaces no batch.
            let displaces = !newer.draft.deferred
                || match one.role {
                    Role::Plain => !newer.notice,
                    Role::Batch(_) => newer.role != Role::Plain,
                    Role::Rendering(_) | Role::Rendered => false,
                };
            newer.subject == one.subject
                && displaces
                && newer.accepted_at.is_some_and(|accepted| accepted < (self.step, index))
        });
        assert!(newer.is_none(), "{} is told after {newer:?} was accepted", one.draft.id);
    }

    pub(super) fn retrying(&mut self, id: &str, wait_ms: u64, fact: &Fact) {
        let Fact::Replied(_, say) = fact else { panic!("a retry without an answer") };
        let Meaning::Later(figure) = say.meaning() else { panic!("a retry after {say:?}") };
        assert!(wait_ms >= figure && wait_ms <= figure.max(BACKOFF_MOST_MS), "waits {wait_ms} ms");
        let at = self.newest[id];
        self.all[at].not_before_ms = self.now_ms + wait_ms;
        self.seen.again_later += 1;
    }
}
