//! How telemetry gets to a collector over HTTP: one connection a batch, on the exporter's own runtime.
//!
//! Who exports is a thread of the SDK's that no runtime knows, so the work is handed over to the runtime.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How long one batch may take.
const WITHIN: Duration = Duration::from_secs(10);

/// As much of an answer as is read, in bytes.
const ANSWER_BYTES: usize = 64 * 1024;

/// Sends what is exported.
#[derive(Clone, Debug)]
pub(super) struct Post {
    runtime: Handle,
}

impl Post {
    pub(super) fn new(runtime: Handle) -> Self {
        Self { runtime }
    }
}

#[async_trait]
impl HttpClient for Post {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.runtime.spawn(async move { timeout(WITHIN, post(request)).await });
        sent.await?.map_err(|_| "the collector did not answer in 10 s")?
    }
}

async fn post(mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let (host, port) = place(request.uri())?;
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let named = HeaderValue::try_from(format!("{host}:{port}"))?;
    request.headers_mut().insert(header::HOST, named);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).parse()?;
    *request.uri_mut() = path;
    let answer = sender.send_request(request.map(Full::new)).await?;
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, ANSWER_BYTES).collect().await?.to_bytes();
    connection.abort();
    Ok(Response::from_parts(head, body))
}

fn place(uri: &Uri) -> Result<(String, u16), HttpError> {
    if uri.scheme_str() != Some("http") {
        return Err("only http:// reaches a collector".into());
    }
    let host = uri.host().ok_or("the collector's address has no host")?;
    Ok((host.to_owned(), uri.port_u16().unwrap_or(80)))
}
