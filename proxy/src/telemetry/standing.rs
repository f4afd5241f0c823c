//! How the way to a collector stands: what does not arrive is said once, and when it does again, once more
//! (contract 10.1).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;

/// How it stands for one signal.
#[derive(Debug)]
pub(super) struct Standing {
    /// What is exported, in words.
    signal: &'static str,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Something did not arrive, and that was said.
    is_told: bool,
    /// What those who carry it know of why, since the last export began.
    why: Option<String>,
}

impl Standing {
    pub(super) fn new(signal: &'static str) -> Self {
        Self { signal, state: Mutex::default() }
    }

    /// Something is wrong, which whoever exports will not say as well. What is noted first is the cause of the rest.
    pub(super) fn note(&self, why: String) {
        self.state().why.get_or_insert(why);
    }

    /// An export begins: what happened while nothing was exported is no reason of it.
    pub(super) fn begins(&self) {
        self.state().why = None;
    }

    /// An export ended like this.
    pub(super) fn ended(&self, how: &OTelSdkResult) {
        let mut state = self.state();
        let why = state.why.take();
        let signal = self.signal;
        match how {
            Ok(()) if state.is_told => tracing::info!("the collector takes {signal} again"),
            Err(OTelSdkError::AlreadyShutdown) => return,
            Err(error) if !state.is_told => {
                let why = why.unwrap_or_else(|| said(signal, &error.to_string()));
                tracing::warn!(
                    why,
                    "the collector does not take {signal}: they are dropped until it does, and messages go on without"
                );
            }
            Ok(()) | Err(_) => {}
        }
        state.is_told = how.is_err();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the library says of why, for people: of gRPC it says little more than the code.
fn said(signal: &str, error: &str) -> String {
    match error.split_once("gRPC code: ").map(|(_, code)| code.trim()) {
        Some("Unimplemented") => {
            let variable = if signal == "spans" { "TRACES" } else { "METRICS" };
            format!(
                "it takes no {signal}: set OTEL_{variable}_EXPORTER=none, or name one that does in \
                 OTEL_EXPORTER_OTLP_{variable}_ENDPOINT"
            )
        }
        Some(code) => format!("it answered with the gRPC code {code}; the collector's own log may say why"),
        None => error.to_owned(),
    }
}

/// An exporter of metrics that says how its exports end.
#[derive(Debug)]
pub(super) struct Watched<E> {
    pub(super) inner: E,
    pub(super) standing: Arc<Standing>,
}

impl<E: PushMetricExporter> PushMetricExporter for Watched<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.standing.begins();
        let done = self.inner.export(metrics).await;
        self.standing.ended(&done);
        done
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.inner.temporality()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_grpc_says_what_to_do_or_where_to_look() {
        let library =
            |code| format!("Operation failed: TonicMetricsClient export failed with gRPC code: {code}");
        let metrics = said("metrics", &library("Unimplemented"));
        assert!(metrics.contains("OTEL_METRICS_EXPORTER=none") && !metrics.contains("Tonic"), "{metrics}");
        assert!(said("spans", &library("Unimplemented")).contains("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"));
        let other = said("spans", &library("Unauthenticated"));
        assert!(other.starts_with("it answered with the gRPC code Unauthenticated"), "{other}");
        assert_eq!(said("spans", "something else"), "something else");
    }
}
