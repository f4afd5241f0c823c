//! Serving producers: the runtime, the listeners, the signals and the reload (contract 1, 2).

mod desk;
mod doors;
mod house;
mod left;
mod pulse;
mod signals;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use tokio::net::TcpListener;
use tokio::signal::unix::SignalKind;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, LocalSet};

use self::desk::FrontDesk;
use self::house::{House, ORDERS, Shut};
use self::signals::{Asked, Signals};
use crate::admin::{Control, serve_tcp, serve_unix};
use crate::binding::{Binding, Entrance, Ground, Order};
use crate::cli::{WrapOptions, exit, out};
use crate::config::{self, Config};
use crate::journal::account::oldest_held;
use crate::journal::{Bounds, Journal, OpenFault};
use crate::state::{self, Held};
use crate::stream::Hub;
use crate::token::Token;
use crate::transport::stdio;

/// How often the configuration file is looked at for a change.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Serves every producer of a configuration until SIGTERM or SIGINT; the exit code of contract 1.
pub fn run(config: Config, config_path: &Path) -> ExitCode {
    let held = match state::hold(&config.state_dir) {
        Ok(held) => held,
        Err(taken) => return failed(exit::STATE, &taken.to_string()),
    };
    match journal_of(&held, &config) {
        Ok(journal) => on_runtime(serve(config, config_path.to_owned(), journal)),
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
        Ok(journal) => on_runtime(wrapped(options.config, slot.path().to_owned(), journal)),
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

async fn serve(config: Config, path: PathBuf, journal: Journal) -> u8 {
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            out::complain(&format!("error: signals cannot be listened to: {error}"));
            return exit::INTERNAL;
        }
    };
    let desk = Rc::new(FrontDesk::new(journal.clone(), config.state_dir.clone()));
    let hub = config.admin.is_some().then(|| Hub::new(&config.state_dir));
    if let Some(hub) = &hub {
        desk.tell(hub.clone());
    }
    let mut house = House::new(journal, Rc::clone(&desk), &config);
    let doors = match doors(&config, &desk).await {
        Ok(doors) => doors,
        Err(why) => {
            out::complain(&format!("error: {why}"));
            return exit::UNAVAILABLE;
        }
    };
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
    let code = attend(&mut house, &mut signals, config, &path, &desk).await;
    drop(doors);
    if let Some(pulse) = pulse {
        pulse.abort();
    }
    if let Some(hub) = hub {
        hub.end().await;
    }
    code
}

/// Where an operator asks: the socket in the state directory, and `[admin] listen`.
async fn doors(config: &Config, desk: &Rc<FrontDesk>) -> Result<JoinSet<()>, String> {
    let mut doors = JoinSet::new();
    open_control(&mut doors, &config.state_dir, desk);
    if let Some(admin) = &config.admin {
        let token = admin.token_file.clone().map(Token::in_file);
        if let Some(token) = &token {
            token.check().map_err(|error| format!("admin.token_file: {error}"))?;
        }
        let (host, desk) = (admin.listen.to_string(), Rc::clone(desk));
        let listener =
            TcpListener::bind(&host).await.map_err(|error| format!("admin.listen = \"{host}\": {error}"))?;
        doors.spawn_local(async move { serve_tcp(listener, &host, token, desk).await });
    }
    Ok(doors)
}

/// Opens the socket in the state directory; a program without it is asked less, and serves all the same.
fn open_control(doors: &mut JoinSet<()>, dir: &Path, desk: &Rc<FrontDesk>) {
    match Control::bind(dir) {
        Ok(control) => {
            doors.spawn_local(serve_unix(control, Rc::clone(desk)));
        }
        Err(error) => tracing::warn!(
            %error,
            "there is no control socket in the state directory: `journal resolve` works only when this program does not run"
        ),
    }
}

/// Looks after the house until it is empty.
async fn attend(
    house: &mut House,
    signals: &mut Signals,
    config: Config,
    path: &Path,
    desk: &FrontDesk,
) -> u8 {
    let mut current = config;
    let mut ending = false;
    let mut seen = stamp(path);
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            done = house.tasks.join_next() => match done {
                None => return 0,
                Some(Ok((name, number, outcome))) => {
                    house.ended(&name, number);
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
                Asked::End(_) if ending => house.tell_all(|| Order::Stop),
                Asked::End(_) => {
                    ending = true;
                    desk.close();
                    house.tell_all(|| Order::Drain);
                }
                Asked::Nothing(_) => {}
                Asked::Reload => {
                    seen = stamp(path);
                    current = reload(house, current, path).await;
                }
            },
            _ = look.tick() => {
                house.refresh_certificates();
                let now = stamp(path);
                if now.is_some() && now != seen {
                    seen = now;
                    current = reload(house, current, path).await;
                }
            }
        }
    }
}

/// What tells one state of the file from another.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// Takes the file over whole, or not at all (contract 2).
async fn reload(house: &mut House, current: Config, path: &Path) -> Config {
    let mut next = match config::load(path, &|name| std::env::var(name).ok()) {
        Ok(next) => next,
        Err(errors) => {
            out::complain(&errors.to_string());
            tracing::error!(
                "the configuration was not reloaded: the file does not validate; the running one stays"
            );
            return current;
        }
    };
    if next.state_dir != current.state_dir {
        tracing::warn!("`state_dir` changed: it counts from the next start on");
    }
    if (next.max_journal_bytes, &next.admin) != (current.max_journal_bytes, &current.admin) {
        tracing::warn!("`max_journal_bytes` or `[admin]` changed: they count from the next start on");
    }
    if (next.journal_wait_ms, next.max_dead_letters) != (current.journal_wait_ms, current.max_dead_letters) {
        let mut running: Vec<&str> = house.running.keys().map(String::as_str).collect();
        running.sort_unstable();
        if !running.is_empty() {
            tracing::warn!(
                "`journal_wait_ms` or `max_dead_letters` changed: {} keep the old ones until the next start",
                running.join(", ")
            );
        }
    }
    house.journal_wait = Duration::from_millis(next.journal_wait_ms);
    house.max_dead_letters = next.max_dead_letters;
    let kept = |config: &Config, name: &str| config.producers.iter().any(|producer| producer.name == name);
    for producer in &current.producers {
        if !kept(&next, &producer.name) {
            house.close(&producer.name).await;
        }
    }
    let mut unserved = Vec::new();
    for producer in &next.producers {
        let before = current.producers.iter().find(|before| before.name == producer.name);
        match before {
            Some(before)
                if before.listen == producer.listen && house.running.contains_key(&producer.name) =>
            {
                house.tell(&producer.name, Order::Settings(Box::new(producer.clone())));
            }
            Some(_) => {
                tracing::warn!(producer = %producer.name, "`listen` changed: it counts from the next start on");
                house.tell(&producer.name, Order::Settings(Box::new(producer.clone())));
            }
            None => {
                if let Err(why) = house.open(producer.clone()).await {
                    tracing::error!(producer = %producer.name, %why, "a new producer is not served; reload again to retry");
                    unserved.push(producer.name.clone());
                }
            }
        }
    }
    next.producers.retain(|producer| !unserved.contains(&producer.name));
    tracing::info!("the configuration was reloaded");
    next
}

async fn wrapped(config: Config, dir: PathBuf, journal: Journal) -> u8 {
    let (journal_wait, max_dead_letters) =
        (Duration::from_millis(config.journal_wait_ms), config.max_dead_letters);
    let Some(producer) = config.producers.into_iter().next() else { return exit::INTERNAL };
    let (signals, connection) = match (Signals::listen(), stdio::take()) {
        (Ok(signals), Ok(connection)) => (signals, connection),
        (Err(error), _) | (_, Err(error)) => {
            out::complain(&format!("error: {error}"));
            return exit::INTERNAL;
        }
    };
    let (orders, heard) = mpsc::channel(ORDERS);
    let desk = Rc::new(FrontDesk::new(journal.clone(), dir.clone()));
    desk.seat(&producer.name, orders.clone());
    let opened = journal.ledger(&producer.name).and_then(|ledger| {
        let ground = Ground { ledger, journal_wait, max_dead_letters, tap: None };
        Binding::open(producer, Entrance::Now(connection), heard, ground)
    });
    let binding = match opened {
        Ok(binding) => binding,
        Err(fault) => {
            out::complain(&format!("error: {fault}"));
            return exit::STATE;
        }
    };
    desk.open();
    let mut doors = JoinSet::new();
    open_control(&mut doors, &dir, &desk);
    let watch = tokio::task::spawn_local(pass_signals(signals, orders));
    let outcome = binding.serve().await;
    watch.abort();
    if let Some(why) = outcome.unreached {
        out::complain(&format!("error: {why}"));
        return exit::UNAVAILABLE;
    }
    let observed =
        outcome.observed.map_or_else(String::new, |observed| format!("; but for observe mode: {observed}"));
    out::complain(&format!("mcpl-sidecar: {}, {} still held{observed}", outcome.tally, outcome.held));
    outcome.status.map_or(exit::INTERNAL, |status| status.code() as u8)
}

/// Contract 1: in `wrap` signals pass through to the child; the second of its kind ends everything.
async fn pass_signals(mut signals: Signals, orders: mpsc::Sender<Order>) {
    let mut ending = false;
    loop {
        let order = match signals.next().await {
            Asked::Reload => Order::Signal(SignalKind::hangup().as_raw_value()),
            Asked::End(_) if ending => Order::Stop,
            Asked::End(number) => {
                ending = true;
                Order::End(number)
            }
            Asked::Nothing(number) => Order::Signal(number),
        };
        if orders.send(order).await.is_err() {
            return;
        }
    }
}
