//! Who is let in: called by a name of ours, from no page of somebody else's, with the token.

use std::net::IpAddr;

use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Request, StatusCode, Version};

use super::reply::{self, Reply};
use crate::episode::Episode;
use crate::token::{Presented, Token, presented};

/// Where a request came in.
#[derive(Debug)]
pub(super) enum Gate {
    /// On the socket in the state directory: the file system has asked already.
    Socket,
    /// With a client certificate that is of the CA, and has none of the names that are asked for.
    Stranger,
    /// On TCP.
    Tcp {
        /// The names it may be called by; `None`: by any, since a token is asked for.
        names: Option<Vec<String>>,
        /// What it takes to get in.
        token: Option<Token>,
        /// It cannot be read.
        trouble: Episode,
    },
}

impl Gate {
    /// A listener at `address`, as configured, with its port or without. Without a token it is on a loopback
    /// address, and then a page of another name that was made to resolve to it (DNS rebinding) must not get
    /// in.
    pub(super) fn tcp(address: &str, token: Option<Token>) -> Self {
        let read = address.parse::<Authority>().ok();
        let host = bare(read.as_ref().map_or(address, Authority::host));
        let names = ["localhost", host].map(str::to_ascii_lowercase).to_vec();
        let loopback = host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
        let loopback = loopback || host.eq_ignore_ascii_case("localhost");
        Self::Tcp {
            names: (loopback || token.is_none()).then_some(names),
            token,
            trouble: Episode::default(),
        }
    }

    /// The answer to who may not come in; `open`: what needs no token.
    pub(super) async fn turned_away<B>(&self, request: &Request<B>, open: bool) -> Option<Reply> {
        let Self::Tcp { names, token, trouble } = self else {
            let stranger = || {
                reply::error(
                    StatusCode::FORBIDDEN,
                    "the client certificate has none of the names that may come in",
                    "use one with a name of client_names in [admin.tls]",
                )
            };
            return matches!(self, Self::Stranger).then(stranger);
        };
        let called = match called(request) {
            Ok(called) => called,
            Err(why) => return Some(reply::error(StatusCode::BAD_REQUEST, why, "send one Host header")),
        };
        if let (Some(names), Some(called)) = (names, &called)
            && !is_ours(called, names)
        {
            return Some(reply::error(
                StatusCode::MISDIRECTED_REQUEST,
                "this listener is not known by that name",
                "call it localhost, 127.0.0.1, [::1], or as it is configured",
            ));
        }
        if !same_origin(request.headers(), called.as_ref()) {
            return Some(reply::error(
                StatusCode::FORBIDDEN,
                "the request comes from another site's page",
                "ask from a program, or from a page of this listener's",
            ));
        }
        match token {
            Some(token) if !open => asked(token, trouble, request.headers()).await,
            _ => None,
        }
    }
}

/// What the listener was called; `None`: nothing, as HTTP/1.0 allows.
fn called<B>(request: &Request<B>) -> Result<Option<Authority>, &'static str> {
    let read = |value: &HeaderValue| Authority::try_from(value.as_bytes()).ok();
    let mut values = request.headers().get_all(header::HOST).iter();
    let called = match (values.next(), values.next()) {
        (Some(value), None) => Some(read(value).ok_or("the Host header is no host")?),
        (Some(_), Some(_)) => return Err("there are several Host headers"),
        (None, _) if request.version() == Version::HTTP_10 => None,
        (None, _) => return Err("there is no Host header"),
    };
    match (request.uri().authority(), &called) {
        (Some(target), Some(called)) if target != called => Err("the Host header is not the target's host"),
        (Some(target), _) => Ok(Some(target.clone())),
        (None, _) => Ok(called),
    }
}

/// A host without the brackets of IPv6.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn is_ours(called: &Authority, names: &[String]) -> bool {
    let address = bare(called.host());
    !called.as_str().contains('@')
        && (address.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
            || names.iter().any(|name| name.eq_ignore_ascii_case(address)))
}

/// Browsers say which site's page asks; programs say nothing.
fn same_origin(headers: &HeaderMap, called: Option<&Authority>) -> bool {
    headers.get_all(header::ORIGIN).iter().all(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        authority
            .zip(called)
            .is_some_and(|(authority, called)| authority.eq_ignore_ascii_case(called.as_str()))
    })
}

async fn asked(token: &Token, trouble: &Episode, headers: &HeaderMap) -> Option<Reply> {
    // No query: it would be in somebody's history.
    let Presented::Token(given) = presented(headers, None) else {
        return Some(unauthorized("this needs the token", HeaderValue::from_static("Bearer")));
    };
    match token.is(given.bytes()).await {
        Ok(true) => {
            trouble.over();
            None
        }
        Ok(false) => Some(unauthorized(
            "that is not the token",
            HeaderValue::from_static("Bearer error=\"invalid_token\""),
        )),
        Err(error) => {
            trouble.happens(|unsaid| {
                tracing::error!(%error, unsaid, "the file of `admin.token_file` cannot be read: nobody is let in");
            });
            Some(reply::error(
                StatusCode::SERVICE_UNAVAILABLE,
                "the token cannot be read",
                "see the log: the file of admin.token_file must be readable and hold a token",
            ))
        }
    }
}

fn unauthorized(error: &str, challenge: HeaderValue) -> Reply {
    let hint = "send Authorization: Bearer TOKEN, with what is in the file of admin.token_file; a WebSocket may \
                offer the subprotocols mcpl and mcpl.bearer.BASE64URL(TOKEN) instead";
    let mut reply = reply::error(StatusCode::UNAUTHORIZED, error, hint);
    reply::headed(&mut reply, header::WWW_AUTHENTICATE, challenge);
    reply
}
