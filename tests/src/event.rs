//! Builders for the two kinds of event.

use serde_json::{Map, Value, json};

/// A `push/event`'s params, member by member.
#[derive(Debug, Clone)]
pub struct Push(Map<String, Value>);

/// A push of feature set `doc` with one block of text; uncoalesced until [`Push::key`] is said.
pub fn push(event_id: &str, text: &str) -> Push {
    let mut params = Map::new();
    params.insert("featureSet".into(), json!("doc"));
    params.insert("eventId".into(), json!(event_id));
    params.insert("timestamp".into(), json!("2026-01-01T00:00:00Z"));
    params.insert("payload".into(), json!({"content": [{"type": "text", "text": text}]}));
    Push(params)
}

impl Push {
    /// Coalesced under this key.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.coalesce("key", json!(key))
    }

    /// Nothing of its subject was shown before.
    #[must_use]
    pub fn initial(self) -> Self {
        self.coalesce("initial", json!(true))
    }

    /// A withdrawal.
    #[must_use]
    pub fn retract(self) -> Self {
        self.coalesce("retract", json!(true))
    }

    /// A notice: its content is the fallback.
    #[must_use]
    pub fn deferred(self) -> Self {
        self.coalesce("deferred", json!(true))
    }

    /// Of a channel.
    #[must_use]
    pub fn channel(self, id: &str) -> Self {
        self.coalesce("channelId", json!(id))
    }

    /// One member of `coalesce`.
    #[must_use]
    pub fn coalesce(mut self, name: &str, value: Value) -> Self {
        let coalesce = self.0.entry("coalesce").or_insert_with(|| json!({}));
        if let Some(members) = coalesce.as_object_mut() {
            members.insert(name.into(), value);
        }
        self
    }

    /// Any member of the params.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.into(), value);
        self
    }

    /// The params.
    pub fn params(self) -> Value {
        Value::Object(self.0)
    }
}

/// One message of a `channels/incoming`.
#[derive(Debug, Clone)]
pub struct Message(Map<String, Value>);

/// A message in channel `chat` with one block of text; uncoalesced until [`Message::key`] is said.
pub fn message(message_id: &str, text: &str) -> Message {
    let mut members = Map::new();
    members.insert("channelId".into(), json!("chat"));
    members.insert("messageId".into(), json!(message_id));
    members.insert("author".into(), json!({"id": "u", "name": "User"}));
    members.insert("timestamp".into(), json!("2026-01-01T00:00:00Z"));
    members.insert("content".into(), json!([{"type": "text", "text": text}]));
    Message(members)
}

impl Message {
    /// Coalesced under this key, known by this `eventId`.
    #[must_use]
    pub fn key(self, key: &str, event_id: &str) -> Self {
        self.with("eventId", json!(event_id)).with("coalesce", json!({"key": key}))
    }

    /// Any member of the message.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.into(), value);
        self
    }

    /// The message.
    pub fn value(self) -> Value {
        Value::Object(self.0)
    }
}
