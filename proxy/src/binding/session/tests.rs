//! Renders on their way to the producer (contract 6.5, 9.1).

use std::future::poll_fn;
use std::task::Waker;

use bytes::Bytes;
use mcpl_policy::Settings;
use mcpl_policy::engine::StoreState;
use mcpl_policy::journal::{Change, Step, Table};
use tokio::io::{AsyncRead as _, AsyncWriteExt as _, DuplexStream, ReadBuf};

use super::super::core::News;
use super::super::settings;
use super::*;
use crate::journal::faulty::{Faults, Faulty};
use crate::journal::{Bounds, Journal, Memory, Pace};

const INFERENCE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"inference/request\"}\n";

/// A session between two ends of our own, over a journal that fails when it is told to.
struct Rig {
    session: Session,
    core: Core,
    faults: Faults,
    host: DuplexStream,
    producer: DuplexStream,
}

impl Rig {
    /// The producer is sent no more than `room` bytes that it has not read.
    fn new(room: usize) -> Self {
        let (store, faults) = Faulty::new(Box::new(Memory::default()));
        let journal = Journal::over(Box::new(store), Bounds::default(), Pace::default()).unwrap();
        let mut core = Core::open(Settings::default(), journal.ledger("x").unwrap(), None, 7).unwrap();
        let exchange = Exchange::new(settings::terms(&crate::config::defaults("x").0), "r");
        let (host, ours) = tokio::io::duplex(1 << 20);
        let host_side = connection(ours);
        let (producer, ours) = tokio::io::duplex(room);
        let reached = Reached { connection: connection(ours), child: None };
        let dial = Box::pin(std::future::ready(Ok(reached)));
        let limits = (1 << 20, Duration::from_millis(250));
        let session =
            Session::new(exchange, (host_side, Framer::new(1 << 20)), limits, false, &mut core, dial);
        Self { session, core, faults, host, producer }
    }

    /// A render with notices of so many bytes, gated on the step that is committed with it.
    fn render(&mut self, seq: u64, bytes: usize) {
        self.core.commit(Step {
            seq,
            changes: vec![Change::Put { table: Table::Receipt, id: seq, row: vec![1] }],
        });
        let params = Bytes::from(format!("{{\"key\":\"{}\"}}", "k".repeat(bytes)));
        let now = self.core.clock.now();
        assert!(self.session.exchange.render(now, seq, (&params, None), Some(seq)));
        self.session.carry(&mut self.core);
    }

    /// Everything that can be moved now is.
    async fn turn(&mut self) {
        poll_fn(|cx| {
            while self.session.poll(cx, &mut self.core) {}
            self.session.poll_end(cx, &mut self.core);
            Poll::Ready(())
        })
        .await;
    }

    /// What the journal says next is heard, as the binding does.
    async fn hear(&mut self) -> News {
        let news = poll_fn(|cx| self.core.poll(cx)).await;
        match news {
            News::Durable => self.session.release(&self.core),
            News::Store(_) if self.core.is_lost() => self.session.revoke(),
            _ => {}
        }
        self.turn().await;
        news
    }

    /// Whether the host is asked for the inference that the producer asks for now.
    async fn infers(&mut self) -> bool {
        self.producer.write_all(INFERENCE).await.unwrap();
        self.turn().await;
        said(&mut self.host).contains("inference/request")
    }
}

fn connection(stream: DuplexStream) -> Connection {
    let (reader, writer) = tokio::io::split(stream);
    Connection::new(reader, writer, "a test".to_owned())
}

/// What a peer can read now.
fn said(peer: &mut DuplexStream) -> String {
    let mut all = Vec::new();
    let mut room = vec![0; 1 << 16];
    loop {
        let mut buffer = ReadBuf::new(&mut room);
        let read = Pin::new(&mut *peer).poll_read(&mut Context::from_waker(Waker::noop()), &mut buffer);
        if !matches!(read, Poll::Ready(Ok(()))) || buffer.filled().is_empty() {
            return String::from_utf8(all).unwrap();
        }
        all.extend_from_slice(buffer.filled());
    }
}

#[tokio::test]
async fn a_render_leaves_once_its_step_is_on_disk() {
    let mut rig = Rig::new(1 << 20);
    rig.faults.hold();
    rig.render(1, 10);
    rig.faults.held();
    rig.turn().await;
    assert_eq!(said(&mut rig.producer), "");
    assert!(rig.infers().await, "the producer has nothing to render yet");
    rig.faults.release();
    while !matches!(rig.hear().await, News::Durable) {}
    assert!(said(&mut rig.producer).contains("push/render"));
    assert!(!rig.infers().await);
    assert!(said(&mut rig.producer).contains("-32600"));
}

#[tokio::test]
async fn a_render_is_handled_from_its_last_byte() {
    let mut rig = Rig::new(64);
    rig.render(1, 100);
    while !matches!(rig.hear().await, News::Durable) {}
    assert!(rig.infers().await, "the half of it is no request");
    let mut request = String::new();
    while !request.ends_with('\n') {
        request += &said(&mut rig.producer);
        rig.turn().await;
    }
    assert!(!rig.infers().await);
}

#[tokio::test]
async fn a_render_whose_step_is_lost_never_leaves() {
    let mut rig = Rig::new(1 << 20);
    rig.faults.break_down();
    rig.render(1, 10);
    while !matches!(rig.hear().await, News::Store(StoreState::Gone)) {}
    rig.render(2, 10);
    rig.faults.mend();
    while !matches!(rig.hear().await, News::Restored) {}
    rig.turn().await;
    assert_eq!(said(&mut rig.producer), "");
    assert!(rig.infers().await);
}

#[tokio::test]
async fn a_producer_is_not_sent_a_render_of_a_session_that_is_over() {
    let mut rig = Rig::new(64);
    rig.render(1, 100);
    rig.render(2, 100);
    while rig.core.durable < 2 {
        rig.hear().await;
    }
    rig.session.close(&mut rig.core);
    let mut seen = String::new();
    for _ in 0..20 {
        seen += &said(&mut rig.producer);
        rig.turn().await;
    }
    assert_eq!(seen.matches("push/render").count(), 1, "the one that was begun: {seen}");
}

#[tokio::test]
async fn answers_are_taken_from_a_producer_that_leaves_renders_unread() {
    let mut rig = Rig::new(256);
    rig.turn().await;
    for seq in 1..=4 {
        rig.render(seq, OUTBOX_BYTES);
    }
    while rig.core.durable < 4 {
        rig.hear().await;
    }
    assert!(rig.session.producer.outbox.is_full());
    rig.producer
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"mcpl-sidecar/r/1\",\"result\":{}}\n")
        .await
        .unwrap();
    rig.producer
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"mcpl-sidecar/r/1\",\"result\":{}}\n")
        .await
        .unwrap();
    rig.turn().await;
    assert_eq!(rig.session.exchange.tally().strays, 1, "both were read");
}
