//! What must be true after each step, whatever the engine did.

mod answers;
mod authority;
mod bounds;
mod ends;
mod forwards;
mod renders;
mod seen;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use mcpl_codec::Lane;
use mcpl_policy::engine::{Answer, Fate, Host, Load, Outcome, Stance};
use mcpl_policy::{Output, Settings};
use serde_json::{Map, Value};

use self::authority::Authority;
use self::renders::{Renders, Role};
pub(super) use self::seen::Seen;
use super::subject::Subject;
use crate::draft::Draft;
use crate::say::{Meaning, Say};
use crate::telling::Telling;

/// What was just told to the engine, as far as it matters here.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    Event {
        draft: Draft,
        ticket: u64,
        answerable: bool,
    },
    Replied(u64, Say),
    /// The producer answers a render, if late.
    Rendered(u64, Telling),
    Handed(u64),
    Written(u64),
    Began(Host),
    /// The session's scopes are all permitted from here on, or no longer surely so.
    Open(bool),
    Ended,
    Inference(u64, bool),
    Congested(bool),
    Reading(bool),
    Settings(Box<Settings>),
    Other,
}

/// Where an occurrence stands.
#[derive(Clone, Debug, PartialEq)]
enum State {
    /// Written through and unanswered; those who wait.
    Pending(Vec<u64>),
    Accepted,
    Ended(Fate),
    /// Not admitted.
    Gone,
}

/// One occurrence.
#[derive(Clone, Debug)]
struct Occurrence {
    draft: Draft,
    subject: String,
    state: State,
    admitted_ms: u64,
    /// The step and the output in it that accepted it.
    accepted_at: Option<(u64, usize)>,
    ended_in: u64,
    answer: Option<Answer>,
    /// What a write-through's outcome must be, where the tables settle it.
    expected: Option<Outcome>,
    /// A deletion notice, or what is told for itself: replaced by nothing.
    notice: bool,
    role: Role,
    /// Its place in the order of what is held.
    place: u64,
    first_ms: u64,
    changed_ms: u64,
    not_before_ms: u64,
    /// It may wait for a change of the grant or the channel.
    stuck: bool,
    expires_ms: Option<i64>,
    lane: Lane,
    body: Map<String, Value>,
    sent: Option<Bytes>,
    /// When it was handed over first of all that is in doubt.
    sent_ms: u64,
    out: Option<u64>,
    /// The session in which it got in doubt.
    doubt_in: Option<u64>,
}

/// A forward out.
#[derive(Clone, Copy, Debug)]
struct Way {
    occurrence: usize,
    handed: bool,
    /// What the reading clock showed.
    written_ms: Option<u64>,
}

#[derive(Clone, Debug)]
struct Session {
    host: Host,
    number: u64,
    open: bool,
    congested: bool,
    reading_since_ms: Option<u64>,
    read_ms: u64,
    running: BTreeSet<u64>,
    started_ms: u64,
}

/// What an event must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Pass,
    Free,
    Malformed,
    Retry(usize),
    Join(usize),
    Conflict,
    New(usize),
}

/// The oracle.
#[derive(Debug)]
pub(super) struct Oracle {
    settings: Settings,
    tight: bool,
    step: u64,
    now_ms: u64,
    wall_ms: i64,
    seq: u64,
    stepped: bool,
    session: Option<Session>,
    sessions: u64,
    places: u64,
    /// What the host answers in this step, and what that means.
    answering: Option<(usize, Meaning)>,
    all: Vec<Occurrence>,
    newest: HashMap<String, usize>,
    subjects: HashMap<String, Subject>,
    ways: BTreeMap<u64, Way>,
    renders: Renders,
    authority: Authority,
    /// Tickets not answered.
    tickets: HashSet<u64>,
    before: Load,
    seen: Seen,
}

impl Oracle {
    pub(super) fn new(settings: Settings, tight: bool) -> Self {
        Self {
            settings,
            tight,
            step: 0,
            now_ms: 0,
            wall_ms: 0,
            seq: 0,
            stepped: false,
            session: None,
            sessions: 0,
            places: 0,
            answering: None,
            all: Vec::new(),
            newest: HashMap::new(),
            subjects: HashMap::new(),
            ways: BTreeMap::new(),
            renders: Renders::default(),
            authority: Authority::default(),
            tickets: HashSet::new(),
            before: Load::default(),
            seen: Seen::default(),
        }
    }

    pub(super) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Forwards out, and whether each is handed over and written.
    pub(super) fn ways(&self) -> Vec<(u64, bool, bool)> {
        self.ways.iter().map(|(&number, way)| (number, way.handed, way.written_ms.is_some())).collect()
    }

    /// Renders that their producer may answer.
    pub(super) fn renders(&self) -> Vec<u64> {
        self.renders.numbers()
    }

    /// How many there ever were.
    pub(super) fn asked(&self) -> u64 {
        self.renders.newest()
    }

    /// Occurrences that the engine must still know by their `eventId`.
    pub(super) fn retryable(&mut self, now_ms: u64) -> Vec<Draft> {
        self.now_ms = now_ms;
        let known = self.newest.values().map(|&at| &self.all[at]);
        let mut known: Vec<&Occurrence> = known
            .filter(|one| !self.is_on_edge(one))
            .filter(|one| match one.state {
                State::Accepted => self.remembers(one),
                State::Pending(_) | State::Ended(_) | State::Gone => true,
            })
            .collect();
        known.sort_by_key(|one| std::cmp::Reverse(one.admitted_ms));
        known.iter().take(12).map(|one| one.draft.clone()).collect()
    }

    fn remembers(&self, one: &Occurrence) -> bool {
        one.admitted_ms + self.settings.coalesce.retry_window_ms >= self.now_ms
    }

    /// Past the window, but by less than a receipt may be kept too long.
    fn is_on_edge(&self, one: &Occurrence) -> bool {
        let until = one.admitted_ms + self.settings.coalesce.retry_window_ms;
        (until..until + 2_000).contains(&self.now_ms)
    }

    /// Checks one step: the fact, the outputs it brought, and what is held after it.
    pub(super) fn check(&mut self, now: mcpl_policy::Now, fact: &Fact, outputs: &[Output], load: Load) {
        self.step += 1;
        (self.now_ms, self.wall_ms) = (now.mono_ms, now.wall_ms);
        self.stepped = false;
        let passes = outputs.iter().any(|output| matches!(output, Output::Pass { .. }));
        self.renders_take_in(fact, passes);
        let before = self.take_in(fact);
        let expected = self.expect(fact);
        for (at, output) in outputs.iter().enumerate() {
            match output {
                Output::Step(step) => {
                    assert_eq!(step.seq, self.seq + 1, "steps are numbered without a gap, one an input");
                    assert!(!self.stepped, "one step an input");
                    (self.seq, self.stepped) = (step.seq, true);
                }
                Output::Resolved { .. } => panic!("no operator said a word"),
                Output::Answer { ticket, answer, after } => {
                    assert!(after.is_none_or(|after| after <= self.seq), "gated on a step that is not there");
                    self.answered(at, ticket.0, answer, *after, fact, expected);
                }
                Output::Pass { ticket, after } => {
                    assert!(after.is_none_or(|after| after <= self.seq), "gated on a step that is not there");
                    assert!(self.tickets.remove(&ticket.0), "passed and answered");
                    assert!(matches!(expected, Expected::Pass | Expected::Free), "passed: {expected:?}");
                    self.seen.passed += 1;
                }
                Output::Forward { number, lane, body, after, .. } => {
                    assert_eq!(
                        (*after, self.stepped),
                        (Some(self.seq), true),
                        "a forward waits for its step"
                    );
                    self.forwarded(at, *number, *lane, body);
                }
                Output::Render { number, params, after, .. } => {
                    assert_eq!((*after, self.stepped), (Some(self.seq), true), "a render waits for its step");
                    self.render_asked(at, *number, params);
                }
                Output::Ended { event_id, fate } => self.ended(event_id, fate),
                Output::Retrying { event_id, wait_ms } => self.retrying(event_id, *wait_ms, fact),
            }
        }
        self.settle_event(fact, expected);
        self.justify(fact, &before);
        self.leave(fact, before);
        self.renders_settle();
        self.bounds(fact, load);
        self.before = load;
    }

    /// What is true as soon as the engine is told. Forwards that a session's end or an answer takes away are
    /// handed back, for the checks that follow.
    fn take_in(&mut self, fact: &Fact) -> BTreeMap<u64, Way> {
        let mut gone = BTreeMap::new();
        self.answering = None;
        match fact {
            Fact::Event { ticket, .. } => assert!(self.tickets.insert(*ticket)),
            Fact::Replied(number, say) => {
                gone.extend(self.ways.remove(number).map(|way| (*number, way)));
                self.answering = gone.values().next().map(|way: &Way| (way.occurrence, say.meaning()));
                if let Some(session) = &mut self.session {
                    session.open &= !say.closes();
                }
            }
            Fact::Handed(number) => {
                if let Some(way) = self.ways.get_mut(number) {
                    way.handed = true;
                }
            }
            Fact::Written(number) => {
                let read_ms = self.read_ms();
                if let Some(way) = self.ways.get_mut(number) {
                    (way.handed, way.written_ms) = (true, Some(read_ms));
                }
            }
            Fact::Began(host) => {
                gone = std::mem::take(&mut self.ways);
                self.sessions += 1;
                self.session = Some(Session {
                    host: *host,
                    number: self.sessions,
                    open: false,
                    congested: false,
                    reading_since_ms: Some(self.now_ms),
                    read_ms: 0,
                    running: BTreeSet::new(),
                    started_ms: 0,
                });
            }
            Fact::Ended => {
                gone = std::mem::take(&mut self.ways);
                self.session = None;
            }
            Fact::Inference(id, true) => {
                if let Some(session) = &mut self.session {
                    session.running.insert(*id);
                    session.started_ms = self.now_ms;
                }
            }
            Fact::Inference(id, false) => {
                if let Some(session) = &mut self.session {
                    session.running.remove(id);
                }
            }
            Fact::Congested(congested) => {
                if let Some(session) = &mut self.session {
                    session.congested = *congested;
                }
            }
            Fact::Reading(reading) => self.read(*reading),
            Fact::Open(open) => {
                if let Some(session) = &mut self.session {
                    session.open = *open;
                }
            }
            Fact::Settings(settings) => self.settings = (**settings).clone(),
            Fact::Rendered(..) | Fact::Other => {}
        }
        for (number, way) in &gone {
            let one = &mut self.all[way.occurrence];
            one.out = None;
            self.subjects.entry(one.subject.clone()).or_default().out.retain(|out| out != number);
        }
        gone
    }

    fn read(&mut self, reading: bool) {
        let Some(session) = &mut self.session else { return };
        match (session.reading_since_ms, reading) {
            (Some(since), false) => {
                session.read_ms += self.now_ms - since;
                session.reading_since_ms = None;
            }
            (None, true) => session.reading_since_ms = Some(self.now_ms),
            _ => {}
        }
    }

    fn read_ms(&self) -> u64 {
        self.session.as_ref().map_or(0, |session| {
            session.read_ms + session.reading_since_ms.map_or(0, |since| self.now_ms - since)
        })
    }

    /// A session that is stepped aside from.
    pub(super) fn is_aside(&self) -> bool {
        self.stance() == Stance::Aside
    }

    fn stance(&self) -> Stance {
        self.session.as_ref().map_or(Stance::Apart, |session| session.host.stance)
    }
}
