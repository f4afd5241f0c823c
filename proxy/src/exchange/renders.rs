//! Renders: requests of ours to the producer, its answers, and what it may not ask meanwhile (contract 6.5).

use std::collections::HashMap;

use bytes::Bytes;
use mcpl_codec::{Envelope, Line, Reply, answer, code, raw};
use mcpl_policy::engine::Rendering;
use mcpl_policy::thread::Thread;
use mcpl_policy::{Engine, Input, Now};

use super::decisions::{are_told, shown};
use super::routes::Course;
use super::trace::{Told, end, log_span};
use super::watch::{Sent, failure};
use super::{Cargo, Deed, Exchange, Gate, Side};
use crate::journal::account::rfc3339;
use crate::telemetry::names::{Failure, Method, Rendered};
use crate::telemetry::spans::Open;

/// The method of a render.
const RENDER: &str = "push/render";

/// What the producer must not ask while it renders.
const INFERENCE: &str = "inference/request";

/// Renders noted at once for each session: those that were not answered, cancelled ones too. Past it, and when none
/// of them is past its time, a further one is not sent and counts as failed.
pub const MAX_RENDERS: usize = 1024;

/// Bytes of renders that may wait to be written, for a producer that does not read; past it a further one is not
/// sent and counts as failed, but for a single one.
pub const MAX_RENDER_BYTES: usize = 32 << 20;

/// One render without its answer.
#[derive(Debug)]
struct Asked {
    /// The engine's number for it.
    number: u64,
    stage: Stage,
    sent: Option<Sent>,
    span: Option<Box<Open>>,
}

/// How far a render is.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// It waits for the journal, or for the producer to read: so many bytes.
    Waits(usize),
    /// The producer has it, and may take until then.
    Sent { until_ms: u64 },
}

/// The renders of a session that the producer has not answered.
#[derive(Debug, Default)]
pub(super) struct Renders {
    /// By the number in their id.
    asked: HashMap<u64, Asked>,
    /// Bytes of those that wait.
    waiting: usize,
}

impl Renders {
    /// Notes a render of so many bytes; false if there are too many, and it is not noted.
    fn add(&mut self, (wire, number): (u64, u64), bytes: usize, now: Now) -> bool {
        if self.asked.len() >= MAX_RENDERS {
            self.asked.retain(|_, asked| !asked.stage.is_past(now));
        }
        let crowded = self.waiting > 0 && self.waiting + bytes > MAX_RENDER_BYTES;
        if self.asked.len() >= MAX_RENDERS || crowded {
            return false;
        }
        self.waiting += bytes;
        self.asked.insert(wire, Asked { number, stage: Stage::Waits(bytes), sent: None, span: None });
        true
    }

    /// The last byte of one was written.
    fn sent(&mut self, wire: u64, until_ms: u64, sent: Option<Sent>) {
        if let Some(asked) = self.asked.get_mut(&wire)
            && let Stage::Waits(bytes) = std::mem::replace(&mut asked.stage, Stage::Sent { until_ms })
        {
            self.waiting -= bytes;
            asked.sent = sent;
        }
    }

    /// One is answered, or will not be sent; the engine's number for it.
    fn take(&mut self, wire: u64) -> Option<Asked> {
        let asked = self.asked.remove(&wire)?;
        if let Stage::Waits(bytes) = asked.stage {
            self.waiting -= bytes;
        }
        Some(asked)
    }

    /// Whether the producer handles one.
    pub(super) fn are_handled(&self, now: Now) -> bool {
        let handled = |asked: &Asked| matches!(asked.stage, Stage::Sent { .. }) && !asked.stage.is_past(now);
        self.asked.values().any(handled)
    }

    /// The session is over: when those were sent that nobody answered, and their spans.
    pub(super) fn clear(&mut self) -> Vec<(Option<Sent>, Option<Box<Open>>)> {
        let asked = std::mem::take(self).asked.into_values();
        asked.map(|asked| (asked.sent, asked.span)).collect()
    }
}

impl Stage {
    /// The producer had its time.
    fn is_past(&self, now: Now) -> bool {
        matches!(self, Self::Sent { until_ms } if now.mono_ms >= *until_ms)
    }
}

impl Exchange {
    /// Asks the producer to render; false if it cannot be asked any more now.
    pub(crate) fn render(
        &mut self,
        now: Now,
        number: u64,
        (params, thread): (&Bytes, Option<&Thread>),
        after: Option<u64>,
    ) -> bool {
        let wire = self.number();
        let id = format!("{}{wire}", self.prefix);
        let (span, params) = self.trace_render(thread, params, &id);
        let line = answer::request(&id, RENDER, &params);
        if !self.renders.add((wire, number), line.wire().len(), now) {
            end(span, Some(Failure::Other));
            tracing::warn!(
                producer = &*self.terms.producer,
                at_once = MAX_RENDERS,
                "the producer leaves too many renders unanswered or unread: a batch becomes its fallback"
            );
            return false;
        }
        if are_told() {
            let event_id = raw::member(&params, "eventId").and_then(raw::string).unwrap_or_default();
            let _logged = span.as_ref().map(|span| log_span(span.context()));
            let (producer, event_id) = (&*self.terms.producer, shown(&event_id));
            tracing::debug!(producer, event_id, wire, "the producer is asked to render");
        }
        if let Some(asked) = self.renders.asked.get_mut(&wire) {
            asked.span = span;
        }
        self.deeds.push_back(Deed::Send { to: Side::Producer, line, after, cargo: Cargo::Render(wire) });
        true
    }

    /// The last byte of the render that was sent as [`Cargo::Render`] was written: the producer handles it now.
    pub fn render_written(&mut self, now: Now, wire: u64) {
        self.at_ms = now.mono_ms;
        let sent = self.sent(Method::Render);
        self.renders.sent(wire, now.mono_ms.saturating_add(self.terms.render_timeout_ms), sent);
    }

    /// The render that was to be sent as [`Cargo::Render`] is not sent: its step did not become durable.
    pub fn render_dropped(&mut self, wire: u64) {
        let asked = self.renders.take(wire);
        end(asked.and_then(|asked| asked.span), Some(Failure::Lost));
    }

    /// The producer answered under an id of ours. None but the first answer to a render counts.
    pub(super) fn render_answered(
        &mut self,
        engine: &mut Engine,
        now: Now,
        wire: u64,
        envelope: &Envelope<'_>,
        line: &Line,
    ) {
        if let Some((number, rendering)) = self.rendered(now, wire, envelope, line) {
            let awaited = engine.awaits_render(number);
            self.tally.figures.rendered(match (&rendering, awaited) {
                (_, false) => Rendered::Late,
                (Rendering::Content { .. }, true) => Rendered::Content,
                (Rendering::Failed, true) => Rendered::Failed,
            });
            if awaited {
                let content = matches!(rendering, Rendering::Content { .. });
                tracing::debug!(producer = &*self.terms.producer, wire, content, "a render is answered");
            } else {
                self.tally.late += 1;
                tracing::debug!(
                    producer = &*self.terms.producer,
                    wire,
                    "the answer to a render that was given up, or cancelled: discarded"
                );
            }
            self.tell(engine, now, Input::Rendered(number, rendering));
        }
    }

    /// The engine's number for the render that is answered, and what became of it.
    pub(super) fn rendered(
        &mut self,
        now: Now,
        wire: u64,
        envelope: &Envelope<'_>,
        line: &Line,
    ) -> Option<(u64, Rendering)> {
        let Some(Asked { number, sent, span, .. }) = self.renders.take(wire) else {
            self.tally.strays += 1;
            tracing::debug!(
                producer = &*self.terms.producer,
                wire,
                "the producer answered what it was not asked, or had answered: dropped"
            );
            return None;
        };
        let failure = failure(Method::Render, envelope);
        if let Some(sent) = sent {
            self.answered_ours(Side::Producer, sent, failure);
        }
        end(span, failure);
        Some((number, rendering(now, envelope, line)))
    }

    /// Whether the producer sends what it must not ask while it renders.
    pub(super) fn is_barred(&self, from: Side, method: &str, now: Now) -> bool {
        from == Side::Producer && method == INFERENCE && self.renders.are_handled(now)
    }

    /// The producer asks for an inference while it renders, which might never end: it is refused, and nobody hears of
    /// a notification.
    pub(super) fn refuse_inference(&mut self, told: Told<'_>, batch: Option<u64>) -> Course {
        let id = told.id;
        tracing::debug!(
            producer = &*self.terms.producer,
            request = id.is_some(),
            "inference/request while a push/render is handled: refused"
        );
        let Some(id) = id else { return Course::Taken };
        let why = "no inference/request is taken while a push/render is being handled, since a render must not start \
                   inference; answer the render first, then ask";
        let line = answer::error(id, code::INVALID_REQUEST, why, None);
        self.refused_at_once(Side::Producer, told, code::INVALID_REQUEST);
        match batch {
            None => self.send(Side::Producer, line, Gate::default()),
            Some(batch) => {
                self.batches.expect(batch);
                self.answer_in_batch(batch, line.text(), &Gate::default());
            }
        }
        Course::Taken
    }
}

/// What an answer to a render says. One with two readings says nothing.
fn rendering(now: Now, envelope: &Envelope<'_>, line: &Line) -> Rendering {
    let repeated = |name| envelope.repeated && raw::only(line.text(), name).is_err();
    let Reply::Result(result) = Reply::of(envelope) else { return Rendering::Failed };
    if repeated("result") || repeated("error") {
        return Rendering::Failed;
    }
    let (Ok(Some(content)), Ok(timestamp)) = (raw::only(result, "content"), raw::only(result, "timestamp"))
    else {
        return Rendering::Failed;
    };
    let timestamp = match timestamp.filter(|time| raw::kind(time) == raw::Kind::String) {
        Some(timestamp) => Bytes::copy_from_slice(timestamp),
        None => raw::quote(&rfc3339(now.wall_ms).unwrap_or_else(|| EPOCH.to_owned())).into_bytes().into(),
    };
    Rendering::Content { content: Bytes::copy_from_slice(content), timestamp }
}

/// The time on a clock that shows none of the calendar's.
const EPOCH: &str = "1970-01-01T00:00:00.000Z";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_in_bytes_but_for_a_single_one() {
        let mut renders = Renders::default();
        assert!(renders.add((1, 1), MAX_RENDER_BYTES + 1, Now::at(0)));
        assert!(!renders.add((2, 2), 1, Now::at(0)));
        renders.sent(1, 10, None);
        assert!(renders.add((2, 2), MAX_RENDER_BYTES - 1, Now::at(0)));
        assert!(renders.add((3, 3), 1, Now::at(0)) && !renders.add((4, 4), 1, Now::at(0)));
        assert!(renders.take(3).is_some_and(|asked| asked.number == 3) && renders.take(3).is_none());
        assert!(renders.add((4, 4), 1, Now::at(0)));
        renders.sent(4, 10, None);
        renders.sent(4, 20, None);
        renders.sent(9, 10, None);
        assert_eq!(renders.waiting, MAX_RENDER_BYTES - 1, "each counts once");
    }
}
