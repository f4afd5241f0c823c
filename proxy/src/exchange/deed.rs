//! What a session wants done.

use bytes::Bytes;
use mcpl_codec::Line;
use mcpl_policy::engine::{Fate, Unresolved};
use mcpl_policy::journal::Step;

#[cfg(doc)]
use super::Exchange;
use super::Side;

/// What a line is.
#[derive(Clone, Debug)]
pub enum Cargo {
    /// Something of the other side's that passes.
    Pass,
    /// An answer of ours, which the other side had no part in; what is told should its step not become durable.
    Answer(Option<Line>),
    /// This forward of the engine's: report its first and last byte to it.
    Forward(u64),
    /// A render under this number: report its last byte to [`Exchange::render_written`], or that it is not sent to
    /// [`Exchange::render_dropped`].
    Render(u64),
}

/// Something to do, in this order.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Write a line to a peer.
    Send {
        /// Whom to.
        to: Side,
        /// What.
        line: Line,
        /// Not before this step is durable.
        after: Option<u64>,
        /// What it is.
        cargo: Cargo,
    },
    /// A step of the engine's is to be made durable.
    Commit(Step),
    /// The receipt of number `receipt` is to be read, once everything committed so far is durable, and given to
    /// [`Exchange::read`] with this ticket.
    Read {
        /// Names the question.
        ticket: u64,
        /// The row.
        receipt: u64,
    },
    /// What an operator asked for was done, or not: [`Output::Resolved`](mcpl_policy::Output::Resolved).
    Resolved {
        /// The driver's number for it.
        request: u64,
        /// Where the occurrence stands now.
        result: Result<Fate, Unresolved>,
        /// Not before this step is durable.
        after: Option<u64>,
    },
    /// A line that is no message was dropped: log it.
    Noise {
        /// Who sent it.
        from: Side,
        /// Its first bytes, at most 200; none where they may be a message's content.
        head: Bytes,
        /// What is wrong with it.
        why: String,
    },
}

impl Deed {
    /// Something that goes on to the other side.
    pub(super) fn pass(to: Side, line: Line, after: Option<u64>) -> Self {
        Self::Send { to, line, after, cargo: Cargo::Pass }
    }
}
