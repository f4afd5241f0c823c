//! A collector that keeps what it is sent: OTLP over HTTP and over gRPC, on one port.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcpl_tests::PATIENCE;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

/// What it was sent.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) spans: Vec<Span>,
    /// Names of metrics.
    pub(crate) metrics: Vec<String>,
    /// Attributes of the resources of spans.
    pub(crate) resource: Vec<(String, String)>,
    /// Everything, as it came.
    pub(crate) bodies: Vec<Bytes>,
    /// It takes requests and answers none.
    pub(crate) hangs: bool,
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Collector {
    pub(crate) port: u16,
    kept: Arc<Mutex<Kept>>,
}

impl Collector {
    /// One that speaks HTTP/1.1, or with `grpc` HTTP/2.
    pub(crate) async fn listening(grpc: bool) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let collector = Self { port, kept: Arc::default() };
        let served = collector.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (io, collector) = (TokioIo::new(stream), served.clone());
                tokio::spawn(async move {
                    let answer = service_fn(move |request| collector.clone().answer(request));
                    // A connection that breaks off is the program's end.
                    if grpc {
                        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        let _ = server.serve_connection(io, answer).await;
                    } else {
                        let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, answer).await;
                    }
                });
            }
        });
        collector
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("nobody panicked")
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Frames>, Infallible> {
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
        let body = body.unwrap_or_default();
        if self.kept().hangs {
            std::future::pending::<()>().await;
        }
        let grpc = path.starts_with("/opentelemetry.proto.");
        let message = if grpc { body.slice(5..) } else { body.clone() };
        if path.contains("trace") {
            let sent = ExportTraceServiceRequest::decode(message.clone()).expect("an export of spans");
            let mut kept = self.kept();
            for of in sent.resource_spans {
                let resource = of.resource.map(|resource| resource.attributes).unwrap_or_default();
                kept.resource = resource.iter().map(|pair| (pair.key.clone(), text(pair))).collect();
                kept.spans.extend(of.scope_spans.into_iter().flat_map(|of| of.spans));
            }
        } else {
            let sent = ExportMetricsServiceRequest::decode(message.clone()).expect("an export of metrics");
            let metrics = sent.resource_metrics.into_iter().flat_map(|of| of.scope_metrics);
            let names = metrics.flat_map(|of| of.metrics).map(|metric| metric.name);
            self.kept().metrics.extend(names);
        }
        self.kept().bodies.push(message);
        let mut answer = Response::builder();
        let mut frames = VecDeque::new();
        if grpc {
            answer = answer.header("content-type", "application/grpc");
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", "0".parse().expect("a value"));
            frames.extend([Frame::data(Bytes::from_static(&[0; 5])), Frame::trailers(trailers)]);
        }
        Ok(answer.body(Frames(frames)).expect("an answer"))
    }

    /// Waits until it has a span that `is` says, and gives it.
    pub(crate) async fn span(&self, what: &str, is: impl Fn(&Span) -> bool) -> Span {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(span) = self.kept().spans.iter().find(|span| is(span)) {
                return span.clone();
            }
            let names: Vec<String> = self.kept().spans.iter().map(|span| span.name.clone()).collect();
            assert!(Instant::now() < end, "there is no span: {what}; there are {names:?}");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// An answer's body: its frames.
struct Frames(VecDeque<Frame<Bytes>>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

fn text(pair: &KeyValue) -> String {
    match &pair.value {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => text.clone(),
        Some(AnyValue { value: Some(Value::IntValue(number)) }) => number.to_string(),
        other => format!("{other:?}"),
    }
}

/// The attributes of a span, by name.
pub(crate) fn attributes(pairs: &[KeyValue]) -> std::collections::BTreeMap<String, String> {
    pairs.iter().map(|pair| (pair.key.clone(), text(pair))).collect()
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).expect("a digit");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
