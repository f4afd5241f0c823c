//! The demonstration: one script, played over a plain pipe and through the real binding, side by side
//! (contract 1).
//!
//! Producer and host are small peers of this process; what lies between them the second time is the same
//! [`Binding`](crate::binding::Binding) that `run` and `wrap` serve with. Steps follow each other by answers,
//! not by times, so every run shows the same.

mod answer;
mod host;
mod peer;
mod producer;
mod script;
mod stage;
mod table;
#[cfg(test)]
mod tests;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use tokio::task::LocalSet;

use self::stage::{Mishap, Played};
use self::table::Paint;
use crate::cli::{exit, out};

/// It takes well under a second; past this something is wrong.
const LONGEST: Duration = Duration::from_secs(9);

/// Plays the script twice and prints what came of it on stdout; exit code 0, or 70 with the reason on stderr.
pub fn run() -> ExitCode {
    let script = script::script();
    let paint = Paint { on: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() };
    let shown = both(&script).map_err(|mishap| mishap.to_string()).and_then(|(without, with)| {
        let text = table::table(&script, &without, &with, paint);
        out::print(&text).map_err(|why| format!("stdout cannot be written: {why}"))
    });
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            out::complain(&format!("error: {why}"));
            ExitCode::from(exit::INTERNAL)
        }
    }
}

/// The two performances: without the sidecar, and with it.
fn both(script: &[script::Scene]) -> Result<(Played, Played), Mishap> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let play = async { Ok((stage::without(script).await?, stage::with(script).await?)) };
    LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(LONGEST, play).await.unwrap_or(Err(Mishap::Late(LONGEST)))
    })
}
