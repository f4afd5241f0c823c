//! One reader: what it asks, and what it is told as fast as it takes it.

use std::cell::{Cell, RefCell};
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use mcpl_codec::{Frame, Framer, Line};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Sleep, sleep, timeout};

use super::NOTICES;
use super::frame;
use super::notice::{Notice, Waiting};
use super::request::{Named, Request, Stream, Wanted};
use super::subscription::{Next, Subscription};
use super::thread::Board;
use crate::outbox::Outbox;
use crate::transport::Connection;
use crate::transport::ws::close::Close;
use crate::transport::ws::{Role, connection};

/// What waits to be written to one reader: nothing more is made for it from here on, in bytes.
pub const READER_BYTES: usize = 256 * 1024;
/// The longest message that is read of one, in bytes.
pub const REQUEST_BYTES: usize = 64 * 1024;
/// The streams one socket can be subscribed to: each once.
pub const SUBSCRIPTIONS: usize = 2;
/// The longest tail of a snapshot.
const TAIL: u64 = 1000;
/// Who takes nothing of what waits for it for this long is cut off.
const STALLED: Duration = Duration::from_mins(1);
/// How long a reader has for our last word.
const PARTING: Duration = Duration::from_secs(2);

/// Where a reader finds notices, and is woken.
#[derive(Default)]
pub(super) struct Post {
    notices: RefCell<Waiting>,
    /// It is subscribed to them.
    wanted: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Post {
    /// Notices are wanted from now on, after these.
    fn begin(&self, current: Vec<Notice>) {
        self.end();
        self.wanted.set(true);
        self.notices.borrow_mut().extend(current);
    }

    /// None are wanted, nor those that wait.
    fn end(&self) {
        self.wanted.set(false);
        *self.notices.borrow_mut() = Waiting::default();
    }

    /// There is news, these notices among it.
    pub(super) fn tell(&self, notices: &[Notice]) {
        if self.wanted.get() {
            self.notices.borrow_mut().extend(notices.iter().cloned());
        }
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// A reader's connection.
pub(super) struct Reader {
    board: Rc<Board>,
    post: Rc<Post>,
    connection: Connection,
    framer: Framer,
    outbox: Outbox,
    journal: Option<Subscription>,
    stalled: Pin<Box<Sleep>>,
    parted: bool,
}

impl Reader {
    /// One at the other end of `stream`, which has become a WebSocket.
    pub(super) fn new(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        board: Rc<Board>,
    ) -> Self {
        let halves = tokio::io::split(stream);
        let connection = connection(halves, Role::Server, &Bytes::new(), String::new());
        let post = Rc::new(Post::default());
        board.join(&post);
        Self {
            board,
            post,
            framer: connection.framer(REQUEST_BYTES),
            connection,
            outbox: Outbox::new(READER_BYTES),
            journal: None,
            stalled: Box::pin(sleep(STALLED)),
            parted: false,
        }
    }

    /// Serves it to its end.
    pub(super) async fn serve(mut self) {
        poll_fn(|cx| self.poll(cx)).await;
        let parting = async {
            self.connection.writer.finish().await;
            self.connection.reader.finish().await;
        };
        // Who does not read hears no last word.
        let _ = timeout(PARTING, parting).await;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        *self.post.waker.borrow_mut() = Some(cx.waker().clone());
        if self.board.is_ending() && !self.parted {
            self.parted = true;
            self.connection.writer.part(Close::new(Close::AWAY, "the sidecar ends"));
            return Poll::Ready(());
        }
        let mut moved = false;
        // Its answers wait with everything else: who does not read is not read.
        if !self.outbox.is_full() {
            match self.connection.reader.poll_read(cx, &mut self.framer) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(()),
                Poll::Ready(Ok(_)) => moved = true,
                Poll::Pending => {}
            }
            while let Some(frame) = self.framer.next() {
                let answer = self.answer(&frame);
                self.outbox.push(&answer, None);
            }
        }
        moved |= self.fill(cx);
        let waited = self.outbox.bytes();
        match self.connection.writer.poll_write(cx, &mut self.outbox) {
            Poll::Ready(Err(_)) => return Poll::Ready(()),
            Poll::Ready(Ok(progress)) => {
                self.rest();
                moved |= progress.written > 0 || !progress.empty;
            }
            // It takes some, if not all: it is slow, and that is all.
            Poll::Pending if self.outbox.bytes() < waited => {
                self.rest();
                let _ = self.stalled.as_mut().poll(cx);
            }
            Poll::Pending => {
                if self.stalled.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
            }
        }
        if moved {
            // There may be more, after the others' turn: readers stay near each other, and are sent the same texts.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// It takes what it is sent.
    fn rest(&mut self) {
        let until = Instant::now() + STALLED;
        // Not for each write: a timer is no cheaper than what it watches.
        if self.stalled.deadline() + Duration::from_secs(1) < until {
            self.stalled.as_mut().reset(until);
        }
    }

    /// Puts what there is into the out-queue while that has room; true if there was anything.
    fn fill(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while !self.outbox.is_full() {
            let Some(notice) = self.post.notices.borrow_mut().pop() else { break };
            self.outbox.push(&notice.line(&self.board.notice_id()), None);
            moved = true;
        }
        while !self.outbox.is_full() {
            let Some(journal) = &mut self.journal else { break };
            match journal.next(cx, &self.board) {
                Next::Nothing => break,
                Next::Line(line) => self.outbox.push(&line, None),
                Next::Over(line) => {
                    self.outbox.push(&line, None);
                    self.journal = None;
                }
            }
            moved = true;
        }
        moved
    }

    fn answer(&mut self, frame: &Frame) -> Line {
        let Frame::Line(line) = frame else {
            let hint = format!("at most {REQUEST_BYTES} bytes are read");
            return frame::error(None, "the message is too long", &hint);
        };
        match serde_json::from_slice(line.text()) {
            Ok(Request::Subscribe(wanted)) => self.subscribe(&wanted),
            Ok(Request::Unsubscribe(Named { stream })) => self.unsubscribe(&stream),
            Err(error) => frame::error(
                None,
                &format!("the message says nothing: {error}"),
                "write {\"subscribe\": {\"stream\": \"journal\", \"after\": null}}; see docs/stream.md",
            ),
        }
    }

    fn stream(&self, name: &str) -> Result<Stream, Line> {
        Stream::named(name, &self.board.shared().journal()).ok_or_else(|| {
            frame::error(Some(name), "there is no such stream", "there are \"journal\" and \"notices\"")
        })
    }

    fn subscribe(&mut self, wanted: &Wanted) -> Line {
        let stream = match self.stream(&wanted.stream) {
            Ok(stream) => stream,
            Err(error) => return error,
        };
        let shared = self.board.shared();
        if stream == Stream::Notices {
            // How everything is now, and from then on what changes.
            let current = self.board.tell_who_comes();
            self.post.begin(current);
            return frame::message("subscribed", &json!({ "stream": NOTICES }));
        }
        // What there is by now was there before it.
        self.board.tell();
        // What cannot be gone on from gets a snapshot.
        let cursor = stream.cursor(wanted.after).filter(|cursor| shared.read(*cursor, *cursor, 0).is_ok());
        self.journal = Some(match cursor {
            Some(cursor) => Subscription::after(cursor, &self.board),
            None => Subscription::anew(wanted.tail.min(TAIL), &self.board),
        });
        frame::message(
            "subscribed",
            &json!({
                "stream": shared.journal(),
                "after": cursor,
                "firstSequence": shared.first(),
                "lastSequence": shared.last(),
            }),
        )
    }

    fn unsubscribe(&mut self, name: &str) -> Line {
        match self.stream(name) {
            Ok(Stream::Notices) => {
                self.post.end();
            }
            Ok(_) => self.journal = None,
            Err(error) => return error,
        }
        frame::message("unsubscribed", &json!({ "stream": name }))
    }
}
