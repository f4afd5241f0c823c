//! A producer that works: what it sent, what it was told, and what it sends again.

use std::collections::HashMap;
use std::time::Duration;

use mcpl_tests::{Chance, Host, Session, World, error_code, message, push};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::host::{Model, Read};

const SUBJECTS: u64 = 14;
const PATIENCE: Duration = Duration::from_mins(1);

/// How a part of the course ends.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Part {
    /// One side ends its connection.
    Reconnect,
    /// The program is killed.
    Kill,
    /// Everything sent is answered; the session stays.
    Stay,
}

/// One occurrence.
pub(crate) struct Occurrence {
    pub(crate) event_id: String,
    pub(crate) subject: u64,
    pub(crate) retract: bool,
    method: &'static str,
    params: Value,
    /// Its result, once it was read.
    pub(crate) told: Option<Value>,
}

/// Everything that a producer ever sent.
pub(crate) struct Load {
    chance: Chance,
    pub(crate) all: Vec<Occurrence>,
    /// Requests of the session, by id: the occurrence, and what the host's answers were read then.
    asked: HashMap<String, (usize, Read)>,
    requests: u64,
    retries: u64,
}

impl Load {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            chance: Chance::new(seed + 99),
            all: Vec::new(),
            asked: HashMap::new(),
            requests: 0,
            retries: 0,
        }
    }

    /// For people: how far it is.
    pub(crate) fn stand(&self) -> String {
        let told = self.all.iter().filter(|it| it.told.is_some()).count();
        format!("{} sent, {told} answered, {} retries answered", self.all.len(), self.retries)
    }

    fn fresh(&mut self) -> usize {
        let n = self.all.len();
        let event_id = format!("e{n}");
        let subject = self.chance.below(SUBJECTS);
        let retract = self.chance.percent(14);
        let urgent = self.chance.percent(10);
        let text =
            if retract && self.chance.percent(50) { String::new() } else { format!("text of {event_id}") };
        let key = format!("k{subject}");
        // A third of the subjects is of the push lane, a third of the channel lane, and a third of both.
        let by_message = subject % 3 == 1 || (subject % 3 == 2 && self.chance.percent(50));
        let (method, params) = if by_message {
            let mut event = message(&format!("m{subject}"), &text).key(&key, &event_id);
            if retract {
                event = event.with("coalesce", json!({"key": key, "retract": true}));
            }
            if urgent {
                event = event.with("tags", json!(["chat:mention"]));
            }
            ("channels/incoming", json!({"messages": [event.value()]}))
        } else {
            let mut event = push(&event_id, &text).key(&key);
            if subject % 3 == 2 {
                event = event.channel("chat");
            }
            if retract {
                event = event.retract();
            } else if self.chance.percent(30) {
                event = event.initial();
            }
            if urgent {
                event = event.with("tags", json!(["chat:addressed"]));
            }
            ("push/event", event.params())
        };
        self.all.push(Occurrence { event_id, subject, retract, method, params, told: None });
        n
    }

    fn request(&mut self, nth: usize, read: Read) -> String {
        self.requests += 1;
        let id = format!("\"r{}\"", self.requests);
        let Occurrence { method, params, .. } = &self.all[nth];
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n");
        self.asked.insert(id, (nth, read));
        line
    }

    /// One session of about `quota` answers.
    pub(crate) async fn session(
        &mut self,
        world: &mut World,
        model: &Model,
        part: Part,
        quota: u64,
    ) -> Session {
        let host = Host::with_mind(world.dial().await, model.mind());
        let mut session = Session::open(host, world).await;
        model.opened();
        self.asked.clear();
        let read = model.read();
        let unanswered: Vec<usize> =
            (0..self.all.len()).filter(|&nth| self.all[nth].told.is_none()).collect();
        let again: String = unanswered.into_iter().map(|nth| self.request(nth, read)).collect();
        session.producer.send_bytes(again.as_bytes()).await;
        let window = 1 + self.chance.below(64);
        let (mut heard, mut left) = (session.producer.count(), quota as i64);
        let end = Instant::now() + PATIENCE;
        loop {
            left -= self.hear(&session, &mut heard, model);
            let done = if part == Part::Stay { self.asked.is_empty() } else { left <= 0 };
            if done || session.producer.has_ended() || session.host.has_ended() {
                break;
            }
            assert!(Instant::now() < end, "{} requests are not answered: {}", self.asked.len(), self.stand());
            let mut lines = String::new();
            while part != Part::Stay && (self.asked.len() as u64) < window {
                let known = self.all.len() as u64;
                let nth = if known > 0 && self.chance.percent(10) {
                    self.chance.below(known) as usize
                } else {
                    self.fresh()
                };
                lines += &self.request(nth, model.read());
            }
            if self.chance.percent(3) {
                self.requests += 1;
                let n = self.requests;
                let params = push(&format!("u{n}"), "PASSES").params();
                lines += &format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":\"u{n}\",\"method\":\"push/event\",\"params\":{params}}}\n"
                );
            }
            session.producer.send_bytes(lines.as_bytes()).await;
            if self.chance.percent(5) {
                session.host.send(r#"{"jsonrpc":"2.0","id":"c","method":"context/beforeInference","params":{"inferenceId":"i","conversationId":"c","turnIndex":0,"userMessage":null}}"#).await;
            }
            sleep(Duration::from_micros(500)).await;
        }
        match part {
            Part::Stay => return session,
            Part::Kill => {
                // Not on a beat of the clock.
                let until = Instant::now() + Duration::from_micros(self.chance.below(4000));
                while Instant::now() < until {
                    tokio::task::yield_now().await;
                }
                world.kill().await;
            }
            Part::Reconnect if self.chance.percent(50) => session.host.close().await,
            Part::Reconnect => {
                session.producer.half_close().await;
                session.host.ended().await;
                session.host.close().await;
            }
        }
        // What was still said to the producer counts: it may rely on it.
        session.producer.ended().await;
        self.hear(&session, &mut heard, model);
        session
    }

    /// Takes in what the producer was told; how many answers that were.
    fn hear(&mut self, session: &Session, heard: &mut usize, model: &Model) -> i64 {
        let said = session.producer.since(*heard);
        *heard += said.len();
        let mut count = 0;
        for said in said {
            let id = said.raw("id").unwrap_or_default();
            if said.method().is_some() {
                continue;
            }
            let Some((nth, read)) = self.asked.remove(&id) else { continue };
            let answer = said.json();
            let occurrence = &mut self.all[nth];
            if error_code(&answer) == Some(-32000) {
                // The session ended first: that is no answer, it is sent again in the next.
                continue;
            }
            let result = match occurrence.method {
                "push/event" => &answer["result"],
                _ => &answer["result"]["results"][0],
            };
            assert_eq!(result["accepted"], json!(true), "{}: {answer}", occurrence.event_id);
            match &occurrence.told {
                None => occurrence.told = Some(result.clone()),
                Some(told) => {
                    self.retries += 1;
                    assert_eq!(result, told, "{}: a retry was answered something else", occurrence.event_id);
                }
            }
            model.settle(read);
            count += 1;
        }
        count
    }
}
