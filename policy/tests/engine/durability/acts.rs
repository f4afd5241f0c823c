//! What the producer, the host, the operator and the disk do.

use bytes::Bytes;
use mcpl_policy::Input;
use mcpl_policy::admission::FeatureSets;
use mcpl_policy::engine::{Arrival, ChannelFact, GrantFact, Host, Phase, Stance, StoreState, Ticket, Word};
use mcpl_policy::journal::Table;
use mcpl_policy::profile::Dedup;

use super::oracle::Told;
use super::world::{Errand, World};
use crate::draft::Draft;
use crate::marks;
use crate::say::{CHANNELS, DECLARED, GRANTED, Say, legacy};

impl World {
    /// Anything, and then hosts that take everything: nothing may be left but what an operator can see.
    pub(super) fn run(&mut self) {
        for _ in 0..self.chance.up_to(40..220) {
            self.act();
            if self.doomed {
                self.kill();
            }
        }
        self.come_to_rest();
    }

    fn act(&mut self) {
        let ms = if self.chance.percent(40) { 0 } else { self.chance.time() };
        self.pass_time(ms);
        match self.chance.up_to(0..1_100) {
            1_000.. => self.producer_acts(),
            0..290 => self.event(),
            290..400 => self.again(),
            400..620 => self.host_acts(),
            620..720 => self.commit(),
            720..735 => self.doomed = true,
            735..755 => self.fail(),
            755..790 => {
                let state = *self.chance.of(&[StoreState::Good, StoreState::Good, StoreState::Short]);
                self.restore(state);
            }
            790..805 => self.store(),
            805..850 if self.session.is_none() => self.begin(),
            805..830 => self.end(),
            830..850 => self.authority(),
            850..900 => self.operator(),
            900..915 => {
                let phase = if self.chance.percent(60) { Phase::Started } else { Phase::Ended };
                self.tell(Input::Inference("i".into(), phase));
            }
            915..930 => self.tell(Input::Assembling),
            930..940 => self.tell(Input::Flush),
            940..955 => {
                let congested = self.chance.percent(40);
                // A render has its time anew: its producer is not heard meanwhile.
                (self.congested, self.steady_ms) = (congested, self.mono_ms());
                self.tell(Input::Congested(congested));
            }
            955..970 => {
                let reading = self.chance.percent(60);
                self.tell(Input::Reading(reading));
            }
            970..980 => {
                let mut settings = self.settings.clone();
                self.chance.change(&mut settings);
                self.settings = settings.clone();
                self.oracle.reload(&settings);
                self.tell(Input::Settings(Box::new(settings)));
            }
            _ => self.tell(Input::Tick),
        }
        self.release();
    }

    /// Time passes; a driver is woken when the engine asked to be, or is late.
    fn pass_time(&mut self, ms: u64) {
        let until = self.now_ms + ms;
        let behind = self.now_ms - self.mono_ms();
        if self.chance.percent(70) {
            for _ in 0..10_000 {
                let due = self.engine.deadline_ms().map(|at| at + behind).filter(|&at| at <= until);
                let Some(at) = due.filter(|_| !self.doomed) else { break };
                self.now_ms = self.now_ms.max(at);
                self.tell(Input::Tick);
            }
        }
        self.now_ms = until;
        self.release();
    }

    /// The disk takes more or less than it did.
    fn store(&mut self) {
        if self.disk.lost || self.doomed {
            return;
        }
        let state = if self.disk.state == StoreState::Good { StoreState::Short } else { StoreState::Good };
        self.disk.state = state;
        self.tell(Input::Store(state));
    }

    fn event(&mut self) {
        if self.session.is_none() || self.wire.blocks() {
            return;
        }
        let notices = if self.chance.flurry() { self.chance.up_to(60..100) } else { 0 };
        for _ in 0..notices {
            let id = self.next_id();
            let notice = self.chance.notice(&id, self.wall_ms());
            self.errands.push(Errand { draft: notice.clone(), told: None, waits: false });
            self.send(&notice);
        }
        let id = self.next_id();
        let mut draft = self.chance.event(&id, self.wall_ms());
        if self.settings.store_uncoalesced && self.chance.percent(40) {
            (draft.key, draft.retract, draft.deferred, draft.initial) = (None, false, false, false);
            draft.data = None;
        }
        self.errands.push(Errand { draft: draft.clone(), told: None, waits: false });
        self.send(&draft);
    }

    fn next_id(&mut self) -> String {
        self.ids += 1;
        format!("e{}", self.ids - 1)
    }

    /// What was not answered, or not accepted, is sent again; and, now and then, what was.
    fn again(&mut self) {
        if self.session.is_none() || self.wire.blocks() {
            return;
        }
        let (from, any) = (self.errands.len().saturating_sub(40), self.chance.percent(25));
        let open: Vec<Draft> = self.errands[from..]
            .iter()
            // What is live past the window would be admitted a second time: right, but hard to tell apart.
            .filter(|errand| !self.oracle.is_past(&errand.draft.id, self.mono_ms()))
            .filter(|errand| match errand.told {
                None => !errand.waits,
                Some(Told::Later) => true,
                Some(Told::Accepted) => any,
                Some(Told::Never) => false,
            })
            .map(|errand| errand.draft.clone())
            .collect();
        if open.is_empty() {
            return;
        }
        let mut draft = self.chance.of(&open).clone();
        let known = self.oracle.known(self.mono_ms() + 1_000).iter().any(|(id, _)| *id == draft.id);
        if draft.key.is_some() && known && self.chance.percent(15) {
            draft.content.push_str(" but different");
        }
        self.send(&draft);
    }

    fn send(&mut self, draft: &Draft) {
        if self.doomed {
            return;
        }
        self.ids += 1;
        let ticket = self.ids;
        self.oracle.asked(ticket, draft);
        self.asked.insert(ticket, draft.id.clone());
        if let Some(errand) = self.errands.iter_mut().find(|errand| errand.draft == *draft) {
            errand.waits = true;
        }
        let event = draft.event();
        let (ticket, thread) = (Ticket(ticket), marks::thread(&draft.id));
        self.tell(Input::Event(Arrival { ticket, answerable: true, event, digest: None, thread }));
        if self.chance.percent(75) {
            self.write_out();
        }
    }

    fn write_out(&mut self) {
        let ways: Vec<u64> = self.wire.ways.keys().copied().collect();
        for forward in ways {
            self.hand_over(forward);
            if self.chance.percent(90) {
                self.written(forward);
            }
        }
    }

    fn written(&mut self, forward: u64) {
        if self.doomed || self.session.is_none() {
            return;
        }
        let Some(way) = self.wire.ways.get_mut(&forward).filter(|way| way.handed_ms.is_some()) else {
            return;
        };
        if !std::mem::replace(&mut way.written, true) {
            self.tell(Input::Written(forward));
        }
    }

    /// The transport or the host does its part.
    fn host_acts(&mut self) {
        let handed = self.wire.handed();
        if handed.is_empty() || self.chance.percent(25) {
            return self.write_out();
        }
        let forward = *self.chance.of(&handed);
        self.written(forward);
        let say = self.chance.say(self.kind);
        self.answer(forward, say);
    }

    /// The host deals with a forward, and answers it; not every answer comes, and some come twice.
    fn answer(&mut self, forward: u64, say: Say) {
        let (Some((_, host)), Some(way)) = (self.session, self.wire.ways.get(&forward).cloned()) else {
            return;
        };
        if self.doomed || way.deaf || way.handed_ms.is_none() {
            return;
        }
        let clock = (self.mono_ms(), self.settings.coalesce.retry_window_ms);
        let say = self.far.take(&way, &host, clock, say, &mut self.chance, &mut self.oracle);
        self.say(|| format!("the host says {say:?} of forward {forward}, {} ({:?})", way.id, way.number));
        if !self.calm && self.chance.percent(8) {
            if let Some(way) = self.wire.ways.get_mut(&forward) {
                way.deaf = true;
            }
            return;
        }
        self.wire.ways.remove(&forward);
        let dealt = (!self.disk.lost).then(|| self.engine.steps() + 1);
        self.oracle.replied(&way, &say, dealt);
        self.tell(Input::Replied(forward, say.reply()));
        if self.chance.percent(5) {
            self.tell(Input::Replied(forward, Say::Accepted.reply()));
        }
    }

    fn begin(&mut self) {
        if self.doomed {
            return;
        }
        let stances = [Stance::Over, Stance::Over, Stance::Over, Stance::Over, Stance::Over, Stance::Aside];
        let stance = if self.chance.percent(4) { Stance::Apart } else { *self.chance.of(&stances) };
        let dedup = self.chance.dedup();
        self.began(Host { stance, ..legacy(dedup) });
        if self.kind || self.chance.percent(60) {
            self.permit();
        }
    }

    fn began(&mut self, host: Host) {
        self.sessions += 1;
        (self.session, self.congested) = (Some((self.sessions, host)), false);
        self.tell(Input::Began(host));
    }

    fn permit(&mut self) {
        self.tell(Input::Declared(FeatureSets::of(DECLARED)));
        let submitted = CHANNELS.map(str::to_owned).to_vec();
        self.tell(Input::Channel(ChannelFact::Answered { submitted, result: Bytes::from_static(b"{}") }));
        self.ids += 1;
        let request = self.ids;
        self.tell(Input::Grant(GrantFact::Requested(request, Bytes::from_static(GRANTED))));
        self.tell(Input::Grant(GrantFact::Answered { request, accepted: true }));
    }

    fn authority(&mut self) {
        if self.kind || self.chance.percent(60) {
            return self.permit();
        }
        let narrow = Bytes::from_static(br#"{"disabled":["fs-a"]}"#);
        self.tell(Input::Grant(GrantFact::Notified(narrow)));
    }

    /// Host or producer vanish.
    fn end(&mut self) {
        if self.doomed {
            return;
        }
        self.session_over();
        let listens = self.chance.percent(50);
        self.wire.end(listens);
        self.wire.ways.clear();
        self.wire.asks.clear();
        if !listens {
            self.hang_up();
        }
        self.tell(Input::Ended);
        self.hang_up();
    }

    /// What the host was given it may deal with all the same.
    pub(super) fn session_over(&mut self) {
        let Some((_, host)) = self.session.take() else { return };
        for forward in self.wire.handed() {
            let say = self.chance.say(self.kind);
            if self.chance.percent(60) {
                let way = self.wire.ways[&forward].clone();
                let clock = (self.mono_ms(), self.settings.coalesce.retry_window_ms);
                self.far.take(&way, &host, clock, say, &mut self.chance, &mut self.oracle);
                self.say(|| {
                    format!("the host has dealt with forward {forward}, {} ({:?})", way.id, way.number)
                });
            }
        }
        self.oracle.session_over();
    }

    /// The producer hears no more answers: what it asked it asks again.
    pub(super) fn hang_up(&mut self) {
        self.asked.clear();
        for errand in &mut self.errands {
            errand.waits = false;
        }
    }

    /// An operator looks at something, and says a word; the journal may have moved on when it is heard.
    fn operator(&mut self) {
        if self.doomed {
            return;
        }
        let open: Vec<(u64, u32)> = self
            .disk
            .book
            .table(Table::Work)
            .map(|(number, row)| (number, mcpl_policy::journal::WorkRow::decode(number, row).unwrap()))
            .filter(|(_, row)| {
                row.doubtful
                    || row.fate.is_in_doubt()
                    || matches!(row.fate, mcpl_policy::engine::Fate::Dead(_))
            })
            .map(|(number, row)| (number, row.revision))
            .collect();
        let (number, revision) =
            if open.is_empty() { (self.chance.up_to(1..40), 1) } else { *self.chance.of(&open) };
        let expect = match self.chance.up_to(0..10) {
            0..2 => None,
            2..4 => Some(revision + 1),
            _ => Some(revision),
        };
        let word = *self.chance.of(&[Word::Submitted, Word::NotSubmitted, Word::Again, Word::Drop]);
        self.ids += 1;
        self.words.insert(self.ids, (expect, word));
        self.disk.letter(self.ids, number);
        self.say(|| format!("an operator says {word:?} of {number}, expecting {expect:?}"));
        if self.chance.percent(50) {
            self.commit();
        }
    }

    /// A host that takes everything, and time: nothing is left.
    fn come_to_rest(&mut self) {
        if self.chance.percent(30) {
            self.kill();
        }
        self.calm = true;
        self.restore(StoreState::Good);
        self.prompt = 100;
        if self.session.is_some() {
            self.end();
        }
        self.settings.in_flight = 64;
        self.settings.forward_rate_per_s = 0.0;
        self.tell(Input::Store(StoreState::Good));
        self.disk.state = StoreState::Good;
        self.tell(Input::Settings(Box::new(self.settings.clone())));
        self.began(legacy(Dedup::Both));
        self.permit();
        for _ in 0..5_000 {
            self.commit();
            self.release();
            for forward in self.wire.ways.keys().copied().collect::<Vec<_>>() {
                self.hand_over(forward);
                self.written(forward);
                self.answer(forward, Say::Accepted);
            }
            if self.chance.percent(70) {
                self.answer_renders();
            }
            if self.disk.waiting() > 0 || !self.wire.ways.is_empty() {
                continue;
            }
            if self.engine.load().held == 0 && self.engine.load().out == 0 {
                break;
            }
            let at = self.engine.deadline_ms().expect("held, and never to be looked at again");
            let behind = self.now_ms - self.mono_ms();
            self.now_ms = self.now_ms.max(at + behind);
            self.tell(Input::Tick);
        }
        self.oracle.at_rest(&self.disk.book);
    }
}
