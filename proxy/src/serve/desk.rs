//! What the admin routes are told of the bindings that are served (contract 10.3).

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcpl_policy::engine::{StoreState, Unresolved};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::admin::desk::{
    AccountView, BindingView, CountsView, Desk, Listed, ObservedView, Portion, ProducerView, ReloadsView,
    Settlement, Trouble,
};
use crate::binding::{Ask, Order, Status};
use crate::config::Config;
use crate::exchange::Observed;
use crate::journal::{Journal, OpenFault};
use crate::keyring::Keyring;
use crate::stream::Hub;
use crate::telemetry::Telemetry;
use crate::telemetry::names::Reload;

use self::place::Place;
use self::reloads::Reloads;
use self::shelf::{Records, Shelf};

mod certificates;
mod place;
mod reloads;
mod shelf;

/// How long the list of producers waits for those that do not say how they stand.
const STATUS_WITHIN: Duration = Duration::from_secs(2);

/// How long `/ready` does: those who watch over the program wait for a second, often.
const READY_WITHIN: Duration = Duration::from_millis(500);

/// A journal that takes nothing.
const GONE: &str = "gone";

/// Every binding that is served, by name, and the journal they share.
pub(super) struct FrontDesk<R = Shelf> {
    journal: Journal,
    telemetry: Telemetry,
    records: Arc<R>,
    seats: RefCell<BTreeMap<String, mpsc::Sender<Order>>>,
    /// What the configuration says of each producer.
    places: RefCell<BTreeMap<String, Place>>,
    keyring: Keyring,
    phase: Cell<Phase>,
    reloads: RefCell<Reloads>,
    hub: OnceCell<Hub>,
    /// Whether content is shown to who asks for an occurrence.
    show_content: Cell<bool>,
}

/// How far the program has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Serving,
    Ending,
}

impl FrontDesk {
    pub(super) fn new(journal: Journal, dir: PathBuf, keyring: Keyring, telemetry: Telemetry) -> Self {
        Self { telemetry, ..Self::over(journal, Shelf(dir), keyring) }
    }
}

impl<R: Records> FrontDesk<R> {
    fn over(journal: Journal, records: R, keyring: Keyring) -> Self {
        Self {
            journal,
            telemetry: Telemetry::off(),
            records: Arc::new(records),
            seats: RefCell::default(),
            places: RefCell::default(),
            keyring,
            phase: Cell::new(Phase::Starting),
            reloads: RefCell::default(),
            hub: OnceCell::new(),
            show_content: Cell::new(false),
        }
    }

    /// From now on this is what the configuration says.
    pub(super) fn describe(&self, config: &Config) {
        let places = config.producers.iter().map(|producer| (producer.name.clone(), Place::of(producer)));
        *self.places.borrow_mut() = places.collect();
        self.show_content.set(config.admin.as_ref().is_some_and(|admin| admin.show_content));
        self.certify(config);
    }

    /// Something was taken over, or was not.
    pub(super) fn reloaded(&self, outcome: Result<&str, &str>) {
        self.telemetry.reloaded(if outcome.is_ok() { Reload::Applied } else { Reload::Rejected });
        self.reloads.borrow_mut().count(outcome);
    }

    /// What happens is told there, from now on.
    pub(super) fn tell(&self, hub: Hub) {
        // There is one stream a run.
        let _ = self.hub.set(hub);
    }

    /// Where what happens is told, if anywhere.
    pub(super) fn hub(&self) -> Option<&Hub> {
        self.hub.get()
    }

    /// What the program tells of itself.
    pub(super) fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// A binding is served.
    pub(super) fn seat(&self, name: &str, orders: mpsc::Sender<Order>) {
        self.seats.borrow_mut().insert(name.to_owned(), orders);
    }

    /// It is no more.
    pub(super) fn unseat(&self, name: &str) {
        self.seats.borrow_mut().remove(name);
    }

    /// Every listener is bound.
    pub(super) fn open(&self) {
        self.phase.set(Phase::Serving);
    }

    /// The program ends.
    pub(super) fn close(&self) {
        self.phase.set(Phase::Ending);
    }

    fn seat_of(&self, name: &str) -> Result<mpsc::Sender<Order>, Trouble> {
        self.seats.borrow().get(name).cloned().ok_or(Trouble::NoProducer)
    }

    /// Reads the journal, on a thread that may wait for the disk.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&R) -> Result<T, OpenFault> + Send + 'static,
    ) -> Result<T, Trouble> {
        let records = Arc::clone(&self.records);
        let reading = tokio::task::spawn_blocking(move || read(&records));
        let read = reading.await.map_err(|error| Trouble::Journal(error.to_string()))?;
        read.map_err(|fault| Trouble::Journal(fault.to_string()))
    }

    /// How every binding stands that says so in time, in the order of their names.
    async fn views(&self, within: Duration) -> Vec<ProducerView> {
        let seats = self.seats.borrow().clone();
        let asked: Vec<_> = seats
            .into_iter()
            .map(|(name, seat)| {
                let (told, answer) = oneshot::channel();
                // One that is too busy to be asked is one that does not answer.
                let _ = seat.try_send(Order::Ask(Ask::Status(told)));
                (name, answer)
            })
            .collect();
        let until = Instant::now() + within;
        let mut views = Vec::with_capacity(asked.len());
        for (name, answer) in asked {
            let status = timeout_at(until, answer).await.ok().and_then(Result::ok);
            let place = self.places.borrow().get(&name).map(|place| place.view(&self.keyring));
            views.push(ProducerView { name, place: place.unwrap_or_default(), said: status.map(view) });
        }
        views
    }

    async fn account(
        &self,
        producer: String,
        number: u64,
        content: bool,
    ) -> Result<Option<AccountView>, Trouble> {
        let hub = self.hub.get().cloned();
        let reading = move |records: &R| {
            // As long as it takes to look through all that can be replayed, nobody is kept waiting.
            let past = hub.map(|hub| hub.history(&producer, number)).unwrap_or_default();
            records.one(&producer, number, past, content)
        };
        self.read(reading).await
    }

    /// The account alone, as it is after an operator's word.
    async fn settled(&self, producer: String, number: u64) -> Option<Value> {
        Some(self.account(producer, number, false).await.ok()??.account)
    }
}

/// Asks a binding, and waits until it answers.
async fn ask<T>(
    seat: &mpsc::Sender<Order>,
    ask: impl FnOnce(oneshot::Sender<T>) -> Ask,
) -> Result<T, Trouble> {
    let (told, answer) = oneshot::channel();
    seat.send(Order::Ask(ask(told))).await.map_err(|_| Trouble::Busy)?;
    answer.await.map_err(|_| Trouble::Busy)
}

async fn find(seat: &mpsc::Sender<Order>, event_id: &str) -> Result<Option<u64>, Trouble> {
    ask(seat, |told| Ask::Find { event_id: event_id.to_owned(), told }).await
}

impl<R: Records> Desk for FrontDesk<R> {
    async fn unready(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        match self.phase.get() {
            Phase::Starting => reasons.push("not every listener is bound yet".to_owned()),
            Phase::Serving => {}
            Phase::Ending => reasons.push("the program ends".to_owned()),
        }
        let status = self.journal.status();
        if status.state == StoreState::Gone {
            reasons.push(format!("the journal takes nothing: {}", status.fault.unwrap_or_default()));
            return reasons;
        }
        // A binding whose own rows cannot be read takes nothing, however good the journal is.
        for view in self.views(READY_WITHIN).await {
            if view.said.is_some_and(|said| said.store == GONE) {
                reasons.push(format!(
                    "the journal of the producer {:?} takes nothing; the log says why",
                    view.name
                ));
            }
        }
        reasons
    }

    async fn metrics(&self) -> Option<String> {
        let telemetry = self.telemetry.clone();
        // It takes a moment, and the data path has none.
        tokio::task::spawn_blocking(move || telemetry.text()).await.ok().flatten()
    }

    fn reloads(&self) -> ReloadsView {
        self.reloads.borrow().view()
    }

    async fn producers(&self) -> Vec<ProducerView> {
        self.views(STATUS_WITHIN).await
    }

    async fn occurrence(&self, event_id: String, producer: Option<String>) -> Result<AccountView, Trouble> {
        let (mut found, mut forgotten) = (Vec::new(), Vec::new());
        if let Some(name) = producer {
            match find(&self.seat_of(&name)?, &event_id).await? {
                Some(number) => found.push((name, number)),
                None => forgotten.push(name),
            }
        } else {
            let seats = self.seats.borrow().clone();
            for (name, seat) in seats {
                match find(&seat, &event_id).await {
                    Ok(Some(number)) => found.push((name, number)),
                    Ok(None) => forgotten.push(name),
                    // One that has just ended has nothing to say.
                    Err(_) if seat.is_closed() => {}
                    Err(trouble) => return Err(trouble),
                }
            }
        }
        // Past the retry window a binding forgets the name of what is dead or in doubt; its row does not.
        if !forgotten.is_empty() {
            found.extend(self.read(move |records| records.open(&forgotten, &event_id)).await?);
            found.sort();
        }
        match <[_; 1]>::try_from(found) {
            Ok([(name, number)]) => {
                let content = self.show_content.get();
                self.account(name, number, content).await?.ok_or(Trouble::NoOccurrence)
            }
            Err(found) if found.is_empty() => Err(Trouble::NoOccurrence),
            Err(found) => Err(Trouble::Several(found.into_iter().map(|(name, _)| name).collect())),
        }
    }

    async fn work(&self, portion: Portion) -> Result<Listed, Trouble> {
        if let Some(producer) = &portion.producer {
            self.seat_of(producer)?;
        }
        self.read(move |records| records.work(portion)).await
    }

    fn stream(&self) -> Option<Hub> {
        self.hub.get().cloned()
    }

    async fn watch(&self) -> Result<(), Trouble> {
        let seats = self.seats.borrow().clone();
        for seat in seats.into_values() {
            match ask(&seat, Ask::Watch).await {
                // One that has just ended has nothing more to say.
                Err(trouble) if !seat.is_closed() => return Err(trouble),
                _ => {}
            }
        }
        Ok(())
    }

    async fn flush(&self, producer: String) -> Result<(), Trouble> {
        ask(&self.seat_of(&producer)?, Ask::Flush).await
    }

    async fn resolve(&self, settlement: Settlement) -> Result<Value, Trouble> {
        let Settlement { producer, number, word, expect } = settlement;
        let seat = self.seat_of(&producer)?;
        match ask(&seat, |told| Ask::Resolve { number, expect, word, told }).await? {
            Ok(fate) => {
                // It is done, whether it can be shown or not: what was dropped past the retry window leaves
                // nothing to show.
                let id = format!("{producer}/{number}");
                let rest = json!({ "id": id, "producer": &producer, "state": fate.state() });
                Ok(self.settled(producer, number).await.unwrap_or(rest))
            }
            Err(Unresolved::Unknown) => {
                // What has ended has a receipt, which says at which revision.
                let now = match expect {
                    Some(_) => self.settled(producer, number).await,
                    None => None,
                };
                let now = now.and_then(|now| u32::try_from(now["revision"].as_u64()?).ok());
                Err(match now.filter(|now| Some(*now) != expect) {
                    Some(now) => Trouble::Revision(now),
                    None => Trouble::NoOccurrence,
                })
            }
            Err(Unresolved::Revision(revision)) => Err(Trouble::Revision(revision)),
            Err(Unresolved::NotOpen(fate)) => Err(Trouble::NotOpen(fate.state())),
            Err(Unresolved::NoText) => Err(Trouble::NoText),
        }
    }
}

fn view(status: Status) -> BindingView {
    let Status { session, host, names, load, store, tally, observed } = status;
    BindingView {
        session,
        peer: host,
        peer_names: names,
        held: load.held as u64,
        held_bytes: load.held_bytes,
        subjects: load.subjects as u64,
        out: load.out as u64,
        in_doubt: load.in_doubt as u64,
        dead: load.dead as u64,
        store: match store {
            StoreState::Good => "good",
            StoreState::Short => "short",
            StoreState::Gone => GONE,
        },
        counts: CountsView {
            passed: tally.passed,
            accepted: tally.outcomes.total() + tally.stored,
            delivered: tally.delivered,
            folded: tally.folded,
            refused: tally.refused,
            limited: tally.limited,
            retried: tally.retried,
            dead: tally.dead,
            expired: tally.expired,
        },
        observed: observed.as_ref().map(observed_view),
    }
}

fn observed_view(observed: &Observed) -> ObservedView {
    let Observed { tally, load } = observed;
    ObservedView {
        outcomes: tally.outcomes,
        stored: tally.stored,
        again: tally.again,
        delivered: tally.delivered,
        folded: tally.folded,
        refused: tally.refused,
        limited: tally.limited,
        paced: load.paced,
        expired: tally.expired,
        held: load.held as u64,
        held_bytes: load.held_bytes,
        subjects: load.subjects as u64,
    }
}

#[cfg(test)]
mod tests;
