//! A host of March 2026: no coalescing, refusals in English, and a disk that fails now and then.

use std::collections::HashSet;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::peer::{Mind, Reply};
use super::script::{DISABLED, Event, UNLUCKY};

/// One event that was put before the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// `eventId` or `messageId`.
    pub(super) id: String,
    /// The host took it: the model will read it.
    pub(super) taken: bool,
    /// Its content.
    pub(super) text: String,
}

impl Given {
    /// It is `event`. The second content under one `eventId` comes with a digest behind it (contract 13.1).
    pub(super) fn is(&self, event: &Event) -> bool {
        let id = self.id.split_once('~').map_or(&*self.id, |(id, _)| id);
        id == event.id && self.text == event.text
    }
}

/// The host, with its book of what it was given.
pub(super) struct Host {
    book: watch::Sender<Vec<Given>>,
    declared: &'static [&'static str],
    seen: HashSet<String>,
    failed: HashSet<String>,
}

impl Host {
    /// A host that knows the feature sets in `declared`.
    pub(super) fn new(declared: &'static [&'static str]) -> (Self, watch::Receiver<Vec<Given>>) {
        let (book, read) = watch::channel(Vec::new());
        (Self { book, declared, seen: HashSet::new(), failed: HashSet::new() }, read)
    }

    /// What it says of itself. Nothing of coalescing, nothing of structured refusals.
    pub(super) fn greeting() -> Value {
        json!({
            "protocolVersion": "2024-11-05",
            "clientInfo": {"name": "legacy-host", "version": "1.0.0"},
            "capabilities": {"experimental": {"mcpl": {"version": "0.4", "pushEvents": true, "featureSets": true}}}
        })
    }

    /// Its policy, told as hosts of that time do: by a notification of names.
    pub(super) fn policy(declared: &[&str]) -> Value {
        let (disabled, enabled): (Vec<&str>, Vec<&str>) =
            declared.iter().partition(|name| **name == DISABLED);
        json!({"enabled": enabled, "disabled": disabled})
    }

    fn push(&mut self, params: &Value) -> Reply {
        let set = params["featureSet"].as_str().unwrap_or("undefined");
        let id = params["eventId"].as_str().unwrap_or("undefined");
        let refused = |reason: String| Reply::Result(json!({"accepted": false, "reason": reason}));
        let reply = if !self.declared.contains(&set) {
            refused(format!("Unknown feature set: {set}"))
        } else if set == DISABLED {
            refused(format!("Feature set not enabled: {set}"))
        } else if UNLUCKY.contains(&id) && self.failed.insert(id.to_owned()) {
            Reply::Error { code: -32000, message: "storage failure" }
        } else if !self.seen.insert(id.to_owned()) {
            refused("duplicate".to_owned())
        } else {
            self.note(id, true, &params["payload"]["content"]);
            return Reply::Result(json!({"accepted": true}));
        };
        self.note(id, false, &params["payload"]["content"]);
        reply
    }

    fn messages(&self, params: &Value) -> Reply {
        let messages = params["messages"].as_array().cloned().unwrap_or_default();
        let take = |message: &Value| {
            self.note(message["messageId"].as_str().unwrap_or_default(), true, &message["content"]);
            json!({"messageId": message["messageId"], "accepted": true})
        };
        Reply::Result(json!({"results": messages.iter().map(take).collect::<Vec<_>>()}))
    }

    fn note(&self, id: &str, taken: bool, content: &Value) {
        let text = content[0]["text"].as_str().unwrap_or_default().to_owned();
        self.book.send_modify(|book| book.push(Given { id: id.to_owned(), taken, text }));
    }
}

impl Mind for Host {
    fn hear(&mut self, method: &str, params: &Value) -> Option<Reply> {
        match method {
            "push/event" => Some(self.push(params)),
            "channels/incoming" => Some(self.messages(params)),
            "channels/register" => {
                let channels = params["channels"].as_array()?;
                let ids: Vec<&Value> = channels.iter().map(|channel| &channel["id"]).collect();
                Some(Reply::Result(json!({"registered": ids})))
            }
            // Such a host leaves what it does not know without an answer.
            _ => None,
        }
    }
}
