//! Every event is answered once, and as the tables say.

use mcpl_policy::engine::{Answer, Fate, MAX_JOINED, Outcome, Stance};
use mcpl_policy::refusal::{Ours, Shortage};
use mcpl_policy::settings::Position;

use super::renders::Role;
use super::{Expected, Fact, Occurrence, Oracle, State};
use crate::draft::{Draft, Wrong};
use crate::simulation::subject::Read;

impl Oracle {
    /// What an event must come to, as far as it can be known before its answer.
    pub(super) fn expect(&mut self, fact: &Fact) -> Expected {
        let Fact::Event { draft, answerable, .. } = fact else { return Expected::Free };
        match self.stance() {
            Stance::Apart => return Expected::Pass,
            Stance::Aside if draft.key.is_some() => return Expected::Pass,
            _ if !answerable => return Expected::Pass,
            Stance::Aside | Stance::Over => {}
        }
        if draft.key.is_none() {
            return Expected::Free;
        }
        if draft.wrong.is_some() {
            return Expected::Malformed;
        }
        if let Some(&at) = self.newest.get(&draft.id) {
            let known = &self.all[at];
            let same = known.draft == *draft;
            match &known.state {
                State::Pending(_) if same => return Expected::Join(at),
                State::Pending(_) => return Expected::Conflict,
                State::Accepted | State::Ended(_) if self.remembers(known) => {
                    return if same { Expected::Retry(at) } else { Expected::Conflict };
                }
                State::Accepted | State::Ended(_) | State::Gone => {}
            }
        }
        let ours = (self.settings.expires_after_ms > 0)
            .then(|| self.wall_ms + self.settings.expires_after_ms as i64);
        self.newest.insert(draft.id.clone(), self.all.len());
        self.all.push(Occurrence {
            draft: draft.clone(),
            subject: draft.subject().unwrap_or_default(),
            state: State::Gone,
            admitted_ms: self.now_ms,
            accepted_at: None,
            ended_in: 0,
            answer: None,
            expected: None,
            notice: draft.retract,
            role: Role::Plain,
            place: 0,
            first_ms: self.now_ms,
            changed_ms: self.now_ms,
            not_before_ms: 0,
            stuck: false,
            expires_ms: draft.expires_ms.into_iter().chain(ours).min(),
            lane: draft.lane,
            body: draft.bare(),
            sent: None,
            sent_ms: 0,
            out: None,
            doubt_in: None,
        });
        self.subjects.entry(draft.subject().unwrap_or_default()).or_default();
        // It is written through unless its answer comes.
        let at = self.all.len() - 1;
        self.all[at].state = State::Pending(Vec::new());
        Expected::New(at)
    }

    pub(super) fn answered(
        &mut self,
        index: usize,
        ticket: u64,
        answer: &Answer,
        after: Option<u64>,
        fact: &Fact,
        expected: Expected,
    ) {
        assert!(self.tickets.remove(&ticket), "answered twice");
        if let Answer::Accepted { .. } | Answer::Host { outcome: Some(_), .. } = answer {
            assert!(after.is_some(), "an acceptance waits for its step");
        }
        match fact {
            Fact::Event { draft, ticket: own, .. } if *own == ticket => {
                return self.answered_at_once(index, draft, answer, expected);
            }
            _ => {}
        }
        let waited = self
            .all
            .iter()
            .position(|one| matches!(&one.state, State::Pending(tickets) if tickets.contains(&ticket)));
        let at = waited.or_else(|| {
            // The second of those who wait for one verdict.
            self.all.iter().position(|one| one.answer.as_ref() == Some(answer) && one.ended_in == self.step)
        });
        let at = at.expect("an answer to someone who waits");
        if let State::Pending(tickets) = &mut self.all[at].state {
            tickets.retain(|other| *other != ticket);
            if !tickets.is_empty() {
                return;
            }
        }
        match answer {
            Answer::Accepted { outcome, .. } | Answer::Host { outcome: Some((outcome, _)), .. } => {
                let one = &self.all[at];
                assert!(one.expected.is_none_or(|wanted| wanted == *outcome), "{outcome:?}: {one:?}");
                let vouched = matches!(answer, Answer::Accepted { .. });
                self.accept(at, index, answer);
                if vouched && self.all[at].draft.deferred && !self.all[at].notice {
                    // No host is given it as it is any more.
                    self.notice_held(at);
                }
                if vouched {
                    let subject = self.all[at].subject.clone();
                    self.subjects.entry(subject).or_default().unsettled = true;
                    self.seen.vouched += 1;
                }
            }
            Answer::Host { outcome: None, .. } => {
                assert!(matches!(fact, Fact::Replied(..)), "the host's words without the host");
                self.all[at].state = State::Gone;
                self.seen.refused_through += 1;
            }
            Answer::Unanswered => {
                assert!(matches!(fact, Fact::Ended | Fact::Began(_)), "unanswered while the session lives");
                self.all[at].state = State::Gone;
                self.seen.unanswered += 1;
            }
            Answer::Again(_) | Answer::Stored => panic!("{answer:?} of a write-through"),
            Answer::Refused(ours) => panic!("refused by us after it was put to the host: {ours:?}"),
        }
    }

    fn answered_at_once(&mut self, index: usize, draft: &Draft, answer: &Answer, expected: Expected) {
        match answer {
            Answer::Refused(ours) => {
                self.refused(draft, ours, expected);
                if let Expected::New(at) = expected {
                    self.all[at].state = State::Gone;
                }
            }
            Answer::Accepted { outcome, prior } => match expected {
                Expected::New(at) => self.held(at, index, *outcome, prior.as_deref(), answer),
                // What it would have joined may have been accepted earlier in this step.
                Expected::Retry(at) | Expected::Join(at) => self.told_again(at, answer),
                other => panic!("accepted: {other:?}"),
            },
            Answer::Host { outcome: Some(_), .. } => match expected {
                Expected::Retry(at) => self.told_again(at, answer),
                other => panic!("the host's words at once: {other:?}"),
            },
            Answer::Host { .. } | Answer::Unanswered | Answer::Again(_) | Answer::Stored => {
                panic!("{answer:?} at once")
            }
        }
    }

    fn told_again(&mut self, at: usize, answer: &Answer) {
        assert_eq!(self.all[at].answer.as_ref(), Some(answer), "a retry gets the original result");
        self.seen.retried += 1;
    }

    /// Our own refusals have their reason.
    fn refused(&mut self, draft: &Draft, ours: &Ours, expected: Expected) {
        self.seen.refused += 1;
        let open = self.session.as_ref().is_some_and(|session| session.open);
        match ours {
            Ours::Malformed(_) => assert_eq!(expected, Expected::Malformed),
            Ours::Unfit(_) => assert_eq!(draft.wrong, Some(Wrong::Twice)),
            Ours::Conflict => {
                assert_eq!(expected, Expected::Conflict);
                self.seen.conflicts += 1;
            }
            Ours::Authority(_) | Ours::BeforePolicy(_) => assert!(!open, "authority where all is permitted"),
            Ours::TooLarge(limit) => {
                assert!(matches!(expected, Expected::New(_) | Expected::Free), "{expected:?}");
                assert!(draft.content.len() as u64 + 2 > *limit, "not over {limit}");
            }
            Ours::Unavailable(Shortage::Rate, wait_ms) => {
                assert!(*wait_ms > 0 && !draft.retract, "a withdrawal takes no token");
                let limits = self.settings.limits;
                assert!(limits.rate_per_s > 0.0 || limits.channel_rate_per_s > 0.0);
                if let (Expected::New(at), false) = (expected, self.tight) {
                    let subject = self.all[at].subject.clone();
                    let folds =
                        self.occupant(&subject, at, !open).is_some() && !self.is_unsure_but(&subject, at);
                    assert!(!folds, "what folds takes no token");
                } else {
                    assert!(matches!(expected, Expected::Free | Expected::New(_)), "{expected:?}");
                }
                self.seen.rate += 1;
            }
            Ours::Unavailable(Shortage::Room, _) => {
                match expected {
                    Expected::New(_) => {
                        let most = self.settings.coalesce.max_held_bytes;
                        assert!(self.before.held_bytes + 1_500 > most, "there was room");
                    }
                    Expected::Join(at) => {
                        let State::Pending(tickets) = &self.all[at].state else { panic!("joins nothing") };
                        assert!(tickets.len() >= MAX_JOINED);
                    }
                    other => panic!("no room: {other:?}"),
                }
                self.seen.room += 1;
            }
            Ours::Unavailable(..) => panic!("{ours:?}"),
        }
    }

    /// What occurrence `except` displaces or joins: the newest that is unread of its subject, or was until this
    /// step displaced it. A notice neither displaces what is rendered nor, written `through`, a batch.
    pub(super) fn occupant(&self, subject: &str, except: usize, through: bool) -> Option<usize> {
        let deferred = self.all[except].draft.deferred;
        let displaces = |one: &Occurrence| match one.role {
            Role::Plain => true,
            Role::Batch(_) => !(deferred && through),
            Role::Rendering(_) | Role::Rendered => !deferred,
        };
        let is_unread = |one: &Occurrence| match &one.state {
            State::Accepted | State::Pending(_) => one.out.is_none(),
            State::Ended(Fate::Replaced | Fate::Withdrawn) => one.ended_in == self.step,
            _ => false,
        };
        self.all.iter().enumerate().rev().find_map(|(at, one)| {
            let replaceable = !one.notice && one.doubt_in.is_none();
            (at != except && one.subject == subject && replaceable && is_unread(one) && displaces(one))
                .then_some(at)
        })
    }

    pub(super) fn is_unsure_but(&self, subject: &str, except: usize) -> bool {
        self.all.iter().enumerate().any(|(at, one)| {
            let waits = matches!(one.state, State::Pending(_))
                || (matches!(one.answer, Some(Answer::Accepted { .. }))
                    && one.expected.is_some()
                    && one.accepted_at.is_some_and(|(step, _)| step == self.step));
            at != except && one.subject == subject && waits
        })
    }

    fn held(&mut self, at: usize, index: usize, outcome: Outcome, prior: Option<&str>, answer: &Answer) {
        let subject = self.all[at].subject.clone();
        // What came too late to be written through ends at once, with the outcome it had then.
        let late = self.all[at].expires_ms.is_some_and(|expires| expires <= self.wall_ms);
        let through = late && outcome == Outcome::Appended;
        let occupant = self.occupant(&subject, at, through);
        let state = self.subjects[&subject].clone();
        let settled = !self.tight && !state.unsettled && !self.is_unsure_but(&subject, at);
        if settled {
            let initial = self.settings.coalesce.initial;
            let wanted = state.outcome(&self.all[at].draft, occupant.is_some(), through, initial);
            assert_eq!(outcome, wanted, "{:?}, history {:?}", self.all[at].draft, state.read);
            assert_eq!(prior, occupant.map(|at| &*self.all[at].draft.id));
        }
        self.seen.outcome(outcome);
        self.places += 1;
        self.all[at].place = self.places;
        if self.all[at].draft.deferred {
            // Appended, it is told for itself.
            match outcome {
                Outcome::Appended => self.all[at].notice = true,
                _ => self.notice_held(at),
            }
        }
        if let Some(old) = prior.and_then(|id| self.newest.get(id)).copied() {
            assert_eq!(self.all[old].subject, subject, "subjects never meet");
            if !self.all[at].draft.retract {
                self.takes_over(at, old);
            }
        }
        let tracked = !matches!(outcome, Outcome::Retracted | Outcome::Consumed);
        let initial = self.settings.coalesce.initial && self.all[at].draft.initial;
        let waits = self.is_unsure_but(&subject, at);
        let unsure = waits || !state.out.is_empty();
        let known = self.subjects.entry(subject).or_default();
        if tracked && known.read.is_none() {
            known.unsettled |= waits;
            known.read = Some(if initial && !unsure { Read::None } else { Read::Perhaps });
        }
        self.accept(at, index, answer);
    }

    /// What a replacement keeps of the occurrence it replaced: its times and, across lanes, its message.
    fn takes_over(&mut self, at: usize, old: usize) {
        // Rendered content that waits is what a plain occurrence takes the place of.
        let waits = |(_, one): &(usize, &Occurrence)| {
            let gone = one.state == State::Ended(Fate::Replaced) && one.ended_in == self.step;
            let waits = gone && one.role == Role::Rendered && one.doubt_in.is_none();
            waits && one.subject == self.all[at].subject
        };
        let waiting = self.all.iter().enumerate().find(waits).map(|(at, _)| at);
        let old = waiting.filter(|_| !self.all[at].draft.deferred).unwrap_or(old);
        let old = self.all[old].clone();
        let keeps = match self.settings.coalesce.position {
            Position::Slot => true,
            Position::Tail => false,
            Position::Auto => old.draft.told_in().is_some(),
        };
        if keeps {
            self.all[at].place = old.place;
        }
        if matches!(old.role, Role::Rendering(_)) {
            // It waits for a reason of its own (contract 7.1).
            return;
        }
        let one = &mut self.all[at];
        one.first_ms = old.first_ms;
        one.not_before_ms = old.not_before_ms;
        one.stuck = old.stuck || old.sent.is_some();
        let merges = old.lane == mcpl_codec::Lane::Channel && one.lane == mcpl_codec::Lane::Push;
        if merges && !one.draft.deferred {
            one.body = one.draft.merged_into(&old.body);
            one.lane = mcpl_codec::Lane::Channel;
            self.seen.merged += 1;
        }
    }

    fn accept(&mut self, at: usize, index: usize, answer: &Answer) {
        let one = &mut self.all[at];
        one.state = State::Accepted;
        one.admitted_ms = self.now_ms;
        one.accepted_at = Some((self.step, index));
        one.answer = Some(answer.clone());
        let needs_no_host =
            matches!(answer, Answer::Accepted { outcome: Outcome::Retracted | Outcome::Consumed, .. });
        if needs_no_host {
            // Nothing is held of it: the withdrawal is done.
            one.state = State::Ended(Fate::Delivered);
        }
    }

    /// An event that was not answered is written through, or joined one that is.
    pub(super) fn settle_event(&mut self, fact: &Fact, expected: Expected) {
        let Fact::Event { draft, ticket, .. } = fact else { return };
        let waits = self.tickets.contains(ticket);
        match expected {
            Expected::New(at) if waits => {
                assert!(
                    !self.session.as_ref().is_some_and(|session| session.open),
                    "held for, where all is open"
                );
                let subject = self.all[at].subject.clone();
                let settled =
                    !self.tight && !self.subjects[&subject].unsettled && !self.is_unsure_but(&subject, at);
                let occupied = self.occupant(&subject, at, true).is_some();
                let seated = self.occupant(&subject, at, false);
                // Over a batch it is told for itself.
                let aside = self.all[..at].iter().any(|one| {
                    one.subject == subject && matches!(one.state, State::Pending(_)) && !one.draft.deferred
                });
                let alone = draft.deferred
                    && !aside
                    && seated.is_some_and(|at| matches!(self.all[at].role, Role::Batch(_)));
                let mut state = self.subjects[&subject].clone();
                state.out.retain(|number| Some(*number) != self.all[at].out);
                let outcome = state.outcome(draft, occupied, true, self.settings.coalesce.initial);
                let one = &mut self.all[at];
                one.expected = settled.then_some(outcome);
                one.notice |= alone;
                one.state = State::Pending(vec![*ticket]);
                self.seen.through += 1;
            }
            Expected::Join(at) if waits => {
                let State::Pending(tickets) = &mut self.all[at].state else { panic!("joins nothing") };
                tickets.push(*ticket);
                self.seen.joined += 1;
            }
            _ => assert!(!waits, "not answered: {expected:?}"),
        }
    }
}
