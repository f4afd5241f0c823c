//! Chats at random, through rules alone: the host ends up with the newest of every message, nothing of what was
//! withdrawn unread, and nothing twice (contract 13.1).

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use mcpl_codec::Event;
use mcpl_policy::Input;
use mcpl_policy::engine::Fate;
use mcpl_policy::profile::Dedup;
use serde_json::{Value, json};

use super::rig::{Answered, Rig};
use super::rules::chat;
use crate::say::{Say, legacy};

/// What was sent of one message.
#[derive(Default)]
struct Message {
    versions: u32,
    deleted: bool,
}

struct Chat {
    rig: Rig,
    chance: fastrand::Rng,
    messages: BTreeMap<u32, Message>,
    /// Everything sent, for retries.
    sent: Vec<Event>,
    /// What the host has had, and what it took, in order.
    had: HashSet<String>,
    taken: Vec<(String, Value)>,
    /// Those the host has not been heard on: written through.
    open: Vec<u64>,
}

impl Chat {
    fn new(seed: u64) -> Self {
        let (rig, chance) = (Rig::new(chat()), fastrand::Rng::with_seed(seed));
        let (messages, sent, had, taken, open) = Default::default();
        let mut chat = Self { rig, chance, messages, sent, had, taken, open };
        chat.begin();
        chat
    }

    /// A session of which nothing is known at first, or everything.
    fn begin(&mut self) {
        self.rig.feed(Input::Began(legacy(Dedup::Both)));
        if self.chance.bool() {
            self.rig.permit();
        }
    }

    /// What is written through would be lost with the session, for nobody sends it again.
    fn may_lose(&mut self) -> bool {
        self.open.retain(|&ticket| self.rig.answer(ticket).is_none());
        self.open.is_empty()
    }

    fn send(&mut self, event: Event) {
        self.sent.push(event.clone());
        let ticket = self.rig.spelled(event);
        match self.rig.answer(ticket) {
            Some(answer) => assert!(!matches!(answer, Answered::Refused(..)), "{answer:?}"),
            None => self.open.push(ticket),
        }
    }

    fn push(&mut self, id: &str, text: &str) {
        let mut event = json!({"featureSet": "fs-a", "eventId": id, "payload": {"content": text}});
        if let Some(channel) =
            self.chance.choice([None, Some("chan-a"), Some("chan-b"), Some("501")]).flatten()
        {
            event["origin"] = json!({"channelId": channel});
        }
        if self.chance.u8(0..10) == 0 {
            event["tags"] = json!(["chat:mention"]);
        }
        self.send(Event::push(Bytes::from(event.to_string())));
    }

    fn act(&mut self) {
        let id = self.chance.u32(0..6);
        let message = self.messages.entry(id).or_default();
        let (version, deleted) = (message.versions, message.deleted);
        match self.chance.u8(0..18) {
            0..=6 if !deleted => {
                message.versions += 1;
                let text = format!("{id}/{version}");
                match (version, self.chance.bool()) {
                    (0, true) => {
                        let event =
                            json!({"channelId": "chan-a", "messageId": id.to_string(), "content": text});
                        self.send(Event::message(Bytes::from(event.to_string())));
                    }
                    (0, false) => self.push(&format!("msg_{id}"), &text),
                    _ => self.push(&format!("edit_{id}"), &text),
                }
            }
            7 if version > 0 && !deleted => {
                message.deleted = true;
                self.push(&format!("del_{id}"), &format!("{id}/gone"));
            }
            8 | 9 if !self.sent.is_empty() => {
                let again = self.sent[self.chance.usize(0..self.sent.len())].clone();
                self.send(again);
            }
            10 => self.rig.feed(Input::Assembling),
            11 => self.rig.wait(2_000),
            12 if self.may_lose() => {
                self.rig.kill(1_000);
                self.begin();
            }
            13 if self.may_lose() => {
                self.rig.end();
                self.begin();
            }
            14 => self.rig.permit(),
            _ => self.answer_one(),
        }
    }

    /// The host hears the oldest forward, and answers; it remembers before it answers.
    fn answer_one(&mut self) {
        if self.rig.out.is_empty() {
            return;
        }
        let sent = self.rig.out.remove(0);
        self.rig.feed(Input::HandedOver(sent.number));
        self.rig.feed(Input::Written(sent.number));
        let content = if sent.body.get("payload").is_some() {
            &sent.body["payload"]["content"]
        } else {
            &sent.body["content"]
        };
        let sure = self.may_lose();
        let say = if sure && self.chance.u8(0..8) == 0 {
            Say::Unavailable(Some(10))
        } else if self.had.insert(sent.id.clone()) {
            self.taken.push((sent.id.clone(), content.clone()));
            Say::Accepted
        } else {
            Say::Duplicate
        };
        // Now and then the answer is lost with the session.
        if sure && self.chance.u8(0..12) == 0 {
            self.rig.end();
            self.begin();
        } else {
            self.rig.feed(Input::Replied(sent.number, say.reply()));
        }
    }

    fn settle(&mut self) {
        self.rig.permit();
        for _ in 0..1_000 {
            self.rig.feed(Input::Assembling);
            while !self.rig.out.is_empty() {
                self.answer_one();
            }
            if self.rig.engine.load().held == 0 {
                return;
            }
            self.rig.wait(40_000);
        }
        panic!("something is stuck: {:?}", self.rig.engine.load());
    }
}

#[test]
fn the_host_has_the_newest_of_each_message_and_nothing_twice() {
    let mut folded = 0;
    for seed in 0..200 {
        let mut chat = Chat::new(seed);
        for _ in 0..120 {
            chat.act();
        }
        chat.settle();
        folded += chat.rig.fates.iter().filter(|(_, fate)| *fate == Fate::Replaced).count();
        let load = chat.rig.engine.load();
        assert_eq!((load.dead, load.in_doubt), (0, 0), "seed {seed}");
        let mut seen = HashSet::new();
        for (_, text) in &chat.taken {
            assert!(seen.insert(text.to_string()), "seed {seed}: {text} twice");
        }
        for (id, message) in chat.messages.iter().filter(|(_, message)| message.versions > 0) {
            let of = |text: &&str| text.split('/').next() == Some(id.to_string().as_str());
            let told: Vec<&str> =
                chat.taken.iter().filter_map(|(_, text)| text.as_str()).filter(of).collect();
            let newest = format!("{id}/{}", message.versions - 1);
            match (message.deleted, told.last()) {
                (false, last) => assert_eq!(last, Some(&newest.as_str()), "seed {seed}: {told:?}"),
                (true, None) => {}
                (true, last) => {
                    assert_eq!(last, Some(&format!("{id}/gone").as_str()), "seed {seed}: {told:?}");
                }
            }
        }
    }
    assert!(folded > 200, "{folded}");
}
