//! A host that can be scripted.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::line::Said;
use crate::peer::{Mind, Peer, Say};
use crate::websocket::Watch;
use crate::wire::Wire;

/// How the host answers one event.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Takes it.
    Accept,
    /// A result `accepted: false` with this reason.
    Refuse(&'static str),
    /// This result.
    Result(Value),
    /// An error with this code and message.
    Error(i64, &'static str),
    /// Never answers.
    Silence,
    /// Dies.
    Exit,
}

/// What the host does by itself; shared with the test.
#[derive(Debug, Clone)]
pub struct HostScript(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    next: VecDeque<Reply>,
    default: Reply,
    mute: bool,
}

impl Default for HostScript {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State { next: VecDeque::new(), default: Reply::Accept, mute: false })))
    }
}

impl HostScript {
    /// The answer to the next event that has none yet.
    pub fn then(&self, reply: Reply) {
        self.0.lock().unwrap().next.push_back(reply);
    }

    /// The answer to every event without one of its own.
    pub fn always(&self, reply: Reply) {
        self.0.lock().unwrap().default = reply;
    }

    /// Answers nothing at all, or answers again.
    pub fn mute(&self, mute: bool) {
        self.0.lock().unwrap().mute = mute;
    }
}

impl Mind for HostScript {
    fn hear(&mut self, said: &Said) -> Vec<Say> {
        let mut state = self.0.lock().unwrap();
        if state.mute {
            return Vec::new();
        }
        let (Some(id), Some(method)) = (said.raw("id"), said.method()) else { return Vec::new() };
        let line = |outcome: &str| vec![Say::Line(format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#))];
        let params = || said.json()["params"].clone();
        match method.as_str() {
            "push/event" | "channels/incoming" => {
                let reply = state.next.pop_front().unwrap_or_else(|| state.default.clone());
                let messages = (method == "channels/incoming").then(|| params()["messages"].clone());
                match outcome(&reply, messages) {
                    Some(outcome) => line(&outcome),
                    None if matches!(reply, Reply::Exit) => vec![Say::Exit],
                    None => Vec::new(),
                }
            }
            "channels/register" | "channels/changed" => {
                let params = params();
                let lists =
                    ["channels", "added"].map(|name| params[name].as_array().cloned().unwrap_or_default());
                let results: Vec<Value> =
                    lists.iter().flatten().map(|it| json!({"id": it["id"], "accepted": true})).collect();
                line(&format!(r#""result":{}"#, json!({"results": results})))
            }
            _ => line(r#""result":{"host":"ok"}"#),
        }
    }
}

/// The `"result":…` or `"error":…` member of an answer.
fn outcome(reply: &Reply, messages: Option<Value>) -> Option<String> {
    let bare = match reply {
        Reply::Accept => json!({"accepted": true}),
        Reply::Refuse(reason) => json!({"accepted": false, "reason": reason}),
        Reply::Result(result) => return Some(format!(r#""result":{result}"#)),
        Reply::Error(code, message) => {
            return Some(format!(r#""error":{}"#, json!({"code": code, "message": message})));
        }
        Reply::Silence | Reply::Exit => return None,
    };
    let Some(messages) = messages else { return Some(format!(r#""result":{bare}"#)) };
    let results: Vec<Value> =
        messages.as_array().into_iter().flatten().map(|it| with_id(it, &bare)).collect();
    Some(format!(r#""result":{}"#, json!({"results": results})))
}

fn with_id(message: &Value, bare: &Value) -> Value {
    let mut result = bare.clone();
    result["messageId"] = message["messageId"].clone();
    result
}

/// The host's end of one session.
pub struct Host {
    peer: Peer,
    /// What it answers by itself.
    pub script: HostScript,
    /// How its WebSocket was closed, if it has one.
    pub watch: Option<Watch>,
}

impl Host {
    /// A host on an open connection, with its script.
    pub fn on(wire: impl Into<Wire>) -> Self {
        let (script, wire) = (HostScript::default(), wire.into());
        let watch = wire.watch();
        Self { peer: on_wire("host", wire, script.clone()), script, watch }
    }

    /// A host with a mind of its own: the script has no say.
    pub fn with_mind(wire: impl Into<Wire>, mind: impl Mind) -> Self {
        let wire = wire.into();
        let watch = wire.watch();
        Self { peer: on_wire("host", wire, mind), script: HostScript::default(), watch }
    }

    /// A host on pipes.
    pub(crate) fn on_peer(peer: impl FnOnce(HostScript) -> Peer) -> Self {
        let script = HostScript::default();
        Self { peer: peer(script.clone()), script, watch: None }
    }

    /// The texts of the occurrences it was given, in order, whatever the lane.
    pub fn given(&self) -> Vec<String> {
        self.since(0).iter().flat_map(|said| given(said)).collect()
    }

    /// Waits until it was given an occurrence with this text.
    pub async fn is_given(&self, text: &str) -> Arc<Said> {
        self.until(0, &format!("an event that says {text:?}"), |said| given(said).iter().any(|it| it == text))
            .await
    }

    /// Ends its connection.
    pub async fn close(&mut self) {
        self.peer.close().await;
    }
}

impl Deref for Host {
    type Target = Peer;

    fn deref(&self) -> &Peer {
        &self.peer
    }
}

pub(crate) fn on_wire(name: &'static str, wire: Wire, mind: impl Mind) -> Peer {
    let (read, write) = wire.into_split();
    Peer::new(name, read, write, mind)
}

fn given(said: &Said) -> Vec<String> {
    if !matches!(said.method().as_deref(), Some("push/event" | "channels/incoming")) {
        return Vec::new();
    }
    let message = said.json();
    match message["method"].as_str() {
        Some("push/event") => vec![text_of(&message["params"]["payload"]["content"])],
        Some("channels/incoming") => {
            let messages = message["params"]["messages"].as_array().cloned().unwrap_or_default();
            messages.iter().map(|it| text_of(&it["content"])).collect()
        }
        _ => Vec::new(),
    }
}

fn text_of(content: &Value) -> String {
    let blocks = content.as_array().cloned().unwrap_or_default();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}
