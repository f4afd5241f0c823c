//! Hosts as they are: what they answer to events, and to what they do not know.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::line::Said;
use crate::peer::{Mind, Say};

/// What a host makes of a request.
enum Answer {
    Result(Value),
    Death,
    None,
}

impl Answer {
    /// A request that cannot be converted kills the host.
    fn or_death(result: Option<Value>) -> Self {
        result.map_or(Self::Death, Self::Result)
    }
}

/// agent-framework of March 2026: drops a repeated `eventId` (1,000 remembered, then all forgotten), refuses in
/// results with English reasons, takes every channel message, never answers a method it does not know, and dies
/// of an event it cannot convert.
#[derive(Debug)]
pub struct AgentFramework {
    /// Feature sets it has enabled; others are declared and disabled, or unknown.
    pub enabled: Vec<&'static str>,
    /// Feature sets the producer declares.
    pub declared: Vec<&'static str>,
    seen: HashSet<String>,
}

impl AgentFramework {
    /// Enabled and declared feature sets.
    pub fn new(enabled: &[&'static str], declared: &[&'static str]) -> Self {
        Self { enabled: enabled.to_vec(), declared: declared.to_vec(), seen: HashSet::new() }
    }

    /// What it answers to a push; `None` where it dies.
    fn push(&mut self, params: &Value) -> Option<Value> {
        let refused = |reason: String| Some(json!({"accepted": false, "reason": reason}));
        if params.is_null() {
            return refused("Feature set validation failed".into());
        }
        let set = params["featureSet"].as_str().unwrap_or("undefined");
        if !self.declared.contains(&set) {
            return refused(format!("Unknown feature set: {set}"));
        }
        if !self.enabled.contains(&set) {
            return refused(format!("Feature set not enabled: {set}"));
        }
        // The id is remembered before the content is looked at, as in the original.
        if !self.seen.insert(params["eventId"].as_str().unwrap_or("undefined").to_owned()) {
            return refused("duplicate".into());
        }
        if self.seen.len() > 1000 {
            self.seen.clear();
        }
        let blocks = params["payload"]["content"].as_array()?;
        blocks
            .iter()
            .all(|block| block["type"].is_string())
            .then(|| json!({"accepted": true, "inferenceId": "s-1-x"}))
    }

    fn answer(&mut self, method: &str, params: &Value) -> Answer {
        match method {
            "push/event" => Answer::or_death(self.push(params)),
            "channels/incoming" => {
                let messages = params["messages"].as_array().cloned().unwrap_or_default();
                if messages.iter().any(|it| !it["content"].is_array()) {
                    return Answer::Death;
                }
                let results: Vec<Value> = messages
                    .iter()
                    .map(|it| json!({"messageId": it["messageId"], "accepted": true}))
                    .collect();
                Answer::Result(json!({"results": results}))
            }
            "channels/register" => {
                let ids: Option<Vec<Value>> = params["channels"]
                    .as_array()
                    .map(|list| list.iter().map(|it| it["id"].clone()).collect());
                Answer::or_death(ids.map(|ids| json!({"registered": ids})))
            }
            "scope/elevate" => Answer::Result(json!({"approved": false, "reason": "User approval required"})),
            _ => Answer::None,
        }
    }
}

impl Mind for AgentFramework {
    fn hear(&mut self, said: &Said) -> Vec<Say> {
        let message = said.json();
        let (Some(method), Some(id)) = (message["method"].as_str(), said.raw("id")) else {
            return Vec::new();
        };
        match self.answer(method, &message["params"]) {
            Answer::Result(result) => {
                vec![Say::Line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))]
            }
            Answer::Death => vec![Say::Exit],
            Answer::None => Vec::new(),
        }
    }
}

/// mcpl-cc-bridge: no memory of ids, refuses a channel message without a reason, answers every id.
#[derive(Debug)]
pub struct CcBridge {
    /// Feature sets and channels on its list.
    pub admitted: Vec<&'static str>,
}

impl Mind for CcBridge {
    fn hear(&mut self, said: &Said) -> Vec<Say> {
        let message = said.json();
        let (Some(method), Some(id)) = (message["method"].as_str(), said.raw("id")) else {
            return Vec::new();
        };
        let params = &message["params"];
        let knows = |name: &Value| name.as_str().is_some_and(|name| self.admitted.contains(&name));
        let result = match method {
            "push/event" if knows(&params["featureSet"]) => json!({"accepted": true}),
            "push/event" => json!({"accepted": false, "reason": "not admitted on this host: whitelist"}),
            "channels/incoming" => {
                let messages = params["messages"].as_array().cloned().unwrap_or_default();
                let one = |it: &Value| {
                    if knows(&it["channelId"]) {
                        json!({"messageId": it["messageId"], "accepted": true, "conversationId": "claude-code"})
                    } else {
                        json!({"messageId": it["messageId"], "accepted": false})
                    }
                };
                json!({"results": messages.iter().map(one).collect::<Vec<_>>()})
            }
            "channels/register" => {
                let list = params["channels"].as_array().cloned().unwrap_or_default();
                let results: Vec<Value> =
                    list.iter().map(|it| json!({"id": it["id"], "accepted": true})).collect();
                json!({"results": results})
            }
            "ping" => json!({}),
            _ => {
                let message = format!("method not supported by this host: {method}");
                let error = json!({"code": -32601, "message": message});
                return vec![Say::Line(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))];
            }
        };
        vec![Say::Line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))]
    }
}

/// mcpl-harness: takes every event, registers with an empty result, dies of a line that is not JSON.
#[derive(Debug)]
pub struct Harness;

impl Mind for Harness {
    fn hear(&mut self, said: &Said) -> Vec<Say> {
        let message = said.json();
        if message.is_null() {
            return vec![Say::Exit];
        }
        let (Some(method), Some(id)) = (message["method"].as_str(), said.raw("id")) else {
            return Vec::new();
        };
        let outcome = match method {
            "push/event" => r#""result":{"accepted":true}"#.to_owned(),
            "channels/incoming" => {
                let messages = message["params"]["messages"].as_array().cloned().unwrap_or_default();
                let results: Vec<Value> = messages
                    .iter()
                    .map(|it| json!({"messageId": it["messageId"], "accepted": true}))
                    .collect();
                format!(r#""result":{}"#, json!({"results": results}))
            }
            "channels/register" => r#""result":{}"#.to_owned(),
            _ => {
                let message = format!("harness: unhandled request {method}");
                format!(r#""error":{}"#, json!({"code": -32601, "message": message}))
            }
        };
        vec![Say::Line(format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#))]
    }
}
