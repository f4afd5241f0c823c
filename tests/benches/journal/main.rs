//! What it costs that nothing accepted is lost: the program with its journal against the disk itself, against
//! `SQLite` used plainly, and against its own journal on a file system that does not sync.
//!
//! ```sh
//! cargo build --release -p mcpl-sidecar
//! cargo bench -p mcpl-tests --bench journal -- --bin target/release/mcpl-sidecar
//!   --dir DIR        where state lies; must be on a disk (the current folder)
//!   --memory DIR     a file system that does not sync (/dev/shm)
//!   --rounds N       (5)
//!   --seconds S      of one measurement (2)
//!   --groups N,…     events unanswered at a time in the first part (1,64,512)
//!   --before BIN     another build of the program, for the part `watch`
//!   --only PART,…    rate, watch, pass, renders, reopen, size, growth
//!   --growth N       replacements of the last part (10000000)
//! ```
//!
//! Every ratio is of figures of this run: what is compared takes turns, round by round, and medians are printed,
//! with their ranges. Events have 700 bytes as lines, are about 1,000 subjects in turn, and are held all the while.
//! `eventId`s have 19 characters.
//!
//! - **rate**: accepted events a second through the built program, over TCP, with 1, 64 and 512 of them unanswered
//!   at a time; against appends of as many bytes with one `fdatasync` for as many events, and against `SQLite`
//!   (write-ahead log, `synchronous=FULL`) with one commit an event.
//! - **watch**: the same rate, and then 5,000 events a second: without `[admin]`, with it, once somebody has come to
//!   read, with one reader of the event stream and with 20. These are a process of their own, once as it is and once
//!   at nice 10. The state is in memory, where no disk hides what that costs.
//! - **pass**: a request of the host's and its answer by the producer, in the same session, while 512 events are
//!   unanswered; with the state on the disk against the state in memory: with as many unanswered there, and with as many
//!   events a second, 512 of them at a time.
//! - **renders**: occurrences a second that the host is given, from when it assembles on: of 10,000 batches of 64
//!   small notices, rendered by a producer that answers at once, against 10,000 plain ones; and the most memory.
//! - **reopen**: from the start of the program to its first answer, with 1,000,000 occurrences in the journal of
//!   which 60,000 are held; less the same with an empty journal.
//! - **size**: bytes of the file for each live occurrence beyond its own text, and for each receipt.
//! - **growth**: what the files take beyond the receipts, at the most, while 1,000 subjects are replaced 10,000,000
//!   times, an hour's receipts being kept of a day.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::expect_used)]

mod books;
mod event;
mod plain;
mod program;
mod readers;
mod renders;
mod sum;
mod traffic;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::statfs;
use tempfile::TempDir;

use crate::sum::{Rate, Sum};

/// Subjects that take turns.
const SUBJECTS: u64 = 1_000;
/// One turn of those that take turns. Less than the time after which an idle journal empties its log.
const SLICE: Duration = Duration::from_millis(200);
/// What `statfs` says of a file system in memory.
const TMPFS: i64 = 0x0102_1994;

struct Plan {
    bin: PathBuf,
    dir: PathBuf,
    memory: PathBuf,
    rounds: usize,
    time: Duration,
    groups: Vec<u64>,
    only: Vec<String>,
    growth: u64,
    before: Option<PathBuf>,
}

impl Plan {
    /// `None`: started by `cargo test`, which only wants to know that it starts.
    fn read() -> Option<Self> {
        let mut plan = Self {
            bin: PathBuf::from("target/release/mcpl-sidecar"),
            dir: PathBuf::from("."),
            memory: PathBuf::from("/dev/shm"),
            rounds: 5,
            time: Duration::from_secs(2),
            groups: vec![1, 64, 512],
            only: Vec::new(),
            growth: 10_000_000,
            before: None,
        };
        let mut bench = false;
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} what?"));
            match word.as_str() {
                "--bench" => bench = true,
                "--bin" => plan.bin = value().into(),
                "--dir" => plan.dir = value().into(),
                "--memory" => plan.memory = value().into(),
                "--rounds" => plan.rounds = value().parse().expect("a number of rounds"),
                "--seconds" => plan.time = Duration::from_secs_f64(value().parse().expect("seconds")),
                "--groups" => {
                    plan.groups = value().split(',').map(|group| group.parse().expect("a number")).collect();
                }
                "--only" => plan.only = value().split(',').map(str::to_owned).collect(),
                "--growth" => plan.growth = value().parse().expect("a number of replacements"),
                "--before" => plan.before = Some(value().into()),
                other => panic!("unknown option {other}"),
            }
        }
        // `cargo bench` starts it in the package's folder.
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        plan.bin = from.join(&plan.bin);
        plan.dir = from.join(&plan.dir);
        bench.then_some(plan)
    }

    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }
}

fn new_folder(under: &Path) -> TempDir {
    tempfile::Builder::new().prefix("journal-bench-").tempdir_in(under).expect("a folder")
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some((word, rest)) = words.split_first()
        && word == readers::WORD
    {
        return readers::be(rest);
    }
    let Some(plan) = Plan::read() else { return };
    assert!(plan.bin.is_file(), "{} is not there: cargo build --release -p mcpl-sidecar", plan.bin.display());
    let kind = |dir: &Path| statfs(dir).expect("a file system").f_type;
    assert_ne!(kind(&plan.dir), TMPFS, "--dir must be on a disk");
    if plan.wants("rate") {
        rate(&plan);
    }
    if plan.wants("watch") {
        watch::measure(&plan);
    }
    if plan.wants("pass") {
        pass(&plan);
    }
    if plan.wants("renders") {
        renders(&plan);
    }
    if plan.wants("reopen") || plan.wants("size") {
        reopen(&plan);
    }
    if plan.wants("growth") {
        growth(&plan);
    }
}

fn rate(plan: &Plan) {
    println!("\nAccepted events a second: medians of {} rounds (range)\n", plan.rounds);
    println!(
        "| unanswered | mcpl-sidecar | append + fdatasync | SQLite, a commit each | to append | to SQLite |"
    );
    println!("|---|---|---|---|---|---|");
    for group in plan.groups.iter().copied() {
        let [mut ours, mut bare, mut sqlite] = [const { Sum::new() }; 3];
        let [mut to_bare, mut to_sqlite] = [const { Sum::new() }; 2];
        for _ in 0..plan.rounds {
            let folder = new_folder(&plan.dir);
            let mut program = program::Program::start(&plan.bin, folder.path());
            let mut session = program.session();
            let mut append = plain::Append::new(folder.path(), group);
            let mut database = plain::Database::new(folder.path());
            let mut rates = [Rate::default(), Rate::default(), Rate::default()];
            traffic::events(&mut session, group as usize, SLICE, None);
            let slices = (plan.time.as_secs_f64() / SLICE.as_secs_f64()).ceil() as usize;
            for slice in 0..slices {
                // What else the disk does changes from one moment to the next: turns are short, and each time in
                // the other order.
                for turn in if slice % 2 == 0 { [0, 1, 2] } else { [2, 1, 0] } {
                    rates[turn] += match turn {
                        0 => traffic::events(&mut session, group as usize, SLICE, None),
                        1 => append.events(SLICE),
                        _ => database.events(SLICE),
                    };
                }
            }
            let [our, a, s] = rates.map(sum::Rate::per_s);
            ours.add(our);
            bare.add(a);
            sqlite.add(s);
            to_bare.add(our / a);
            to_sqlite.add(our / s);
        }
        let goals = match group {
            1 => ["; goal 0.6", ""],
            512 => ["; goal 0.25", "; goal 2.0"],
            _ => ["", ""],
        };
        println!(
            "| {group} | {ours} | {bare} | {sqlite} | {to_bare}{} | {to_sqlite}{} |",
            goals[0], goals[1]
        );
    }
}

fn pass(plan: &Plan) {
    println!(
        "\nA request that passes, µs, while 512 events are unanswered: medians of {} rounds\n",
        plan.rounds
    );
    println!("| state | events/s | p50 | p99 |");
    println!("|---|---|---|---|");
    let mut figures = [const { [const { Sum::new() }; 3] }; 3];
    let [mut same, mut most] = [const { Sum::new() }; 2];
    for _ in 0..plan.rounds {
        // The rate, the median of the calls, the ninety-ninth of a hundred.
        let mut measure = |at: usize, under: &Path, per_s| {
            let folder = new_folder(under);
            let mut program = program::Program::start(&plan.bin, folder.path());
            let mut session = program.session();
            traffic::events(&mut session, 512, Duration::from_millis(300), None);
            let done = traffic::events_and_calls(session, 512, plan.time, per_s);
            let values = [done.rate.per_s(), done.at(0.5), done.at(0.99)];
            for (sum, value) in figures[at].iter_mut().zip(values) {
                sum.add(value);
            }
            values
        };
        let disk = measure(0, &plan.dir, None);
        same.add(disk[1] / measure(1, &plan.memory, Some(disk[0]))[1]);
        most.add(disk[1] / measure(2, &plan.memory, None)[1]);
    }
    for (name, [rate, p50, p99]) in
        ["disk", "memory, as many events/s", "memory, as many as it takes"].iter().zip(&figures)
    {
        println!("| {name} | {rate} | {p50} | {p99} |");
    }
    println!(
        "\np50, disk to memory: {most} with 512 unanswered in both (goal 1.3); {same} with as many events/s"
    );
}

fn renders(plan: &Plan) {
    println!("\nOccurrences a second to the host: medians of {} rounds\n", plan.rounds);
    println!("| 10,000 of | a second | peak memory, MiB |\n|---|---|---|");
    let [mut plain, mut batches, mut ratio] = [const { Sum::new() }; 3];
    let [mut plain_peak, mut batches_peak] = [const { Sum::new() }; 2];
    for _ in 0..plan.rounds {
        let measure = |held| renders::measure(&plan.bin, new_folder(&plan.dir).path(), held);
        let (one, other) = (measure(renders::Held::Plain), measure(renders::Held::Batches));
        plain.add(one.rate.per_s());
        batches.add(other.rate.per_s());
        ratio.add(other.rate.per_s() / one.rate.per_s());
        plain_peak.add(one.peak as f64 / f64::from(1 << 20));
        batches_peak.add(other.peak as f64 / f64::from(1 << 20));
    }
    println!(
        "| plain occurrences | {plain} | {plain_peak} |\n| batches of 64 notices | {batches} | {batches_peak} |"
    );
    println!("\nBatches to plain: {ratio} (goal 0.5)");
}

fn reopen(plan: &Plan) {
    const OCCURRENCES: u64 = 1_000_000;
    const HELD: u64 = 60_000;
    let folder = new_folder(&plan.dir);
    let state = program::state_dir(folder.path());
    let mut books = books::Books::open(&state);
    for at in 0..OCCURRENCES {
        books.admit(at % HELD, at);
    }
    books.close();
    let size = books::Size::of(&state);
    if plan.wants("size") {
        let live = (size.live_pages - size.text) as f64 / size.live as f64;
        let receipt = size.receipt_pages as f64 / size.receipts as f64;
        println!(
            "\nBytes on disk, {} receipts, {} live occurrences, a file of {}\n",
            size.receipts, size.live, size.file
        );
        println!("| for each | bytes |\n|---|---|");
        println!("| live occurrence, beyond its text of {} | {live:.0} |", size.text / size.live);
        println!("| receipt | {receipt:.1} (goal 100) |");
    }
    if !plan.wants("reopen") {
        return;
    }
    let (mut full, mut empty) = (Sum::new(), Sum::new());
    for _ in 0..plan.rounds {
        let other = new_folder(&plan.dir);
        empty.add(program::Program::start(&plan.bin, other.path()).first_answer_s());
        full.add(program::Program::start(&plan.bin, folder.path()).first_answer_s());
    }
    println!("\nFirst answer, s: medians of {} rounds (range)\n", plan.rounds);
    println!("| journal | s |\n|---|---|");
    println!("| {OCCURRENCES} occurrences, {HELD} held | {full} |\n| empty | {empty} |");
    println!("| between them | {:.3} (goal 3) |", full.median() - empty.median());
}

fn growth(plan: &Plan) {
    let folder = new_folder(&plan.dir);
    let state = program::state_dir(folder.path());
    let mut books = books::Books::open(&state);
    let mut most = (0, 0);
    for at in 0..plan.growth {
        // Ten milliseconds each: an hour's receipts are 360,000.
        books.pass_ms(10);
        books.admit(at % SUBJECTS, at);
        if at % 50_000 == 49_999 {
            let (files, receipts) = (books::files(&state), books.receipts());
            most = most.max((files.saturating_sub(receipts * 80), receipts));
        }
    }
    let running = books::files(&state);
    books.close();
    let size = books::Size::of(&state);
    let receipt = size.receipt_pages / size.receipts;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!("\nThe journal after {} replacements of {SUBJECTS} subjects\n", plan.growth);
    println!("| | MiB |\n|---|---|");
    println!("| receipts: {} of {receipt} bytes | {:.1} |", size.receipts, mib(size.receipt_pages));
    println!(
        "| beyond them, at the most while it ran (by 80 bytes a receipt) | {:.1} (goal 64) |",
        mib(most.0)
    );
    println!(
        "| beyond them, when the last was done | {:.1} |",
        mib(running.saturating_sub(size.receipt_pages))
    );
    println!("| beyond them, closed | {:.1} |", mib(size.file - size.receipt_pages));
}
