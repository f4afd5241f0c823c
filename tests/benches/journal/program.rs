//! The built program, run on a folder, between a host and a producer that are both here.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"experimental":{"mcpl":{"version":"0.5","pushEvents":true,"featureSets":true}}},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{},"experimental":{"mcpl":{"version":"0.5","pushEvents":true,"featureSets":{"doc":{"description":"","uses":["pushEvents"]}}}}},"serverInfo":{"name":"bench","version":"1"}}}"#;
const POLICY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"featureSets/update","params":{"enabled":["doc"],"effectiveCapabilities":["pushEvents","tools"]}}"#;
const AGREED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"accepted":true}}"#;

/// Longer than this nothing takes.
const LIMIT: Duration = Duration::from_mins(1);
const BUFFER: usize = 256 << 10;

/// The state directory of a folder.
pub(crate) fn state_dir(folder: &Path) -> PathBuf {
    folder.join("state")
}

/// One end of a session.
pub(crate) struct Peer {
    pub(crate) reader: BufReader<TcpStream>,
    pub(crate) writer: TcpStream,
}

impl Peer {
    fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        let reader = BufReader::with_capacity(BUFFER, stream.try_clone().expect("a socket"));
        Self { reader, writer: stream }
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).expect("a peer that listens");
    }

    /// Whether there is something to hear, waited for so long.
    pub(crate) fn hears_within(&mut self, time: Duration) -> bool {
        let nanos = time.subsec_nanos().into();
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: nanos };
        let mut there = [PollFd::new(&self.writer, PollFlags::IN)];
        !self.reader.buffer().is_empty() || poll(&mut there, Some(&time)).is_ok_and(|count| count > 0)
    }

    /// The next line, with its end.
    pub(crate) fn hear<'a>(&mut self, line: &'a mut Vec<u8>) -> &'a [u8] {
        line.clear();
        let count = self.reader.read_until(b'\n', line).expect("a line in time");
        assert!(count > 0, "the program has closed the connection");
        line
    }
}

/// A session in which events are accepted.
pub(crate) struct Session {
    pub(crate) host: Peer,
    pub(crate) producer: Peer,
    /// Events sent so far.
    pub(crate) sent: u64,
}

/// The program.
pub(crate) struct Program {
    child: Child,
    started: Instant,
    port: u16,
    producers: TcpListener,
}

impl Program {
    /// Starts it on a folder, in which it holds all it accepts.
    pub(crate) fn start(bin: &Path, folder: &Path) -> Self {
        Self::start_with(bin, folder, "")
    }

    /// As [`Program::start`], with more lines in `[producer.coalesce]`.
    pub(crate) fn start_with(bin: &Path, folder: &Path, more: &str) -> Self {
        let producers = TcpListener::bind("127.0.0.1:0").expect("a port");
        let probe = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = probe.local_addr().expect("an address").port();
        drop(probe);
        let to = producers.local_addr().expect("an address").port();
        let config = folder.join("bench.toml");
        let text = format!(
            "state_dir = \"state\"\n[[producer]]\nname = \"bench\"\nlisten = \"tcp://127.0.0.1:{port}\"\n\
             connect = \"tcp://127.0.0.1:{to}\"\n[producer.coalesce]\nquiet_ms = 36000000\nmax_hold_ms = 36000000\n{more}"
        );
        fs::write(&config, text).expect("a file");
        let log = File::create(folder.join("stderr.log")).expect("a file");
        let started = Instant::now();
        let child = Command::new(bin)
            .args(["run", "--config"])
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the program");
        Self { child, started, port, producers }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn connect(&mut self) -> Session {
        let host = loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Ok(stream) => break stream,
                Err(why) if why.kind() == io::ErrorKind::ConnectionRefused => {
                    let ended = self.child.try_wait().expect("a child");
                    assert!(
                        ended.is_none() && self.started.elapsed() < LIMIT,
                        "it does not listen: {ended:?}"
                    );
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(why) => panic!("{why}"),
            }
        };
        let mut host = Peer::new(host);
        host.say(INITIALIZE);
        let (stream, _) = self.producers.accept().expect("the program's connection");
        let mut session = Session { host, producer: Peer::new(stream), sent: 0 };
        let mut line = Vec::new();
        session.producer.hear(&mut line);
        session.producer.say(INITIALIZED);
        session.host.hear(&mut line);
        session
    }

    /// A session, with leave for everything.
    pub(crate) fn session(&mut self) -> Session {
        let mut session = self.connect();
        let mut line = Vec::new();
        session.host.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        session.producer.hear(&mut line);
        session.host.say(POLICY);
        session.producer.hear(&mut line);
        session.producer.say(AGREED);
        session.host.hear(&mut line);
        session
    }

    /// From its start to the answer to the first message, in seconds.
    pub(crate) fn first_answer_s(mut self) -> f64 {
        let _session = self.connect();
        self.started.elapsed().as_secs_f64()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // In good order it would first give the host all it holds.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
