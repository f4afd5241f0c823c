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
use crate::host::Host;
use crate::port::Port;
use crate::producer::{Producer, ProducerScript};
use crate::program::{Program, sidecar_binary};
use crate::session::Session;

/// A folder with a configuration, the program run on it, and the producer's listener.
///
/// Nothing is released by time unless the test says so: `quiet_ms` is a minute.
pub struct World {
    folder: TempDir,
    port: Port,
    producer_port: Port,
    admin: Option<Port>,
    listener: Option<TcpListener>,
    tables: Vec<(String, String)>,
    keys: String,
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
            port: Port::free(),
            producer_port: Port::free(),
            admin: None,
            listener: None,
            tables: vec![("coalesce".into(), "quiet_ms = 60000\nmax_hold_ms = 600000".into())],
            keys: String::new(),
            top: String::new(),
            state: "state".into(),
            front: Vec::new(),
            program: None,
            producer: ProducerScript::default(),
        }
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

    /// Lines for the top of the file.
    #[must_use]
    pub fn top(mut self, lines: &str) -> Self {
        lines.clone_into(&mut self.top);
        self
    }

    /// With an admin listener on a port of its own, and these lines in its table.
    #[must_use]
    pub fn watched(mut self, lines: &str) -> Self {
        let port = Port::free();
        let _ = write!(self.top, "\n[admin]\nlisten = \"127.0.0.1:{}\"\n{lines}\n", port.number);
        self.admin = Some(port);
        self
    }

    /// The port of the admin listener.
    pub fn admin_port(&self) -> u16 {
        self.admin.as_ref().expect("a world that is watched").number
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
            "[[producer]]\nname = \"{name}\"\nlisten = \"tcp://127.0.0.1:{}\"\nconnect = \"tcp://127.0.0.1:{}\"\n{}\n",
            self.port.number, self.producer_port.number, self.keys,
        );
        for (name, lines) in &self.tables {
            let _ = write!(text, "\n[producer.{name}]\n{lines}\n");
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

    /// Writes a configuration of these producers and has it taken over; returns when it was.
    pub async fn reload(&mut self, producers: &[String]) {
        const TAKEN: &str = "the configuration was reloaded";
        // Before that nobody minds its signals.
        self.logs("listening", 1).await;
        let before = self.program().stderr().matches(TAKEN).count();
        self.configure(producers);
        self.program().signal(rustix::process::Signal::HUP);
        self.logs(TAKEN, before + 1).await;
    }

    /// Waits until its stderr has `what` so many times.
    async fn logs(&mut self, what: &str, times: usize) {
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
        self.dial_by(Ok).await
    }

    /// The same, on which little waits for a host that does not read, whatever the system is set to.
    pub async fn dial_with_little_room(&mut self) -> TcpStream {
        self.dial_by(|socket| socket.set_recv_buffer_size(1 << 16).map(|()| socket)).await
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
        Host::on(self.dial().await)
    }

    /// The producer's end of the next connection that the program makes.
    pub async fn reached(&self) -> Producer {
        Producer::on(self.reached_bare().await, &self.producer)
    }

    /// The same connection, bare.
    pub async fn reached_bare(&self) -> TcpStream {
        let listener = self.listener.as_ref().expect("the producer listens");
        let stream = timeout(PATIENCE, listener.accept()).await.expect("the producer was not dialled");
        stream.expect("an accepted connection").0
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
