//! What it costs that somebody may watch, that one does, and that 20 do: with as many events as it takes, and with
//! a fixed number a second.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::program::{Program, Session};
use crate::readers::{Readers, Told};
use crate::sum::{Rate, Sum};
use crate::traffic::{self, Pace};
use crate::{Plan, new_folder};

/// So many read the stream at a time.
const READERS: usize = 20;
/// One turn: long enough for readers that do not keep up to fall off what can be replayed.
const TURN: Duration = Duration::from_secs(1);
/// Events unanswered at a time, when there are as many as it takes.
const UNANSWERED: usize = 512;
/// Events a second, when that is fixed.
const PER_S: f64 = 5_000.0;
/// The name of the threads that serve the readers.
const SERVES: &str = "stream";

/// Who watches.
struct Kind {
    name: &'static str,
    bin: PathBuf,
    admin: bool,
    /// Somebody has come to read, and gone.
    came: bool,
    readers: usize,
    nice: bool,
}

impl Kind {
    fn all(plan: &Plan) -> Vec<Self> {
        let nobody = || Self {
            name: "without [admin]",
            bin: plan.bin.clone(),
            admin: false,
            came: false,
            readers: 0,
            nice: false,
        };
        let admin = || Self { admin: true, ..nobody() };
        let mut all = vec![
            nobody(),
            Self { name: "nobody reads", ..admin() },
            Self { name: "nobody reads any more", came: true, ..admin() },
            Self { name: "1 reader", readers: 1, ..admin() },
            Self { name: "20 readers", readers: READERS, ..admin() },
            Self { name: "20 readers at nice 10", readers: READERS, nice: true, ..admin() },
        ];
        if let Some(before) = &plan.before {
            let before = |kind: Self| Self { bin: before.clone(), ..kind };
            all.push(before(Self { name: "before: nobody reads any more", came: true, ..admin() }));
            all.push(before(Self { name: "before: 20 readers", readers: READERS, ..admin() }));
            all.push(before(Self { name: "before: at nice 10", readers: READERS, nice: true, ..admin() }));
        }
        all
    }
}

/// The processor's time that was spent so far, in µs.
#[derive(Clone, Copy, Default)]
struct Spent {
    work: f64,
    serving: f64,
    readers: f64,
}

/// One of those that take turns.
struct Turn {
    program: Program,
    session: Session,
    readers: Option<Readers>,
    rate: Rate,
    before: (Spent, Told),
    /// How long answers took, in µs.
    times: Vec<f64>,
    /// Of the readers' batches, in each turn.
    delays: [Sum; 2],
    _folder: tempfile::TempDir,
}

impl Turn {
    fn new(plan: &Plan, kind: &Kind, pace: Option<Pace>) -> Self {
        let folder = new_folder(&plan.memory);
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let more =
            if kind.admin { format!("[admin]\nlisten = \"127.0.0.1:{port}\"\n") } else { String::new() };
        let mut program = Program::start_with(&kind.bin, folder.path(), &more);
        let session = program.session();
        if kind.came {
            drop(Readers::start(port, 1, false));
        }
        let readers = (kind.readers > 0).then(|| Readers::start(port, kind.readers, kind.nice));
        let mut turn = Self {
            program,
            session,
            readers,
            rate: Rate::default(),
            before: Default::default(),
            times: Vec::new(),
            delays: [const { Sum::new() }; 2],
            _folder: folder,
        };
        turn.take(pace, Duration::from_millis(200));
        turn.delays = [const { Sum::new() }; 2];
        turn.times.clear();
        turn.rate = Rate::default();
        turn.before = (turn.spent(), turn.told());
        turn
    }

    fn take(&mut self, pace: Option<Pace>, time: Duration) {
        let (rate, times) = traffic::timed(&mut self.session, UNANSWERED, time, pace);
        self.rate += rate;
        self.times.extend(times.iter().map(|time| time.as_secs_f64() * 1e6));
        let Some(readers) = &mut self.readers else { return };
        let mut told = readers.told();
        self.delays[0].add(told.p50_ms as f64);
        self.delays[1].add(told.p99_ms as f64);
        // What they have not read yet is not the next one's to pay for.
        loop {
            thread::sleep(Duration::from_millis(60));
            let now = readers.told();
            if now.bytes == told.bytes {
                return;
            }
            told = now;
        }
    }

    fn told(&mut self) -> Told {
        self.readers.as_mut().map_or(Told::default(), Readers::told)
    }

    fn spent(&self) -> Spent {
        let pid = self.program.pid();
        Spent {
            work: spent_us(pid, |thread| thread != SERVES),
            serving: spent_us(pid, |thread| thread == SERVES),
            readers: self.readers.as_ref().map_or(0.0, Readers::spent_us),
        }
    }

    /// So large a share of the answers took at most so many µs.
    fn at(&mut self, share: f64) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times[((self.times.len() - 1) as f64 * share) as usize]
    }
}

/// The processor's time that threads of a process with such names have taken, in µs.
pub(crate) fn spent_us(pid: u32, of: impl Fn(&str) -> bool) -> f64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
    let spent = threads.flatten().map(|thread| {
        // One may have ended by now.
        let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        let nanos = read("schedstat").split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok());
        if of(read("comm").trim_end()) { nanos.unwrap_or(0.0) / 1e3 } else { 0.0 }
    });
    spent.sum()
}

/// Prints the tables.
pub(crate) fn measure(plan: &Plan) {
    println!(
        "\nState in memory; each with a program of its own, in turns of {TURN:?}; medians of {} rounds",
        plan.rounds
    );
    println!(
        "(range). CPU in µs an event: of the program's work, of serving its readers, of the readers themselves."
    );
    println!("Delay: from a step to its reader, in ms.");
    println!("\nAs many events as it takes, {UNANSWERED} unanswered\n");
    table(plan, None);
    println!("\n{PER_S} events a second, each by itself; answered: from the event to its answer, in µs\n");
    table(plan, Some(Pace { per_s: PER_S, together: 1 }));
}

fn table(plan: &Plan, pace: Option<Pace>) {
    println!(
        "| | events/s | to the first | answered p50 | p99 | p50 to the first | work | serving | readers | \
         MiB/s read | delay p50 | p99 | snapshots | peak MiB |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let kinds = Kind::all(plan);
    let mut sums: Vec<[Sum; 13]> = kinds.iter().map(|_| [const { Sum::new() }; 13]).collect();
    for _ in 0..plan.rounds {
        let mut turns: Vec<Turn> = kinds.iter().map(|kind| Turn::new(plan, kind, pace)).collect();
        let (count, slices) = (turns.len(), (plan.time.as_secs_f64() / TURN.as_secs_f64()).ceil() as usize);
        for slice in 0..slices {
            for at in 0..count {
                turns[if slice % 2 == 0 { at } else { count - 1 - at }].take(pace, TURN);
            }
        }
        let mut first = None;
        for (sums, turn) in sums.iter_mut().zip(&mut turns) {
            let (rate, p50, p99) = (turn.rate.per_s(), turn.at(0.5), turn.at(0.99));
            let (first_rate, first_p50) = *first.get_or_insert((rate, p50));
            let (spent, told, (before, told_before)) = (turn.spent(), turn.told(), turn.before);
            let events = turn.rate.events as f64;
            let mib = f64::from(1 << 20);
            let has_readers = turn.readers.is_some();
            let values = [
                rate,
                rate / first_rate,
                p50,
                p99,
                p50 / first_p50,
                (spent.work - before.work) / events,
                (spent.serving - before.serving) / events,
                (spent.readers - before.readers) / events,
                (told.bytes - told_before.bytes) as f64 / mib / turn.rate.time.as_secs_f64(),
                if has_readers { turn.delays[0].median() } else { 0.0 },
                if has_readers { turn.delays[1].median() } else { 0.0 },
                (told.snapshots - told_before.snapshots) as f64,
                mcpl_tests::peak_bytes(turn.program.pid()) as f64 / mib,
            ];
            for (sum, value) in sums.iter_mut().zip(values) {
                sum.add(value);
            }
        }
    }
    for (kind, sums) in kinds.iter().zip(&sums) {
        print!("| {} |", kind.name);
        for sum in sums {
            print!(" {sum} |");
        }
        println!();
    }
}
