//! What chat producers say: messages, edits, deletions, reactions, and what they missed.

use serde_json::{Value, json};

use super::{Act, Asked, CHANNELS, Kind, Producer, channel, meant};
use crate::oracle::{Oracle, Sense};

/// A message of a chat.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) channel: u64,
    pub(super) edits: u64,
}

impl Producer {
    /// Somebody writes something; perhaps they think better of it.
    pub(super) fn post(&mut self, now_ms: u64, oracle: &mut Oracle) {
        let id = self.next;
        self.next += 1;
        let message = Message { channel: self.chance.span(0, CHANNELS), edits: 0 };
        if !self.can_say() {
            // A swept channel is told of; that is all.
            if matches!(self.kind, Kind::Discord | Kind::Portal) && self.missed.len() < 20 {
                self.missed.push(id);
            }
            return;
        }
        self.messages.insert(id, message.clone());
        if self.messages.len() > 5_000 {
            self.messages.pop_first();
        }
        let has_edits = matches!(self.kind, Kind::Discord | Kind::Draft);
        let mut at_ms = now_ms;
        if has_edits && self.chance.percent(25) {
            for _ in 0..self.chance.span(1, 5) {
                at_ms += self.chance.until(4_000);
                self.later(at_ms, Act::Edit(id));
            }
        }
        if self.chance.percent(10) {
            at_ms += self.chance.until(6_000);
            self.later(at_ms, Act::Delete(id));
        }
        if self.kind != Kind::Draft && self.chance.percent(6) {
            let at_ms = now_ms + self.chance.until(20_000);
            self.later(at_ms, Act::React(id));
        }
        if self.kind == Kind::Draft {
            return self.draft(now_ms, &format!("message:{id}"), id, message.channel, "create");
        }
        let number = meant(oracle, &format!("message:{id}"), false);
        let addressed = self.chance.percent(12);
        let tags: &[&str] = if addressed {
            &["chat:mention", "chat:addressed", "chat:from-human"]
        } else {
            &["chat:ambient"]
        };
        let origin = self.origin(id, message.channel);
        if self.open.contains(&message.channel) {
            let said = json!({"channelId": channel(message.channel), "messageId": id.to_string(),
                "author": {"id": "u1", "name": "Ann"}, "timestamp": "2026-11-29T23:57:51.434Z",
                "content": [{"type": "text", "text": format!("[#general] Ann: hello #{number};")}],
                "tags": tags, "metadata": origin});
            self.ask("channels/incoming", &json!({"messages": [said]}), Asked::Event(number));
            return;
        }
        let event_id = match self.kind {
            Kind::Portal => {
                self.seq += 1;
                format!("portal_msg_{id}_{}", self.seq)
            }
            _ => format!("discord_msg_{id}"),
        };
        self.push(number, &event_id, tags, &origin, "[#general] Ann: hello");
    }

    fn origin(&self, id: u64, room: u64) -> Value {
        json!({"source": self.kind.as_str(), "messageId": id.to_string(), "guildId": "g1",
            "channelId": format!("c{room}"), "mcplChannelId": channel(room), "channelName": "general",
            "authorId": "u1", "authorName": "Ann"})
    }

    pub(super) fn edit(&mut self, now_ms: u64, id: u64, oracle: &mut Oracle) {
        let Some(message) = self.messages.get_mut(&id) else { return };
        message.edits += 1;
        let room = message.channel;
        if self.kind == Kind::Draft {
            return self.draft(now_ms, &format!("message:{id}"), id, room, "edit");
        }
        if !self.can_say() {
            return;
        }
        let number = meant(oracle, &format!("message:{id}"), false);
        let origin = json!({"source": "discord", "channelId": format!("c{room}")});
        self.push(number, &format!("discord_edit_{id}"), &[], &origin, "[message edited]");
    }

    pub(super) fn delete(&mut self, now_ms: u64, id: u64, oracle: &mut Oracle) {
        let Some(message) = self.messages.remove(&id) else { return };
        if self.kind == Kind::Draft {
            return self.draft(now_ms, &format!("message:{id}"), id, message.channel, "delete");
        }
        if !self.can_say() || (self.kind == Kind::Portal && !self.open.contains(&message.channel)) {
            return;
        }
        let number = meant(oracle, &format!("message:{id}"), true);
        let mut origin = json!({"source": self.kind.as_str(), "channelId": format!("c{}", message.channel)});
        if self.kind == Kind::Portal {
            origin["mcplChannelId"] = channel(message.channel).into();
        }
        let (event_id, tags): (String, &[&str]) = match self.kind {
            Kind::Portal => (format!("portal_del_{id}"), &["chat:deleted"]),
            _ => (format!("discord_delete_{id}"), &[]),
        };
        self.push(number, &event_id, tags, &origin, "[message deleted]");
    }

    pub(super) fn react(&mut self, now_ms: u64, id: u64, oracle: &mut Oracle) {
        let Some(message) = self.messages.get(&id).cloned() else { return };
        if !self.can_say() || (self.kind == Kind::Portal && !self.open.contains(&message.channel)) {
            return;
        }
        let number = oracle.meant(None, Sense::Says);
        self.seq += 1;
        let event_id = match self.kind {
            Kind::Portal => format!("portal_reaction_add_{id}_+1_bob_{}", self.seq),
            _ => format!("discord_reaction_add_{id}_+1_u2_{now_ms}"),
        };
        let origin = self.origin(id, message.channel);
        self.push(number, &event_id, &["chat:reaction"], &origin, "[reaction]");
    }

    /// Back again: what was missed is told of, once.
    pub(super) fn sweep(&mut self, oracle: &mut Oracle) {
        if std::mem::replace(&mut self.swept, true) || self.missed.is_empty() {
            return;
        }
        let missed = std::mem::take(&mut self.missed);
        match self.kind {
            Kind::Discord => {
                let newest = missed[missed.len() - 1];
                let number = oracle.meant(None, Sense::Says);
                let origin = self.origin(newest, 0);
                self.push(number, &format!("discord_missed_c0_{newest}"), &[], &origin, "[missed messages]");
            }
            _ => {
                for id in missed.into_iter().take(5) {
                    let number = oracle.meant(None, Sense::Says);
                    self.seq += 1;
                    let event_id = format!("portal_catchup_{id}_{}", self.seq);
                    let origin = self.origin(id, 0);
                    self.push(number, &event_id, &["chat:addressed", "chat:mention"], &origin, "[catch-up]");
                }
            }
        }
    }
}
