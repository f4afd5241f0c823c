//! How long things took in one session: what is told to a binding's [`Seat`] (contract 10.2).
//!
//! A request is noted when it comes and told when it is answered. Time is the exchange's own: whole milliseconds,
//! whose rounding evens out over many.

use std::rc::Rc;
use std::sync::Arc;

use mcpl_codec::{Envelope, Lane, Reply, raw};
use mcpl_policy::Now;
use mcpl_policy::engine::Answer;
use mcpl_policy::refusal::{Ours, Verdict};
use memchr::memmem;

use super::request::{Asked, Pending, Requests, Spelled};
use super::trace::{Spans, Told};
use super::{Exchange, Side};
use crate::telemetry::names::{Failure, Method, Refusal, Version};
use crate::telemetry::seat::{Carrier, Part, Seat, Shape};

/// Requests of the producer noted at once that nothing else notes; what comes past it is not timed.
pub const MAX_TIMED: usize = 4_096;

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) method: Method,
    since_ms: u64,
    /// Where its trace is kept.
    pub(super) spans: Option<Box<Spans>>,
}

/// When a request of ours went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    method: Method,
    since_ms: u64,
}

/// What watches over one session.
#[derive(Debug)]
pub struct Watch {
    pub(super) seat: Rc<Seat>,
    /// What the session is called in traces.
    pub(super) session: Arc<str>,
    host: Carrier,
    producer: Carrier,
    version: Option<Version>,
    /// Requests of the producer that nothing else notes.
    others: Requests,
    began_ms: Option<u64>,
    reached_ms: Option<u64>,
    failure: Option<Failure>,
}

impl Watch {
    /// Of a session with a host that is reached like this, and a producer that will be like that.
    pub fn new(seat: Rc<Seat>, host: Carrier, producer: Carrier) -> Self {
        let (version, failure) = (None, None);
        let (began_ms, reached_ms) = (None, None);
        let (others, session) = (Requests::default(), Arc::from(""));
        Self { seat, session, host, producer, version, others, began_ms, reached_ms, failure }
    }

    pub(super) fn shape(&self, peer: Side, failure: Option<Failure>) -> Shape {
        let carrier = if peer == Side::Host { self.host } else { self.producer };
        Shape { failure, carrier, version: self.version }
    }
}

impl Exchange {
    /// The session is watched over from its beginning.
    pub fn watch(&mut self, now_ms: u64, mut watch: Watch) {
        self.tally.figures.sessions = 1;
        watch.began_ms = Some(now_ms);
        watch.session = self.prefix.split('/').nth(1).unwrap_or_default().into();
        self.at_ms = now_ms;
        self.watch = Some(Box::new(watch));
    }

    /// The producer was reached, like this.
    pub fn reached(&mut self, now_ms: u64, producer: Carrier) {
        if let Some(watch) = &mut self.watch {
            watch.reached_ms = Some(now_ms);
            watch.producer = producer;
        }
    }

    /// A request comes that is to be answered.
    pub(super) fn seen(&self, from: Side, told: Told<'_>) -> Option<Seen> {
        let watch = self.watch.as_ref()?;
        let method = Method::of(told.method);
        Some(Seen { method, since_ms: self.at_ms, spans: watch.begin(from, method, told) })
    }

    /// The same of one that goes on to the other side.
    pub(super) fn seen_through(&self, from: Side, told: Told<'_>) -> Option<Seen> {
        let mut seen = self.seen(from, told)?;
        self.goes_on(from.other(), told, &mut seen);
        Some(seen)
    }

    /// What was seen goes on to `to`.
    pub(super) fn goes_on(&self, to: Side, told: Told<'_>, seen: &mut Seen) {
        if let (Some(watch), Some(spans)) = (&self.watch, &mut seen.spans) {
            watch.go_on(to, seen.method, told, spans);
        }
    }

    /// A request is answered by us as soon as it comes.
    pub(super) fn refused_at_once(&self, from: Side, told: Told<'_>, error: i64) {
        if let Some(mut seen) = self.seen(from, told) {
            self.answered_to(from, &mut seen, Some(Failure::of_code(Some(error))));
        }
    }

    /// A request of ours goes out.
    pub(super) fn sent(&self, method: Method) -> Option<Sent> {
        self.watch.as_ref().map(|_| Sent { method, since_ms: self.at_ms })
    }

    /// A request of the producer passes that nothing else notes.
    pub(super) fn time(&mut self, told: Told<'_>) {
        let Some(id) = told.id.map(Spelled::from_slice) else { return };
        if self.watch.as_ref().is_none_or(|watch| watch.others.len() >= MAX_TIMED) {
            return;
        }
        let seen = self.seen_through(Side::Producer, told);
        if let (Some(watch), Some(seen)) = (&mut self.watch, seen) {
            watch.others.add(Pending { id, asked: Asked::Other, batch: None, seen: Some(seen) });
        }
    }

    /// The host answers what nothing else noted.
    pub(super) fn timed(&mut self, id: &[u8], envelope: &Envelope<'_>) {
        let noted = match &mut self.watch {
            Some(watch) if watch.others.len() > 0 => watch.others.take(id),
            _ => None,
        };
        if let Some(mut seen) = noted.and_then(|noted| noted.seen) {
            let failure = failure(seen.method, envelope);
            self.answered_through(Side::Producer, &mut seen, failure);
        }
    }

    /// The peer `from` says that it wants no answer to what it asked, so that none need come.
    pub(super) fn cancelled(&mut self, from: Side, params: &[u8]) {
        let Some(id) = raw::member(params, "requestId") else { return };
        let other = match &mut self.watch {
            Some(watch) if from == Side::Producer => watch.others.cancel(id),
            _ => None,
        };
        if let Some(mut seen) = other.or_else(|| self.requests(from).cancel(id)) {
            self.answered_through(from, &mut seen, Some(Failure::Cancelled));
        }
    }

    /// Nobody says anything any more: what is not answered never is.
    pub fn over(&mut self, now: Now) {
        self.at_ms = now.mono_ms;
        let others = self.watch.as_mut().map(|watch| std::mem::take(&mut watch.others));
        let mut left: Vec<(Side, Seen)> = Vec::new();
        let mut leave = |of: Side, requests: &mut Requests| {
            left.extend(requests.drain().filter_map(|pending| Some((of, pending.seen?))));
        };
        leave(Side::Host, &mut self.of_host);
        leave(Side::Producer, &mut self.of_producer);
        leave(Side::Producer, &mut others.unwrap_or_default());
        for (of, mut seen) in left {
            self.answered_through(of, &mut seen, Some(Failure::Lost));
        }
    }

    /// What `of` asked was answered by the other side.
    pub(super) fn answered_through(&self, of: Side, seen: &mut Seen, failure: Option<Failure>) {
        self.answered_by(of.other(), seen, failure);
        self.answered_to(of, seen, failure);
    }

    /// What a peer asked was answered.
    pub(super) fn answered_to(&self, peer: Side, seen: &mut Seen, failure: Option<Failure>) {
        seen.end_server(failure);
        if let Some(watch) = &self.watch {
            let took = self.at_ms.saturating_sub(seen.since_ms);
            watch.seat.operation(Part::Server, seen.method, watch.shape(peer, failure), took);
        }
    }

    /// What was asked of a peer was answered.
    pub(super) fn answered_by(&self, peer: Side, seen: &mut Seen, failure: Option<Failure>) {
        seen.end_client(failure);
        self.answered_ours(peer, Sent { method: seen.method, since_ms: seen.since_ms }, failure);
    }

    /// The same of a request of ours.
    pub(super) fn answered_ours(&self, peer: Side, sent: Sent, failure: Option<Failure>) {
        if let Some(watch) = &self.watch {
            let took = self.at_ms.saturating_sub(sent.since_ms);
            watch.seat.operation(Part::Client, sent.method, watch.shape(peer, failure), took);
        }
    }

    /// What was held so long is handed over.
    pub(super) fn time_hold(&self, lane: Lane, held_ms: u64) {
        if let Some(watch) = &self.watch {
            watch.seat.held(lane, held_ms);
        }
    }

    /// What was handed over is answered.
    pub(super) fn time_forward(&self, lane: Lane, sent: Sent, failure: Option<Failure>) {
        if let Some(watch) = &self.watch {
            watch.seat.forwarded(lane, failure, self.at_ms.saturating_sub(sent.since_ms));
        }
        self.answered_ours(Side::Host, sent, failure);
    }

    /// The producer's `initialize` result names the version.
    pub(super) fn agree(&mut self, result: Option<&[u8]>) {
        if let Some(watch) = &mut self.watch {
            let version =
                result.and_then(|result| raw::member(result, "protocolVersion")).and_then(raw::string);
            watch.version = version.map(|version| Version::of(&version));
        }
    }

    /// The producer was not reached.
    pub(super) fn missed(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.failure = Some(Failure::Unreached);
        }
    }

    /// The session is over.
    pub(super) fn time_session(&mut self) {
        let now = self.at_ms;
        let Some(watch) = &mut self.watch else { return };
        let (began, reached) = (watch.began_ms.take(), watch.reached_ms.take());
        if let Some(began) = began {
            let shape = watch.shape(Side::Host, watch.failure);
            watch.seat.session(Part::Server, shape, now.saturating_sub(began));
        }
        if let Some(reached) = reached {
            let shape = watch.shape(Side::Producer, None);
            watch.seat.session(Part::Client, shape, now.saturating_sub(reached));
        }
    }
}

/// What an answer to a request of this method says went wrong.
pub(super) fn failure(method: Method, envelope: &Envelope<'_>) -> Option<Failure> {
    match Reply::of(envelope) {
        Reply::Error { code, .. } => Some(Failure::of_code(code)),
        // Looked for before it is read: a result may be large.
        Reply::Result(result) => {
            let failed = method == Method::ToolsCall
                && memmem::find(result, b"\"isError\"").is_some()
                && raw::member(result, "isError").is_some_and(|value| value == b"true");
            failed.then_some(Failure::Tool)
        }
    }
}

/// What an answer of ours says went wrong with a single event.
pub(super) fn failure_of(answer: &Answer) -> Option<Failure> {
    match answer {
        Answer::Refused(ours) => Some(match ours {
            Ours::Malformed(_) | Ours::Unfit(_) | Ours::Conflict => Failure::InvalidParams,
            Ours::Authority(authority) | Ours::BeforePolicy(authority) => {
                Failure::of_code(Some(authority.code()))
            }
            Ours::TooLarge(_) => Failure::TooLarge,
            Ours::Unavailable(..) => Failure::RefusedUnavailable,
        }),
        Answer::Host { text, error: true, .. } => {
            let code = raw::member(text, "code").and_then(|code| std::str::from_utf8(code).ok());
            Some(Failure::of_code(code.and_then(|code| code.parse().ok())))
        }
        Answer::Host { text, outcome: None, .. } => {
            let kind = raw::member(text, "refusal").and_then(raw::string);
            let kind = kind.and_then(|kind| Refusal::named(&kind)).unwrap_or(Refusal::Other);
            Some(Failure::of_refusal(kind))
        }
        Answer::Unanswered => Some(Failure::Lost),
        Answer::Accepted { .. } | Answer::Stored | Answer::Again(_) | Answer::Host { .. } => None,
    }
}

/// What a verdict says went wrong with a single event.
pub(super) fn refused(verdict: &Verdict, reply: &Reply<'_>) -> Option<Failure> {
    match (reply, verdict) {
        (Reply::Error { code, .. }, _) => Some(Failure::of_code(*code)),
        (Reply::Result(_), Verdict::Refused { refusal, .. }) => {
            Some(Failure::of_refusal(Refusal::of(&refusal.kind)))
        }
        (Reply::Result(_), _) => None,
    }
}
