//! Readers of the event stream, in a process of their own: whatever they do is not the program's, and can be told
//! from it.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::watch::spent_us;

/// What this program is started with to be readers.
pub(crate) const WORD: &str = "--read";
/// Delays above this are counted as this, in ms.
const LATEST: usize = 60_000;

/// What the readers were told so far, all of them together.
#[derive(Clone, Copy, Default)]
pub(crate) struct Told {
    pub(crate) bytes: u64,
    pub(crate) snapshots: u64,
    /// From the step to the reader, in ms: half of the batches took no longer, and ninety-nine of a hundred.
    pub(crate) p50_ms: u64,
    pub(crate) p99_ms: u64,
}

/// A process of readers.
pub(crate) struct Readers {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Readers {
    /// So many, on the listener of that port; returns when all are subscribed. `nice`: they give way to others.
    pub(crate) fn start(port: u16, count: usize, nice: bool) -> Self {
        let this = std::env::current_exe().expect("a program");
        let mut command = if nice { Command::new("nice") } else { Command::new(&this) };
        if nice {
            command.args(["-n", "10"]).arg(&this);
        }
        let mut child = command
            .args([WORD, &port.to_string(), &count.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("readers");
        let ask = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut readers = Self { child, ask, answers };
        // It is answered once all are subscribed.
        readers.told();
        readers
    }

    pub(crate) fn told(&mut self) -> Told {
        self.ask.write_all(b"\n").expect("readers that live");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("readers that live");
        let mut values = line.split_whitespace().map(|value| value.parse().expect("a number"));
        let mut next = || values.next().expect("a number");
        Told { bytes: next(), snapshots: next(), p50_ms: next(), p99_ms: next() }
    }

    /// The processor's time they took, in µs.
    pub(crate) fn spent_us(&self) -> f64 {
        spent_us(self.child.id(), |_| true)
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is counted here.
struct Count {
    bytes: u64,
    snapshots: u64,
    /// Batches by their delay in ms.
    delays: Vec<u64>,
}

impl Count {
    fn within(&self, share: f64) -> usize {
        let wanted = (self.delays.iter().sum::<u64>() as f64 * share) as u64;
        let mut sum = 0;
        self.delays
            .iter()
            .position(|count| {
                sum += count;
                sum > wanted
            })
            .unwrap_or(0)
    }
}

/// The process of the readers: answers each line with what was told since the last one but for bytes and snapshots,
/// which are counted from the beginning. Ends with its input.
pub(crate) fn be(words: &[String]) {
    let [port, readers] = words else { panic!("{WORD} PORT COUNT") };
    let port = port.parse().expect("a port");
    let count = Arc::new(Mutex::new(Count { bytes: 0, snapshots: 0, delays: vec![0; LATEST + 1] }));
    for _ in 0..readers.parse::<usize>().expect("a number") {
        let reader = subscribe(port);
        let count = Arc::clone(&count);
        thread::spawn(move || read(reader, &count));
    }
    for _ in io::stdin().lines() {
        let mut count = count.lock().expect("a count");
        let (p50, p99) = (count.within(0.5), count.within(0.99));
        println!("{} {} {p50} {p99}", count.bytes, count.snapshots);
        count.delays.fill(0);
    }
}

fn subscribe(port: u16) -> BufReader<TcpStream> {
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
    let mut reader = BufReader::with_capacity(64 << 10, stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        assert!(reader.read_line(&mut line).expect("an answer") > 0, "there is no answer");
    }
    message(&mut reader, &mut Vec::new()).expect("it is subscribed");
    reader
}

/// Reads until the program is gone.
fn read(mut reader: BufReader<TcpStream>, count: &Mutex<Count>) {
    let mut text = Vec::new();
    while message(&mut reader, &mut text).is_ok() {
        let delay = delay_ms(&text);
        let mut count = count.lock().expect("a count");
        count.bytes += text.len() as u64;
        count.snapshots +=
            u64::from(text.starts_with(br#"{"snapshot""#) && text.ends_with(b"\"isLast\":true}}"));
        if let Some(delay) = delay {
            count.delays[delay.min(LATEST)] += 1;
        }
    }
}

/// The next message. Pings are not answered: no measurement takes that long.
fn message(reader: &mut BufReader<TcpStream>, text: &mut Vec<u8>) -> io::Result<()> {
    let mut head = [0; 2];
    reader.read_exact(&mut head)?;
    let mut bytes = [0; 8];
    let length = match head[1] {
        127 => 8,
        126 => 2,
        length => {
            bytes[7] = length;
            0
        }
    };
    reader.read_exact(&mut bytes[8 - length..])?;
    text.resize(u64::from_be_bytes(bytes) as usize, 0);
    reader.read_exact(text)
}

/// How long ago the last step of a batch was.
fn delay_ms(text: &[u8]) -> Option<usize> {
    let tail = &text[text.len().saturating_sub(2048)..];
    let at = tail.windows(6).rposition(|window| window == br#""ts":""#)? + 6;
    // 2027-01-15T08:00:00.000Z
    let time = tail.get(at + 11..at + 23)?;
    let number = |from: usize, to: usize| std::str::from_utf8(&time[from..to]).ok()?.parse::<u64>().ok();
    let then = ((number(0, 2)? * 60 + number(3, 5)?) * 60 + number(6, 8)?) * 1000 + number(9, 12)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_millis() as u64 % 86_400_000;
    // Over midnight nothing is measured.
    Some(now.saturating_sub(then) as usize)
}
