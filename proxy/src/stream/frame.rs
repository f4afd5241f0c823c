//! What is said to a reader, as JSON texts.

use mcpl_codec::Line;
use serde::Serialize;
use serde_json::{Value, json};

/// Why a batch comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// It was there when the subscription was made.
    Replay,
    /// It came while the snapshot was made.
    SnapshotDelta,
    /// It is news.
    Live,
}

impl Reason {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::SnapshotDelta => "snapshot_delta",
            Self::Live => "live",
        }
    }
}

/// One message: an object with one member that says what it is.
pub(super) fn message(name: &str, body: &impl Serialize) -> Line {
    // What is told has names of ours as keys, so that it can always be written.
    let body = serde_json::to_string(body).unwrap_or_else(|_| "null".to_owned());
    Line::from_vec(format!("{{\"{name}\":{body}}}").into_bytes())
}

/// What could not be done, and what can be done about it.
pub(super) fn error(stream: Option<&str>, error: &str, hint: &str) -> Line {
    let mut body = json!({ "error": error, "hint": hint });
    if let Some(stream) = stream {
        body["stream"] = Value::from(stream);
    }
    message("error", &body)
}
