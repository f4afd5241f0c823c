//! Events as a test wants them.

use bytes::Bytes;
use mcpl_codec::{Event, Lane};
use serde_json::{Map, Value, json};

/// What an event shall say; `Draft::push` and `Draft::message` start one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) id: String,
    pub(crate) lane: Lane,
    /// The feature set of a push, the channel of a message.
    pub(crate) scope: &'static str,
    /// `coalesce.channelId` of a push, or `origin.channelId` where it does not coalesce.
    pub(crate) channel: Option<&'static str>,
    /// `coalesce.key`; without it the event does not coalesce.
    pub(crate) key: Option<&'static str>,
    pub(crate) content: String,
    pub(crate) deferred: bool,
    /// `coalesce.data` of a notice, raw.
    pub(crate) data: Option<&'static str>,
    pub(crate) retract: bool,
    pub(crate) initial: bool,
    pub(crate) tags: Vec<&'static str>,
    pub(crate) expires_ms: Option<i64>,
    /// Size of `metadata`, which a merge keeps of a channel message.
    pub(crate) metadata: usize,
    /// A member made wrong.
    pub(crate) wrong: Option<Wrong>,
}

/// Ways to be malformed (contract 5, 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Key,
    Timestamp,
    Content,
    Flags,
    Twice,
}

/// Where the raw `data` goes.
const DATA: &str = "(data)";

impl Draft {
    pub(crate) fn push(id: &str, scope: &'static str) -> Self {
        Self {
            id: id.to_owned(),
            lane: Lane::Push,
            scope,
            channel: None,
            key: None,
            content: format!("content of {id}"),
            deferred: false,
            data: None,
            retract: false,
            initial: false,
            tags: Vec::new(),
            expires_ms: None,
            metadata: 0,
            wrong: None,
        }
    }

    pub(crate) fn message(id: &str, channel: &'static str) -> Self {
        Self { lane: Lane::Channel, ..Self::push(id, channel) }
    }

    pub(crate) fn key(self, key: &'static str) -> Self {
        Self { key: Some(key), ..self }
    }

    pub(crate) fn channel(self, channel: &'static str) -> Self {
        Self { channel: Some(channel), ..self }
    }

    pub(crate) fn content(self, content: &str) -> Self {
        Self { content: content.to_owned(), ..self }
    }

    pub(crate) fn tags(self, tags: &[&'static str]) -> Self {
        Self { tags: tags.to_vec(), ..self }
    }

    pub(crate) fn initial(self) -> Self {
        Self { initial: true, ..self }
    }

    pub(crate) fn deferred(self) -> Self {
        Self { deferred: true, ..self }
    }

    pub(crate) fn retract(self) -> Self {
        Self { retract: true, ..self }
    }

    pub(crate) fn expires(self, at_ms: i64) -> Self {
        Self { expires_ms: Some(at_ms), ..self }
    }

    /// The channel it is told in (contract 7.1a): its scope's, or that an uncoalesced push hints at.
    pub(crate) fn told_in(&self) -> Option<&'static str> {
        if self.lane == Lane::Channel { Some(self.scope) } else { self.channel }
    }

    /// What it is about (contract 0): scope kind, scope id and key.
    pub(crate) fn subject(&self) -> Option<String> {
        let (kind, scope) =
            self.told_in().map_or(("feature set", self.scope), |channel| ("channel", channel));
        self.key.map(|key| format!("{kind} {scope} / {key}"))
    }

    /// The params or the message without `coalesce`: what the host is to get.
    pub(crate) fn bare(&self) -> Map<String, Value> {
        let mut body = Map::new();
        let mut set = |name: &str, value: Value| {
            body.insert(name.to_owned(), value);
        };
        match self.lane {
            Lane::Push => set("featureSet", json!(self.scope)),
            Lane::Channel => {
                set("channelId", json!(self.scope));
                set("messageId", json!(format!("m-{}", self.id)));
            }
        }
        set("eventId", json!(self.id));
        if self.wrong != Some(Wrong::Timestamp) {
            set("timestamp", json!("2026-01-01T00:00:00Z"));
        }
        let content = if self.wrong == Some(Wrong::Content) { json!(7) } else { json!(self.content) };
        match self.lane {
            Lane::Push => set("payload", json!({ "content": content })),
            Lane::Channel => set("content", content),
        }
        if let (Lane::Push, None, Some(channel)) = (self.lane, self.key, self.channel) {
            set("origin", json!({ "channelId": channel }));
        }
        if self.metadata > 0 {
            set("metadata", json!("m".repeat(self.metadata)));
        }
        if !self.tags.is_empty() {
            set("tags", json!(self.tags));
        }
        if let Some(at) = self.expires_ms {
            set("expiresAt", json!(rfc_3339(at)));
        }
        body
    }

    /// What the host gets of a channel message that this push replaced before its release (contract 6.3).
    pub(crate) fn merged_into(&self, older: &Map<String, Value>) -> Map<String, Value> {
        let (mut merged, newer) = (older.clone(), self.bare());
        for name in ["eventId", "timestamp", "tags", "expiresAt"] {
            match newer.get(name) {
                Some(value) => merged.insert(name.to_owned(), value.clone()),
                None => merged.remove(name),
            };
        }
        merged.insert("content".to_owned(), json!(self.content));
        merged
    }

    pub(crate) fn event(&self) -> Event {
        let mut body = self.bare();
        if let Some(key) = self.key {
            let mut coalesce = json!({ "key": if self.wrong == Some(Wrong::Key) { "" } else { key } });
            for (name, on) in [
                ("deferred", self.deferred),
                ("retract", self.retract || self.wrong == Some(Wrong::Flags)),
                ("initial", self.initial || self.wrong == Some(Wrong::Flags)),
            ] {
                if on {
                    coalesce[name] = json!(true);
                }
            }
            if let (Lane::Push, Some(channel)) = (self.lane, self.channel) {
                coalesce["channelId"] = json!(channel);
            }
            if self.data.is_some() {
                coalesce["data"] = json!(DATA);
            }
            body.insert("coalesce".to_owned(), coalesce);
        }
        let mut text = Value::Object(body).to_string();
        if let Some(data) = self.data {
            text = text.replacen(&json!(DATA).to_string(), data, 1);
        }
        if self.wrong == Some(Wrong::Twice) {
            text.insert_str(1, r#""eventId":"another","#);
        }
        match self.lane {
            Lane::Push => Event::push(Bytes::from(text)),
            Lane::Channel => Event::message(Bytes::from(text)),
        }
    }
}

/// Milliseconds since the epoch as RFC 3339 (Howard Hinnant's `civil_from_days`).
pub(crate) fn rfc_3339(ms: i64) -> String {
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let z = days + 719_468;
    let (era, doe) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    let (s, ms) = (rest / 1_000, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{ms:03}Z", s / 3_600, s / 60 % 60, s % 60)
}

#[test]
fn an_expiry_reads_back_as_it_was_written() {
    for ms in [0, 1, 951_782_399_999, 951_782_400_000, 1_767_225_600_123, 4_102_444_800_000] {
        assert_eq!(Draft::push("e", "fs").expires(ms).event().expires_at, Some(ms), "{}", rfc_3339(ms));
    }
}
