//! How a session ends: half-closes that pass on, last words, and what is left of it (contract 3.1).

use std::time::Duration;

use tokio::time::Instant;

use super::{LAST_WORDS, Road, Session};
use crate::binding::core::Core;
use crate::binding::link::{Link, Way};
use crate::binding::offspring::{Offspring, Word};
use crate::binding::waiting::Kind;
use crate::child::Status;
use crate::exchange::{Shadow, Side, Tally};
use crate::transport::ws::close::Close;

/// How long a host on stdio that has said its last waits for the answers it is owed (contract 3.1).
const LAST_ANSWERS: Duration = Duration::from_secs(30);

impl Session {
    /// One side ended: nothing more is answered or released in this session.
    pub(in crate::binding) fn close(&mut self, core: &mut Core) {
        if !self.closed {
            self.closed = true;
            // What was not handed over is held again (contract 7.4), so it must not leave any more; nor need a render.
            for link in [&mut self.host, &mut self.producer] {
                let unsent: Vec<u64> = link.outbox.unstarted().collect();
                for number in unsent {
                    link.outbox.withdraw(number);
                }
            }
            for gated in self.waiting.end() {
                match &gated.kind {
                    // It is held again, too; and nobody waits for a render any more.
                    Kind::Forward(_) | Kind::Render(_) => {}
                    kind @ (Kind::Answer(_) | Kind::Pass(_)) => self.queue(gated.to, &gated.line, kind),
                }
            }
            self.exchange.end(&mut core.engine, core.clock.now());
            self.carry(core);
        }
    }

    /// Half-closes pass on, and the session is over when both sides are done, or one is gone.
    pub(super) fn conclude(&mut self, core: &mut Core) {
        let now = Instant::now();
        if self.host.output == Way::Broken || self.producer.output == Way::Broken {
            self.close(core);
        }
        if self.heard_until.is_some() && !self.may_read(Side::Producer) {
            // We do not listen while the host has no room: that is not the time meant.
            self.heard_until = Some(now + LAST_WORDS);
        }
        if self.heard_until.is_some_and(|until| now >= until) {
            self.heard_until = None;
            if self.producer.input == Way::Open {
                self.producer.input = Way::Closed;
                self.close(core);
            }
        }
        if !self.closed {
            return;
        }
        let host_gone = self.host.input == Way::Broken || self.host.output == Way::Broken;
        let producer_gone = self.producer.input == Way::Broken
            || self.producer.output == Way::Broken
            || (self.producer.input == Way::Closed && self.producer.ends_whole())
            || (self.exited.is_some() && self.producer.input != Way::Open);
        if self.host.input != Way::Open && self.is_flushed(Side::Producer) && matches!(self.way, Road::Up) {
            self.producer.part(self.host.ending());
            self.producer.close_output();
        }
        if self.producer.input != Way::Open && self.is_flushed(Side::Host) && matches!(self.way, Road::Up) {
            self.host.part(self.producer.ending());
            self.host.close_output();
        }
        let mut host_done = host_gone;
        if (self.is_stdio || self.host.ends_whole()) && self.host.input == Way::Closed {
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
        let host_flushed = self.is_flushed(Side::Host);
        let producer_flushed = self.is_flushed(Side::Producer);
        self.over = (both && host_flushed && producer_flushed)
            || (host_gone && producer_flushed)
            || (producer_gone && host_flushed)
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
    /// is written by a task of its own, bounded in time. `why` is what a WebSocket is told, where neither side
    /// ended by itself.
    pub(in crate::binding) fn retire(mut self, core: &mut Core, why: &Close) -> Retired {
        let over = self.closed;
        let by_producer = self.producer.input != Way::Open && self.host.input == Way::Open;
        self.close(core);
        self.exchange.over(core.clock.now());
        self.end_child();
        let why = |other: &Link| if over { other.ending() } else { why.clone() };
        self.host.part(why(&self.producer));
        self.producer.part(why(&self.host));
        let (tally, shadow) = (*self.exchange.tally(), self.exchange.take_shadow());
        let (host, producer) = (self.host, self.producer);
        let farewell = tokio::task::spawn_local(async move {
            let both = async { tokio::join!(host.retire(), producer.retire()) };
            // Past its time there is nobody who reads.
            let _ = tokio::time::timeout(LAST_WORDS, both).await;
        });
        Retired { tally, shadow, farewell, by_producer, child: self.child, exited: self.exited }
    }
}

/// What is left of a session.
pub(in crate::binding) struct Retired {
    pub(in crate::binding) tally: Tally,
    /// Observe mode: for the next session.
    pub(in crate::binding) shadow: Option<Box<Shadow>>,
    pub(in crate::binding) farewell: tokio::task::JoinHandle<()>,
    /// It was the producer that ended it.
    pub(in crate::binding) by_producer: bool,
    pub(in crate::binding) child: Option<Offspring>,
    pub(in crate::binding) exited: Option<Status>,
}
