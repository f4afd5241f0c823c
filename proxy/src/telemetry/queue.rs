//! Spans on their way to the collector: a bounded queue that never waits, and counts what it does not take
//! (contract 10.1).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor};

use super::board::Board;
use super::names::Signal;
use super::standing::Standing;

/// Spans that wait at once, unless `OTEL_BSP_MAX_QUEUE_SIZE` says otherwise.
pub const WAITING: usize = 8_192;

/// Lets so many wait and no more.
#[derive(Debug)]
pub(super) struct Counted {
    inner: BatchSpanProcessor,
    waiting: Arc<AtomicUsize>,
    most: usize,
    board: Arc<Board>,
}

impl Counted {
    /// `inner` exports by a [`Told`] that shares `waiting`, and has room for `most`.
    pub(super) fn new(
        inner: BatchSpanProcessor,
        waiting: Arc<AtomicUsize>,
        most: usize,
        board: Arc<Board>,
    ) -> Self {
        Self { inner, waiting, most, board }
    }
}

impl SpanProcessor for Counted {
    fn on_start(&self, span: &mut Span, cx: &Context) {
        self.inner.on_start(span, cx);
    }

    fn on_end(&self, span: SpanData) {
        if self.waiting.load(Ordering::Relaxed) >= self.most {
            self.board.drop_items(Signal::Spans, 1);
            return;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.inner.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// An exporter that says what left the queue, and what the collector did not take.
#[derive(Debug)]
pub(super) struct Told<E> {
    pub(super) inner: E,
    pub(super) waiting: Arc<AtomicUsize>,
    pub(super) board: Arc<Board>,
    pub(super) standing: Arc<Standing>,
}

impl<E: SpanExporter> SpanExporter for Told<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        self.standing.begins();
        let done = self.inner.export(batch).await;
        self.standing.ended(&done);
        if done.is_err() {
            self.board.drop_items(Signal::Spans, count as u64);
        }
        done
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
