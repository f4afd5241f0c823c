//! Our request for a WebSocket to a producer (RFC 6455 section 4.1; contract 12).

use std::pin::pin;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tungstenite::handshake::client::generate_key;
use tungstenite::handshake::derive_accept_key;

use super::Role;
use super::answer::has_token;
use super::stream::Stream;
use super::visit::over;
use crate::config::TokenForm;
use crate::token::{PROTOCOL, Secret};
use crate::transport::Connection;
use crate::transport::dial::Reason;

/// What is asked for.
pub(in crate::transport) struct Wanted<'a> {
    /// The authority as a header has it: without the scheme's own port.
    pub(in crate::transport) host: &'a str,
    /// Path and query.
    pub(in crate::transport) target: &'a str,
    /// Our token, and where it goes.
    pub(in crate::transport) token: Option<(&'a Secret, TokenForm)>,
}

/// Shakes hands on a stream.
///
/// # Errors
/// Why there is no WebSocket; without a word of the token, the query or the answer's body.
pub(in crate::transport) async fn shake_hands<S: Stream>(
    stream: S,
    wanted: &Wanted<'_>,
    peer: String,
) -> Result<Connection, Reason> {
    let facts = stream.facts();
    let key = generate_key();
    let request = request(wanted, &key)?;
    let (mut sender, conn) =
        http1::Builder::new().handshake(TokioIo::new(stream)).await.map_err(|error| Reason::http(&error))?;
    let exchange = async {
        let mut response = sender.send_request(request).await.map_err(|error| Reason::http(&error))?;
        check(&response, &key)?;
        hyper::upgrade::on(&mut response).await.map_err(|error| Reason::http(&error))
    };
    let mut exchange = pin!(exchange);
    let mut conn = pin!(conn.with_upgrades());
    let upgraded = tokio::select! {
        biased;
        upgraded = &mut exchange => upgraded?,
        // Its error is told to the exchange as well.
        _ = &mut conn => exchange.await?,
    };
    over::<S>(upgraded, Role::Client, peer, facts).map_err(Reason::Io)
}

fn request(wanted: &Wanted<'_>, key: &str) -> Result<Request<Empty<Bytes>>, Reason> {
    let mut target = wanted.target.to_owned();
    let mut protocol = HeaderValue::from_static(PROTOCOL);
    let mut authorization = None;
    let unfit = |_| Reason::Address("the token cannot be sent in a header");
    if let Some((token, form)) = wanted.token {
        match form {
            TokenForm::Header => authorization = Some(token.authorization().map_err(unfit)?),
            TokenForm::Subprotocol => protocol = token.protocols().map_err(unfit)?,
            TokenForm::Query => target = token.in_query(&target),
        }
    }
    let mut request = Request::builder()
        .uri(target)
        .header(header::HOST, wanted.host)
        .header(header::UPGRADE, "websocket")
        .header(header::CONNECTION, "Upgrade")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, key)
        .header(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    if let Some(authorization) = authorization {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    request.body(Empty::new()).map_err(|_| Reason::Address("its path or query cannot be sent in a request"))
}

/// Whether the answer is a WebSocket's.
fn check(response: &Response<Incoming>, key: &str) -> Result<(), Reason> {
    let (status, headers) = (response.status(), response.headers());
    if status != StatusCode::SWITCHING_PROTOCOLS {
        return Err(Reason::Status(status.as_u16()));
    }
    if !has_token(headers, &header::UPGRADE, "websocket")
        || !has_token(headers, &header::CONNECTION, "upgrade")
    {
        return Err(Reason::NoWebSocket("it upgraded to something else"));
    }
    let accept = derive_accept_key(key.as_bytes());
    if headers
        .get(header::SEC_WEBSOCKET_ACCEPT)
        .is_none_or(|given| given.as_bytes().trim_ascii() != accept.as_bytes())
    {
        return Err(Reason::NoWebSocket("its Sec-WebSocket-Accept is not that of our key"));
    }
    if headers.contains_key(header::SEC_WEBSOCKET_EXTENSIONS) {
        return Err(Reason::NoWebSocket("it uses an extension that was not offered"));
    }
    match headers.get(header::SEC_WEBSOCKET_PROTOCOL) {
        Some(protocol) if protocol != PROTOCOL => {
            Err(Reason::NoWebSocket("it chose a subprotocol that was not offered"))
        }
        _ => Ok(()),
    }
}
