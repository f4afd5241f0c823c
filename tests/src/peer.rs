//! One end of a connection that carries lines of JSON, played by a fake.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::PATIENCE;
use crate::line::Said;

/// What a fake says when it has heard a line.
#[derive(Debug)]
pub enum Say {
    /// One line, without its line end.
    Line(String),
    /// The fake dies: its connection is closed.
    Exit,
}

/// How a fake answers by itself.
pub trait Mind: Send + 'static {
    /// Called with every line received, in order.
    fn hear(&mut self, said: &Said) -> Vec<Say>;
}

/// A fake that answers nothing.
#[derive(Debug)]
pub struct Mute;

impl Mind for Mute {
    fn hear(&mut self, _: &Said) -> Vec<Say> {
        Vec::new()
    }
}

type Out = Arc<AsyncMutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>>;

#[derive(Default)]
struct Heard {
    lines: Vec<Arc<Said>>,
    ended: bool,
}

#[derive(Default)]
struct Shared {
    heard: Mutex<Heard>,
    news: Notify,
}

/// One end of a connection: what was heard is kept, in order.
pub struct Peer {
    name: &'static str,
    shared: Arc<Shared>,
    out: Out,
    reading: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Peer {
    /// Takes over both halves of a connection; `mind` hears every line.
    pub fn new(
        name: &'static str,
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
        mind: impl Mind,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let out: Out = Arc::new(AsyncMutex::new(Some(Box::new(write))));
        let (reading, gate) = watch::channel(true);
        let (say, said) = mpsc::unbounded_channel();
        let listener =
            tokio::spawn(listen(BufReader::with_capacity(1 << 18, read), shared.clone(), gate, mind, say));
        let speaker = tokio::spawn(speak(said, out.clone(), shared.clone()));
        Self { name, shared, out, reading, tasks: vec![listener, speaker] }
    }

    /// Writes one line.
    pub async fn send(&self, text: impl AsRef<[u8]>) {
        let mut line = text.as_ref().to_vec();
        line.push(b'\n');
        self.send_bytes(&line).await;
    }

    /// Writes exactly these bytes. A connection that is gone is no fault of the writer's.
    pub async fn send_bytes(&self, bytes: &[u8]) {
        if let Some(write) = self.out.lock().await.as_mut() {
            let sent = timeout(PATIENCE, async {
                write.write_all(bytes).await?;
                write.flush().await
            });
            let _ = sent.await.unwrap_or_else(|_| panic!("{}: nobody takes what is written", self.name));
        }
    }

    /// Writes as long as the other side takes it; true if all of it was taken within `patience`.
    pub async fn offer_bytes(&self, bytes: &[u8], patience: std::time::Duration) -> bool {
        let mut out = self.out.lock().await;
        let Some(write) = out.as_mut() else { return false };
        let taken = async {
            write.write_all(bytes).await?;
            write.flush().await
        };
        matches!(timeout(patience, taken).await, Ok(Ok(())))
    }

    /// How many lines were heard so far: a mark for the waits.
    pub fn count(&self) -> usize {
        self.shared.heard.lock().unwrap().lines.len()
    }

    /// Every line heard from `mark` on.
    pub fn since(&self, mark: usize) -> Vec<Arc<Said>> {
        self.shared.heard.lock().unwrap().lines[mark..].to_vec()
    }

    /// The same as text.
    pub fn texts(&self, mark: usize) -> Vec<String> {
        self.since(mark).iter().map(|said| said.str()).collect()
    }

    /// Waits for the first line from `mark` on that `found` likes.
    pub async fn until(&self, mark: usize, what: &str, found: impl FnMut(&Said) -> bool) -> Arc<Said> {
        self.try_until(mark, found)
            .await
            .unwrap_or_else(|why| panic!("{}: {what}: {why}; heard: {:?}", self.name, self.tail(mark)))
    }

    async fn try_until(
        &self,
        mark: usize,
        mut found: impl FnMut(&Said) -> bool,
    ) -> Result<Arc<Said>, &'static str> {
        let mut next = mark;
        let search = async {
            loop {
                let news = self.shared.news.notified();
                tokio::pin!(news);
                news.as_mut().enable();
                let fresh = self.since(next);
                if let Some(said) = fresh.iter().find(|said| found(said)) {
                    return Ok(said.clone());
                }
                next += fresh.len();
                if fresh.is_empty() && self.has_ended() {
                    return Err("the connection ended first");
                }
                if fresh.is_empty() {
                    news.await;
                }
            }
        };
        timeout(PATIENCE, search).await.unwrap_or(Err("it did not come in time"))
    }

    /// Waits until `count` lines in all were heard.
    pub async fn reach(&self, count: usize, what: &str) {
        let mut left = count;
        if count > 0 {
            self.until(0, what, |_| {
                left -= 1;
                left == 0
            })
            .await;
        }
    }

    /// Waits for the answer to the request whose id is spelled `id`.
    pub async fn answer(&self, mark: usize, id: &str) -> Arc<Said> {
        self.until(mark, &format!("the answer to {id}"), |said| said.answers(id)).await
    }

    /// Sends one line that carries `id` (as spelled) and waits for its answer.
    pub async fn ask(&self, id: &str, text: &str) -> serde_json::Value {
        let mark = self.count();
        self.send(text).await;
        self.answer(mark, id).await.json()
    }

    /// Waits for the end of the connection.
    pub async fn ended(&self) {
        let end = async {
            loop {
                let news = self.shared.news.notified();
                tokio::pin!(news);
                news.as_mut().enable();
                if self.has_ended() {
                    return;
                }
                news.await;
            }
        };
        timeout(PATIENCE, end)
            .await
            .unwrap_or_else(|_| panic!("{}: the connection was not ended", self.name));
    }

    /// Whether the other side ended the connection.
    pub fn has_ended(&self) -> bool {
        self.shared.heard.lock().unwrap().ended
    }

    /// Reads no more; at most one read under way still ends.
    pub fn pause(&self) {
        self.reading.send_replace(false);
    }

    /// Reads again.
    pub fn resume(&self) {
        self.reading.send_replace(true);
    }

    /// Says nothing more; what comes is still heard.
    pub async fn half_close(&self) {
        if let Some(mut write) = self.out.lock().await.take() {
            let _ = write.shutdown().await;
        }
    }

    /// Ends the connection.
    pub async fn close(&mut self) {
        self.half_close().await;
        for task in self.tasks.drain(..) {
            task.abort();
            let _ = task.await;
        }
    }

    fn tail(&self, mark: usize) -> Vec<String> {
        let lines = self.texts(mark.min(self.count()));
        let skipped = lines.len().saturating_sub(12);
        lines.into_iter().skip(skipped).map(|line| line.chars().take(300).collect()).collect()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn listen(
    mut read: BufReader<impl AsyncRead + Unpin>,
    shared: Arc<Shared>,
    mut gate: watch::Receiver<bool>,
    mut mind: impl Mind,
    say: mpsc::UnboundedSender<Say>,
) {
    loop {
        if gate.wait_for(|open| *open).await.is_err() {
            break;
        }
        let mut text = Vec::new();
        match read.read_until(b'\n', &mut text).await {
            Ok(count) if count > 0 => {}
            _ => break,
        }
        if text.last() == Some(&b'\n') {
            text.pop();
        }
        let said = Arc::new(Said { text, at: Instant::now() });
        let words = mind.hear(&said);
        shared.heard.lock().unwrap().lines.push(said);
        shared.news.notify_waiters();
        for word in words {
            let _ = say.send(word);
        }
    }
    shared.heard.lock().unwrap().ended = true;
    shared.news.notify_waiters();
}

async fn speak(mut said: mpsc::UnboundedReceiver<Say>, out: Out, shared: Arc<Shared>) {
    while let Some(word) = said.recv().await {
        let mut out = out.lock().await;
        match (word, out.as_mut()) {
            (Say::Line(mut line), Some(write)) => {
                line.push('\n');
                let _ = write.write_all(line.as_bytes()).await;
                let _ = write.flush().await;
            }
            (Say::Exit, _) => {
                *out = None;
                shared.heard.lock().unwrap().ended = true;
                shared.news.notify_waiters();
                return;
            }
            _ => return,
        }
    }
}
