//! The host answers events: those that passed, and those handed to it on our own account (contract 7.4, 8).

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use mcpl_codec::{Envelope, Lane, Line, Reply, raw};
use mcpl_policy::engine::HostReply;
use mcpl_policy::refusal::{About, Verdict};
use mcpl_policy::{Engine, Input, Now};
use opentelemetry::KeyValue;

use super::parcel::{Parcel, Part, State, message_head};
use super::routes::Course;
use super::trace::{end, log_span, tell_refused};
use super::watch::refused;
use super::{Exchange, Gate, Own, Side, decisions};
use crate::telemetry::names::{Failure, Refusal, Source, attribute};

/// The size over which one profile knows a cap of the host (contract 8.10); smaller content is not measured.
const MEASURED_BYTES: usize = 1 << 20;

impl Exchange {
    /// The host answered what passed of a parcel.
    pub(super) fn events_answered(
        &mut self,
        engine: &mut Engine,
        now: Now,
        number: u64,
        envelope: &Envelope<'_>,
        line: &Line,
    ) -> Course {
        let Some(parcel) = self.parcels.get(&number) else { return Course::Pass };
        let reply = Reply::of(envelope);
        let passed = parcel.passed();
        let about: Vec<About> =
            passed.iter().filter_map(|&at| parcel.parts.get(at)).map(|part| about(engine, part)).collect();
        let (lane, whole) = (parcel.lane, passed.len() == parcel.parts.len());
        let failure = self.learn(engine, now, number, &passed, &reply, &about);
        let error = matches!(reply, Reply::Error { .. });
        self.parcel_answered(number, failure);
        if !self.structured && error && lane == Lane::Channel {
            let first = about.first().copied().unwrap_or_default();
            let verdict = self.terms.classifier.judge(lane, &reply, first);
            let kept = self.parcels.get(&number).is_some_and(|parcel| parcel.line.is_some());
            if verdict.splits(passed.len()) && kept {
                self.send_chain(number, passed.into());
                return Course::Taken;
            }
        }
        self.count_whole(lane, passed.len(), &reply, &about);
        let several = self.parcels.get(&number).is_some_and(|parcel| parcel.parts.len() > 1);
        if whole && !(error && several && !self.structured) {
            if let Some(mut seen) = self.parcels.get_mut(&number).and_then(|parcel| parcel.seen.take()) {
                self.answered_to(Side::Producer, &mut seen, failure);
            }
            return self.answer_whole(number, envelope, line, &about);
        }
        self.answer_parts(number, &passed, &reply, &about);
        self.finish(number);
        Course::Taken
    }

    /// The host answered what passed of a parcel, or never will.
    pub(super) fn parcel_answered(&mut self, number: u64, failure: Option<Failure>) {
        if let Some(mut seen) = self.parcels.get_mut(&number).and_then(|parcel| parcel.seen.take()) {
            self.answered_by(Side::Host, &mut seen, failure);
            if let Some(parcel) = self.parcels.get_mut(&number) {
                parcel.seen = Some(seen);
            }
        }
    }

    /// The host's answer as a whole, classified: the events all passed.
    fn answer_whole(&mut self, number: u64, envelope: &Envelope<'_>, line: &Line, about: &[About]) -> Course {
        let Some(parcel) = self.drop_parcel(number) else { return Course::Pass };
        let translated = if self.structured {
            None
        } else {
            let about = by_result(&parcel, envelope, about);
            self.terms.classifier.translate(parcel.lane, line.text(), envelope, &about)
        };
        self.tally.refused += u64::from(translated.is_some());
        match (parcel.batch, translated) {
            (None, None) => Course::Pass,
            (None, Some(text)) => Course::Rewritten(Line::from_vec(text)),
            (Some(batch), text) => {
                let text = text.unwrap_or_else(|| line.text().to_vec());
                self.answer_in_batch(batch, &text, &Gate::default());
                Course::Taken
            }
        }
    }

    /// The host's answer, given to each of the events that passed.
    pub(super) fn answer_parts(&mut self, number: u64, passed: &[usize], reply: &Reply<'_>, about: &[About]) {
        let results = self.results(number, passed, reply);
        for (index, &at) in passed.iter().enumerate() {
            let about = about.get(index).copied().unwrap_or_default();
            let result = results.as_ref().and_then(|results| results.get(index).copied().flatten());
            let state = State::Done(self.message_result(number, at, result, reply, about));
            if let Some(parcel) = self.parcels.get_mut(&number) {
                parcel.set(at, state);
            }
        }
    }

    /// The host's result for each of the messages that passed: the one that names it, else the one in its
    /// place that names none. `None` where the host gave no results.
    fn results<'a>(&self, number: u64, passed: &[usize], reply: &Reply<'a>) -> Option<Vec<Option<&'a [u8]>>> {
        let Reply::Result(result) = reply else { return None };
        let results = raw::member(result, "results")?;
        let parcel = self.parcels.get(&number)?;
        let name_of = |at: usize| parcel.parts.get(at).and_then(|part| part.message_id.as_deref());
        // No more is kept than was asked for, however many results there are.
        let mut named: HashMap<&[u8], (usize, VecDeque<&[u8]>)> = HashMap::new();
        for name in passed.iter().filter_map(|&at| name_of(at)) {
            named.entry(name).or_default().0 += 1;
        }
        let mut placed: Vec<&[u8]> = Vec::with_capacity(passed.len());
        for result in raw::elements(results) {
            if placed.len() < passed.len() {
                placed.push(result);
            }
            if let Some(name) = raw::member(result, "messageId")
                && let Some((wanted, found)) = named.get_mut(name)
                && found.len() < *wanted
            {
                found.push_back(result);
            }
        }
        let find = |(index, &at): (usize, &usize)| {
            let own = name_of(at);
            let by_name = own.and_then(|id| named.get_mut(id)).and_then(|(_, found)| found.pop_front());
            let nameless = |result: &&&[u8]| {
                let name = raw::member(result, "messageId");
                name.is_none_or(|name| own.is_none_or(|own| raw::agree(name, own)))
            };
            by_name.or_else(|| placed.get(index).filter(nameless).copied())
        };
        Some(passed.iter().enumerate().map(find).collect())
    }

    /// One message's result as the producer gets it: the host's, or its error for all of them.
    fn message_result(
        &mut self,
        number: u64,
        at: usize,
        result: Option<&[u8]>,
        reply: &Reply<'_>,
        about: About,
    ) -> Vec<u8> {
        let part = self.parcels.get(&number).and_then(|parcel| parcel.parts.get(at));
        let message_id = part.and_then(|part| part.message_id.clone());
        match (result, reply) {
            (Some(result), _) => {
                let translated = if self.structured {
                    None
                } else {
                    self.terms.classifier.translate_message(result, about)
                };
                self.tally.refused += u64::from(translated.is_some());
                translated.unwrap_or_else(|| result.to_vec())
            }
            (None, Reply::Error { .. }) => {
                self.tally.refused += 1;
                self.terms.classifier.as_message(message_id.as_deref(), reply, about)
            }
            (None, Reply::Result(_)) => {
                let mut text = message_head(message_id.as_deref());
                text.extend_from_slice(
                    b"\"accepted\":false,\"reason\":\"the host answered without a result for this message\"}",
                );
                text
            }
        }
    }

    /// Refusals of several events by one error.
    pub(super) fn count_whole(&mut self, lane: Lane, events: usize, reply: &Reply<'_>, about: &[About]) {
        if events > 1 && matches!(reply, Reply::Error { .. }) {
            let first = about.first().copied().unwrap_or_default();
            if let Verdict::Refused { refusal, .. } = self.terms.classifier.judge(lane, reply, first) {
                for _ in 0..events {
                    self.tally.figures.refused(Source::Host, Refusal::of(&refusal.kind));
                }
            }
        }
    }

    /// What the answer teaches of the scopes of what passed (contract 5): an error for several condemns
    /// none of them. What went wrong, where that can be said of all of it.
    pub(super) fn learn(
        &mut self,
        engine: &mut Engine,
        now: Now,
        number: u64,
        passed: &[usize],
        reply: &Reply<'_>,
        about: &[About],
    ) -> Option<Failure> {
        let parcel = self.parcels.get(&number)?;
        let lane = parcel.lane;
        let mut failure = match reply {
            Reply::Error { code, .. } => Some(Failure::of_code(*code)),
            Reply::Result(_) => None,
        };
        let results = if lane == Lane::Channel { self.results(number, passed, reply) } else { None };
        let (mut lessons, mut refusals) = (Vec::new(), Vec::new());
        for (index, &at) in passed.iter().enumerate() {
            let Some(part) = parcel.parts.get(at) else { continue };
            let about = about.get(index).copied().unwrap_or_default();
            let verdict = match &results {
                Some(results) => results
                    .get(index)
                    .copied()
                    .flatten()
                    .map(|result| self.terms.classifier.judge_message(result, about)),
                None if passed.len() == 1 => Some(self.terms.classifier.judge(lane, reply, about)),
                None => None,
            };
            if let Some(Verdict::Refused { refusal, .. }) = &verdict {
                let kind = Refusal::of(&refusal.kind);
                self.tally.figures.refused(Source::Host, kind);
                if let Some(event_id) = part.shown.as_deref() {
                    let (producer, lane) = (&*self.terms.producer, decisions::lane_name(lane));
                    let refusal = kind.as_str();
                    tracing::debug!(
                        producer,
                        event_id,
                        lane,
                        refusal,
                        by = "host",
                        "an event that passed is refused"
                    );
                }
                refusals.push(kind);
                if lane == Lane::Push {
                    failure.get_or_insert_with(|| Failure::of_refusal(kind));
                }
            }
            if let Some(learned) = verdict.as_ref().and_then(Verdict::teaches) {
                lessons.push((part.taught.clone(), learned));
            }
        }
        if let Some(seen) = self.parcels.get_mut(&number).and_then(|parcel| parcel.seen.as_mut()) {
            for kind in refusals {
                seen.refused(Source::Host, kind, lane == Lane::Push);
            }
        }
        for (taught, learned) in lessons {
            self.tell(engine, now, Input::Taught(taught, learned));
        }
        failure
    }

    /// The host answered a request of ours.
    pub(super) fn own_answer(
        &mut self,
        engine: &mut Engine,
        now: Now,
        wire: u64,
        envelope: &Envelope<'_>,
        line: &Line,
    ) {
        let reply = Reply::of(envelope);
        match self.own.remove(&wire) {
            None => {}
            Some(Own::Apart { parcel, parts, then, sent, span }) => {
                let failure = match &reply {
                    Reply::Error { code, .. } => Some(Failure::of_code(*code)),
                    Reply::Result(_) => None,
                };
                if let Some(sent) = sent {
                    self.answered_ours(Side::Host, sent, failure);
                }
                end(span, failure);
                self.apart_answered(engine, now, (parcel, parts, then), &reply);
            }
            Some(Own::Forward { number, lane, message_id, taught, sent, mut span }) => {
                let unregistered =
                    taught.channel.as_deref().is_some_and(|channel| engine.is_unregistered(channel));
                let about = About { unregistered, ..About::default() };
                let verdict = self.terms.classifier.judge(lane, &reply, about);
                let failure = refused(&verdict, &reply);
                if let Verdict::Refused { refusal, .. } = &verdict {
                    let kind = Refusal::of(&refusal.kind);
                    self.tally.figures.refused(Source::Host, kind);
                    if let Some(span) = &mut span {
                        span.describe([KeyValue::new(attribute::REFUSAL, kind.as_str())]);
                        tell_refused(span, Source::Host, kind);
                    }
                }
                if let Some(sent) = sent {
                    self.time_forward(lane, sent, failure);
                }
                self.answering = span;
                let _logged = self.answering.as_ref().map(|span| log_span(span.context()));
                let reply = match lane {
                    Lane::Push => self.push_reply(verdict, envelope, line, about),
                    Lane::Channel => {
                        let result = match &reply {
                            Reply::Result(result) => raw::member(result, "results")
                                .and_then(|results| raw::elements(results).next()),
                            Reply::Error { .. } => None,
                        };
                        let text = match result {
                            Some(result) => {
                                let translated = self.terms.classifier.translate_message(result, about);
                                translated.filter(|_| !self.structured).unwrap_or_else(|| result.to_vec())
                            }
                            None => self.terms.classifier.as_message(message_id.as_deref(), &reply, about),
                        };
                        HostReply { verdict, text: Bytes::from(text), error: false }
                    }
                };
                self.note_words(&reply);
                self.tell(engine, now, Input::Replied(number, reply));
                self.words = None;
                end(self.answering.take(), failure);
            }
        }
    }

    fn push_reply(&self, verdict: Verdict, envelope: &Envelope<'_>, line: &Line, about: About) -> HostReply {
        let translated = if self.structured {
            None
        } else {
            self.terms.classifier.translate(Lane::Push, line.text(), envelope, &[about])
        };
        let line = translated.map_or_else(|| line.clone(), Line::from_vec);
        let envelope = Envelope::of(line.text());
        match Reply::of(&envelope) {
            Reply::Error { raw, .. } => HostReply { verdict, text: Bytes::copy_from_slice(raw), error: true },
            Reply::Result(result) => {
                HostReply { verdict, text: Bytes::copy_from_slice(result), error: false }
            }
        }
    }
}

/// What is known of each message, in the order of the results that name them.
fn by_result(parcel: &Parcel, envelope: &Envelope<'_>, about: &[About]) -> Vec<About> {
    let results = envelope.result.and_then(|result| raw::member(result, "results"));
    let Some(results) = results.filter(|_| parcel.lane == Lane::Channel) else { return about.to_vec() };
    let mut named: HashMap<&[u8], VecDeque<usize>> = HashMap::new();
    for (at, part) in parcel.parts.iter().enumerate() {
        if let Some(id) = &part.message_id {
            named.entry(id).or_default().push_back(at);
        }
    }
    let known = |(place, result)| {
        let name = raw::member(result, "messageId");
        let at = name.and_then(|id| named.get_mut(id)).and_then(VecDeque::pop_front).unwrap_or(place);
        about.get(at).copied().unwrap_or_default()
    };
    raw::elements(results).take(parcel.parts.len()).enumerate().map(known).collect()
}

/// What is known of an event that passed, for its refusal.
pub(super) fn about(engine: &Engine, part: &Part) -> About {
    let channel = part.taught.channel.as_deref();
    About {
        content_bytes: if part.content_bytes > MEASURED_BYTES { part.content_bytes } else { 0 },
        unregistered: channel.is_some_and(|channel| engine.is_unregistered(channel)),
        coalesced: part.coalesced,
    }
}
