//! A load for relays: an echo server that speaks JSON-RPC lines, and a client that measures what lies between.
//!
//! ```text
//! relay_load echo                                    serve stdin/stdout
//! relay_load echo ADDRESS                            serve TCP connections at ADDRESS
//! relay_load echo ws ADDRESS                         serve WebSocket connections at ADDRESS
//! relay_load echo wss ADDRESS CERT KEY               … over TLS
//! relay_load drive [OPTIONS] stdio COMMAND ARGS…     start COMMAND, speak to its stdin/stdout
//! relay_load drive [OPTIONS] tcp ADDRESS             speak to a TCP address
//! relay_load drive [OPTIONS] ws ADDRESS              … over WebSocket
//! relay_load drive [OPTIONS] wss ADDRESS CA          … over WebSocket and TLS, as `localhost`
//! relay_load shake [OPTIONS] wss ADDRESS CA          open and close --messages connections, one after another
//!   --latency N      round trips with one outstanding (3000)
//!   --messages N     messages with --outstanding at once (30000)
//!   --outstanding N  (64)
//!   --size BYTES     of a request with its line end (700)
//!   --rss PID        report this process's memory and processor time (default: COMMAND's)
//! ```
//!
//! `drive` prints one JSON object: times in µs, memory in KiB, `cpu_us` the relay's processor time for one message
//! and its reply in the second part. Each reply is checked against its request.

mod lines;
mod process;
mod request;
mod tls;
mod websocket;

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use self::lines::{Lines, receive};
use self::process::{Ended, memory, processor};
use self::request::Request;
use self::tls::Turns;
use self::websocket::{End, Framed, Unframed};

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
        ["echo", address] => serve(address, &|stream| echo(stream.try_clone()?, stream)),
        ["echo", "ws", address] => serve(address, &|stream| echo_websocket(stream.try_clone()?, stream)),
        ["echo", "wss", address, cert, key] => tls::server(Path::new(cert), Path::new(key)).and_then(|tls| {
            serve(address, &move |stream| {
                let stream = Turns::new(tls::accept(&tls, stream)?);
                echo_websocket(stream.clone(), stream)
            })
        }),
        ["drive", rest @ ..] => drive(rest),
        ["shake", rest @ ..] => shake(rest),
        _ => Err(io::Error::other("usage: relay_load echo | drive | shake, see the head of its source")),
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

/// Each connection has a thread.
fn serve(address: &str, echo: &(dyn Fn(TcpStream) -> io::Result<()> + Sync)) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            let stream = stream?;
            stream.set_nodelay(true)?;
            // A peer that breaks off has only ended its own measurement.
            scope.spawn(move || echo(stream).err());
        }
        Ok(())
    })
}

fn echo_websocket(mut reader: impl Read, mut writer: impl Read + Write) -> io::Result<()> {
    websocket::grant(&mut writer)?;
    echo(Unframed::new(&mut reader), Framed::new(writer, End::Server))
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

struct Plan {
    latency: usize,
    messages: usize,
    outstanding: usize,
    size: usize,
    rss: Option<u32>,
}

fn planned<'a>(words: &'a [&'a str]) -> io::Result<(Plan, &'a [&'a str])> {
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
    Ok((plan, rest))
}

fn drive(words: &[&str]) -> io::Result<()> {
    let (mut plan, rest) = planned(words)?;
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
            let stream = connect(address)?;
            measure(&plan, start, stream.try_clone()?, stream)
        }
        ["ws", address] => {
            let start = Instant::now();
            let mut stream = connect(address)?;
            websocket::ask(&mut stream, address)?;
            measure(&plan, start, Unframed::new(stream.try_clone()?), Framed::new(stream, End::Client))
        }
        ["wss", address, ca] => {
            let config = tls::client(Path::new(ca))?;
            let start = Instant::now();
            let mut stream = Turns::new(tls::connect(&config, connect(address)?)?);
            websocket::ask(&mut stream, "localhost")?;
            measure(&plan, start, Unframed::new(stream.clone()), Framed::new(stream, End::Client))
        }
        _ => Err(io::Error::other("drive what? stdio COMMAND…, tcp ADDRESS, ws ADDRESS or wss ADDRESS CA")),
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(stream)
}

/// Whole handshakes a second: TCP, TLS without resumption, and the upgrade.
fn shake(words: &[&str]) -> io::Result<()> {
    let (plan, ["wss", address, ca]) = planned(words)? else {
        return Err(io::Error::other("shake what? wss ADDRESS CA"));
    };
    let began = Instant::now();
    for _ in 0..plan.messages {
        let config = tls::client(Path::new(ca))?;
        let mut stream = tls::connect(&config, connect(address)?)?;
        websocket::ask(&mut stream, "localhost")?;
    }
    let rate = plan.messages as f64 / began.elapsed().as_secs_f64();
    writeln!(io::stdout(), r#"{{"handshakes_per_s":{rate:.1}}}"#)
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
