//! A host that remembers what it accepted, and drops repeats on the lanes where it says so.

use std::collections::HashMap;

use mcpl_codec::Lane;
use mcpl_codec::refusal::Kind;
use mcpl_policy::engine::Host;

use super::oracle::Oracle;
use super::wire::Way;
use crate::say::Say;
use crate::simulation::chance::Chance;

#[derive(Debug, Default)]
pub(super) struct Far {
    /// What it accepted, on which lane, and when it last did, in the sidecar's running time.
    had: HashMap<(String, Lane), u64>,
}

impl Far {
    /// Whether it knows a repeat: it remembers as long as the sidecar sends it one.
    fn knows(&self, way: &Way, host: &Host, window_ms: u64) -> bool {
        let had = self.had.get(&(way.id.clone(), way.lane));
        host.dedup.covers(way.lane) && had.is_some_and(|at_ms| at_ms + window_ms >= way.made_ms)
    }

    /// Deals with a forward that it was given; what it says.
    pub(super) fn take(
        &mut self,
        way: &Way,
        host: &Host,
        (now_ms, window_ms): (u64, u64),
        say: Say,
        chance: &mut Chance,
        oracle: &mut Oracle,
    ) -> Say {
        let knows = self.knows(way, host, window_ms);
        match say {
            Say::Accepted if knows => {
                // It is dropped; some hosts say so, others accept it once more.
                if chance.percent(60) { Say::Duplicate } else { Say::Accepted }
            }
            Say::Duplicate if !knows => Say::Result(Kind::Invalid, Some(false)),
            Say::Accepted => {
                self.had.insert((way.id.clone(), way.lane), now_ms);
                oracle.had(way);
                Say::Accepted
            }
            other => other,
        }
    }
}
