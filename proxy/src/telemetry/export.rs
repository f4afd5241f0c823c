//! The exporters, and the thread that speaks to the collector for them (contract 10.1, 10.2).
//!
//! Nothing of it runs where messages do: the SDK gathers and encodes on threads of its own, and what goes over the
//! network goes on one more, with a runtime of its own.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use opentelemetry_otlp::{
    MetricExporter, Protocol as Wire, SpanExporter, WithExportConfig, WithHttpConfig as _,
    WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::PeriodicReader;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tonic::transport::{Channel, Endpoint};

use super::board::Board;
use super::connector::Connector;
use super::destination::{Destination, Protocol};
use super::http::Post;
use super::queue::{Counted, Told, WAITING};
use super::spans::Decided;
use super::standing::{Standing, Watched};
use super::variables;
use crate::config::Env;

/// Spans that go at once, how long they wait for that, and how often metrics go, unless variables say otherwise.
const BATCH: usize = 512;
const DELAY: Duration = Duration::from_secs(5);
const INTERVAL: Duration = Duration::from_mins(1);

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
        let failed = |why: String| format!("spans cannot be exported: {why}");
        let standing = Arc::new(Standing::new("spans"));
        let exporter = match self.way(to, &standing).map_err(failed)? {
            Way::Http(post) => common(SpanExporter::builder().with_http().with_http_client(post), to).build(),
            Way::Grpc(channel) => {
                common(SpanExporter::builder().with_tonic().with_channel(channel), to).build()
            }
        };
        let inner = exporter.map_err(|error| failed(error.to_string()))?;
        let size = |name| variables::number(env, name).and_then(|number| usize::try_from(number).ok());
        let most = size(variables::QUEUE).unwrap_or(WAITING);
        let waiting = Arc::<AtomicUsize>::default();
        let told = Told { inner, waiting: Arc::clone(&waiting), board: Arc::clone(board), standing };
        // What is taken out in a batch makes room only once the batch is sent, so that the inner queue is never full.
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(most)
            .with_max_export_batch_size(size(variables::BATCH).unwrap_or(BATCH).min(most))
            .with_scheduled_delay(variables::duration(env, variables::DELAY).unwrap_or(DELAY))
            .build();
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
    pub(super) fn metrics(
        &self,
        to: &Destination,
        env: Env<'_>,
    ) -> Result<PeriodicReader<Watched<MetricExporter>>, String> {
        let failed = |why: String| format!("metrics cannot be exported: {why}");
        let standing = Arc::new(Standing::new("metrics"));
        let exporter = match self.way(to, &standing).map_err(failed)? {
            Way::Http(post) => {
                common(MetricExporter::builder().with_http().with_http_client(post), to).build()
            }
            Way::Grpc(channel) => {
                common(MetricExporter::builder().with_tonic().with_channel(channel), to).build()
            }
        };
        let inner = exporter.map_err(|error| failed(error.to_string()))?;
        let every = variables::duration(env, variables::INTERVAL).unwrap_or(INTERVAL);
        Ok(PeriodicReader::builder(Watched { inner, standing }).with_interval(every).build())
    }

    fn way(&self, to: &Destination, standing: &Arc<Standing>) -> Result<Way, String> {
        let connector = Connector::new(to, Arc::clone(standing))?;
        Ok(match to.protocol {
            Protocol::Http => {
                Way::Http(Post::new(self.handle.clone(), connector, Arc::clone(standing), to.timeout))
            }
            Protocol::Grpc => {
                let _runtime = self.handle.enter();
                let endpoint =
                    Endpoint::from_shared(to.endpoint.clone()).map_err(|error| error.to_string())?;
                let endpoint = endpoint.timeout(to.timeout).connect_timeout(to.timeout);
                Way::Grpc(endpoint.connect_with_connector_lazy(connector))
            }
        })
    }
}

/// What all exporters are told; the rest they read from the variables themselves.
fn common<B: WithExportConfig>(builder: B, to: &Destination) -> B {
    let wire = if to.protocol == Protocol::Grpc { Wire::Grpc } else { Wire::HttpBinary };
    builder.with_protocol(wire).with_endpoint(&to.endpoint).with_timeout(to.timeout)
}

/// What carries the requests of one signal.
enum Way {
    Http(Post),
    Grpc(Channel),
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
