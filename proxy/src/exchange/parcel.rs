//! One request of events: its parts decided one by one, its answer put together (contract 3.3, 6.6, 8.6).

use bytes::Bytes;
use mcpl_codec::{Lane, Line, Splice, answer, code, raw};
use mcpl_policy::engine::{Answer, Outcome, Taught};
use mcpl_policy::refusal::Ours;

use super::watch::Seen;
use crate::telemetry::names::Failure;

/// One event of a parcel.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) taught: Taught,
    /// The raw `messageId`, on the channel lane.
    pub(super) message_id: Option<Bytes>,
    /// The bytes of its content.
    pub(super) content_bytes: usize,
    /// Its answer waits for a step.
    pub(super) gated: bool,
    /// The host gets it with its `coalesce` (contract 4.3).
    pub(super) coalesced: bool,
    /// What it is called in the log, while that has a line for each decision.
    pub(super) shown: Option<Box<str>>,
    pub(super) state: State,
}

/// Where one event stands.
#[derive(Debug)]
pub(super) enum State {
    /// The engine has not said yet, or waits for the host.
    Open,
    /// It goes, or went, to the host as it came.
    Passed,
    /// It went to the host by itself, under an id of ours.
    Sent,
    /// Answered: the whole response on the push lane, one message's result on the channel lane.
    Done(Vec<u8>),
    /// The host will not answer any more (contract 8.5).
    Lost,
}

/// A `push/event`, or a `channels/incoming` with its messages.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) lane: Lane,
    /// The raw id of the request.
    pub(super) id: Bytes,
    pub(super) batch: Option<u64>,
    /// The request as it came, while messages of it may have to be sent one at a time (contract 8.6).
    pub(super) line: Option<Line>,
    pub(super) parts: Vec<Part>,
    /// How many of them are not answered.
    pub(super) open: usize,
    /// Every event of it was looked at.
    pub(super) sealed: bool,
    /// The step its answer waits for.
    pub(super) after: Option<u64>,
    /// Told when it is answered, where somebody wants to know.
    pub(super) seen: Option<Seen>,
    /// How its only event failed.
    pub(super) failure: Option<Failure>,
}

const LOST: &str = "the host's session ended before it answered; send the event again in the next";

impl Parcel {
    pub(super) fn is_done(&self) -> bool {
        self.sealed && self.open == 0
    }

    /// What becomes of part `at`.
    pub(super) fn set(&mut self, at: usize, state: State) {
        if let Some(part) = self.parts.get_mut(at) {
            let is_open = |state: &State| !matches!(state, State::Done(_) | State::Lost);
            let (before, after) = (is_open(&part.state), is_open(&state));
            self.open = self.open + usize::from(after) - usize::from(before);
            part.state = state;
        }
    }

    /// The places of what passed to the host.
    pub(super) fn passed(&self) -> Vec<usize> {
        let passed = |part: &Part| matches!(part.state, State::Passed);
        self.parts.iter().enumerate().filter(|(_, part)| passed(part)).map(|(at, _)| at).collect()
    }

    /// The answer of part `at`, as it is kept until the parcel is done.
    pub(super) fn render(&self, at: usize, answer: Answer) -> State {
        let message_id = self.parts.get(at).and_then(|part| part.message_id.as_deref());
        let text = match (self.lane, answer) {
            // What a receipt says takes the place of `Again` before it comes here.
            (_, Answer::Unanswered | Answer::Again(_)) => return State::Lost,
            (Lane::Push, Answer::Stored) => answer::result(&self.id, b"{\"accepted\":true}").text().to_vec(),
            (Lane::Channel, Answer::Stored) => {
                let mut result = message_head(message_id);
                result.extend_from_slice(b"\"accepted\":true}");
                result
            }
            (Lane::Push, Answer::Refused(ours)) => ours.push_answer(&self.id).text().to_vec(),
            (Lane::Channel, Answer::Refused(ours)) => ours.on_channel(message_id),
            (Lane::Push, Answer::Accepted { outcome, prior }) => {
                let result =
                    format!("{{\"accepted\":true,\"coalesce\":{}}}", coalesce(outcome, prior.as_deref()));
                answer::result(&self.id, result.as_bytes()).text().to_vec()
            }
            (Lane::Channel, Answer::Accepted { outcome, prior }) => {
                let mut result = message_head(message_id);
                result.extend_from_slice(b"\"accepted\":true,\"coalesce\":");
                result.extend_from_slice(coalesce(outcome, prior.as_deref()).as_bytes());
                result.push(b'}');
                result
            }
            (lane, Answer::Host { text, error, outcome }) => {
                let text = match outcome {
                    Some((outcome, prior)) if raw::kind(&text) == raw::Kind::Object => {
                        let mut splice = Splice::new(&text);
                        splice.set_member(
                            &text,
                            "coalesce",
                            coalesce(outcome, prior.as_deref()).into_bytes(),
                        );
                        splice.finish()
                    }
                    _ => text.to_vec(),
                };
                match lane {
                    Lane::Channel => text,
                    Lane::Push => response(&self.id, if error { "error" } else { "result" }, &text),
                }
            }
        };
        State::Done(text)
    }

    /// What is told in place of the answer should the step it waits for not become durable: what rests on that
    /// is `unavailable` (contract 9.1). `None` where nothing does.
    pub(super) fn instead(&self, unavailable: &Ours) -> Option<Line> {
        if !self.parts.iter().any(|part| part.gated) {
            return None;
        }
        if self.lane == Lane::Push {
            return Some(unavailable.push_answer(&self.id));
        }
        let instead = |part: &Part| part.gated.then(|| unavailable.on_channel(part.message_id.as_deref()));
        Some(self.results(instead))
    }

    /// The whole answer, once the parcel is done.
    pub(super) fn answer(self) -> Line {
        let lost = |part: &Part| matches!(part.state, State::Lost);
        if self.parts.iter().all(lost) {
            return answer::error(&self.id, code::SERVER_ERROR, LOST, None);
        }
        if self.lane == Lane::Push {
            let only = self.parts.into_iter().next();
            return match only.map(|part| part.state) {
                Some(State::Done(text)) => Line::from_vec(text),
                _ => answer::error(&self.id, code::SERVER_ERROR, LOST, None),
            };
        }
        self.results(|_| None)
    }

    /// The results of a `channels/incoming`, with what `instead` has in place of a part's own.
    fn results(&self, instead: impl Fn(&Part) -> Option<Vec<u8>>) -> Line {
        let mut result = b"{\"results\":[".to_vec();
        for (at, part) in self.parts.iter().enumerate() {
            if at > 0 {
                result.push(b',');
            }
            if let Some(text) = instead(part) {
                result.extend_from_slice(&text);
                continue;
            }
            match &part.state {
                State::Done(text) => result.extend_from_slice(text),
                State::Open | State::Passed | State::Sent | State::Lost => {
                    result.extend_from_slice(&message_head(part.message_id.as_deref()));
                    result.extend_from_slice(b"\"accepted\":false,\"reason\":");
                    result.extend_from_slice(raw::quote(LOST).as_bytes());
                    result.push(b'}');
                }
            }
        }
        result.extend_from_slice(b"]}");
        answer::result(&self.id, &result)
    }
}

/// A response with a raw `result` or `error`.
fn response(id: &[u8], member: &str, value: &[u8]) -> Vec<u8> {
    let mut text = b"{\"jsonrpc\":\"2.0\",\"id\":".to_vec();
    text.extend_from_slice(id);
    text.extend_from_slice(format!(",\"{member}\":").as_bytes());
    text.extend_from_slice(value);
    text.push(b'}');
    text
}

/// The beginning of one message's result.
pub(super) fn message_head(message_id: Option<&[u8]>) -> Vec<u8> {
    let mut head = b"{".to_vec();
    if let Some(id) = message_id {
        head.extend_from_slice(b"\"messageId\":");
        head.extend_from_slice(id);
        head.push(b',');
    }
    head
}

/// `{outcome, priorEventId?}` (contract 6.6).
fn coalesce(outcome: Outcome, prior: Option<&str>) -> String {
    let prior = prior.map_or_else(String::new, |id| format!(",\"priorEventId\":{}", raw::quote(id)));
    format!("{{\"outcome\":\"{}\"{prior}}}", outcome.as_str())
}
