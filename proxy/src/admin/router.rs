//! From a request to what it is for.

use std::future::Future;

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use super::connection::{ANSWER_WITHIN, BODY_BYTES, BODY_WITHIN};
use super::desk::{Desk, Portion, Settlement, Trouble, Word};
use super::gate::Gate;
use super::page;
use super::path::{self, Query};
use super::reply::{self, Reply};
use super::stream;
use crate::telemetry;

/// Accounts in one answer of `GET /v1/work` at most.
pub const LISTED: usize = 1000;

/// The longest path that is read, in bytes as sent.
pub const PATH_BYTES: usize = 16 * 1024;

/// What a path stands for.
enum Route {
    Live,
    Ready,
    Metrics,
    Producers,
    Reloads,
    Occurrence(String),
    Work,
    Flush(String),
    Resolve(String, u64),
    Stream,
    Page(page::File),
}

impl Route {
    fn of(segments: &[String]) -> Option<Self> {
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        Some(match segments[..] {
            ["live"] => Self::Live,
            ["ready"] => Self::Ready,
            ["metrics"] => Self::Metrics,
            ["v1", "producers"] => Self::Producers,
            ["v1", "reloads"] => Self::Reloads,
            ["v1", "producers", name, "flush"] => Self::Flush(name.to_owned()),
            ["v1", "occurrences", event_id] => Self::Occurrence(event_id.to_owned()),
            ["v1", "work"] => Self::Work,
            ["v1", "work", producer, number, "resolve"] => Self::Resolve(producer.to_owned(), count(number)?),
            ["v1", "stream"] => Self::Stream,
            [file] => Self::Page(page::File::at(file)?),
            _ => return None,
        })
    }

    /// The method it takes, as `Allow` says it.
    fn allow(&self) -> &'static str {
        match self {
            Self::Flush(_) | Self::Resolve(..) => "POST",
            Self::Stream => "GET",
            _ => "GET, HEAD",
        }
    }

    fn takes(&self, method: &Method) -> bool {
        self.allow().split(", ").any(|allowed| allowed == method.as_str())
    }

    /// It says nothing of what is served, and those who watch over the program have no token; nor has a browser
    /// before it has the page.
    fn is_open(&self) -> bool {
        matches!(self, Self::Live | Self::Ready | Self::Page(_))
    }

    fn queries(&self) -> &'static [&'static str] {
        match self {
            Self::Occurrence(_) => &["producer"],
            Self::Work => &["producer", "after", "limit"],
            _ => &[],
        }
    }
}

/// A number as it is written to people: digits, no sign, no nought before them.
fn count(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && !(text.len() > 1 && text.starts_with('0'));
    digits.then(|| text.parse().ok()).flatten()
}

/// Answers one request.
pub(super) async fn answer<D: Desk>(request: Request<Incoming>, gate: &Gate, desk: &D) -> Reply {
    let path = request.uri().path();
    let segments = if path.len() > PATH_BYTES { None } else { path::segments(path) };
    let route = segments.as_deref().and_then(Route::of);
    if let Some(turned_away) = gate.turned_away(&request, route.as_ref().is_some_and(Route::is_open)).await {
        return turned_away;
    }
    let Some(route) = route else {
        return match segments {
            _ if path.len() > PATH_BYTES => {
                let hint = "journal show takes longer ones";
                reply::error(StatusCode::URI_TOO_LONG, "the path is too long", hint)
            }
            None => bad("the path is not percent-encoded UTF-8"),
            Some(_) => reply::error(
                StatusCode::NOT_FOUND,
                "there is nothing at this path",
                "there are /, /live, /ready, /metrics, /v1/producers, /v1/reloads, /v1/occurrences/{eventId}, /v1/work and /v1/stream",
            ),
        };
    };
    if !route.takes(request.method()) {
        let mut reply = reply::error(
            StatusCode::METHOD_NOT_ALLOWED,
            "that method is not for this path",
            &format!("send {}", route.allow()),
        );
        reply::headed(&mut reply, header::ALLOW, HeaderValue::from_static(route.allow()));
        return reply;
    }
    match Query::read(request.uri().query(), route.queries()) {
        Ok(_) if matches!(route, Route::Stream) => stream::answer(request, desk).await,
        Ok(query) => tell(route, &query, request.into_body(), desk).await.unwrap_or_else(|reply| reply),
        Err(why) => bad(&why),
    }
}

async fn tell<D: Desk>(route: Route, query: &Query, body: Incoming, desk: &D) -> Result<Reply, Reply> {
    let ok = StatusCode::OK;
    let producer = query.get("producer").map(ToOwned::to_owned);
    Ok(match route {
        Route::Live => reply::json(ok, &json!({ "live": true })),
        Route::Ready => match within(async { Ok(desk.unready().await) }).await? {
            reasons if reasons.is_empty() => reply::json(ok, &json!({ "ready": true })),
            reasons => {
                reply::json(StatusCode::SERVICE_UNAVAILABLE, &json!({ "ready": false, "reasons": reasons }))
            }
        },
        Route::Metrics => within(async { Ok(desk.metrics().await) }).await?.map_or_else(
            || {
                let hint = "they are kept where the configuration has [admin], or telemetry is exported";
                reply::error(StatusCode::NOT_FOUND, "no metrics are kept", hint)
            },
            |text| reply::text(telemetry::TEXT, text),
        ),
        Route::Page(file) => file.reply(),
        // It takes the whole request.
        Route::Stream => return Err(bad("this is a WebSocket")),
        Route::Producers => reply::json(ok, &within(async { Ok(desk.producers().await) }).await?),
        Route::Reloads => reply::json(ok, &desk.reloads()),
        Route::Occurrence(event_id) => reply::json(ok, &within(desk.occurrence(event_id, producer)).await?),
        Route::Work => listed(portion(query).map_err(|why| bad(&why))?, desk).await?,
        Route::Flush(producer) => {
            within(desk.flush(producer)).await?;
            reply::done()
        }
        Route::Resolve(producer, number) => {
            let said = said(body).await?;
            let settlement = Settlement { producer, number, word: said.0, expect: said.1 };
            reply::json(ok, &within(desk.resolve(settlement)).await?)
        }
    })
}

/// What the desk says, if it says it in time.
pub(super) async fn within<T>(told: impl Future<Output = Result<T, Trouble>>) -> Result<T, Reply> {
    timeout(ANSWER_WITHIN, told).await.unwrap_or(Err(Trouble::Busy)).map_err(reply::trouble)
}

fn bad(why: &str) -> Reply {
    reply::error(StatusCode::BAD_REQUEST, why, "see docs/admin.md")
}

fn portion(query: &Query) -> Result<Portion, String> {
    let limit = match query.get("limit").map(count) {
        None => LISTED,
        Some(Some(limit)) if (1..=LISTED as u64).contains(&limit) => limit as usize,
        Some(_) => return Err(format!("`limit` is a number from 1 to {LISTED}")),
    };
    let after = match query.get("after").map(id) {
        None => None,
        Some(Some(after)) => Some(after),
        Some(None) => return Err("`after` is an id, such as discord/12".to_owned()),
    };
    Ok(Portion { producer: query.get("producer").map(ToOwned::to_owned), after, limit })
}

/// An id as it is written to people: `discord/12`.
fn id(text: &str) -> Option<(String, u64)> {
    let (producer, number) = text.rsplit_once('/')?;
    Some((producer.to_owned(), count(number)?))
}

async fn listed<D: Desk>(portion: Portion, desk: &D) -> Result<Reply, Reply> {
    let (producer, limit) = (portion.producer.clone(), portion.limit);
    let listed = within(desk.work(portion)).await?;
    let mut reply = reply::json(StatusCode::OK, &listed.accounts);
    if let Some((after, number)) = listed.more {
        let of = producer.map(|name| format!("producer={}&", path::encode(&name))).unwrap_or_default();
        let after = path::encode(&format!("{after}/{number}"));
        let next = format!("</v1/work?{of}after={after}&limit={limit}>; rel=\"next\"");
        // Encoded, it is plain ASCII.
        if let Ok(next) = HeaderValue::try_from(next) {
            reply::headed(&mut reply, header::LINK, next);
        }
    }
    Ok(reply)
}

/// The body of a settlement.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    word: String,
    expect: Option<u32>,
}

async fn said(body: Incoming) -> Result<(Word, Option<u32>), Reply> {
    let too_large = || {
        let hint = format!("at most {BODY_BYTES} bytes are read");
        reply::error(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large", &hint)
    };
    if body.size_hint().lower() > BODY_BYTES as u64 {
        return Err(too_large());
    }
    let body = match timeout(BODY_WITHIN, Limited::new(body, BODY_BYTES).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_large()),
        Ok(Err(_)) => return Err(bad("the body broke off")),
        Err(_) => {
            return Err(reply::error(
                StatusCode::REQUEST_TIMEOUT,
                "the body took too long",
                "send it at once",
            ));
        }
    };
    let words =
        "write {\"word\": \"submitted\" | \"not-submitted\" | \"again\" | \"drop\", \"expect\": REVISION}";
    let unread = |why: &str| reply::error(StatusCode::BAD_REQUEST, why, words);
    let said: Said = serde_json::from_slice(&body).map_err(|error| unread(&format!("the body: {error}")))?;
    let word = match said.word.as_str() {
        "submitted" => Word::Submitted,
        "not-submitted" => Word::NotSubmitted,
        "again" => Word::Again,
        "drop" => Word::Drop,
        _ => return Err(unread("the body: no such word")),
    };
    Ok((word, said.expect))
}
