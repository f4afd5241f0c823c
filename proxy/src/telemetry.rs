//! What a running program tells of itself: metrics for Prometheus and OTLP (contract 10.2).
//!
//! | module | noun |
//! |---|---|
//! | [`names`] | every name and every closed set |
//! | [`board`] | what the bindings published last |
//! | [`seat`] | one binding's place in it |
//! | `meters` | the instruments |
//!
//! The data path only counts, in numbers of its own; everything else happens where somebody collects.

pub mod board;
mod meters;
pub mod names;
pub mod seat;

use std::sync::Arc;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{Instrument, SdkMeterProvider, Stream};
use prometheus::{Encoder as _, Registry, TextEncoder};

use self::board::Board;
use self::names::Reload;
use self::seat::{Histograms, Seat};
use crate::config::Config;
use crate::journal;

/// Attribute sets of one metric at most; they are closed, so that this many there never are.
const SERIES: usize = 65_536;

/// The content type of [`Telemetry::text`].
pub const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

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
}

/// The telemetry that a configuration asks for. One that cannot be had is done without, and that is said.
pub fn of(config: &Config, journal: &journal::Gauge) -> Telemetry {
    if config.admin.is_none() {
        return Telemetry::off();
    }
    Telemetry::start(Some(journal)).unwrap_or_else(|why| {
        tracing::error!(why, "the program goes on without metrics");
        Telemetry::off()
    })
}

impl Telemetry {
    /// None: nothing is counted for anybody.
    pub fn off() -> Self {
        Self { on: None }
    }

    /// Metrics of what happens from now on, and of the journal that `journal` shows.
    ///
    /// # Errors
    /// In words: what the exporter cannot do.
    pub fn start(journal: Option<&journal::Gauge>) -> Result<Self, String> {
        let registry = Registry::new();
        let exporter = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .scope_info_enabled(false)
            .build()
            .map_err(|error| format!("metrics cannot be collected: {error}"))?;
        let limit = |_: &Instrument| Stream::builder().with_cardinality_limit(SERIES).build().ok();
        let meters = SdkMeterProvider::builder()
            .with_resource(resource())
            .with_view(limit)
            .with_reader(exporter)
            .build();
        let scope = InstrumentationScope::builder(names::SCOPE)
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(names::SCHEMA_URL)
            .build();
        let meter = meters.meter_with_scope(scope);
        let board = Arc::<Board>::default();
        meters::observe(&meter, &board, journal);
        let histograms = meters::histograms(&meter);
        Ok(Self { on: Some(Arc::new(On { board, registry, meters, histograms })) })
    }

    /// The place of a producer's binding; `None`: nobody wants to know.
    pub fn seat(&self, producer: &str) -> Option<Seat> {
        let on = self.on.as_deref()?;
        Some(Seat::new(producer, on.board.slot(producer), on.histograms.clone()))
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

    /// The program ends: what was not told yet is.
    pub fn finish(&self) {
        if let Some(on) = &self.on {
            // Nobody is left to be told why not.
            let _ = on.meters.shutdown();
        }
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

fn resource() -> Resource {
    Resource::builder()
        .with_service_name(names::SCOPE)
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build()
}
