//! What the engine says of its own decisions, for a log that explains them (contract 10).
//!
//! Until [`Engine::explain`] a decision costs a look at an empty option. No content and no key is in a note.

use super::Engine;
use super::letters::Word;
use super::seen::Waits;
use super::work::{Role, Stage, WorkKey};

/// One decision about what is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The occurrence, by its `eventId`, else its `messageId`.
    pub event_id: Box<str>,
    /// The decision.
    pub says: Says,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// It has a reason to go.
    Due(Why),
    /// It is due, and is kept back for this.
    KeptBack(Waits),
    /// The pace keeps it waiting for so many ms.
    Paced(u64),
    /// Its producer did not render it in time: its fallback goes.
    Unrendered,
    /// An operator settled it with this word.
    Settled(Word),
}

/// Why what was held may go (contract 7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Why {
    /// Its subject was quiet, or held, for long enough.
    Time,
    /// It is urgent.
    Urgent,
    /// An event is to pass behind it.
    Passing,
    /// The host assembles a request, or an inference ended.
    Inference,
    /// An operator asked for it.
    Operator,
    /// The program ends, or the producer is served no more.
    Drain,
    /// There is no room to hold more.
    Room,
    /// The host coalesces itself.
    Aside,
    /// What it is held with goes, or what kept it is gone.
    #[default]
    Other,
}

impl Why {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Urgent => "urgent",
            Self::Passing => "passing",
            Self::Inference => "inference",
            Self::Operator => "operator",
            Self::Drain => "drain",
            Self::Room => "room",
            Self::Aside => "aside",
            Self::Other => "other",
        }
    }
}

impl Engine {
    /// Whether [`Engine::take_notes`] is to have anything to say, from the next input on.
    pub fn explain(&mut self, wanted: bool) {
        self.notes = wanted.then(Vec::new);
    }

    /// What was decided since the last input, in that order: after what was answered, before anything goes.
    pub fn take_notes(&mut self) -> Vec<Note> {
        self.notes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn note(&mut self, key: WorkKey, says: Says) {
        if let Some(notes) = &mut self.notes
            && let Some(work) = self.works.get(key).filter(|work| work.through.is_none())
        {
            notes.push(Note { event_id: work.event_id(), says });
        }
    }

    pub(super) fn note_due(&mut self, key: WorkKey) {
        // What is stored is due from the beginning.
        if self.notes.is_some() && self.works.get(key).is_some_and(|work| work.role != Role::Stored) {
            self.note(key, Says::Due(self.why));
        }
    }

    pub(super) fn note_kept(&mut self, key: WorkKey, stage: Stage) {
        let waits = match stage {
            Stage::Parked => Waits::Scope,
            Stage::Waiting => Waits::Retry,
            _ => Waits::Turn,
        };
        self.note(key, Says::KeptBack(waits));
    }
}
