//! What the engine wants done (contract 9.1).

use mcpl_policy::engine::{Answer, Rendering};
use mcpl_policy::{Engine, Input, Now, Output};

use super::decisions::noted;
use super::{Deed, Exchange};
use crate::telemetry::names::Rendered;

impl Exchange {
    /// Turns the engine's wishes into deeds.
    pub(super) fn drain(&mut self, engine: &mut Engine, now: Now) {
        let mut unasked = Vec::new();
        while let Some(output) = engine.poll() {
            if matches!(output, Output::Pass { .. } | Output::Forward { .. } | Output::Render { .. }) {
                noted(&self.terms.producer, engine);
            }
            match output {
                Output::Step(step) => self.deeds.push_back(Deed::Commit(step)),
                Output::Answer { ticket, answer: Answer::Again(receipt), .. } => {
                    self.tally.again += 1;
                    self.deeds.push_back(Deed::Read { ticket: ticket.0, receipt });
                }
                Output::Answer { ticket, answer, after } => {
                    self.tally.answered(&answer);
                    self.answered(ticket, answer, after);
                }
                Output::Resolved { request, result, after } => {
                    self.deeds.push_back(Deed::Resolved { request, result, after });
                }
                Output::Pass { ticket, after } => self.passed(ticket, after),
                Output::Forward { number, lane, body, taught, held_ms, thread, after } => {
                    self.time_hold(lane, held_ms);
                    self.forward(number, taught, (&body, held_ms, thread.as_deref()), after);
                }
                Output::Render { number, params, thread, after } => {
                    if !self.render(now, number, (&params, thread.as_deref()), after) {
                        self.tally.figures.rendered(Rendered::Unasked);
                        unasked.push(number);
                    }
                }
                Output::Ended { event_id, fate } => {
                    self.tally.ended(&self.terms.producer, &event_id, &fate);
                    self.tell_undelivered(&event_id, &fate, engine.steps());
                }
                Output::Retrying { event_id, wait_ms } => {
                    self.trace_retry(wait_ms);
                    self.tally.retrying(&self.terms.producer, &event_id, wait_ms);
                }
            }
        }
        noted(&self.terms.producer, engine);
        for number in unasked {
            self.tell(engine, now, Input::Rendered(number, Rendering::Failed));
        }
    }
}
