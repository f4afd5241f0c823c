//! A configured program with a producer to dial and a port for hosts.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use crate::PATIENCE;
use crate::chance::Chance;
use crate::frayed::{BareSocket, frayed};
use crate::host::Host;
use crate::port::Port;
use crate::producer::{Producer, ProducerScript};
use crate::program::{Program, sidecar_binary};
use crate::session::Session;
use crate::wire::{Carrier, Wire};

/// A folder with a configuration, the program run on it, and the producer's listener.
///
/// Nothing is released by time unless the test says so: `quiet_ms` is a minute.
pub struct World {
    folder: TempDir,
    carrier: Carrier,
    frayed: Option<Chance>,
    port: Port,
    producer_port: Port,
    listener: Option<TcpListener>,
    tables: Vec<(String, String)>,
    keys: String,
    listen: (String, String),
    connect: (String, String),
    top: String,
    state: PathBuf,
    front: Vec<String>,
    program: Option<Program>,
    /// What its producer does by itself when a session begins; each session's producer has a copy.
    pub producer: ProducerScript,
}

impl World {
    /// A world whose program does not run yet.
    pub async fn new() -> Self {
        let mut world = Self::unreachable();
        world.open().await;
        world
    }

    /// The same, but its producer refuses connections until [`World::open`].
    pub fn unreachable() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            carrier: Carrier::here(),
            frayed: None,
            port: Port::free(),
            producer_port: Port::free(),
            listener: None,
            tables: vec![("coalesce".into(), "quiet_ms = 60000\nmax_hold_ms = 600000".into())],
            keys: String::new(),
            listen: Carrier::here().place("host"),
            connect: Carrier::here().place("producer"),
            top: String::new(),
            state: "state".into(),
            front: Vec::new(),
            program: None,
            producer: ProducerScript::default(),
        }
    }

    /// What carries the lines, if it is not [`Carrier::here`].
    #[must_use]
    pub fn over(mut self, carrier: Carrier) -> Self {
        self.carrier = carrier;
        (self.listen, self.connect) = (carrier.place("host"), carrier.place("producer"));
        self
    }

    /// What carries the lines.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Its producers say their lines in frames of chance from now on, or no more.
    pub fn fray(&mut self, chance: Option<Chance>) {
        self.frayed = chance;
    }

    /// The producer listens from now on.
    pub async fn open(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.producer_port.number)).await;
        self.listener = Some(listener.expect("a port for the producer"));
    }

    /// The port the program dials, for a producer that is a process of its own.
    pub fn producer_port(&self) -> u16 {
        self.producer_port.number
    }

    /// The port where the host reaches the program.
    pub fn port(&self) -> u16 {
        self.port.number
    }

    /// A running world with nothing but defaults.
    pub async fn started() -> Self {
        Self::new().await.start().await
    }

    /// Lines for `[producer.NAME]`; they take the place of earlier ones.
    #[must_use]
    pub fn table(mut self, name: &str, lines: &str) -> Self {
        self.tables.retain(|(other, _)| other != name);
        self.tables.push((name.to_owned(), lines.to_owned()));
        self
    }

    /// Lines for `[[producer]]` itself.
    #[must_use]
    pub fn keys(mut self, lines: &str) -> Self {
        lines.clone_into(&mut self.keys);
        self
    }

    /// Another scheme than `tcp` for hosts, with a path and a query.
    #[must_use]
    pub fn listen(mut self, scheme: &str, target: &str) -> Self {
        self.listen = (scheme.to_owned(), target.to_owned());
        self
    }

    /// Another scheme than `tcp` for the producer, with a path and a query.
    #[must_use]
    pub fn connect(mut self, scheme: &str, target: &str) -> Self {
        self.connect = (scheme.to_owned(), target.to_owned());
        self
    }

    /// Lines for the top of the file.
    #[must_use]
    pub fn top(mut self, lines: &str) -> Self {
        lines.clone_into(&mut self.top);
        self
    }

    /// Another state directory than `state`, relative to the folder.
    #[must_use]
    pub fn state_at(mut self, path: impl Into<PathBuf>) -> Self {
        self.state = path.into();
        self
    }

    /// The program is started by this command, which is to become it: `strace`, a shell that sets a limit.
    #[must_use]
    pub fn behind<S: Into<String>>(mut self, front: impl IntoIterator<Item = S>) -> Self {
        self.front = front.into_iter().map(Into::into).collect();
        self
    }

    /// Where the configuration and all else of this world lies.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The state directory.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join(&self.state)
    }

    /// The `[[producer]]` of this world, with its tables, under a name.
    pub fn producer_named(&self, name: &str) -> String {
        let mut text = format!(
            "[[producer]]\nname = \"{name}\"\nlisten = \"{}://127.0.0.1:{}{}\"\nconnect = \"{}://127.0.0.1:{}{}\"\n{}\n",
            self.listen.0,
            self.port.number,
            self.listen.1,
            self.connect.0,
            self.producer_port.number,
            self.connect.1,
            self.keys,
        );
        for (name, lines) in &self.tables {
            let _ = write!(text, "\n[producer.{name}]\n{lines}\n");
        }
        for (name, lines) in self.carrier.tables(self.folder.path()) {
            if self.tables.iter().all(|(own, _)| own != name) {
                let _ = write!(text, "\n[producer.{name}]\n{lines}\n");
            }
        }
        text
    }

    fn configure(&self, producers: &[String]) {
        let (state, top) = (self.state.display(), &self.top);
        let text = format!("state_dir = \"{state}\"\n{top}\n\n{}", producers.join("\n"));
        let (fresh, place) = (self.folder.path().join("fresh"), self.folder.path().join("sidecar.toml"));
        std::fs::write(&fresh, text).expect("the configuration can be written");
        // Whole or not at all: the program looks at the file whenever it likes.
        std::fs::rename(fresh, place).expect("the configuration can be put in place");
    }

    /// Writes the configuration and starts the program.
    pub async fn start(mut self) -> Self {
        self.configure(&[self.producer_named("main")]);
        self.restart().await;
        self
    }

    /// Writes a configuration of these producers instead of its own, and starts the program.
    pub async fn start_with(&mut self, producers: &[String]) {
        self.configure(producers);
        self.restart().await;
    }

    /// Writes a configuration of these producers and has it taken over; returns when it was.
    pub async fn reload(&mut self, producers: &[String]) {
        const TAKEN: &str = "the configuration was reloaded";
        // Before that nobody minds its signals.
        self.says("listening", 1).await;
        let before = self.program().stderr().matches(TAKEN).count();
        self.configure(producers);
        self.program().signal(rustix::process::Signal::HUP);
        self.says(TAKEN, before + 1).await;
    }

    /// Waits until its stderr has `what` so many times.
    pub async fn says(&mut self, what: &str, times: usize) {
        let end = Instant::now() + PATIENCE;
        while self.program().stderr().matches(what).count() < times {
            assert!(self.program().runs(), "the program ended before it logged {what:?}");
            assert!(Instant::now() < end, "the program did not log {what:?}");
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Ends the program at once, if it runs, and starts it again on the same state.
    pub async fn restart(&mut self) {
        if let Some(program) = &mut self.program {
            program.kill().await;
        }
        let mut command = self.command(&["run", "--config", "sidecar.toml"]);
        self.program = Some(Program::start(&mut command, &self.folder.path().join("stderr.log")));
    }

    /// Ends the program at once, if it runs.
    pub async fn kill(&mut self) {
        if let Some(mut program) = self.program.take() {
            program.kill().await;
        }
    }

    /// The program with these arguments, as this world starts it, with nothing on its stdin.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut argv: Vec<OsString> = self.front.iter().map(OsString::from).collect();
        argv.push(sidecar_binary().into());
        let mut command = Command::new(&argv[0]);
        clean_environment(&mut command, self.folder.path());
        command.args(&argv[1..]).args(arguments).stdin(Stdio::null());
        command
    }

    /// Runs the program with these arguments to its end.
    pub async fn output(&self, arguments: &[&str]) -> Output {
        let run = self.command(arguments).kill_on_drop(true).output();
        timeout(PATIENCE, run)
            .await
            .expect("the program did not exit in time")
            .expect("the program can be started")
    }

    /// What `journal list` says with `--json` and these arguments, whether the program runs or not.
    pub async fn listed(&self, more: &[&str]) -> Vec<Value> {
        let mut arguments = vec!["journal", "list", "--config", "sidecar.toml", "--json"];
        arguments.extend(more);
        let said = self.output(&arguments).await;
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "journal list: {}: {stderr}", said.status);
        serde_json::from_slice(&said.stdout).expect("journal list says an array")
    }

    /// The running program.
    pub fn program(&mut self) -> &mut Program {
        self.program.as_mut().expect("the program was started")
    }

    /// A bare connection to where the host reaches the program.
    pub async fn dial(&mut self) -> TcpStream {
        let stream = self.dial_by(Ok).await;
        let _ = stream.set_nodelay(true);
        stream
    }

    /// The same with what carries the lines, on which nothing was said yet.
    pub async fn wire(&mut self) -> Wire {
        let stream = self.dial().await;
        self.knock(stream).await
    }

    /// The same, on which little waits for a host that does not read, whatever the system is set to.
    pub async fn dial_with_little_room(&mut self) -> Wire {
        let stream = self.dial_by(|socket| socket.set_recv_buffer_size(1 << 16).map(|()| socket)).await;
        self.knock(stream).await
    }

    async fn knock(&self, stream: TcpStream) -> Wire {
        let knock = self.carrier.knock(stream, self.port.number);
        timeout(PATIENCE, knock).await.expect("the host was not let in in time")
    }

    async fn dial_by(&mut self, set: impl Fn(TcpSocket) -> std::io::Result<TcpSocket>) -> TcpStream {
        let end = Instant::now() + PATIENCE;
        loop {
            let socket = TcpSocket::new_v4().and_then(&set).expect("a socket");
            match socket.connect(([127, 0, 0, 1], self.port.number).into()).await {
                Ok(stream) => return stream,
                Err(error) => {
                    assert!(self.program.as_mut().is_none_or(Program::runs), "the program does not run");
                    assert!(Instant::now() < end, "the program does not listen: {error}");
                    sleep(Duration::from_millis(10)).await;
                }
            }
        }
    }

    /// A host that has said nothing yet.
    pub async fn host(&mut self) -> Host {
        Host::on(self.wire().await)
    }

    /// The producer's end of the next connection that the program makes.
    pub async fn reached(&self) -> Producer {
        Producer::on(self.reached_wire().await, &self.producer)
    }

    /// The same connection, with nobody on it.
    pub async fn reached_wire(&self) -> Wire {
        let stream = self.reached_bare().await;
        let welcome = async {
            match &self.frayed {
                Some(chance) => frayed(BareSocket::welcome(stream).await, chance.clone()),
                None => self.carrier.welcome(stream).await,
            }
        };
        timeout(PATIENCE, welcome).await.expect("the program does not shake hands")
    }

    /// The same connection before anything was said on it.
    pub async fn reached_bare(&self) -> TcpStream {
        let listener = self.listener.as_ref().expect("the producer listens");
        let stream = timeout(PATIENCE, listener.accept()).await.expect("the producer was not dialled");
        let (stream, _) = stream.expect("an accepted connection");
        let _ = stream.set_nodelay(true);
        stream
    }

    /// Connected and introduced, everything granted, channel `chat` registered.
    pub async fn session(&mut self) -> Session {
        let host = self.host().await;
        Session::open(host, self).await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(program) = &self.program {
            program.show_stderr_if_panicking();
        }
    }
}

/// State in the test's own folder, and nothing of the caller's telemetry.
pub(crate) fn clean_environment(command: &mut Command, folder: &Path) {
    command
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder.join("xdg"))
        .env("HOME", folder)
        .env("NO_COLOR", "1");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
}
