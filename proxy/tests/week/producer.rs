//! Four producers as they are: one process for each connection, with what it knows of the world outside it.

mod chat;
mod draft;
mod timed;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde_json::{Value, json};

use self::chat::Message;
use self::draft::Errand;
use crate::chance::Chance;
use crate::oracle::{Oracle, Sense, Told};

/// Which producer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// discord-mcpl 0.1.4: one `eventId` for every edit, looks at no answer, sends nothing twice.
    Discord,
    /// portal-mcpl 0.2.0: ids that count from the start of the process, no edits.
    Portal,
    /// heartbeat-mcpl 0.1.3: an array of feature sets, does not know `featureSets/update`.
    Heartbeat,
    /// One that follows the drafts: coalesces, withdraws, defers, sends again when it is told to.
    Draft,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Discord, Self::Portal, Self::Heartbeat, Self::Draft];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discord => "discord",
            Self::Portal => "portal",
            Self::Heartbeat => "heartbeat",
            Self::Draft => "drafts",
        }
    }

    /// The preset that is there for it.
    pub fn preset(self) -> Option<&'static str> {
        match self {
            Self::Discord => Some("discord-mcpl"),
            Self::Portal => Some("portal-mcpl"),
            Self::Heartbeat => Some("heartbeat-mcpl"),
            Self::Draft => None,
        }
    }

    fn feature_set(self) -> &'static str {
        match self {
            Self::Discord => "discord.messaging",
            Self::Portal => "portal.messages",
            Self::Heartbeat => "heartbeat",
            Self::Draft => "board",
        }
    }
}

/// Channels there are; the last two are never registered.
const CHANNELS: u64 = 8;
const REGISTERED: u64 = 6;

#[derive(Clone, Debug)]
enum Act {
    Post,
    Edit(u64),
    Delete(u64),
    React(u64),
    Beat,
    Remind(u64),
    Presence,
    Notice,
    Malformed,
    /// An errand is sent, once more perhaps.
    Send(u64),
    Say(String),
}

#[derive(Debug)]
enum Asked {
    Event(u32),
    Errand(u64),
    Register,
}

#[derive(Debug)]
pub struct Producer {
    pub kind: Kind,
    chance: Chance,
    /// When something happens in the world outside, whatever becomes of it.
    clock: Chance,
    pub is_up: bool,
    pub out: VecDeque<String>,
    /// Nothing new is said any more.
    pub is_quiet: bool,
    later: BTreeMap<(u64, u64), Act>,
    serial: u64,
    ids: u64,
    asked: HashMap<u64, Asked>,
    greeted: bool,
    open: HashSet<u64>,
    /// The host coalesces: pushes, channel messages, deferred ones.
    coalesces: bool,
    seq: u64,
    swept: bool,
    /// What it knows beyond its process.
    next: u64,
    messages: BTreeMap<u64, Message>,
    missed: Vec<u64>,
    errands: BTreeMap<u64, Errand>,
    busy: HashMap<String, u64>,
    notices: u64,
}

impl Producer {
    pub fn new(kind: Kind, seed: u64) -> Self {
        let mut producer = Self {
            kind,
            chance: Chance::new(seed ^ 0x9d0d),
            clock: Chance::new(seed ^ 0xc10c),
            is_up: false,
            out: VecDeque::new(),
            is_quiet: false,
            later: BTreeMap::new(),
            serial: 0,
            ids: 1,
            asked: HashMap::new(),
            greeted: false,
            open: HashSet::new(),
            coalesces: false,
            seq: 0,
            swept: false,
            next: 1_000,
            messages: BTreeMap::new(),
            missed: Vec::new(),
            errands: BTreeMap::new(),
            busy: HashMap::new(),
            notices: 0,
        };
        let acts: &[Act] = match kind {
            Kind::Discord | Kind::Portal => &[Act::Post],
            Kind::Heartbeat => &[Act::Beat, Act::Remind(0), Act::Remind(1), Act::Remind(2)],
            Kind::Draft => &[Act::Post, Act::Presence, Act::Notice, Act::Malformed],
        };
        for act in acts {
            producer.later(1_000, act.clone());
        }
        producer
    }

    pub fn start(&mut self) {
        self.is_up = true;
        self.ids = 1;
        self.seq = 0;
        self.swept = false;
        self.greeted = false;
        self.coalesces = false;
        self.open.clear();
    }

    pub fn stop(&mut self, now_ms: u64) {
        self.is_up = false;
        self.out.clear();
        self.asked.clear();
        self.later.retain(|_, act| !matches!(act, Act::Say(_)));
        self.put_back(now_ms);
    }

    pub fn due(&self) -> Option<u64> {
        self.later.keys().next().map(|(at, _)| *at)
    }

    fn later(&mut self, at_ms: u64, act: Act) {
        self.serial += 1;
        self.later.insert((at_ms, self.serial), act);
    }

    /// Much happens at once; `calm` times less than it may.
    pub fn flood(&mut self, now_ms: u64, calm: u64) {
        let count = self.clock.span(200, 1_500) / calm;
        let lasts = self.clock.span(2_000, 20_000);
        for _ in 0..count {
            let at_ms = now_ms + self.clock.span(0, lasts);
            let act = match self.kind {
                Kind::Discord | Kind::Portal => Act::Post,
                Kind::Heartbeat => Act::Beat,
                Kind::Draft => {
                    self.chance.of(&[Act::Post, Act::Presence, Act::Presence, Act::Notice]).clone()
                }
            };
            self.later(at_ms, act);
        }
    }

    /// Does what is due.
    pub fn act(&mut self, now_ms: u64, oracle: &mut Oracle) -> bool {
        if self.due().is_none_or(|at| at > now_ms) {
            return false;
        }
        let Some((_, act)) = self.later.pop_first() else { return false };
        // Each of these goes on by itself once; what a flood brings does not.
        let again = |mean: u64, chance: &mut Chance| now_ms + chance.until(mean);
        let alone = |act: &Act, later: &BTreeMap<(u64, u64), Act>| {
            !later.values().any(|other| std::mem::discriminant(other) == std::mem::discriminant(act))
        };
        if !self.is_quiet {
            let mean = match &act {
                Act::Post => 25_000,
                Act::Presence => 30_000,
                Act::Notice => 40_000,
                Act::Beat => 240_000,
                Act::Malformed => 7_200_000,
                _ => 0,
            };
            if mean > 0 && alone(&act, &self.later) {
                let at = again(mean, &mut self.clock);
                self.later(at, act.clone());
            }
        }
        match act {
            Act::Post => self.post(now_ms, oracle),
            Act::Edit(id) => self.edit(now_ms, id, oracle),
            Act::Delete(id) => self.delete(now_ms, id, oracle),
            Act::React(id) => self.react(now_ms, id, oracle),
            Act::Beat => self.beat(now_ms, oracle),
            Act::Remind(which) => self.remind(now_ms, which, oracle),
            Act::Presence => self.presence(now_ms),
            Act::Notice => self.notice(now_ms),
            Act::Malformed => self.malformed(oracle),
            Act::Send(errand) => self.send(now_ms, errand, oracle),
            Act::Say(line) => self.out.push_back(line),
        }
        true
    }

    fn ask(&mut self, method: &str, params: &Value, asked: Asked) {
        let id = self.ids;
        self.ids += 1;
        self.asked.insert(id, asked);
        self.out
            .push_back(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
    }

    /// One event goes out; nobody looks at its answer but for the record.
    fn push(&mut self, number: u32, event_id: &str, tags: &[&str], origin: &Value, text: &str) {
        let mut params = json!({"featureSet": self.kind.feature_set(), "eventId": event_id,
            "timestamp": "2026-11-29T23:57:51.434Z", "origin": origin,
            "payload": {"content": [{"type": "text", "text": format!("{text} #{number};")}]}});
        if !tags.is_empty() {
            params["tags"] = json!(tags);
        }
        self.ask("push/event", &params, Asked::Event(number));
    }

    /// A line came from the host.
    pub fn hear(&mut self, now_ms: u64, line: &[u8], oracle: &mut Oracle) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let Some(method) = message["method"].as_str() else {
            return self.answered(now_ms, &message, oracle);
        };
        let params = &message["params"];
        let answer = match method {
            "initialize" => {
                let coalescing = &params["capabilities"]["experimental"]["mcpl"]["eventCoalescing"];
                self.coalesces = coalescing["pushEvents"] == json!(true) || *coalescing == json!(true);
                json!({"result": self.greeting()})
            }
            "notifications/initialized" => {
                self.initialized();
                self.sweep(oracle);
                self.resume(now_ms);
                return;
            }
            "featureSets/update" if self.kind != Kind::Heartbeat => json!({"result": {"accepted": true}}),
            "tools/list" => json!({"result": {"tools": []}}),
            "channels/open" if self.kind != Kind::Heartbeat => {
                let id = params["channelId"].as_str().unwrap_or_default();
                if let Some(channel) = id.rsplit_once('c').and_then(|(_, n)| n.parse().ok()) {
                    self.open.insert(channel);
                }
                json!({"result": {"channel": {"id": id, "type": "text"}}})
            }
            "push/render" if self.kind == Kind::Draft => self.render(params),
            _ => json!({"error": {"code": -32601, "message": format!("Method not found: {method}")}}),
        };
        if message["id"].is_null() {
            return;
        }
        let mut answer = answer;
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = message["id"].clone();
        let wait = match method {
            "initialize" if self.kind == Kind::Discord => self.chance.span(1_200, 1_700),
            "initialize" => self.chance.span(100, 125),
            "push/render" if self.chance.percent(3) => self.chance.span(6_000, 9_000),
            _ => self.chance.span(1, 6),
        };
        self.later(now_ms + wait, Act::Say(answer.to_string()));
    }

    fn greeting(&self) -> Value {
        let name = self.kind.feature_set();
        let sets = match self.kind {
            Kind::Discord | Kind::Heartbeat => json!([{"name": name, "uses": ["tools", "pushEvents"]}]),
            Kind::Portal | Kind::Draft => json!({name: {"uses": ["pushEvents", "channels.incoming"]}}),
        };
        let channels = self.kind != Kind::Heartbeat;
        let mcpl = json!({"version": "0.4", "pushEvents": true, "channels": channels, "featureSets": sets});
        json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}, "experimental": {"mcpl": mcpl}},
            "serverInfo": {"name": self.kind.as_str(), "version": "0.1.0"}})
    }

    fn initialized(&mut self) {
        self.greeted = true;
        if self.kind == Kind::Discord {
            self.out.push_back("[discord-mcpl] Client initialized (MCPL mode)".to_owned());
        }
        if self.kind != Kind::Heartbeat {
            let channels: Vec<Value> =
                (0..REGISTERED).map(|n| json!({"id": channel(n), "type": "text", "label": "L"})).collect();
            self.ask("channels/register", &json!({"channels": channels}), Asked::Register);
        }
    }

    fn answered(&mut self, now_ms: u64, message: &Value, oracle: &mut Oracle) {
        let Some(asked) = message["id"].as_u64().and_then(|id| self.asked.remove(&id)) else { return };
        let result = &message["result"];
        let result = result["results"].as_array().and_then(|all| all.first()).unwrap_or(result);
        let accepted = result["accepted"] == json!(true);
        match asked {
            Asked::Event(number) => {
                oracle.told(number, if accepted { Told::Accepted } else { Told::Refused });
            }
            Asked::Errand(errand) => {
                let said = if message["error"].is_null() { result } else { &message["error"] };
                self.settle(now_ms, errand, accepted, said, oracle);
            }
            Asked::Register => {}
        }
    }

    fn can_say(&self) -> bool {
        self.is_up && self.greeted
    }
}

fn channel(number: u64) -> String {
    format!("room:g1:c{number}")
}

/// One of a subject's versions, in words of the oracle.
fn meant(oracle: &mut Oracle, subject: &str, withdraws: bool) -> u32 {
    oracle.meant(Some(subject), if withdraws { Sense::Withdraws } else { Sense::Says })
}
