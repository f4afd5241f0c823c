//! Our answer to a host that asks for a WebSocket (RFC 6455 section 4.2; contract 12).

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Version};
use serde_json::json;
use tungstenite::handshake::derive_accept_key;

use crate::token::PROTOCOL;

/// An answer.
pub(super) type Answer = Response<Full<Bytes>>;

/// Why a request is not taken: what it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No producer is at that path.
    Path,
    /// It is no request for a WebSocket.
    NoUpgrade,
    /// It is a bad one.
    Handshake(&'static str),
    /// A browser's page that is not listed.
    Origin,
    /// None of the certificate's names is listed.
    Name,
    /// No token, or not that one.
    Token,
    /// Nobody can have the token: it cannot be read.
    TokenSource,
    /// The producer is served no more, or not yet.
    Draining,
}

impl Refusal {
    fn parts(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::Path => (
                StatusCode::NOT_FOUND,
                "no producer is served at that path",
                "the path and the query must be those of `listen`",
            ),
            Self::NoUpgrade => (
                StatusCode::UPGRADE_REQUIRED,
                "this is a WebSocket",
                "connect with a WebSocket client, version 13",
            ),
            Self::Handshake(why) => {
                (StatusCode::BAD_REQUEST, why, "connect with a WebSocket client (RFC 6455)")
            }
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "pages of that origin may not connect",
                "list it in `listen_auth.origins`",
            ),
            Self::Name => (
                StatusCode::FORBIDDEN,
                "the client certificate has none of the names that may connect",
                "list one of its subject alternative names in `listen_tls.client_names`",
            ),
            Self::Token => (
                StatusCode::UNAUTHORIZED,
                "the token is missing or is not the right one",
                "send it as `Authorization: Bearer TOKEN`, as a subprotocol, or as the query's `token`",
            ),
            Self::TokenSource => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the token cannot be checked now",
                "see the log of the sidecar",
            ),
            Self::Draining => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the producer is not served at the moment",
                "try again later",
            ),
        }
    }

    /// What is answered.
    pub(super) fn answer(self) -> Answer {
        let (status, error, hint) = self.parts();
        let body = json!({ "error": error, "hint": hint }).to_string();
        let mut answer = Response::new(Full::new(Bytes::from(body)));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        match self {
            Self::NoUpgrade => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade, close"));
                headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
                headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            }
            Self::Token => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::TokenSource | Self::Draining => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        answer
    }

    /// For the log.
    pub(super) fn status(self) -> u16 {
        self.parts().0.as_u16()
    }

    /// For the log.
    pub(super) fn why(self) -> &'static str {
        self.parts().1
    }
}

/// The 101 that a request is due, if it asks for a WebSocket as it should.
pub(super) fn upgrade<B>(request: &Request<B>) -> Result<Answer, Refusal> {
    let headers = request.headers();
    if !has_token(headers, &header::UPGRADE, "websocket")
        || !has_token(headers, &header::CONNECTION, "upgrade")
    {
        return Err(Refusal::NoUpgrade);
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(Refusal::NoUpgrade);
    }
    if request.method() != Method::GET || request.version() != Version::HTTP_11 {
        return Err(Refusal::Handshake("a WebSocket is asked for with GET and HTTP/1.1"));
    }
    let mut keys = headers.get_all(header::SEC_WEBSOCKET_KEY).iter();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return Err(Refusal::Handshake("there must be one Sec-WebSocket-Key"));
    };
    let key = key.as_bytes().trim_ascii();
    if data_encoding::BASE64.decode(key).map_or(0, |key| key.len()) != 16 {
        return Err(Refusal::Handshake("Sec-WebSocket-Key must be 16 bytes in base64"));
    }
    let accept = HeaderValue::from_str(&derive_accept_key(key));
    let accept = accept.map_err(|_| Refusal::Handshake("Sec-WebSocket-Key must be 16 bytes in base64"))?;
    let mut answer = Response::new(Full::new(Bytes::new()));
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let fresh = answer.headers_mut();
    fresh.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    fresh.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    fresh.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    // Another entry may be a token, which is never repeated.
    if has_token(headers, &header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL) {
        fresh.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    Ok(answer)
}

/// Whether a list in a header has that entry, in whatever case.
pub(super) fn has_token(headers: &HeaderMap, name: &header::HeaderName, entry: &str) -> bool {
    let values = headers.get_all(name).iter();
    let mut entries = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    entries.any(|given| given.trim_ascii().eq_ignore_ascii_case(entry.as_bytes()))
}
