//! One session: a host's connection, the producer's connection made for it, and what goes between (contract 3).

pub(super) mod ending;
mod gates;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mcpl_codec::{Frame, Framer, Line};
use mcpl_policy::Input;
use tokio::time::Instant;

use super::core::Core;
use super::link::{Came, Link, OUTBOX_BYTES, Way};
use super::offspring::Offspring;
use super::waiting::{Gated, Kind, Waiting};
use crate::child::Status;
use crate::exchange::{Cargo, Deed, Exchange, Side};
use crate::outbox::{Event, Outbox};
use crate::transport::Connection;
use crate::transport::ws::close::Close;

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
    /// stdio: the end of input is the host gone, as a WebSocket's is.
    is_stdio: bool,
    limit: usize,
    /// Where the host is.
    peer: String,
    /// The names of the host's certificate, where it showed one.
    pub(super) peer_names: Vec<String>,
    waiting: Waiting,
    /// How long what passes may wait for the journal (contract 7.6).
    pub(super) journal_wait: Duration,
    /// A message went without waiting any longer, and that was said.
    ahead: bool,
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
    /// A session of `host`, of which `framer` has what was read already, with the producer that `dial` reaches.
    pub(super) fn new(
        exchange: Exchange,
        (host, framer): (Connection, Framer),
        (limit, journal_wait): (usize, Duration),
        is_stdio: bool,
        core: &mut Core,
        dial: Pin<Box<dyn Future<Output = Result<Reached, String>>>>,
    ) -> Self {
        core.forget_reads();
        let mut session = Self {
            peer: host.peer.clone(),
            peer_names: host.facts.names.clone(),
            exchange,
            host: Link::new(host, framer, Outbox::new(OUTBOX_BYTES)),
            producer: Link::unreached(limit),
            way: Road::Dialing(dial),
            child: None,
            exited: None,
            is_stdio,
            limit,
            waiting: Waiting::default(),
            journal_wait,
            ahead: false,
            closed: false,
            congested: false,
            reading: true,
            until: None,
            heard_until: None,
            answers_until: None,
            ending: false,
            over: false,
        };
        // The first message may have been taken already.
        session.carry(core);
        session
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.host.set_limit(limit);
        self.producer.set_limit(limit);
    }

    /// The next moment at which something happens by itself.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let late = self.waiting.deadline(self.journal_wait);
        [self.until, self.answers_until, self.heard_until, late].into_iter().flatten().min()
    }

    /// Moves what can be moved; true if anything was.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, core: &mut Core) -> bool {
        self.pass_late();
        let mut moved = self.poll_dial(cx, core);
        moved |= self.poll_side(cx, core, Side::Host);
        moved |= self.write(cx, core);
        moved |= self.poll_side(cx, core, Side::Producer);
        moved |= self.write(cx, core);
        self.attend(core);
        moved
    }

    /// What needs no look for each message: the child, and how the session ends.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>, core: &mut Core) {
        if let Some(child) = &mut self.child
            && self.exited.is_none()
            && let Poll::Ready(status) = Pin::new(&mut child.exited).poll(cx)
        {
            // A lost sender is a task that is over: so is the child.
            self.exited = Some(status.unwrap_or(Status::Unknown));
            self.heard_until = Some(Instant::now() + LAST_WORDS);
        }
        self.conclude(core);
    }

    fn poll_dial(&mut self, cx: &mut Context<'_>, core: &mut Core) -> bool {
        let Road::Dialing(dial) = &mut self.way else { return false };
        let Poll::Ready(reached) = dial.as_mut().poll(cx) else { return false };
        self.way = Road::Up;
        match reached {
            Ok(reached) => {
                core.trouble.unreached.over();
                let outbox = std::mem::replace(&mut self.producer.outbox, Outbox::new(OUTBOX_BYTES));
                let framer = reached.connection.framer(self.limit);
                self.exchange.reached(core.clock.now().mono_ms, (&reached.connection.facts).into());
                self.producer = Link::new(reached.connection, framer, outbox);
                self.child = reached.child;
            }
            Err(reason) => {
                core.trouble.unreached.happens(|unsaid| {
                    tracing::warn!(reason, unsaid, "the producer was not reached: the session ends");
                });
                self.exchange.unreachable(&reason);
                self.host.part(Close::new(Close::AGAIN, &reason));
                self.producer.input = Way::Broken;
                self.producer.output = Way::Broken;
                self.carry(core);
                self.close(core);
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
        // Contract 7.6: what comes after a message that waits for the journal waits with it.
        if self.waiting.blocks(side) {
            return false;
        }
        match side {
            // Renders have a bound of their own. Were they in the way, the host's answers to what is given to it
            // would wait until the producer reads.
            Side::Host => !self.producer.outbox.is_full_of_untagged() && !self.host.is_deaf(),
            Side::Producer => {
                !self.is_congested()
                    && !self.producer.is_deaf()
                    && self.waiting.bytes(Side::Producer) < OUTBOX_BYTES
            }
        }
    }

    /// The way to the host takes no more.
    fn is_congested(&self) -> bool {
        self.host.outbox.is_full() || self.waiting.bytes(Side::Host) >= OUTBOX_BYTES
    }

    fn poll_side(&mut self, cx: &mut Context<'_>, core: &mut Core, side: Side) -> bool {
        if side == Side::Producer && matches!(self.way, Road::Dialing(_)) {
            return false;
        }
        let now = core.clock.now();
        for turn in 0..TURN {
            if !self.may_read(side) || (side == Side::Producer && core.is_behind()) {
                return turn > 0;
            }
            match self.link(side).poll_frame(cx, turn == 0) {
                Came::Nothing => return turn > 0,
                Came::End => {
                    self.close(core);
                    return true;
                }
                Came::Frame(Frame::Line(line)) => match side {
                    Side::Host => self.exchange.from_host(&mut core.engine, now, line),
                    Side::Producer => self.exchange.from_producer(&mut core.engine, now, line),
                },
                Came::Frame(Frame::TooLong(head)) => {
                    self.exchange.overlong(&mut core.engine, now, side, &head, self.limit);
                }
            }
            self.carry(core);
        }
        true
    }

    /// Carries out what the exchange wants done.
    fn carry(&mut self, core: &mut Core) {
        while let Some(deed) = self.exchange.poll() {
            match deed {
                Deed::Send { to, line, after, cargo } => {
                    let kind = match cargo {
                        Cargo::Forward(number) => Kind::Forward(number),
                        Cargo::Render(wire) => Kind::Render(wire),
                        Cargo::Answer(instead) => Kind::Answer(instead),
                        Cargo::Pass => Kind::Pass(Instant::now()),
                    };
                    match after.filter(|_| !core.is_durable(after)) {
                        None => self.queue(to, &line, &kind),
                        Some(after) if core.is_lost() => self.give_up(&Gated { after, to, line, kind }),
                        Some(after) => self.waiting.push(Gated { after, to, line, kind }),
                    }
                }
                Deed::Commit(step) => core.commit(step),
                Deed::Read { ticket, receipt } => core.read(ticket, receipt),
                Deed::Resolved { request, result, after } => core.resolved(request, result, after),
                Deed::Noise { from, head, why } => {
                    core.trouble.noise(from, &why, &head);
                }
            }
        }
    }

    fn queue(&mut self, to: Side, line: &Line, kind: &Kind) {
        let link = self.link(to);
        match kind {
            // Of a render the exchange knows how much waits: its answers are taken from a peer however deaf.
            Kind::Forward(tag) | Kind::Render(tag) => link.outbox.push(line, Some(*tag)),
            Kind::Answer(_) => {
                link.outbox.push(line, None);
                link.told_bytes += line.wire().len();
            }
            Kind::Pass(_) => link.outbox.push(line, None),
        }
    }

    /// One side ended: nothing more is answered or released in it.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Where the host is.
    pub(super) fn peer(&self) -> &str {
        &self.peer
    }

    /// Nothing is left for a side.
    fn is_flushed(&self, side: Side) -> bool {
        let link = match side {
            Side::Host => &self.host,
            Side::Producer => &self.producer,
        };
        link.output != Way::Open || (link.outbox.is_empty() && self.waiting.bytes(side) == 0)
    }

    pub(super) fn tell(&mut self, core: &mut Core, input: Input) {
        self.exchange.tell(&mut core.engine, core.clock.now(), input);
        self.carry(core);
    }

    fn write(&mut self, cx: &mut Context<'_>, core: &mut Core) -> bool {
        let mut moved = self.host.poll_write(cx);
        while let Some(event) = self.host.outbox.event() {
            let input = match event {
                Event::Started(number) => Input::HandedOver(number),
                Event::Written(number) => Input::Written(number),
            };
            self.tell(core, input);
        }
        if matches!(self.way, Road::Up) {
            moved |= self.producer.poll_write(cx);
        }
        while let Some(event) = self.producer.outbox.event() {
            match event {
                Event::Started(_) => {}
                Event::Written(wire) => self.exchange.render_written(core.clock.now(), wire),
            }
        }
        moved
    }

    /// Tells the engine when the way to the host is full, and whether the host is being read.
    fn attend(&mut self, core: &mut Core) {
        let congested = self.is_congested();
        if congested != self.congested {
            self.congested = congested;
            self.exchange.say_congested(congested);
            self.tell(core, Input::Congested(congested));
        }
        let reading = self.may_read(Side::Host);
        if reading != self.reading {
            self.reading = reading;
            self.tell(core, Input::Reading(reading));
        }
    }
}

#[cfg(test)]
mod tests;
