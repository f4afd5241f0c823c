//! Which messages are ours, and which way everything else goes (contract 3.3, 3.4).

use mcpl_codec::sniff::sniff;
use mcpl_codec::{Envelope, Lane, Line, Sniff, answer, code, raw};
use mcpl_policy::admission::{Admission, FeatureSets, channel_ids};
use mcpl_policy::engine::{ChannelFact, GrantFact, Phase, Stance};
use mcpl_policy::{Engine, Input, Now};

use super::greeting::Greeting;
use super::request::{Asked, Pending, Spelled};
use super::trace::Told;
use super::{Deed, Exchange, Gate, Side, shims, watch};

/// Elements of a JSON-RPC batch with events, and messages of a `channels/incoming`, that are looked at; a
/// request with more is refused, for nothing of it may pass unread.
pub const MAX_ELEMENTS: usize = 65_536;

/// What becomes of a message.
pub(super) enum Course {
    /// On to the other peer, in its own bytes.
    Pass,
    /// On to the other peer, in these.
    Rewritten(Line),
    /// It goes no further.
    Taken,
}

/// The methods the sidecar reads, by who sends them (contract 3.4).
fn is_read(from: Side, method: &str) -> bool {
    match from {
        Side::Host => matches!(
            method,
            "initialize"
                | "featureSets/update"
                | "channels/open"
                | "inference/lifecycle"
                | "context/beforeInference"
        ),
        Side::Producer => {
            Lane::of(method).is_some() || matches!(method, "channels/register" | "channels/changed")
        }
    }
}

/// The members read in the params of a method, which must not be two things at once.
fn members_read(method: &str) -> &'static [&'static str] {
    match method {
        "featureSets/update" => &["effectiveCapabilities", "enabled", "disabled"],
        "channels/register" => &["channels"],
        "channels/changed" => &["channels", "added", "updated", "removed"],
        "inference/lifecycle" => &["inferenceId", "phase"],
        _ => &[],
    }
}

/// What the repeats of a message make of it (contract 3.3).
pub(super) enum Reading {
    /// One message.
    One,
    /// Several, none of which is to be taken as ours.
    Foreign,
    /// A request that is ours in one reading and another in the next.
    Refused(i64),
}

impl Exchange {
    pub(super) fn take_line(&mut self, engine: &mut Engine, now: Now, from: Side, line: Line) {
        self.gate = None;
        self.at_ms = now.mono_ms;
        match sniff(line.text()) {
            Err(noise) => {
                self.tally.figures.dropped(from);
                let text = line.text();
                let head = line.slice(&text[..text.len().min(200)]);
                self.deeds.push_back(Deed::Noise { from, head, why: noise.to_string() });
            }
            Ok(Sniff::Batch(_)) => self.take_batch(engine, now, from, line),
            Ok(Sniff::Message(envelope)) => {
                match self.take_message(engine, now, from, &line, &envelope, None) {
                    Course::Pass => self.pass_on(from, line),
                    Course::Rewritten(line) => self.pass_on(from, line),
                    Course::Taken => {}
                }
            }
        }
    }

    pub(super) fn pass_on(&mut self, from: Side, line: Line) {
        self.tally.passed += 1;
        self.tally.figures.passed(from, line.text().len());
        let after = self.gate.take();
        self.deeds.push_back(Deed::pass(from.other(), line, after));
    }

    /// One message, alone or an element of `batch`. `text` of `line` holds it.
    pub(super) fn take_message(
        &mut self,
        engine: &mut Engine,
        now: Now,
        from: Side,
        line: &Line,
        envelope: &Envelope<'_>,
        batch: Option<u64>,
    ) -> Course {
        let Some(method) = envelope.method else {
            return match envelope.id {
                Some(id) if !envelope.repeated || raw::only(line.text(), "id").is_ok() => {
                    self.take_answer(engine, now, from, id, envelope, line)
                }
                _ => Course::Pass,
            };
        };
        let id = envelope.id.filter(|id| *id != b"null");
        let Some(method) = raw::string(method) else {
            self.remember(from, Asked::Other, batch, Told { method: "", params: b"null", id });
            return Course::Pass;
        };
        if envelope.repeated || self.is_read(from, &method, now) {
            match self.reading(now, from, line.text(), envelope, &method) {
                Reading::One => {}
                Reading::Foreign => return Course::Pass,
                Reading::Refused(_) if self.shadow.is_some() => return Course::Pass,
                Reading::Refused(error) => {
                    let params = envelope.params.unwrap_or(b"null");
                    self.refuse_ambiguous(from, Told { method: &method, params, id }, error, batch);
                    return Course::Taken;
                }
            }
        }
        let params = envelope.params.unwrap_or(b"null");
        let told = Told { method: &method, params, id };
        match (from, &*method) {
            (_, "notifications/cancelled") if id.is_none() => self.cancelled(from, params),
            (Side::Host, "initialize") if batch.is_none() => {
                return self.greet(engine, now, line, envelope, id);
            }
            (Side::Host, "featureSets/update") => {
                let params = line.slice(params);
                let fact = if id.is_some() {
                    let number = self.number();
                    self.remember(from, Asked::Grant(number), batch, told);
                    GrantFact::Requested(number, params)
                } else {
                    self.notified(from, told);
                    GrantFact::Notified(params)
                };
                self.tell(engine, now, Input::Grant(fact));
                return Course::Pass;
            }
            (Side::Host, "inference/lifecycle") => self.lifecycle(engine, now, params),
            (Side::Host, "context/beforeInference") => {
                self.tell(engine, now, Input::Assembling);
                self.gate = engine.waiting_forward();
            }
            (Side::Host, "channels/open") => {
                self.remember(from, Asked::Open, batch, told);
                return Course::Pass;
            }
            (Side::Producer, "channels/register" | "channels/changed") => {
                self.channels(engine, now, batch, told);
                return Course::Pass;
            }
            (Side::Producer, name) if self.is_barred(from, name, now) => {
                return self.refuse_inference(told, batch);
            }
            (Side::Producer, name) => {
                if let Some(lane) = Lane::of(name).filter(|_| self.stance != Stance::Apart) {
                    if self.shadow.is_some() {
                        // The host answers it, as anything else that passes.
                        self.remember(from, Asked::Other, batch, told);
                        return self.unanswerable(engine, now, &line.slice(params), lane);
                    }
                    return self.events(engine, now, line, envelope, lane, batch);
                }
            }
            (Side::Host, _) => {}
        }
        self.remember(from, Asked::Other, batch, told);
        Course::Pass
    }

    /// Notes a request that passes. Of the producer's, those that are nothing to us need no note.
    fn remember(&mut self, from: Side, asked: Asked, batch: Option<u64>, told: Told<'_>) {
        let Some(id) = told.id else { return self.notified(from, told) };
        if from == Side::Producer && batch.is_none() && matches!(asked, Asked::Other) {
            return self.time(told);
        }
        if let Some(batch) = batch {
            self.batches.expect(batch);
        }
        let seen = self.seen_through(from, told);
        self.requests(from).add(Pending { id: Spelled::from_slice(id), asked, batch, seen });
    }

    /// Whether the sidecar reads a method now (contract 3.4).
    pub(super) fn is_read(&self, from: Side, method: &str, now: Now) -> bool {
        is_read(from, method) || self.is_barred(from, method, now)
    }

    pub(super) fn reading(
        &self,
        now: Now,
        from: Side,
        text: &[u8],
        envelope: &Envelope<'_>,
        method: &str,
    ) -> Reading {
        if self.stance == Stance::Apart && self.greeted {
            return Reading::One;
        }
        let repeated = |name: &str| raw::only(text, name).is_err();
        let is_request = raw::every(text, "id").any(|id| id != b"null");
        if envelope.repeated && (repeated("method") || repeated("id") || repeated("params")) {
            let ours = raw::every(text, "method")
                .any(|method| raw::string(method).is_some_and(|method| self.is_read(from, &method, now)));
            if !ours || !is_request {
                return Reading::Foreign;
            }
            let one_lane = !repeated("method") && Lane::of(method).is_some();
            return Reading::Refused(if one_lane { code::INVALID_PARAMS } else { code::INVALID_REQUEST });
        }
        let params = envelope.params.unwrap_or(b"null");
        if members_read(method).iter().any(|name| raw::only(params, name).is_err()) {
            return if is_request { Reading::Refused(code::INVALID_REQUEST) } else { Reading::Foreign };
        }
        Reading::One
    }

    fn refuse_ambiguous(&mut self, from: Side, told: Told<'_>, error: i64, batch: Option<u64>) {
        let id = told.id.unwrap_or(b"null");
        let why = "members that decide what the message is are there more than once, with values that differ";
        let data = (error == code::INVALID_PARAMS).then_some(
            br#"{"field":"params","reason":"repeated","refusal":"invalid","retryable":false}"#.as_slice(),
        );
        self.tally.refused += 1;
        match Lane::of(told.method).filter(|_| data.is_some()) {
            Some(lane) => self.refused_unread(lane, told, error),
            None => self.refused_at_once(from, told, error),
        }
        let line = answer::error(id, error, why, data);
        match batch {
            None => self.send(from, line, Gate::default()),
            Some(batch) => {
                self.batches.expect(batch);
                self.answer_in_batch(batch, line.text(), &Gate::default());
            }
        }
    }

    fn greet(
        &mut self,
        engine: &mut Engine,
        now: Now,
        line: &Line,
        envelope: &Envelope<'_>,
        id: Option<&[u8]>,
    ) -> Course {
        let Ok(greeting) = Greeting::read(line, envelope, &self.terms) else {
            if self.shadow.is_some() {
                return Course::Pass;
            }
            let told = Told { method: "initialize", params: b"null", id };
            self.refuse_ambiguous(Side::Host, told, code::INVALID_REQUEST, None);
            return Course::Taken;
        };
        let told = Told { method: "initialize", params: envelope.params.unwrap_or(b"null"), id };
        self.remember(Side::Host, Asked::Initialize, None, told);
        if !self.greeted {
            self.greeted = true;
            self.stance = greeting.host.stance;
            self.structured = greeting.structured;
            self.say_stance();
            self.tell(engine, now, Input::Began(greeting.host));
        }
        greeting.line.map_or(Course::Pass, Course::Rewritten)
    }

    fn lifecycle(&mut self, engine: &mut Engine, now: Now, params: &[u8]) {
        let text = |name| raw::member(params, name).and_then(raw::string);
        let phase = match text("phase").as_deref() {
            Some("started") => Phase::Started,
            Some("completed" | "aborted" | "failed") => Phase::Ended,
            _ => return,
        };
        let id = text("inferenceId").unwrap_or_default();
        self.tell(engine, now, Input::Inference(id.into(), phase));
    }

    fn channels(&mut self, engine: &mut Engine, now: Now, batch: Option<u64>, told: Told<'_>) {
        let Told { params, id, .. } = told;
        let ids = |member| channel_ids(params, member).into_iter().map(String::from);
        let removed: Vec<String> = ids("removed").collect();
        if id.is_none() {
            let added = ids("added").collect();
            let fact = ChannelFact::Notified { added, removed };
            self.notified(Side::Producer, told);
            return self.tell(engine, now, Input::Channel(fact));
        }
        if !removed.is_empty() {
            let fact = ChannelFact::Notified { added: Vec::new(), removed };
            self.tell(engine, now, Input::Channel(fact));
        }
        let submitted: Vec<String> = ids("channels").chain(ids("added")).chain(ids("updated")).collect();
        // A request that registers nothing makes nothing known when it is answered (contract 5).
        let asked = if submitted.is_empty() { Asked::Other } else { Asked::Register(submitted) };
        self.remember(Side::Producer, asked, batch, told);
    }

    /// An answer: to a request of ours, to one that is read, or to one that is nothing to us.
    fn take_answer(
        &mut self,
        engine: &mut Engine,
        now: Now,
        from: Side,
        id: &[u8],
        envelope: &Envelope<'_>,
        line: &Line,
    ) -> Course {
        if let Some(wire) = self.own_number(id) {
            match from {
                Side::Host => self.own_answer(engine, now, wire, envelope, line),
                Side::Producer => self.render_answered(engine, now, wire, envelope, line),
            }
            return Course::Taken;
        }
        let Some(pending) = self.requests(from.other()).take(id) else {
            if from == Side::Host {
                self.timed(id, envelope);
            }
            return Course::Pass;
        };
        if let Asked::Initialize = pending.asked {
            self.agree(envelope.result);
        }
        if let Some(mut seen) = pending.seen {
            let failure = watch::failure(seen.method, envelope);
            self.answered_through(from.other(), &mut seen, failure);
        }
        let asked = match pending.asked {
            // Of two readings of an answer none is ours to choose (contract 3.3): it passes, and counts.
            Asked::Events(parcel) => Asked::Events(parcel),
            _ if envelope.repeated => Asked::Other,
            asked => asked,
        };
        let (shims, mut shimmed) = (self.terms.shims, None);
        match asked {
            Asked::Other => {}
            Asked::Initialize => {
                if shims.feature_sets_object && self.stance != Stance::Apart {
                    shimmed =
                        envelope.result.and_then(|result| shims::feature_sets_object(line.text(), result));
                }
                let sets = FeatureSets::of(envelope.result.unwrap_or(b"null"));
                self.tell(engine, now, Input::Declared(sets));
            }
            Asked::Grant(request) => {
                if shims.policy_receipt {
                    shimmed = shims::policy_receipt(line.text(), envelope);
                }
                let accepted = shimmed.is_some() || envelope.result.is_some_and(Admission::accepts);
                self.tell(engine, now, Input::Grant(GrantFact::Answered { request, accepted }));
            }
            Asked::Register(submitted) => {
                if let Some(result) = envelope.result.filter(|_| envelope.error.is_none()) {
                    let result = line.slice(result);
                    let fact = ChannelFact::Answered { submitted, result };
                    self.tell(engine, now, Input::Channel(fact));
                }
            }
            Asked::Open => {
                let channel = envelope.result.and_then(|result| raw::at(result, &["channel", "id"]));
                if let Some(id) = channel.and_then(raw::string) {
                    self.tell(engine, now, Input::Channel(ChannelFact::Opened(id.into_owned())));
                }
            }
            Asked::Events(parcel) => return self.events_answered(engine, now, parcel, envelope, line),
        }
        match pending.batch {
            None => shimmed.map_or(Course::Pass, |text| Course::Rewritten(Line::from_vec(text))),
            Some(batch) => {
                let text = shimmed.as_deref().unwrap_or(line.text());
                self.answer_in_batch(batch, text, &Gate::default());
                Course::Taken
            }
        }
    }

    /// Whether a message is an answer under an id of this session's own.
    pub(super) fn is_answer_to_us(&self, text: &[u8]) -> bool {
        let envelope = Envelope::of(text);
        envelope.method.is_none() && envelope.id.is_some_and(|id| self.own_number(id).is_some())
    }

    /// The number in an id of this session's own (contract 3.5).
    pub(super) fn own_number(&self, id: &[u8]) -> Option<u64> {
        let id = raw::string(id)?;
        let number = id.strip_prefix(&self.prefix)?;
        Some(number.parse().unwrap_or(u64::MAX))
    }
}
