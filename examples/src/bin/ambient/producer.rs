//! The producer: what it answers, and when it plays which scene.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::digest;
use crate::link::{Gone, Link};
use crate::note;
use crate::scene::{self, ACTIVITY, Event, PRESENCE, ROOMS};

/// Two chat rooms, and what is known of the host.
pub(crate) struct Producer {
    link: Link,
    pause: Duration,
    run: String,
    told: usize,
    host: Host,
}

/// What the host has said so far.
#[derive(Default)]
struct Host {
    initialized: bool,
    mcpl: bool,
    coalesces: bool,
    policy: bool,
    reads: usize,
    answer: Option<Value>,
}

impl Producer {
    /// A producer that waits `pause` for a host that does not say when it reads.
    pub(crate) fn new(link: Link, pause: Duration, run: String) -> Self {
        Self { link, pause, run, told: 0, host: Host::default() }
    }

    /// Plays the scenes and serves the host until it is gone.
    pub(crate) fn run(mut self) -> Gone {
        match self.play() {
            Err(gone) => gone,
            Ok(never) => match never {},
        }
    }

    fn play(&mut self) -> Result<std::convert::Infallible, Gone> {
        self.serve_until(None, |host| host.initialized)?;
        // A host that speaks no MCPL would not know what to do with any of it.
        if self.host.mcpl {
            let rooms: Vec<Value> = ROOMS.iter().map(|room| channel(room)).collect();
            self.ask("channels/register", &json!({"channels": rooms}))?;
            self.serve_until(Some(self.pause), |host| host.policy)?;
            let scenes = scene::scenes();
            let last = scenes.len();
            for (before, events) in scenes.iter().enumerate() {
                self.serve_until(Some(self.pause), |host| host.reads >= before)?;
                for event in events {
                    self.tell(event)?;
                }
                let data = format!("scene {} of {last} was played", before + 1);
                let params = json!({"level": "info", "logger": "ambient", "data": data});
                self.link.notify("notifications/message", &params)?;
            }
        }
        loop {
            self.serve_until(None, |_| false)?;
        }
    }

    /// Sends one event and says on stderr what came of it.
    fn tell(&mut self, event: &Event) -> Result<(), Gone> {
        if !self.host.coalesces && event.is_silent() {
            return Ok(());
        }
        let (method, params) = event.request(self.told, &self.run, self.host.coalesces);
        self.told += 1;
        let answer = self.ask(method, &params)?;
        // On this lane each message has its own answer.
        let own = &answer["result"]["results"][0];
        let result = if own.is_null() { &answer["result"] } else { own };
        let came_of_it = match (result["accepted"].as_bool(), result["coalesce"]["outcome"].as_str()) {
            (Some(true), Some(outcome)) => outcome.to_owned(),
            (Some(true), None) => "accepted".to_owned(),
            _ => format!("refused: {answer}"),
        };
        note(&format!("ambient: {} {came_of_it}", event.id));
        Ok(())
    }

    /// Sends a request and serves the host until the answer is there: a host may ask while it is asked.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Gone> {
        let id = json!(self.link.ask(method, params)?);
        loop {
            self.serve_until(None, |host| host.answer.is_some())?;
            if let Some(answer) = self.host.answer.take().filter(|answer| answer["id"] == id) {
                return Ok(answer);
            }
        }
    }

    /// Serves the host until it has done what is waited for, or for so long.
    fn serve_until(&mut self, patience: Option<Duration>, done: impl Fn(&Host) -> bool) -> Result<(), Gone> {
        let end = patience.map(|patience| Instant::now() + patience);
        while !done(&self.host) {
            let Some(message) = self.link.hear(end)? else { break };
            self.serve(message)?;
        }
        Ok(())
    }

    fn serve(&mut self, message: Value) -> Result<(), Gone> {
        let Some(method) = message["method"].as_str() else {
            self.host.answer = Some(message);
            return Ok(());
        };
        let params = &message["params"];
        if let Some(id) = message.get("id") {
            self.link.answer(id, answer(method, params))?;
        }
        match method {
            "initialize" => {
                let mcpl = &params["capabilities"]["experimental"]["mcpl"];
                self.host.mcpl = mcpl.is_object();
                self.host.coalesces = coalesces(&mcpl["eventCoalescing"]);
            }
            "notifications/initialized" => self.host.initialized = true,
            "featureSets/update" => self.host.policy = true,
            "context/beforeInference" => self.host.reads += 1,
            _ => {}
        }
        Ok(())
    }
}

/// The answer to a request of the host's.
fn answer(method: &str, params: &Value) -> Result<Value, (i64, &'static str)> {
    match method {
        "initialize" => Ok(introduction()),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": []})),
        "channels/list" => Ok(json!({"channels": ROOMS.map(channel)})),
        "featureSets/update" => Ok(json!({"accepted": true})),
        "context/beforeInference" => Ok(json!({"featureSet": ACTIVITY, "contextInjections": []})),
        "push/render" => digest::render(params),
        _ => Err((-32601, "ambient does not know this method")),
    }
}

fn introduction() -> Value {
    let set = |description: &str| json!({"description": description, "uses": ["pushEvents"]});
    json!({
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {}, "logging": {}, "experimental": {"mcpl": {
            "version": "0.5",
            "pushEvents": true,
            "channels": {"register": true, "incoming": true},
            "contextHooks": {"beforeInference": true},
            "featureSets": {
                PRESENCE: set("who is here, away, typing"),
                ACTIVITY: set("one digest for each channel"),
            },
        }}},
        "serverInfo": {"name": "ambient", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// Whether the host takes everything of the kind that the script sends.
fn coalesces(said: &Value) -> bool {
    let all = ["pushEvents", "channelsIncoming", "deferred", "channelScopedPush"];
    said == &json!(true) || all.iter().all(|leaf| said[leaf] == true)
}

fn channel(room: &str) -> Value {
    json!({"id": room, "type": "room", "label": room, "direction": "inbound"})
}
