//! What the admin routes are told of the bindings that are served (contract 10.3).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcpl_policy::engine::{StoreState, Unresolved};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::admin::desk::{BindingView, Desk, Listed, Portion, ProducerView, Settlement, Trouble};
use crate::binding::{Ask, Order, Status};
use crate::journal::account::{Account, Books};
use crate::journal::{Journal, OpenFault};

/// How long the list of producers waits for those that do not say how they stand.
const STATUS_WITHIN: Duration = Duration::from_secs(2);

/// What the journal says of occurrences. Reading waits for the disk: it is done on a thread that may.
pub(super) trait Records: Send + Sync + 'static {
    /// One of a producer, by its number.
    fn one(&self, producer: &str, number: u64) -> Result<Option<Value>, OpenFault>;
    /// What waits.
    fn work(&self, portion: Portion) -> Result<Listed, OpenFault>;
}

/// The journal of a state directory.
pub(super) struct Shelf(PathBuf);

impl Records for Shelf {
    fn one(&self, producer: &str, number: u64) -> Result<Option<Value>, OpenFault> {
        let account = Books::open(&self.0)?.account(producer, number)?;
        Ok(account.map(|account| account.json()))
    }

    fn work(&self, portion: Portion) -> Result<Listed, OpenFault> {
        let Portion { producer, after, limit } = portion;
        let (accounts, more) = Books::open(&self.0)?.live(producer.as_deref(), after, limit)?;
        Ok(Listed { accounts: accounts.iter().map(Account::json).collect(), more })
    }
}

/// Every binding that is served, by name, and the journal they share.
pub(super) struct FrontDesk<R = Shelf> {
    journal: Journal,
    records: Arc<R>,
    seats: RefCell<BTreeMap<String, mpsc::Sender<Order>>>,
    open: Cell<bool>,
}

impl FrontDesk {
    pub(super) fn new(journal: Journal, dir: PathBuf) -> Self {
        Self::over(journal, Shelf(dir))
    }
}

impl<R: Records> FrontDesk<R> {
    fn over(journal: Journal, records: R) -> Self {
        Self { journal, records: Arc::new(records), seats: RefCell::default(), open: Cell::new(false) }
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
        self.open.set(true);
    }

    /// The program ends.
    pub(super) fn close(&self) {
        self.open.set(false);
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

    async fn account(&self, producer: String, number: u64) -> Result<Option<Value>, Trouble> {
        self.read(move |records| records.one(&producer, number)).await
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
    fn unready(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if !self.open.get() {
            reasons.push("not every listener is bound, or the program ends".to_owned());
        }
        let status = self.journal.status();
        if status.state == StoreState::Gone {
            reasons.push(format!("the journal takes nothing: {}", status.fault.unwrap_or_default()));
        }
        reasons
    }

    async fn producers(&self) -> Vec<ProducerView> {
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
        let until = Instant::now() + STATUS_WITHIN;
        let mut views = Vec::with_capacity(asked.len());
        for (name, answer) in asked {
            let status = timeout_at(until, answer).await.ok().and_then(Result::ok);
            views.push(ProducerView { name, said: status.map(view) });
        }
        views
    }

    async fn occurrence(&self, event_id: String, producer: Option<String>) -> Result<Value, Trouble> {
        let mut found = Vec::new();
        if let Some(name) = producer {
            let number = find(&self.seat_of(&name)?, &event_id).await?;
            found.extend(number.map(|number| (name, number)));
        } else {
            let seats = self.seats.borrow().clone();
            for (name, seat) in seats {
                match find(&seat, &event_id).await {
                    Ok(number) => found.extend(number.map(|number| (name, number))),
                    // One that has just ended has nothing to say.
                    Err(_) if seat.is_closed() => {}
                    Err(trouble) => return Err(trouble),
                }
            }
        }
        match <[_; 1]>::try_from(found) {
            Ok([(name, number)]) => self.account(name, number).await?.ok_or(Trouble::NoOccurrence),
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
                Ok(self.account(producer, number).await.ok().flatten().unwrap_or(rest))
            }
            Err(Unresolved::Unknown) => Err(Trouble::NoOccurrence),
            Err(Unresolved::Revision(revision)) => Err(Trouble::Revision(revision)),
            Err(Unresolved::NotOpen(fate)) => Err(Trouble::NotOpen(fate.state())),
            Err(Unresolved::NoText) => Err(Trouble::NoText),
        }
    }
}

fn view(status: Status) -> BindingView {
    let Status { session, host, load, store } = status;
    BindingView {
        session,
        peer: host,
        held: load.held as u64,
        held_bytes: load.held_bytes,
        subjects: load.subjects as u64,
        out: load.out as u64,
        in_doubt: load.in_doubt as u64,
        dead: load.dead as u64,
        store: match store {
            StoreState::Good => "good",
            StoreState::Short => "short",
            StoreState::Gone => "gone",
        },
    }
}

#[cfg(test)]
mod tests;
