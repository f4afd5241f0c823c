//! How telemetry gets to a collector over HTTP: on one connection, which is kept, on the exporter's own runtime.
//!
//! Who exports is a thread of the SDK's that no runtime knows, so the work is handed over to the runtime.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::connector::Connector;
use super::standing::Standing;

/// As much of an answer as is read, in bytes.
const ANSWER_BYTES: usize = 64 * 1024;

/// Sends what is exported of one signal.
#[derive(Clone, Debug)]
pub(super) struct Post {
    runtime: Handle,
    road: Arc<Road>,
    within: Duration,
}

/// The way to the collector.
#[derive(Debug)]
struct Road {
    connector: Connector,
    standing: Arc<Standing>,
    /// The connection that the last batch went over.
    open: Mutex<Option<SendRequest<Full<Bytes>>>>,
}

impl Post {
    /// Each batch may take as long as `within`. What goes wrong, `standing` is told.
    pub(super) fn new(
        runtime: Handle,
        connector: Connector,
        standing: Arc<Standing>,
        within: Duration,
    ) -> Self {
        let road = Arc::new(Road { connector, standing, open: Mutex::default() });
        Self { runtime, road, within }
    }
}

#[async_trait]
impl HttpClient for Post {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (road, within) = (Arc::clone(&self.road), self.within);
        let sent = self.runtime.spawn(async move {
            let Ok(sent) = timeout(within, road.post(request)).await else {
                let why = format!("it did not answer within {} ms", within.as_millis());
                road.standing.note(why.clone());
                return Err(why.into());
            };
            if let Ok(answer) = &sent
                && !answer.status().is_success()
            {
                road.standing.note(format!("it answered HTTP {}", answer.status().as_u16()));
            }
            sent
        });
        sent.await?
    }
}

impl Road {
    async fn post(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let uri = request.uri().clone();
        let authority = uri.authority().ok_or("the collector's address has no host")?;
        request.headers_mut().insert(header::HOST, HeaderValue::try_from(authority.as_str())?);
        *request.uri_mut() = uri.path_and_query().map_or("/", |path| path.as_str()).parse()?;
        // Taken out: a batch that is given up does not leave a connection with its answer in it.
        let kept = self.open.lock().await.take().filter(|sender| !sender.is_closed());
        let mut sender = if let Some(sender) = kept {
            sender
        } else {
            let (sender, connection) = handshake(self.connector.connect(&uri).await?).await?;
            tokio::spawn(connection);
            sender
        };
        // Where it is closed just now, the exporter tries once more.
        let answer = sender.send_request(request.map(Full::new)).await?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_BYTES).collect().await?.to_bytes();
        *self.open.lock().await = Some(sender);
        Ok(Response::from_parts(head, body))
    }
}
