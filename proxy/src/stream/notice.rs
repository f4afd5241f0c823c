//! What is told as it is now, and never kept: notices, and how those that wait for a slow reader are folded.

use std::collections::VecDeque;

use mcpl_codec::Line;
use serde_json::{Value, json};

use super::catalogue::{Delivery, Kind};
use super::frame;
use crate::journal::account::rfc3339;

/// Notices of this many scopes of a type are told apart; those of others are dropped while as many wait.
pub const SCOPES: usize = 4096;
/// Text that waits for a slow reader is no longer than this, in bytes. Past it what waits is dropped, which the
/// next offset shows.
pub const DELTA_BYTES: usize = 64 * 1024;

/// One notice.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub(super) kind: Kind,
    /// What it is about: notices of one type fold within it.
    pub(super) scope: String,
    pub(super) at_ms: i64,
    pub(super) body: Body,
}

/// What a notice says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    /// How something is now.
    Now(Value),
    /// Text that goes on from an offset, in bytes.
    Text { offset: u64, text: String },
}

impl Notice {
    /// How a producer's binding stands.
    pub fn status(producer: &str, at_ms: i64, status: Value) -> Self {
        Self { kind: Kind::Status, scope: producer.to_owned(), at_ms, body: Body::Now(status) }
    }

    /// Lines of a producer's diary, which is `offset` bytes long without them.
    pub fn diary(producer: &str, at_ms: i64, offset: u64, text: &str) -> Self {
        let body = Body::Text { offset, text: text.to_owned() };
        Self { kind: Kind::Diary, scope: producer.to_owned(), at_ms, body }
    }

    pub(super) fn line(&self, id: &str) -> Line {
        let data = match &self.body {
            Body::Now(value) => value.clone(),
            Body::Text { offset, text } => json!({ "producer": self.scope, "offset": offset, "text": text }),
        };
        let (kind, ts) = (self.kind.about().name, rfc3339(self.at_ms));
        frame::message("event.notify", &json!({ "id": id, "type": kind, "ts": ts, "data": data }))
    }
}

/// Notices that wait, folded.
#[derive(Debug, Default)]
pub(super) struct Waiting(VecDeque<Notice>);

impl Waiting {
    /// Takes one more, as the catalogue says of its type.
    pub(super) fn push(&mut self, notice: Notice) {
        let same = |waits: &Notice| waits.kind == notice.kind && waits.scope == notice.scope;
        let before = self.0.iter().position(same);
        match (notice.kind.about().delivery, before) {
            (Delivery::LatestByScope, Some(at)) => self.0[at] = notice,
            (Delivery::ConcatDelta, Some(at)) if !self.0[at].goes_on(&notice) => self.0[at] = notice,
            (Delivery::ConcatDelta, Some(_)) => {}
            _ if self.0.len() >= SCOPES => {}
            _ => self.0.push_back(notice),
        }
    }

    pub(super) fn extend(&mut self, notices: impl IntoIterator<Item = Notice>) {
        notices.into_iter().for_each(|notice| self.push(notice));
    }

    pub(super) fn pop(&mut self) -> Option<Notice> {
        self.0.pop_front()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Notice> {
        self.0.iter()
    }
}

impl Notice {
    /// Puts the text of `next` behind its own; false: that does not follow, or is too much.
    fn goes_on(&mut self, next: &Self) -> bool {
        let (Body::Text { offset, text }, Body::Text { offset: then, text: more }) =
            (&mut self.body, &next.body)
        else {
            return false;
        };
        if *offset + text.len() as u64 != *then || text.len() + more.len() > DELTA_BYTES {
            return false;
        }
        text.push_str(more);
        self.at_ms = next.at_ms;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(waiting: &mut Waiting) -> Vec<Notice> {
        std::iter::from_fn(|| waiting.pop()).collect()
    }

    fn status(producer: &str, held: u64) -> Notice {
        Notice::status(producer, 0, json!({ "producer": producer, "held": held }))
    }

    #[test]
    fn of_each_scope_the_newest_is_left_in_the_place_of_the_first() {
        let mut waiting = Waiting::default();
        for (producer, held) in [("a", 1), ("b", 1), ("a", 2), ("a", 3)] {
            waiting.push(status(producer, held));
        }
        let left = rest(&mut waiting);
        assert_eq!(left, [status("a", 3), status("b", 1)]);
    }

    #[test]
    fn text_is_put_together_exactly_from_the_first_offset() {
        let mut waiting = Waiting::default();
        for (offset, text) in [(10, "one\n"), (14, "zwei €\n"), (23, "\u{0}three")] {
            waiting.push(Notice::diary("a", 0, offset, text));
        }
        waiting.push(Notice::diary("b", 0, 0, "other"));
        let left = rest(&mut waiting);
        assert_eq!(
            left,
            [Notice::diary("a", 0, 10, "one\nzwei €\n\u{0}three"), Notice::diary("b", 0, 0, "other")]
        );
    }

    #[test]
    fn text_that_does_not_follow_or_is_too_much_begins_anew_so_that_the_offset_shows_it() {
        let mut waiting = Waiting::default();
        waiting.push(Notice::diary("a", 0, 0, "one"));
        waiting.push(Notice::diary("a", 0, 7, "two"));
        assert_eq!(rest(&mut waiting), [Notice::diary("a", 0, 7, "two")]);
        let long = "x".repeat(DELTA_BYTES);
        waiting.push(Notice::diary("a", 0, 0, &long));
        waiting.push(Notice::diary("a", 0, DELTA_BYTES as u64, "y"));
        assert_eq!(rest(&mut waiting), [Notice::diary("a", 0, DELTA_BYTES as u64, "y")]);
    }

    #[test]
    fn what_waits_is_bounded_whatever_the_scopes() {
        let mut waiting = Waiting::default();
        for number in 0..2 * SCOPES {
            waiting.push(status(&number.to_string(), 0));
        }
        assert_eq!(rest(&mut waiting).len(), SCOPES);
    }
}
