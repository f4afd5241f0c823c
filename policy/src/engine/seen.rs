//! What a step says of each occurrence it changes, for those who watch (contract 9.2, 10.4).
//!
//! It is noted where the rows are written, so that it says what the journal says, and only while somebody wants
//! it: until [`Engine::observe`] it costs a look at an empty option. No content and no key is in it.

use mcpl_codec::{Event, Lane};

use super::Engine;
use super::output::{Fate, Outcome};
use super::record;
use super::subject::SubjectKey;
use super::work::{Role, Stage, Work, WorkKey, identity};
use crate::fate::Deferral;
use crate::journal::WorkRow;

/// One occurrence as a step leaves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its number.
    pub number: u64,
    /// What it is known by: its `eventId`, else its `messageId`. Empty if nothing says it any more.
    pub event_id: Box<str>,
    /// Its lane.
    pub lane: Lane,
    /// What it belongs to, where that is known.
    pub scope: Option<Belongs>,
    /// The number of its subject, where it has one.
    pub subject: Option<u64>,
    /// Where it stands.
    pub fate: Fate,
    /// How often that changed.
    pub revision: u32,
    /// It stays in the journal as a whole; else nothing but its receipt does.
    pub open: bool,
    /// What it waits for, while it does.
    pub waits: Option<Waits>,
    /// It was handed to a host before.
    pub handed: bool,
    /// An operator's word did this.
    pub operator: bool,
    /// The occurrence that replaced or withdrew it; 0: none did.
    pub by: u64,
    /// What coalescing made of it.
    pub outcome: Option<Outcome>,
    /// What it displaced.
    pub prior: Option<Box<str>>,
    /// When it was admitted, in ms of running time.
    pub admitted_ms: u64,
    /// Not before this, in ms of running time.
    pub not_before_ms: u64,
    /// Not after this calendar time, in ms since 1970.
    pub expires_ms: Option<i64>,
    /// Refusals as `unavailable` so far.
    pub attempts: u32,
    /// How many notices it stands for, where it is a batch; else 0.
    pub notices: u64,
}

/// What an occurrence belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// A feature set.
    FeatureSet(Box<str>),
    /// A channel.
    Channel(Box<str>),
}

/// What an occurrence waits for. Of rows alone less can be told than by the engine that works on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waits {
    /// A reason to go: a newer one may still take its place (contract 7.1).
    Reason,
    /// A host: none is connected.
    Host,
    /// Its turn: what goes before it is not answered for, or the pace (contract 7.4).
    Turn,
    /// A grant of its feature set, or its channel (contract 7.5).
    Scope,
    /// The time of the next try, which the host asked for (contract 7.4).
    Retry,
    /// Its producer, which renders it (contract 6.5).
    Render,
    /// The host's answer (contract 9.3).
    Answer,
    /// An operator (contract 9.3, 9.5).
    Operator,
}

impl Waits {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Reason,
        Self::Host,
        Self::Turn,
        Self::Scope,
        Self::Retry,
        Self::Render,
        Self::Answer,
        Self::Operator,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reason => "reason",
            Self::Host => "host",
            Self::Turn => "turn",
            Self::Scope => "scope",
            Self::Retry => "retry",
            Self::Render => "render",
            Self::Answer => "answer",
            Self::Operator => "operator",
        }
    }

    /// One line for people.
    pub const fn told(self) -> &'static str {
        match self {
            Self::Reason => "nothing asks for it yet; a newer one may still take its place",
            Self::Host => "it is due, and no host is connected",
            Self::Turn => "it is due, and goes when it is its turn",
            Self::Scope => {
                "it is due, and the host may not be given it: its grant or its channel has to change"
            }
            Self::Retry => "the host asked for time; it is tried again",
            Self::Render => "its producer is asked to render it",
            Self::Answer => "the host was given it and has not answered",
            Self::Operator => "somebody has to settle it",
        }
    }

    /// What the row of an open occurrence says; `due`: it has a reason to go.
    pub fn of(fate: &Fate, due: bool) -> Option<Self> {
        match fate {
            Fate::Held if due => Some(Self::Turn),
            Fate::Held => Some(Self::Reason),
            Fate::Deferred(Deferral::Backpressure) => Some(Self::Retry),
            Fate::Deferred(Deferral::Other) => Some(Self::Scope),
            Fate::Submitted | Fate::SubmittedAfter(_) => Some(Self::Answer),
            Fate::InDoubt | Fate::InDoubtAfter(_) | Fate::Dead(_) => Some(Self::Operator),
            _ => None,
        }
    }
}

impl Belongs {
    /// The name of the feature set, or the id of the channel.
    pub fn id(&self) -> &str {
        match self {
            Self::FeatureSet(id) | Self::Channel(id) => id,
        }
    }

    /// What `event` belongs to, as its sender says.
    pub fn of(event: &Event) -> Option<Self> {
        let channel = match (event.lane, &event.coalesce) {
            (Lane::Channel, _) => event.channel.as_deref(),
            (Lane::Push, Some(Ok(coalesce))) if coalesce.ruled.is_none() => coalesce.channel.as_deref(),
            (Lane::Push, _) => None,
        };
        let feature_set = || event.feature_set.as_deref().map(|name| Self::FeatureSet(name.into()));
        channel.map(|id| Self::Channel(id.into())).or_else(feature_set)
    }
}

impl Engine {
    /// Whether [`Engine::take_seen`] is to have anything to say, from the next input on.
    pub fn observe(&mut self, wanted: bool) {
        self.seen = wanted.then(Vec::new);
    }

    /// Whether it is observed.
    pub fn is_observed(&self) -> bool {
        self.seen.is_some()
    }

    /// What the last step says of the occurrences it changes, each once. To be taken with each
    /// [`Output::Step`](super::Output::Step).
    pub fn take_seen(&mut self) -> Vec<Seen> {
        self.seen.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The row of a piece of work was written.
    pub(super) fn see_held(&mut self, key: WorkKey, subject: Option<u64>) {
        if self.seen.is_none() {
            return;
        }
        let Some(work) = self.works.get(key) else { return };
        let fate = work.fate();
        let waits = Some(self.waits(work));
        let seen = Seen { subject, revision: work.revision, waits, ..Seen::of(work, fate) };
        self.see(seen);
    }

    /// A piece of work left for good, or was laid aside for an operator (`open`).
    pub(super) fn see_left(&mut self, work: &Work, fate: &Fate, open: bool) {
        if self.seen.is_none() {
            return;
        }
        let waits = open.then_some(Waits::Operator);
        let (subject, by) = (self.subject_number(work.subject), self.displaced_by(work.number, fate));
        let seen = Seen { subject, open, waits, by, ..Seen::of(work, fate.clone()) };
        self.see(Seen { revision: work.revision + 1, ..seen });
    }

    /// An operator settled what was laid aside.
    pub(super) fn see_settled(
        &mut self,
        number: u64,
        row: &WorkRow,
        text: Option<&bytes::Bytes>,
        fate: &Fate,
    ) {
        if self.seen.is_none() {
            return;
        }
        let event = text.map(|text| record::read(row.lane, text.clone()));
        let by = self.displaced_by(number, fate);
        self.see(Seen {
            number,
            event_id: row.event_id.clone().unwrap_or_default(),
            lane: row.lane,
            scope: event.as_ref().and_then(Belongs::of),
            subject: row.subject,
            fate: fate.clone(),
            revision: row.revision + 1,
            open: false,
            waits: None,
            handed: true,
            operator: true,
            by,
            outcome: row.outcome,
            prior: row.prior.clone(),
            admitted_ms: row.admitted_ms,
            not_before_ms: 0,
            expires_ms: row.expires_ms,
            attempts: row.attempts,
            notices: 0,
        });
    }

    /// An occurrence was admitted and ended with that.
    pub(super) fn see_done(&mut self, admitted: &record::Admitted<'_>, fate: &Fate, handed: bool) {
        if self.seen.is_none() || !fate.is_end() {
            return;
        }
        let Some(event_id) = identity(admitted.event) else { return };
        self.see(Seen {
            number: admitted.number,
            event_id,
            lane: admitted.event.lane,
            scope: Belongs::of(admitted.event),
            subject: None,
            fate: fate.clone(),
            revision: 1,
            open: false,
            waits: None,
            handed,
            operator: false,
            by: 0,
            outcome: admitted.outcome,
            prior: admitted.prior.clone(),
            admitted_ms: admitted.admitted_ms,
            not_before_ms: 0,
            expires_ms: None,
            attempts: 0,
            notices: 0,
        });
    }

    fn see(&mut self, seen: Seen) {
        let operator = seen.operator || (self.resolving != 0 && self.resolving == seen.number);
        if let Some(all) = &mut self.seen {
            // What left is not held, and is written once: each is seen once.
            all.push(Seen { operator, ..seen });
        }
    }

    fn subject_number(&self, key: Option<SubjectKey>) -> Option<u64> {
        key.and_then(|id| self.subjects.get(id)).map(|subject| subject.number)
    }

    fn waits(&self, work: &Work) -> Waits {
        match work.stage {
            Stage::Out(_) => Waits::Answer,
            Stage::Rendering(_) => Waits::Render,
            Stage::Held | Stage::Aside { due: false } => Waits::Reason,
            _ if work.fate().is_submitted() => Waits::Answer,
            _ if self.session.is_none() => Waits::Host,
            Stage::Parked => Waits::Scope,
            _ if work.stuck => Waits::Scope,
            Stage::Waiting if work.attempts > 0 => Waits::Retry,
            Stage::Waiting | Stage::Ready | Stage::Behind | Stage::Aside { due: true } => Waits::Turn,
        }
    }
}

impl Seen {
    fn of(work: &Work, fate: Fate) -> Self {
        Self {
            number: work.number,
            event_id: work.event_id(),
            lane: work.event.lane,
            scope: Belongs::of(&work.event),
            subject: None,
            fate,
            revision: work.revision,
            open: true,
            waits: None,
            handed: work.doubtful
                || matches!(work.stage, Stage::Out(_))
                || work
                    .recorded
                    .as_ref()
                    .is_some_and(|fate| fate.is_submitted() || fate.deferral().is_some()),
            operator: false,
            by: 0,
            outcome: work.outcome,
            prior: work.prior.clone(),
            admitted_ms: work.admitted_ms,
            not_before_ms: work.not_before_ms,
            expires_ms: work.expires_ms,
            attempts: work.attempts,
            notices: match &work.role {
                Role::Pending(batch) => batch.row().total,
                _ => 0,
            },
        }
    }
}
