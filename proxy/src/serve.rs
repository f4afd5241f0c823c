//! Serving producers: the runtime, the listeners, the signals and the reload (contract 1, 2).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet, LocalSet};

use crate::binding::{Binding, Entrance, Order, Outcome};
use crate::cli::{WrapOptions, exit, out};
use crate::config::{self, Config, Listen};
use crate::state;
use crate::transport::dial::Address;
use crate::transport::listen::listen;
use crate::transport::stdio;

/// How often the configuration file is looked at for a change.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Orders that may wait for a binding.
const ORDERS: usize = 16;
/// Connections that may wait for a binding.
const BACKLOG: usize = 16;

/// What is said once while accepted work lives in memory only.
const MEMORY_ONLY: &str =
    "mcpl-sidecar: accepted work is held in memory only: it is lost if this process dies (no journal yet)";

/// Serves every producer of a configuration until SIGTERM or SIGINT; the exit code of contract 1.
pub fn run(config: Config, config_path: &Path) -> ExitCode {
    let _held = match state::hold(&config.state_dir) {
        Ok(held) => held,
        Err(taken) => return failed(exit::STATE, &taken.to_string()),
    };
    out::complain(MEMORY_ONLY);
    on_runtime(serve(config, config_path.to_owned()))
}

/// Serves one producer on stdin and stdout; the exit code is the child's (contract 1).
pub fn wrap(options: WrapOptions) -> ExitCode {
    // Until there is a journal no slot holds work that is older than another's.
    let _slot = match state::slot::take(&options.slots, &|_| None) {
        Ok(held) => held,
        Err(taken) => return failed(exit::STATE, &taken.to_string()),
    };
    out::complain(MEMORY_ONLY);
    on_runtime(wrapped(options.config))
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

/// The signals the program listens to.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    hang_up: Signal,
    /// What means nothing to us, but would end the process and leave a child behind.
    others: [Signal; 3],
}

/// What a signal asks for.
enum Asked {
    Reload,
    End(i32),
    Nothing(i32),
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            hang_up: signal(SignalKind::hangup())?,
            others: [
                signal(SignalKind::user_defined1())?,
                signal(SignalKind::user_defined2())?,
                signal(SignalKind::alarm())?,
            ],
        })
    }

    async fn next(&mut self) -> Asked {
        let [first, second, alarm] = &mut self.others;
        tokio::select! {
            _ = first.recv() => Asked::Nothing(SignalKind::user_defined1().as_raw_value()),
            _ = second.recv() => Asked::Nothing(SignalKind::user_defined2().as_raw_value()),
            _ = alarm.recv() => Asked::Nothing(SignalKind::alarm().as_raw_value()),
            _ = self.terminate.recv() => Asked::End(SignalKind::terminate().as_raw_value()),
            _ = self.interrupt.recv() => Asked::End(SignalKind::interrupt().as_raw_value()),
            _ = self.quit.recv() => Asked::End(SignalKind::quit().as_raw_value()),
            _ = self.hang_up.recv() => Asked::Reload,
        }
    }
}

/// A binding that runs.
struct Running {
    /// Which of all that ran: one of a name may drain while the next begins.
    number: u64,
    orders: mpsc::Sender<Order>,
    listener: Option<JoinHandle<()>>,
}

/// Every binding of a configuration.
#[derive(Default)]
struct House {
    running: HashMap<String, Running>,
    begun: u64,
    /// Who drains hears no further order; the channel is kept open for as long.
    draining: Vec<mpsc::Sender<Order>>,
    tasks: JoinSet<(String, u64, Outcome)>,
}

impl House {
    /// Binds the listener of a producer and starts its binding.
    async fn open(&mut self, producer: config::Producer) -> Result<(), String> {
        let (orders, heard) = mpsc::channel(ORDERS);
        let name = producer.name.clone();
        let (entrance, listener) = match &producer.listen {
            Listen::Stdio => {
                let connection = stdio::take().map_err(|error| format!("stdin and stdout: {error}"))?;
                (Entrance::One(connection), None)
            }
            Listen::On(endpoint) => {
                let address: Address =
                    endpoint.to_string().parse().map_err(|error| format!("producer `{name}`: {error}"))?;
                let listener =
                    listen(&address).await.map_err(|error| format!("producer `{name}`: {error}"))?;
                tracing::info!(producer = %name, at = ?listener.local(), "listening");
                let (found, connections) = mpsc::channel(BACKLOG);
                let task = tokio::task::spawn_local(accept(listener, found));
                (Entrance::Many(connections), Some(task))
            }
        };
        let binding = Binding::new(producer, entrance, heard);
        self.begun += 1;
        let (bound, number) = (name.clone(), self.begun);
        self.tasks.spawn_local(async move { (bound, number, binding.serve().await) });
        self.running.insert(name, Running { number, orders, listener });
        Ok(())
    }

    fn tell(&self, name: &str, order: Order) {
        if let Some(running) = self.running.get(name)
            && running.orders.try_send(order).is_err()
        {
            tracing::warn!(producer = name, "the binding is busy; an order was not taken");
        }
    }

    /// Lets a binding drain. Its address is free when this returns.
    async fn close(&mut self, name: &str) {
        self.tell(name, Order::Drain);
        let Some(running) = self.running.remove(name) else { return };
        if let Some(listener) = running.listener {
            listener.abort();
            // It ends as it was told to, with nothing to say.
            let _ = listener.await;
        }
        self.draining.push(running.orders);
    }

    fn tell_all(&self, order: impl Fn() -> Order) {
        for name in self.running.keys() {
            self.tell(name, order());
        }
    }
}

async fn accept(
    mut listener: crate::transport::listen::Listener,
    found: mpsc::Sender<crate::transport::Connection>,
) {
    loop {
        match listener.accept().await {
            Ok(connection) => {
                if found.send(connection).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve(config: Config, path: PathBuf) -> u8 {
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            out::complain(&format!("error: signals cannot be listened to: {error}"));
            return exit::INTERNAL;
        }
    };
    let mut house = House::default();
    for producer in config.producers.clone() {
        if let Err(why) = house.open(producer).await {
            out::complain(&format!("error: {why}"));
            house.tell_all(|| Order::Stop);
            return exit::UNAVAILABLE;
        }
    }
    let mut current = config;
    let mut ending = false;
    let mut seen = stamp(&path);
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            done = house.tasks.join_next() => match done {
                None => return 0,
                Some(Ok((name, number, outcome))) => {
                    if house.running.get(&name).is_some_and(|running| running.number == number) {
                        house.running.remove(&name);
                    }
                    house.draining.retain(|orders| !orders.is_closed());
                    if outcome.held > 0 {
                        tracing::warn!(producer = %name, held = outcome.held, "accepted work is lost with this process");
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
                    house.tell_all(|| Order::Drain);
                }
                Asked::Nothing(_) => {}
                Asked::Reload => {
                    seen = stamp(&path);
                    current = reload(&mut house, current, &path).await;
                }
            },
            _ = look.tick() => {
                let now = stamp(&path);
                if now.is_some() && now != seen {
                    seen = now;
                    current = reload(&mut house, current, &path).await;
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
                    tracing::error!(producer = %producer.name, why, "a new producer is not served; reload again to retry");
                    unserved.push(producer.name.clone());
                }
            }
        }
    }
    next.producers.retain(|producer| !unserved.contains(&producer.name));
    tracing::info!("the configuration was reloaded");
    next
}

async fn wrapped(config: Config) -> u8 {
    let Some(producer) = config.producers.into_iter().next() else { return exit::INTERNAL };
    let (signals, connection) = match (Signals::listen(), stdio::take()) {
        (Ok(signals), Ok(connection)) => (signals, connection),
        (Err(error), _) | (_, Err(error)) => {
            out::complain(&format!("error: {error}"));
            return exit::INTERNAL;
        }
    };
    let (orders, heard) = mpsc::channel(ORDERS);
    let binding = Binding::new(producer, Entrance::Now(connection), heard);
    let watch = tokio::task::spawn_local(pass_signals(signals, orders));
    let outcome = binding.serve().await;
    watch.abort();
    if let Some(why) = outcome.unreached {
        out::complain(&format!("error: {why}"));
        return exit::UNAVAILABLE;
    }
    out::complain(&format!("mcpl-sidecar: {}, {} still held", outcome.tally, outcome.held));
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
