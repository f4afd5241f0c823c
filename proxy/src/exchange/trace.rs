//! Spans of one session's messages: SERVER for what comes in, CLIENT for what goes out (contract 10.1).
//!
//! What passes keeps its bytes, so our spans hang on the context it carries. What we originate carries ours, and has
//! a link to the span of each occurrence that was folded into it.

use std::borrow::Cow;

use bytes::Bytes;
use mcpl_codec::raw;
use mcpl_policy::engine::Taught;
use mcpl_policy::thread::Thread;
use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanContext, SpanKind};
use tracing::span::EnteredSpan;

use super::watch::{Seen, Watch};
use super::{Exchange, Side};
use crate::telemetry::context::Carried;
use crate::telemetry::names::{Failure, Method, OTHER, Refusal, Source, attribute, event};
use crate::telemetry::spans::Open;
use crate::telemetry::thread;

/// As much of a peer's id, or of the name of a tool, as a span has room for.
const SHOWN: usize = 64;

/// A message, as far as a span is concerned.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) method: &'a str,
    pub(super) params: &'a [u8],
    /// The raw id; `None`: it is no request.
    pub(super) id: Option<&'a [u8]>,
}

/// The two spans of a message, while they are open.
#[derive(Debug)]
pub(super) struct Spans {
    pub(super) server: Option<Box<Open>>,
    pub(super) client: Option<Box<Open>>,
    /// What the message's own receivers, and what becomes of it, follow.
    pub(super) carried: Carried,
}

impl Drop for Spans {
    /// What is open still, nobody answered before the session ended.
    fn drop(&mut self) {
        end(self.client.take(), Some(Failure::Lost));
        end(self.server.take(), Some(Failure::Lost));
    }
}

impl Watch {
    /// The spans of a message that comes from `from`, if its trace is kept; the CLIENT one is not begun.
    pub(super) fn begin(&self, from: Side, method: Method, told: Told<'_>) -> Option<Box<Spans>> {
        let tracer = self.seat.tracer.as_ref()?;
        let carried = Carried::read(told.params);
        let parent = carried.as_ref().map(|carried| &carried.span);
        let mut server = tracer.begin(SpanKind::Server, parent, || name(method, told.params))?;
        self.describe(&mut server, from, method, told.params, told.id);
        server.describe(scope_in(method, told.params));
        let span = server.context().clone();
        let carried = match carried {
            Some(carried) => carried.at(span),
            None => Carried { span, baggage: None },
        };
        Some(Box::new(Spans { server: Some(server), client: None, carried }))
    }

    /// The message goes on to `to`.
    pub(super) fn go_on(&self, to: Side, method: Method, told: Told<'_>, spans: &mut Spans) {
        let Some(tracer) = &self.seat.tracer else { return };
        let name = name(method, told.params);
        let client = tracer.follow(SpanKind::Client, &spans.carried.span, name, std::iter::empty());
        spans.client = client.map(|mut client| {
            self.describe(&mut client, to, method, told.params, told.id);
            client.describe(scope_in(method, told.params));
            client
        });
    }

    /// A request of ours to `to` on behalf of an occurrence; its span, and what its receivers are to be told. What is
    /// not known by its thread is known by what its `params` carry.
    pub(super) fn originate(
        &self,
        to: Side,
        method: Method,
        held: Option<&Thread>,
        (params, id): (&Bytes, &str),
    ) -> Option<(Box<Open>, Carried)> {
        let tracer = self.seat.tracer.as_ref()?;
        let newest = held.and_then(thread::own).or_else(|| Carried::read(params));
        let newest = newest.filter(|carried| carried.span.is_sampled())?;
        let folded = held.into_iter().flat_map(thread::folded);
        // One that carries nothing but itself is told by its parent.
        let is_alone = held.is_none_or(|held| held.folded().len() == 0);
        let links = folded.chain((!is_alone).then(|| newest.span.clone()));
        let mut span = tracer.follow(SpanKind::Client, &newest.span, method.as_str().into(), links)?;
        self.describe(&mut span, to, method, params, Some(raw::quote(id).as_bytes()));
        let carried = newest.at(span.context().clone());
        Some((span, carried))
    }

    /// A part of a message goes on by itself, under an id of ours; its span, and its params with our context.
    fn go_apart(&self, spans: &Spans, params: &[u8], id: &str) -> Option<(Box<Open>, Vec<u8>)> {
        let (tracer, method) = (self.seat.tracer.as_ref()?, Method::Incoming);
        let name = method.as_str().into();
        let mut span = tracer.follow(SpanKind::Client, &spans.carried.span, name, std::iter::empty())?;
        self.describe(&mut span, Side::Host, method, params, Some(raw::quote(id).as_bytes()));
        span.describe(scope_in(method, params));
        let written = spans.carried.at(span.context().clone()).write(params);
        Some((span, written.unwrap_or_else(|| params.to_vec())))
    }

    fn describe(&self, span: &mut Open, peer: Side, method: Method, params: &[u8], id: Option<&[u8]>) {
        let mut attributes = Vec::with_capacity(10);
        attributes.push(KeyValue::new(attribute::METHOD, method.as_str()));
        attributes.push(KeyValue::new(attribute::PRODUCER, self.seat.producer().clone()));
        attributes.push(KeyValue::new(attribute::SESSION_ID, self.session.clone()));
        self.shape(peer, None).describe(&mut attributes);
        if let Some(id) = id.and_then(shown) {
            attributes.push(KeyValue::new(attribute::REQUEST_ID, id));
        }
        match (method, target(method, params)) {
            (Method::ToolsCall, target) => {
                attributes.push(KeyValue::new(attribute::OPERATION, "execute_tool"));
                attributes.extend(target.map(|tool| KeyValue::new(attribute::TOOL, tool)));
            }
            (_, Some(prompt)) => attributes.push(KeyValue::new(attribute::PROMPT, prompt)),
            _ => {}
        }
        span.describe(attributes);
    }
}

impl Seen {
    /// The lines that are logged from now on say which trace they belong to.
    pub(super) fn logged(&self) -> Option<EnteredSpan> {
        Some(log_span(&self.spans.as_ref()?.carried.span))
    }

    /// One of its events is refused.
    pub(super) fn refused(&mut self, source: Source, kind: Refusal, is_only: bool) {
        if let Some(server) = self.spans.as_mut().and_then(|spans| spans.server.as_mut()) {
            tell_refused(server, source, kind);
            if is_only {
                server.describe([KeyValue::new(attribute::REFUSAL, kind.as_str())]);
            }
        }
    }

    /// What each of its events is known by from now on.
    pub(super) fn thread(&self) -> Option<Box<Thread>> {
        self.spans.as_ref().map(|spans| thread::thread(&spans.carried))
    }

    /// Its only event is accepted.
    pub(super) fn coalesced(&mut self, outcome: &'static str) {
        if let Some(server) = self.spans.as_mut().and_then(|spans| spans.server.as_mut()) {
            server.describe([KeyValue::new(attribute::COALESCED, outcome)]);
        }
    }

    /// Its sender is answered.
    pub(super) fn end_server(&mut self, failure: Option<Failure>) {
        end(self.spans.as_mut().and_then(|spans| spans.server.take()), failure);
    }

    /// Its receiver answered.
    pub(super) fn end_client(&mut self, failure: Option<Failure>) {
        end(self.spans.as_mut().and_then(|spans| spans.client.take()), failure);
    }
}

/// Says on a span that something of it was refused.
pub(super) fn tell_refused(span: &mut Open, source: Source, kind: Refusal) {
    let kind = KeyValue::new(attribute::REFUSAL, kind.as_str());
    span.event(event::REFUSED, vec![kind, KeyValue::new(attribute::SOURCE, source.as_str())]);
}

/// The lines that are logged while this lives say which trace they belong to.
pub(super) fn log_span(span: &SpanContext) -> EnteredSpan {
    tracing::error_span!("trace", trace_id = %span.trace_id(), span_id = %span.span_id()).entered()
}

/// Ends a span.
pub(super) fn end(span: Option<Box<Open>>, failure: Option<Failure>) {
    if let (Some(mut span), Some(failure)) = (span, failure) {
        span.fail(failure);
    }
}

impl Exchange {
    /// A notification passes: nobody answers, so that its spans are over at once.
    pub(super) fn notified(&self, from: Side, told: Told<'_>) {
        if let Some(watch) = &self.watch {
            let method = Method::of(told.method);
            if let Some(mut spans) = watch.begin(from, method, told) {
                watch.go_on(from.other(), method, told, &mut spans);
                end(spans.client.take(), None);
                end(spans.server.take(), None);
            }
        }
    }

    /// A forward of ours of the occurrence in `body` goes out: its span, and the params it goes with.
    pub(super) fn trace_forward(
        &self,
        taught: &Taught,
        thread: Option<&Thread>,
        (body, params): (&Bytes, Bytes),
        (id, held_ms): (&str, u64),
    ) -> (Option<Box<Open>>, Bytes) {
        let Some(watch) = &self.watch else { return (None, params) };
        let method = Method::of(taught.lane.method());
        let Some((mut span, carried)) = watch.originate(Side::Host, method, thread, (body, id)) else {
            return (None, params);
        };
        let held = KeyValue::new(attribute::HOLD_MS, i64::try_from(held_ms).unwrap_or(i64::MAX));
        // What is handed over is without the `coalesce` that would say it.
        span.describe([held, scope(taught.channel.is_some())]);
        let params = carried.write(&params).map_or(params, Bytes::from);
        (Some(span), params)
    }

    /// Messages of a request go out apart from it: their span, and the params they go with.
    pub(super) fn trace_apart(
        &self,
        of: Option<&Seen>,
        params: Vec<u8>,
        id: &str,
    ) -> (Option<Box<Open>>, Vec<u8>) {
        let spans = of.and_then(|seen| seen.spans.as_deref());
        let traced =
            spans.zip(self.watch.as_ref()).and_then(|(spans, watch)| watch.go_apart(spans, &params, id));
        match traced {
            None => (None, params),
            Some((span, params)) => (Some(span), params),
        }
    }

    /// A render goes out: its span, and the params it goes with.
    pub(super) fn trace_render(
        &self,
        held: Option<&Thread>,
        params: &Bytes,
        id: &str,
    ) -> (Option<Box<Open>>, Bytes) {
        let traced = self
            .watch
            .as_ref()
            .and_then(|watch| watch.originate(Side::Producer, Method::Render, held, (params, id)));
        match traced {
            None => (None, params.clone()),
            Some((span, carried)) => (Some(span), carried.write(params).map_or(params.clone(), Bytes::from)),
        }
    }

    /// What is forwarded is tried again after so long: said on the span of the answer that is dealt with.
    pub(super) fn trace_retry(&mut self, wait_ms: u64) {
        if let Some(span) = &mut self.answering {
            let wait = KeyValue::new(attribute::WAIT_MS, i64::try_from(wait_ms).unwrap_or(i64::MAX));
            span.event(event::RETRY, vec![wait]);
        }
    }
}

/// What the scope of an event's subject is, where the message is one.
fn scope_in(method: Method, params: &[u8]) -> Option<KeyValue> {
    match method {
        Method::Push => Some(scope(raw::at(params, &["coalesce", "channelId"]).is_some())),
        Method::Incoming => Some(scope(true)),
        _ => None,
    }
}

fn scope(is_channel: bool) -> KeyValue {
    KeyValue::new(attribute::SCOPE, if is_channel { "channel" } else { "featureSet" })
}

/// The name of a span: the method, and what it is aimed at where that is one of few.
fn name(method: Method, params: &[u8]) -> Cow<'static, str> {
    match target(method, params) {
        Some(target) => format!("{} {target}", method.as_str()).into(),
        None => method.as_str().into(),
    }
}

/// The tool of a call, or the prompt: a name that reads as one.
fn target(method: Method, params: &[u8]) -> Option<String> {
    if !matches!(method, Method::ToolsCall | Method::PromptsGet) {
        return None;
    }
    let name = raw::member(params, "name").and_then(raw::string)?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    let reads = name.len() <= SHOWN && !name.is_empty() && name.bytes().all(is_name);
    Some(if reads { name.into_owned() } else { OTHER.to_owned() })
}

/// An id as it is shown: a string's text, a number as it is spelled; none where there is not room for all of it.
fn shown(id: &[u8]) -> Option<String> {
    let text = raw::string(id).or_else(|| std::str::from_utf8(id).ok().map(Cow::Borrowed))?;
    (text.len() <= SHOWN && id != b"null").then(|| text.into_owned())
}
