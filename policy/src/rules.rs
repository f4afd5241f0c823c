//! Subject rules: what an operator says of events whose producer says nothing (contract 13.1).
//!
//! A rule that matches an event gives it a subject, as `coalesce` would have; everything after that is the same
//! engine. The first rule that matches counts; an event with a `coalesce` of its own is left alone. What a rule
//! cannot make sense of (no such group or member, a key that is empty or too long, content that could not be
//! coalesced) it does not apply to: the event goes on as it came, and no producer is told of it.

mod rule;
mod seen;
mod template;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use mcpl_codec::Event;

pub use rule::{Patterns, Place, Rule};
pub use template::{Template, TemplateFault};

use self::seen::Seen;

/// The rules of one producer, in order; cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules(Arc<[Rule]>);

/// What the rules made of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// No rule matched, or there is none.
    No,
    /// One did: the event has a subject now.
    Yes,
    /// One did, and could make no key of it.
    NoKey,
}

impl Rules {
    /// These rules, the first to be tried first.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self(rules.into())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rules, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }

    /// Gives `event` the subject that the first rule that matches it says, unless it has a `coalesce` of its
    /// own or could not be coalesced: without an `eventId` or `messageId`, ambiguous, or with content that is
    /// neither a string nor an array of typed blocks.
    pub fn apply(&self, event: &mut Event) -> Applied {
        if self.0.is_empty() || !seen::is_fit(event) {
            return Applied::No;
        }
        let mut seen = Seen::of(event);
        let Some(rule) = self.0.iter().find(|rule| rule.matches(&mut seen)) else { return Applied::No };
        match rule.coalesce(&seen) {
            Some(coalesce) => {
                event.coalesce = Some(Ok(coalesce));
                Applied::Yes
            }
            None => Applied::NoKey,
        }
    }
}
