//! The exporters, and the thread that speaks to the collector for them (contract 10.1, 10.2).
//!
//! Nothing of it runs where messages do: the SDK gathers and encodes on threads of its own, and what goes over the
//! network goes on one more, with a runtime of its own.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use opentelemetry_otlp::{
    MetricExporter, Protocol as Wire, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::PeriodicReader;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::board::Board;
use super::destination::{Destination, Protocol};
use super::http::Post;
use super::queue::{Counted, Told, WAITING};
use super::spans::Decided;
use crate::config::Env;

/// The runtime that speaks to collectors; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Courier {
    handle: Handle,
    /// Held for as long as it runs.
    _until: oneshot::Sender<()>,
}

impl Courier {
    pub(super) fn start() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("telemetry cannot be exported: {error}");
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (until, over) = oneshot::channel::<()>();
        let run = move || {
            // Dropped, it is over as well.
            let _ = runtime.block_on(over);
        };
        std::thread::Builder::new().name("otlp".to_owned()).spawn(run).map_err(failed)?;
        Ok(Self { handle, _until: until })
    }

    /// Where spans go. Those that the queue or the collector does not take are counted on `board`.
    pub(super) fn tracers(
        &self,
        to: &Destination,
        resource: Resource,
        board: &Arc<Board>,
        env: Env<'_>,
    ) -> Result<SdkTracerProvider, String> {
        let exporter = match to.protocol {
            Protocol::Http => {
                let builder = SpanExporter::builder().with_http().with_protocol(Wire::HttpBinary);
                let builder = builder.with_http_client(Post::new(self.handle.clone()));
                match &to.endpoint {
                    Some(endpoint) => builder.with_endpoint(endpoint).build(),
                    None => builder.build(),
                }
            }
            Protocol::Grpc => {
                let _runtime = self.handle.enter();
                let builder = SpanExporter::builder().with_tonic();
                match &to.endpoint {
                    Some(endpoint) => builder.with_endpoint(endpoint).build(),
                    None => builder.build(),
                }
            }
        };
        let inner = exporter.map_err(|error| format!("spans cannot be exported: {error}"))?;
        let most = env("OTEL_BSP_MAX_QUEUE_SIZE").and_then(|said| said.trim().parse().ok());
        let most = most.filter(|most| *most > 0).unwrap_or(WAITING);
        let waiting = Arc::<AtomicUsize>::default();
        let told = Told { inner, waiting: Arc::clone(&waiting), board: Arc::clone(board) };
        // What is taken out in a batch makes room only once the batch is sent, so that the inner queue is never full.
        let config = BatchConfigBuilder::default().with_max_queue_size(most).build();
        let batches = BatchSpanProcessor::builder(told).with_batch_config(config).build();
        let counted = Counted::new(batches, waiting, most, Arc::clone(board));
        Ok(SdkTracerProvider::builder()
            .with_resource(resource)
            .with_sampler(opentelemetry_sdk::trace::Sampler::AlwaysOn)
            .with_id_generator(Decided::default())
            .with_span_processor(counted)
            .build())
    }

    /// What takes the metrics to where they go, every `OTEL_METRIC_EXPORT_INTERVAL`.
    pub(super) fn metrics(&self, to: &Destination) -> Result<PeriodicReader<MetricExporter>, String> {
        let exporter = match to.protocol {
            Protocol::Http => {
                let builder = MetricExporter::builder().with_http().with_protocol(Wire::HttpBinary);
                let builder = builder.with_http_client(Post::new(self.handle.clone()));
                match &to.endpoint {
                    Some(endpoint) => builder.with_endpoint(endpoint).build(),
                    None => builder.build(),
                }
            }
            Protocol::Grpc => {
                let _runtime = self.handle.enter();
                let builder = MetricExporter::builder().with_tonic();
                match &to.endpoint {
                    Some(endpoint) => builder.with_endpoint(endpoint).build(),
                    None => builder.build(),
                }
            }
        };
        let exporter = exporter.map_err(|error| format!("metrics cannot be exported: {error}"))?;
        Ok(PeriodicReader::builder(exporter).build())
    }
}

/// Does what is left to do on a thread of its own, and waits for it this long at most.
pub(super) fn within(limit: Duration, last: impl FnOnce() + Send + 'static) {
    let (done, told) = std::sync::mpsc::sync_channel(1);
    let work = move || {
        last();
        let _ = done.send(());
    };
    if std::thread::Builder::new().name("last telemetry".to_owned()).spawn(work).is_ok() {
        let _ = told.recv_timeout(limit);
    }
}
