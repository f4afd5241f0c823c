//! The newer agent-framework's own admission.

use serde_json::{Value, json};

use super::{Host, WINDOW_MS, error, is_blocks, refused, text_of};
use crate::oracle::Oracle;

impl Host {
    /// The newer framework's admission: its gates, its words, its memory and its folding.
    pub(super) fn newer(
        &mut self,
        now_ms: u64,
        capability: &str,
        params: &Value,
        event: &Value,
        content: &Value,
        oracle: &mut Oracle,
    ) -> Value {
        if self.granted != Some(true) {
            let why = if self.granted.is_none() {
                "initial policy not yet established (§5.3)"
            } else {
                "not in the effective grant"
            };
            let text = format!("push-event rejected: capability \"{capability}\" {why}");
            return json!({"error": {"code": -32002, "message": text, "data": {"capability": capability}}});
        }
        let set = params["featureSet"].as_str().unwrap_or_default();
        let is_push = capability == "pushEvents";
        if is_push && !self.sets.iter().any(|known| known == set) {
            let text = format!("Unknown feature set: {set}");
            return json!({"error": {"code": -32003, "message": text, "data": {"featureSet": set}}});
        }
        if !is_blocks(content) {
            return json!({"error": {"code": -32602, "message": "content", "data": {"field": "payload.content"}}});
        }
        let coalesce = &event["coalesce"];
        let id = event["eventId"].as_str().map(ToOwned::to_owned);
        if self.receipts.len() > 4_096 {
            self.receipts.retain(|_, (at_ms, _)| *at_ms + WINDOW_MS > now_ms);
        }
        let known = id.as_ref().and_then(|id| self.receipts.get(id));
        if let Some((_, result)) = known.filter(|(at_ms, _)| *at_ms + WINDOW_MS > now_ms) {
            return if coalesce.is_object() { result.clone() } else { refused("duplicate") };
        }
        if now_ms < self.bad_until_ms {
            return error(-32000, "host could not make the acceptance durable; retry");
        }
        let lane = if is_push { "push/event" } else { "channels/incoming" };
        let mut result = json!({"result": {"accepted": true}});
        if coalesce.is_object() {
            let scope = coalesce["channelId"].as_str().or(event["channelId"].as_str()).unwrap_or(set);
            let key = format!("{scope}/{}", coalesce["key"].as_str().unwrap_or_default());
            let before = self.unread.len();
            for unread in self.unread.extract_if(.., |unread| unread.key.as_ref() == Some(&key)) {
                oracle.displaced(&unread.text);
            }
            let unread = self.unread.len() < before;
            let initial = coalesce["initial"] == json!(true);
            let retract = coalesce["retract"] == json!(true);
            let outcome = match (retract, unread, initial) {
                (true, true, _) if !self.told_of.contains(&key) => "retracted",
                (true, ..) => "noted",
                (false, true, _) => "replaced",
                (false, false, true) => "first",
                (false, false, false) => "appended",
            };
            result["result"]["coalesce"] = json!({"outcome": outcome});
            if outcome == "retracted" {
                self.wake(now_ms);
            } else {
                // A deletion notice is no occupant.
                self.take(now_ms, lane, (!retract).then_some(key), text_of(content), oracle);
            }
        } else {
            // What has no `eventId` it cannot know again.
            self.take_named(now_ms, id.is_some(), None, text_of(content), oracle);
        }
        if let Some(id) = id {
            self.receipts.insert(id, (now_ms, result.clone()));
        }
        result
    }
}
