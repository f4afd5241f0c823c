//! When something happens by itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Engine;
use super::work::WorkKey;

/// What a moment may bring. A timer that comes too early, or for something gone, does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The quiet or the longest time of held work (contract 7.1).
    Release(WorkKey),
    /// The time of work the host could not take (contract 7.4).
    Retry(WorkKey),
    /// The calendar time of held work (contract 9.4).
    Expiry(WorkKey),
    /// 25 s of a forward without an answer (contract 7.4).
    Answer(u64),
    /// `render_timeout_ms` of a render (contract 6.5).
    Render(u64),
    /// `policy_wait_ms` of the session (contract 7.5).
    PolicyWait,
    /// The pace towards the host has room again.
    Pace,
    /// The retry window of what is remembered may be over (contract 9.5).
    Prune,
}

/// The timers set, earliest first. Bounded: stale ones are swept once they outnumber the live work twice.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(u64, Timer)>>,
}

impl Timers {
    pub(super) fn set(&mut self, at_ms: u64, timer: Timer) {
        self.heap.push(Reverse((at_ms, timer)));
    }

    pub(super) fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The earliest timer whose moment has come, and that moment.
    pub(super) fn due(&mut self, now_ms: u64) -> Option<(u64, Timer)> {
        if self.next()? > now_ms {
            return None;
        }
        self.heap.pop().map(|Reverse(due)| due)
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Drops the timers that mean nothing any more, and all but one of those that are alike.
    pub(super) fn sweep(&mut self, lives: impl Fn(u64, Timer) -> bool) {
        let mut timers = std::mem::take(&mut self.heap).into_vec();
        timers.retain(|Reverse((at, timer))| lives(*at, *timer));
        timers.sort_unstable();
        timers.dedup();
        self.heap = timers.into();
    }
}

impl Engine {
    pub(super) fn on_time(&mut self) {
        while let Some((set_for, timer)) = self.timers.due(self.now.mono_ms) {
            match timer {
                Timer::Release(key) => self.on_release(key, set_for),
                Timer::Retry(key) => self.on_retry(key, set_for),
                Timer::Expiry(key) => self.on_expiry(key, set_for),
                Timer::Answer(number) => self.on_unanswered(number, set_for),
                Timer::Render(number) => self.on_render_time(number, set_for),
                Timer::PolicyWait => self.unpark(|_| true),
                Timer::Pace => self.pace_timer_ms = None,
                Timer::Prune => self.on_prune(set_for),
            }
        }
        if self.order.is_any_ready() {
            self.pump();
        }
    }

    pub(super) fn sweep_timers(&mut self) {
        if self.timers.len() > 4 * (self.works.len() + self.outs.len() + self.renders.len()) + 1024 {
            let (works, outs, pace) = (&self.works, &self.outs, self.pace_timer_ms);
            let wait_ms = self.settings.host.policy_wait_ms;
            let (prune, renders) = (self.prune_timer_ms, &self.renders);
            let policy = self.session.as_ref().map(|session| session.began_ms + wait_ms);
            self.timers.sweep(|at, timer| match timer {
                Timer::Release(key) => works.get(key).is_some_and(|work| work.release_timer_ms == Some(at)),
                Timer::Expiry(key) => works.get(key).is_some_and(|work| work.expiry_timer_ms == Some(at)),
                Timer::Retry(key) => works.get(key).is_some_and(|work| work.retry_timer_ms == Some(at)),
                Timer::Answer(number) => outs.get(&number).is_some_and(|out| out.timer_ms == Some(at)),
                Timer::Render(number) => renders.get(&number).is_some_and(|render| render.timer_ms == at),
                Timer::PolicyWait => policy == Some(at),
                Timer::Pace => pace == Some(at),
                Timer::Prune => prune == Some(at),
            });
        }
    }
}
