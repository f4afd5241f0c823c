//! JSON-RPC batches that hold something of ours: answered as one array once all of it is (contract 3.3).

use std::collections::HashMap;

use bytes::Bytes;
use mcpl_codec::sniff::sniff;
use mcpl_codec::{Envelope, Lane, Line, Sniff, Splice, answer, code, raw};
use mcpl_policy::engine::Stance;
use mcpl_policy::{Engine, Now};

use super::routes::{Course, MAX_ELEMENTS, Reading};
use super::{Cargo, Deed, Exchange, Gate, Side};

/// Batches being answered at once for each session; past it a batch with events is refused.
pub const MAX_BATCHES: usize = 1024;

/// One batch.
#[derive(Debug)]
struct Batch {
    /// Who sent it, and is answered.
    of: Side,
    waits_for: usize,
    answers: Vec<u8>,
    /// The same with what is told should a step not become durable; kept from the first such element on.
    instead: Option<Vec<u8>>,
    /// The elements are all known, so that it may be answered.
    sealed: bool,
    after: Option<u64>,
}

/// The answer to a whole batch.
pub(super) struct Whole {
    pub(super) to: Side,
    pub(super) line: Line,
    /// The step it waits for.
    pub(super) gate: Gate,
}

/// The batches whose answer the sidecar puts together.
#[derive(Debug, Default)]
pub(super) struct Batches {
    next: u64,
    open: HashMap<u64, Batch>,
}

impl Batches {
    pub(super) fn begin(&mut self, of: Side) -> Option<u64> {
        if self.open.len() >= MAX_BATCHES {
            return None;
        }
        self.next += 1;
        let batch =
            Batch { of, waits_for: 0, answers: Vec::new(), instead: None, sealed: false, after: None };
        self.open.insert(self.next, batch);
        Some(self.next)
    }

    /// One more element will be answered.
    pub(super) fn expect(&mut self, batch: u64) {
        if let Some(batch) = self.open.get_mut(&batch) {
            batch.waits_for += 1;
        }
    }

    /// All elements are known. The whole answer, if it is complete; `after` as in [`Self::answer`].
    pub(super) fn seal(&mut self, batch: u64) -> Option<Whole> {
        if let Some(batch) = self.open.get_mut(&batch) {
            batch.sealed = true;
        }
        self.finish(batch)
    }

    /// The answer to one element, as a whole response. The whole answer, if it is complete, and the step it
    /// waits for.
    pub(super) fn answer(&mut self, number: u64, response: &[u8], gate: &Gate) -> Option<Whole> {
        let batch = self.open.get_mut(&number)?;
        if gate.instead.is_some() && batch.instead.is_none() {
            batch.instead = Some(batch.answers.clone());
        }
        if let Some(instead) = &mut batch.instead {
            add_element(instead, gate.instead.as_ref().map_or(response, Line::text));
        }
        add_element(&mut batch.answers, response);
        batch.waits_for = batch.waits_for.saturating_sub(1);
        batch.after = batch.after.max(gate.after);
        self.finish(number)
    }

    fn finish(&mut self, number: u64) -> Option<Whole> {
        let batch = self.open.get(&number)?;
        if !batch.sealed || batch.waits_for > 0 {
            return None;
        }
        let mut batch = self.open.remove(&number)?;
        if batch.answers.is_empty() {
            return None;
        }
        batch.answers.push(b']');
        let instead = batch.instead.map(|mut instead| {
            instead.push(b']');
            Line::from_vec(instead)
        });
        let gate = Gate { after: batch.after, instead };
        Some(Whole { to: batch.of, line: Line::from_vec(batch.answers), gate })
    }
}

impl Exchange {
    pub(super) fn take_batch(&mut self, engine: &mut Engine, now: Now, from: Side, line: Line) {
        // Who only watches answers nothing.
        let watches = self.shadow.is_some();
        let ours =
            !watches && raw::elements(line.text()).any(|element| self.answers_element(now, from, element));
        let is_long = !watches && raw::elements(line.text()).nth(MAX_ELEMENTS).is_some();
        // What is an answer to us must not pass either.
        if is_long && !ours && !raw::elements(line.text()).any(|element| self.is_answer_to_us(element)) {
            return self.pass_on(from, line);
        }
        let batch = if ours { self.batches.begin(from) } else { None };
        if is_long || (ours && batch.is_none()) {
            // It holds what must not pass unread, and there is no room to look at each element.
            let why = format!(
                "a batch of which the sidecar reads any element takes {MAX_ELEMENTS}, and {MAX_BATCHES} wait at once"
            );
            self.tally.refused += 1;
            return self.send(
                from,
                answer::error(b"null", code::INVALID_REQUEST, &why, None),
                Gate::default(),
            );
        }
        let elements: Vec<Bytes> = raw::elements(line.text()).map(|element| line.slice(element)).collect();
        let mut gate = None;
        let mut left: Vec<Option<Line>> = Vec::with_capacity(elements.len());
        for element in &elements {
            let before = self.deeds.len();
            let single = Line::from_text(element);
            let course = match sniff(single.text()) {
                Ok(Sniff::Message(envelope)) => {
                    self.gate = None;
                    let course = self.take_message(engine, now, from, &single, &envelope, batch);
                    gate = gate.max(self.gate.take());
                    course
                }
                _ => Course::Pass,
            };
            // A release that this element brought about goes behind what came before it (contract 7.1a).
            if left.iter().any(Option::is_some) && self.releases_since(before) {
                let line = array(left.iter_mut().filter_map(Option::take));
                self.tally.passed += 1;
                self.tally.figures.passed(from, line.text().len());
                let earlier = Deed::pass(from.other(), line, gate);
                self.deeds.insert(before, earlier);
            }
            left.push(match course {
                Course::Pass => Some(Line::from_text(element)),
                Course::Rewritten(line) => Some(line),
                Course::Taken => None,
            });
        }
        self.gate = gate;
        let same = left
            .iter()
            .zip(&elements)
            .all(|(left, element)| left.as_ref().is_some_and(|left| left.text() == &element[..]));
        if same {
            self.pass_on(from, line);
        } else if left.iter().any(Option::is_some) {
            self.pass_on(from, what_is_left(&line, &elements, &left));
        }
        if let Some(batch) = batch
            && let Some(whole) = self.batches.seal(batch)
        {
            self.send(whole.to, whole.line, whole.gate);
        }
    }

    /// Whether the engine forwarded anything since there were `before` deeds.
    fn releases_since(&self, before: usize) -> bool {
        self.deeds.iter().skip(before).any(|deed| matches!(deed, Deed::Send { cargo: Cargo::Forward(_), .. }))
    }

    /// Whether an element of a batch may be answered by us, so that the whole batch is.
    fn answers_element(&self, now: Now, from: Side, element: &[u8]) -> bool {
        let envelope = Envelope::of(element);
        let Some(method) = envelope.method_name() else { return false };
        if from == Side::Producer && self.stance != Stance::Apart && Lane::of(&method).is_some() {
            return true;
        }
        if self.is_barred(from, &method, now) {
            return true;
        }
        (envelope.repeated || self.is_read(from, &method, now))
            && matches!(self.reading(now, from, element, &envelope, &method), Reading::Refused(_))
    }

    /// The answer to one element of a batch.
    pub(super) fn answer_in_batch(&mut self, batch: u64, response: &[u8], gate: &Gate) {
        if let Some(whole) = self.batches.answer(batch, response, gate) {
            self.send(whole.to, whole.line, whole.gate);
        }
    }
}

fn add_element(array: &mut Vec<u8>, element: &[u8]) {
    array.push(if array.is_empty() { b'[' } else { b',' });
    array.extend_from_slice(element);
}

/// Messages as an array.
fn array(lines: impl Iterator<Item = Line>) -> Line {
    let mut text = Vec::new();
    for line in lines {
        text.push(if text.is_empty() { b'[' } else { b',' });
        text.extend_from_slice(line.text());
    }
    text.push(b']');
    Line::from_vec(text)
}

/// The elements that go on, as an array; each keeps its bytes.
fn what_is_left(line: &Line, elements: &[Bytes], left: &[Option<Line>]) -> Line {
    let mut splice = Splice::new(line.text());
    splice.keep_elements(line.text(), |at| left.get(at).is_some_and(Option::is_some));
    for (element, left) in raw::elements(line.text()).zip(left) {
        if let Some(left) = left
            && left.text() != element
        {
            splice.replace(element, left.text().to_vec());
        }
    }
    debug_assert_eq!(elements.len(), left.len(), "one course for each element");
    Line::from_vec(splice.finish())
}
