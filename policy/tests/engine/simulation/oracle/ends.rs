//! What was accepted ends once, and for a reason.

use std::collections::BTreeMap;

use mcpl_policy::engine::Fate;

use super::renders::Role;
use super::{Fact, Occurrence, Oracle, State, Way};
use crate::say::Meaning;
use crate::simulation::subject::Read;

impl Oracle {
    pub(super) fn ended(&mut self, id: &str, fate: &Fate) {
        let at = *self.newest.get(id).expect("the end of something that came");
        let one = &mut self.all[at];
        // A write-through is accepted by its end; its answer stands before it.
        assert_eq!(one.state, State::Accepted, "{id} ends as {fate:?}");
        one.state = State::Ended(fate.clone());
        one.ended_in = self.step;
        if *fate != Fate::Replaced && *fate != Fate::Withdrawn {
            one.out = None;
        }
        self.batch_ended(at, fate);
        self.seen.fate(fate);
        if let Some((answered, meaning)) = self.answering
            && answered == at
            && matches!(fate, Fate::Replaced | Fate::Withdrawn)
        {
            self.inherit(at, meaning == Meaning::Changed);
        }
    }

    /// Every end of this step has its reason.
    pub(super) fn justify(&self, fact: &Fact, gone: &BTreeMap<u64, Way>) {
        for (at, one) in self.all.iter().enumerate().filter(|(_, one)| one.ended_in == self.step) {
            let State::Ended(fate) = &one.state else { continue };
            let id = &one.draft.id;
            let said = match fact {
                Fact::Replied(_, say) if gone.values().any(|way| way.occurrence == at) => Some(say.meaning()),
                _ => None,
            };
            let newer = |wanted: &dyn Fn(&Occurrence) -> bool| {
                self.all[at + 1..]
                    .iter()
                    .any(|newer| newer.subject == one.subject && newer.accepted_at.is_some() && wanted(newer))
            };
            match fate {
                Fate::Delivered => assert!(
                    said == Some(Meaning::Delivered)
                        || (said == Some(Meaning::Duplicate) && one.doubt_in.is_some()),
                    "{id} delivered by {said:?}"
                ),
                // No notice takes the place of what was rendered (contract 6.5).
                Fate::Replaced => {
                    let batch = matches!(one.role, Role::Rendering(_) | Role::Rendered);
                    let by = |newer: &Occurrence| !(newer.draft.retract || batch && newer.draft.deferred);
                    assert!(newer(&by), "{id} replaced by nothing");
                }
                Fate::Empty | Fate::Lapsed => self.justify_batch(at, fate),
                Fate::Withdrawn => assert!(newer(&|newer| newer.draft.retract), "{id} withdrawn by nobody"),
                Fate::Expired => {
                    assert!(one.expires_ms.is_some_and(|at| at <= self.wall_ms), "{id} expired early");
                }
                Fate::Dead(_) => assert!(
                    said == Some(Meaning::Never)
                        || (said == Some(Meaning::Duplicate) && one.doubt_in.is_none()),
                    "{id} dead by {said:?}"
                ),
                Fate::InDoubt | Fate::InDoubtAfter(_) => {
                    let lost = gone.values().any(|way| way.occurrence == at && way.handed);
                    assert!(one.doubt_in.is_some() || (lost && said.is_none()), "{id} in doubt");
                }
                other => panic!("{id} ended as {other:?}"),
            }
        }
    }

    /// What an answer or a lost session means for what was out (contract 7.4).
    pub(super) fn leave(&mut self, fact: &Fact, gone: BTreeMap<u64, Way>) {
        for way in gone.into_values() {
            let one = &mut self.all[way.occurrence];
            let subject = self.subjects.entry(one.subject.clone()).or_default();
            match fact {
                Fact::Replied(_, say) => match say.meaning() {
                    Meaning::Delivered => {
                        (subject.read, subject.unsettled) = (Some(Read::Perhaps), false);
                        assert_eq!(one.state, State::Ended(Fate::Delivered), "{}", one.draft.id);
                    }
                    Meaning::Duplicate => {
                        subject.read = Some(Read::Perhaps);
                        assert!(!matches!(one.state, State::Accepted), "{}", one.draft.id);
                    }
                    Meaning::Never => {
                        assert!(!matches!(one.state, State::Accepted), "{}", one.draft.id);
                    }
                    Meaning::Later(_) | Meaning::Changed => {}
                },
                _ if way.handed => {
                    subject.read = Some(Read::Perhaps);
                    if one.state == State::Accepted {
                        one.doubt_in = Some(self.sessions - u64::from(matches!(fact, Fact::Began(_))));
                    }
                }
                _ => {}
            }
        }
    }

    /// The version that came while a forward was out inherits its time.
    fn inherit(&mut self, from: usize, changed: bool) {
        let (subject, not_before_ms) = (self.all[from].subject.clone(), self.all[from].not_before_ms);
        let unread =
            |one: &Occurrence| one.state == State::Accepted && one.out.is_none() && one.doubt_in.is_none();
        let heirs = self.all[from + 1..].iter_mut().filter(|one| one.subject == subject && !one.notice);
        for heir in heirs.filter(|one| unread(one)) {
            heir.not_before_ms = not_before_ms.max(heir.not_before_ms);
            heir.stuck |= changed;
        }
    }
}
