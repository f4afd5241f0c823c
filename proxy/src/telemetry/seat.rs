//! One binding's place in the telemetry: where it publishes what it counted, and how long things took (contract 10.2).

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use mcpl_codec::Lane;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{BoundHistogram, Histogram};

use super::board::{Reading, Slot};
use super::names::{Failure, Method, Transport, Version, attribute};
use super::spans::Tracer;
use crate::transport::Facts;

/// The histograms of the program.
#[derive(Clone, Debug)]
pub(super) struct Histograms {
    pub(super) server_operation: Histogram<f64>,
    pub(super) client_operation: Histogram<f64>,
    pub(super) server_session: Histogram<f64>,
    pub(super) client_session: Histogram<f64>,
    pub(super) hold: Histogram<f64>,
    pub(super) forward: Histogram<f64>,
}

/// What the sidecar is to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// It was asked.
    Server,
    /// It asked.
    Client,
}

/// How a peer is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Carrier {
    /// The transport.
    pub transport: Transport,
    /// There is a WebSocket on it.
    pub websocket: bool,
}

impl From<&Facts> for Carrier {
    /// Of a connection, whatever it was configured as.
    fn from(facts: &Facts) -> Self {
        let transport =
            if facts.transport == Facts::PIPE.transport { Transport::Pipe } else { Transport::Tcp };
        Self { transport, websocket: facts.protocol == Facts::WEBSOCKET.protocol }
    }
}

/// What a duration is of, beside its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Of {
    Operation(Part, Method, Shape),
    Session(Part, Shape),
    Hold(Lane),
    Forward(Lane, Option<Failure>),
}

/// What an operation and a session have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// What went wrong.
    pub failure: Option<Failure>,
    /// How the peer is reached.
    pub carrier: Carrier,
    /// The version of MCP, once both peers agreed on one.
    pub version: Option<Version>,
}

/// What was looked up for one kind of duration.
type Looked = (Of, BoundHistogram<f64>);

/// See the [module](self). When it is dropped, what was counted stays, and nothing counts as held any more.
pub struct Seat {
    producer: Arc<str>,
    slot: Arc<Slot>,
    histograms: Histograms,
    /// Each attribute set is looked up once.
    bound: RefCell<HashMap<Of, BoundHistogram<f64>>>,
    /// What was recorded last.
    last: RefCell<[Option<Looked>; 2]>,
    /// Where traces are kept.
    pub(crate) tracer: Option<Tracer>,
}

impl Seat {
    pub(super) fn new(
        producer: &str,
        slot: Arc<Slot>,
        histograms: Histograms,
        tracer: Option<Tracer>,
    ) -> Self {
        let (bound, last) = (RefCell::default(), RefCell::default());
        Self { producer: producer.into(), slot, histograms, bound, last, tracer }
    }

    /// The configured producer's name.
    pub fn producer(&self) -> &Arc<str> {
        &self.producer
    }

    /// How the binding stands now.
    pub fn publish(&self, reading: Reading) {
        self.slot.publish(reading);
    }

    /// A request was answered after so many ms.
    pub fn operation(&self, part: Part, method: Method, shape: Shape, took_ms: u64) {
        self.record(Of::Operation(part, method, shape), took_ms);
    }

    /// A peer's part of a session ended after so many ms.
    pub fn session(&self, part: Part, shape: Shape, took_ms: u64) {
        self.record(Of::Session(part, shape), took_ms);
    }

    /// What was held so many ms is handed over.
    pub fn held(&self, lane: Lane, held_ms: u64) {
        self.record(Of::Hold(lane), held_ms);
    }

    /// What was handed over was answered after so many ms.
    pub fn forwarded(&self, lane: Lane, failure: Option<Failure>, took_ms: u64) {
        self.record(Of::Forward(lane, failure), took_ms);
    }

    fn record(&self, of: Of, ms: u64) {
        let seconds = ms as f64 / 1000.0;
        let mut last = self.last.borrow_mut();
        // One after the other they nearly always are of the same kind: what was asked, and what was passed on.
        let place = usize::from(matches!(of, Of::Operation(Part::Client, ..)));
        if let Some((_, histogram)) = last[place].as_ref().filter(|(last, _)| *last == of) {
            return histogram.record(seconds);
        }
        let mut bound = self.bound.borrow_mut();
        let histogram = bound.entry(of).or_insert_with(|| self.bind(of));
        histogram.record(seconds);
        last[place] = Some((of, histogram.clone()));
    }

    fn bind(&self, of: Of) -> BoundHistogram<f64> {
        let mut attributes = vec![KeyValue::new(attribute::PRODUCER, Arc::clone(&self.producer))];
        let all = &self.histograms;
        let histogram = match of {
            Of::Operation(part, method, shape) => {
                attributes.push(KeyValue::new(attribute::METHOD, method.as_str()));
                shape.describe(&mut attributes);
                if part == Part::Server { &all.server_operation } else { &all.client_operation }
            }
            Of::Session(part, shape) => {
                shape.describe(&mut attributes);
                if part == Part::Server { &all.server_session } else { &all.client_session }
            }
            Of::Hold(lane) => {
                attributes.push(KeyValue::new(attribute::LANE, lane_name(lane)));
                &all.hold
            }
            Of::Forward(lane, failure) => {
                attributes.push(KeyValue::new(attribute::LANE, lane_name(lane)));
                attributes.extend(failure.map(|failure| KeyValue::new(attribute::ERROR, failure.as_str())));
                &all.forward
            }
        };
        histogram.bind(&attributes)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.slot.close();
    }
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seat").field("producer", &self.producer).finish_non_exhaustive()
    }
}

impl Shape {
    /// What it adds to a span, or to a metric.
    pub(crate) fn describe(self, attributes: &mut Vec<KeyValue>) {
        if let Some(failure) = self.failure {
            attributes.push(KeyValue::new(attribute::ERROR, failure.as_str()));
            if failure.is_code() {
                attributes.push(KeyValue::new(attribute::STATUS, failure.as_str()));
            }
        }
        attributes.push(KeyValue::new(attribute::TRANSPORT, self.carrier.transport.as_str()));
        if self.carrier.websocket {
            attributes.push(KeyValue::new(attribute::PROTOCOL, "websocket"));
        }
        attributes
            .extend(self.version.map(|version| KeyValue::new(attribute::PROTOCOL_VERSION, version.as_str())));
    }
}

/// The name of a lane, as a value of [`attribute::LANE`].
pub(crate) fn lane_name(lane: Lane) -> &'static str {
    match lane {
        Lane::Push => "push",
        Lane::Channel => "channel",
    }
}
