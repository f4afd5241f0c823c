//! A host and a producer with the program between them.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::event::{Message, Push};
use crate::host::Host;
use crate::peer::Peer;
use crate::producer::Producer;
use crate::world::World;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// One session: the host's end and the producer's.
pub struct Session {
    /// The host's end.
    pub host: Host,
    /// The producer's end.
    pub producer: Producer,
}

/// The params of an MCPL host's `initialize`, with these members added to its `mcpl` object.
pub fn initialize_params(mcpl: &Value) -> Value {
    let mut object = json!({
        "version": "0.5", "pushEvents": true, "inferenceLifecycle": true, "featureSets": true,
        "contextHooks": {"beforeInference": true},
        "channels": {"register": true, "publish": true, "incoming": true, "lifecycle": true},
    });
    if let (Some(object), Some(more)) = (object.as_object_mut(), mcpl.as_object()) {
        object.extend(more.clone());
    }
    json!({
        "protocolVersion": "2024-11-05",
        "capabilities": {"experimental": {"mcpl": object}},
        "clientInfo": {"name": "fake-host", "version": "1"},
    })
}

impl Session {
    /// The default handshake on a host's fresh connection.
    pub async fn open(host: Host, world: &mut World) -> Self {
        Self::introduced(host, world, &json!({})).await.granted().await
    }

    /// Only `initialize` and `notifications/initialized`; `mcpl` adds to what the host says of itself.
    pub async fn introduced(host: Host, world: &mut World, mcpl: &Value) -> Self {
        let mark = host.count();
        host.send(request("\"init\"", "initialize", &initialize_params(mcpl))).await;
        let producer = world.reached().await;
        host.answer(mark, "\"init\"").await;
        host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        Self { host, producer }
    }

    /// Grants everything, enables both feature sets and registers channel `chat`.
    pub async fn granted(self) -> Self {
        let capabilities = [
            "pushEvents",
            "channels.register",
            "channels.incoming",
            "channels.lifecycle",
            "channels.publish",
            "tools",
            "inferenceRequest",
            "inferenceLifecycle",
            "contextHooks.beforeInference.observe",
        ];
        let policy = json!({"effectiveCapabilities": capabilities, "enabled": ["doc", "other"]});
        self.host_asks("featureSets/update", &policy).await;
        let channel = json!({"id": "chat", "type": "t", "label": "chat", "direction": "bidirectional"});
        self.producer_asks("channels/register", &json!({"channels": [channel]})).await;
        self.sync().await;
        self
    }

    /// A request of the host's and its answer.
    pub async fn host_asks(&self, method: &str, params: &Value) -> Value {
        ask(&self.host, method, params).await
    }

    /// A request of the producer's and its answer.
    pub async fn producer_asks(&self, method: &str, params: &Value) -> Value {
        ask(&self.producer, method, params).await
    }

    /// Sends one push and waits for its answer.
    pub async fn push(&self, event: Push) -> Value {
        self.producer_asks("push/event", &event.params()).await
    }

    /// Sends one batch of channel messages and waits for its answer.
    pub async fn incoming(&self, messages: impl IntoIterator<Item = Message>) -> Value {
        let messages: Vec<Value> = messages.into_iter().map(Message::value).collect();
        self.producer_asks("channels/incoming", &json!({"messages": messages})).await
    }

    /// A round trip each way: what was written before it has arrived.
    pub async fn sync(&self) {
        self.host_asks("ping", &json!({})).await;
        self.producer_asks("ping", &json!({})).await;
    }

    /// The host is about to assemble a request: what is held is released, and has arrived.
    pub async fn assemble(&self) {
        let params = json!({"inferenceId": "i", "conversationId": "c", "turnIndex": 0, "userMessage": null});
        self.host_asks("context/beforeInference", &params).await;
        self.sync().await;
    }

    /// The same for a host that does not answer a ping of the producer's.
    pub async fn assemble_unanswered(&self) {
        let params = json!({"inferenceId": "i", "conversationId": "c", "turnIndex": 0, "userMessage": null});
        self.host_asks("context/beforeInference", &params).await;
    }

    /// Neither fake answers by itself from here on.
    pub fn mute(&self) {
        self.host.script.mute(true);
        self.producer.script.mute(true);
    }

    /// Asserts that these lines reach the other side byte for byte, in order, in both directions.
    pub async fn passes(&self, lines: &[&str]) {
        self.passes_to_host(lines).await;
        self.passes_to_producer(lines).await;
    }

    /// The same from the producer only.
    pub async fn passes_to_host(&self, lines: &[&str]) {
        carried(&self.producer, &self.host, lines).await;
    }

    /// The same from the host only.
    pub async fn passes_to_producer(&self, lines: &[&str]) {
        carried(&self.host, &self.producer, lines).await;
    }
}

async fn carried(from: &Peer, to: &Peer, lines: &[&str]) {
    let mark = to.count();
    for line in lines {
        from.send(line).await;
    }
    to.reach(mark + lines.len(), "every line sent").await;
    for (got, sent) in to.texts(mark).iter().zip(lines) {
        assert!(got == sent, "passed on with other bytes\nsent: {}\ngot:  {}", brief(sent), brief(got));
    }
}

fn brief(text: &str) -> String {
    text.chars().take(400).collect()
}

fn request(id: &str, method: &str, params: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

async fn ask(peer: &Peer, method: &str, params: &Value) -> Value {
    let id = format!("\"t-{}\"", NEXT_ID.fetch_add(1, Ordering::Relaxed));
    peer.ask(&id, &request(&id, method, params)).await
}
