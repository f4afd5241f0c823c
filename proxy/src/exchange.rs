//! One session's exchange of messages between host and producer: what passes, what is ours (contract 3 to 8).
//!
//! Sans-IO: lines come in by [`Exchange::from_host`] and [`Exchange::from_producer`], what is to be done
//! comes out of [`Exchange::poll`]. It reads what concerns the sidecar, tells the engine, and turns the
//! engine's wishes into lines. Everything else goes through in its own bytes.

mod answers;
mod apart;
mod batch;
mod decisions;
mod deed;
mod events;
mod figures;
mod forward;
mod greeting;
mod overlong;
mod parcel;
mod renders;
mod request;
mod routes;
mod shadow;
mod shims;
mod tally;
#[cfg(test)]
mod tests;
mod trace;
mod undelivered;
mod watch;
mod wishes;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use mcpl_codec::sniff::sniff;
use mcpl_codec::{Line, answer, code};
use mcpl_policy::engine::{Answer, Host, Stance, Ticket};
use mcpl_policy::journal::ReceiptRow;
use mcpl_policy::profile::{Dedup, Profile};
use mcpl_policy::refusal::{Classifier, Ours, Shortage};
use mcpl_policy::settings::Mode;
use mcpl_policy::{Engine, Input, Now};

use self::batch::Batches;
pub use self::batch::MAX_BATCHES;
pub(crate) use self::decisions::{are_told, noted};
pub use self::deed::{Cargo, Deed};
pub use self::figures::Figures;
use self::forward::Own;
use self::overlong::Overlong;
use self::parcel::{Parcel, State};
use self::renders::Renders;
pub use self::renders::{MAX_RENDER_BYTES, MAX_RENDERS};
pub use self::request::MAX_PENDING;
use self::request::{Pending, Requests};
pub use self::routes::MAX_ELEMENTS;
pub use self::shadow::{Observed, Shadow};
pub use self::tally::{Outcomes, Tally};
use self::watch::Seen;
pub use self::watch::{MAX_TIMED, Watch};
use crate::config::Shims;
use crate::telemetry::names::Failure;
use crate::telemetry::spans::Open;

/// One of the two peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The program that runs the agent.
    Host,
    /// The program that sends events.
    Producer,
}

impl Side {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Host => Self::Producer,
            Self::Producer => Self::Host,
        }
    }

    /// Its name in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Producer => "producer",
        }
    }
}

/// What a session is run under; a reload replaces it (contract 2).
#[derive(Clone, Debug)]
pub struct Terms {
    /// How refusals are read.
    pub classifier: Classifier,
    /// Which host it is.
    pub profile: Profile,
    /// Lanes on which the host drops what it has had; `None`: as the profile says.
    pub dedup: Option<Dedup>,
    /// When to coalesce.
    pub mode: Mode,
    /// The retry window to advertise, in ms.
    pub retry_window_ms: u64,
    /// How long the producer may take for a render, in ms.
    pub render_timeout_ms: u64,
    /// The largest content admitted, in bytes; 0: no limit of ours.
    pub max_content_bytes: u64,
    /// The time given when `unavailable` has no better figure, in ms.
    pub retry_after_ms: u64,
    /// What is changed so that host and producer get on (contract 13.3).
    pub shims: Shims,
    /// The producer is told of dead letters (contract 13.5).
    pub undelivered: bool,
    /// The configured producer's name, for the log.
    pub producer: Arc<str>,
    /// A rule may give an occurrence an `eventId` of its own (contract 13.1).
    pub renames: bool,
}

impl Terms {
    fn host(&self, stance: Stance, max_content_bytes: Option<u64>, version: Option<&str>) -> Host {
        Host {
            stance,
            max_content_bytes,
            dedup: self.dedup.unwrap_or_else(|| self.profile.dedup(version)),
            enforces_policy: self.profile.enforces_initial_policy(version),
            dies_of_malformed: self.profile.dies_of_malformed(version),
        }
    }
}

/// What an answer of ours waits for, and what is told in its place should that not come about.
#[derive(Clone, Debug, Default)]
struct Gate {
    after: Option<u64>,
    instead: Option<Line>,
}

/// Bytes of requests kept at once for sending their messages one at a time; past it a batch that is refused
/// as a whole is refused for each message.
pub const MAX_KEPT_BYTES: usize = 16 << 20;

/// One session; see the [module](self).
#[derive(Debug)]
pub struct Exchange {
    terms: Terms,
    /// `mcpl-sidecar/<random>/`, new each session (contract 3.5).
    prefix: String,
    stance: Stance,
    greeted: bool,
    structured: bool,
    of_host: Requests,
    of_producer: Requests,
    next: u64,
    tickets: HashMap<u64, (u64, usize)>,
    parcels: HashMap<u64, Parcel>,
    kept_bytes: usize,
    batches: Batches,
    own: HashMap<u64, Own>,
    renders: Renders,
    /// The request of events that is being looked at: what of it passed is sent before a release that a later
    /// message of it brings about (contract 7.1a).
    looking_at: Option<(u64, Line)>,
    /// The step that what passes next waits for.
    gate: Option<u64>,
    deeds: VecDeque<Deed>,
    tally: Tally,
    /// What the host said of the forward whose answer is dealt with.
    words: Option<String>,
    /// Observe mode: what the sidecar would do (contract 13.4).
    shadow: Option<Box<Shadow>>,
    /// The time of what is dealt with, in ms of the monotonic clock.
    at_ms: u64,
    /// What a receipt said is given as an answer.
    recalling: bool,
    /// What is told of it to whoever collects metrics.
    watch: Option<Box<Watch>>,
    /// The span of the forward whose answer is dealt with.
    answering: Option<Box<Open>>,
}

impl Exchange {
    /// A session under `terms`; `nonce` is its random part, of `[0-9a-z]`.
    pub fn new(terms: Terms, nonce: &str) -> Self {
        Self {
            terms,
            prefix: format!("mcpl-sidecar/{nonce}/"),
            stance: Stance::Apart,
            greeted: false,
            structured: false,
            of_host: Requests::default(),
            of_producer: Requests::default(),
            next: 0,
            tickets: HashMap::new(),
            parcels: HashMap::new(),
            kept_bytes: 0,
            batches: Batches::default(),
            own: HashMap::new(),
            renders: Renders::default(),
            looking_at: None,
            gate: None,
            deeds: VecDeque::new(),
            tally: Tally::default(),
            words: None,
            shadow: None,
            at_ms: 0,
            recalling: false,
            watch: None,
            answering: None,
        }
    }

    /// New terms, from the next message on.
    pub fn set_terms(&mut self, terms: Terms) {
        self.terms = match &mut self.shadow {
            Some(shadow) => shadow.watch_under(terms),
            None => terms,
        };
    }

    /// Everything passes from now on, and `shadow` is shown it: before the first line (contract 13.4).
    pub fn observe(&mut self, mut shadow: Box<Shadow>) {
        self.terms = shadow.begin(self.terms.clone(), &self.prefix);
        self.shadow = Some(shadow);
    }

    /// What it would have done, in observe mode.
    pub fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_deref()
    }

    /// The same, for the next session.
    pub fn take_shadow(&mut self) -> Option<Box<Shadow>> {
        self.shadow.take()
    }

    /// The next thing to do.
    pub fn poll(&mut self) -> Option<Deed> {
        self.deeds.pop_front()
    }

    /// Requests of the host that nobody has answered.
    pub fn host_waits(&self) -> usize {
        self.of_host.len()
    }

    /// What this session did so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// A line came from the host.
    pub fn from_host(&mut self, engine: &mut Engine, now: Now, line: Line) {
        self.show(now, Side::Host, &line);
        self.take_line(engine, now, Side::Host, line);
    }

    /// A line came from the producer.
    pub fn from_producer(&mut self, engine: &mut Engine, now: Now, line: Line) {
        self.show(now, Side::Producer, &line);
        self.take_line(engine, now, Side::Producer, line);
    }

    fn show(&mut self, now: Now, from: Side, line: &Line) {
        if let Some(shadow) = &mut self.shadow {
            shadow.take(now, from, line.clone());
        }
    }

    /// A message over the limit came, of which only the beginning is there (contract 3.2).
    pub fn overlong(&mut self, engine: &mut Engine, now: Now, from: Side, head: &Bytes, limit: usize) {
        self.at_ms = now.mono_ms;
        self.tally.figures.dropped(from);
        let seen = Overlong::read(head);
        let why = format!("a message over max_message_bytes = {limit} was not passed on");
        // It is a message, so nothing of it is shown.
        self.deeds.push_back(Deed::Noise { from, head: Bytes::new(), why: why.clone() });
        // Nobody has looked at the text yet: only an id that is one is spelled back.
        let is_id = |id: &&[u8]| *id != b"null" && sniff(&[b"[", *id, b"]"].concat()).is_ok();
        let Some(id) = seen.id.filter(is_id) else { return };
        let error = answer::error(id, code::INVALID_REQUEST, &why, None);
        if seen.method {
            self.send(from, error, Gate::default());
        } else if seen.answer {
            // The requester is told under its id, by the same way that any answer of the peer would take.
            self.take_line(engine, now, from, error);
        }
    }

    /// What the journal has under a receipt that was asked for: the answer to the same occurrence when it came
    /// first (contract 6.2). Where there is none any more the producer is to send again, and it counts as new.
    pub fn read(&mut self, ticket: u64, receipt: Option<ReceiptRow>) {
        let ours = Ours::Unavailable(Shortage::Disk, self.terms.retry_after_ms);
        let answer = receipt.map_or(Answer::Refused(ours), |receipt| receipt.answer());
        let number = self.tickets.get(&ticket).map(|(number, _)| *number);
        let parcel = number.and_then(|number| self.parcels.get(&number));
        let _logged = parcel.and_then(|parcel| parcel.seen.as_ref()).and_then(Seen::logged);
        self.recalling = true;
        self.answered(Ticket(ticket), answer, None);
        self.recalling = false;
    }

    /// A message waited for the journal in vain and went ahead (contract 7.6).
    pub fn went_ahead(&mut self) {
        self.tally.ahead += 1;
    }

    /// What the engine wishes is carried out.
    pub fn carry_out(&mut self, engine: &mut Engine, now: Now) {
        self.drain(engine, now);
    }

    /// Time passed, or something changed outside: carries out what the engine wishes.
    pub fn tell(&mut self, engine: &mut Engine, now: Now, input: Input) {
        if let Some(shadow) = &mut self.shadow {
            shadow.tell(now, &input);
        }
        self.at_ms = now.mono_ms;
        engine.handle(now, input);
        self.drain(engine, now);
    }

    /// The session is over: nobody answers any more (contract 8.5).
    pub fn end(&mut self, engine: &mut Engine, now: Now) {
        if let Some(shadow) = &mut self.shadow {
            shadow.end(now);
        }
        self.tell(engine, now, Input::Ended);
        self.stance = Stance::Apart;
        for own in std::mem::take(&mut self.own).into_values() {
            self.lose(own);
        }
        for (sent, span) in self.renders.clear() {
            self.lose_request(Side::Producer, sent, span);
        }
        let mut waiting: Vec<u64> = self.parcels.keys().copied().collect();
        waiting.sort_unstable();
        for number in waiting {
            let asked = |parcel: &Parcel| parcel.parts.iter().any(|part| matches!(part.state, State::Passed));
            if self.parcels.get(&number).is_some_and(asked) {
                self.parcel_answered(number, Some(Failure::Lost));
            }
            if let Some(parcel) = self.parcels.get_mut(&number) {
                parcel.sealed = true;
                parcel.failure = Some(Failure::Lost);
                for part in &mut parcel.parts {
                    if matches!(part.state, State::Open | State::Passed | State::Sent) {
                        part.state = State::Lost;
                    }
                }
                parcel.open = 0;
            }
            self.finish(number);
        }
        self.time_session();
    }

    /// The producer was not reached: every request of the host is answered with the reason (contract 3.1).
    pub fn unreachable(&mut self, reason: &str) {
        self.missed();
        let waiting: Vec<Pending> = self.of_host.drain().collect();
        for Pending { id, seen, .. } in waiting {
            if let Some(mut seen) = seen {
                self.answered_by(Side::Producer, &mut seen, Some(Failure::Unreached));
                self.answered_to(Side::Host, &mut seen, Some(Failure::of_code(Some(code::SERVER_ERROR))));
            }
            self.send(Side::Host, answer::error(&id, code::SERVER_ERROR, reason, None), Gate::default());
        }
    }

    fn send(&mut self, to: Side, line: Line, gate: Gate) {
        let Gate { after, instead } = gate;
        self.deeds.push_back(Deed::Send { to, line, after, cargo: Cargo::Answer(instead) });
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn requests(&mut self, of: Side) -> &mut Requests {
        match of {
            Side::Host => &mut self.of_host,
            Side::Producer => &mut self.of_producer,
        }
    }
}
