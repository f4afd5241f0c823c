//! A hub of its own, and readers of it over a `WebSocket` in memory.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use mcpl_codec::{Frame, Framer, Line};
use serde_json::{Value, json};
use tokio::io::{DuplexStream, duplex};
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::timeout;

use super::*;
use crate::outbox::Outbox;
use crate::stream::reader::Reader;
use crate::stream::thread::Board;
use crate::transport::Connection;
use crate::transport::ws::{Role, connection};

/// What a reader waits for comes within this, or never.
const PATIENCE: Duration = Duration::from_secs(20);

/// A hub, its board, and how often that is told.
pub(super) struct Stage {
    pub(super) hub: Hub,
    pub(super) board: Rc<Board>,
    pub(super) dir: tempfile::TempDir,
}

/// The other end of a reader.
pub(super) struct Client {
    pub(super) connection: Connection,
    /// Of the reader: whether it is still served.
    pub(super) served: JoinHandle<()>,
    pub(super) framer: Framer,
    outbox: Outbox,
}

impl Stage {
    pub(super) fn new(observations: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let hub = Hub::bounded(Path::new(dir.path()), observations, usize::MAX);
        let board = Rc::new(Board::new(hub.shared()));
        Self { hub, board, dir }
    }

    /// Observations of the occurrences of these numbers are on disk, and that is told.
    pub(super) fn publish(&self, numbers: impl IntoIterator<Item = u64>) {
        self.hub.publish(numbers.into_iter().map(observation));
        self.board.tell();
    }

    pub(super) fn notify(&self, notice: Notice) {
        self.hub.notify(notice);
        self.board.tell();
    }

    /// A reader; `room` bytes are on their way to it at most.
    pub(super) fn reader(&self, room: usize) -> Client {
        let (ours, theirs) = duplex(room);
        let served = tokio::task::spawn_local(Reader::new(ours, Rc::clone(&self.board)).serve());
        Client::on(theirs, served)
    }

    pub(super) fn journal(&self) -> String {
        self.hub.shared().journal()
    }
}

impl Client {
    fn on(stream: DuplexStream, served: JoinHandle<()>) -> Self {
        let connection = connection(tokio::io::split(stream), Role::Client, &Bytes::new(), String::new());
        Self { framer: connection.framer(1 << 20), connection, served, outbox: Outbox::default() }
    }

    pub(super) async fn say(&mut self, message: &Value) {
        self.outbox.push(&Line::from_vec(message.to_string().into_bytes()), None);
        self.connection.writer.write(&mut self.outbox).await.unwrap();
    }

    /// Answers the pings that it was sent.
    pub(super) async fn pong(&mut self) {
        self.connection.writer.write(&mut self.outbox).await.unwrap();
    }

    pub(super) async fn subscribe(&mut self, stream: &str, after: Option<u64>) {
        self.say(&json!({ "subscribe": { "stream": stream, "after": after } })).await;
    }

    pub(super) async fn hear(&mut self) -> Value {
        timeout(PATIENCE, self.message()).await.expect("nothing comes")
    }

    async fn message(&mut self) -> Value {
        loop {
            match self.framer.next() {
                Some(Frame::Line(line)) => return serde_json::from_slice(line.text()).unwrap(),
                Some(Frame::TooLong(_)) => panic!("a message is longer than a client reads"),
                None => assert!(self.connection.reader.read(&mut self.framer).await.unwrap() > 0),
            }
        }
    }

    /// The next message, which has that name.
    pub(super) async fn hear_of(&mut self, name: &str) -> Value {
        let message = self.hear().await;
        assert_eq!(message.as_object().unwrap().keys().collect::<Vec<_>>(), [name], "{message}");
        message[name].clone()
    }

    pub(super) async fn batch(&mut self) -> Value {
        let batch = self.hear_of("event.batch").await;
        let numbers: Vec<u64> = numbers(&batch);
        assert_eq!(batch["firstSeq"].as_u64(), numbers.first().copied());
        assert_eq!(batch["lastSeq"].as_u64(), numbers.last().copied());
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "dense: {numbers:?}");
        assert!(numbers.len() <= BATCH_EVENTS && batch.to_string().len() <= BATCH_BYTES + 4096);
        batch
    }
}

pub(super) fn numbers(batch: &Value) -> Vec<u64> {
    batch["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

pub(super) async fn on_stage(observations: usize, play: impl AsyncFnOnce(Stage)) {
    LocalSet::new().run_until(async { play(Stage::new(observations)).await }).await;
}
