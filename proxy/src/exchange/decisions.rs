//! The lines of the log that say what was decided: one for each decision, at `debug` (contract 10).
//!
//! Below that level nothing is looked up, copied or formatted for them. They name the producer and the `eventId`, cut,
//! and words of closed sets: never content, a key, or what a peer says.

use mcpl_codec::{Event, Lane, raw};
use mcpl_policy::Engine;
use mcpl_policy::engine::{Answer, Fate, Says, Stance, Word};

use super::Exchange;
use super::watch::failure_of;
use crate::telemetry::names::Failure;
pub(super) use crate::telemetry::seat::lane_name;

/// As much of an id as a log line has room for, in characters.
const SHOWN: usize = 128;

/// Whether decisions are logged.
pub(crate) fn are_told() -> bool {
    tracing::enabled!(tracing::Level::DEBUG)
}

/// As much of an id as a log line has room for.
pub(crate) fn shown(event_id: &str) -> &str {
    if event_id.len() <= SHOWN {
        return event_id;
    }
    event_id.char_indices().nth(SHOWN).map_or(event_id, |(end, _)| &event_id[..end])
}

/// What an event is called in the log, while decisions are told.
pub(super) fn name_of(event: &Event) -> Option<Box<str>> {
    if !are_told() {
        return None;
    }
    let message_id = || event.message_id.as_deref().and_then(raw::string).unwrap_or_default();
    Some(event.event_id.as_deref().map_or_else(|| shown(&message_id()).into(), |id| shown(id).into()))
}

/// An event is answered; `again`: as it was before.
pub(super) fn answered(producer: &str, event_id: &str, lane: Lane, answer: &Answer, again: bool) {
    let lane = lane_name(lane);
    match answer {
        _ if again => {
            tracing::debug!(producer, event_id, lane, "an event came again: it is answered as it was");
        }
        Answer::Accepted { outcome, prior } | Answer::Host { outcome: Some((outcome, prior)), .. } => {
            let by = if matches!(answer, Answer::Host { .. }) { "host" } else { "sidecar" };
            let (outcome, prior) = (outcome.as_str(), prior.as_deref().map(shown));
            tracing::debug!(producer, event_id, lane, outcome, prior, by, "an occurrence is accepted");
        }
        Answer::Stored => tracing::debug!(producer, event_id, lane, "an event is stored"),
        Answer::Refused(ours) => {
            let refusal = ours.refusal();
            tracing::debug!(
                producer,
                event_id,
                lane,
                refusal = refusal.kind.as_str(),
                why = ours.cause(),
                retry_after_ms = refusal.retry_after_ms,
                by = "sidecar",
                "an event is refused"
            );
        }
        Answer::Host { .. } => {
            let refusal = failure_of(answer).map(Failure::as_str);
            tracing::debug!(producer, event_id, lane, refusal, by = "host", "an event is refused");
        }
        Answer::Unanswered => {
            tracing::debug!(producer, event_id, lane, "an event is not answered: the session ended first");
        }
        // What its receipt says is told.
        Answer::Again(_) => {}
    }
}

/// An accepted occurrence ended in a way that is nobody's trouble.
pub(super) fn ended(producer: &str, event_id: &str, fate: &Fate) {
    let end = fate.state();
    tracing::debug!(producer, event_id, end, "an occurrence ended");
}

/// What the engine decided about what is held.
pub(crate) fn noted(producer: &str, engine: &mut Engine) {
    for note in engine.take_notes() {
        let event_id = shown(&note.event_id);
        match note.says {
            Says::Due(why) => {
                tracing::debug!(producer, event_id, why = why.as_str(), "an occurrence is released");
            }
            Says::KeptBack(waits) => {
                tracing::debug!(producer, event_id, why = waits.as_str(), "an occurrence is kept back");
            }
            Says::Paced(wait_ms) => {
                tracing::debug!(producer, event_id, wait_ms, why = "pace", "an occurrence is kept back");
            }
            Says::Settled(word) => {
                let word = match word {
                    Word::Submitted => "submitted",
                    Word::NotSubmitted => "not-submitted",
                    Word::Again => "again",
                    Word::Drop => "drop",
                };
                tracing::debug!(producer, event_id, word, "an operator settled an occurrence");
            }
            Says::Unrendered => {
                tracing::debug!(producer, event_id, "a batch was not rendered in time: its fallback goes");
            }
        }
    }
}

impl Exchange {
    /// A host introduced itself.
    pub(super) fn say_stance(&self) {
        let stance = match self.stance {
            Stance::Apart => "apart: it is no MCPL host",
            Stance::Aside => "aside: it coalesces itself, or is to",
            Stance::Over => "over: it does not coalesce",
        };
        tracing::debug!(producer = &*self.terms.producer, stance, "how the sidecar stands to the host");
    }

    /// The way to the host is full, or has room again.
    pub(crate) fn say_congested(&self, congested: bool) {
        let producer = &*self.terms.producer;
        if congested {
            tracing::debug!(producer, "the host does not read: nothing is handed over until it does");
        } else {
            tracing::debug!(producer, "the host reads again");
        }
    }

    /// An event goes to the host as it came.
    pub(super) fn say_passed(&self, lane: Lane, event_id: Option<&str>) {
        if are_told() {
            let (producer, lane, event_id) =
                (&*self.terms.producer, lane_name(lane), event_id.unwrap_or_default());
            tracing::debug!(producer, event_id, lane, "an event passes");
        }
    }
}
