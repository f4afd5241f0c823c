//! The sidecar as `wrap` runs it: the real exchange and the real engine, with a driver in virtual time.
//!
//! One process lives as long as the host's connection; its journal outlives it.

mod disk;
mod wrong;

use std::collections::VecDeque;

use mcpl_codec::Line;
use mcpl_policy::journal::Step;
use mcpl_policy::{Engine, Input, Now, Settings};
use mcpl_sidecar::binding::OUTBOX_BYTES;
use mcpl_sidecar::exchange::{Cargo, Deed, Exchange, Side, Terms};

use crate::book::Book;
use crate::chance::Chance;
use crate::oracle::Oracle;
use crate::pipe::Pipes;

use self::wrong::{accepted_in_its_name, again};

/// When the calendar starts.
pub const EPOCH_MS: i64 = 1_767_225_600_000;
/// What passes waits for the journal this long at most (contract 7.6).
const PASS_MS: u64 = 250;

#[derive(Debug)]
struct Gated {
    after: u64,
    to: Side,
    line: Line,
    cargo: Cargo,
    since_ms: u64,
}

#[derive(Debug)]
enum Item {
    Step(Step),
    Read { ticket: u64, receipt: u64 },
}

/// One run of the program.
#[derive(Debug)]
struct Process {
    engine: Engine,
    exchange: Exchange,
    /// Running time less world time.
    ahead_ms: i64,
    gate: VecDeque<Gated>,
    to_host: VecDeque<(Line, Option<u64>)>,
    to_host_bytes: usize,
    to_producer: VecDeque<(Line, Option<u64>)>,
    disk: VecDeque<Item>,
    commit_ms: Option<u64>,
    durable: u64,
    lost: bool,
    congested: bool,
    reading: bool,
    parse_limit: Noise,
}

/// Lines that were no message.
#[derive(Debug, Default)]
struct Noise(u64);

/// What can be done wrong on purpose, to see that it is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    #[default]
    Nothing,
    /// One forward in so many never reaches the host, and is answered as accepted in its name.
    Loss,
    /// One forward in so many is sent once more, under another id.
    Double,
    /// A withdrawal in so many is answered as accepted and kept from the engine.
    Deaf,
}

#[derive(Debug)]
pub struct Sidecar {
    terms: Terms,
    settings: Settings,
    book: Book,
    chance: Chance,
    process: Option<Process>,
    runs: u64,
    /// Commits fail until then.
    pub fails_until_ms: u64,
    /// The disk is full until then.
    pub full_until_ms: u64,
    is_full: bool,
    slow_until_ms: u64,
    plant: Plant,
    planted: u64,
    verbose: bool,
}

impl Sidecar {
    pub fn new(terms: Terms, settings: Settings, seed: u64, plant: Plant) -> Self {
        Self {
            terms,
            settings,
            book: Book::default(),
            chance: Chance::new(seed ^ 0x51de),
            process: None,
            runs: 0,
            fails_until_ms: 0,
            full_until_ms: 0,
            is_full: false,
            slow_until_ms: 0,
            plant,
            planted: 0,
            verbose: std::env::var_os("MCPL_WEEK_TRACE").is_some(),
        }
    }

    pub fn slow_until(&mut self, until_ms: u64) {
        self.slow_until_ms = until_ms;
    }

    pub fn begin(&mut self, now_ms: u64) {
        self.runs += 1;
        let wall_ms = EPOCH_MS + now_ms as i64;
        let seed = self.chance.next();
        let engine = Engine::recover(self.settings.clone(), wall_ms, self.book.recovery(seed)).unwrap();
        self.process = Some(Process {
            ahead_ms: engine.clock_ms() as i64 - now_ms as i64,
            engine,
            exchange: Exchange::new(self.terms.clone(), &format!("{:x}", self.runs)),
            gate: VecDeque::new(),
            to_host: VecDeque::new(),
            to_host_bytes: 0,
            to_producer: VecDeque::new(),
            disk: VecDeque::new(),
            commit_ms: None,
            durable: 0,
            lost: false,
            congested: false,
            reading: true,
            parse_limit: Noise::default(),
        });
        self.is_full = false;
    }

    /// The connection ended. `killed`: and the program with it, at once.
    pub fn end(&mut self, now_ms: u64, oracle: &mut Oracle, killed: bool) {
        if !killed && let Some(process) = &mut self.process {
            process.to_host.retain(|(_, tag)| tag.is_none());
            process.gate.retain(|gated| matches!(gated.cargo, Cargo::Answer(_)));
            let now = process.now(now_ms);
            process.exchange.end(&mut process.engine, now);
            self.carry(now_ms, oracle);
            if self.fails_until_ms <= now_ms
                && let Some(process) = &mut self.process
                && !process.lost
            {
                for item in process.disk.drain(..) {
                    if let Item::Step(step) = item {
                        self.book.apply(&step);
                    }
                }
            }
        }
        self.process = None;
    }

    pub fn due(&self) -> Option<u64> {
        let process = self.process.as_ref()?;
        let engine = process.engine.deadline_ms().map(|at| (at as i64 - process.ahead_ms).max(0) as u64);
        let late = process.gate.iter().find(|gated| matches!(gated.cargo, Cargo::Pass));
        let late = late.map(|gated| gated.since_ms + PASS_MS);
        let full = (self.is_full).then_some(self.full_until_ms);
        [engine, late, process.commit_ms, full].into_iter().flatten().min()
    }

    /// Moves what can be moved; whether anything was.
    pub fn step(&mut self, now_ms: u64, pipes: &mut Pipes, oracle: &mut Oracle) -> bool {
        if self.process.is_none() {
            return false;
        }
        let mut moved = self.commit(now_ms, oracle);
        self.fill(now_ms, oracle);
        self.pass_late(now_ms);
        if let Some(process) = &self.process {
            let now = process.now(now_ms);
            if process.engine.deadline_ms().is_some_and(|at| at <= now.mono_ms) {
                self.tell(now_ms, Input::Tick, oracle);
                moved = true;
            }
        }
        for side in [Side::Host, Side::Producer] {
            while self.process.as_ref().is_some_and(|process| process.may_read(side)) {
                let pipe = if side == Side::Host { &mut pipes.from_host } else { &mut pipes.from_producer };
                let Some(text) = pipe.pop() else { break };
                moved = true;
                if side == Side::Producer {
                    oracle.heard(&text);
                    if self.is_deaf_to(&text, pipes) {
                        continue;
                    }
                }
                let Some(process) = self.process.as_mut() else { break };
                let now = process.now(now_ms);
                if self.verbose {
                    eprintln!("{now_ms:>9} {} -> {}", side.as_str(), String::from_utf8_lossy(&text));
                }
                let line = Line::from_text(&text);
                match side {
                    Side::Host => process.exchange.from_host(&mut process.engine, now, line),
                    Side::Producer => process.exchange.from_producer(&mut process.engine, now, line),
                }
                self.carry(now_ms, oracle);
                self.write(now_ms, pipes, oracle);
            }
        }
        moved |= self.write(now_ms, pipes, oracle);
        self.attend(now_ms, oracle);
        moved
    }

    fn tell(&mut self, now_ms: u64, input: Input, oracle: &mut Oracle) {
        let Some(process) = &mut self.process else { return };
        let now = process.now(now_ms);
        process.exchange.tell(&mut process.engine, now, input);
        self.carry(now_ms, oracle);
    }

    fn carry(&mut self, now_ms: u64, oracle: &mut Oracle) {
        let Some(process) = &mut self.process else { return };
        while let Some(deed) = process.exchange.poll() {
            match deed {
                Deed::Send { to, line, after, cargo } => {
                    if to == Side::Host {
                        oracle.left(line.text());
                    }
                    if self.verbose {
                        let text = String::from_utf8_lossy(line.text());
                        eprintln!("{now_ms:>9}    to {} after {after:?} {text}", to.as_str());
                    }
                    let gated = Gated { after: after.unwrap_or(0), to, line, cargo, since_ms: now_ms };
                    if gated.after <= process.durable {
                        process.queue(gated);
                    } else if process.lost {
                        process.give_up(gated);
                    } else {
                        let at = process.gate.partition_point(|other| other.after <= gated.after);
                        process.gate.insert(at, gated);
                    }
                }
                Deed::Commit(step) if !process.lost => process.disk.push_back(Item::Step(step)),
                Deed::Read { ticket, receipt } => process.disk.push_back(Item::Read { ticket, receipt }),
                Deed::Noise { .. } => process.parse_limit.0 += 1,
                Deed::Commit(_) | Deed::Resolved { .. } => {}
            }
        }
        if process.commit_ms.is_none() && (!process.disk.is_empty() || process.lost) {
            let slow = now_ms < self.slow_until_ms;
            let wait = if slow { self.chance.span(100, 3_000) } else { self.chance.span(1, 12) };
            process.commit_ms = Some(now_ms + wait);
        }
    }

    fn write(&mut self, now_ms: u64, pipes: &mut Pipes, oracle: &mut Oracle) -> bool {
        let mut moved = false;
        loop {
            let Some(process) = &mut self.process else { return moved };
            if pipes.to_host.has_room()
                && let Some((line, tag)) = process.to_host.pop_front()
            {
                process.to_host_bytes -= line.text().len();
                moved = true;
                let Some(number) = tag else {
                    pipes.to_host.push(line.text().to_vec());
                    continue;
                };
                self.tell(now_ms, Input::HandedOver(number), oracle);
                match self.wrong(Plant::Loss, Plant::Double) {
                    Plant::Loss => pipes.from_host.push(accepted_in_its_name(line.text())),
                    Plant::Double => {
                        let text = String::from_utf8_lossy(line.text()).into_owned();
                        pipes.to_host.push(line.text().to_vec());
                        pipes.to_host.push(again(&text));
                    }
                    Plant::Nothing | Plant::Deaf => pipes.to_host.push(line.text().to_vec()),
                }
                self.tell(now_ms, Input::Written(number), oracle);
                continue;
            }
            if pipes.to_producer.has_room()
                && let Some((line, tag)) = process.to_producer.pop_front()
            {
                moved = true;
                pipes.to_producer.push(line.text().to_vec());
                let now = process.now(now_ms);
                if let Some(wire) = tag {
                    process.exchange.render_written(now, wire);
                }
                continue;
            }
            return moved;
        }
    }

    fn attend(&mut self, now_ms: u64, oracle: &mut Oracle) {
        let Some(process) = &mut self.process else { return };
        let (congested, reading) = (process.is_congested(), process.may_read(Side::Host));
        let congested_before = std::mem::replace(&mut process.congested, congested);
        let reading_before = std::mem::replace(&mut process.reading, reading);
        if congested != congested_before {
            self.tell(now_ms, Input::Congested(congested), oracle);
        }
        if reading != reading_before {
            self.tell(now_ms, Input::Reading(reading), oracle);
        }
    }

    /// Texts of what only an operator can settle, and of what is held.
    pub fn rest(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let is_left = |fate: &mcpl_policy::engine::Fate| {
            fate.is_in_doubt() || matches!(fate, mcpl_policy::engine::Fate::Dead(_))
        };
        let (kept, held): (Vec<_>, Vec<_>) =
            self.book.live().into_iter().partition(|(fate, _)| is_left(fate));
        let texts = |all: Vec<(_, Vec<u8>)>| all.into_iter().map(|(_, text)| text).collect();
        (texts(kept), texts(held))
    }
}

impl Process {
    fn now(&self, now_ms: u64) -> Now {
        Now { mono_ms: (now_ms as i64 + self.ahead_ms) as u64, wall_ms: EPOCH_MS + now_ms as i64 }
    }

    fn queue(&mut self, gated: Gated) {
        let tag = match gated.cargo {
            Cargo::Forward(tag) | Cargo::Render(tag) => Some(tag),
            Cargo::Pass | Cargo::Answer(_) => None,
        };
        if gated.to == Side::Host {
            self.to_host_bytes += gated.line.text().len();
            self.to_host.push_back((gated.line, tag));
        } else {
            self.to_producer.push_back((gated.line, tag));
        }
    }

    /// Its step does not become durable.
    fn give_up(&mut self, mut gated: Gated) {
        match std::mem::replace(&mut gated.cargo, Cargo::Answer(None)) {
            Cargo::Answer(Some(instead)) => self.queue(Gated { line: instead, ..gated }),
            Cargo::Answer(None) | Cargo::Pass => self.queue(gated),
            Cargo::Forward(_) => {}
            Cargo::Render(wire) => self.exchange.render_dropped(wire),
        }
    }

    fn is_congested(&self) -> bool {
        let waits = self.gate.iter().filter(|gated| gated.to == Side::Host);
        self.to_host_bytes >= OUTBOX_BYTES
            || waits.map(|gated| gated.line.text().len()).sum::<usize>() >= OUTBOX_BYTES
    }

    fn may_read(&self, side: Side) -> bool {
        // What comes after a message that waits for the journal waits with it (contract 7.6).
        let waits = |gated: &Gated| matches!(gated.cargo, Cargo::Pass) && gated.to == side.other();
        !self.gate.iter().any(waits) && (side == Side::Host || !self.is_congested())
    }
}
