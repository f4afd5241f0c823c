//! Events come: each is given to the engine, and what the engine lets pass goes on (contract 3.3, 6).

use bytes::Bytes;
use mcpl_codec::{Envelope, Event, Fault, Lane, Line, Splice, raw};
use mcpl_policy::engine::{Answer, Arrival, Stance, Taught, Ticket};
use mcpl_policy::refusal::{Ours, Shortage};
use mcpl_policy::{Engine, Input, Now};

use super::parcel::{Parcel, Part, State};
use super::request::{Asked, Pending, Spelled};
use super::routes::{Course, MAX_ELEMENTS};
use super::trace::Told;
use super::watch::Seen;
use super::{Exchange, Gate, MAX_KEPT_BYTES, Side, decisions, figures, watch};
use crate::telemetry::names::{Came, Failure, Refusal, Source};

/// When to come again while too many requests wait for the host, in ms.
const BUSY_MS: u64 = 1_000;

impl Exchange {
    pub(super) fn events(
        &mut self,
        engine: &mut Engine,
        now: Now,
        line: &Line,
        envelope: &Envelope<'_>,
        lane: Lane,
        batch: Option<u64>,
    ) -> Course {
        let params = line.slice(envelope.params.unwrap_or(b"null"));
        let Some(id) = envelope.id.filter(|id| *id != b"null") else {
            self.notified(Side::Producer, Told { method: lane.method(), params: &params, id: None });
            return self.unanswerable(engine, now, &params, lane);
        };
        let id = line.slice(id);
        if let Some(batch) = batch {
            self.batches.expect(batch);
        }
        let number = self.number();
        let told = Told { method: lane.method(), params: &params, id: Some(&id) };
        let seen = self.seen(Side::Producer, told);
        let _logged = seen.as_ref().and_then(Seen::logged);
        let parcel = Parcel {
            lane,
            id: id.clone(),
            batch,
            line: None,
            parts: Vec::new(),
            open: 0,
            sealed: false,
            after: None,
            seen,
            failure: None,
        };
        self.parcels.insert(number, parcel);
        let events = match read(lane, &params) {
            Some(Ok(events)) => events,
            // Not what the lane carries: the host says what it makes of it.
            None => {
                self.add_part(number, &Event::push(Bytes::from_static(b"null")), State::Passed);
                return self.seal(number, line, &params);
            }
            Some(Err(fault)) => {
                let ours = Ours::Unfit(fault);
                self.add_part(number, &Event::push(Bytes::from_static(b"null")), State::Open);
                if let Some(parcel) = self.parcels.get_mut(&number) {
                    parcel.lane = Lane::Push;
                }
                self.settle_part(number, 0, Answer::Refused(ours), None);
                return self.seal(number, line, &params);
            }
        };
        for (at, event) in events.into_iter().enumerate() {
            self.add_part(number, &event, State::Open);
            let ticket = self.number();
            self.tickets.insert(ticket, (number, at));
            self.looking_at = Some((number, line.clone()));
            let seen = self.parcels.get(&number).and_then(|parcel| parcel.seen.as_ref());
            let (ticket, thread) = (Ticket(ticket), seen.and_then(Seen::thread));
            let arrival = Arrival { ticket, answerable: true, event, digest: None, thread };
            let without_key = engine.without_key();
            self.tell(engine, now, Input::Event(arrival));
            if engine.without_key() > without_key {
                tracing::debug!("a subject rule matched an event and could make no key of it: it passes");
            }
        }
        self.looking_at = None;
        self.seal(number, line, &params)
    }

    /// Events that nobody can answer pass untouched, behind what their channel holds (contract 3.3, 7.1).
    pub(super) fn unanswerable(
        &mut self,
        engine: &mut Engine,
        now: Now,
        params: &Bytes,
        lane: Lane,
    ) -> Course {
        let mut gate = None;
        if let Some(Ok(events)) = read(lane, params) {
            for event in events {
                self.tally.figures.came(lane, Came::Passed);
                self.say_passed(lane, decisions::name_of(&event).as_deref());
                let ticket = Ticket(self.number());
                self.gate = None;
                let arrival = Arrival { ticket, answerable: false, event, digest: None, thread: None };
                self.tell(engine, now, Input::Event(arrival));
                gate = gate.max(self.gate);
            }
        }
        self.gate = gate;
        Course::Pass
    }

    /// Events that can be read in two ways are refused before they are looked at (contract 3.3).
    pub(super) fn refused_unread(&mut self, lane: Lane, told: Told<'_>, error: i64) {
        self.tally.figures.came(lane, Came::Refused);
        self.tally.figures.refused(Source::Sidecar, Refusal::Invalid);
        tracing::debug!(
            producer = &*self.terms.producer,
            lane = decisions::lane_name(lane),
            refusal = Refusal::Invalid.as_str(),
            why = "ambiguous",
            by = "sidecar",
            "an event is refused"
        );
        if let Some(mut seen) = self.seen(Side::Producer, told) {
            seen.refused(Source::Sidecar, Refusal::Invalid, true);
            self.answered_to(Side::Producer, &mut seen, Some(Failure::of_code(Some(error))));
        }
    }

    fn add_part(&mut self, number: u64, event: &Event, state: State) {
        let coalesced = self.stance == Stance::Aside && event.coalesce.is_some();
        if let Some(parcel) = self.parcels.get_mut(&number) {
            parcel.open += 1;
            parcel.parts.push(Part {
                coalesced,
                taught: Taught::of(event),
                message_id: event.message_id.as_deref().map(Bytes::copy_from_slice),
                content_bytes: event.content.as_ref().map_or(0, Bytes::len),
                gated: false,
                shown: decisions::name_of(event),
                state,
            });
        }
    }

    /// Every event of a parcel was looked at: what passes goes on, what is answered is answered.
    fn seal(&mut self, number: u64, line: &Line, params: &Bytes) -> Course {
        let Some(parcel) = self.parcels.get_mut(&number) else { return Course::Taken };
        parcel.sealed = true;
        let (passed, all) = (parcel.passed(), parcel.parts.len());
        if passed.is_empty() {
            self.finish(number);
            return Course::Taken;
        }
        let (id, lane) = (Spelled::from_slice(&parcel.id), parcel.lane);
        if let Some(mut seen) = parcel.seen.take() {
            let told = Told { method: lane.method(), params, id: Some(&id) };
            self.goes_on(Side::Host, told, &mut seen);
            if let Some(parcel) = self.parcels.get_mut(&number) {
                parcel.seen = Some(seen);
            }
        }
        if lane == Lane::Channel {
            self.keep_line(number, passed.len(), line);
        }
        // The parcel answers its batch itself.
        if !self.of_producer.add(Pending { id, asked: Asked::Events(number), batch: None, seen: None }) {
            return self.pass_unread(number, &passed, all);
        }
        if passed.len() == all {
            return Course::Pass;
        }
        let params = with_messages(params, |at| passed.binary_search(&at).is_ok());
        let text = line.text();
        let line = Splice::new(text).set_member(text, "params", params).finish();
        Course::Rewritten(Line::from_vec(line))
    }

    /// Keeps a request of which `count` messages may have to be sent one at a time (contract 8.6).
    pub(super) fn keep_line(&mut self, number: u64, count: usize, line: &Line) {
        let size = line.text().len();
        let Some(parcel) = self.parcels.get_mut(&number) else { return };
        if parcel.line.is_none() && (2..=100).contains(&count) && self.kept_bytes + size <= MAX_KEPT_BYTES {
            self.kept_bytes += size;
            parcel.line = Some(Line::from_text(line.text()));
        }
    }

    /// Too many requests wait for the host: what is left of this one passes without a note of it, and its
    /// answer comes back as it is; a request that is partly answered here is refused instead.
    fn pass_unread(&mut self, number: u64, passed: &[usize], all: usize) -> Course {
        if passed.len() == all && self.parcels.get(&number).is_some_and(|parcel| parcel.batch.is_none()) {
            if let Some(mut seen) = self.drop_parcel(number).and_then(|parcel| parcel.seen) {
                seen.end_client(None);
                seen.end_server(None);
            }
            return Course::Pass;
        }
        for &at in passed {
            let ours = Ours::Unavailable(Shortage::Room, BUSY_MS);
            self.settle_part(number, at, Answer::Refused(ours), None);
        }
        self.finish(number);
        Course::Taken
    }

    /// Takes a parcel out, and gives back what was kept for it.
    pub(super) fn drop_parcel(&mut self, number: u64) -> Option<Parcel> {
        let parcel = self.parcels.remove(&number)?;
        if let Some(line) = &parcel.line {
            self.kept_bytes -= line.text().len();
        }
        Some(parcel)
    }

    /// The engine answered an event.
    pub(super) fn answered(&mut self, ticket: Ticket, answer: Answer, after: Option<u64>) {
        if let Some((number, at)) = self.tickets.remove(&ticket.0) {
            self.settle_part(number, at, answer, after);
            self.finish(number);
        }
    }

    /// The engine lets an event pass.
    pub(super) fn passed(&mut self, ticket: Ticket, after: Option<u64>) {
        self.gate = self.gate.max(after);
        let Some((number, at)) = self.tickets.remove(&ticket.0) else { return };
        if let Some(parcel) = self.parcels.get_mut(&number) {
            let (lane, shown) = (parcel.lane, parcel.parts.get(at).and_then(|part| part.shown.clone()));
            self.tally.figures.came(lane, Came::Passed);
            parcel.set(at, State::Passed);
            self.say_passed(lane, shown.as_deref());
        }
    }

    fn settle_part(&mut self, number: u64, at: usize, answer: Answer, after: Option<u64>) {
        let refused = matches!(answer, Answer::Refused(_) | Answer::Host { outcome: None, .. });
        self.tally.refused += u64::from(refused);
        let Some(parcel) = self.parcels.get_mut(&number) else { return };
        let is_only = parcel.parts.len() == 1;
        if let Some(event_id) = parcel.parts.get(at).and_then(|part| part.shown.as_deref()) {
            decisions::answered(&self.terms.producer, event_id, parcel.lane, &answer, self.recalling);
        }
        let came = if self.recalling { Came::Again } else { figures::came(&answer) };
        self.tally.figures.came(parcel.lane, came);
        if let Answer::Refused(ours) = &answer {
            let kind = Refusal::of(&ours.refusal().kind);
            self.tally.figures.refused(Source::Sidecar, kind);
            if let Some(seen) = &mut parcel.seen {
                seen.refused(Source::Sidecar, kind, is_only);
            }
        } else if let Some(seen) = parcel.seen.as_mut().filter(|_| is_only && came.is_outcome()) {
            seen.coalesced(came.as_str());
        }
        if parcel.lane == Lane::Push && parcel.seen.is_some() {
            parcel.failure = watch::failure_of(&answer);
        }
        // What the host itself accepted it has, whether that gets to disk or not.
        let gated = after.is_some() && !matches!(answer, Answer::Host { .. });
        let state = parcel.render(at, answer);
        parcel.after = parcel.after.max(after);
        if let Some(part) = parcel.parts.get_mut(at) {
            part.gated = gated;
        }
        parcel.set(at, state);
    }

    /// Answers a parcel, if it is done.
    pub(super) fn finish(&mut self, number: u64) {
        if !self.parcels.get(&number).is_some_and(Parcel::is_done) {
            return;
        }
        let Some(mut parcel) = self.drop_parcel(number) else { return };
        if let Some(mut seen) = parcel.seen.take() {
            self.answered_to(Side::Producer, &mut seen, parcel.failure);
        }
        let batch = parcel.batch;
        let unavailable = Ours::Unavailable(Shortage::Disk, self.terms.retry_after_ms);
        let gate = Gate { after: parcel.after, instead: parcel.instead(&unavailable) };
        let line = parcel.answer();
        match batch {
            None => self.send(Side::Producer, line, gate),
            Some(batch) => self.answer_in_batch(batch, line.text(), &gate),
        }
    }
}

/// The events in the params of a lane's request; `None` where the params are of another shape, or hold
/// no event.
fn read(lane: Lane, params: &Bytes) -> Option<Result<Vec<Event>, Fault>> {
    if lane == Lane::Push {
        return Some(Ok(vec![Event::push(params.clone())]));
    }
    let Ok(messages) = raw::only(params, "messages") else {
        let reason = "is there more than once, with values that differ; send it once";
        return Some(Err(Fault { field: "messages".into(), reason: reason.into() }));
    };
    let messages = messages?;
    if raw::elements(messages).nth(MAX_ELEMENTS).is_some() {
        let reason = format!("holds more than {MAX_ELEMENTS} messages; send them in several requests");
        return Some(Err(Fault { field: "messages".into(), reason: reason.into() }));
    }
    let events: Vec<Event> =
        raw::elements(messages).map(|message| Event::message(params.slice_ref(message))).collect();
    (!events.is_empty()).then_some(Ok(events))
}

/// The params of a `channels/incoming` with only some of its messages; a repeat of them goes, so that no
/// reader takes that for the request.
pub(super) fn with_messages(params: &[u8], keep: impl Fn(usize) -> bool) -> Vec<u8> {
    let Some(messages) = raw::member(params, "messages") else { return params.to_vec() };
    let kept = Splice::new(messages).keep_elements(messages, keep).finish();
    Splice::new(params).set_member(params, "messages", kept).finish()
}
