//! One host and one producer for a while: with the sidecar between them, or a plain pipe; and what befalls them.

use std::path::Path;

use mcpl_sidecar::binding::settings;
use mcpl_sidecar::config::{self, Purpose};

use crate::chance::Chance;
use crate::host::{self, Host};
use crate::oracle::{Oracle, Sums};
use crate::pipe::Pipes;
use crate::producer::{self, Producer};
use crate::sidecar::{Plant, Sidecar};

/// What stands between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Nothing but a pipe.
    Pipe,
    /// `wrap` with its defaults, told which host and which producer it is.
    Wrap,
    /// … and `uncoalesced = "store"`.
    Store,
    /// … and `mode = "always"`: also where the host coalesces by itself.
    Always,
}

impl Between {
    pub const ALL: [Self; 4] = [Self::Pipe, Self::Wrap, Self::Store, Self::Always];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Wrap => "wrap",
            Self::Store => "store",
            Self::Always => "always",
        }
    }
}

/// How long everything is left in peace at the end.
const PEACE_MS: u64 = 55 * 60_000;

/// What befalls them, and how often on average, in minutes.
const TROUBLES: [(Trouble, u64); 9] = [
    (Trouble::HostStops, 480),
    (Trouble::HostKilled, 600),
    (Trouble::ProducerDies, 480),
    (Trouble::Pause, 180),
    (Trouble::HostStorage, 240),
    (Trouble::HostSlow, 300),
    (Trouble::JournalFails, 360),
    (Trouble::JournalFull, 480),
    (Trouble::Flood, 300),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// The host ends in good order, and everything of its with it.
    HostStops,
    /// Everything is killed at once.
    HostKilled,
    ProducerDies,
    /// The host does not read.
    Pause,
    /// The host cannot keep anything.
    HostStorage,
    HostSlow,
    /// Commits of the sidecar's journal fail; where there is one.
    JournalFails,
    JournalFull,
    Flood,
}

pub struct World {
    now_ms: u64,
    chance: Chance,
    host: Host,
    producer: Producer,
    sidecar: Option<Sidecar>,
    pipes: Pipes,
    pub oracle: Oracle,
    is_connected: bool,
    connect_ms: Option<u64>,
    troubles: Vec<Plan>,
    pace: u64,
}

/// When something befalls them next, and how often it does.
struct Plan {
    at_ms: u64,
    trouble: Trouble,
    mean_ms: u64,
    chance: Chance,
}

/// What `wrap` would be configured with for these two.
fn sidecar(host: host::Kind, producer: producer::Kind, between: Between, seed: u64, plant: Plant) -> Sidecar {
    let preset = producer.preset().map(|preset| format!("preset = '{preset}'\n")).unwrap_or_default();
    let forward = match between {
        Between::Store => "forward.uncoalesced = 'store'\n",
        Between::Always => "coalesce.mode = 'always'\n",
        Between::Pipe | Between::Wrap => "",
    };
    let text = format!(
        "state_dir = 'state'\n[[producer]]\nname = 'week'\n{preset}{forward}host.profile = '{}'\n\
         host.shims = ['feature-sets-object', 'policy-receipt']\n",
        host.profile()
    );
    let loaded = config::parse(Purpose::Wrap, Path::new("/week/week.toml"), &text, &|_| None).unwrap();
    let config = &loaded.config.producers[0];
    Sidecar::new(settings::terms(config), settings::settings(config, 10_000), seed, plant)
}

impl World {
    /// `pace`: how many times as often as usual something befalls them.
    pub fn new(
        (host, producer): (host::Kind, producer::Kind),
        between: Between,
        (seed, pace): (u64, u64),
        plant: Plant,
    ) -> Self {
        // Each of its own, so that the same befalls them whatever stands between.
        let plan = |(trouble, minutes): &(Trouble, u64)| {
            let mut chance = Chance::new(seed ^ (*minutes << 32) ^ *trouble as u64);
            let mean_ms = minutes * 60_000 / pace;
            Plan { at_ms: 60_000 + chance.until(mean_ms), trouble: *trouble, mean_ms, chance }
        };
        let troubles = TROUBLES.iter().map(plan).collect();
        Self {
            now_ms: 0,
            host: Host::new(host, seed),
            producer: Producer::new(producer, seed),
            sidecar: (between != Between::Pipe).then(|| sidecar(host, producer, between, seed, plant)),
            pipes: Pipes::default(),
            oracle: Oracle::default(),
            is_connected: false,
            connect_ms: Some(0),
            chance: Chance::new(seed),
            troubles,
            pace,
        }
    }

    /// Lets it all happen, and reckons up.
    pub fn run(&mut self, lasts_ms: u64) -> Sums {
        self.until(lasts_ms);
        self.troubles.clear();
        self.producer.is_quiet = true;
        self.until(lasts_ms + PEACE_MS);
        let (kept, held) = self.sidecar.as_ref().map(Sidecar::rest).unwrap_or_default();
        let sums = self.oracle.sums(&kept, &held);
        Sums { deaths: self.host.deaths, stuck: held.len() as u64, operator: kept.len() as u64, ..sums }
    }

    fn until(&mut self, end_ms: u64) {
        while self.now_ms < end_ms {
            self.befall();
            self.settle();
            let waits = !self.pipes.to_host.is_empty() && self.host.is_up && self.is_connected;
            let next = [
                self.producer.due(),
                self.host.due(),
                self.sidecar.as_ref().and_then(Sidecar::due),
                self.connect_ms,
                waits.then_some(self.host.paused_until_ms),
                self.troubles.iter().map(|plan| plan.at_ms).min(),
                Some(end_ms),
            ];
            let next = next.into_iter().flatten().min().unwrap_or(end_ms);
            // Where nothing can be moved now there is always more in a while.
            self.now_ms = next.max(self.now_ms + 1);
        }
    }

    /// Moves everything that can be moved now.
    fn settle(&mut self) {
        let now_ms = self.now_ms;
        loop {
            if self.connect_ms.is_some_and(|at| at <= now_ms) {
                self.connect();
            }
            let mut moved = self.producer.act(now_ms, &mut self.oracle);
            if self.is_connected {
                moved |= self.carry();
                moved |= self.middle();
                if self.host.died {
                    self.host_down(false);
                }
            }
            moved |= self.host.act(now_ms, &mut self.oracle);
            if !moved {
                return;
            }
        }
    }

    fn connect(&mut self) {
        self.connect_ms = None;
        if !self.host.is_up {
            self.host.start();
        }
        self.pipes = Pipes::default();
        self.host.connect(self.now_ms);
        self.producer.start();
        if let Some(sidecar) = &mut self.sidecar {
            sidecar.begin(self.now_ms);
        }
        self.is_connected = true;
    }

    /// What the two peers write and read.
    fn carry(&mut self) -> bool {
        let mut moved = false;
        while self.pipes.from_producer.has_room()
            && let Some(line) = self.producer.out.pop_front()
        {
            self.pipes.from_producer.push(line.into_bytes());
            moved = true;
        }
        while let Some(line) = self.pipes.to_producer.pop() {
            self.producer.hear(self.now_ms, &line, &mut self.oracle);
            moved = true;
        }
        if self.host.reads(self.now_ms) {
            while self.pipes.from_host.has_room()
                && let Some(line) = self.host.out.pop_front()
            {
                self.pipes.from_host.push(line.into_bytes());
                moved = true;
            }
            while !self.host.died
                && let Some(line) = self.pipes.to_host.pop()
            {
                self.host.hear(self.now_ms, &line, &mut self.oracle);
                moved = true;
            }
        }
        moved
    }

    fn middle(&mut self) -> bool {
        if let Some(sidecar) = &mut self.sidecar {
            return sidecar.step(self.now_ms, &mut self.pipes, &mut self.oracle);
        }
        let mut moved = false;
        while self.pipes.to_host.has_room()
            && let Some(line) = self.pipes.from_producer.pop()
        {
            self.pipes.to_host.push(line);
            moved = true;
        }
        while let Some(line) = self.pipes.from_host.pop() {
            self.pipes.to_producer.push(line);
            moved = true;
        }
        moved
    }

    /// The host is gone: its child and the connection go with it.
    fn host_down(&mut self, killed: bool) {
        self.part(killed);
        self.host.stop(&mut self.oracle);
        let away = if self.chance.percent(20) { 600_000 } else { 40_000 };
        self.connect_ms = Some(self.now_ms + self.chance.span(3_000, away));
    }

    fn producer_down(&mut self) {
        if !self.is_connected {
            return;
        }
        // What it said is read to its end, and so is what the host was given.
        self.middle();
        self.part(false);
        while self.host.reads(self.now_ms)
            && !self.host.died
            && let Some(line) = self.pipes.to_host.pop()
        {
            self.host.hear(self.now_ms, &line, &mut self.oracle);
        }
        if self.host.died {
            return self.host_down(false);
        }
        self.host.disconnect();
        self.connect_ms = Some(self.now_ms + self.chance.span(1_000, 20_000));
    }

    fn part(&mut self, killed: bool) {
        if self.is_connected
            && let Some(sidecar) = &mut self.sidecar
        {
            if !killed {
                sidecar.step(self.now_ms, &mut self.pipes, &mut self.oracle);
            }
            sidecar.end(self.now_ms, &mut self.oracle, killed);
        }
        self.is_connected = false;
        self.producer.stop(self.now_ms);
    }

    fn befall(&mut self) {
        let now_ms = self.now_ms;
        for place in 0..self.troubles.len() {
            let plan = &mut self.troubles[place];
            if plan.at_ms > now_ms {
                continue;
            }
            let (trouble, kind) = (plan.trouble, plan.chance.span(0, 3));
            plan.at_ms = now_ms + plan.chance.until(plan.mean_ms);
            let brief = now_ms + plan.chance.span(2_000, 60_000);
            let long = now_ms + plan.chance.span(5_000, 300_000);
            match trouble {
                Trouble::HostStops | Trouble::HostKilled if self.is_connected => {
                    self.host_down(trouble == Trouble::HostKilled);
                }
                Trouble::HostStops | Trouble::HostKilled => {}
                Trouble::ProducerDies => self.producer_down(),
                Trouble::Pause => self.host.paused_until_ms = long,
                Trouble::HostStorage => self.host.bad_until_ms = brief,
                Trouble::HostSlow => self.host.slow_until_ms = long,
                Trouble::Flood => self.producer.flood(now_ms, self.pace),
                Trouble::JournalFails => {
                    if let Some(sidecar) = &mut self.sidecar {
                        match kind {
                            0 => sidecar.slow_until(long),
                            _ => sidecar.fails_until_ms = brief,
                        }
                    }
                }
                Trouble::JournalFull => {
                    if let Some(sidecar) = &mut self.sidecar {
                        sidecar.full_until_ms = long;
                    }
                }
            }
        }
    }
}
