//! The wishes the engine has.

use bytes::Bytes;
use mcpl_codec::Lane;

use super::input::{Taught, Ticket};
use super::letters::Unresolved;
pub use crate::fate::Fate;
use crate::journal::Step;
use crate::refusal::Ours;
use crate::thread::Thread;

/// Number of a durable step; what is gated on it leaves once the step is on disk (contract 9.1).
pub type Seq = u64;

/// What coalescing made of an occurrence (contract 6.3 to 6.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Held, and nothing of its subject was ever read.
    First,
    /// It displaced what was unread.
    Replaced,
    /// Held behind what was, or may have been, read.
    Appended,
    /// The unread occupant is gone, and nobody will know.
    Retracted,
    /// The deletion notice is held.
    Noted,
    /// A withdrawal with nothing to tell of something read.
    Consumed,
}

impl Outcome {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Replaced => "replaced",
            Self::Appended => "appended",
            Self::Retracted => "retracted",
            Self::Noted => "noted",
            Self::Consumed => "consumed",
        }
    }
}

/// How one event is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Accepted by us (contract 6.6).
    Accepted {
        /// What became of it.
        outcome: Outcome,
        /// The occurrence it displaced.
        prior: Option<Box<str>>,
    },
    /// The host's own answer to a write-through, with the outcome where it accepted (contract 5).
    Host {
        /// Its words, as in [`HostReply::text`](super::HostReply::text).
        text: Bytes,
        /// Whether that is an `error` object.
        error: bool,
        /// The outcome, where the host accepted.
        outcome: Option<(Outcome, Option<Box<str>>)>,
    },
    /// Refused by us.
    Refused(Ours),
    /// The session ended before the host answered: no refusal (contract 8.5).
    Unanswered,
    /// It is the same occurrence again: what the receipt of this number says
    /// ([`ReceiptRow::answer`](crate::journal::ReceiptRow::answer); contract 6.2). The row is the driver's to
    /// read; it is there once the answer's gate is open.
    Again(u64),
    /// Accepted as it is, and kept until the host has it (contract 13.2).
    Stored,
}

/// A wish of [`Engine::poll`](crate::Engine::poll).
#[derive(Clone, Debug)]
pub enum Output {
    /// What must outlive the process changed. What is gated on it may come before it.
    Step(Step),
    /// Answer one event.
    Answer {
        /// Which.
        ticket: Ticket,
        /// How.
        answer: Answer,
        /// Not before this step is durable.
        after: Option<Seq>,
    },
    /// Pass the event of this ticket on to the host as it came.
    Pass {
        /// Which.
        ticket: Ticket,
        /// Not before this step is durable (contract 7.6).
        after: Option<Seq>,
    },
    /// Hand an occurrence to the host as a request of ours (contract 7.4).
    Forward {
        /// Its number, for `HandedOver`, `Written` and `Replied`.
        number: u64,
        /// Its lane.
        lane: Lane,
        /// The raw `params` of a `push/event`, or the raw message of a `channels/incoming`.
        body: Bytes,
        /// Under whose authority it is handed over, which the body does not tell.
        taught: Taught,
        /// How long ago its subject first held what is handed over with it, in ms (contract 7.1); 0 where it was
        /// written through.
        held_ms: u64,
        /// The traces that it stands for, where any are followed (contract 10.1).
        thread: Option<Box<Thread>>,
        /// Not before this step is durable.
        after: Option<Seq>,
    },
    /// Ask the producer to render a batch: a `push/render` request of ours (contract 6.5). How it went is told
    /// by [`Input::Rendered`](super::Input::Rendered), if at all: there is a timer here.
    Render {
        /// Its number, for `Rendered`.
        number: u64,
        /// The raw `params`.
        params: Bytes,
        /// The traces of its notices, where any are followed (contract 10.1).
        thread: Option<Box<Thread>>,
        /// Not before this step is durable.
        after: Option<Seq>,
    },
    /// An accepted occurrence ended.
    Ended {
        /// Its `eventId`.
        event_id: Box<str>,
        /// How.
        fate: Fate,
    },
    /// What an operator asked for was done, or not ([`Input::Resolve`](super::Input::Resolve)).
    Resolved {
        /// The driver's own number for it.
        request: u64,
        /// Where the occurrence stands now.
        result: Result<Fate, Unresolved>,
        /// Not before this step is durable.
        after: Option<Seq>,
    },
    /// A forward the host could not take now is tried again (contract 7.4).
    Retrying {
        /// Its `eventId`.
        event_id: Box<str>,
        /// Not before this long from now, in ms.
        wait_ms: u64,
    },
}
