//! Four hosts as they are: their answers, codes and words, what they die of, and what they remember.

mod lanes;
mod newer;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::oracle::Oracle;

/// Which host it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// agent-framework of March 2026: no coalescing, dedup of 1,000 ids in memory, dies of malformed content.
    March,
    /// A newer agent-framework: coalesces itself, refuses in codes, keeps what it accepts on disk.
    Newer,
    /// mcpl-cc-bridge: no dedup, no coalescing.
    Bridge,
    /// mcpl-harness: accepts everything, dies of a line that is no JSON.
    Harness,
}

/// Ids that it remembers before it forgets them all.
const SEEN: usize = 1_000;
/// How long the newer one knows a repeat.
const WINDOW_MS: u64 = 3_600_000;

impl Kind {
    pub const ALL: [Self; 4] = [Self::March, Self::Newer, Self::Bridge, Self::Harness];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::March => "2026-03",
            Self::Newer => "0.5",
            Self::Bridge => "cc-bridge",
            Self::Harness => "harness",
        }
    }

    /// What an operator would say of it.
    pub fn profile(self) -> &'static str {
        match self {
            Self::March | Self::Newer => "agent-framework",
            Self::Bridge => "cc-bridge",
            Self::Harness => "generic",
        }
    }

    fn has_hooks(self) -> bool {
        matches!(self, Self::March | Self::Newer)
    }

    fn dedups(self, lane: &str) -> bool {
        match self {
            Self::March => lane == "push/event",
            Self::Newer => true,
            Self::Bridge | Self::Harness => false,
        }
    }
}

/// Something the model has not seen yet.
#[derive(Debug)]
struct Unread {
    key: Option<String>,
    text: String,
}

#[derive(Debug)]
enum Later {
    Say(String),
    /// It begins to think.
    Think,
    /// It has heard from the hook, or waited long enough: this is what the model sees.
    Look(u64),
    /// It has thought.
    Done(u64),
}

#[derive(Debug, PartialEq, Eq)]
enum Thought {
    Idle,
    Soon,
    Asked(u64),
    Runs,
}

#[derive(Debug)]
pub struct Host {
    pub kind: Kind,
    chance: Chance,
    /// Runs of its process.
    pub run: u64,
    pub is_up: bool,
    /// It died of what it was given.
    pub died: bool,
    pub deaths: u64,
    pub out: VecDeque<String>,
    pub paused_until_ms: u64,
    /// It cannot keep anything until then.
    pub bad_until_ms: u64,
    pub slow_until_ms: u64,
    later: BTreeMap<(u64, u64), Later>,
    serial: u64,
    ids: u64,
    asked: HashMap<u64, &'static str>,
    greeting: u64,
    sets: Vec<String>,
    granted: Option<bool>,
    channels: HashSet<String>,
    seen: HashSet<String>,
    receipts: HashMap<String, (u64, Value)>,
    unread: Vec<Unread>,
    /// Subjects of which the model has seen something.
    told_of: HashSet<String>,
    thought: Thought,
    thoughts: u64,
}

impl Host {
    pub fn new(kind: Kind, seed: u64) -> Self {
        Self {
            kind,
            chance: Chance::new(seed ^ 0x4057),
            run: 0,
            is_up: false,
            died: false,
            deaths: 0,
            out: VecDeque::new(),
            paused_until_ms: 0,
            bad_until_ms: 0,
            slow_until_ms: 0,
            later: BTreeMap::new(),
            serial: 0,
            ids: 0,
            asked: HashMap::new(),
            greeting: 0,
            sets: Vec::new(),
            granted: None,
            channels: HashSet::new(),
            seen: HashSet::new(),
            receipts: HashMap::new(),
            unread: Vec::new(),
            told_of: HashSet::new(),
            thought: Thought::Idle,
            thoughts: 0,
        }
    }

    /// Its process starts.
    pub fn start(&mut self) {
        self.run += 1;
        self.is_up = true;
        self.died = false;
        self.seen.clear();
        self.thought = Thought::Idle;
        self.later.clear();
    }

    /// Its process ends. What the newer one accepted is on its disk; the others forget.
    pub fn stop(&mut self, oracle: &mut Oracle) {
        self.is_up = false;
        if self.kind != Kind::Newer {
            oracle.forgotten += self.unread.len() as u64;
            self.unread.clear();
        }
        self.disconnect();
        self.later.clear();
        self.thought = Thought::Idle;
    }

    /// A connection to its server begins.
    pub fn connect(&mut self, now_ms: u64) {
        self.disconnect();
        let mcpl = match self.kind {
            Kind::March => json!({"version": "0.4", "pushEvents": true, "featureSets": true,
                "contextHooks": {"beforeInference": true, "afterInference": {"blocking": true}}}),
            Kind::Newer => {
                json!({"version": "0.5", "pushEvents": true, "channels": true, "featureSets": true,
                "contextHooks": {"beforeInference": true},
                "eventCoalescing": {"pushEvents": true, "channelsIncoming": true, "deferred": true,
                    "channelScopedPush": true, "retryWindowMs": WINDOW_MS}})
            }
            Kind::Bridge => json!({"version": "0.5", "pushEvents": true, "channels": true}),
            Kind::Harness => {
                json!({"version": "0.4", "pushEvents": true, "channels": true, "modelInfo": true,
                "scopedAccess": true})
            }
        };
        self.ids = u64::from(matches!(self.kind, Kind::Bridge | Kind::Harness));
        let params = json!({"protocolVersion": "2024-11-05", "capabilities": {"experimental": {"mcpl": mcpl}},
            "clientInfo": {"name": self.kind.as_str(), "version": "1.0.0"}});
        self.greeting = self.ask("initialize", &params);
        if self.kind == Kind::Newer && !self.unread.is_empty() {
            self.wake(now_ms);
        }
    }

    pub fn disconnect(&mut self) {
        self.out.clear();
        self.asked.clear();
        self.channels.clear();
        self.sets.clear();
        self.granted = None;
        self.later.retain(|_, later| !matches!(later, Later::Say(_)));
        if let Thought::Asked(_) = self.thought {
            self.thought = Thought::Idle;
        }
    }

    pub fn due(&self) -> Option<u64> {
        let (at, _) = self.later.keys().next()?;
        self.is_up.then(|| (*at).max(self.paused_until_ms))
    }

    pub fn reads(&self, now_ms: u64) -> bool {
        self.is_up && now_ms >= self.paused_until_ms
    }

    /// Does what is due.
    pub fn act(&mut self, now_ms: u64, oracle: &mut Oracle) -> bool {
        if !self.reads(now_ms) || self.later.keys().next().is_none_or(|(at, _)| *at > now_ms) {
            return false;
        }
        let Some((_, later)) = self.later.pop_first() else { return false };
        match later {
            Later::Say(line) => self.out.push_back(line),
            Later::Think if self.thought == Thought::Soon => {
                if self.kind.has_hooks() && self.granted != Some(false) && !self.sets.is_empty() {
                    let id = self.ask("context/beforeInference", &json!({"inferenceId": self.thoughts}));
                    self.thought = Thought::Asked(id);
                    self.later(now_ms + 5_000, Later::Look(id));
                } else {
                    self.look(now_ms, oracle);
                }
            }
            Later::Look(id) if self.thought == Thought::Asked(id) => self.look(now_ms, oracle),
            Later::Done(thought) if thought == self.thoughts && self.thought == Thought::Runs => {
                self.thought = Thought::Idle;
                self.lifecycle("completed");
                if !self.unread.is_empty() {
                    self.wake(now_ms);
                }
            }
            Later::Think | Later::Look(_) | Later::Done(_) => {}
        }
        true
    }

    fn lifecycle(&mut self, phase: &str) {
        if self.kind == Kind::Newer && !self.sets.is_empty() {
            let params = json!({"inferenceId": format!("i{}", self.thoughts), "phase": phase});
            let line = json!({"jsonrpc": "2.0", "method": "inference/lifecycle", "params": params});
            self.out.push_back(line.to_string());
        }
    }

    /// What the model has not seen it sees now.
    fn look(&mut self, now_ms: u64, oracle: &mut Oracle) {
        for unread in self.unread.drain(..) {
            oracle.read(&unread.text);
            self.told_of.extend(unread.key);
        }
        self.thoughts += 1;
        self.thought = Thought::Runs;
        self.lifecycle("started");
        let lasts = self.chance.span(2_000, 45_000);
        self.later(now_ms + lasts, Later::Done(self.thoughts));
    }

    fn wake(&mut self, now_ms: u64) {
        if self.thought == Thought::Idle {
            self.thought = Thought::Soon;
            let soon = self.chance.span(200, 4_000);
            self.later(now_ms + soon, Later::Think);
        }
    }

    fn later(&mut self, at_ms: u64, later: Later) {
        self.serial += 1;
        self.later.insert((at_ms, self.serial), later);
    }

    fn ask(&mut self, method: &'static str, params: &Value) -> u64 {
        let id = self.ids;
        self.ids += 1;
        self.asked.insert(id, method);
        self.out
            .push_back(json!({"jsonrpc": "2.0", "method": method, "id": id, "params": params}).to_string());
        id
    }

    fn tell(&mut self, method: &str, params: Option<Value>) {
        let mut line = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            line["params"] = params;
        }
        self.out.push_back(line.to_string());
    }

    fn die(&mut self) {
        self.died = true;
        self.deaths += 1;
    }

    /// A line came from its server.
    pub fn hear(&mut self, now_ms: u64, line: &[u8], oracle: &mut Oracle) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            if self.kind == Kind::Harness {
                self.die();
            }
            return;
        };
        let Some(method) = message["method"].as_str() else {
            return self.answered(now_ms, &message, oracle);
        };
        let params = &message["params"];
        let answer = match method {
            "push/event" => self.push(now_ms, params, oracle),
            "channels/incoming" => self.messages(now_ms, params, oracle),
            "channels/register" => self.register(params),
            _ if message["id"].is_null() => None,
            _ => match self.kind {
                Kind::March => None,
                Kind::Newer => Some(error(-32601, &format!("Method not found: {method}"))),
                Kind::Bridge => Some(error(-32601, &format!("method not supported by this host: {method}"))),
                Kind::Harness => Some(error(-32601, &format!("harness: unhandled request {method}"))),
            },
        };
        if self.died || message["id"].is_null() {
            return;
        }
        if let Some(mut answer) = answer {
            answer["jsonrpc"] = "2.0".into();
            answer["id"] = message["id"].clone();
            let wait = match () {
                () if now_ms < self.slow_until_ms => self.chance.span(1_000, 40_000),
                () if self.chance.permille(5) => self.chance.span(200, 8_000),
                () => self.chance.span(1, 15),
            };
            self.later(now_ms + wait, Later::Say(answer.to_string()));
        }
    }

    fn answered(&mut self, now_ms: u64, message: &Value, oracle: &mut Oracle) {
        let Some(asked) = message["id"].as_u64().and_then(|id| self.asked.remove(&id)) else { return };
        match asked {
            "initialize" => {
                self.sets = match &message["result"]["capabilities"]["experimental"]["mcpl"]["featureSets"] {
                    Value::Object(sets) => sets.keys().cloned().collect(),
                    // That host knows an array's sets by their place.
                    Value::Array(sets) if self.kind == Kind::March => {
                        (0..sets.len()).map(|place| place.to_string()).collect()
                    }
                    Value::Array(sets) => {
                        sets.iter().filter_map(|set| set["name"].as_str().map(ToOwned::to_owned)).collect()
                    }
                    _ => Vec::new(),
                };
                self.tell("notifications/initialized", (self.kind == Kind::Harness).then(|| json!({})));
                let sets = json!(self.sets);
                let all = json!([
                    "pushEvents",
                    "channels.incoming",
                    "channels.register",
                    "channels.publish",
                    "tools",
                    "contextHooks"
                ]);
                match self.kind {
                    Kind::March => {
                        self.tell("featureSets/update", Some(json!({"enabled": sets, "disabled": []})));
                    }
                    Kind::Newer | Kind::Bridge => {
                        let params = json!({"effectiveCapabilities": all, "enabled": sets, "disabled": []});
                        self.ask("featureSets/update", &params);
                    }
                    Kind::Harness => {}
                }
                self.ask("tools/list", &json!({}));
            }
            "featureSets/update" => self.granted = Some(message["result"]["accepted"] == json!(true)),
            "context/beforeInference" if matches!(self.thought, Thought::Asked(_)) => {
                self.look(now_ms, oracle);
            }
            _ => {}
        }
    }
}

fn is_blocks(content: &Value) -> bool {
    content.as_array().is_some_and(|blocks| blocks.iter().all(|block| block["type"].is_string()))
}

fn text_of(content: &Value) -> String {
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join(" ")
}

fn refused(reason: &str) -> Value {
    json!({"result": {"accepted": false, "reason": reason}})
}

fn error(code: i64, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}})
}
