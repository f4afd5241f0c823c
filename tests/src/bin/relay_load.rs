//! A load for relays: an echo server that speaks JSON-RPC lines, and a client that measures what lies between.
//!
//! ```text
//! relay_load echo                                    serve stdin/stdout
//! relay_load echo ADDRESS                            serve TCP connections at ADDRESS
//! relay_load echo ws ADDRESS                         serve WebSockets at ADDRESS, whatever the path
//! relay_load drive [OPTIONS] stdio COMMAND ARGS…     start COMMAND, speak to its stdin/stdout
//! relay_load drive [OPTIONS] tcp ADDRESS             speak to a TCP address
//! relay_load drive [OPTIONS] ws ADDRESS PATH         speak to a WebSocket, a message a line
//!   --latency N      round trips with one outstanding (3000)
//!   --messages N     messages with --outstanding at once (30000)
//!   --outstanding N  (64)
//!   --size BYTES     of a request with its line end (700)
//!   --rss PID        report this process's memory and processor time (default: COMMAND's)
//! ```
//!
//! `drive` prints one JSON object: times in µs, memory in KiB, `cpu_us` the relay's processor time for one message
//! and its reply in the second part. Each reply is checked against its request.

use std::io::{self, BufRead, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use mcpl_tests::ws_stream;

const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"experimental":{"mcpl":{"version":"0.5","pushEvents":true}}},"clientInfo":{"name":"load","version":"1"}}}"#;
const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"experimental":{"mcpl":{"version":"0.5","pushEvents":true}}},"serverInfo":{"name":"echo","version":"1"}}}"#;
const METHOD: &[u8] = br#""method":"tools/call","params""#;
const RESULT: &[u8] = br#""result""#;
const WARM_UP: usize = 200;
const BUFFER: usize = 64 * 1024;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["echo"] => echo(io::stdin().lock(), unbuffered_stdout()),
        ["echo", address] => serve(address, false),
        ["echo", "ws", address] => serve(address, true),
        ["drive", rest @ ..] => drive(rest),
        _ => Err(io::Error::other(
            "usage: relay_load echo [[ws] ADDRESS] | drive [OPTIONS] stdio COMMAND… | tcp ADDRESS | ws ADDRESS PATH",
        )),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "relay_load: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Standard output without the line buffer of the library: one write is one system call.
fn unbuffered_stdout() -> impl Write {
    let copy = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
    copy.map_or_else(|_| Box::new(io::stdout()) as Box<dyn Write>, |fd| Box::new(std::fs::File::from(fd)))
}

fn serve(address: &str, websocket: bool) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    for stream in listener.incoming() {
        let stream = stream?;
        stream.set_nodelay(true)?;
        std::thread::spawn(move || {
            // A peer that breaks off has only ended its own measurement.
            let _ = if websocket {
                echo_messages(stream)
            } else {
                stream.try_clone().and_then(|reader| echo(reader, stream))
            };
        });
    }
    Ok(())
}

fn echo_messages(mut stream: TcpStream) -> io::Result<()> {
    ws_stream::answer(&mut stream)?;
    let reader = ws_stream::Messages::new(stream.try_clone()?);
    echo(reader, ws_stream::Lines::new(stream, false))
}

/// Answers each line: `initialize` with what a server says, a call with its own parameters as the result.
fn echo(mut reader: impl Read, mut writer: impl Write) -> io::Result<()> {
    let mut lines = Lines::default();
    let mut replies = Vec::with_capacity(2 * BUFFER);
    while lines.fill(&mut reader)? {
        while let Some(line) = lines.next() {
            if let Some(at) = find(line, METHOD) {
                replies.extend_from_slice(&line[..at]);
                replies.extend_from_slice(RESULT);
                replies.extend_from_slice(&line[at + METHOD.len()..]);
            } else if find(line, b"\"initialize\"").is_some() {
                replies.extend_from_slice(INITIALIZED);
                replies.push(b'\n');
            }
        }
        writer.write_all(&replies)?;
        replies.clear();
    }
    Ok(())
}

/// Both search texts stand near the start of a line, so this is short.
fn find(line: &[u8], text: &[u8]) -> Option<usize> {
    let head = &line[..line.len().min(128)];
    head.windows(text.len()).position(|window| window == text)
}

/// Whole lines, with their ends, of what was read.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Lines {
    /// Reads once. False at the end of input.
    fn fill(&mut self, reader: &mut impl Read) -> io::Result<bool> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.bytes.len() < self.end + BUFFER {
            self.bytes.resize(self.end + BUFFER, 0);
        }
        let count = reader.read(&mut self.bytes[self.end..])?;
        self.end += count;
        Ok(count > 0)
    }

    fn next(&mut self) -> Option<&[u8]> {
        let rest = &self.bytes[self.start..self.end];
        // The library's fast search for a byte.
        let length = (&mut &*rest).skip_until(b'\n').ok()?;
        if !rest[..length].ends_with(b"\n") {
            return None;
        }
        self.start += length;
        Some(&self.bytes[self.start - length..self.start])
    }
}

struct Plan {
    latency: usize,
    messages: usize,
    outstanding: usize,
    size: usize,
    rss: Option<u32>,
}

fn drive(words: &[&str]) -> io::Result<()> {
    let mut plan = Plan { latency: 3000, messages: 30000, outstanding: 64, size: 700, rss: None };
    let mut rest = words;
    while let [option, value, more @ ..] = rest
        && option.starts_with("--")
    {
        let number = value.parse::<usize>().map_err(|_| io::Error::other(format!("{option} {value}")))?;
        match *option {
            "--latency" => plan.latency = number,
            "--messages" => plan.messages = number,
            "--outstanding" => plan.outstanding = number.max(1),
            "--size" => plan.size = number,
            "--rss" => plan.rss = u32::try_from(number).ok(),
            _ => return Err(io::Error::other(format!("unknown option {option}"))),
        }
        rest = more;
    }
    match rest {
        ["stdio", program, arguments @ ..] => {
            let start = Instant::now();
            let child = Command::new(program)
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::inherit())
                .spawn()?;
            let mut ended = Ended(child);
            let (Some(writer), Some(reader)) = (ended.0.stdin.take(), ended.0.stdout.take()) else {
                return Err(io::Error::other("no pipes"));
            };
            plan.rss = plan.rss.or(Some(ended.0.id()));
            measure(&plan, start, reader, writer)
        }
        ["tcp", address] => {
            let start = Instant::now();
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(20)))?;
            measure(&plan, start, stream.try_clone()?, stream)
        }
        ["ws", address, path] => {
            let start = Instant::now();
            let mut stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(20)))?;
            ws_stream::ask(&mut stream, path)?;
            let reader = ws_stream::Messages::new(stream.try_clone()?);
            measure(&plan, start, reader, ws_stream::Lines::new(stream, true))
        }
        _ => Err(io::Error::other("drive what? stdio COMMAND…, tcp ADDRESS or ws ADDRESS PATH")),
    }
}

/// A started relay, ended whatever happens: by the end of its input, which came before this is dropped, or else killed.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        for _ in 0..500 {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure(plan: &Plan, start: Instant, mut reader: impl Read, mut writer: impl Write) -> io::Result<()> {
    let mut lines = Lines::default();
    let mut first = INITIALIZE.to_vec();
    first.push(b'\n');
    writer.write_all(&first)?;
    receive(&mut lines, &mut reader)?;
    let ready = start.elapsed();
    let idle = plan.rss.map_or(0, memory);

    let mut request = Request::new(plan.size);
    let mut times = Vec::with_capacity(plan.latency);
    for round in 0..WARM_UP + plan.latency {
        let began = Instant::now();
        writer.write_all(request.with_id(round))?;
        let reply = receive(&mut lines, &mut reader)?;
        let took = began.elapsed();
        request.check(reply, round)?;
        if round >= WARM_UP {
            times.push(took);
        }
    }
    times.sort_unstable();

    let before = plan.rss.map_or(0, processor);
    let began = Instant::now();
    let mut batch = Vec::new();
    let (mut sent, mut received) = (0, 0);
    while received < plan.messages {
        while sent < plan.messages && sent - received < plan.outstanding {
            batch.extend_from_slice(request.with_id(sent));
            sent += 1;
        }
        writer.write_all(&batch)?;
        batch.clear();
        if !lines.fill(&mut reader)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while let Some(reply) = lines.next() {
            request.check(reply, received)?;
            received += 1;
        }
    }
    let rate = plan.messages as f64 / began.elapsed().as_secs_f64();
    let busy = plan.rss.map_or(0, processor).saturating_sub(before);
    let cpu = busy as f64 / 1000.0 / plan.messages.max(1) as f64;
    let loaded = plan.rss.map_or(0, memory);
    drop(writer);
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let at = |share: f64| micros(times[((times.len() - 1) as f64 * share) as usize]);
    let (p50, p99) = if times.is_empty() { (0.0, 0.0) } else { (at(0.5), at(0.99)) };
    writeln!(
        io::stdout(),
        r#"{{"p50_us":{p50:.2},"p99_us":{p99:.2},"per_s":{rate:.0},"cpu_us":{cpu:.3},"first_us":{:.0},"idle_kib":{idle},"loaded_kib":{loaded}}}"#,
        micros(ready)
    )
}

fn receive<'a>(lines: &'a mut Lines, reader: &mut impl Read) -> io::Result<&'a [u8]> {
    loop {
        // Asked twice: the borrow checker does not let a found line out of the loop otherwise.
        if lines.bytes[lines.start..lines.end].contains(&b'\n') {
            return lines.next().ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
        if !lines.fill(reader)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// A request of fixed size, of which only the id changes.
struct Request {
    text: Vec<u8>,
    tail: Vec<u8>,
}

const HEAD: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
const ID_DIGITS: usize = 9;

impl Request {
    fn new(size: usize) -> Self {
        let mut text = HEAD.to_vec();
        text.extend_from_slice(b"100000000,");
        text.extend_from_slice(METHOD);
        text.extend_from_slice(br#":{"name":"echo","arguments":{"text":""#);
        let end = b"\"}}}\n";
        let words = b"the quick brown fox jumps over the lazy dog, ".iter().cycle();
        let room = size.saturating_sub(text.len() + end.len());
        text.extend(words.take(room));
        text.extend_from_slice(end);
        let tail = text[text.len().saturating_sub(64)..].to_vec();
        Self { text, tail }
    }

    fn with_id(&mut self, id: usize) -> &[u8] {
        let digits = format!("{}", 100_000_000 + id);
        self.text[HEAD.len()..HEAD.len() + ID_DIGITS].copy_from_slice(digits.as_bytes());
        &self.text
    }

    /// The reply to `id`, in order, with the request's own text.
    fn check(&self, reply: &[u8], id: usize) -> io::Result<()> {
        let expected = self.text.len() - METHOD.len() + RESULT.len();
        let digits = reply.get(HEAD.len()..HEAD.len() + ID_DIGITS);
        let right = digits.and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
        if reply.len() == expected && reply.ends_with(&self.tail) && right == Some(100_000_000 + id) {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(&reply[..reply.len().min(120)]).into_owned();
        Err(io::Error::other(format!("wrong reply to {id}: {} bytes, {shown}", reply.len())))
    }
}

/// Processor time of a process in ns, all its threads, as far as the system tells.
fn processor(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let spent = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    spent.sum()
}

/// Resident memory of a process in KiB, without the echo server that it may have started.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
