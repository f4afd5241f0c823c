//! Requests of our own to the host (contract 3.5, 7.4).

use std::collections::VecDeque;

use bytes::Bytes;
use mcpl_codec::{Event, Lane, answer};
use mcpl_policy::engine::Taught;
use mcpl_policy::thread::Thread;

use super::trace::end;
use super::watch::Sent;
use super::{Cargo, Deed, Exchange, Side};
use crate::telemetry::names::{Failure, Method};
use crate::telemetry::spans::Open;

/// What an id of ours stands for that the host is to answer.
#[derive(Debug)]
pub(super) enum Own {
    /// A forward of the engine's.
    Forward {
        number: u64,
        lane: Lane,
        message_id: Option<Bytes>,
        taught: Taught,
        sent: Option<Sent>,
        span: Option<Box<Open>>,
    },
    /// Messages of a `channels/incoming` that are sent apart from the rest; their answer lets the first of
    /// `then` go (contract 8.6).
    Apart { parcel: u64, parts: Vec<usize>, then: VecDeque<usize> },
}

impl Own {
    /// The session ended before the host answered.
    pub(super) fn lost(self) {
        if let Self::Forward { span, .. } = self {
            end(span, Some(Failure::Lost));
        }
    }
}

impl Exchange {
    /// An occurrence is handed to the host, under an id of ours.
    pub(super) fn forward(
        &mut self,
        number: u64,
        taught: Taught,
        (body, held_ms, thread): (&Bytes, u64, Option<&Thread>),
        after: Option<u64>,
    ) {
        let lane = taught.lane;
        self.send_passed();
        let wire = self.number();
        let event = match lane {
            Lane::Push => Event::push(body.clone()),
            Lane::Channel => Event::message(body.clone()),
        };
        let id = format!("{}{wire}", self.prefix);
        let params = match lane {
            Lane::Push => body.clone(),
            Lane::Channel => Bytes::from([b"{\"messages\":[", &body[..], b"]}"].concat()),
        };
        let (span, params) = self.trace_forward(&taught, thread, (body, params), (&id, held_ms));
        let line = answer::request(&id, lane.method(), &params);
        let sent = self.sent(Method::of(lane.method()));
        self.own
            .insert(wire, Own::Forward { number, lane, message_id: event.message_id, taught, sent, span });
        self.deeds.push_back(Deed::Send { to: Side::Host, line, after, cargo: Cargo::Forward(number) });
    }
}
