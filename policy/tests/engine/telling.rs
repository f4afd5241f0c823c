//! What a producer may answer to a render.

use bytes::Bytes;
use mcpl_policy::engine::Rendering;
use serde_json::{Map, Value, json};

use crate::draft::Draft;

/// When it says that this was.
const AT: &str = "2026-02-02T00:00:00Z";

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Telling {
    /// A text of its own.
    Text(String),
    /// A block of text.
    Block(String),
    /// There is nothing to tell.
    Silent(&'static str),
    /// Content that no event may have.
    Misshapen(&'static str),
    /// An error, or no content.
    Failed,
}

/// Nothing to tell, in all the ways to say it.
pub(crate) const SILENT: [&str; 3] = [r#""""#, "[]", r#"[{"text":"","type":"text"}]"#];

/// What is neither a text nor blocks.
pub(crate) const MISSHAPEN: [&str; 4] = ["7", "null", r#"{"text":"x"}"#, r#"["x"]"#];

impl Telling {
    fn raw(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(json!(text).to_string()),
            Self::Block(text) => Some(json!([{ "text": text, "type": "text" }]).to_string()),
            Self::Silent(raw) | Self::Misshapen(raw) => Some((*raw).to_owned()),
            Self::Failed => None,
        }
    }

    pub(crate) fn rendering(&self) -> Rendering {
        self.raw().map_or(Rendering::Failed, |raw| Rendering::Content {
            content: Bytes::from(raw),
            timestamp: Bytes::from(json!(AT).to_string()),
        })
    }

    /// Whether it could have been pushed, within so many bytes (0: any); else it is the fallback.
    pub(crate) fn is_fit(&self, max_content_bytes: u64) -> bool {
        // Everything here is canonical JSON as it is spelled.
        let fits = |raw: String| max_content_bytes == 0 || raw.len() as u64 <= max_content_bytes;
        !matches!(self, Self::Misshapen(_)) && self.raw().is_some_and(fits)
    }

    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, Self::Silent(_))
    }

    /// What the host is told of a batch whose newest notice is `newest`.
    pub(crate) fn told(&self, newest: &Draft) -> Map<String, Value> {
        let mut body = newest.bare();
        let content: Value = self.raw().and_then(|raw| serde_json::from_str(&raw).ok()).unwrap_or_default();
        body["payload"]["content"] = content;
        body["timestamp"] = json!(AT);
        body
    }
}

/// Notices of a batch that its producer is told of, at most.
const NOTICES: usize = 64;

/// What a producer must be asked for a batch of these notices, oldest first.
pub(crate) fn request(notices: &[&Draft]) -> Value {
    let newest = notices.last().expect("a batch of something");
    let dropped = notices.len().saturating_sub(NOTICES);
    let kept = notices[dropped..].iter().map(|notice| {
        let mut kept = json!({ "eventId": notice.id, "timestamp": notice.bare()["timestamp"] });
        if let Some(data) = notice.data {
            kept["data"] = serde_json::from_str(data).expect("data is JSON");
        }
        kept
    });
    let mut request = json!({
        "featureSet": newest.scope,
        "key": newest.key,
        "eventId": newest.id,
        "notices": kept.collect::<Vec<_>>(),
        "dropped": dropped,
    });
    if let Some(channel) = newest.channel {
        request["channelId"] = json!(channel);
    }
    request
}

/// Every notice's data comes back as it was spelled.
pub(crate) fn assert_spelled(params: &[u8], notices: &[&Draft]) {
    let text = std::str::from_utf8(params).expect("params are UTF-8");
    for notice in &notices[notices.len().saturating_sub(NOTICES)..] {
        let spelled = notice.data.is_none_or(|data| text.contains(data));
        assert!(spelled, "the data of {} is spelled anew", notice.id);
    }
}
