//! The two performances of one script: over a plain pipe, and through the sidecar.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, duplex};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use super::host::{Given, Host};
use super::peer;
use super::producer::Producer;
use super::script::{Act, Event, Step};
use crate::binding::{Binding, Common, Entrance, Ground};
use crate::config::{self, Purpose};
use crate::exchange::Tally;
use crate::journal::{Journal, OpenFault};
use crate::keyring::Keyring;
use crate::transport::Connection;

/// The producer sends again what it may, where it is told a time up to this.
const PATIENCE_MS: u64 = 1_000;
const PIPE_BYTES: usize = 64 * 1024;

/// Why the demonstration could not be given.
#[derive(Debug, thiserror::Error)]
pub(super) enum Mishap {
    /// A connection failed.
    #[error("a connection of the demonstration failed: {0}")]
    Connection(#[from] io::Error),
    /// The settings do not validate.
    #[error("{0}")]
    Settings(#[from] config::Errors),
    /// Its journal, which is in memory only, cannot be had.
    #[error("{0}")]
    Journal(#[from] OpenFault),
    /// A task of it panicked.
    #[error("a part of the demonstration failed: {0}")]
    Task(#[from] tokio::task::JoinError),
    /// It hangs.
    #[error("the demonstration did not come to its end in {} s", .0.as_secs())]
    Late(Duration),
}

/// What became of one event.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) event: Event,
    /// The answers the producer got: one for each time it was sent.
    pub(super) answers: Vec<Value>,
}

/// What became of one step, in the order of the script.
#[derive(Debug)]
pub(super) enum Record {
    /// One event.
    Sent(Told),
    /// Many, under one name.
    Flood(&'static str, Vec<Told>),
    /// The events the host took since its last turn.
    Turn(usize),
}

/// One performance.
#[derive(Debug, Default)]
pub(super) struct Played {
    /// For each scene.
    pub(super) scenes: Vec<Vec<Record>>,
    /// Everything the host was given, in order, refused or not.
    pub(super) book: Vec<Given>,
    /// The sidecar's own count; of the plain pipe there is none.
    pub(super) tally: Option<Tally>,
}

/// Producer and host on the two ends of one pipe.
pub(super) async fn without(act: &Act) -> Result<Played, Mishap> {
    let (host, producer) = duplex(PIPE_BYTES);
    play(act, host, producer).await
}

/// The sidecar between them: the producer behind a loopback socket, the host on a pipe.
pub(super) async fn with(act: &Act) -> Result<Played, Mishap> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port().to_string();
    let env = |name: &str| (name == "PORT").then(|| port.clone());
    let config = config::parse(Purpose::Run, Path::new("demo.toml"), act.settings, &env)?.config;
    let (host, hosts_end) = duplex(PIPE_BYTES);
    let (reader, writer) = tokio::io::split(hosts_end);
    let entrance = Entrance::Now(Connection::new(reader, writer, "demo".to_owned()));
    let (orders, heard) = mpsc::channel(1);
    let common = Common::from(&config);
    let Some(producer) = config.producers.into_iter().next() else {
        return Err(io::Error::other("its settings name no producer").into());
    };
    let ledger = Journal::memory().ledger(&producer.name)?;
    let ground = Ground { ledger, common, keyring: Keyring::default(), seat: None };
    let sidecar = tokio::task::spawn_local(Binding::open(producer, entrance, heard, ground)?.serve());
    let (stream, _) = listener.accept().await?;
    let mut played = play(act, host, stream).await?;
    let outcome = sidecar.await?;
    drop(orders);
    played.tally = Some(outcome.tally);
    Ok(played)
}

async fn play<H, P>(act: &Act, host: H, producer: P) -> Result<Played, Mishap>
where
    H: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    P: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mind, book) = Host::new(act.declared);
    let (host, host_task) = peer::start(host, mind);
    let coalesced = Rc::new(Cell::new(false));
    let (producer, producer_task) = peer::start(
        producer,
        Producer { coalesced: Rc::clone(&coalesced), declared: act.declared, listed: act.released },
    );

    host.ask("initialize", Host::greeting()).await?;
    host.tell("notifications/initialized", json!({})).await?;
    host.tell("featureSets/update", Host::policy(act.declared)).await?;
    producer.ask("channels/register", Producer::channels()).await?;

    let mut stage =
        Stage { host, producer, coalesced, book, read: 0, owed: Vec::new(), patient: !act.released };
    let mut played = Played::default();
    for scene in &act.scenes {
        let mut records = Vec::new();
        for step in &scene.steps {
            records.push(stage.step(step).await?);
        }
        played.scenes.push(records);
    }
    played.book.clone_from(&stage.book.borrow());
    // The host hangs up, and everything else follows.
    drop(stage.host);
    host_task.await??;
    producer_task.await??;
    Ok(played)
}

struct Stage {
    host: peer::Mouth,
    producer: peer::Mouth,
    coalesced: Rc<Cell<bool>>,
    book: watch::Receiver<Vec<Given>>,
    /// Entries of the book that were counted for a turn.
    read: usize,
    /// The producer sends again what it is told to.
    patient: bool,
    /// Accepted, and as far as the producer knows still to be told.
    owed: Vec<Event>,
}

impl Stage {
    async fn step(&mut self, step: &Step) -> Result<Record, Mishap> {
        Ok(match step {
            Step::Send(event) => Record::Sent(self.send(event, self.patient).await?),
            Step::Flood(label, events) => {
                let mut all = Vec::new();
                for event in events {
                    all.push(self.send(event, false).await?);
                }
                Record::Flood(label, all)
            }
            Step::Turn => Record::Turn(self.turn().await?),
        })
    }

    /// Sends an event, and once more where the answer says when to.
    async fn send(&mut self, event: &Event, patient: bool) -> Result<Told, Mishap> {
        let mut answers = Vec::new();
        loop {
            let (method, params) = event.request(self.coalesced.get());
            let answer = self.producer.ask(method, params).await?;
            let wait = super::answer::resend_after_ms(&answer).filter(|ms| *ms <= PATIENCE_MS);
            self.owe(event, &answer);
            answers.push(answer);
            match wait {
                Some(ms) if patient && answers.len() == 1 => {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                }
                _ => return Ok(Told { event: event.clone(), answers }),
            }
        }
    }

    fn owe(&mut self, event: &Event, answer: &Value) {
        let coalesce = super::answer::coalesce(answer);
        if let Some(prior) = coalesce["priorEventId"].as_str() {
            self.owed.retain(|owed| owed.id != prior);
        }
        let tells_nothing = matches!(coalesce["outcome"].as_str(), Some("retracted" | "consumed"));
        if super::answer::is_accepted(answer) && !tells_nothing {
            self.owed.push(event.clone());
        }
    }

    /// The host is about to assemble what the model reads: it asks, and is given all that is owed to it.
    async fn turn(&mut self) -> Result<usize, Mishap> {
        self.host.ask("context/beforeInference", json!({"conversationId": "demo"})).await?;
        let owed = std::mem::take(&mut self.owed);
        let has = |book: &Vec<Given>, owed| book.iter().any(|given| given.taken && given.is(owed));
        let book = self.book.wait_for(|book| owed.iter().all(|event| has(book, event))).await;
        let book = book.map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let new = book.iter().skip(self.read).filter(|given| given.taken).count();
        self.read = book.len();
        Ok(new)
    }
}
