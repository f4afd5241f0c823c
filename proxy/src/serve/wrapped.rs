//! `wrap`: one producer on stdin and stdout (contract 1).

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tokio::signal::unix::SignalKind;
use tokio::sync::{mpsc, oneshot};

use super::attendance::{STOP, release_within};
use super::desk::FrontDesk;
use super::house::ORDERS;
use super::operator::OperatorDoors;
use super::signals::{Asked, Signals};
use crate::binding::{Binding, Common, Entrance, Ground, Order};
use crate::cli::{exit, out};
use crate::config::Config;
use crate::journal::Journal;
use crate::keyring::Keyring;
use crate::telemetry::Telemetry;
use crate::transport::stdio;

/// The exit code of a child that was killed.
const KILLED: u8 = 128 + 9;

/// Serves the only producer of a configuration; the exit code is the child's.
pub(super) async fn serve(config: Config, dir: PathBuf, journal: Journal, telemetry: Telemetry) -> u8 {
    let (common, within) = (Common::from(&config), release_within(config.drain_ms));
    let Some(producer) = config.producers.into_iter().next() else { return exit::INTERNAL };
    let (signals, connection) = match (Signals::listen(), stdio::take()) {
        (Ok(signals), Ok(connection)) => (signals, connection),
        (Err(error), _) | (_, Err(error)) => {
            out::complain(&format!("error: {error}"));
            return exit::INTERNAL;
        }
    };
    let (orders, heard) = mpsc::channel(ORDERS);
    let keyring = Keyring::default();
    let desk = Rc::new(FrontDesk::new(journal.clone(), dir.clone(), keyring.clone(), telemetry.clone()));
    desk.seat(&producer.name, orders.clone());
    let opened = journal.ledger(&producer.name).and_then(|ledger| {
        let seat = telemetry.seat(&producer.name);
        let ground = Ground { ledger, common, keyring, seat, tap: None };
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
    if config.admin.is_some() {
        tracing::warn!(
            "`wrap` serves no [admin]: only the socket `control` in its state directory is asked. For the page, the \
             metrics and the stream serve the producer with `run` and listen = \"stdio\""
        );
    }
    let doors = OperatorDoors::control(&dir, &desk);
    let (stop, stopped) = oneshot::channel();
    let passing = tokio::task::spawn_local(pass_signals(signals, orders, within, stop));
    let outcome = tokio::select! {
        outcome = Box::pin(binding.serve()) => outcome,
        () = stopped_for(stopped, STOP) => {
            tracing::warn!("the program ends before COMMAND has: its process group is killed");
            return KILLED;
        }
    };
    passing.abort();
    drop(doors);
    if let Some(why) = outcome.unreached {
        out::complain(&format!("error: {why}"));
        return exit::UNAVAILABLE;
    }
    let observed =
        outcome.observed.map_or_else(String::new, |observed| format!("; but for observe mode: {observed}"));
    out::complain(&format!("mcpl-sidecar: {}, {} still held{observed}", outcome.tally, outcome.held));
    outcome.status.map_or(exit::INTERNAL, |status| status.code() as u8)
}

/// Returns so long after everything was told to stop; never if it is not.
async fn stopped_for(stopped: oneshot::Receiver<()>, grace: Duration) {
    if stopped.await.is_ok() {
        tokio::time::sleep(grace).await;
    } else {
        std::future::pending::<()>().await;
    }
}

/// Contract 1: in `wrap` signals pass through to the child; the second of its kind ends everything.
async fn pass_signals(
    mut signals: Signals,
    orders: mpsc::Sender<Order>,
    within: Duration,
    stop: oneshot::Sender<()>,
) {
    let (mut ending, mut stop) = (false, Some(stop));
    loop {
        let order = match signals.next().await {
            Asked::Reload => Order::Signal(SignalKind::hangup().as_raw_value()),
            Asked::End(_) if ending => {
                // Who was told already needs no second word.
                let _ = stop.take().map(|stop| stop.send(()));
                Order::Stop
            }
            Asked::End(number) => {
                ending = true;
                Order::End(number, within)
            }
            Asked::Nothing(number) => Order::Signal(number),
        };
        // A binding that has stopped listening is ending; the next signal may still be the last word.
        let _ = orders.send(order).await;
    }
}
