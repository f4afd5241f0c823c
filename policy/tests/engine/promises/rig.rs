//! An engine with a clock, driven by hand.

use std::collections::HashMap;

use bytes::Bytes;
use mcpl_codec::Event;
use mcpl_policy::admission::FeatureSets;
use mcpl_policy::engine::{
    Answer, Arrival, ChannelFact, Fate, GrantFact, Host, Outcome, Rendering, Resolve, StoreState, Ticket,
    Unresolved, Word,
};
use mcpl_policy::journal::{Step, Table};
use mcpl_policy::profile::Dedup;
use mcpl_policy::thread::Thread;
use mcpl_policy::{Engine, Input, Now, Output, Settings};
use serde_json::Value;

use crate::book::Book;
use crate::draft::Draft;
use crate::marks::mark;
use crate::say::{CHANNELS, DECLARED, GRANTED, Say, legacy};
use crate::watch::assert_told;

/// What one event was answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answered {
    /// Accepted by us.
    Ours(Outcome, Option<String>),
    /// The host's words; the outcome where it accepted.
    Host(Option<Outcome>),
    /// Accepted as it is, and kept.
    Stored,
    /// Refused by us: kind, and the time of a resend.
    Refused(String, Option<u64>),
    /// No answer came.
    Unanswered,
    /// Passed on.
    Passed,
}

/// A forward on its way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sent {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) body: Value,
}

pub(super) struct Rig {
    pub(super) engine: Engine,
    pub(super) now_ms: u64,
    tickets: u64,
    grants: u64,
    answers: HashMap<u64, Answered>,
    /// Not yet answered forwards, oldest first.
    pub(super) out: Vec<Sent>,
    /// Renders asked for, in order: number and params.
    pub(super) asked: Vec<(u64, Value)>,
    /// Every `eventId` handed over, in order, and `pass` for what passed.
    pub(super) told: Vec<String>,
    /// The same with the content of each.
    pub(super) given: Vec<(String, String)>,
    pub(super) fates: Vec<(String, Fate)>,
    /// What the mark of an event is made of beside its `eventId`; `None`: no trace is followed.
    pub(super) follow: Option<&'static str>,
    /// What each forward and render stood for, in order.
    pub(super) threads: Vec<Option<Box<Thread>>>,
    /// What is on disk.
    pub(super) book: Book,
    settings: Settings,
    /// How far the calendar is ahead of the running time.
    ahead_ms: i64,
    /// Steps that do not get to disk for now; `None`: each does at once.
    stalled: Option<Vec<Step>>,
    durable: u64,
    /// What became of an operator's words.
    pub(super) resolved: Vec<Result<Fate, Unresolved>>,
}

pub(super) fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings);
    settings
}

impl Rig {
    /// No session yet.
    pub(super) fn new(settings: Settings) -> Self {
        let mut engine = Engine::new(settings.clone(), 7);
        engine.observe(true);
        Self {
            engine,
            settings,
            ahead_ms: 0,
            stalled: None,
            durable: 0,
            now_ms: 1_000,
            tickets: 0,
            grants: 0,
            answers: HashMap::new(),
            out: Vec::new(),
            asked: Vec::new(),
            told: Vec::new(),
            given: Vec::new(),
            fates: Vec::new(),
            follow: None,
            threads: Vec::new(),
            book: Book::default(),
            resolved: Vec::new(),
        }
    }

    /// A session in which everything is permitted.
    pub(super) fn open(settings: Settings) -> Self {
        let mut rig = Self::new(settings);
        rig.begin_open(legacy(Dedup::Push));
        rig
    }

    /// A session of which nothing is known: everything is written through.
    pub(super) fn unknown(settings: Settings) -> Self {
        let mut rig = Self::new(settings);
        rig.feed(Input::Began(legacy(Dedup::Push)));
        rig
    }

    pub(super) fn begin_open(&mut self, host: Host) {
        self.feed(Input::Began(host));
        self.permit();
    }

    /// The producer declares its feature sets, the host grants them and registers the channels.
    pub(super) fn permit(&mut self) {
        self.feed(Input::Declared(FeatureSets::of(DECLARED)));
        self.grant(GRANTED);
        let submitted = CHANNELS.map(str::to_owned).to_vec();
        self.feed(Input::Channel(ChannelFact::Answered { submitted, result: Bytes::from_static(b"{}") }));
    }

    pub(super) fn grant(&mut self, params: &'static [u8]) {
        self.grants += 1;
        let request = self.grants;
        self.feed(Input::Grant(GrantFact::Requested(request, Bytes::from_static(params))));
        self.feed(Input::Grant(GrantFact::Answered { request, accepted: true }));
    }

    pub(super) fn feed(&mut self, input: Input) {
        let now = Now { mono_ms: self.now_ms, wall_ms: self.wall_ms() };
        self.engine.handle(now, input);
        self.drain();
    }

    pub(super) fn wall_ms(&self) -> i64 {
        1_767_225_600_000 + self.now_ms as i64 + self.ahead_ms
    }

    fn apply(&mut self, step: Step) {
        assert_told(&step, &self.engine.take_seen());
        if let Some(stalled) = &mut self.stalled {
            stalled.push(step);
        } else {
            self.book.apply(&step);
            self.durable = step.seq;
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Retrying { .. } => {}
                Output::Step(step) => self.apply(step),
                Output::Resolved { result, .. } => self.resolved.push(result),
                Output::Answer { ticket, answer, .. } => {
                    let answer = match answer {
                        Answer::Again(number) => self.book.answer(number),
                        answer => answer,
                    };
                    let answered = match answer {
                        Answer::Again(_) => unreachable!("a receipt names no other"),
                        Answer::Stored => Answered::Stored,
                        Answer::Accepted { outcome, prior } => {
                            Answered::Ours(outcome, prior.map(String::from))
                        }
                        Answer::Host { outcome, .. } => Answered::Host(outcome.map(|(outcome, _)| outcome)),
                        Answer::Refused(ours) => {
                            let refusal = ours.refusal();
                            Answered::Refused(refusal.kind.as_str().to_owned(), refusal.retry_after_ms)
                        }
                        Answer::Unanswered => Answered::Unanswered,
                    };
                    assert_eq!(self.answers.insert(ticket.0, answered), None, "answered twice");
                }
                Output::Pass { ticket, .. } => {
                    self.told.push("pass".to_owned());
                    self.given.push(("pass".to_owned(), String::new()));
                    assert_eq!(self.answers.insert(ticket.0, Answered::Passed), None, "answered twice");
                }
                Output::Forward { number, body, thread, .. } => {
                    self.threads.push(thread);
                    let body: Value = serde_json::from_slice(&body).unwrap();
                    let id = body["eventId"].as_str().or(body["messageId"].as_str()).unwrap().to_owned();
                    self.told.push(id.clone());
                    let text = body.pointer("/payload/content").or(body.get("content"));
                    let text = text.and_then(Value::as_str).unwrap_or_default().to_owned();
                    self.given.push((id.clone(), text));
                    self.out.push(Sent { number, id, body });
                }
                Output::Render { number, params, thread, .. } => {
                    self.threads.push(thread);
                    let params: Value = serde_json::from_slice(&params).unwrap();
                    self.asked.push((number, params));
                }
                Output::Ended { event_id, fate } => self.fates.push((event_id.into(), fate)),
            }
        }
        self.engine.durable(self.durable);
    }

    /// The producer answers render `number` with a text; `None`: with an error.
    pub(super) fn render(&mut self, number: u64, text: Option<&str>) {
        let rendering = text.map_or(Rendering::Failed, |text| Rendering::Content {
            content: serde_json::to_vec(text).unwrap().into(),
            timestamp: Bytes::from_static(b"\"2026-01-01T00:00:00Z\""),
        });
        self.feed(Input::Rendered(number, rendering));
    }

    /// No step gets to disk from now on.
    pub(super) fn stall(&mut self) {
        self.stalled.get_or_insert_default();
    }

    /// The sidecar is killed, and is back after `down_ms` of the calendar: the session is over, and what was not
    /// on disk is gone.
    pub(super) fn kill(&mut self, down_ms: u64) {
        (self.stalled, self.durable) = (None, 0);
        self.out.clear();
        let wall_ms = self.wall_ms() + down_ms as i64;
        self.engine = self.book.engine(self.settings.clone(), wall_ms);
        self.ahead_ms += (self.now_ms + down_ms) as i64 - self.engine.clock_ms() as i64;
        self.now_ms = self.engine.clock_ms();
    }

    /// A commit fails: steps that were stalled are gone. Forwards that waited for them never left.
    pub(super) fn fail(&mut self) {
        self.stalled = Some(Vec::new());
        self.feed(Input::Store(StoreState::Gone));
    }

    /// Commits work again: the engine is as the disk says.
    pub(super) fn restore(&mut self, store: StoreState) {
        self.stalled = None;
        self.engine.restore(self.durable, store, self.book.recovery()).unwrap();
        self.drain();
    }

    /// An operator says a word of `id`, at the revision it is at or another one.
    pub(super) fn resolve(&mut self, id: &str, word: Word, expect: Option<u32>) -> Result<Fate, Unresolved> {
        let number = self.engine.find(id).or_else(|| self.book.number(id)).unwrap_or(0);
        let work = self.book.work(number);
        let text = self.book.row(Table::Content, number).map(Bytes::copy_from_slice);
        let resolve = Resolve { request: 1, number, expect, word, work, text };
        self.feed(Input::Resolve(Box::new(resolve)));
        self.resolved.pop().expect("an operator is answered")
    }

    /// Where the journal says that `id` stands, and at which revision.
    pub(super) fn standing(&self, id: &str) -> Option<(Fate, u32)> {
        let number = self.book.number(id)?;
        let work = self.book.work(number).map(|row| (row.fate, row.revision));
        work.or_else(|| self.book.receipt(number).map(|row| (row.fate, row.revision)))
    }

    /// An event comes; its ticket.
    pub(super) fn event(&mut self, draft: &Draft) -> u64 {
        self.spelled(draft.event())
    }

    /// An event comes, spelled out; its ticket.
    pub(super) fn spelled(&mut self, event: Event) -> u64 {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let id = event.event_id.as_deref().unwrap_or_default();
        let thread = self.follow.map(|more| Box::new(Thread::new(mark(&format!("{id}{more}")), b"luggage")));
        self.feed(Input::Event(Arrival { ticket, answerable: true, event, digest: None, thread }));
        self.tickets
    }

    /// An event comes and is answered at once.
    pub(super) fn send(&mut self, draft: &Draft) -> Answered {
        let ticket = self.event(draft);
        self.answer(ticket).expect("answered at once")
    }

    pub(super) fn answer(&self, ticket: u64) -> Option<Answered> {
        self.answers.get(&ticket).cloned()
    }

    /// Writes the forward of `id` out, whole.
    pub(super) fn write(&mut self, id: &str) {
        let number = self.number(id);
        self.feed(Input::HandedOver(number));
        self.feed(Input::Written(number));
    }

    /// The host answers the forward of `id`.
    pub(super) fn reply(&mut self, id: &str, say: &Say) {
        let number = self.number(id);
        self.out.retain(|sent| sent.number != number);
        self.feed(Input::Replied(number, say.reply()));
    }

    fn number(&self, id: &str) -> u64 {
        self.out.iter().find(|sent| sent.id == id).unwrap_or_else(|| panic!("{id} is not out")).number
    }

    /// The session ends; nothing is out any more.
    pub(super) fn end(&mut self) {
        self.out.clear();
        self.feed(Input::Ended);
    }

    /// Time passes, and the engine is woken whenever it asked to be.
    pub(super) fn wait(&mut self, ms: u64) {
        let until = self.now_ms + ms;
        while let Some(at) = self.engine.deadline_ms().filter(|&at| at <= until) {
            self.now_ms = self.now_ms.max(at);
            self.feed(Input::Tick);
        }
        self.now_ms = until;
        self.feed(Input::Tick);
    }

    /// Time passes until `id` is out, and the host accepts it.
    pub(super) fn deliver(&mut self, id: &str) {
        self.wait(6_000);
        self.write(id);
        self.reply(id, &Say::Accepted);
    }

    pub(super) fn out_ids(&self) -> Vec<&str> {
        self.out.iter().map(|sent| &*sent.id).collect()
    }

    pub(super) fn fate(&self, id: &str) -> Option<&Fate> {
        self.fates.iter().find(|(ended, _)| ended == id).map(|(_, fate)| fate)
    }
}
