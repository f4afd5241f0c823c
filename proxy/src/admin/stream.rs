//! `/v1/stream`: from a request to a WebSocket that the event stream is served on (contract 10.4).

use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};

use super::desk::Desk;
use super::reply::{self, Reply};
use super::router;
use crate::transport::ws;

/// How long our answer may take to leave; then nobody is there.
const UPGRADED_WITHIN: Duration = Duration::from_secs(10);

/// Answers who asks for the stream. To be called on a [`tokio::task::LocalSet`].
pub(super) async fn answer<D: Desk>(mut request: Request<Incoming>, desk: &D) -> Reply {
    let Some(hub) = desk.stream() else {
        let hint = "it is kept only under `run` with [admin] in its file: `wrap` has none";
        return reply::error(StatusCode::NOT_FOUND, "there is no event stream here", hint);
    };
    let answer = match ws::upgrade(&request) {
        Ok(answer) => answer,
        Err(refusal) => return refusal.answer(),
    };
    let Some(pass) = hub.admit() else {
        let hint = "close one, or try again later";
        return reply::error(StatusCode::SERVICE_UNAVAILABLE, "the stream has too many readers", hint);
    };
    // Before it is told anything: what happens from now on is noted.
    if let Err(reply) = router::within(desk.watch()).await {
        return reply;
    }
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::task::spawn_local(async move {
        if let Ok(Ok(upgraded)) = tokio::time::timeout(UPGRADED_WITHIN, upgrade).await {
            hub.receive(upgraded, pass);
        } else {
            tracing::debug!("a reader of the event stream was gone before it was served");
        }
    });
    answer
}
