//! A host with a memory and moods: what it was given, what it said of it, and what its model was shown.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use mcpl_tests::{Chance, HostScript, Mind, Said, Say};
use serde_json::{Value, json};

#[derive(Debug)]
struct Memory {
    chance: Chance,
    easy: bool,
    /// The handshake is over: it may die.
    opened: bool,
    session: u64,
    /// What its model was shown, in order.
    shown: Vec<String>,
    /// What a push was seen as: the host drops it the next time.
    had: HashSet<String>,
    /// The session each was last given in, but for what was told to come again.
    given: HashMap<String, u64>,
    /// What was answered in this session, in order.
    answered: Vec<String>,
    /// So many of those the other side has read.
    read: usize,
    /// Their answers were read, and something that was accepted later is on disk: they are settled.
    settled: HashSet<String>,
    /// What it said it could not take now.
    unavailable: HashSet<String>,
    /// What was done that never may be.
    wrong: Vec<String>,
}

/// The host's memory, which outlives its sessions.
#[derive(Debug, Clone)]
pub(crate) struct Model(Arc<Mutex<Memory>>);

/// What the other side has read of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    session: u64,
    answers: usize,
}

/// What it makes of one occurrence.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mood {
    Take,
    TakeSlowly,
    /// It has it, and says nothing.
    TakeSilently,
    /// It never had it, and says nothing.
    Lose,
    /// It has it, and dies.
    Die,
    Unavailable,
}

impl Model {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Memory {
            chance: Chance::new(seed + 7),
            easy: false,
            opened: false,
            session: 0,
            shown: Vec::new(),
            had: HashSet::new(),
            given: HashMap::new(),
            answered: Vec::new(),
            read: 0,
            settled: HashSet::new(),
            unavailable: HashSet::new(),
            wrong: Vec::new(),
        })))
    }

    /// No moods any more.
    pub(crate) fn take_everything(&self) {
        self.memory().easy = true;
    }

    /// The host's end of a new session.
    pub(crate) fn mind(&self) -> Ear {
        let mut memory = self.memory();
        memory.session += 1;
        memory.opened = false;
        memory.answered.clear();
        memory.read = 0;
        drop(memory);
        let script = HostScript::default();
        Ear { model: self.clone(), script, slow: Vec::new(), barrier: None, dead: false }
    }

    /// The handshake is over.
    pub(crate) fn opened(&self) {
        self.memory().opened = true;
    }

    /// What the other side has certainly read by now.
    pub(crate) fn read(&self) -> Read {
        let memory = self.memory();
        Read { session: memory.session, answers: memory.read }
    }

    /// Something accepted after that is on disk.
    pub(crate) fn settle(&self, read: Read) {
        let mut memory = self.memory();
        if memory.session == read.session {
            let settled: Vec<String> = memory.answered[..read.answers].to_vec();
            memory.settled.extend(settled);
        }
    }

    pub(crate) fn shown(&self) -> Vec<String> {
        self.memory().shown.clone()
    }

    /// What it was given in this session; whether it ever said that it could not take it.
    pub(crate) fn given(&self) -> HashMap<String, bool> {
        let memory = self.memory();
        let of_session = memory.given.iter().filter(|(_, session)| **session == memory.session);
        of_session.map(|(id, _)| (id.clone(), memory.unavailable.contains(id))).collect()
    }

    /// Asserts that nothing happened to it that never may.
    pub(crate) fn content(&self) {
        let memory = self.memory();
        assert!(memory.wrong.is_empty(), "{:#?}", memory.wrong);
    }

    /// How many are settled: what is told of them again would be wrong.
    pub(crate) fn settled(&self) -> usize {
        self.memory().settled.len()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap()
    }
}

impl Memory {
    fn mood(&mut self) -> Mood {
        if self.easy {
            return Mood::Take;
        }
        match self.chance.below(1000) {
            0..=779 => Mood::Take,
            780..=899 => Mood::TakeSlowly,
            900..=929 => Mood::Unavailable,
            930..=964 => Mood::TakeSilently,
            995.. if self.opened => Mood::Die,
            _ => Mood::Lose,
        }
    }

    /// What is said of one occurrence; `None`: nothing.
    fn take(&mut self, event_id: &str, channel_lane: bool, mood: Mood) -> Option<Value> {
        let session = self.session;
        if self.given.get(event_id) == Some(&session) {
            self.wrong
                .push(format!("{event_id} came again in session {session}, where it was not asked for"));
        }
        if mood == Mood::Unavailable {
            self.unavailable.insert(event_id.to_owned());
        } else {
            self.given.insert(event_id.to_owned(), session);
        }
        if self.settled.contains(event_id) {
            self.wrong.push(format!("{event_id} came again in session {session}, though it was settled"));
        }
        if mood == Mood::Lose {
            return None;
        }
        let told = if mood == Mood::Unavailable {
            json!({"accepted": false, "refusal": "unavailable", "retryable": true, "retryAfterMs": 5})
        } else if !self.had.insert(event_id.to_owned()) && !channel_lane {
            json!({"accepted": false, "reason": "duplicate"})
        } else {
            self.shown.push(event_id.to_owned());
            json!({"accepted": true})
        };
        (!matches!(mood, Mood::TakeSilently | Mood::Die)).then_some(told)
    }
}

/// The host's end of one session.
pub(crate) struct Ear {
    model: Model,
    script: HostScript,
    /// Answers that it puts off, each with whose it is.
    slow: Vec<(String, String)>,
    /// It asked something after so many answers: the answer to that comes after those were read.
    barrier: Option<usize>,
    /// It hears nothing more.
    dead: bool,
}

const BARRIER: &str = "\"barrier\"";

impl Mind for Ear {
    fn hear(&mut self, said: &Said) -> Vec<Say> {
        if self.dead {
            return Vec::new();
        }
        let method = said.method().unwrap_or_default();
        if method.is_empty() && said.answers(BARRIER) {
            self.model.memory().read = self.barrier.take().unwrap_or_default();
            return Vec::new();
        }
        if !matches!(method.as_str(), "push/event" | "channels/incoming") {
            return self.script.hear(said);
        }
        let model = self.model.clone();
        let mut memory = model.memory();
        let message = said.json();
        let channel_lane = method == "channels/incoming";
        let of_message = &message["params"]["messages"][0];
        let event = if channel_lane { of_message } else { &message["params"] };
        let event_id = event["eventId"].as_str().unwrap_or_default().to_owned();
        let mood = memory.mood();
        let told = memory.take(&event_id, channel_lane, mood);
        let mut words = Vec::new();
        if let Some(mut told) = told {
            let taken = told["refusal"].is_null();
            if channel_lane {
                told["messageId"] = of_message["messageId"].clone();
                told = json!({"results": [told]});
            }
            let id = said.raw("id").unwrap_or_default();
            let whose = if taken { event_id } else { String::new() };
            self.slow.push((whose, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{told}}}"#)));
        }
        let keep = usize::from(mood == Mood::TakeSlowly);
        for (whose, line) in self.slow.drain(..self.slow.len().saturating_sub(keep)) {
            if !whose.is_empty() {
                memory.answered.push(whose);
            }
            words.push(Say::Line(line));
        }
        if mood == Mood::Die {
            self.dead = true;
            words.push(Say::Exit);
        } else if self.barrier.is_none() && memory.opened {
            self.barrier = Some(memory.answered.len());
            words.push(Say::Line(format!(r#"{{"jsonrpc":"2.0","id":{BARRIER},"method":"ping"}}"#)));
        }
        words
    }
}
