//! An example producer: two chat rooms, speaking MCP and MCPL over stdio.
//!
//! It shows the three things that an ambient producer has to say, and how each coalesces:
//!
//! - **messages**: `channels/incoming`, one subject a message; an edit replaces, a deletion withdraws;
//! - **presence**: `push/event`, one subject a participant; only the newest state is worth telling;
//! - **activity**: deferred notices, one subject a channel; what the host gets is one digest, made when the host
//!   is about to read.
//!
//! The script is in [`scene`]; each scene waits until the host has read what came of the one before. What came of
//! each event is said on stderr. `docs/ambient.md` walks through a run.
//!
//! ```sh
//! cargo build --release -p mcpl-examples
//! mcpl-sidecar wrap -- target/release/ambient
//! ```

mod digest;
mod link;
mod producer;
mod scene;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const USAGE: &str = "usage: ambient [--pause-ms N] [--run NAME]

A producer for an MCPL host, on stdin and stdout: three scenes in two chat rooms.

  --pause-ms N  how long a scene waits for a host that never says that it reads (default 4000)
  --run NAME    what makes this run's ids differ from another's (default: the time)
";

/// What the command line says.
struct Options {
    pause: Duration,
    run: String,
}

impl Options {
    /// Reads the arguments; `None` if they make no sense.
    fn of(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut options = Self { pause: Duration::from_secs(4), run: now.as_millis().to_string() };
        while let Some(name) = arguments.next() {
            let value = arguments.next()?;
            match name.as_str() {
                "--pause-ms" => options.pause = Duration::from_millis(value.parse().ok()?),
                "--run" => options.run = value,
                _ => return None,
            }
        }
        Some(options)
    }
}

fn main() -> ExitCode {
    let Some(options) = Options::of(std::env::args().skip(1)) else {
        note(USAGE);
        return ExitCode::from(64);
    };
    // The host going away is how a producer on stdio ends: there is nobody left to tell.
    let link::Gone = producer::Producer::new(link::Link::open(), options.pause, options.run).run();
    ExitCode::SUCCESS
}

/// One line to stderr: stdout is the host's. Nobody has to read it.
fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", line.trim_end());
}
