//! What is done wrong on purpose.

use super::{Plant, Sidecar};
use crate::pipe::Pipes;

impl Sidecar {
    pub(super) fn wrong(&mut self, one: Plant, other: Plant) -> Plant {
        if self.plant != Plant::Nothing && (self.plant == one || self.plant == other) {
            self.planted += 1;
            let every = if self.plant == Plant::Deaf { 3 } else { 50 };
            if self.planted % every == every / 2 {
                return self.plant;
            }
        }
        Plant::Nothing
    }

    pub(super) fn is_deaf_to(&mut self, text: &[u8], pipes: &mut Pipes) -> bool {
        let withdraws = |text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            text.contains("\"retract\":true") || text.contains("discord_delete_")
        };
        if self.plant != Plant::Deaf
            || !withdraws(text)
            || self.wrong(Plant::Deaf, Plant::Deaf) == Plant::Nothing
        {
            return false;
        }
        pipes.to_producer.push(accepted_in_its_name(text));
        true
    }
}

/// What a host would say to this, had it been given it.
pub(super) fn accepted_in_its_name(text: &[u8]) -> Vec<u8> {
    let asked: serde_json::Value = serde_json::from_slice(text).unwrap();
    let mut result = serde_json::json!({"accepted": true});
    if let Some(messages) = asked["params"]["messages"].as_array() {
        let each =
            messages.iter().map(|m| serde_json::json!({"messageId": m["messageId"], "accepted": true}));
        result = serde_json::json!({"results": each.collect::<Vec<_>>()});
    }
    serde_json::json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string().into_bytes()
}

/// The same once more, so that no host can tell that it is.
pub(super) fn again(text: &str) -> Vec<u8> {
    let mut asked: serde_json::Value = serde_json::from_str(text).unwrap();
    let id = asked["params"]["eventId"].as_str().map(|id| format!("{id}-again"));
    if let Some(id) = id {
        asked["params"]["eventId"] = id.into();
    }
    asked["id"] = "again".into();
    asked.to_string().into_bytes()
}
