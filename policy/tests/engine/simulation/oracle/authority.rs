//! What the host permits, as far as it was said.

use mcpl_codec::Lane;
use mcpl_policy::Input;
use mcpl_policy::admission::{Admission, Claim, Standing};
use mcpl_policy::engine::{ChannelFact, GrantFact};

use super::{Occurrence, Oracle};

/// The admission of this session; it has tests of its own.
#[derive(Debug, Default)]
pub(super) struct Authority(Option<Admission>);

impl Authority {
    pub(super) fn is_forbidden(&self, one: &Occurrence) -> bool {
        let forbidden = |known: &Admission| matches!(known.look(&claim(one)), Standing::Forbidden(_));
        self.0.as_ref().is_some_and(forbidden)
    }
}

fn claim(one: &Occurrence) -> Claim<'_> {
    let channel = one.draft.channel.filter(|_| one.draft.key.is_some());
    match (one.lane, channel) {
        (Lane::Channel, _) => Claim::Message { channel: one.draft.told_in().unwrap_or_default() },
        (Lane::Push, Some(channel)) => Claim::ScopedPush { feature_set: one.draft.scope, channel },
        (Lane::Push, None) => Claim::Push { feature_set: one.draft.scope },
    }
}

impl Oracle {
    /// What is about to be told to the engine, as far as it says what is permitted.
    pub(in super::super) fn learn(&mut self, input: &Input) {
        self.renders.were_forbidden.clear();
        match input {
            Input::Began(_) => self.authority.0 = Some(Admission::new()),
            Input::Ended => self.authority.0 = None,
            _ => {}
        }
        let Some(known) = &mut self.authority.0 else { return };
        match input {
            Input::Declared(sets) => known.declare(sets.clone()),
            Input::Grant(GrantFact::Requested(id, params)) => known.update_requested(*id, params),
            Input::Grant(GrantFact::Answered { request, accepted }) => {
                known.update_answered(*request, *accepted);
            }
            Input::Grant(GrantFact::Notified(params)) => {
                known.update_notified(params);
            }
            Input::Channel(ChannelFact::Answered { submitted, result }) => {
                known.registered(submitted, result);
            }
            Input::Channel(ChannelFact::Notified { added, removed }) => {
                known.channels_notified(added, removed);
            }
            Input::Channel(ChannelFact::Opened(id)) => {
                known.channel_opened(id);
            }
            Input::Taught(taught, learned) => {
                known.learn(&taught.claim(), *learned);
            }
            Input::Replied(number, reply) => {
                let (Some(way), Some(learned)) = (self.ways.get(number), reply.verdict.teaches()) else {
                    return;
                };
                let forbidden = |one: &Occurrence| matches!(known.look(&claim(one)), Standing::Forbidden(_));
                let were = self.all.iter().enumerate().filter(|(_, one)| forbidden(one)).map(|(at, _)| at);
                self.renders.were_forbidden = were.collect();
                known.learn(&claim(&self.all[way.occurrence]), learned);
            }
            _ => {}
        }
    }
}
