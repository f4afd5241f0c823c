//! A producer that follows the drafts: one event of a subject on its way at a time, sent again as it is told to.

use serde_json::{Value, json};

use super::{Act, Asked, Kind, Producer, REGISTERED, channel, meant};
use crate::oracle::{Oracle, Sense, Told};

/// Something it has to say of a subject; sent until it is settled.
#[derive(Clone, Debug)]
pub(super) struct Errand {
    subject: String,
    event_id: String,
    id: u64,
    room: u64,
    what: &'static str,
    /// The number in its content, once it was sent.
    number: Option<u32>,
    /// It waits for an answer.
    out: bool,
    first_ms: u64,
}

impl Producer {
    /// It has something to say; what was not sent yet of the same subject is not worth saying any more.
    pub(super) fn draft(&mut self, now_ms: u64, subject: &str, id: u64, room: u64, what: &'static str) {
        let fresh = |errand: &Errand| errand.subject == subject && errand.number.is_none();
        let had = self.errands.iter().find(|(_, errand)| fresh(errand)).map(|(key, _)| *key);
        let mut what = what;
        if let Some(had) = had.and_then(|had| self.errands.remove(&had)) {
            // Nobody was told that it is there.
            if had.what == "create" && what == "delete" {
                return;
            }
            if had.what == "create" {
                what = "create";
            }
        }
        self.serial += 1;
        let key = self.serial;
        let event_id = format!("board_{what}_{id}_{key}");
        let subject = subject.to_owned();
        let errand = Errand { subject, event_id, id, room, what, number: None, out: false, first_ms: now_ms };
        self.errands.insert(key, errand);
        self.later(now_ms, Act::Send(key));
    }

    pub(super) fn presence(&mut self, now_ms: u64) {
        let user = self.chance.span(0, 12);
        self.draft(now_ms, &format!("presence:{user}"), user, u64::MAX, "presence");
    }

    pub(super) fn notice(&mut self, now_ms: u64) {
        let topic = self.chance.span(0, 6);
        self.notices += 1;
        self.draft(now_ms, &format!("topic:{topic}"), topic, u64::MAX, "notice");
    }

    /// Content that no draft allows, and some hosts die of.
    pub(super) fn malformed(&mut self, oracle: &mut Oracle) {
        if !self.can_say() || self.is_quiet {
            return;
        }
        let number = oracle.meant(None, Sense::Says);
        let params = json!({"featureSet": self.kind.feature_set(), "eventId": format!("board_bad_{number}"),
            "timestamp": "2026-11-29T23:57:51.434Z", "payload": {"content": [null, {"text": format!("#{number};")}]}});
        self.ask("push/event", &params, Asked::Event(number));
    }

    pub(super) fn send(&mut self, now_ms: u64, key: u64, oracle: &mut Oracle) {
        let can_say = self.can_say();
        let Some(errand) = self.errands.get_mut(&key) else { return };
        if !can_say || errand.out {
            return;
        }
        // The one before it is settled first.
        if *self.busy.entry(errand.subject.clone()).or_insert(key) != key {
            return;
        }
        if now_ms > errand.first_ms + 3_000_000 {
            // The window is nearly over: whether it is a repeat could not be told any more.
            let subject = errand.subject.clone();
            self.errands.remove(&key);
            return self.next_of(now_ms, &subject);
        }
        let withdraws = errand.what == "delete";
        let number = *errand.number.get_or_insert_with(|| meant(oracle, &errand.subject, withdraws));
        errand.out = true;
        let errand = errand.clone();
        let content = json!([{"type": "text", "text": format!("{} #{number};", errand.what)}]);
        let mut coalesce = json!({"key": errand.subject});
        match errand.what {
            "create" => coalesce["initial"] = true.into(),
            "delete" => coalesce["retract"] = true.into(),
            "notice" => {
                coalesce["deferred"] = true.into();
                coalesce["data"] = json!({"n": number});
            }
            _ => {}
        }
        let in_room = errand.room < REGISTERED;
        if in_room && errand.what == "create" && self.open.contains(&errand.room) {
            let mut said = json!({"channelId": channel(errand.room), "messageId": errand.id.to_string(),
                "eventId": errand.event_id, "author": {"id": "u", "name": "U"},
                "timestamp": "2026-11-29T23:57:51.434Z", "content": content});
            if self.coalesces {
                said["coalesce"] = coalesce;
            }
            self.ask("channels/incoming", &json!({"messages": [said]}), Asked::Errand(key));
            return;
        }
        let mut params = json!({"featureSet": self.kind.feature_set(), "eventId": errand.event_id,
            "timestamp": "2026-11-29T23:57:51.434Z", "payload": {"content": content}});
        if in_room {
            coalesce["channelId"] = channel(errand.room).into();
            params["origin"] = json!({"mcplChannelId": channel(errand.room)});
        }
        if self.coalesces {
            params["coalesce"] = coalesce;
        }
        self.ask("push/event", &params, Asked::Errand(key));
    }

    /// The host answered.
    pub(super) fn settle(
        &mut self,
        now_ms: u64,
        key: u64,
        accepted: bool,
        said: &Value,
        oracle: &mut Oracle,
    ) {
        let Some(errand) = self.errands.get_mut(&key) else { return };
        errand.out = false;
        let number = errand.number.unwrap_or_default();
        let structured = |name: &str| if said[name].is_null() { &said["data"][name] } else { &said[name] };
        let again = structured("retryable") == &json!(true)
            || (said["code"] == json!(-32000) && structured("refusal").is_null())
            || structured("refusal") == "unknown_channel";
        if accepted {
            oracle.told(number, Told::Accepted);
        } else if again {
            let wait = structured("retryAfterMs").as_u64().unwrap_or(1_000).max(20);
            return self.later(now_ms + wait, Act::Send(key));
        } else {
            oracle.told(number, Told::Refused);
        }
        let subject = errand.subject.clone();
        self.errands.remove(&key);
        self.next_of(now_ms, &subject);
    }

    fn next_of(&mut self, now_ms: u64, subject: &str) {
        self.busy.remove(subject);
        let next = self.errands.iter().find(|(_, errand)| errand.subject == subject).map(|(key, _)| *key);
        if let Some(key) = next {
            self.later(now_ms, Act::Send(key));
        }
    }

    /// The connection ended: what was not answered is sent again in the next one.
    pub(super) fn put_back(&mut self, now_ms: u64) {
        if self.kind != Kind::Draft {
            return;
        }
        for errand in self.errands.values_mut() {
            errand.out = false;
        }
        self.later.retain(|_, act| !matches!(act, Act::Send(_)));
        let keys: Vec<u64> = self.errands.keys().copied().collect();
        for key in keys {
            self.later(now_ms + 5_000, Act::Send(key));
        }
    }

    /// It is back, and has said what it is: what waits goes.
    pub(super) fn resume(&mut self, now_ms: u64) {
        let keys: Vec<u64> = self.errands.keys().copied().collect();
        for key in keys {
            self.later(now_ms + 200, Act::Send(key));
        }
    }

    /// What it makes of the notices of a batch: all of them, told once.
    pub(super) fn render(&mut self, params: &Value) -> Value {
        if self.chance.percent(3) {
            return json!({"error": {"code": -32000, "message": "nothing to render with"}});
        }
        let notices = params["notices"].as_array().into_iter().flatten();
        let numbers = notices.filter_map(|notice| notice["data"]["n"].as_u64());
        let text: Vec<String> = numbers.map(|n| format!("#{n};")).collect();
        json!({"result": {"content": [{"type": "text", "text": format!("news: {}", text.join(" "))}]}})
    }
}
