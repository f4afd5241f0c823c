//! The instruments: those that are read from the [`Board`] when somebody collects, and the histograms
//! (contract 10.2).

use std::sync::Arc;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Histogram, Meter};

use super::board::{Board, Reading};
use super::names::{
    self, Came, Direction, End, Kind, Metric, Refusal, Reload, Rendered, Signal, Source, Store, attribute,
};
use super::seat::Histograms;
use crate::journal::Gauge;

/// Takes a value with what tells it from others of its metric.
type Emit<'a> = &'a mut dyn FnMut(u64, &[(&'static str, &'static str)]);

/// What of a binding a metric shows.
type Show = fn(&Reading, Emit<'_>);

const OF_PRODUCERS: &[(&Metric, Show)] = &[
    (&names::EVENTS, |of, emit| {
        for (lane, events) in ["push", "channel"].into_iter().zip(&of.tally.figures.events) {
            for (came, count) in Came::NAMES.iter().zip(events) {
                emit(*count, &[(attribute::LANE, lane), (attribute::OUTCOME, came)]);
            }
        }
    }),
    (&names::REFUSALS, |of, emit| {
        for (source, refusals) in Source::NAMES.iter().zip(&of.tally.figures.refusals) {
            for (kind, count) in Refusal::NAMES.iter().zip(refusals) {
                emit(*count, &[(attribute::SOURCE, source), (attribute::REFUSAL, kind)]);
            }
        }
    }),
    (&names::ENDS, |of, emit| {
        each(End::NAMES, attribute::END, &of.tally.figures.ends, emit);
    }),
    (&names::PASSED, |of, emit| {
        each(Direction::NAMES, attribute::DIRECTION, &of.tally.figures.passed, emit);
    }),
    (&names::PASSED_BYTES, |of, emit| {
        each(Direction::NAMES, attribute::DIRECTION, &of.tally.figures.passed_bytes, emit);
    }),
    (&names::DROPPED, |of, emit| {
        each(Direction::NAMES, attribute::DIRECTION, &of.tally.figures.dropped, emit);
    }),
    (&names::RENDERS, |of, emit| {
        let mut renders = of.tally.figures.renders;
        renders[Rendered::Unanswered as usize] += of.load.unrendered;
        each(Rendered::NAMES, attribute::RENDER, &renders, emit);
    }),
    (&names::RATE_LIMITED, |of, emit| emit(of.tally.limited, &[])),
    (&names::RETRIES, |of, emit| emit(of.tally.retried, &[])),
    (&names::PACED, |of, emit| emit(of.load.paced, &[])),
    (&names::AHEAD, |of, emit| emit(of.tally.ahead, &[])),
    (&names::SESSIONS, |of, emit| emit(of.tally.figures.sessions, &[])),
    (&names::SESSIONS_ACTIVE, |of, emit| emit(u64::from(of.session), &[])),
    (&names::HELD, |of, emit| emit(of.load.held as u64, &[])),
    (&names::HELD_SUBJECTS, |of, emit| emit(of.load.held_subjects as u64, &[])),
    (&names::HELD_BYTES, |of, emit| emit(of.load.held_bytes, &[])),
    (&names::SUBJECTS, |of, emit| emit(of.load.subjects as u64, &[])),
    (&names::OUT, |of, emit| emit(of.load.out as u64, &[])),
    (&names::RENDERING, |of, emit| emit(of.load.rendering as u64, &[])),
    (&names::IN_DOUBT, |of, emit| emit(of.load.in_doubt as u64, &[])),
    (&names::DEAD, |of, emit| emit(of.load.dead as u64, &[])),
];

fn each(names: &[&'static str], label: &'static str, counts: &[u64], emit: Emit<'_>) {
    for (name, count) in names.iter().zip(counts) {
        emit(*count, &[(label, name)]);
    }
}

/// Registers everything that is read when somebody collects.
pub(super) fn observe(meter: &Meter, board: &Arc<Board>, journal: Option<&Gauge>) {
    for (metric, show) in OF_PRODUCERS {
        let board = Arc::clone(board);
        observed(meter, metric, move |instrument| {
            for (producer, reading) in board.producers() {
                show(&reading, &mut |value, labels| {
                    let mut attributes = vec![KeyValue::new(attribute::PRODUCER, Arc::clone(&producer))];
                    attributes.extend(labels.iter().map(|(name, value)| KeyValue::new(*name, *value)));
                    instrument.observe(value, &attributes);
                });
            }
        });
    }
    let of = Arc::clone(board);
    observed(meter, &names::RELOADS, move |instrument| {
        for how in Reload::ALL {
            instrument.observe(of.reloads(*how), &[KeyValue::new(attribute::RELOAD, how.as_str())]);
        }
    });
    let of = Arc::clone(board);
    observed(meter, &names::EXPORT_DROPPED, move |instrument| {
        for signal in Signal::ALL {
            instrument.observe(of.dropped(*signal), &[KeyValue::new(attribute::SIGNAL, signal.as_str())]);
        }
    });
    let of = Arc::clone(board);
    observed(meter, &names::CERTIFICATE, move |instrument| {
        for (producer, role, not_after) in of.certificates() {
            let mut attributes = vec![KeyValue::new(attribute::CERTIFICATE, role)];
            attributes.extend(producer.map(|producer| KeyValue::new(attribute::PRODUCER, producer)));
            instrument.observe(u64::try_from(not_after).unwrap_or(0), &attributes);
        }
    });
    if let Some(journal) = journal {
        observe_journal(meter, journal);
    }
}

fn observe_journal(meter: &Meter, journal: &Gauge) {
    let of = journal.clone();
    observed(meter, &names::STEPS, move |instrument| instrument.observe(of.status().steps, &[]));
    let of = journal.clone();
    observed(meter, &names::JOURNAL_BYTES, move |instrument| instrument.observe(of.status().bytes, &[]));
    let of = journal.clone();
    observed(meter, &names::JOURNAL_STATE, move |instrument| {
        use mcpl_policy::engine::StoreState;
        let now = match of.status().state {
            StoreState::Good => Store::Good,
            StoreState::Short => Store::Short,
            StoreState::Gone => Store::Gone,
        };
        for state in Store::ALL {
            let attribute = KeyValue::new(attribute::STORE, state.as_str());
            instrument.observe(u64::from(*state == now), &[attribute]);
        }
    });
    journal.time_commits(histogram(meter, &names::COMMIT, names::COMMIT_BUCKETS));
}

fn observed(
    meter: &Meter,
    metric: &Metric,
    show: impl Fn(&dyn AsyncInstrument<u64>) + Send + Sync + 'static,
) {
    match metric.kind {
        Kind::Counter => {
            let counter = meter.u64_observable_counter(metric.name);
            counter.with_unit(metric.unit).with_description(metric.about).with_callback(show).build();
        }
        Kind::Gauge => {
            let gauge = meter.u64_observable_gauge(metric.name);
            gauge.with_unit(metric.unit).with_description(metric.about).with_callback(show).build();
        }
        Kind::Histogram => debug_assert!(false, "a histogram is told, not read"),
    }
}

/// The histograms that bindings record to.
pub(super) fn histograms(meter: &Meter) -> Histograms {
    Histograms {
        server_operation: histogram(meter, &names::SERVER_OPERATION, names::MCP_BUCKETS),
        client_operation: histogram(meter, &names::CLIENT_OPERATION, names::MCP_BUCKETS),
        server_session: histogram(meter, &names::SERVER_SESSION, names::MCP_BUCKETS),
        client_session: histogram(meter, &names::CLIENT_SESSION, names::MCP_BUCKETS),
        hold: histogram(meter, &names::HOLD, names::HOLD_BUCKETS),
        forward: histogram(meter, &names::FORWARD, names::HOLD_BUCKETS),
    }
}

fn histogram(meter: &Meter, metric: &Metric, bounds: &[f64]) -> Histogram<f64> {
    let histogram = meter.f64_histogram(metric.name).with_boundaries(bounds.to_vec());
    histogram.with_unit(metric.unit).with_description(metric.about).build()
}
