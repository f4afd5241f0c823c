//! Requests of our own to the host (contract 3.5, 7.4).

use std::collections::VecDeque;

use bytes::Bytes;
use mcpl_codec::{Event, Lane, answer};
use mcpl_policy::engine::Taught;
use mcpl_policy::thread::Thread;

use super::trace::{end, log_span};
use super::watch::Sent;
use super::{Cargo, Deed, Exchange, Side, decisions};
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
    Apart {
        parcel: u64,
        parts: Vec<usize>,
        then: VecDeque<usize>,
        sent: Option<Sent>,
        span: Option<Box<Open>>,
    },
}

impl Exchange {
    /// The session ended before the host answered.
    pub(super) fn lose(&self, own: Own) {
        match own {
            Own::Forward { lane, sent, span, .. } => {
                if let Some(sent) = sent {
                    self.time_forward(lane, sent, Some(Failure::Lost));
                }
                end(span, Some(Failure::Lost));
            }
            Own::Apart { sent, span, .. } => self.lose_request(Side::Host, sent, span),
        }
    }

    /// The session ended before `peer` answered a request of ours.
    pub(super) fn lose_request(&self, peer: Side, sent: Option<Sent>, span: Option<Box<Open>>) {
        if let Some(sent) = sent {
            self.answered_ours(peer, sent, Some(Failure::Lost));
        }
        end(span, Some(Failure::Lost));
    }

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
        let _logged = span.as_ref().map(|span| log_span(span.context()));
        if let Some(event_id) = decisions::name_of(&event) {
            let (producer, lane) = (&*self.terms.producer, decisions::lane_name(lane));
            let event_id = &*event_id;
            tracing::debug!(producer, event_id, lane, held_ms, "an occurrence is handed to the host");
        }
        let line = answer::request(&id, lane.method(), &params);
        let sent = self.sent(Method::of(lane.method()));
        self.own
            .insert(wire, Own::Forward { number, lane, message_id: event.message_id, taught, sent, span });
        self.deeds.push_back(Deed::Send { to: Side::Host, line, after, cargo: Cargo::Forward(number) });
    }
}
