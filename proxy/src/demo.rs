//! The demonstration: two scripts, each played over a plain pipe and through the real binding, side by side
//! (contract 1). The first act's producer follows the drafts, the second's does as released ones do (13.1).
//!
//! Producer and host are small peers of this process; what lies between them the second time is the same
//! [`Binding`](crate::binding::Binding) that `run` and `wrap` serve with. Steps follow each other by answers,
//! not by times, so every run shows the same.

mod answer;
mod discord;
mod host;
mod live;
mod peer;
mod producer;
mod script;
mod stage;
mod table;
#[cfg(test)]
mod tests;

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use tokio::task::LocalSet;

use self::stage::{Mishap, Played};
use self::table::Paint;
use crate::cli::{exit, out};

/// It takes well under a second; past this something is wrong.
const LONGEST: Duration = Duration::from_secs(9);

/// Plays both acts twice and prints what came of it on stdout; exit code 0, or 70 with the reason on stderr.
pub fn run() -> ExitCode {
    let paint = Paint { on: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() };
    let shown = show(paint)
        .map_err(|mishap| mishap.to_string())
        .and_then(|text| out::print(&text).map_err(|why| format!("stdout cannot be written: {why}")));
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            out::complain(&format!("error: {why}"));
            ExitCode::from(exit::INTERNAL)
        }
    }
}

/// Plays on until it is told to end, with the live page at `at`; exit code 0, 70 with the reason on stderr, or the
/// program's own.
pub fn live(at: SocketAddr) -> ExitCode {
    let played = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| LocalSet::new().block_on(&runtime, live::run(at)));
    played.unwrap_or_else(|why| {
        out::complain(&format!("error: the demonstration cannot go on: {why}"));
        ExitCode::from(exit::INTERNAL)
    })
}

/// Both acts as text.
fn show(paint: Paint) -> Result<String, Mishap> {
    let (first, second) = (script::drafts(), discord::act());
    let (without, with) = both(&first)?;
    let mut text = table::table(&first.scenes, &without, &with, paint);
    let (without, with) = both(&second)?;
    text.push_str(&table::second(&second.scenes, &without, &with, paint));
    Ok(text)
}

/// The two performances: without the sidecar, and with it.
fn both(act: &script::Act) -> Result<(Played, Played), Mishap> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let play = async { Ok((stage::without(act).await?, stage::with(act).await?)) };
    LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(LONGEST, play).await.unwrap_or(Err(Mishap::Late(LONGEST)))
    })
}
