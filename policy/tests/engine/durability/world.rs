//! The sidecar, its driver and its disk.

use std::collections::{HashMap, HashSet};

use mcpl_policy::engine::{Answer, Host, Resolve, StoreState, Word};
use mcpl_policy::journal::{Change, Step, Table, WorkRow};
use mcpl_policy::{Engine, Input, Now, Output, Settings};
use serde_json::Value;

use super::disk::{Disk, News};
use super::host::Far;
use super::oracle::{Ends, Moment, Oracle, Seat, Seen, Told};
use super::wire::{Ask, Gated, Way, Wire};
use crate::draft::Draft;
use crate::simulation::chance::Chance;
use crate::watch::assert_told;

/// When the calendar starts.
pub(super) const EPOCH_MS: i64 = 1_767_225_600_000;

/// What passes waits for the journal this long at most (contract 7.6).
const PASS_MS: u64 = 250;

/// What the producer has to say, and how that goes.
#[derive(Clone, Debug)]
pub(super) struct Errand {
    pub(super) draft: Draft,
    pub(super) told: Option<Told>,
    /// It waits for an answer.
    pub(super) waits: bool,
}

pub(super) struct World {
    pub(super) engine: Engine,
    pub(super) disk: Disk,
    pub(super) wire: Wire,
    pub(super) far: Far,
    pub(super) oracle: Oracle,
    pub(super) chance: Chance,
    pub(super) settings: Settings,
    /// The time of the world.
    pub(super) now_ms: u64,
    /// How far the sidecar's running time is behind it.
    pub(super) behind_ms: u64,
    /// Since when the disk has taken everything, in the sidecar's running time.
    pub(super) steady_ms: u64,
    /// The way to the host is full.
    pub(super) congested: bool,
    pub(super) session: Option<(u64, Host)>,
    pub(super) sessions: u64,
    /// Everything that can be denied is.
    pub(super) kind: bool,
    /// How likely the disk gets on after each input, in percent.
    pub(super) prompt: u32,
    pub(super) errands: Vec<Errand>,
    pub(super) asked: HashMap<u64, String>,
    pub(super) words: HashMap<u64, (Option<u32>, Word)>,
    pub(super) ids: u64,
    /// The sidecar is killed here.
    pub(super) doomed: bool,
    /// Nothing is lost any more.
    pub(super) calm: bool,
    /// Work that was read back and not written since.
    pub(super) relics: HashSet<u64>,
    verbose: bool,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed ^ 0x6a6f_7572);
        let tight = chance.percent(20);
        let mut settings = chance.settings(tight);
        settings.store_uncoalesced = chance.percent(50);
        settings.max_dead_letters = *chance.of(&[0, 1, 2, 10_000]);
        settings.coalesce.retry_window_ms = *chance.of(&[60_000, 3_600_000, 3_600_000]);
        let prompt = *chance.of(&[0, 20, 60, 95]);
        let mut engine = Engine::new(settings.clone(), seed);
        engine.observe(true);
        Self {
            engine,
            disk: Disk::new(),
            wire: Wire::default(),
            far: Far::default(),
            oracle: Oracle::new(settings.clone()),
            kind: chance.percent(60),
            chance,
            settings,
            now_ms: 0,
            behind_ms: 0,
            steady_ms: 0,
            congested: false,
            session: None,
            sessions: 0,
            prompt,
            errands: Vec::new(),
            asked: HashMap::new(),
            words: HashMap::new(),
            ids: 0,
            doomed: false,
            calm: false,
            relics: HashSet::new(),
            verbose: std::env::var_os("MCPL_SIM_SEED").is_some(),
        }
    }

    pub(super) fn seen(&mut self) -> &Seen {
        self.oracle.seen()
    }

    pub(super) fn say(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            eprintln!("{:>9} ms  {}", self.mono_ms(), what());
        }
    }

    pub(super) fn mono_ms(&self) -> u64 {
        self.now_ms - self.behind_ms
    }

    pub(super) fn wall_ms(&self) -> i64 {
        EPOCH_MS + self.now_ms as i64
    }

    pub(super) fn moment(&self) -> Moment {
        let store = if self.disk.lost { StoreState::Gone } else { self.disk.state };
        Moment { now_ms: self.mono_ms(), wall_ms: self.wall_ms(), store }
    }

    /// A place where the sidecar may be killed.
    pub(super) fn boundary(&mut self) -> bool {
        if !self.calm && !self.doomed && self.chance.up_to(0..400) == 0 {
            self.say(|| "doomed".to_owned());
            self.doomed = true;
        }
        self.doomed
    }

    pub(super) fn tell(&mut self, input: Input) {
        if self.doomed {
            return;
        }
        self.say(|| format!("{input:?}"));
        let now = Now { mono_ms: self.mono_ms(), wall_ms: self.wall_ms() };
        let resolve = if let Input::Resolve(resolve) = &input { Some((**resolve).clone()) } else { None };
        self.engine.handle(now, input);
        if self.boundary() {
            return;
        }
        self.carry_out(resolve.as_ref());
        if !self.disk.lost && self.chance.percent(self.prompt) {
            self.commit();
        }
    }

    /// Carries out the engine's wishes.
    pub(super) fn carry_out(&mut self, resolve: Option<&Resolve>) {
        let outputs: Vec<Output> = std::iter::from_fn(|| self.engine.poll()).collect();
        let mut ended = Ends::default();
        for output in &outputs {
            self.say(|| format!("    -> {output:?}"));
            if let Output::Ended { event_id, fate } = output {
                ended.told.push((String::from(&**event_id), fate.clone()));
            }
        }
        let before = self.disk.live.clone();
        let steps: Vec<Step> = outputs
            .iter()
            .filter_map(|output| if let Output::Step(step) = output { Some(step.clone()) } else { None })
            .collect();
        ended.settled = outputs.iter().find_map(|output| match output {
            Output::Resolved { result: Ok(fate), .. } => Some((resolve?.number, fate.clone())),
            _ => None,
        });
        assert!(steps.len() <= 1, "one step an input");
        let step = steps.first();
        let seen = self.engine.take_seen();
        match step {
            Some(step) => assert_told(step, &seen),
            None => assert!(seen.is_empty(), "{seen:?}"),
        }
        let made = step.map(|step| step.seq);
        if let Some(step) = step {
            self.submit(step, &ended);
        }
        let mut taken = Vec::new();
        for output in outputs {
            match output {
                Output::Step(_) | Output::Ended { .. } | Output::Retrying { .. } => {}
                Output::Render { number, params, after, .. } => {
                    let step = step.filter(|_| after == made).expect("a render waits for its own step");
                    if self.disk.lost {
                        continue;
                    }
                    let (render, made_ms) = (number, self.mono_ms());
                    let number = self.oracle.render_made(&params, step);
                    self.gate(after, Gated::Render(Ask { render, number, made_ms, left_ms: 0 }));
                }
                Output::Answer { ticket, answer: Answer::Again(number), .. } => {
                    self.disk.recall(ticket.0, number);
                }
                Output::Answer { ticket, answer, after } => {
                    self.gate(after, Gated::Answer { ticket: ticket.0, answer });
                }
                Output::Pass { ticket, after } => {
                    self.gate(after, Gated::Pass { ticket: ticket.0, since_ms: self.now_ms });
                }
                Output::Forward { number, lane, body, after, .. } => {
                    let step = step.filter(|_| after == made).expect("a forward waits for its own step");
                    let told: Value = serde_json::from_slice(&body).expect("a forward is JSON");
                    let id = told["eventId"].as_str().expect("an eventId").to_owned();
                    let way = self.forwarded(&id, number, (step, &mut taken));
                    self.gate(after, Gated::Forward(Way { id, lane, body, ..way }));
                }
                Output::Resolved { request, result, after } => {
                    let resolve = resolve.expect("an operator said a word");
                    if !self.disk.lost {
                        self.oracle.resolved(resolve, &result, (&before, &self.disk.live), made);
                    }
                    self.gate(after, Gated::Resolved { request });
                }
            }
        }
        self.compare();
    }

    fn submit(&mut self, step: &Step, ended: &Ends) {
        if self.disk.lost {
            return;
        }
        for change in &step.changes {
            if let Change::Put { table: Table::Work, id, .. } = change {
                self.relics.remove(id);
            }
        }
        self.disk.submit(step.clone());
        let moment = self.moment();
        self.oracle.step(step, &self.disk.live, ended, moment);
    }

    /// Whose forward it is: of what this step says is handed over, or a write-through. One event may have been
    /// admitted again while it still waits; they go in the order of their places.
    fn forwarded(&self, id: &str, forward: u64, (step, taken): (&Step, &mut Vec<u64>)) -> Way {
        let rows = step.changes.iter().filter_map(|change| match change {
            Change::Put { table: Table::Work, id, row } => Some((*id, WorkRow::decode(*id, row).unwrap())),
            _ => None,
        });
        let number = rows
            .filter(|(number, row)| row.fate.is_submitted() && self.oracle.is(*number, id))
            .filter(|(number, _)| !taken.contains(number))
            .min_by_key(|(_, row)| row.order);
        let number = number.map(|(number, row)| {
            self.oracle.made(number, &row);
            number
        });
        taken.extend(number);
        Way {
            forward,
            id: String::new(),
            number,
            lane: mcpl_codec::Lane::Push,
            body: bytes::Bytes::new(),
            made_ms: self.mono_ms(),
            handed_ms: None,
            written: false,
            deaf: false,
        }
    }

    /// The disk gets on, by a group of any size.
    pub(super) fn commit(&mut self) {
        if self.doomed || self.disk.waiting() == 0 {
            return;
        }
        let all = self.disk.waiting();
        let most = if self.chance.percent(60) { all } else { 1 + self.chance.up_to(0..all as u64) as usize };
        let news = self.disk.commit(most);
        self.say(|| format!("commit of {most}: on disk up to {}", self.disk.durable));
        let moment = self.moment();
        self.oracle.durable(self.disk.durable, moment);
        if self.boundary() {
            // The group is whole, and nobody was told.
            self.oracle.seen().torn += 1;
            return;
        }
        for news in news {
            if self.doomed {
                return;
            }
            match news {
                News::Durable(seq) => self.engine.durable(seq),
                News::Recalled(ticket, row) => self.recalled(ticket, row.map(|row| row.answer())),
                News::Letter { request, number, work, text } => {
                    self.release();
                    if let Some((expect, word)) = self.words.get(&request).copied() {
                        let text = text.map(bytes::Bytes::from);
                        let resolve = Resolve { request, number, expect, word, work, text };
                        self.tell(Input::Resolve(Box::new(resolve)));
                    }
                }
            }
        }
        self.release();
    }

    fn recalled(&mut self, ticket: u64, answer: Option<Answer>) {
        if !self.asked.contains_key(&ticket) {
            return;
        }
        if let Some(answer) = answer {
            self.leave(Gated::Answer { ticket, answer });
        } else {
            let id = self.oracle.passed(ticket);
            self.hear(ticket, &id, Told::Later);
        }
    }

    pub(super) fn release(&mut self) {
        while !self.doomed
            && let Some(gated) = self.wire.due(self.disk.durable)
        {
            self.leave(gated);
        }
        let Some(before_ms) = self.now_ms.checked_sub(PASS_MS) else { return };
        for gated in self.wire.late(before_ms) {
            self.oracle.seen().late_passes += 1;
            self.leave(gated);
        }
    }

    /// The first bytes of a forward leave.
    pub(super) fn hand_over(&mut self, forward: u64) {
        let Some((number, host)) = self.session else { return };
        let Some(way) = self.wire.ways.get(&forward).filter(|way| way.handed_ms.is_none()).cloned() else {
            return;
        };
        if self.doomed {
            return;
        }
        self.say(|| format!("leaves: {} as forward {forward}", way.id));
        self.oracle.left(&way, Seat { number, host: &host }, &self.disk.book, self.mono_ms());
        let now_ms = self.mono_ms();
        if let Some(way) = self.wire.ways.get_mut(&forward) {
            way.handed_ms = Some(now_ms);
        }
        self.tell(Input::HandedOver(forward));
    }

    /// What the disk is to say is what the engine holds.
    pub(super) fn compare(&self) {
        if !self.disk.lost && !self.doomed {
            let relic = |number: u64| self.relics.contains(&number);
            self.disk.live.assert_agrees(&self.engine, relic, self.settings.max_dead_letters);
        }
    }
}
