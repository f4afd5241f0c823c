//! One occurrence that the host has not answered for (contract 0: held, released, in doubt).

use bytes::Bytes;
use mcpl_codec::{Digest, Event, Lane, Scope, raw};
use slotmap::new_key_type;

use super::batch::Batch;
use super::input::{Taught, Ticket};
use super::output::Outcome;
use super::subject::SubjectKey;
use crate::fate::{Deferral, Fate};
use crate::thread::Thread;

new_key_type! {
    /// Names a piece of work.
    pub(super) struct WorkKey;
}

/// Where a piece of work stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Held without a reason to go yet.
    Held,
    /// It has a reason and goes as soon as it can.
    Ready,
    /// It has a reason; its scope is not admissible (contract 7.5).
    Parked,
    /// It has a reason; its time has not come (contract 7.4).
    Waiting,
    /// It has a reason; a forward of its subject is out (contract 7.4), or something stored of its channel is
    /// to go first.
    Behind,
    /// Set aside by a write-through that the host has not answered (contract 5: a refusal leaves the
    /// subject untouched).
    Aside {
        /// It had a reason to go.
        due: bool,
    },
    /// Its producer renders it, under this number (contract 6.5).
    Rendering(u64),
    /// Handed to the driver under this number.
    Out(u64),
}

/// What a piece of work is to its subject.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The unread occurrence that a newer one replaces.
    Plain,
    /// A pending batch: the occurrence is its fallback, and a notice joins it (contract 6.5).
    Pending(Box<Batch>),
    /// What a batch became, from when its render began: a plain occurrence or a withdrawal replaces it, a notice
    /// does not. Its content is the fallback until the render is answered.
    Rendered,
    /// A deletion notice, or what was appended past capacity: nothing replaces it (contract 6.4, 6.7).
    Fixed,
    /// Not coalesced, and kept in the order of its channel (contract 13.2).
    Stored,
}

/// The waiting answer of a write-through (contract 5).
#[derive(Debug)]
pub(super) struct Through {
    /// Those to answer with the host's verdict: the first, and retries that joined.
    pub(super) tickets: Vec<Ticket>,
    /// What was the unread occupant; it returns if the host refuses.
    pub(super) displaced: Option<WorkKey>,
    /// The subject was not tracked before.
    pub(super) began_subject: bool,
}

/// One occurrence.
#[derive(Debug)]
pub(super) struct Work {
    /// Its number once it is admitted; 0 before that.
    pub(super) number: u64,
    pub(super) event: Box<Event>,
    pub(super) subject: Option<SubjectKey>,
    pub(super) role: Role,
    /// It was handed over once and never answered for: it is sent again unchanged, if at all (contract 9.3).
    pub(super) doubtful: bool,
    /// The host refused it for now.
    pub(super) deferral: Option<Deferral>,
    pub(super) stage: Stage,
    pub(super) through: Option<Through>,
    /// Its place in the order of everything held.
    pub(super) place: u64,
    /// Which of all events it was.
    pub(super) arrived: u64,
    /// When its subject first held unread work.
    pub(super) first_ms: u64,
    /// When its subject last changed.
    pub(super) changed_ms: u64,
    /// Not before this time.
    pub(super) not_before_ms: u64,
    /// Refusals as `unavailable` so far.
    pub(super) attempts: u32,
    /// Not after this calendar time.
    pub(super) expires_ms: Option<i64>,
    /// The host refused it in a way that only a change of the grant, or of its channel, mends.
    pub(super) stuck: bool,
    /// It goes whatever is known of its scope (contract 4.5).
    pub(super) forced: bool,
    /// The moment of its release timer, while one is set.
    pub(super) release_timer_ms: Option<u64>,
    /// The moment of its retry timer, while one is set.
    pub(super) retry_timer_ms: Option<u64>,
    /// The moment of its expiry timer, while one is set.
    pub(super) expiry_timer_ms: Option<u64>,
    pub(super) fingerprint: u128,
    pub(super) digest: Digest,
    /// `None`: it was not coalesced.
    pub(super) outcome: Option<Outcome>,
    pub(super) prior: Option<Box<str>>,
    /// When it was admitted.
    pub(super) admitted_ms: u64,
    /// What the journal says of it, and how often that changed.
    pub(super) recorded: Option<Fate>,
    pub(super) revision: u32,
    /// It had a reason to go when that was written; what was given to everything at once is not written here.
    pub(super) due: bool,
    /// It is among what this input changed.
    pub(super) touched: bool,
    /// The traces that it stands for.
    pub(super) thread: Option<Box<Thread>>,
}

impl Work {
    /// What it counts towards `max_held_bytes`.
    pub(super) fn bytes(&self) -> u64 {
        match &self.role {
            Role::Pending(batch) => batch.bytes(),
            Role::Plain | Role::Rendered | Role::Fixed | Role::Stored => self.event.raw.len() as u64,
        }
    }

    /// The channel it is told in, where it has channel scope.
    pub(super) fn channel(&self) -> Option<&str> {
        told_in(&self.event)
    }

    /// What it asks of the host's admission.
    pub(super) fn claims(&self) -> Taught {
        Taught::of(&self.event)
    }

    /// The raw params or message to hand over: without `coalesce` (contract 7.4).
    pub(super) fn body(&self) -> Bytes {
        Bytes::from(self.event.bare())
    }

    /// What it is known by: its `eventId`, else its `messageId` (contract 0).
    pub(super) fn event_id(&self) -> Box<str> {
        identity(&self.event).unwrap_or_default()
    }

    /// A newer occurrence of its subject may replace it.
    pub(super) fn is_replaceable(&self) -> bool {
        match self.role {
            Role::Plain | Role::Pending(_) | Role::Rendered => !self.doubtful,
            Role::Fixed | Role::Stored => false,
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        matches!(self.role, Role::Pending(_))
    }

    pub(super) fn batch(&self) -> Option<&Batch> {
        if let Role::Pending(batch) = &self.role { Some(batch) } else { None }
    }

    pub(super) fn is_rendering(&self) -> bool {
        matches!(self.stage, Stage::Rendering(_))
    }

    /// It is a notice's fallback: what it displaces is what a notice displaces.
    pub(super) fn is_notice(&self) -> bool {
        is_deferred(&self.event)
    }

    /// Where it stands, while it is here.
    pub(super) fn fate(&self) -> Fate {
        match (self.stage, self.doubtful, self.deferral) {
            (Stage::Out(_), ..) | (_, true, _) => Fate::submitted(self.deferral),
            (_, _, Some(deferral)) => Fate::Deferred(deferral),
            _ => Fate::Held,
        }
    }
}

/// What `event` is known by, if by anything.
pub(super) fn identity(event: &Event) -> Option<Box<str>> {
    let named = event.event_id.as_deref().filter(|id| !id.is_empty());
    let spelled = |id: &[u8]| raw::string(id).map_or_else(|| String::from_utf8_lossy(id).into(), Box::from);
    named.map(Into::into).or_else(|| event.message_id.as_deref().map(spelled))
}

/// Whether `event` is a notice (contract 6.5).
pub(super) fn is_deferred(event: &Event) -> bool {
    matches!(&event.coalesce, Some(Ok(coalesce)) if coalesce.deferred)
}

/// The channel that `event` is told in, where it has channel scope or is not coalesced by its sender.
pub(super) fn told_in(event: &Event) -> Option<&str> {
    match (event.lane, &event.coalesce) {
        (Lane::Channel, _) => event.channel.as_deref(),
        // What a rule coalesced says no more of its channel than what is uncoalesced, which it is when its text is
        // read back: it is told where its `origin` says (contract 7.1a).
        (Lane::Push, None) => event.hint.as_deref(),
        (Lane::Push, Some(Ok(coalesce))) if coalesce.ruled.is_some() => event.hint.as_deref(),
        (Lane::Push, Some(Ok(coalesce))) => coalesce.channel.as_deref(),
        (Lane::Push, Some(Err(_))) => None,
    }
}

/// The channel whose rate it counts towards, where it has channel scope (contract 8.8).
pub(super) fn charged_to(event: &Event) -> Option<&str> {
    match event.ruled().map(|ruled| &ruled.scope) {
        Some(Scope::Channel(channel)) => Some(channel),
        Some(Scope::Own | Scope::Named(_)) if event.lane == Lane::Push => None,
        _ => told_in(event),
    }
}
