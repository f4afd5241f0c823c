//! One connection, from its first byte to its end: HTTP/1.1 within bounds.

use std::convert::Infallible;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use super::desk::Desk;
use super::gate::Gate;
use super::router;

/// The largest head of a request, in bytes; a longer one is answered 431.
pub const HEADER_BYTES: usize = 32 * 1024;
/// Headers of a request at most; more are answered 431.
pub const HEADERS: usize = 64;
/// The largest body of a request, in bytes; a longer one is answered 413.
pub const BODY_BYTES: usize = 64 * 1024;
/// How long a TLS handshake may take.
pub const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// How long a request's head may take, and how long a connection may be silent before it.
pub const HEADER_WITHIN: Duration = Duration::from_secs(10);
/// How long a request's body may take; then it is answered 408.
pub const BODY_WITHIN: Duration = Duration::from_secs(10);
/// How long an answer is waited for; then it is 503.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long a connection takes requests.
pub const LIFE: Duration = Duration::from_mins(1);
/// How long after that it may take to write what is left.
pub const PARTING: Duration = Duration::from_secs(30);

/// Serves one connection to its end, which comes: after [`LIFE`] and [`PARTING`] whoever it is and
/// whatever it reads.
pub(super) async fn serve<D: Desk>(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    gate: Rc<Gate>,
    desk: Rc<D>,
) {
    let service = service_fn(move |request| {
        let (gate, desk) = (Rc::clone(&gate), Rc::clone(&desk));
        async move { Ok::<_, Infallible>(router::answer(request, &gate, &*desk).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_WITHIN)
        .max_header_size(HEADER_BYTES)
        .max_buf_size(2 * HEADER_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = if let Ok(ended) = tokio::time::timeout(LIFE, connection.as_mut()).await {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        tokio::time::timeout(PARTING, connection).await.unwrap_or(Ok(()))
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an admin connection ended");
    }
}
