//! A reader of the event stream: a WebSocket by hand, and the rules of the cursor.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::PATIENCE;

/// A WebSocket to `/v1/stream`.
pub struct StreamSocket {
    stream: TcpStream,
    read: Vec<u8>,
    /// The code of the close frame that ended it, once it has.
    pub closed: Option<u16>,
}

impl StreamSocket {
    /// Connects to the admin listener of that port, which may not be there yet.
    pub async fn open(port: u16) -> Self {
        let end = Instant::now() + PATIENCE;
        loop {
            match Self::asked(port, "").await {
                Ok(Ok(socket)) => return socket,
                Ok(Err(answer)) => panic!("no WebSocket: {answer}"),
                Err(error) => {
                    assert!(Instant::now() < end, "the admin listener does not answer: {error}");
                    sleep(std::time::Duration::from_millis(10)).await;
                }
            }
        }
    }

    /// Asks once, with more header lines; what was answered instead of a WebSocket, if it was.
    ///
    /// # Errors
    /// Nobody listens, or the connection broke.
    pub async fn asked(port: u16, more: &str) -> io::Result<Result<Self, String>> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let head = format!(
            "GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{more}\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        let mut read = Vec::new();
        let end = loop {
            if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let rest = read.split_off(end);
        let head = String::from_utf8_lossy(&read).into_owned();
        Ok(if head.starts_with("HTTP/1.1 101 ") {
            Ok(Self { stream, read: rest, closed: None })
        } else {
            Err(head)
        })
    }

    /// Says one message.
    pub async fn say(&mut self, message: &Value) {
        let text = message.to_string().into_bytes();
        let mut frame = vec![0x81];
        match text.len() {
            length @ 0..126 => frame.push(0x80 | length as u8),
            length => {
                frame.push(0xfe);
                frame.extend(u16::try_from(length).expect("a short message").to_be_bytes());
            }
        }
        // A mask of noughts changes nothing.
        frame.extend([0; 4]);
        frame.extend(text);
        self.stream.write_all(&frame).await.expect("a reader that is served");
    }

    /// The next message; `None`: it is over.
    pub async fn hear(&mut self) -> Option<Value> {
        let text = timeout(PATIENCE, self.text()).await.expect("a message in time")?;
        Some(serde_json::from_slice(&text).expect("messages are JSON"))
    }

    async fn text(&mut self) -> Option<Vec<u8>> {
        loop {
            let head = self.bytes(2).await?;
            let length = match head[1] {
                126 => u64::from(u16::from_be_bytes(self.bytes(2).await?.try_into().ok()?)),
                127 => u64::from_be_bytes(self.bytes(8).await?.try_into().ok()?),
                length => u64::from(length),
            };
            let payload = self.bytes(length as usize).await?;
            match head[0] {
                0x81 => return Some(payload),
                0x88 => {
                    self.closed = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                    return None;
                }
                0x89 => {
                    let length = 0x80 | payload.len() as u8;
                    let pong = [&[0x8a, length, 0, 0, 0, 0], &payload[..]].concat();
                    // It may be gone by now.
                    let _ = self.stream.write_all(&pong).await;
                }
                _ => {}
            }
        }
    }

    async fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.read.len() < count {
            if self.stream.read_buf(&mut self.read).await.ok()? == 0 {
                return None;
            }
        }
        let rest = self.read.split_off(count);
        Some(std::mem::replace(&mut self.read, rest))
    }

    /// Reads until so many bytes are here, and goes away in the middle of whatever that is.
    pub async fn cut_after(mut self, count: usize) {
        while self.read.len() < count {
            if self.stream.read_buf(&mut self.read).await.unwrap_or(0) == 0 {
                return;
            }
        }
    }
}

/// A number is missing: what was applied counts, the rest is to be had from a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The one that was to come.
    pub wanted: u64,
    /// The one that came.
    pub came: u64,
}

/// Follows the observations by the rules of the cursor: exact duplicates are skipped, a gap is rejected, the cursor
/// is advanced after an event was applied, and a snapshot takes the place of all that was known.
#[derive(Clone, Debug, Default)]
pub struct Follower {
    /// The full name of the stream, and the number of the last event that was applied.
    pub cursor: Option<(String, u64)>,
    /// Every occurrence that is known, by id, as it is.
    pub known: BTreeMap<String, Value>,
    /// The events that were applied, in order: number, type, id of the occurrence, its revision.
    pub applied: Vec<(u64, String, String, u64)>,
    /// Events that came again.
    pub repeated: u64,
    /// Snapshots that were taken.
    pub snapshots: u64,
    /// Those that are open in the parts of a snapshot so far.
    parts: BTreeMap<String, Value>,
    /// Why batches came, in order, each once in a row.
    pub reasons: Vec<String>,
}

impl Follower {
    /// What to ask to go on.
    pub fn wanted(&self) -> Value {
        match &self.cursor {
            Some((stream, after)) => json!({ "subscribe": { "stream": stream, "after": after } }),
            None => json!({ "subscribe": { "stream": "journal", "after": null } }),
        }
    }

    /// One that knows nothing and wants all that can be replayed.
    pub fn from_the_beginning() -> Self {
        Self { cursor: Some(("journal".to_owned(), 0)), ..Self::default() }
    }

    /// Takes a message.
    ///
    /// # Errors
    /// [`Gap`]: events before the gap were applied, none after it.
    pub fn take(&mut self, message: &Value) -> Result<(), Gap> {
        if let Some(told) = message.get("subscribed") {
            if let (Some(stream), Some(after)) = (told["stream"].as_str(), told["after"].as_u64()) {
                self.cursor = Some((stream.to_owned(), after));
            }
        } else if let Some(part) = message.get("snapshot") {
            self.part(part);
        } else if let Some(batch) = message.get("event.batch") {
            self.batch(batch)?;
        }
        Ok(())
    }

    fn part(&mut self, part: &Value) {
        if part["part"] == 0 {
            self.parts.clear();
        }
        for entry in part["occurrences"].as_array().into_iter().flatten() {
            self.parts.insert(entry["id"].as_str().expect("an id").to_owned(), entry.clone());
        }
        if part["isLast"] == true {
            self.known = std::mem::take(&mut self.parts);
            self.snapshots += 1;
            let stream = part["stream"].as_str().expect("a stream").to_owned();
            self.cursor = Some((stream, part["lastSequence"].as_u64().expect("a number")));
        }
    }

    fn batch(&mut self, batch: &Value) -> Result<(), Gap> {
        let reason = batch["reason"].as_str().expect("a reason");
        if self.reasons.last().is_none_or(|last| last != reason) {
            self.reasons.push(reason.to_owned());
        }
        let (stream, cursor) = self.cursor.as_mut().expect("a cursor before a batch");
        assert_eq!(batch["stream"], **stream, "of the stream that was asked for");
        for event in batch["events"].as_array().expect("events") {
            let seq = event["seq"].as_u64().expect("a number");
            if seq <= *cursor {
                self.repeated += 1;
                continue;
            }
            if seq != *cursor + 1 {
                return Err(Gap { wanted: *cursor + 1, came: seq });
            }
            let data = &event["data"];
            let (id, revision) = (data["id"].as_str().expect("an id"), data["revision"].as_u64());
            // A snapshot may know more than the events that follow it.
            let news = self.known.get(id).is_none_or(|known| known["revision"].as_u64() <= revision);
            if news {
                self.known.insert(id.to_owned(), data.clone());
            }
            let kind = event["type"].as_str().expect("a type").to_owned();
            self.applied.push((seq, kind, id.to_owned(), revision.unwrap_or(0)));
            *cursor = seq;
        }
        Ok(())
    }

    /// What is open, as far as is known: id, state and revision.
    pub fn open(&self) -> Vec<(String, String, u64)> {
        let open = self.known.iter().filter(|(_, entry)| entry["open"] == true);
        let told = |(id, entry): (&String, &Value)| {
            (
                id.clone(),
                entry["state"].as_str().unwrap_or("").to_owned(),
                entry["revision"].as_u64().unwrap_or(0),
            )
        };
        open.map(told).collect()
    }

    /// Hears until `done`, on a socket that is subscribed. However long that takes on a busy machine, something new is
    /// to be applied within [`PATIENCE`] four times over.
    pub async fn follow(&mut self, socket: &mut StreamSocket, mut done: impl FnMut(&Self) -> bool) {
        let (mut applied, mut end) = (self.applied.len(), Instant::now() + 4 * PATIENCE);
        while !done(self) {
            if self.applied.len() > applied {
                (applied, end) = (self.applied.len(), Instant::now() + 4 * PATIENCE);
            }
            assert!(Instant::now() < end, "the stream does not come to that: {:?}", self.cursor);
            let message = socket.hear().await.expect("the stream goes on");
            self.take(&message).expect("no gap");
        }
    }

    /// The last number that was applied.
    pub fn last(&self) -> u64 {
        self.cursor.as_ref().map_or(0, |(_, last)| *last)
    }
}
