//! Looking after what is served: signals, changes of files, and the end (contract 1, 2).

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::desk::FrontDesk;
use super::house::House;
use super::operator::OperatorDoors;
use super::signals::{Asked, Signals};
use super::watch::Watch;
use crate::binding::Order;
use crate::cli::exit;
use crate::config::Config;
use crate::keyring::Keyring;

/// What the end of a child takes at most, which has to fit into a drain (contract 3.1).
const LADDER: Duration = Duration::from_millis(3500);

/// How long everything may take to stop that was told to stop now.
pub(super) const STOP: Duration = Duration::from_millis(500);

/// All that is served, and what it is served by.
pub(super) struct Attendance {
    pub(super) house: House,
    pub(super) desk: Rc<FrontDesk>,
    pub(super) doors: OperatorDoors,
    pub(super) keyring: Keyring,
    pub(super) watch: Watch,
    /// The configuration file.
    pub(super) path: PathBuf,
    /// What it said when it was last taken over.
    pub(super) current: Config,
}

/// How far the end has come.
enum End {
    /// It has not been asked for.
    Not,
    /// What is held is released, until then.
    Drain(Instant),
    /// Everything was told to stop; then the program ends, whatever still runs.
    Stop(Instant),
}

impl End {
    fn at(&self) -> Option<Instant> {
        match self {
            Self::Not => None,
            Self::Drain(at) | Self::Stop(at) => Some(*at),
        }
    }
}

/// How long held work is released within a drain of so many ms, so that there is time left for the end of
/// what was spawned.
pub(super) fn release_within(drain_ms: u64) -> Duration {
    let drain = Duration::from_millis(drain_ms);
    drain.saturating_sub(LADDER.min(drain / 2))
}

impl Attendance {
    /// Looks after the house until it is empty; the exit code of contract 1.
    pub(super) async fn until_empty(mut self, mut signals: Signals) -> u8 {
        let mut end = End::Not;
        loop {
            let at = end.at();
            tokio::select! {
                done = self.house.tasks.join_next() => match done {
                    None => return 0,
                    Some(Ok((name, number, outcome))) => {
                        self.house.ended(&name, number);
                        if outcome.held > 0 {
                            tracing::info!(producer = %name, held = outcome.held, "what is held waits in the journal");
                        }
                    }
                    Some(Err(error)) => {
                        tracing::error!(%error, "a binding failed");
                        return exit::INTERNAL;
                    }
                },
                asked = signals.next() => match asked {
                    Asked::End(_) => end = match end {
                        End::Not => self.drain(),
                        End::Drain(_) => self.stop(),
                        End::Stop(_) => return 0,
                    },
                    Asked::Nothing(_) => {}
                    Asked::Reload if matches!(end, End::Not) => {
                        self.watch.seen();
                        self.reload().await;
                    }
                    Asked::Reload => tracing::warn!("the program ends: the configuration is not reloaded"),
                },
                found = self.watch.next(), if matches!(end, End::Not) => self.changed(found).await,
                () = sleep_until(at.unwrap_or_else(Instant::now)), if at.is_some() => {
                    if matches!(end, End::Stop(_)) {
                        tracing::warn!("the program ends before all that it serves has: what was held is in the journal");
                        return 0;
                    }
                    end = self.stop();
                }
            }
        }
    }

    fn drain(&mut self) -> End {
        let drain_ms = self.current.drain_ms;
        tracing::info!(drain_ms, "the program ends: nothing new is taken on, what is held is released");
        self.desk.close();
        self.house.shut_doors();
        let within = release_within(drain_ms);
        self.house.tell_all(|| Order::Drain(within));
        End::Drain(Instant::now() + Duration::from_millis(drain_ms))
    }

    fn stop(&mut self) -> End {
        self.house.stop();
        End::Stop(Instant::now() + STOP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_leaves_time_for_the_end_of_children() {
        for (drain_ms, release_ms) in [(10_000, 6500), (7000, 3500), (1000, 500), (0, 0), (600_000, 596_500)]
        {
            assert_eq!(release_within(drain_ms), Duration::from_millis(release_ms), "{drain_ms}");
        }
    }
}
