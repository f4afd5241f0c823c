//! One end of a connection: asks, is answered, and answers what it is asked.

use std::collections::HashMap;
use std::io;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::{mpsc, oneshot};

/// What a peer makes of what it is told.
pub(super) trait Mind {
    /// A request or a notification. `None`: it is not answered.
    fn hear(&mut self, method: &str, params: &Value) -> Option<Reply>;
}

/// An answer.
pub(super) enum Reply {
    Result(Value),
    Error { code: i64, message: &'static str },
}

/// Something for the peer to say; without `answer` it is a notification.
struct Said {
    method: &'static str,
    params: Value,
    answer: Option<oneshot::Sender<Value>>,
}

/// A peer, seen by who tells it what to say. Dropped, the peer hangs up.
pub(super) struct Mouth {
    said: mpsc::Sender<Said>,
}

impl Mouth {
    /// Sends a request and waits for the whole response.
    pub(super) async fn ask(&self, method: &'static str, params: Value) -> io::Result<Value> {
        let (answer, answered) = oneshot::channel();
        self.say(Said { method, params, answer: Some(answer) }).await?;
        answered.await.map_err(|_| gone())
    }

    /// Sends a notification.
    pub(super) async fn tell(&self, method: &'static str, params: Value) -> io::Result<()> {
        self.say(Said { method, params, answer: None }).await
    }

    async fn say(&self, said: Said) -> io::Result<()> {
        self.said.send(said).await.map_err(|_| gone())
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended in the middle of the script")
}

/// Starts a peer on `stream`, on the local task set.
pub(super) fn start<S, M>(stream: S, mind: M) -> (Mouth, tokio::task::JoinHandle<io::Result<()>>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    M: Mind + 'static,
{
    let (said, heard) = mpsc::channel(1);
    let (reader, writer) = tokio::io::split(stream);
    let peer = Peer { lines: BufReader::new(reader).lines(), writer, mind, next: 0, asked: HashMap::new() };
    (Mouth { said }, tokio::task::spawn_local(peer.live(heard)))
}

struct Peer<S, M> {
    lines: Lines<BufReader<ReadHalf<S>>>,
    writer: WriteHalf<S>,
    mind: M,
    next: u64,
    asked: HashMap<u64, oneshot::Sender<Value>>,
}

impl<S: AsyncRead + AsyncWrite, M: Mind> Peer<S, M> {
    async fn live(mut self, mut heard: mpsc::Receiver<Said>) -> io::Result<()> {
        loop {
            tokio::select! {
                said = heard.recv() => match said {
                    Some(said) => self.say(said).await?,
                    None => return self.writer.shutdown().await,
                },
                line = self.lines.next_line() => match line? {
                    Some(line) => self.hear(&line).await?,
                    None => return Ok(()),
                },
            }
        }
    }

    async fn say(&mut self, said: Said) -> io::Result<()> {
        let mut message = json!({"jsonrpc": "2.0", "method": said.method, "params": said.params});
        if let Some(answer) = said.answer {
            message["id"] = self.next.into();
            self.asked.insert(self.next, answer);
            self.next += 1;
        }
        self.write(&message).await
    }

    async fn hear(&mut self, line: &str) -> io::Result<()> {
        let message: Value = serde_json::from_str(line)?;
        let Some(method) = message["method"].as_str() else {
            if let Some(answer) = message["id"].as_u64().and_then(|id| self.asked.remove(&id)) {
                // Who asked may have given up.
                let _ = answer.send(message);
            }
            return Ok(());
        };
        let reply = self.mind.hear(method, &message["params"]);
        let (Some(reply), Some(id)) = (reply, message.get("id")) else { return Ok(()) };
        let response = match reply {
            Reply::Result(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Reply::Error { code, message } => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        };
        self.write(&response).await
    }

    async fn write(&mut self, message: &Value) -> io::Result<()> {
        self.writer.write_all(format!("{message}\n").as_bytes()).await?;
        self.writer.flush().await
    }
}
