//! Spans, begun where they are kept and nowhere else (contract 10.1).
//!
//! OpenTelemetry's own interface, without a bridge from the log's spans: whether a trace is kept is decided from a few
//! bytes of the message, and where it is not nothing is made at all.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opentelemetry::trace::{
    Link, Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceId, Tracer as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer, Span};

use super::board::Board;
use super::names::{Failure, Signal, attribute};
use super::sampler::Sampler;

/// Spans that are open at once; past it none is begun, and that is counted.
pub const OPEN: usize = 16_384;

/// Begins spans.
#[derive(Clone, Debug)]
pub struct Tracer {
    sdk: SdkTracer,
    sampler: Sampler,
    open: Arc<AtomicUsize>,
    board: Arc<Board>,
}

impl Tracer {
    pub(super) fn new(sdk: SdkTracer, sampler: Sampler, board: Arc<Board>) -> Self {
        Self { sdk, sampler, open: Arc::default(), board }
    }

    /// A span of what comes in, if its trace is kept.
    pub fn begin(
        &self,
        kind: SpanKind,
        parent: Option<&SpanContext>,
        name: impl FnOnce() -> Cow<'static, str>,
    ) -> Option<Box<Open>> {
        let trace = parent.map_or_else(|| RandomIdGenerator::default().new_trace_id(), SpanContext::trace_id);
        if !self.sampler.keeps(parent, trace) {
            return None;
        }
        self.open(kind, name(), parent, trace, Vec::new())
    }

    /// A span under one that is kept, with links to others.
    pub fn follow(
        &self,
        kind: SpanKind,
        parent: &SpanContext,
        name: Cow<'static, str>,
        links: impl Iterator<Item = SpanContext>,
    ) -> Option<Box<Open>> {
        let links = links.map(Link::with_context).collect();
        self.open(kind, name, Some(parent), parent.trace_id(), links)
    }

    fn open(
        &self,
        kind: SpanKind,
        name: Cow<'static, str>,
        parent: Option<&SpanContext>,
        trace: TraceId,
        links: Vec<Link>,
    ) -> Option<Box<Open>> {
        if self.open.load(Ordering::Relaxed) >= OPEN {
            self.board.drop_items(Signal::Spans, 1);
            return None;
        }
        let context = match parent {
            Some(parent) => Context::new().with_remote_span_context(parent.clone()),
            None => Context::new(),
        };
        NEXT.set(parent.is_none().then_some(trace));
        let mut builder = self.sdk.span_builder(name).with_kind(kind);
        if !links.is_empty() {
            builder = builder.with_links(links);
        }
        let span = self.sdk.build_with_context(builder, &context);
        self.open.fetch_add(1, Ordering::Relaxed);
        Some(Box::new(Open { span, open: Arc::clone(&self.open) }))
    }
}

thread_local! {
    /// The trace that was decided on, for the span that is being made.
    static NEXT: Cell<Option<TraceId>> = const { Cell::new(None) };
}

/// Gives the trace that was decided on to its first span.
#[derive(Debug, Default)]
pub(super) struct Decided(RandomIdGenerator);

impl IdGenerator for Decided {
    fn new_trace_id(&self) -> TraceId {
        NEXT.take().unwrap_or_else(|| self.0.new_trace_id())
    }

    fn new_span_id(&self) -> SpanId {
        self.0.new_span_id()
    }
}

/// A span that is open; it ends when this is dropped.
#[derive(Debug)]
pub struct Open {
    span: Span,
    open: Arc<AtomicUsize>,
}

impl Open {
    /// What a message has to carry so that its receiver's span follows this one.
    pub fn context(&self) -> &SpanContext {
        self.span.span_context()
    }

    /// Says more of it.
    pub fn describe(&mut self, attributes: impl IntoIterator<Item = KeyValue>) {
        self.span.set_attributes(attributes);
    }

    /// Something happened.
    pub fn event(&mut self, name: &'static str, attributes: Vec<KeyValue>) {
        self.span.add_event(name, attributes);
    }

    /// It went wrong.
    pub fn fail(&mut self, failure: Failure) {
        self.span.set_attribute(KeyValue::new(attribute::ERROR, failure.as_str()));
        if failure.is_code() {
            self.span.set_attribute(KeyValue::new(attribute::STATUS, failure.as_str()));
        }
        // No words: they are a peer's.
        self.span.set_status(Status::error(""));
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::SdkTracerProvider;

    use super::*;

    #[test]
    fn past_so_many_open_spans_none_is_begun_and_that_is_counted() {
        let (provider, board) = (SdkTracerProvider::builder().build(), Arc::<Board>::default());
        let tracer = Tracer::new(provider.tracer("test"), Sampler::default(), Arc::clone(&board));
        let begin = || tracer.begin(SpanKind::Server, None, || "push/event".into());
        let mut open: Vec<_> = (0..OPEN).map_while(|_| begin()).collect();
        assert_eq!((open.len(), board.dropped(Signal::Spans)), (OPEN, 0));
        let parent = open[0].context().clone();
        let follow = || tracer.follow(SpanKind::Client, &parent, "push/event".into(), std::iter::empty());
        assert!(begin().is_none() && follow().is_none());
        assert_eq!(board.dropped(Signal::Spans), 2);
        open.pop();
        assert!(follow().is_some_and(|span| span.context().trace_id() == parent.trace_id()));
        assert_eq!(board.dropped(Signal::Spans), 2);
    }
}
