//! Chats at random, through rules alone: the host ends up with the newest of every message, nothing of what was
//! withdrawn unread, and nothing twice (contract 13.1).

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use mcpl_codec::Event;
use mcpl_policy::engine::Fate;
use mcpl_policy::profile::Dedup;
use mcpl_policy::rules::Place;
use mcpl_policy::{Input, Settings};
use serde_json::{Value, json};

use super::rig::{Answered, Rig};
use super::rules::{chat, chat_in};
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
    /// Those that were lost with a session.
    lost: HashSet<String>,
    /// Edits may be notices of the producer's own, about the subjects that the rules speak of.
    notices: bool,
}

impl Chat {
    fn new(seed: u64) -> Self {
        Self::of(seed, chat(), false)
    }

    fn of(seed: u64, settings: Settings, notices: bool) -> Self {
        let (rig, chance) = (Rig::new(settings), fastrand::Rng::with_seed(seed));
        let (messages, sent, had, taken, open, lost) = Default::default();
        let mut chat = Self { rig, chance, messages, sent, had, taken, open, lost, notices };
        chat.begin();
        chat
    }

    /// A session of which nothing is known at first, or everything. A notice that is written through goes ahead
    /// of those that wait, so where there are notices it is everything.
    fn begin(&mut self) {
        self.rig.asked.clear();
        self.rig.feed(Input::Began(legacy(Dedup::Both)));
        if self.notices || self.chance.bool() {
            self.rig.permit();
        }
    }

    /// The host will not answer what is out: what comes of it is in doubt.
    fn lose(&mut self, sent: Option<String>) {
        self.lost.extend(self.rig.out.iter().map(|sent| sent.id.clone()).chain(sent));
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

    /// A notice of the producer's own, about a subject that the rules speak of too.
    fn note(&mut self, id: u32, version: u32) {
        let event = json!({"featureSet": "fs-a", "eventId": format!("note_{id}_{version}"),
            "timestamp": "2026-01-01T00:00:00Z", "payload": {"content": format!("{id}/{version}")},
            "coalesce": {"key": format!("message:{id}"), "deferred": true}});
        self.send(Event::push(Bytes::from(event.to_string())));
    }

    /// The producer renders a batch as its newest notice, or fails to.
    fn render_one(&mut self) {
        if self.rig.asked.is_empty() {
            return;
        }
        let (number, params) = self.rig.asked.remove(0);
        let id = params["eventId"].as_str().unwrap().trim_start_matches("note_").replace('_', "/");
        let text = self.chance.bool().then_some(&*id);
        self.rig.render(number, text);
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
                    (_, true) if self.notices => self.note(id, version),
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
                self.lose(None);
                self.rig.kill(1_000);
                self.begin();
            }
            13 if self.may_lose() => {
                self.lose(None);
                self.rig.end();
                self.begin();
            }
            14 => self.rig.permit(),
            15 => self.render_one(),
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
        // Told to come again, one in doubt is overtaken where its subject is of one lane, as without any rule.
        let waits = sure && !(self.notices && self.lost.contains(&sent.id));
        let say = if waits && self.chance.u8(0..8) == 0 {
            Say::Unavailable(Some(10))
        } else if self.had.insert(sent.id.clone()) {
            self.taken.push((sent.id.clone(), content.clone()));
            Say::Accepted
        } else {
            Say::Duplicate
        };
        // Now and then the answer is lost with the session.
        if sure && self.chance.u8(0..12) == 0 {
            self.lose(Some(sent.id));
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
            while !self.rig.out.is_empty() || !self.rig.asked.is_empty() {
                self.answer_one();
                self.render_one();
            }
            if self.rig.engine.load().held == 0 {
                return;
            }
            self.rig.wait(40_000);
        }
        panic!("something is stuck: {:?}", self.rig.engine.load());
    }
}

/// What the host had of each message in the end is the newest, and nothing came twice.
fn assert_told(chat: &Chat, seed: u64) {
    let load = chat.rig.engine.load();
    assert_eq!((load.dead, load.in_doubt), (0, 0), "seed {seed}");
    let mut seen = HashSet::new();
    for (_, text) in &chat.taken {
        assert!(seen.insert(text.to_string()), "seed {seed}: {text} twice");
    }
    for (id, message) in chat.messages.iter().filter(|(_, message)| message.versions > 0) {
        let of = |text: &&str| text.split('/').next() == Some(id.to_string().as_str());
        let told: Vec<&str> = chat.taken.iter().filter_map(|(_, text)| text.as_str()).filter(of).collect();
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
        assert_told(&chat, seed);
    }
    assert!(folded > 200, "{folded}");
}

/// Contract 6.5 and 13.1: what a rule coalesces and the notices of a producer meet in one subject.
#[test]
fn what_a_rule_coalesces_and_notices_of_one_subject_fold_into_each_other() {
    let mut rendered = 0;
    for seed in 0..200 {
        let mut chat = Chat::of(seed, chat_in(&Place::FeatureSet), true);
        for _ in 0..120 {
            let asked = chat.rig.asked.len();
            chat.act();
            rendered += chat.rig.asked.len().saturating_sub(asked);
        }
        chat.settle();
        assert_told(&chat, seed);
    }
    assert!(rendered > 200, "{rendered}");
}
