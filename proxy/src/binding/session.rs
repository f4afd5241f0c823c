//! One session: a host's connection, the producer's connection made for it, and what goes between (contract 3).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mcpl_codec::{Frame, Framer};
use mcpl_policy::{Engine, Input};
use tokio::time::Instant;

use super::clock::Clock;
use super::link::{Came, Link, OUTBOX_BYTES, Way};
use super::offspring::{Offspring, Word};
use crate::child::Status;
use crate::exchange::{Deed, Exchange, Side};
use crate::outbox::{Event, Outbox};
use crate::transport::Connection;

/// How long a host on stdio that has said its last waits for the answers it is owed (contract 3.1).
const LAST_ANSWERS: Duration = Duration::from_secs(30);
/// How long what is left to be written to one side may take once the other is gone.
const LAST_WORDS: Duration = Duration::from_millis(2500);
/// Frames taken from one side before the other has its turn.
const TURN: usize = 256;

/// A producer, reached or not.
pub(super) struct Reached {
    pub(super) connection: Connection,
    pub(super) child: Option<Offspring>,
}

/// The way to the producer.
enum Road {
    Dialing(Pin<Box<dyn Future<Output = Result<Reached, String>>>>),
    Up,
}

/// One session.
pub(super) struct Session {
    pub(super) exchange: Exchange,
    host: Link,
    producer: Link,
    way: Road,
    pub(super) child: Option<Offspring>,
    /// How the child exited, once it has.
    exited: Option<Status>,
    /// stdio: the end of input is the host gone.
    is_stdio: bool,
    limit: usize,
    /// The exchange is over: one side ended.
    closed: bool,
    congested: bool,
    reading: bool,
    /// What is left must be done by then: the host is gone.
    until: Option<Instant>,
    /// The child is dead; whoever else holds its stdout is heard until then.
    heard_until: Option<Instant>,
    /// When the host on stdio counts as gone, its answers or not.
    answers_until: Option<Instant>,
    /// The child was told to end.
    ending: bool,
    pub(super) over: bool,
}

impl Session {
    pub(super) fn new(
        exchange: Exchange,
        host: Connection,
        framer: Framer,
        limit: usize,
        is_stdio: bool,
        durable: u64,
        dial: Pin<Box<dyn Future<Output = Result<Reached, String>>>>,
    ) -> Self {
        let nobody = Connection {
            reader: crate::transport::Reader::ended(),
            writer: crate::transport::Writer::closed(),
            peer: String::new(),
        };
        let mut session = Self {
            exchange,
            host: Link::new(host, framer, Outbox::new(OUTBOX_BYTES)),
            producer: Link::new(nobody, Framer::new(limit), Outbox::new(OUTBOX_BYTES)),
            way: Road::Dialing(dial),
            child: None,
            exited: None,
            is_stdio,
            limit,
            closed: false,
            congested: false,
            reading: true,
            until: None,
            heard_until: None,
            answers_until: None,
            ending: false,
            over: false,
        };
        session.host.outbox.durable(durable);
        session.producer.outbox.durable(durable);
        // The first message may have been taken already.
        session.carry();
        session
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.host.set_limit(limit);
        self.producer.set_limit(limit);
    }

    /// The next moment at which something happens by itself.
    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.until, self.answers_until, self.heard_until].into_iter().flatten().min()
    }

    /// Moves what can be moved; true if anything was.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, engine: &mut Engine, clock: &Clock) -> bool {
        let mut moved = self.poll_dial(cx, engine, clock);
        moved |= self.poll_side(cx, engine, clock, Side::Host);
        moved |= self.write(cx, engine, clock);
        moved |= self.poll_side(cx, engine, clock, Side::Producer);
        moved |= self.write(cx, engine, clock);
        self.attend(engine, clock);
        moved
    }

    /// What needs no look for each message: the child, and how the session ends.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>, engine: &mut Engine, clock: &Clock) {
        if let Some(child) = &mut self.child
            && self.exited.is_none()
            && let Poll::Ready(status) = Pin::new(&mut child.exited).poll(cx)
        {
            // A lost sender is a task that is over: so is the child.
            self.exited = Some(status.unwrap_or(Status::Unknown));
            self.heard_until = Some(Instant::now() + LAST_WORDS);
        }
        self.conclude(engine, clock);
    }

    fn poll_dial(&mut self, cx: &mut Context<'_>, engine: &mut Engine, clock: &Clock) -> bool {
        let Road::Dialing(dial) = &mut self.way else { return false };
        let Poll::Ready(reached) = dial.as_mut().poll(cx) else { return false };
        self.way = Road::Up;
        match reached {
            Ok(reached) => {
                let outbox = std::mem::replace(&mut self.producer.outbox, Outbox::new(OUTBOX_BYTES));
                self.producer = Link::new(reached.connection, Framer::new(self.limit), outbox);
                self.child = reached.child;
            }
            Err(reason) => {
                tracing::warn!(reason, "the producer was not reached: the session ends");
                self.exchange.unreachable(&reason);
                self.producer.input = Way::Broken;
                self.producer.output = Way::Broken;
                self.carry();
                self.close(engine, clock);
            }
        }
        true
    }

    fn link(&mut self, side: Side) -> &mut Link {
        match side {
            Side::Host => &mut self.host,
            Side::Producer => &mut self.producer,
        }
    }

    /// Contract 3.6: what is for a peer that does not read is not read from the other; what is for the other
    /// goes on, but for a peer that leaves our own answers to it unread.
    fn may_read(&self, side: Side) -> bool {
        match side {
            Side::Host => !self.producer.outbox.is_full() && !self.host.is_deaf(),
            Side::Producer => !self.host.outbox.is_full() && !self.producer.is_deaf(),
        }
    }

    fn poll_side(&mut self, cx: &mut Context<'_>, engine: &mut Engine, clock: &Clock, side: Side) -> bool {
        if side == Side::Producer && matches!(self.way, Road::Dialing(_)) {
            return false;
        }
        let now = clock.now();
        for turn in 0..TURN {
            if !self.may_read(side) {
                return turn > 0;
            }
            match self.link(side).poll_frame(cx, turn == 0) {
                Came::Nothing => return turn > 0,
                Came::End => {
                    self.close(engine, clock);
                    return true;
                }
                Came::Frame(Frame::Line(line)) => match side {
                    Side::Host => self.exchange.from_host(engine, now, line),
                    Side::Producer => self.exchange.from_producer(engine, now, line),
                },
                Came::Frame(Frame::TooLong(head)) => {
                    self.exchange.overlong(engine, now, side, &head, self.limit);
                }
            }
            self.carry();
        }
        true
    }

    /// Carries out what the exchange wants done.
    fn carry(&mut self) {
        while let Some(deed) = self.exchange.poll() {
            match deed {
                Deed::Send { to, line, after, forward, ours } => {
                    let link = self.link(to);
                    link.outbox.push(&line, after, forward);
                    if ours {
                        link.told_bytes += line.wire().len();
                    }
                }
                // Until there is a journal, a step is as durable as the process.
                Deed::Commit(seq) => {
                    self.host.outbox.durable(seq);
                    self.producer.outbox.durable(seq);
                }
                Deed::Noise { from, head, why } => {
                    super::log_noise(from.as_str(), &why, &head);
                }
            }
        }
    }

    pub(super) fn tell(&mut self, engine: &mut Engine, clock: &Clock, input: Input) {
        self.exchange.tell(engine, clock.now(), input);
        self.carry();
    }

    fn write(&mut self, cx: &mut Context<'_>, engine: &mut Engine, clock: &Clock) -> bool {
        let mut moved = self.host.poll_write(cx);
        while let Some(event) = self.host.outbox.event() {
            let input = match event {
                Event::Started(number) => Input::HandedOver(number),
                Event::Written(number) => Input::Written(number),
            };
            self.tell(engine, clock, input);
        }
        if matches!(self.way, Road::Up) {
            moved |= self.producer.poll_write(cx);
        }
        moved
    }

    /// Tells the engine when the way to the host is full, and whether the host is being read.
    fn attend(&mut self, engine: &mut Engine, clock: &Clock) {
        let congested = self.host.outbox.is_full();
        if congested != self.congested {
            self.congested = congested;
            self.tell(engine, clock, Input::Congested(congested));
        }
        let reading = self.may_read(Side::Host);
        if reading != self.reading {
            self.reading = reading;
            self.tell(engine, clock, Input::Reading(reading));
        }
    }

    /// One side ended: nothing more is answered or released in this session.
    pub(super) fn close(&mut self, engine: &mut Engine, clock: &Clock) {
        if !self.closed {
            self.closed = true;
            // What was not handed over is held again (contract 7.4), so it must not leave any more.
            let unsent: Vec<u64> = self.host.outbox.unstarted().collect();
            for number in unsent {
                self.host.outbox.withdraw(number);
            }
            self.exchange.end(engine, clock.now());
            self.carry();
        }
    }

    /// Half-closes pass on, and the session is over when both sides are done, or one is gone.
    fn conclude(&mut self, engine: &mut Engine, clock: &Clock) {
        let now = Instant::now();
        if self.host.output == Way::Broken || self.producer.output == Way::Broken {
            self.close(engine, clock);
        }
        if self.heard_until.is_some() && !self.may_read(Side::Producer) {
            // We do not listen while the host has no room: that is not the time meant.
            self.heard_until = Some(now + LAST_WORDS);
        }
        if self.heard_until.is_some_and(|until| now >= until) {
            self.heard_until = None;
            if self.producer.input == Way::Open {
                self.producer.input = Way::Closed;
                self.close(engine, clock);
            }
        }
        if !self.closed {
            return;
        }
        let host_gone = self.host.input == Way::Broken || self.host.output == Way::Broken;
        let producer_gone = self.producer.input == Way::Broken
            || self.producer.output == Way::Broken
            || (self.exited.is_some() && self.producer.input != Way::Open);
        if self.host.input != Way::Open && self.producer.is_flushed() && matches!(self.way, Road::Up) {
            self.producer.close_output();
        }
        if self.producer.input != Way::Open && self.host.is_flushed() && matches!(self.way, Road::Up) {
            self.host.close_output();
        }
        let mut host_done = host_gone;
        if self.is_stdio && self.host.input == Way::Closed {
            let until = *self.answers_until.get_or_insert(now + LAST_ANSWERS);
            host_done |= self.exchange.host_waits() == 0 || now >= until;
            if host_done {
                self.answers_until = None;
            }
        }
        if host_done || producer_gone {
            self.end_child();
        }
        if host_done {
            self.until.get_or_insert(now + LAST_WORDS);
        }
        let late = self.until.is_some_and(|until| now >= until);
        let both = self.host.input != Way::Open && self.producer.input != Way::Open;
        let flushed = self.host.is_flushed() && self.producer.is_flushed();
        self.over = (both && flushed)
            || (host_gone && self.producer.is_flushed())
            || (producer_gone && self.host.is_flushed())
            || late;
    }

    fn end_child(&mut self) {
        if let Some(child) = &self.child
            && !std::mem::replace(&mut self.ending, true)
        {
            child.tell(Word::End);
        }
    }

    /// Ends the session now: a newer one takes its place, or the program stops. What is left to be written
    /// is written by a task of its own, bounded in time.
    pub(super) fn retire(mut self, engine: &mut Engine, clock: &Clock) -> Retired {
        self.close(engine, clock);
        self.end_child();
        let tally = *self.exchange.tally();
        let (host, producer) = (self.host, self.producer);
        let farewell = tokio::task::spawn_local(async move {
            let both = async { tokio::join!(host.retire(), producer.retire()) };
            // Past its time there is nobody who reads.
            let _ = tokio::time::timeout(LAST_WORDS, both).await;
        });
        Retired { tally, farewell, child: self.child, exited: self.exited }
    }
}

/// What is left of a session.
pub(super) struct Retired {
    pub(super) tally: crate::exchange::Tally,
    pub(super) farewell: tokio::task::JoinHandle<()>,
    pub(super) child: Option<Offspring>,
    pub(super) exited: Option<Status>,
}
