//! The producer, the host, the clock and the operator.

use bytes::Bytes;
use mcpl_codec::{Event, raw};
use mcpl_policy::admission::{FeatureSets, Learned};
use mcpl_policy::engine::{Answer, Arrival, ChannelFact, GrantFact, Host, Phase, Stance, Taught, Ticket};
use mcpl_policy::profile::Dedup;
use mcpl_policy::{Engine, Input, Now, Output, Settings};

use super::chance::Chance;
use super::oracle::{Fact, Oracle, Seen};
use crate::book::Book;
use crate::draft::Draft;
use crate::marks::{self, Marks};
use crate::say::{CHANNELS, DECLARED, GRANTED, Say, legacy};
use crate::telling::Telling;
use crate::watch::assert_told;

/// When the calendar starts.
const EPOCH_MS: i64 = 1_767_225_600_000;

/// One run.
pub(super) struct World {
    engine: Engine,
    book: Book,
    marks: Marks,
    oracle: Oracle,
    chance: Chance,
    settings: Settings,
    now_ms: u64,
    /// How far the calendar is off the monotonic clock.
    skew_ms: i64,
    in_session: bool,
    /// Hosts of this run refuse nothing for good and permit everything.
    kind: bool,
    tickets: u64,
    events: u64,
    grants: u64,
    verbose: bool,
    outputs: Vec<String>,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let tight = chance.percent(25);
        let settings = chance.settings(tight);
        let kind = chance.percent(50);
        let mut engine = Engine::new(settings.clone(), seed);
        engine.observe(true);
        Self {
            engine,
            book: Book::default(),
            marks: Marks::default(),
            oracle: Oracle::new(settings.clone(), tight),
            chance,
            settings,
            now_ms: 0,
            skew_ms: 0,
            in_session: false,
            kind,
            tickets: 0,
            events: 0,
            grants: 0,
            verbose: std::env::var_os("MCPL_SIM_SEED").is_some(),
            outputs: Vec::new(),
        }
    }

    pub(super) fn seen(&self) -> &Seen {
        self.oracle.seen()
    }

    /// Everything it did, as text.
    pub(super) fn outputs(self) -> Vec<String> {
        self.outputs
    }

    /// Anything, and then a host that takes everything: nothing may be left.
    pub(super) fn run(&mut self) {
        if self.chance.percent(90) {
            self.begin();
        }
        let steps = self.chance.up_to(40..260);
        for _ in 0..steps {
            self.act();
        }
        self.come_to_rest();
    }

    fn feed(&mut self, input: Input, fact: &Fact) {
        let is_late = self.engine.deadline_ms().is_some_and(|at| at <= self.now_ms);
        let free = matches!(fact, Fact::Replied(..) | Fact::Other)
            || (matches!(fact, Fact::Event { .. }) && !self.oracle.is_aside());
        if is_late && !free {
            // What was due before the rules changed: the oracle knows one set of rules a step.
            self.tell(Input::Tick, &Fact::Other);
        }
        self.tell(input, fact);
        // A driver looks at the clock again after each input.
        for _ in 0..1_000 {
            if self.engine.deadline_ms().is_none_or(|at| at > self.now_ms) {
                return self.oracle.times();
            }
            self.tell(Input::Tick, &Fact::Other);
        }
        panic!("the engine never comes to rest");
    }

    fn tell(&mut self, input: Input, fact: &Fact) {
        let now = Now { mono_ms: self.now_ms, wall_ms: EPOCH_MS + self.now_ms as i64 + self.skew_ms };
        if self.verbose {
            eprintln!("{:>9} ms  {fact:?}", self.now_ms);
        }
        self.oracle.learn(&input);
        self.engine.handle(now, input);
        let mut outputs: Vec<Output> = Vec::new();
        while let Some(output) = self.engine.poll() {
            if self.verbose && !matches!(output, Output::Step(_)) {
                eprintln!("              -> {output:?}");
            }
            self.outputs.push(format!("{output:?}"));
            match output {
                // What is gated on a step may come before it.
                Output::Step(step) => {
                    let told = self.engine.take_seen();
                    assert_told(&step, &told);
                    self.book.apply(&step);
                    self.marks.learn(&told);
                    self.marks.assert_written(&self.book);
                    self.engine.durable(step.seq);
                    outputs.insert(0, Output::Step(step));
                }
                output => outputs.push(output),
            }
        }
        for output in &outputs {
            if let Output::Forward { body: told, thread, .. } | Output::Render { params: told, thread, .. } =
                output
            {
                let event_id = raw::member(told, "eventId").and_then(raw::string).unwrap();
                self.marks.assert_handed(&event_id, thread.as_deref());
            }
        }
        for output in &mut outputs {
            if let Output::Answer { answer, .. } = output
                && let Answer::Again(number) = *answer
            {
                *answer = self.book.answer(number);
            }
        }
        self.book.assert_agrees(&self.engine, |_| false, self.settings.max_dead_letters);
        self.oracle.check(now, fact, &outputs, self.engine.load());
    }

    fn act(&mut self) {
        let ms = self.chance.time();
        self.pass(ms);
        match self.chance.up_to(0..110) {
            0..38 => self.event(),
            38..44 => self.again(),
            44..72 => self.host_acts(),
            72..77 if !self.in_session => self.begin(),
            72..74 => self.end(),
            74..77 => self.authority(),
            77..81 => {
                let (id, started) = (self.chance.up_to(0..2), self.chance.percent(60));
                let phase = if started { Phase::Started } else { Phase::Ended };
                self.feed(Input::Inference(id.to_string().into(), phase), &Fact::Inference(id, started));
            }
            81..83 => self.feed(Input::Assembling, &Fact::Other),
            83..84 => self.feed(Input::Flush, &Fact::Other),
            84..86 => {
                let congested = self.chance.percent(40);
                self.feed(Input::Congested(congested), &Fact::Congested(congested));
            }
            86..89 => {
                let reading = self.chance.percent(60);
                self.feed(Input::Reading(reading), &Fact::Reading(reading));
            }
            89..91 => {
                let mut settings = self.settings.clone();
                self.chance.change(&mut settings);
                self.settings = settings.clone();
                self.feed(Input::Settings(Box::new(settings.clone())), &Fact::Settings(Box::new(settings)));
            }
            100..110 => self.producer_acts(),
            91..92 => self.skew_ms += self.chance.up_to(0..100_000) as i64 - 50_000,
            _ => self.feed(Input::Tick, &Fact::Other),
        }
    }

    /// Time passes; a driver is woken when the engine asked to be, or is late.
    fn pass(&mut self, ms: u64) {
        let until = self.now_ms + ms;
        if self.chance.percent(70) {
            for _ in 0..10_000 {
                let Some(at) = self.engine.deadline_ms().filter(|&at| at <= until) else { break };
                self.now_ms = self.now_ms.max(at);
                self.feed(Input::Tick, &Fact::Other);
            }
        }
        self.now_ms = until;
    }

    fn event(&mut self) {
        if self.chance.flurry() {
            return self.flurry();
        }
        let id = format!("e{}", self.events);
        self.events += 1;
        let wall_ms = EPOCH_MS + self.now_ms as i64 + self.skew_ms;
        let mut draft = self.chance.event(&id, wall_ms);
        if self.chance.percent(4) {
            draft.wrong = Some(self.chance.wrong());
        }
        let answerable = self.chance.percent(96);
        self.arrive(draft, answerable);
    }

    /// A retry, or the same `eventId` for something else.
    fn again(&mut self) {
        let known = self.oracle.retryable(self.now_ms);
        if known.is_empty() {
            return;
        }
        let mut draft = self.chance.of(&known).clone();
        if self.chance.percent(25) {
            draft.content.push_str(" but different");
        }
        self.arrive(draft, true);
    }

    /// So many notices that not all of them are kept.
    fn flurry(&mut self) {
        let id = |world: &mut Self| {
            world.events += 1;
            format!("e{}", world.events - 1)
        };
        for _ in 0..self.chance.up_to(60..140) {
            let id = id(self);
            let notice = self.chance.notice(&id, EPOCH_MS + self.now_ms as i64 + self.skew_ms);
            self.arrive(notice, true);
        }
    }

    /// The producer answers a render: one that waits for it, or any other.
    fn producer_acts(&mut self) {
        let (open, all) = (self.oracle.renders(), self.oracle.asked());
        let late = self.chance.percent(15) && all > 0;
        let number =
            if open.is_empty() || late { self.chance.up_to(0..=all) } else { *self.chance.of(&open) };
        let telling = self.chance.telling();
        self.rendered(number, telling.clone());
        if self.chance.percent(10) {
            self.rendered(number, telling);
        }
    }

    fn rendered(&mut self, number: u64, telling: Telling) {
        self.feed(Input::Rendered(number, telling.rendering()), &Fact::Rendered(number, telling));
    }

    fn arrive(&mut self, draft: Draft, answerable: bool) {
        self.tickets += 1;
        let ticket = self.tickets;
        let (event, thread) = (draft.event(), marks::thread(&draft.id));
        let arrival = Arrival { ticket: Ticket(ticket), answerable, event, digest: None, thread };
        self.feed(Input::Event(arrival), &Fact::Event { draft, ticket, answerable });
        if self.chance.percent(75) {
            self.write_out();
        }
    }

    fn write_out(&mut self) {
        for (number, handed, written) in self.oracle.ways() {
            if !handed {
                self.feed(Input::HandedOver(number), &Fact::Handed(number));
            }
            if !written && self.chance.percent(90) {
                self.feed(Input::Written(number), &Fact::Written(number));
            }
        }
    }

    /// The transport or the host does its part.
    fn host_acts(&mut self) {
        let ways = self.oracle.ways();
        if ways.is_empty() || self.chance.percent(20) {
            return self.write_out();
        }
        let (number, ..) = *self.chance.of(&ways);
        self.write_one(number);
        let say = self.chance.say(self.kind);
        self.feed(Input::Replied(number, say.reply()), &Fact::Replied(number, say));
    }

    fn write_one(&mut self, number: u64) {
        self.feed(Input::HandedOver(number), &Fact::Handed(number));
        self.feed(Input::Written(number), &Fact::Written(number));
    }

    fn begin(&mut self) {
        let stance = *self.chance.of(&[
            Stance::Over,
            Stance::Over,
            Stance::Over,
            Stance::Over,
            Stance::Over,
            Stance::Over,
            Stance::Aside,
            Stance::Apart,
        ]);
        let (dedup, enforces_policy) = (self.chance.dedup(), self.chance.percent(5));
        self.began(Host { stance, enforces_policy, ..legacy(dedup) });
        if self.kind || self.chance.percent(50) {
            self.permit();
        }
    }

    fn began(&mut self, host: Host) {
        self.in_session = true;
        self.feed(Input::Began(host), &Fact::Began(host));
    }

    fn end(&mut self) {
        self.in_session = false;
        self.feed(Input::Ended, &Fact::Ended);
    }

    fn permit(&mut self) {
        self.feed(Input::Declared(FeatureSets::of(DECLARED)), &Fact::Other);
        let submitted = CHANNELS.map(str::to_owned).to_vec();
        let answered = ChannelFact::Answered { submitted, result: Bytes::from_static(b"{}") };
        self.feed(Input::Channel(answered), &Fact::Other);
        self.grants += 1;
        let requested = GrantFact::Requested(self.grants, Bytes::from_static(GRANTED));
        self.feed(Input::Grant(requested), &Fact::Other);
        let answered = GrantFact::Answered { request: self.grants, accepted: true };
        self.feed(Input::Grant(answered), &Fact::Open(true));
    }

    /// Something about the authority changes.
    fn authority(&mut self) {
        if self.kind {
            return self.permit();
        }
        let channel = (*self.chance.of(&CHANNELS)).to_owned();
        let fact = Fact::Open(false);
        match self.chance.up_to(0..7) {
            0..2 => self.permit(),
            2 => {
                let narrow = Bytes::from_static(br#"{"disabled":["fs-a"]}"#);
                self.feed(Input::Grant(GrantFact::Notified(narrow)), &fact);
            }
            3 => {
                self.grants += 1;
                let narrow = Bytes::from_static(br#"{"effectiveCapabilities":["pushEvents"]}"#);
                self.feed(Input::Grant(GrantFact::Requested(self.grants, narrow)), &fact);
                let accepted = self.chance.percent(60);
                let answered = GrantFact::Answered { request: self.grants, accepted };
                self.feed(Input::Grant(answered), &fact);
            }
            4 => {
                let removed = ChannelFact::Notified { added: Vec::new(), removed: vec![channel] };
                self.feed(Input::Channel(removed), &fact);
            }
            5 => self.feed(Input::Channel(ChannelFact::Opened(channel)), &fact),
            _ => {
                let wall_ms = EPOCH_MS + self.now_ms as i64;
                let event: Event = self.chance.event("taught", wall_ms).event();
                let learned = if self.chance.percent(60) { Learned::Open } else { Learned::Closed };
                self.feed(Input::Taught(Taught::of(&event), learned), &fact);
            }
        }
    }

    /// A host that takes everything, and time: nothing is left.
    fn come_to_rest(&mut self) {
        if self.in_session {
            self.end();
        }
        self.settings.in_flight = 64;
        self.settings.forward_rate_per_s = 0.0;
        let settings = Box::new(self.settings.clone());
        self.feed(Input::Settings(settings.clone()), &Fact::Settings(settings));
        self.began(legacy(Dedup::Both));
        self.permit();
        for _ in 0..5_000 {
            for (number, ..) in self.oracle.ways() {
                self.write_one(number);
                self.feed(
                    Input::Replied(number, Say::Accepted.reply()),
                    &Fact::Replied(number, Say::Accepted),
                );
            }
            for number in self.oracle.renders() {
                if self.chance.percent(80) {
                    let telling = self.chance.telling();
                    self.rendered(number, telling);
                }
            }
            if self.engine.load().held == 0 && self.engine.load().out == 0 {
                break;
            }
            let at = self.engine.deadline_ms().expect("held, and never to be looked at again");
            self.now_ms = self.now_ms.max(at);
            self.feed(Input::Tick, &Fact::Other);
        }
        self.oracle.at_rest();
    }
}
