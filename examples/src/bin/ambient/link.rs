//! The two pipes to the host: one JSON text a line.

use std::io::{BufRead as _, Stdout, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How many lines of the host's may wait to be looked at; past it the host is not read.
const WAITING: usize = 64;

/// The host has closed its end.
#[derive(Debug)]
pub(crate) struct Gone;

/// The connection to the host.
pub(crate) struct Link {
    heard: Receiver<Value>,
    out: Stdout,
    asked: u64,
}

impl Link {
    /// Begins to read stdin. Lines that are no JSON are nobody's message.
    pub(crate) fn open() -> Self {
        let (hear, heard) = sync_channel(WAITING);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if let Ok(message) = serde_json::from_str(&line)
                    && hear.send(message).is_err()
                {
                    return;
                }
            }
        });
        Self { heard, out: std::io::stdout(), asked: 0 }
    }

    /// The host's next message; `None` if it said nothing until `end`.
    pub(crate) fn hear(&self, end: Option<Instant>) -> Result<Option<Value>, Gone> {
        let Some(end) = end else { return self.heard.recv().map(Some).map_err(|_| Gone) };
        let left: Duration = end.saturating_duration_since(Instant::now());
        match self.heard.recv_timeout(left) {
            Ok(message) => Ok(Some(message)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Gone),
        }
    }

    /// Sends a request and says under which id. Ids count from 1, as the host's do: they do not mix.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<u64, Gone> {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).map(|()| id)
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str, params: &Value) -> Result<(), Gone> {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Answers a request of the host's: `Err` is an error's code and message.
    pub(crate) fn answer(&self, id: &Value, answer: Result<Value, (i64, &str)>) -> Result<(), Gone> {
        self.say(&match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        })
    }

    fn say(&self, message: &Value) -> Result<(), Gone> {
        let mut out = self.out.lock();
        writeln!(out, "{message}").and_then(|()| out.flush()).map_err(|_| Gone)
    }
}
