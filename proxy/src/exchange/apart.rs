//! Messages of a request that go to the host apart from the rest, under an id of ours (contract 7.1, 8.6).

use std::collections::VecDeque;

use mcpl_codec::{Envelope, Lane, Line, Reply, answer};
use mcpl_policy::refusal::About;
use mcpl_policy::{Engine, Now};

use super::answers::about;
use super::events::with_messages;
use super::parcel::{Parcel, State};
use super::{Deed, Exchange, Own, Side};
use crate::telemetry::names::Method;

impl Exchange {
    /// Contract 8.6: the messages of a batch that was refused as a whole, one at a time and in order.
    pub(super) fn send_chain(&mut self, number: u64, mut queue: VecDeque<usize>) {
        let line = self.parcels.get(&number).and_then(|parcel| parcel.line.clone());
        match (queue.pop_front(), line) {
            (Some(at), Some(line)) => self.send_apart(number, vec![at], queue, &line),
            _ => self.finish(number),
        }
    }

    /// What has passed of the request that is being looked at goes now, before a release that a later message
    /// of it brings about.
    pub(super) fn send_passed(&mut self) {
        let Some((number, line)) = self.looking_at.clone() else { return };
        let passed = self.parcels.get(&number).map_or_else(Vec::new, Parcel::passed);
        if !passed.is_empty() {
            self.keep_line(number, passed.len(), &line);
            self.send_apart(number, passed, VecDeque::new(), &line);
        }
    }

    /// Some messages of the request in `line`, under an id of ours; the other members of its params go along.
    fn send_apart(&mut self, number: u64, parts: Vec<usize>, then: VecDeque<usize>, line: &Line) {
        let envelope = Envelope::of(line.text());
        let params = envelope.params.unwrap_or(b"{}");
        let params = with_messages(params, |index| parts.binary_search(&index).is_ok());
        if let Some(parcel) = self.parcels.get_mut(&number) {
            for &at in &parts {
                parcel.set(at, State::Sent);
            }
        }
        let wire = self.number();
        let id = format!("{}{wire}", self.prefix);
        let seen = self.parcels.get(&number).and_then(|parcel| parcel.seen.as_ref());
        let (span, params) = self.trace_apart(seen, params, &id);
        let sent = self.sent(Method::Incoming);
        self.own.insert(wire, Own::Apart { parcel: number, parts, then, sent, span });
        let line = answer::request(&id, Lane::Channel.method(), &params);
        self.deeds.push_back(Deed::pass(Side::Host, line, None));
    }

    /// The host answered messages that were sent apart.
    pub(super) fn apart_answered(
        &mut self,
        engine: &mut Engine,
        now: Now,
        (number, parts, then): (u64, Vec<usize>, VecDeque<usize>),
        reply: &Reply<'_>,
    ) {
        let Some(parcel) = self.parcels.get(&number) else { return };
        let about: Vec<About> =
            parts.iter().filter_map(|&at| parcel.parts.get(at)).map(|part| about(engine, part)).collect();
        if !self.structured && matches!(reply, Reply::Error { .. }) && parcel.line.is_some() {
            let first = about.first().copied().unwrap_or_default();
            if self.terms.classifier.judge(Lane::Channel, reply, first).splits(parts.len()) {
                return self.send_chain(number, parts.into());
            }
        }
        self.learn(engine, now, number, &parts, reply, &about);
        self.count_whole(Lane::Channel, parts.len(), reply, &about);
        self.answer_parts(number, &parts, reply, &about);
        self.send_chain(number, then);
    }
}
