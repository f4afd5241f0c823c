//! The producer as a child process: a process group of its own, no orphan, no zombie (contract 3.1).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus};
use tokio::signal::unix::SignalKind;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::transport::stderr::Stderr;
use crate::transport::{Connection, Facts, pipe_reader, pipe_writer};

mod drain;
mod group;
mod ladder;

/// What to start. Never printed whole: arguments and values may be secrets.
#[derive(Clone, Default)]
pub struct Spec {
    /// The program and its arguments. An empty one cannot be started.
    pub command: Vec<OsString>,
    /// Added to our own environment, or replacing what is there.
    pub env: BTreeMap<String, String>,
    /// Where it runs; ours if not given.
    pub cwd: Option<PathBuf>,
}

impl std::fmt::Debug for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spec").field("program", &self.command.first()).finish_non_exhaustive()
    }
}

/// Why the producer did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is nothing to start.
    #[error("the command is empty; name a program")]
    Empty,
    /// The directory it should run in cannot be entered.
    #[error("cannot start `{program}` in {}: {source}; check `cwd`", .cwd.display())]
    Cwd {
        /// The program, without its arguments.
        program: String,
        /// The configured directory.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused.
    #[error("cannot start `{program}`: {source}; {}", remedy(.source))]
    Start {
        /// The program, without its arguments.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "check its name and PATH",
        io::ErrorKind::PermissionDenied => "make the file executable",
        _ => "check the command",
    }
}

/// How the child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// It ended, and somebody else took its status.
    Unknown,
}

impl Status {
    /// The exit code to pass on: the child's own, 128 + n for a signal (contract 1).
    pub fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
            Self::Unknown => 1,
        }
    }
}

/// A started producer. Its stdin and stdout are the [`Connection`] that came with it; its stderr is drained
/// into ours until it ends. Dropping it kills the group at once: [`end`](Self::end) is the orderly way.
#[derive(Debug)]
pub struct Child {
    /// The leader of the group, whose pid is the group's id.
    pid: Pid,
    changes: tokio::signal::unix::Signal,
    /// How the leader ended, once that was seen.
    status: Option<Status>,
    /// The leader's pid is free again: it must not be named any more unless the group still lives.
    reaped: bool,
    /// Nothing of the group is left.
    gone: bool,
    /// When the ladder began.
    ending: Option<Instant>,
    rung: ladder::Rung,
    /// None once its end was seen.
    drain: Option<JoinHandle<()>>,
}

impl Child {
    /// Starts the command in a process group of its own, with pipes for stdin, stdout and stderr. Needs a
    /// running runtime.
    ///
    /// # Errors
    /// [`SpawnError`] with the reason; nothing is left running.
    pub fn spawn(spec: &Spec) -> Result<(Self, Connection), SpawnError> {
        Self::spawn_with(spec, Stderr::process())
    }

    fn spawn_with(spec: &Spec, stderr: Stderr) -> Result<(Self, Connection), SpawnError> {
        let [program, arguments @ ..] = spec.command.as_slice() else { return Err(SpawnError::Empty) };
        let failed = |source| SpawnError::Start { program: program.to_string_lossy().into_owned(), source };
        if let Some(cwd) = &spec.cwd {
            // The system reports a missing directory as it does a missing program.
            std::fs::read_dir(cwd).map_err(|source| SpawnError::Cwd {
                program: program.to_string_lossy().into_owned(),
                cwd: cwd.clone(),
                source,
            })?;
        }
        let mut command = Command::new(program);
        command.args(arguments).envs(&spec.env).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = &spec.cwd {
            command.current_dir(cwd);
        }
        // Before the child can end.
        let changes = tokio::signal::unix::signal(SignalKind::child()).map_err(failed)?;
        let mut started = command.spawn().map_err(failed)?;
        let pid = Pid::from_child(&started);
        let pipes = (started.stdin.take(), started.stdout.take(), started.stderr.take());
        // From here on the child is ours to end, whatever fails: `Child` does it when dropped.
        let mut child = Self {
            pid,
            changes,
            status: None,
            reaped: false,
            gone: false,
            ending: None,
            rung: ladder::Rung::default(),
            drain: None,
        };
        let (Some(stdin), Some(stdout), Some(errors)) = pipes else {
            return Err(failed(io::Error::other("no pipes")));
        };
        let writer = pipe_writer(OwnedFd::from(stdin)).map_err(failed)?;
        let reader = pipe_reader(OwnedFd::from(stdout)).map_err(failed)?;
        child.drain = Some(drain::start(OwnedFd::from(errors), stderr).map_err(failed)?);
        let peer = format!("child {}", pid.as_raw_nonzero());
        Ok((child, Connection { reader, writer, peer, facts: Facts::PIPE }))
    }

    /// The process id of the group's leader.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Sends a signal to the whole group, if anything of it is left.
    pub fn signal(&self, signal: Signal) {
        if !self.gone {
            // It fails when there is nobody left, which is no failure.
            let _ = rustix::process::kill_process_group(self.pid, signal);
        }
    }

    /// Waits until the leader has exited. Its stdout may hold more to read, and other processes of its group
    /// may live: [`end`](Self::end) sees to them. Cancel-safe.
    pub async fn exited(&mut self) -> Status {
        loop {
            if let Some(status) = self.look() {
                return status;
            }
            if self.changes.recv().await.is_none() {
                // The runtime is shutting down; nothing more will be told.
                return Status::Unknown;
            }
        }
    }

    /// How the leader ended, if it has. It stays a zombie, so its pid stays its own, until [`end`](Self::end).
    fn look(&mut self) -> Option<Status> {
        if self.status.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            self.status = match rustix::process::waitid(WaitId::Pid(self.pid), options) {
                Ok(ended) => ended.as_ref().map(status_of),
                Err(rustix::io::Errno::INTR) => None,
                Err(_) => {
                    self.reaped = true;
                    Some(Status::Unknown)
                }
            };
        }
        self.status
    }

    /// Takes the ended leader off the system's table. False while it lives.
    fn reap(&mut self) -> bool {
        if !self.reaped && self.look().is_some() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let _ = rustix::process::waitid(WaitId::Pid(self.pid), options);
            self.reaped = true;
        }
        self.reaped
    }
}

fn status_of(status: &WaitIdStatus) -> Status {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, Some(signal)) => Status::Signalled(signal),
        (None, None) => Status::Unknown,
    }
}

#[cfg(test)]
mod tests;
