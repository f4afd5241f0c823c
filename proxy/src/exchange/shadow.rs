//! Observe mode: what the sidecar would have done, had it not let everything pass (contract 13.4).
//!
//! A session of its own, under the same terms but for the mode, with an engine of its own in memory. It is shown
//! every line; what it wishes goes nowhere. The host is assumed to take what it is given at once, the journal to
//! take everything, and the producer to render nothing: a batch becomes its fallback. It is bounded as what it
//! shadows is.

use std::fmt;

use mcpl_codec::{Envelope, Line, answer, code, raw};
use mcpl_policy::engine::{Answer, Load, Ticket};
use mcpl_policy::settings::Mode;
use mcpl_policy::{Engine, Input, Now, Settings};

use super::{Cargo, Deed, Exchange, Side, Tally, Terms, are_told};
use crate::config::Shims;

/// What the sidecar would have done with the same messages (contract 13.4). It outlives sessions as an engine does, not the process.
#[derive(Debug)]
pub struct Shadow {
    engine: Engine,
    exchange: Exchange,
    /// What earlier sessions came to.
    before: Tally,
}

/// What the sidecar would have done since the start, and would hold now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// What its sessions would have done; `passed` is every message that they saw.
    pub tally: Tally,
    /// What it would hold now.
    pub load: Load,
}

impl Shadow {
    /// Of a binding under `settings`; `seed` as in [`Engine::new`].
    pub fn new(settings: Settings, terms: Terms, seed: u64) -> Self {
        let exchange = Exchange::new(acting(terms), "observed");
        let mut engine = Engine::new(settings, seed);
        engine.explain(are_told());
        Self { engine, exchange, before: Tally::default() }
    }

    /// A session begins under `terms`, whose own ids begin with `prefix`: the terms that it is to watch under.
    pub(super) fn begin(&mut self, terms: Terms, prefix: &str) -> Terms {
        self.before += *self.exchange.tally();
        // No id that is in use: what is watched may itself release what an earlier run held.
        let nonce = format!("{}observed", prefix.rsplit('/').nth(1).unwrap_or_default());
        self.exchange = Exchange::new(acting(terms.clone()), &nonce);
        watching(terms)
    }

    /// New terms in a running session: the terms that it is to watch under.
    pub(super) fn watch_under(&mut self, terms: Terms) -> Terms {
        self.exchange.set_terms(acting(terms.clone()));
        watching(terms)
    }

    /// A line came.
    pub(super) fn take(&mut self, now: Now, from: Side, line: Line) {
        let _span = tracing::error_span!("observed").entered();
        match from {
            Side::Host => self.exchange.from_host(&mut self.engine, now, line),
            Side::Producer => self.exchange.from_producer(&mut self.engine, now, line),
        }
        self.settle(now);
    }

    /// What concerns the engine whatever the host and the journal do: time, settings, an operator's release, and
    /// the end of the program.
    pub fn tell(&mut self, now: Now, input: &Input) {
        if matches!(input, Input::Tick | Input::Flush | Input::Drain | Input::Settings(_)) {
            let _span = tracing::error_span!("observed").entered();
            self.exchange.tell(&mut self.engine, now, input.clone());
            self.settle(now);
        }
    }

    /// The session is over.
    pub(super) fn end(&mut self, now: Now) {
        let _span = tracing::error_span!("observed").entered();
        self.exchange.end(&mut self.engine, now);
        self.settle(now);
    }

    /// When to tell it [`Input::Tick`] at the latest, in ms of the monotonic clock.
    pub fn deadline_ms(&self) -> Option<u64> {
        self.engine.deadline_ms()
    }

    /// What it would have done so far.
    pub fn observed(&self) -> Observed {
        let mut tally = self.before;
        tally += *self.exchange.tally();
        Observed { tally, load: self.engine.load() }
    }

    /// Host, producer and journal as they are assumed to be.
    fn settle(&mut self, now: Now) {
        let Self { engine, exchange, .. } = self;
        while let Some(deed) = exchange.poll() {
            match deed {
                Deed::Commit(step) => engine.durable(step.seq),
                // It is answered what it was answered, which is counted already.
                Deed::Read { ticket, .. } => {
                    exchange.recalling = true;
                    exchange.answered(Ticket(ticket), Answer::Stored, None);
                    exchange.recalling = false;
                }
                Deed::Send { to: Side::Host, line, cargo, .. } => {
                    if let Cargo::Forward(number) = cargo {
                        exchange.tell(engine, now, Input::HandedOver(number));
                        exchange.tell(engine, now, Input::Written(number));
                    }
                    if let Some(accepted) = accepted(exchange, &line) {
                        exchange.from_host(engine, now, accepted);
                    }
                }
                Deed::Send { to: Side::Producer, line, cargo: Cargo::Render(wire), .. } => {
                    exchange.render_written(now, wire);
                    if let Some(id) = Envelope::of(line.text()).id {
                        let failed = answer::error(id, code::METHOD_NOT_FOUND, "", None);
                        exchange.from_producer(engine, now, failed);
                    }
                }
                Deed::Send { .. } | Deed::Resolved { .. } | Deed::Noise { .. } => {}
            }
        }
    }
}

/// The host takes what is sent under an id of the shadow's own; what only passes it answers itself.
fn accepted(exchange: &Exchange, line: &Line) -> Option<Line> {
    let envelope = Envelope::of(line.text());
    let id = envelope.id.filter(|id| exchange.own_number(id).is_some())?;
    let messages = envelope.params.and_then(|params| raw::member(params, "messages"));
    let count = messages.map_or(0, |messages| raw::elements(messages).count());
    let results = vec![r#"{"accepted":true}"#; count].join(",");
    let result = format!(r#"{{"accepted":true,"results":[{results}]}}"#);
    Some(answer::result(id, result.as_bytes()))
}

/// The terms of who acts.
fn acting(terms: Terms) -> Terms {
    Terms { mode: Mode::Auto, ..terms }
}

/// The terms of who lets everything pass.
fn watching(terms: Terms) -> Terms {
    Terms { mode: Mode::Observe, shims: Shims::default(), ..terms }
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tally, load } = self;
        write!(
            f,
            "{} accepted, {} delivered, {} folded, {} refused ({} over a rate), {} times paced, {} expired, \
             {} held",
            tally.outcomes.total() + tally.stored,
            tally.delivered,
            tally.folded,
            tally.refused,
            tally.limited,
            load.paced,
            tally.expired,
            load.held
        )
    }
}
