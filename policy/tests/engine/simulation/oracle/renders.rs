//! Batches: what is asked of their producer, what it answers, and what must come of that (contract 6.5).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use mcpl_policy::engine::{Fate, MAX_RENDERS, Stance};
use serde_json::Value;

use super::{Fact, Oracle, State};
use crate::draft::Wrong;
use crate::telling::{Telling, assert_spelled, request};

/// What an occurrence is to its subject.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    /// An occurrence that is told as it is.
    Plain,
    /// A pending batch: its notices since it opened, oldest first.
    Batch(Vec<usize>),
    /// Its producer is asked for it, under this number.
    Rendering(u64),
    /// What came of a batch: rendered content or the fallback.
    Rendered,
}

/// A render that its producer may still answer.
#[derive(Clone, Copy, Debug)]
struct Ask {
    occurrence: usize,
    until_ms: u64,
}

/// All that is known of batches.
#[derive(Debug, Default)]
pub(super) struct Renders {
    out: BTreeMap<u64, Ask>,
    newest: u64,
    /// Notices that were in a request.
    given: BTreeSet<usize>,
    /// The batch that each notice was told with.
    told: HashMap<usize, usize>,
    /// What was frozen for each batch that was asked for, or gave its fallback.
    frozen: HashMap<usize, Vec<usize>>,
    /// Notices of batches that ended in this step as replaced: somebody must have them.
    homeless: Vec<usize>,
    /// Batches whose render ended in this step; with the answer, where there was one.
    closing: Vec<(usize, Option<Telling>)>,
    /// Whose authority was gone before this step changed it.
    pub(super) were_forbidden: BTreeSet<usize>,
}

impl Renders {
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        self.out.keys().copied().collect()
    }

    pub(super) fn newest(&self) -> u64 {
        self.newest
    }
}

impl Oracle {
    /// What time, an answer or the end of a session makes of renders, before anything else is looked at.
    pub(super) fn renders_take_in(&mut self, fact: &Fact, passes: bool) {
        self.renders.closing.clear();
        if self.session.as_ref().is_some_and(|session| session.congested) {
            // The producer is not heard: it is not late.
            let again_ms = self.now_ms + self.settings.coalesce.render_timeout_ms.max(1);
            for ask in self.renders.out.values_mut().filter(|ask| ask.until_ms <= self.now_ms) {
                ask.until_ms = again_ms;
            }
        }
        let late = |ask: &Ask| ask.until_ms <= self.now_ms;
        let over: Vec<u64> =
            self.renders.out.iter().filter(|(_, ask)| late(ask)).map(|(&number, _)| number).collect();
        self.seen.timed_out += over.len() as u64;
        for number in over {
            self.close_render(number, None);
        }
        match fact {
            Fact::Rendered(number, telling) => {
                if self.renders.out.contains_key(number) {
                    self.close_render(*number, Some(telling.clone()));
                } else {
                    self.seen.late += 1;
                }
            }
            Fact::Began(_) | Fact::Ended => {
                for number in self.renders.numbers() {
                    self.close_render(number, None);
                }
                self.renders.closing.clear();
            }
            Fact::Event { draft, .. } if passes && self.stance() == Stance::Aside => {
                // What is held in its scope is told before it, as it is (contract 4.5).
                let scope = |draft: &crate::draft::Draft| {
                    // What `coalesce` says where it is malformed counts for nothing.
                    let malformed = matches!(draft.wrong, Some(Wrong::Key | Wrong::Flags));
                    let scoped = draft.key.is_some() && !malformed;
                    let channel = (draft.lane == mcpl_codec::Lane::Channel || scoped)
                        .then(|| draft.told_in())
                        .flatten();
                    channel.map_or((draft.scope, false), |channel| (channel, true))
                };
                let hit = |at: &usize| {
                    let one = &self.all[*at];
                    one.state == State::Accepted && one.out.is_none() && scope(&one.draft) == scope(draft)
                };
                for at in (0..self.all.len()).filter(hit).collect::<Vec<_>>() {
                    match self.all[at].role.clone() {
                        Role::Batch(_) => self.freeze(at, Role::Rendered),
                        Role::Rendering(number) => self.close_render(number, None),
                        Role::Plain | Role::Rendered => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn close_render(&mut self, number: u64, telling: Option<Telling>) {
        let Some(ask) = self.renders.out.remove(&number) else { return };
        let most = self.settings.max_content_bytes;
        let one = &mut self.all[ask.occurrence];
        one.role = Role::Rendered;
        if let Some(telling) = telling.as_ref().filter(|telling| telling.is_fit(most)) {
            one.body = telling.told(&one.draft);
            self.seen.rendered += 1;
        }
        self.renders.closing.push((ask.occurrence, telling));
    }

    /// No notice joins it any more.
    fn freeze(&mut self, at: usize, role: Role) {
        let Role::Batch(notices) = std::mem::replace(&mut self.all[at].role, role) else {
            panic!("{} is no batch", self.all[at].draft.id)
        };
        self.renders.frozen.insert(at, notices);
    }

    pub(super) fn render_asked(&mut self, index: usize, number: u64, params: &Bytes) {
        let session = self.session.clone().expect("a render without a session");
        assert_ne!(session.host.stance, Stance::Apart, "a host that is no MCPL host is given nothing");
        assert!(!session.congested, "the way is full");
        assert!(self.renders.len() < MAX_RENDERS, "more renders at once than MAX_RENDERS");
        assert!(self.renders.len() + self.ways.len() < self.settings.in_flight, "more than the host takes");
        assert!(number > self.renders.newest, "a number used twice");
        self.renders.newest = number;
        let asked: Value = serde_json::from_slice(params).expect("a render is JSON");
        let id = asked["eventId"].as_str().expect("an eventId");
        let at = self.newest[id];
        let one = &self.all[at];
        assert_eq!(one.state, State::Accepted, "{id} is rendered");
        assert_eq!(one.out, None, "{id} is out, and rendered");
        assert_eq!(one.sent, None, "{id} was told, and is rendered");
        assert!(one.expires_ms.is_none_or(|at| at > self.wall_ms), "{id} has expired");
        assert!(one.not_before_ms <= self.now_ms, "{id} is early: {} ms", one.not_before_ms);
        assert!(!self.is_forbidden(at) || session.host.stance == Stance::Aside, "{id} has lapsed");
        self.one_at_a_time(&one.subject);
        self.newest_first(at, index);
        let other = self.renders.out.values().find(|ask| self.all[ask.occurrence].subject == one.subject);
        assert!(other.is_none(), "two renders of {} at once", one.subject);
        let Role::Batch(notices) = &one.role else { panic!("{id} is rendered, and is {:?}", one.role) };
        let drafts: Vec<_> = notices.iter().map(|&at| &self.all[at].draft).collect();
        assert_eq!(asked, request(&drafts), "what is asked for {id}");
        assert_spelled(params, &drafts);
        self.seen.dropped += u64::from(drafts.len() > 64);
        self.seen.together += u64::from(drafts.len() > 1);
        for at in notices.clone() {
            assert!(self.renders.given.insert(at), "{} is in two requests", self.all[at].draft.id);
        }
        self.freeze(at, Role::Rendering(number));
        let until_ms = self.now_ms + self.settings.coalesce.render_timeout_ms;
        self.renders.out.insert(number, Ask { occurrence: at, until_ms });
        self.seen.asked += 1;
    }

    /// A batch is told: each of its notices is, once.
    pub(super) fn materialised(&mut self, at: usize) {
        match &self.all[at].role {
            Role::Plain => return,
            Role::Rendered => {}
            role => panic!("{} is told, and is {role:?}", self.all[at].draft.id),
        }
        for &notice in &self.renders.frozen[&at] {
            let told = *self.renders.told.entry(notice).or_insert(at);
            assert_eq!(told, at, "{} is told twice", self.all[notice].draft.id);
        }
    }

    /// An occurrence ended: what that makes of its batch.
    pub(super) fn batch_ended(&mut self, at: usize, fate: &Fate) {
        let role = self.all[at].role.clone();
        if let Role::Rendering(number) = role {
            self.renders.out.remove(&number);
            self.seen.cancelled += 1;
        }
        let Role::Batch(notices) = role else { return };
        self.all[at].role = Role::Batch(Vec::new());
        if *fate != Fate::Replaced {
            return;
        }
        let subject = &self.all[at].subject;
        let newer = |one: &super::Occurrence| one.subject == *subject && one.accepted_at.is_some();
        if self.all[at + 1..].iter().any(|one| newer(one) && !one.draft.deferred) {
            // No trace of it remains.
            return;
        }
        let heir = (at + 1..self.all.len()).rev().find(|&heir| {
            let one = &self.all[heir];
            newer(one) && one.state == State::Accepted && matches!(one.role, Role::Batch(_))
        });
        match heir {
            Some(heir) => self.join(heir, notices),
            None => self.renders.homeless.extend(notices),
        }
    }

    fn join(&mut self, at: usize, older: Vec<usize>) {
        if let Role::Batch(notices) = &mut self.all[at].role {
            notices.extend(older);
            notices.sort_unstable();
        }
    }

    /// A notice is held: it opens a batch, or joins the one that it took the place of.
    pub(super) fn notice_held(&mut self, at: usize) {
        let subject = self.all[at].subject.clone();
        let (older, others): (Vec<usize>, Vec<usize>) = std::mem::take(&mut self.renders.homeless)
            .into_iter()
            .partition(|&notice| self.all[notice].subject == subject);
        self.renders.homeless = others;
        self.all[at].role = Role::Batch(vec![at]);
        self.join(at, older);
    }

    /// No notice is lost, and every answer came to what it must come to.
    pub(super) fn renders_settle(&mut self) {
        for notice in std::mem::take(&mut self.renders.homeless) {
            let one = &self.all[notice];
            let newer = self.all[notice + 1..].iter().any(|newer| {
                let accepted = newer.accepted_at.is_some_and(|(step, _)| step == self.step);
                newer.subject == one.subject && accepted && !newer.draft.deferred
            });
            assert!(newer, "the notice {} is lost", one.draft.id);
        }
        for (at, telling) in std::mem::take(&mut self.renders.closing) {
            let (one, forbidden) = (&self.all[at], self.is_forbidden(at));
            let most = self.settings.max_content_bytes;
            let empty = telling.as_ref().is_some_and(|telling| telling.is_silent() && telling.is_fit(most));
            let id = &one.draft.id;
            match &one.state {
                State::Ended(Fate::Expired) => {}
                State::Ended(Fate::Lapsed) => assert!(self.may_lapse(at), "{id} lapsed"),
                state if forbidden && self.stance() == Stance::Over => {
                    panic!("{id} is {state:?}, and its authority is gone")
                }
                State::Ended(Fate::Empty) => assert!(empty, "{id} is empty by {telling:?}"),
                state => assert!(!empty, "{id} is {state:?}, and nothing was rendered"),
            }
        }
    }

    /// Whether authority for it is positively gone (contract 7.5).
    pub(super) fn is_forbidden(&self, at: usize) -> bool {
        self.authority.is_forbidden(&self.all[at])
    }

    pub(super) fn may_lapse(&self, at: usize) -> bool {
        self.is_forbidden(at) || self.renders.were_forbidden.contains(&at)
    }

    /// Why a batch ended as it did.
    pub(super) fn justify_batch(&self, at: usize, fate: &Fate) {
        let one = &self.all[at];
        let closing = self.renders.closing.iter().any(|(closing, _)| *closing == at);
        if *fate == Fate::Empty {
            // What the answer was is looked at with all that close.
            assert!(closing, "{} is empty, and nobody said so", one.draft.id);
        } else {
            assert!(closing || matches!(one.role, Role::Batch(_)), "{} lapsed", one.draft.id);
            assert!(self.may_lapse(at), "{} lapsed, and is permitted", one.draft.id);
        }
    }

    /// Whether a batch cannot be rendered yet.
    pub(super) fn is_render_hindered(&self, at: usize) -> bool {
        let subject = &self.all[at].subject;
        let before = |one: &super::Occurrence| {
            one.subject == *subject
                && one.state == State::Accepted
                && one.out.is_none()
                && matches!(one.role, Role::Rendering(_) | Role::Rendered)
        };
        // What is ready before it goes first; as far as is known here, that is all that is before it.
        let place = self.all[at].place;
        let ready = |one: &&super::Occurrence| {
            let live = matches!(one.state, State::Accepted | State::Pending(_));
            live && one.out.is_none() && (one.place < place || one.draft.told_in().is_some())
        };
        let ready = self.all.iter().filter(ready).count();
        self.renders.len() >= MAX_RENDERS
            || self.renders.len() + self.ways.len() + ready >= self.settings.in_flight
            || self.settings.forward_rate_per_s > 0.0
            || self.all.iter().any(before)
    }
}
