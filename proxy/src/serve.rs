//! Serving producers: the runtime, the listeners, the signals and the reload (contract 1, 2).

mod attendance;
mod desk;
mod doors;
mod house;
mod left;
mod operator;
mod pulse;
mod reload;
mod signals;
mod watch;
mod wrapped;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::LocalSet;

use self::attendance::Attendance;
use self::desk::FrontDesk;
use self::house::{House, Shut};
use self::operator::OperatorDoors;
use self::signals::Signals;
use self::watch::Watch;
use crate::binding::Order;
use crate::cli::{WrapOptions, exit, out};
use crate::config::{Config, Loaded};
use crate::journal::account::oldest_held;
use crate::journal::{Bounds, Journal, OpenFault};
use crate::keyring::Keyring;
use crate::state::{self, Held};
use crate::stream::Hub;
use crate::telemetry::{self, Telemetry};

/// Serves every producer of a configuration until SIGTERM or SIGINT; the exit code of contract 1. What the
/// file names is read first: certificates, keys, tokens.
pub fn run(loaded: &Loaded, config_path: &Path) -> ExitCode {
    let keyring = Keyring::default();
    if let Err(errors) = loaded.open_named(&keyring) {
        out::complain(&errors.to_string());
        return ExitCode::from(exit::CONFIG);
    }
    keyring.caution();
    let config = loaded.config.clone();
    let held = match state::hold(&config.state_dir) {
        Ok(held) => held,
        Err(taken) => return failed(exit::STATE, &taken.to_string()),
    };
    match journal_of(&held, &config) {
        Ok(journal) => {
            let telemetry = telemetry::of(&config, &journal.gauge(), &|name| std::env::var(name).ok());
            let code =
                on_runtime(serve(config, config_path.to_owned(), journal, (keyring, telemetry.clone())));
            telemetry.finish();
            code
        }
        Err(fault) => failed(exit::STATE, &fault.to_string()),
    }
}

/// Serves one producer on stdin and stdout; the exit code is the child's (contract 1).
pub fn wrap(options: WrapOptions) -> ExitCode {
    let slot = match state::slot::take(&options.slots, &oldest_held) {
        Ok(held) => held,
        Err(taken) => return failed(exit::STATE, &taken.to_string()),
    };
    match journal_of(&slot, &options.config) {
        Ok(journal) => {
            let telemetry =
                telemetry::of(&options.config, &journal.gauge(), &|name| std::env::var(name).ok());
            let (config, dir) = (options.config, slot.path().to_owned());
            let code = on_runtime(wrapped::serve(config, dir, journal, telemetry.clone()));
            telemetry.finish();
            code
        }
        Err(fault) => failed(exit::STATE, &fault.to_string()),
    }
}

fn journal_of(held: &Held, config: &Config) -> Result<Journal, OpenFault> {
    Journal::open(held.path(), Bounds { max_bytes: config.max_journal_bytes })
}

fn failed(code: u8, why: &str) -> ExitCode {
    out::complain(&format!("error: {why}"));
    ExitCode::from(code)
}

fn on_runtime(work: impl Future<Output = u8>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(exit::INTERNAL, &format!("the runtime cannot start: {error}")),
    };
    let code = LocalSet::new().block_on(&runtime, work);
    // A thread that reads a terminal may never come back.
    runtime.shutdown_background();
    crate::transport::stderr::Stderr::process().flush_within(Duration::from_millis(200));
    ExitCode::from(code)
}

async fn serve(
    config: Config,
    path: PathBuf,
    journal: Journal,
    (keyring, telemetry): (Keyring, Telemetry),
) -> u8 {
    let signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            out::complain(&format!("error: signals cannot be listened to: {error}"));
            return exit::INTERNAL;
        }
    };
    // Before anything is served: what changes from now on is a change.
    let watch = Watch::begin(&path, &config, &keyring);
    let desk = Rc::new(FrontDesk::new(journal.clone(), config.state_dir.clone(), keyring.clone(), telemetry));
    let hub = config.admin.is_some().then(|| Hub::new(&config.state_dir));
    if let Some(hub) = &hub {
        desk.tell(hub.clone());
    }
    let mut house = House::new(journal, Rc::clone(&desk), &config, keyring.clone());
    desk.describe(&config);
    let doors = match OperatorDoors::open(&config, &keyring, &desk).await {
        Ok(doors) => doors,
        Err(why) => {
            out::complain(&format!("error: {why}"));
            return exit::UNAVAILABLE;
        }
    };
    reload::caution(&config);
    for producer in config.producers.clone() {
        if let Err(why) = house.open(producer).await {
            out::complain(&format!("error: {why}"));
            house.tell_all(|| Order::Stop);
            return if matches!(why, Shut::Journal(_)) { exit::STATE } else { exit::UNAVAILABLE };
        }
    }
    let served = config.producers.iter().map(|producer| producer.name.clone()).collect();
    left::tell(config.state_dir.clone(), served);
    desk.open();
    let pulse = hub.clone().map(|hub| tokio::task::spawn_local(pulse::beat(Rc::clone(&desk), hub)));
    let attendance = Attendance { house, desk, doors, keyring, watch, path, current: config };
    let code = attendance.until_empty(signals).await;
    if let Some(pulse) = pulse {
        pulse.abort();
    }
    if let Some(hub) = hub {
        hub.end().await;
    }
    code
}
