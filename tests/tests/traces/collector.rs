//! A collector that keeps what it is sent: OTLP over HTTP or over gRPC, bare or under TLS.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::Read as _;
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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

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
    /// It answers all requests with this status.
    pub(crate) refuses: Option<u16>,
    /// Connections that were made to it.
    pub(crate) connections: usize,
    /// Requests whose body was compressed.
    pub(crate) compressed: usize,
}

/// How it is spoken to.
#[derive(Clone, Default)]
pub(crate) struct Manner {
    /// HTTP/2, not HTTP/1.1.
    pub(crate) grpc: bool,
    /// It closes each connection after one answer.
    pub(crate) closes: bool,
    /// Under TLS.
    pub(crate) tls: Option<ServerConfig>,
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
        Self::with(Manner { grpc, ..Manner::default() }).await
    }

    pub(crate) async fn with(manner: Manner) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let collector = Self { port, kept: Arc::default() };
        let served = collector.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                served.kept().connections += 1;
                tokio::spawn(served.clone().serve(stream, manner.clone()));
            }
        });
        collector
    }

    async fn serve(self, stream: TcpStream, manner: Manner) {
        let Some(mut tls) = manner.tls else { return self.speak(stream, manner.grpc, manner.closes).await };
        tls.alpn_protocols = vec![if manner.grpc { &b"h2"[..] } else { b"http/1.1" }.to_vec()];
        // Who does not trust it goes away.
        if let Ok(stream) = TlsAcceptor::from(Arc::new(tls)).accept(stream).await {
            self.speak(stream, manner.grpc, manner.closes).await;
        }
    }

    async fn speak<S>(self, stream: S, grpc: bool, closes: bool)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let io = TokioIo::new(stream);
        let answer = service_fn(move |request| self.clone().answer(request));
        // A connection that breaks off is the program's end.
        if grpc {
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let _ = server.serve_connection(io, answer).await;
        } else {
            let mut server = hyper::server::conn::http1::Builder::new();
            let _ = server.keep_alive(!closes).serve_connection(io, answer).await;
        }
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("nobody panicked")
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Frames>, Infallible> {
        let path = request.uri().path().to_owned();
        let headers = request.headers();
        let coded = headers.get("content-encoding").is_some_and(|coding| coding == "gzip");
        let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
        let body = body.unwrap_or_default();
        if self.kept().hangs {
            std::future::pending::<()>().await;
        }
        let refused = self.kept().refuses;
        if let Some(status) = refused {
            return Ok(Response::builder().status(status).body(Frames::default()).expect("an answer"));
        }
        let grpc = path.starts_with("/opentelemetry.proto.");
        let (coded, message) = if grpc { (body[0] == 1, body.slice(5..)) } else { (coded, body) };
        let message = if coded { unzipped(&message) } else { message };
        self.kept().compressed += usize::from(coded);
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

fn unzipped(bytes: &[u8]) -> Bytes {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).expect("gzip");
    plain.into()
}

/// An answer's body: its frames.
#[derive(Default)]
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
