//! What it costs that somebody may watch, and that 20 do.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::program::{Program, Session};
use crate::sum::{Rate, Sum};
use crate::{Plan, SLICE, new_folder, traffic};

/// So many read the stream at a time.
const READERS: usize = 20;

/// One of those that take turns.
struct Turn {
    program: Program,
    session: Session,
    rate: Rate,
    read: Arc<AtomicU64>,
    before_us: f64,
    _folder: tempfile::TempDir,
}

impl Turn {
    fn new(plan: &Plan, bin: &std::path::Path, admin: bool, readers: usize) -> Self {
        let folder = new_folder(&plan.memory);
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let more = if admin { format!("[admin]\nlisten = \"127.0.0.1:{port}\"\n") } else { String::new() };
        let mut program = Program::start_with(bin, folder.path(), &more);
        let mut session = program.session();
        let read = Arc::new(AtomicU64::new(0));
        for _ in 0..readers {
            watch(port, &read);
        }
        traffic::events(&mut session, 512, SLICE, None);
        let before_us = spent_us(program.pid());
        Self { before_us, program, session, rate: Rate::default(), read, _folder: folder }
    }
}

impl Turn {
    /// What an event costs of the processor's time, in µs.
    fn cost_us(&self) -> f64 {
        (spent_us(self.program.pid()) - self.before_us) / self.rate.events as f64
    }
}

/// The processor's time that a process has taken, in µs.
fn spent_us(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let (_, after) = stat.rsplit_once(')').expect("a name");
    let ticks =
        |at: usize| after.split_whitespace().nth(at).and_then(|it| it.parse::<f64>().ok()).expect("ticks");
    // Linux counts a hundred a second.
    (ticks(11) + ticks(12)) * 10_000.0
}

/// Reads the stream on a thread of its own, until the program is gone.
fn watch(port: u16, read: &Arc<AtomicU64>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("an admin listener");
    let head = format!(
        "GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("a listener that reads");
    let wanted = br#"{"subscribe":{"stream":"journal","after":0}}"#;
    // A mask of noughts changes nothing.
    let frame = [&[0x81, 0x80 | wanted.len() as u8, 0, 0, 0, 0], &wanted[..]].concat();
    stream.write_all(&frame).expect("a listener that reads");
    let read = Arc::clone(read);
    thread::spawn(move || {
        let mut some = vec![0; 256 << 10];
        while let Ok(count @ 1..) = stream.read(&mut some) {
            read.fetch_add(count as u64, Ordering::Relaxed);
        }
    });
}

/// Prints the table.
pub(crate) fn measure(plan: &Plan) {
    println!(
        "\nAccepted events a second, 512 unanswered, state in memory: medians of {} rounds (range)\n",
        plan.rounds
    );
    println!(
        "| | events/s | CPU µs an event | to the first | MiB/s to the readers | peak memory, MiB |\n|---|---|---|---|---|---|"
    );
    let mut kinds: Vec<(&'static str, std::path::PathBuf, bool, usize)> = vec![
        ("without [admin]", plan.bin.clone(), false, 0),
        ("with [admin], nobody reads", plan.bin.clone(), true, 0),
        ("20 readers", plan.bin.clone(), true, READERS),
    ];
    if let Some(before) = &plan.before {
        kinds.insert(0, ("before", before.clone(), false, 0));
    }
    let mut sums: Vec<[Sum; 5]> = kinds.iter().map(|_| [const { Sum::new() }; 5]).collect();
    for _ in 0..plan.rounds {
        let mut turns: Vec<Turn> =
            kinds.iter().map(|(_, bin, admin, readers)| Turn::new(plan, bin, *admin, *readers)).collect();
        let slices = (plan.time.as_secs_f64() / SLICE.as_secs_f64()).ceil() as usize;
        let count = turns.len();
        for slice in 0..slices {
            for at in 0..count {
                let turn = &mut turns[if slice % 2 == 0 { at } else { count - 1 - at }];
                turn.rate += traffic::events(&mut turn.session, 512, SLICE, None);
                // What the readers have not read yet is not the next one's to pay for.
                thread::sleep(Duration::from_millis(if turn.read.load(Ordering::Relaxed) > 0 {
                    60
                } else {
                    1
                }));
            }
        }
        let costs: Vec<f64> = turns.iter().map(Turn::cost_us).collect();
        for ((sum, turn), cost) in sums.iter_mut().zip(&turns).zip(&costs) {
            let rate = turn.rate.per_s();
            let mib = f64::from(1 << 20);
            let read = turn.read.load(Ordering::Relaxed) as f64 / mib / turn.rate.time.as_secs_f64();
            let values =
                [rate, *cost, cost / costs[0], read, mcpl_tests::peak_bytes(turn.program.pid()) as f64 / mib];
            for (sum, value) in sum.iter_mut().zip(values) {
                sum.add(value);
            }
        }
    }
    for ((name, ..), [rate, cost, ratio, read, peak]) in kinds.iter().zip(&sums) {
        println!("| {name} | {rate} | {cost} | {ratio} | {read} | {peak} |");
    }
}
