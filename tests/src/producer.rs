//! A producer that can be scripted.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::host::on_wire;
use crate::line::Said;
use crate::peer::{Mind, Peer, Say};
use crate::websocket::Watch;
use crate::wire::Wire;

/// How the producer answers one `push/render`.
#[derive(Debug, Clone)]
pub enum Render {
    /// One block with this text.
    Text(&'static str),
    /// A result of this text.
    Result(&'static str),
    /// An error.
    Error,
    /// Never answers.
    Silence,
}

/// What the producer does by itself; shared with the test.
#[derive(Debug, Clone)]
pub struct ProducerScript(Arc<Mutex<State>>);

#[derive(Debug, Clone)]
struct State {
    renders: VecDeque<Render>,
    default: Render,
    mcpl: Value,
    mute: bool,
}

impl Default for ProducerScript {
    fn default() -> Self {
        let sets = json!({
            "doc": {"description": "documents", "uses": ["pushEvents"]},
            "other": {"description": "another set", "uses": ["pushEvents"]},
        });
        let channels = json!({"register": true, "publish": true, "incoming": true, "lifecycle": true});
        let mcpl = json!({
            "version": "0.5", "pushEvents": true, "inferenceLifecycle": true,
            "channels": channels, "featureSets": sets,
        });
        Self(Arc::new(Mutex::new(State {
            renders: VecDeque::new(),
            default: Render::Text("RENDERED"),
            mcpl,
            mute: false,
        })))
    }
}

impl ProducerScript {
    /// A script of its own that begins where this one stands.
    fn fork(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().unwrap().clone())))
    }

    /// The answer to the next `push/render`; without one it is the text `RENDERED`.
    pub fn render(&self, render: Render) {
        self.0.lock().unwrap().renders.push_back(render);
    }

    /// The answer to every `push/render` without one of its own.
    pub fn always_render(&self, render: Render) {
        self.0.lock().unwrap().default = render;
    }

    /// Another `featureSets` in its `initialize` result.
    pub fn feature_sets(&self, sets: Value) {
        self.0.lock().unwrap().mcpl["featureSets"] = sets;
    }

    /// Answers nothing at all, or answers again.
    pub fn mute(&self, mute: bool) {
        self.0.lock().unwrap().mute = mute;
    }
}

impl Mind for ProducerScript {
    fn hear(&mut self, said: &Said) -> Vec<Say> {
        let mut state = self.0.lock().unwrap();
        if state.mute {
            return Vec::new();
        }
        let (Some(id), Some(method)) = (said.raw("id"), said.method()) else { return Vec::new() };
        let outcome = match method.as_str() {
            "initialize" => result(&json!({
                "protocolVersion": "2024-11-05",
                "capabilities": {"experimental": {"mcpl": state.mcpl}},
                "serverInfo": {"name": "fake-producer", "version": "1"},
            })),
            "featureSets/update" => result(&json!({"accepted": true})),
            "context/beforeInference" => result(&json!({"featureSet": "doc", "contextInjections": []})),
            "push/render" => match state.renders.pop_front().unwrap_or_else(|| state.default.clone()) {
                Render::Text(text) => result(&json!({"content": [{"type": "text", "text": text}]})),
                Render::Result(text) => format!(r#""result":{text}"#),
                Render::Error => r#""error":{"code":-32603,"message":"cannot render"}"#.to_owned(),
                Render::Silence => return Vec::new(),
            },
            _ => result(&json!({"producer": "ok"})),
        };
        vec![Say::Line(format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#))]
    }
}

fn result(value: &Value) -> String {
    format!(r#""result":{value}"#)
}

/// The producer's end of one session.
pub struct Producer {
    peer: Peer,
    /// What it answers by itself.
    pub script: ProducerScript,
    /// How its WebSocket was closed, if it has one.
    pub watch: Option<Watch>,
}

impl Producer {
    /// A producer on a connection that the program made; it begins with a copy of `script`.
    pub fn on(wire: impl Into<Wire>, script: &ProducerScript) -> Self {
        let (script, wire) = (script.fork(), wire.into());
        let watch = wire.watch();
        Self { peer: on_wire("producer", wire, script.clone()), script, watch }
    }

    /// Ends its connection.
    pub async fn close(&mut self) {
        self.peer.close().await;
    }
}

impl Deref for Producer {
    type Target = Peer;

    fn deref(&self) -> &Peer {
        &self.peer
    }
}
