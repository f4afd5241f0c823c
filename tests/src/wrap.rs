//! The program in front of a child of its own: `mcpl-sidecar wrap`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use tempfile::TempDir;
use tokio::process::Command;

use crate::host::Host;
use crate::peer::Peer;
use crate::program::{Program, peer_binary, sidecar_binary};
use crate::world::clean_environment;

/// One run of `wrap`, with the host on its pipes.
pub struct Wrap {
    folder: TempDir,
    program: Program,
    /// The host that started it.
    pub host: Host,
}

impl Wrap {
    /// Wraps the scripted producer of this crate.
    pub fn scripted() -> Self {
        Self::command([peer_binary("scripted_producer")])
    }

    /// Wraps `sh -c SCRIPT`; in the script `$PRODUCER` is the scripted producer.
    pub fn shell(script: &str) -> Self {
        Self::command(["sh", "-c", script])
    }

    /// Wraps this command.
    pub fn command<S: AsRef<OsStr>>(argv: impl IntoIterator<Item = S>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Self::prepare(folder.path(), argv);
        let program = Program::start(&mut command, &folder.path().join("stderr.log"));
        Self::around(folder, program)
    }

    /// Wraps the scripted producer, with these lines in `[[producer]]`.
    pub fn configured(lines: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("sidecar.toml");
        std::fs::write(&file, format!("[[producer]]\nname = \"main\"\n{lines}\n"))
            .expect("a folder to write in");
        let mut command = Self::bare(folder.path());
        command.args(["wrap", "--name", "main", "--config"]).arg(file).arg("--");
        command.arg(peer_binary("scripted_producer"));
        let program = Program::start(&mut command, &folder.path().join("stderr.log"));
        Self::around(folder, program)
    }

    /// Wraps this command; the caller sees to stderr and the state folder.
    pub fn command_with<S: AsRef<OsStr>>(
        argv: impl IntoIterator<Item = S>,
        set: impl FnOnce(&mut Command),
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Self::prepare(folder.path(), argv);
        set(&mut command);
        let program = Program::start_as_is(&mut command, &folder.path().join("stderr.log"));
        Self::around(folder, program)
    }

    fn prepare<S: AsRef<OsStr>>(folder: &Path, argv: impl IntoIterator<Item = S>) -> Command {
        let mut command = Self::bare(folder);
        command.args(["wrap", "--"]).args(argv);
        command
    }

    fn bare(folder: &Path) -> Command {
        let mut command = Command::new(sidecar_binary());
        clean_environment(&mut command, folder);
        command.env("PRODUCER", peer_binary("scripted_producer"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    fn around(folder: TempDir, mut program: Program) -> Self {
        let read = program.child().stdout.take().expect("stdout is piped");
        let write = program.child().stdin.take().expect("stdin is piped");
        let host = Host::on_peer(|script| Peer::new("host", read, write, script));
        Self { folder, program, host }
    }

    /// The default handshake with the scripted producer.
    pub async fn introduce(&self) {
        let params = crate::session::initialize_params(&serde_json::json!({}));
        let text = format!(r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{params}}}"#);
        self.host.ask("\"init\"", &text).await;
        self.host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    /// Tells the scripted producer what to do; it does not answer.
    pub async fn tell(&self, method: &str, params: &serde_json::Value) {
        self.host.send(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)).await;
    }

    /// The same as a request under the id `id` (as spelled); waits for the answer.
    pub async fn ask(&self, id: &str, method: &str, params: &serde_json::Value) -> serde_json::Value {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.host.ask(id, &text).await
    }

    /// The process id of the wrapped child.
    pub async fn child_pid(&self) -> u32 {
        let answer = self.ask("\"pid\"", "do/pid", &serde_json::json!({})).await;
        answer["result"]["pid"]
            .as_u64()
            .and_then(|pid| u32::try_from(pid).ok())
            .expect("the producer says its pid")
    }

    /// Closes the reading end of the program's stderr, if that is a pipe.
    pub fn close_stderr(&mut self) {
        drop(self.program.child().stderr.take());
    }

    /// The program.
    pub fn program(&mut self) -> &mut Program {
        &mut self.program
    }

    /// Waits for the program's end.
    pub async fn exit(&mut self) -> ExitStatus {
        self.program.exit().await
    }

    /// The folder of this run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Wrap {
    fn drop(&mut self) {
        self.program.show_stderr_if_panicking();
    }
}
