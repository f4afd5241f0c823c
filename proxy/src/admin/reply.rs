//! Answers: JSON, and never to be kept.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};

use super::desk::Trouble;

/// An answer.
pub(super) type Reply = Response<Full<Bytes>>;

fn with(status: StatusCode, body: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    reply
}

/// A JSON text.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Reply {
    // What is told has names of ours as keys, so that it can always be written.
    let text = serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec());
    let mut reply = with(status, text.into());
    headed(&mut reply, header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// A text of this type.
pub(super) fn text(kind: &'static str, text: String) -> Reply {
    let mut reply = with(StatusCode::OK, text.into());
    headed(&mut reply, header::CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// A text of ours; its kind is the caller's to say.
pub(super) fn fixed(text: &'static str) -> Reply {
    with(StatusCode::OK, Bytes::from_static(text.as_bytes()))
}

/// 204.
pub(super) fn done() -> Reply {
    with(StatusCode::NO_CONTENT, Bytes::new())
}

/// What went wrong, and what can be done about it.
pub(super) fn error(status: StatusCode, error: &str, hint: &str) -> Reply {
    json(status, &json!({ "error": error, "hint": hint }))
}

/// An error with one more member, for programs.
fn error_with(status: StatusCode, error: &str, hint: &str, name: &str, value: Value) -> Reply {
    let mut body = json!({ "error": error, "hint": hint });
    body[name] = value;
    json(status, &body)
}

pub(super) fn headed(reply: &mut Reply, name: HeaderName, value: HeaderValue) {
    reply.headers_mut().insert(name, value);
}

pub(super) fn trouble(trouble: Trouble) -> Reply {
    match trouble {
        Trouble::NoProducer => error(
            StatusCode::NOT_FOUND,
            "no producer of that name is served",
            "GET /v1/producers lists those that are",
        ),
        Trouble::NoOccurrence => error(
            StatusCode::NOT_FOUND,
            "no such occurrence is known",
            "only what was accepted to be held is known: not what passed straight to the host, what was refused, or \
             what ended longer ago than retry_window_ms; the log at debug has those",
        ),
        Trouble::Several(producers) => error_with(
            StatusCode::CONFLICT,
            &format!("several producers have an occurrence of that eventId: {}", producers.join(", ")),
            "add ?producer=NAME",
            "producers",
            producers.into(),
        ),
        Trouble::NotOpen(state) => error_with(
            StatusCode::CONFLICT,
            "there is nothing to settle",
            "only what is in doubt (manual-reconciliation) and dead letters wait for an operator",
            "state",
            state.into(),
        ),
        Trouble::NoText => error(
            StatusCode::CONFLICT,
            "its content is not kept any more, so it cannot be sent again",
            "the word \"drop\" can still be said of it",
        ),
        Trouble::Revision(revision) => error_with(
            StatusCode::PRECONDITION_FAILED,
            "the occurrence changed since it was looked at",
            "look at it again, then expect its revision",
            "revision",
            revision.into(),
        ),
        Trouble::Busy => error(
            StatusCode::SERVICE_UNAVAILABLE,
            "the producer's binding does not answer",
            "it is ending, or waits for the disk: try again; what was asked for may be done all the same",
        ),
        Trouble::Journal(why) => error(
            StatusCode::SERVICE_UNAVAILABLE,
            &format!("the journal cannot be read: {why}"),
            "see the log",
        ),
    }
}
