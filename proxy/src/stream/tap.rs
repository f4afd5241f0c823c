//! A binding's end of the stream: what its steps say waits until they are on disk.

use std::collections::VecDeque;
use std::sync::Arc;

use mcpl_policy::Now;
use mcpl_policy::engine::{Seen, Seq};

use super::{Hub, Observation};

/// Where a binding leaves what its steps say.
#[derive(Debug)]
pub struct Tap {
    hub: Hub,
    producer: Arc<str>,
    /// Of steps that are not on disk yet, which are as bounded as those are.
    waiting: VecDeque<(Seq, Observation)>,
}

impl Tap {
    pub(super) fn new(hub: Hub, producer: &str) -> Self {
        Self { hub, producer: producer.into(), waiting: VecDeque::new() }
    }

    /// Somebody wants to know.
    pub fn is_wanted(&self) -> bool {
        self.hub.is_wanted()
    }

    /// A step says this.
    pub fn note(&mut self, step: Seq, now: Now, seen: Vec<Seen>) {
        let observed = seen.into_iter().map(|seen| (step, Observation::new(&self.producer, now, seen)));
        self.waiting.extend(observed);
    }

    /// Every step up to this one is on disk: what they say is told.
    pub fn durable(&mut self, step: Seq) {
        let count = self.waiting.partition_point(|(of, _)| *of <= step);
        if count > 0 {
            self.hub.publish(self.waiting.drain(..count).map(|(_, observation)| observation));
        }
    }

    /// The others will not be: what they say never was.
    pub fn lost(&mut self) {
        self.waiting.clear();
    }
}
