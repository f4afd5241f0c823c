//! What a running program tells of itself: metrics for Prometheus, metrics and traces over OTLP (contract 10.1, 10.2).
//!
//! | module | noun |
//! |---|---|
//! | [`names`] | every name and every closed set |
//! | [`board`] | what the bindings published last |
//! | [`seat`] | one binding's place in it |
//! | [`spans`], [`sampler`], [`context`], [`thread`] | spans: whether they are kept, what carries them, how those of what is held are kept |
//! | [`destination`] | where it is exported to |
//! | `variables` | the standard variables that are numbers, names and switches |
//! | `meters`, `queue`, `export` | the instruments, and the way out |
//! | `connector`, `http`, `standing` | the way to a collector, and how it stands |
//!
//! The data path only counts, in numbers of its own, and makes spans of what is kept; everything else happens where
//! somebody collects, or exports.

pub mod board;
mod connector;
pub mod context;
pub mod destination;
mod export;
mod http;
mod meters;
pub mod names;
pub mod queue;
pub mod sampler;
pub mod seat;
pub mod spans;
mod standing;
pub mod thread;
mod variables;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{Instrument, SdkMeterProvider, Stream};
use opentelemetry_sdk::trace::SdkTracerProvider;
use prometheus::{Encoder as _, Registry, TextEncoder};

use self::board::Board;
use self::destination::Destinations;
use self::export::Courier;
use self::names::Reload;
use self::sampler::Sampler;
use self::seat::{Histograms, Seat};
use self::spans::Tracer;
use crate::config::{Config, Env};
use crate::journal;

/// Attribute sets of one metric at most; they are closed, so that this many there never are.
const SERIES: usize = 65_536;

/// The content type of [`Telemetry::text`].
pub const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How long what is not exported yet may take when the program ends.
pub const LAST: Duration = Duration::from_secs(2);

/// The telemetry of this process. Clones are the same.
#[derive(Clone, Debug)]
pub struct Telemetry {
    on: Option<Arc<On>>,
}

#[derive(Debug)]
struct On {
    board: Arc<Board>,
    registry: Registry,
    meters: SdkMeterProvider,
    histograms: Histograms,
    tracers: Option<SdkTracerProvider>,
    tracer: Option<Tracer>,
    /// Held for as long as there is something to export.
    _courier: Option<Courier>,
}

/// The telemetry that a configuration and the standard variables ask for. What cannot be had is done without, and
/// that is said.
pub fn of(config: &Config, journal: &journal::Gauge, env: Env<'_>) -> Telemetry {
    let destinations = Destinations::of(config.telemetry.otlp_endpoint.as_deref(), env);
    let destinations = destinations.unwrap_or_else(|why| {
        tracing::error!(why, "no telemetry is exported");
        Destinations::default()
    });
    if config.admin.is_none() && destinations.are_none() {
        return Telemetry::off();
    }
    for why in variables::complaints(env) {
        tracing::warn!(why, "a variable makes no sense");
    }
    let started = Telemetry::start(Some(journal), &destinations, env).or_else(|why| {
        tracing::error!(why, "no telemetry is exported");
        Telemetry::start(Some(journal), &Destinations::default(), env)
    });
    started.unwrap_or_else(|why| {
        tracing::error!(why, "the program goes on without metrics");
        Telemetry::off()
    })
}

impl Telemetry {
    /// None: nothing is counted for anybody.
    pub fn off() -> Self {
        Self { on: None }
    }

    /// Metrics and traces of what happens from now on, and metrics of the journal that `journal` shows.
    ///
    /// # Errors
    /// In words: what the exporters cannot do.
    pub fn start(
        journal: Option<&journal::Gauge>,
        destinations: &Destinations,
        env: Env<'_>,
    ) -> Result<Self, String> {
        let board = Arc::<Board>::default();
        let courier = if destinations.are_none() { None } else { Some(Courier::start()?) };
        let registry = Registry::new();
        let reader = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .scope_info_enabled(false)
            .build()
            .map_err(|error| format!("metrics cannot be collected: {error}"))?;
        let limit = |_: &Instrument| Stream::builder().with_cardinality_limit(SERIES).build().ok();
        let mut meters =
            SdkMeterProvider::builder().with_resource(resource()).with_view(limit).with_reader(reader);
        if let (Some(courier), Some(to)) = (&courier, &destinations.metrics) {
            meters = meters.with_reader(courier.metrics(to, env)?);
        }
        let meters = meters.build();
        let meter = meters.meter_with_scope(scope());
        meters::observe(&meter, &board, journal);
        let histograms = meters::histograms(&meter);
        let (mut tracers, mut tracer) = (None, None);
        if let (Some(courier), Some(to)) = (&courier, &destinations.traces) {
            let (name, argument) = (env("OTEL_TRACES_SAMPLER"), env("OTEL_TRACES_SAMPLER_ARG"));
            let sampler = Sampler::of(name.as_deref(), argument.as_deref()).unwrap_or_else(|why| {
                tracing::warn!(why, "traces are sampled as if it were not set");
                Sampler::default()
            });
            let provider = courier.tracers(to, resource(), &board, env)?;
            tracer = Some(Tracer::new(provider.tracer_with_scope(scope()), sampler, Arc::clone(&board)));
            tracers = Some(provider);
        }
        let on = On { board, registry, meters, histograms, tracers, tracer, _courier: courier };
        Ok(Self { on: Some(Arc::new(on)) })
    }

    /// The place of a producer's binding; `None`: nobody wants to know.
    pub fn seat(&self, producer: &str) -> Option<Seat> {
        let on = self.on.as_deref()?;
        Some(Seat::new(producer, on.board.slot(producer), on.histograms.clone(), on.tracer.clone()))
    }

    /// The configuration was reloaded, or not.
    pub fn reloaded(&self, how: Reload) {
        if let Some(on) = &self.on {
            on.board.reloaded(how);
        }
    }

    /// What is not a binding's, for whoever knows it.
    pub fn board(&self) -> Option<&Board> {
        self.on.as_deref().map(|on| &*on.board)
    }

    /// The program ends: what was not exported yet is, within [`LAST`].
    pub fn finish(&self) {
        let Some(on) = self.on.clone() else { return };
        export::within(LAST, move || {
            // Nobody is left to be told why not.
            if let Some(tracers) = &on.tracers {
                let _ = tracers.shutdown_with_timeout(LAST);
            }
            let _ = on.meters.shutdown_with_timeout(LAST);
        });
    }

    /// Every metric as Prometheus reads it; `None`: there are none. Takes its time, and waits for no binding.
    pub fn text(&self) -> Option<String> {
        let on = self.on.as_deref()?;
        let mut text = Vec::new();
        // Writing to memory does not fail; a metric that has no sample yet is left out.
        TextEncoder::new().encode(&on.registry.gather(), &mut text).ok()?;
        String::from_utf8(text).ok()
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder(names::SCOPE)
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_schema_url(names::SCHEMA_URL)
        .build()
}

/// What the program is; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` win.
fn resource() -> Resource {
    let ours = [
        KeyValue::new("service.name", names::SCOPE),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
    ];
    let ours = Resource::builder_empty().with_attributes(ours).build();
    let said = Resource::builder_empty()
        .with_detectors(&[
            Box::new(opentelemetry_sdk::resource::EnvResourceDetector::new()),
            Box::new(opentelemetry_sdk::resource::TelemetryResourceDetector),
        ])
        .build();
    let mut builder = Resource::builder_empty();
    for (name, value) in ours.iter().chain(said.iter()) {
        builder = builder.with_attribute(KeyValue::new(name.clone(), value.clone()));
    }
    if let Ok(name) = std::env::var("OTEL_SERVICE_NAME")
        && !name.is_empty()
    {
        builder = builder.with_attribute(KeyValue::new("service.name", name));
    }
    builder.build()
}
