//! What the hosts answer to events and to channels.

use serde_json::{Value, json};

use super::{Host, Kind, SEEN, Unread, error, is_blocks, refused, text_of};
use crate::oracle::Oracle;

impl Host {
    pub(super) fn push(&mut self, now_ms: u64, params: &Value, oracle: &mut Oracle) -> Option<Value> {
        let set = params["featureSet"].as_str().unwrap_or("undefined").to_owned();
        let id = params["eventId"].as_str().unwrap_or("undefined").to_owned();
        let content = &params["payload"]["content"];
        match self.kind {
            Kind::March => {
                if !self.sets.contains(&set) {
                    return Some(refused(&format!("Unknown feature set: {set}")));
                }
                if self.seen.contains(&id) {
                    return Some(refused("duplicate"));
                }
                if self.seen.len() >= SEEN {
                    self.seen.clear();
                }
                self.seen.insert(id);
                // The callback that wakes it throws where nothing can be kept, and nobody catches that.
                if !is_blocks(content) || now_ms < self.bad_until_ms {
                    self.die();
                    return None;
                }
            }
            Kind::Newer => return Some(self.newer(now_ms, "pushEvents", params, params, content, oracle)),
            Kind::Bridge => {
                if now_ms < self.bad_until_ms {
                    return Some(error(-32000, "internal error"));
                }
            }
            Kind::Harness => {
                if now_ms < self.bad_until_ms {
                    return Some(error(-32000, "ENOSPC: no space left on device"));
                }
            }
        }
        self.take(now_ms, "push/event", None, text_of(content), oracle);
        Some(json!({"result": {"accepted": true, "inferenceId": format!("s-{now_ms}")}}))
    }

    pub(super) fn messages(&mut self, now_ms: u64, params: &Value, oracle: &mut Oracle) -> Option<Value> {
        if self.kind != Kind::March && self.kind != Kind::Newer && now_ms < self.bad_until_ms {
            return Some(error(-32000, "internal error"));
        }
        let mut results = Vec::new();
        for message in params["messages"].as_array().into_iter().flatten() {
            let id = &message["messageId"];
            let channel = message["channelId"].as_str().unwrap_or_default();
            let content = &message["content"];
            match self.kind {
                Kind::March if !is_blocks(content) || now_ms < self.bad_until_ms => {
                    self.die();
                    return None;
                }
                Kind::Newer => {
                    if self.granted != Some(true) {
                        return Some(self.newer(
                            now_ms,
                            "channels.incoming",
                            params,
                            message,
                            content,
                            oracle,
                        ));
                    }
                    let answer = if self.channels.contains(channel) {
                        self.newer(now_ms, "channels.incoming", params, message, content, oracle)
                    } else {
                        refused(&format!("unknown channel \"{channel}\" — register it first (§14.5)"))
                    };
                    let mut result = match &answer["error"] {
                        Value::Null => answer["result"].clone(),
                        error => json!({"accepted": false, "reason": error["message"]}),
                    };
                    result["messageId"] = id.clone();
                    results.push(result);
                    continue;
                }
                Kind::Bridge if !self.channels.contains(channel) => {
                    results.push(json!({"messageId": id, "accepted": false}));
                    continue;
                }
                _ => {}
            }
            self.take(now_ms, "channels/incoming", None, text_of(content), oracle);
            results.push(json!({"messageId": id, "accepted": true}));
        }
        Some(json!({"result": {"results": results}}))
    }

    pub(super) fn register(&mut self, params: &Value) -> Option<Value> {
        let Some(channels) = params["channels"].as_array() else {
            if self.kind == Kind::March {
                self.die();
            }
            return None;
        };
        let ids: Vec<String> =
            channels.iter().filter_map(|channel| channel["id"].as_str().map(ToOwned::to_owned)).collect();
        self.channels.extend(ids.iter().cloned());
        // Every one is opened where that is what the host does, and some of them elsewhere.
        for (place, id) in ids.iter().enumerate() {
            if self.kind == Kind::March || place % 2 == 0 {
                self.ask("channels/open", &json!({"channelId": id}));
            }
        }
        Some(match self.kind {
            Kind::March => json!({"result": {"registered": ids}}),
            Kind::Harness => json!({"result": {}}),
            Kind::Newer | Kind::Bridge => {
                let results: Vec<Value> = ids.iter().map(|id| json!({"id": id, "accepted": true})).collect();
                json!({"result": {"results": results}})
            }
        })
    }

    pub(super) fn take(
        &mut self,
        now_ms: u64,
        lane: &str,
        key: Option<String>,
        text: String,
        oracle: &mut Oracle,
    ) {
        self.take_named(now_ms, self.kind.dedups(lane), key, text, oracle);
    }

    /// `remembers`: it will know it when it comes again.
    pub(super) fn take_named(
        &mut self,
        now_ms: u64,
        remembers: bool,
        key: Option<String>,
        text: String,
        oracle: &mut Oracle,
    ) {
        let on_disk = self.kind == Kind::Newer;
        oracle.taken(&text, self.run, remembers, on_disk);
        self.unread.push(Unread { key, text });
        self.wake(now_ms);
    }
}
