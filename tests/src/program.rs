//! The program under test: where its binary is, one run of it, and what the system says of a process.

use std::path::{Path, PathBuf};
use std::process::{Command as Build, ExitStatus, Stdio};
use std::sync::OnceLock;

use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::PATIENCE;

/// The `mcpl-sidecar` binary: `MCPL_SIDECAR_BIN` if that is set, else one built by cargo, once a process,
/// in the profile and the target folder of the running test.
pub fn sidecar_binary() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| match std::env::var_os("MCPL_SIDECAR_BIN") {
        Some(path) => std::fs::canonicalize(path).expect("MCPL_SIDECAR_BIN names no file"),
        None => build(&["-p", "mcpl-sidecar", "--bin", "mcpl-sidecar"], "mcpl-sidecar"),
    })
}

/// A binary of this crate, built on demand.
pub fn peer_binary(name: &str) -> PathBuf {
    let there = profile_folder().join(name);
    // cargo builds the binaries of a package before its integration tests, so it is there and fresh.
    if there.is_file() { there } else { build(&["-p", "mcpl-tests", "--bin", name], name) }
}

/// The example producer `ambient`, built by cargo, once a process.
pub fn ambient_binary() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build(&["-p", "mcpl-examples", "--bin", "ambient"], "ambient"))
}

/// Runs `cargo build`; the paths come from the running executable, `<target>/<profile>/deps/<test>`.
fn build(what: &[&str], name: &str) -> PathBuf {
    let folder = profile_folder();
    let target = folder.parent().expect("a profile folder lies in a target folder");
    let mut cargo = Build::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).arg("build").args(what).arg("--target-dir").arg(target);
    match folder.file_name().and_then(|profile| profile.to_str()) {
        Some("debug") | None => {}
        Some(profile) => {
            cargo.args(["--profile", profile]);
        }
    }
    // What the outer cargo says of the package under test: build scripts that look at it would run again, and what is
    // built already would be built anew.
    for (name, _) in std::env::vars_os() {
        let foreign = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_"];
        if name.to_str().is_some_and(|name| foreign.iter().any(|prefix| name.starts_with(prefix))) {
            cargo.env_remove(name);
        }
    }
    let status = cargo.stdin(Stdio::null()).status().expect("cargo cannot be started");
    assert!(status.success(), "cargo build {what:?} failed: {status}");
    folder.join(name)
}

fn profile_folder() -> PathBuf {
    let exe = std::env::current_exe().expect("the running test has a path");
    let mut folder = exe.parent().expect("a file lies in a folder").to_owned();
    if folder.ends_with("deps") {
        folder.pop();
    }
    folder
}

/// One run of the program. Dropping it ends the process, by its id.
pub struct Program {
    child: Child,
    pid: u32,
    stderr: PathBuf,
}

impl Program {
    /// Starts `command`; its stderr goes to the file `stderr`.
    pub(crate) fn start(command: &mut Command, stderr: &Path) -> Self {
        let log = std::fs::File::options().create(true).append(true).open(stderr).expect("a log file");
        command.stderr(log);
        Self::start_as_is(command, stderr)
    }

    /// Starts `command`, whose stderr the caller has set.
    pub(crate) fn start_as_is(command: &mut Command, stderr: &Path) -> Self {
        let child = command.kill_on_drop(true).spawn().expect("the program cannot be started");
        let pid = child.id().expect("a fresh child has an id");
        Self { child, pid, stderr: stderr.to_owned() }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal to this process alone.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid.cast_signed()).expect("a process id is not zero");
        let _ = rustix::process::kill_process(pid, signal);
    }

    /// Ends it at once.
    pub async fn kill(&mut self) {
        let _ = self.child.kill().await;
    }

    /// Waits for its end.
    pub async fn exit(&mut self) -> ExitStatus {
        let ended = timeout(PATIENCE, self.child.wait()).await;
        ended.expect("the program did not exit in time").expect("the program can be waited for")
    }

    /// What it wrote to stderr so far.
    pub fn stderr(&self) -> String {
        std::fs::read(&self.stderr)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// The end of its stderr, for a failing test.
    pub(crate) fn show_stderr_if_panicking(&self) {
        if std::thread::panicking() {
            let text = self.stderr();
            let skipped = text.chars().count().saturating_sub(3000);
            eprintln!(
                "--- end of the program's stderr ---\n{}",
                text.chars().skip(skipped).collect::<String>()
            );
        }
    }
}

/// The resident memory of a process in bytes.
pub fn resident_bytes(pid: u32) -> u64 {
    status_bytes(pid, "VmRSS:")
}

/// The most resident memory a process ever had, in bytes.
pub fn peak_bytes(pid: u32) -> u64 {
    status_bytes(pid, "VmHWM:")
}

fn status_bytes(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the line is there");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") * 1024
}

/// Waits until no process has this id (a zombie counts as a process); false if it outlives [`PATIENCE`].
pub async fn gone(pid: u32) -> bool {
    let end = Instant::now() + PATIENCE;
    while Path::new(&format!("/proc/{pid}")).exists() {
        if Instant::now() > end {
            return false;
        }
        sleep(std::time::Duration::from_millis(10)).await;
    }
    true
}
