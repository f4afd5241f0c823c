//! One session as the engine knows it: the host, what it admits, whether it is busy (contract 4, 5, 7.2).

use std::collections::HashSet;

use foldhash::quality::FixedState;

use super::Engine;
use super::input::{ChannelFact, GrantFact, Host, Phase, Stance, Taught, claim};
use super::output::{Fate, Output};
use super::timer::Timer;
use super::work::{Work, WorkKey};
use crate::admission::{Admission, Changed, FeatureSets, Learned};
use crate::settings::InDoubt;

/// Inferences of a host that are known to run at once; past it a further one is not counted.
pub const MAX_RUNNING: usize = 1024;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) host: Host,
    pub(super) admission: Admission,
    pub(super) began_ms: u64,
    /// Inferences that run, by id.
    pub(super) running: HashSet<Box<str>, FixedState>,
    pub(super) newest_started_ms: u64,
    /// The way to the host is full.
    pub(super) congested: bool,
    /// Since when the host is being read; `None` while it is not.
    reading_since_ms: Option<u64>,
    /// How long it was read before that.
    read_ms: u64,
}

impl Session {
    pub(super) fn is_reading(&self) -> bool {
        self.reading_since_ms.is_some()
    }
}

impl Engine {
    pub(super) fn on_began(&mut self, host: Host) {
        if self.session.is_some() {
            self.on_session_ended();
        }
        let now_ms = self.now.mono_ms;
        self.session = Some(Session {
            host,
            admission: Admission::new(),
            began_ms: now_ms,
            running: HashSet::with_hasher(FixedState::with_seed(self.seed)),
            newest_started_ms: 0,
            congested: false,
            reading_since_ms: Some(now_ms),
            read_ms: 0,
        });
        self.await_policy();
        self.give_up_doubt();
        self.unpark(|_| true);
        if host.stance == Stance::Aside {
            self.release_all();
        }
        self.pump();
    }

    /// Contract 9.3: past the retry window the host may have forgotten; an operator decides.
    fn give_up_doubt(&mut self) {
        if self.settings.host.in_doubt == InDoubt::Resend {
            return;
        }
        let oldest = self.now.mono_ms.saturating_sub(self.settings.coalesce.retry_window_ms);
        let past: Vec<WorkKey> = self
            .works
            .iter()
            .filter(|(_, work)| work.doubtful && work.changed_ms < oldest)
            .map(|(key, _)| key)
            .collect();
        for key in past {
            self.end(key, Fate::InDoubt);
        }
    }

    pub(super) fn on_session_ended(&mut self) {
        if self.session.is_none() {
            return;
        }
        // What this very input had handed over before it came to the end is not to be sent: it is held again.
        self.outputs.retain(|output| !matches!(output, Output::Forward { .. } | Output::Render { .. }));
        self.give_up_renders();
        let out: Vec<u64> = self.outs.keys().copied().collect();
        for number in out {
            self.on_lost(number);
        }
        let waiting: Vec<WorkKey> = self.throughs.values().copied().collect();
        for key in waiting {
            self.undo_through(key, &super::output::Answer::Unanswered);
        }
        self.session = None;
        // Of what was out in it nothing more is learned; what was told stays told.
        self.unsettled.clear();
        for work in self.works.values_mut() {
            work.forced = false;
        }
        self.unstick(|_| true);
        // Busy ends with the session (contract 7.2).
        self.rearm_releases();
    }

    pub(super) fn on_declared(&mut self, sets: FeatureSets) {
        let Some(session) = &mut self.session else { return };
        session.admission.declare(sets);
        self.unpark(|_| true);
        self.pump();
    }

    pub(super) fn on_grant(&mut self, fact: GrantFact) {
        let Some(session) = &mut self.session else { return };
        match fact {
            GrantFact::Requested(id, params) => {
                session.admission.update_requested(id, &params);
                return;
            }
            GrantFact::Answered { request, accepted } => {
                session.admission.update_answered(request, accepted);
            }
            GrantFact::Notified(params) => {
                session.admission.update_notified(&params);
            }
        }
        self.mend(|_| true);
    }

    pub(super) fn on_channel(&mut self, fact: ChannelFact) {
        let Some(session) = &mut self.session else { return };
        let changed = match fact {
            ChannelFact::Answered { submitted, result } => session.admission.registered(&submitted, &result),
            ChannelFact::Notified { added, removed } => session.admission.channels_notified(&added, &removed),
            ChannelFact::Opened(id) => session.admission.channel_opened(&id),
        };
        match changed {
            Changed::Nothing => {}
            Changed::Grant => self.mend(|_| true),
            Changed::Channels(ids) => self.mend(|channel| ids.iter().any(|id| **id == *channel)),
        }
    }

    /// Something changed that work may have waited for: a channel of those `hit`, or everything.
    fn mend(&mut self, hit: impl Fn(&str) -> bool) {
        let hit = |work: &Work| work.channel().is_none_or(&hit);
        // Wherever it stands: what is held, behind a forward or set aside may be stuck, too.
        self.unstick(hit);
        self.unpark(hit);
        self.pump();
    }

    /// What the host refused until something changes waits for that no longer, of all that is `hit`.
    fn unstick(&mut self, hit: impl Fn(&Work) -> bool) {
        for work in self.works.values_mut().filter(|work| work.stuck && hit(work)) {
            work.stuck = false;
        }
    }

    pub(super) fn learn(&mut self, taught: &Taught, learned: Learned) {
        let Some(session) = &mut self.session else { return };
        if session.admission.learn(&taught.claim(), learned) {
            self.unpark(|work| claim(&work.event) == taught.claim());
        }
    }

    pub(super) fn on_taught(&mut self, taught: &Taught, learned: Learned) {
        self.learn(taught, learned);
        self.pump();
    }

    pub(super) fn on_inference(&mut self, id: &str, phase: Phase) {
        let now_ms = self.now.mono_ms;
        let Some(session) = &mut self.session else { return };
        match phase {
            Phase::Started => {
                if session.running.len() < MAX_RUNNING {
                    session.running.insert(id.into());
                }
                session.newest_started_ms = now_ms;
            }
            Phase::Ended => {
                session.running.remove(id);
                self.on_flush();
            }
        }
    }

    pub(super) fn on_flush(&mut self) {
        self.release_all();
        self.pump();
    }

    pub(super) fn on_congested(&mut self, congested: bool) {
        let Some(session) = &mut self.session else { return };
        session.congested = congested;
        self.pump();
    }

    pub(super) fn on_reading(&mut self, reading: bool) {
        let now_ms = self.now.mono_ms;
        let Some(session) = &mut self.session else { return };
        match (session.reading_since_ms, reading) {
            (Some(since), false) => {
                session.read_ms += now_ms - since;
                session.reading_since_ms = None;
            }
            (None, true) => {
                session.reading_since_ms = Some(now_ms);
                for number in self.outs.keys().copied().collect::<Vec<_>>() {
                    self.arm_answer(number);
                }
            }
            _ => {}
        }
    }

    /// How long the host of this session has been read, in ms.
    pub(super) fn read_ms(&self) -> u64 {
        self.session.as_ref().map_or(0, |session| {
            session.read_ms + session.reading_since_ms.map_or(0, |since| self.now.mono_ms - since)
        })
    }

    /// Sets the timer of contract 7.5.
    pub(super) fn await_policy(&mut self) {
        if let Some(session) = &self.session {
            self.timers.set(session.began_ms + self.settings.host.policy_wait_ms, Timer::PolicyWait);
        }
    }

    /// Work that is not out: of each forward that is out there is its work, once.
    pub(super) fn count_held(&self) -> usize {
        self.works.len() - self.outs.len()
    }
}
