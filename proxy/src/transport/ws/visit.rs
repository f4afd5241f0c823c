//! One connection to a listener, from its first byte to its handshake's end.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::rc::Rc;

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use mcpl_certs::{CertificateDer, is_pinned};

use super::answer::{self, Answer, Refusal};
use super::front::{Route, Routes};
use super::stream::Stream;
use super::{Role, connection};
use crate::token::{Presented, Token, presented, without_token};
use crate::transport::{Connection, Facts};

/// The largest head of a request, in bytes; a longer one is answered 431.
const HEAD_BYTES: usize = 16 * 1024;
/// Headers of a request at most; more are answered 431.
const HEADERS: usize = 64;

/// A request that was taken: where it goes, and its stream once the answer is out.
struct Taken {
    route: Rc<Route>,
    upgrade: OnUpgrade,
}

/// Serves one request; the connection and where it goes, if it was one for a WebSocket that is taken.
pub(super) async fn receive<S: Stream>(
    stream: S,
    peer: &str,
    routes: &Routes,
) -> io::Result<Option<(Rc<Route>, Connection)>> {
    let (facts, leaf) = (stream.facts(), stream.leaf());
    let taken = RefCell::new(None);
    let service = service_fn(|request| {
        let (leaf, taken) = (leaf.as_ref(), &taken);
        async move { Ok::<_, Infallible>(decide(request, peer, leaf, routes, taken).await) }
    });
    let served = http1::Builder::new()
        .max_header_size(HEAD_BYTES)
        .max_buf_size(2 * HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    let Some(Taken { route, upgrade }) = taken.into_inner() else {
        return served.map(|()| None).map_err(io::Error::other);
    };
    let upgraded = upgrade.await.map_err(io::Error::other)?;
    Ok(Some((route, over::<S>(upgraded, Role::Server, peer.to_owned(), facts)?)))
}

/// The connection on a stream that was upgraded.
pub(super) fn over<S: Stream>(
    upgraded: Upgraded,
    role: Role,
    peer: String,
    facts: Facts,
) -> io::Result<Connection> {
    let parts =
        upgraded.downcast::<TokioIo<S>>().map_err(|_| io::Error::other("the stream is of another kind"))?;
    let stream = parts.io.into_inner();
    let mut connection = connection(stream.halves(), role, &parts.read_buf, peer);
    connection.facts = facts;
    Ok(connection)
}

async fn decide(
    mut request: Request<Incoming>,
    peer: &str,
    leaf: Option<&CertificateDer<'static>>,
    routes: &Routes,
    taken: &RefCell<Option<Taken>>,
) -> Answer {
    match admit(&request, leaf, routes).await {
        Ok((route, answer)) => {
            let upgrade = hyper::upgrade::on(&mut request);
            *taken.borrow_mut() = Some(Taken { route, upgrade });
            answer
        }
        Err(refusal) => {
            let (status, why) = (refusal.status(), refusal.why());
            routes.trouble().refused.happens(|unsaid| {
                tracing::info!(peer, status, why, unsaid, "a request to a WebSocket listener was refused");
            });
            refusal.answer()
        }
    }
}

/// Whether a request is taken.
async fn admit(
    request: &Request<Incoming>,
    leaf: Option<&CertificateDer<'static>>,
    routes: &Routes,
) -> Result<(Rc<Route>, Answer), Refusal> {
    let (path, query) = (request.uri().path(), request.uri().query());
    let route = routes.at(path).filter(|route| route.takes(query)).ok_or(Refusal::Path)?;
    let answer = answer::upgrade(request)?;
    if !route.names.is_empty() && !leaf.is_some_and(|leaf| is_pinned(leaf, &route.names)) {
        return Err(Refusal::Name);
    }
    let mut origins = request.headers().get_all(header::ORIGIN).iter();
    if let Some(origin) = origins.next()
        && (origins.next().is_some()
            || !(route.origins.iter().any(|listed| origin == listed)
                || is_own(origin, request.headers().get(header::HOST))))
    {
        return Err(Refusal::Origin);
    }
    if let Some(source) = &route.token {
        let Presented::Token(given) = presented(request.headers(), query) else { return Err(Refusal::Token) };
        match Token::from(source).is(given.bytes()).await {
            Ok(true) => routes.trouble().token.over(),
            Ok(false) => return Err(Refusal::Token),
            Err(error) => {
                let producer = &route.producer;
                routes.trouble().token.happens(|unsaid| {
                    tracing::warn!(%producer, %error, unsaid, "the token of `listen_auth` cannot be read");
                });
                return Err(Refusal::TokenSource);
            }
        }
    }
    if route.to.is_closed() {
        return Err(Refusal::Draining);
    }
    Ok((route, answer))
}

/// Whether an origin is the listener itself, called by an address or `localhost`: programs say so whose libraries
/// always say something. No page comes from there, and no name that a page's owner could make resolve to us.
fn is_own(origin: &HeaderValue, host: Option<&HeaderValue>) -> bool {
    let origin = origin.to_str().ok().and_then(|origin| {
        let (scheme, authority) = origin.split_once("://")?;
        matches!(scheme, "http" | "https" | "ws" | "wss").then_some(authority)
    });
    let Some((authority, host)) = origin.zip(host.and_then(|host| host.to_str().ok())) else { return false };
    let Ok(read) = authority.parse::<Authority>() else { return false };
    let bare = read.host().trim_start_matches('[').trim_end_matches(']');
    authority.eq_ignore_ascii_case(host)
        && (bare.parse::<IpAddr>().is_ok() || bare.eq_ignore_ascii_case("localhost"))
}

impl Route {
    /// Whether a request with that query is for it.
    fn takes(&self, query: Option<&str>) -> bool {
        let given = query.map(without_token).unwrap_or_default();
        self.query.as_ref().is_none_or(|query| *query == given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_our_own_only_by_an_address_that_was_asked_for() {
        let own =
            |origin, host| is_own(&HeaderValue::from_static(origin), Some(&HeaderValue::from_static(host)));
        assert!(own("http://127.0.0.1:7000", "127.0.0.1:7000"));
        assert!(own("https://[::1]:7000", "[::1]:7000"));
        assert!(own("http://LOCALHOST:7000", "localhost:7000"));
        for (origin, host) in [
            ("http://127.0.0.1:7001", "127.0.0.1:7000"),
            ("http://rebound.example:7000", "rebound.example:7000"),
            ("http://127.0.0.1.example", "127.0.0.1.example"),
            ("null", "127.0.0.1:7000"),
            ("file://127.0.0.1:7000", "127.0.0.1:7000"),
            ("http://u@127.0.0.1:7000", "127.0.0.1:7000"),
            ("http://127.0.0.1:7000/", "127.0.0.1:7000"),
        ] {
            assert!(!own(origin, host), "{origin}");
        }
        assert!(!is_own(&HeaderValue::from_static("http://127.0.0.1"), None));
    }
}
