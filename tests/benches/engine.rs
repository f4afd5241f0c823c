//! What coalescing costs, without text or transport: events that were read before go through the engine.
//!
//! Every sample is a batch of events with bodies of 200 bytes (`item/s` counts events), outputs drained, over
//! `subjects` subjects that the engine tracks. The window of receipts is full (as after an hour of traffic)
//! unless the name says otherwise.

use std::cell::{Cell, RefCell};

use bytes::Bytes;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use mcpl_codec::{Digest, Event};
use mcpl_policy::admission::{FeatureSets, Learned};
use mcpl_policy::engine::{Arrival, ChannelFact, GrantFact, Host, HostReply, Stance, Taught, Ticket};
use mcpl_policy::profile::Dedup;
use mcpl_policy::refusal::Verdict;
use mcpl_policy::{Engine, Input, Now, Output, Settings};

/// Few enough for their text to be in the cache, as text that was just read is.
const BATCH: usize = 1_000;
/// Occurrences that are remembered already.
const RECEIPTS: usize = 1 << 18;

const SUBJECTS: [usize; 3] = [1, 1_000, 60_000];

fn main() {
    divan::main();
}

/// An engine over a host that grants everything, and where its traffic has got to.
struct Bench {
    engine: RefCell<Engine>,
    subjects: usize,
    /// Events made so far.
    made: Cell<usize>,
    /// The subject the next event is about.
    turn: Cell<usize>,
    channels: bool,
}

impl Bench {
    /// Every subject has had an occurrence, and the window of receipts is as full as `receipts` says.
    fn new(subjects: usize, receipts: usize, channels: bool) -> Self {
        let settings = Settings { in_flight: 4 * BATCH, ..Settings::default() };
        let mut engine = Engine::new(settings, 7);
        let host = Host {
            stance: Stance::Over,
            max_content_bytes: None,
            dedup: Dedup::Both,
            enforces_policy: true,
            dies_of_malformed: false,
        };
        let declared = concat!(
            r#"{"capabilities":{"experimental":{"mcpl":{"featureSets":{"doc":{"uses":["pushEvents","#,
            r#""channels.incoming"]}}}}}}"#
        );
        let grant = r#"{"enabled":["doc"],"effectiveCapabilities":["pushEvents","channels.incoming"]}"#;
        let facts = [
            Input::Began(host),
            Input::Declared(FeatureSets::of(declared.as_bytes())),
            Input::Grant(GrantFact::Requested(1, Bytes::from(grant))),
            Input::Grant(GrantFact::Answered { request: 1, accepted: true }),
            Input::Channel(ChannelFact::Notified {
                added: (0..10).map(|channel| format!("c{channel}")).collect(),
                removed: Vec::new(),
            }),
        ];
        for fact in facts {
            engine.handle(Now::at(1), fact);
            assert!(engine.poll().is_none());
        }
        let bench =
            Self { engine: RefCell::new(engine), subjects, made: Cell::new(0), turn: Cell::new(0), channels };
        for _ in 0..subjects.max(receipts).div_ceil(BATCH) {
            bench.take(&mut bench.events(BATCH, r#","initial":true"#));
        }
        bench
    }

    /// Events of one sample, the next subjects in turn.
    fn events(&self, count: usize, flags: &str) -> Vec<Read> {
        (0..count)
            .map(|_| {
                let (made, turn) = (self.made.get(), self.turn.get());
                self.made.set(made + 1);
                self.turn.set((turn + 1) % self.subjects);
                // A stride, so that neighbours in time are none in memory.
                let subject = turn * 7_919 % self.subjects;
                let channel = if self.channels {
                    format!(r#","channelId":"c{}""#, subject % 10)
                } else {
                    String::new()
                };
                let event = event(made, &format!(r#","coalesce":{{"key":"doc/{subject}"{channel}{flags}}}"#));
                let digest = self.engine.borrow_mut().digest(&event);
                (event, Some(digest))
            })
            .collect()
    }

    /// Goes back, so that the next `count` events are about the subjects of the last ones.
    fn again(&self, count: usize) {
        self.turn.set((self.turn.get() + self.subjects - count % self.subjects) % self.subjects);
    }

    fn take(&self, events: &mut Vec<Read>) -> usize {
        let mut engine = self.engine.borrow_mut();
        let mut outputs = 0;
        for (event, digest) in events.drain(..) {
            let arrival = Arrival { ticket: Ticket(1), answerable: true, event, digest, thread: None };
            engine.handle(Now::at(1), Input::Event(arrival));
            while let Some(output) = engine.poll() {
                black_box(output);
                outputs += 1;
            }
        }
        outputs
    }
}

/// An event that was read: parsed, and its digest taken. What that costs is measured by the codec's benches.
type Read = (Event, Option<Digest>);

/// A push of 200 bytes with these members more.
fn event(number: usize, more: &str) -> Event {
    let head = format!(
        r#"{{"featureSet":"doc","eventId":"e-{number:010}","timestamp":"2026-01-01T00:00:00Z"{more},"payload":{{"content":[{{"type":"text","text":""#
    );
    let text = format!("{head}{:.<1$}\"}}]}}}}", "", 195_usize.saturating_sub(head.len()));
    Event::push(Bytes::from(text))
}

/// A subject that nothing is known of, or that was withdrawn unread, gets an occurrence.
#[divan::bench(args = [1_000, 60_000], sample_size = 1, sample_count = 300)]
fn first(bencher: Bencher<'_, '_>, subjects: usize) {
    let bench = Bench::new(subjects, RECEIPTS, false);
    let ready = || {
        bench.take(&mut bench.events(BATCH, r#","retract":true"#));
        bench.again(BATCH);
        bench.events(BATCH, "")
    };
    bencher
        .with_inputs(ready)
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| assert_eq!(bench.take(events), 2 * BATCH));
}

/// The newer of two that nobody read.
#[divan::bench(args = SUBJECTS, sample_size = 1, sample_count = 500)]
fn replaced(bencher: Bencher<'_, '_>, subjects: usize) {
    let bench = Bench::new(subjects, RECEIPTS, false);
    bencher
        .with_inputs(|| bench.events(BATCH, ""))
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| assert_eq!(bench.take(events), 3 * BATCH));
}

/// The same, once the host has accepted an event of the feature set: that is all that is looked up then.
#[divan::bench(args = SUBJECTS, sample_size = 1, sample_count = 500)]
fn replaced_where_the_host_accepted_before(bencher: Bencher<'_, '_>, subjects: usize) {
    let bench = Bench::new(subjects, RECEIPTS, false);
    let taught = Taught::of(&event(0, ""));
    bench.engine.borrow_mut().handle(Now::at(1), Input::Taught(taught, Learned::Open));
    bencher
        .with_inputs(|| bench.events(BATCH, ""))
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| assert_eq!(bench.take(events), 3 * BATCH));
}

/// The same, in ten channels.
#[divan::bench(args = SUBJECTS, sample_size = 1, sample_count = 300)]
fn replaced_in_channels(bencher: Bencher<'_, '_>, subjects: usize) {
    let bench = Bench::new(subjects, RECEIPTS, true);
    bencher
        .with_inputs(|| bench.events(BATCH, ""))
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| assert_eq!(bench.take(events), 3 * BATCH));
}

/// The same, with the window of receipts not yet full: it grows.
#[divan::bench(args = SUBJECTS, sample_size = 1, sample_count = 100)]
fn replaced_with_receipts_to_come(bencher: Bencher<'_, '_>, subjects: usize) {
    let bench = Bench::new(subjects, 0, false);
    bencher
        .with_inputs(|| bench.events(BATCH, ""))
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| assert_eq!(bench.take(events), 3 * BATCH));
}

/// A withdrawal of what nobody read.
#[divan::bench(args = [1_000, 60_000], sample_size = 1, sample_count = 300)]
fn retracted(bencher: Bencher<'_, '_>, subjects: usize) {
    let bench = Bench::new(subjects, RECEIPTS, false);
    let ready = || {
        bench.take(&mut bench.events(BATCH, ""));
        bench.again(BATCH);
        bench.events(BATCH, r#","retract":true"#)
    };
    bencher
        .with_inputs(ready)
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| assert_eq!(bench.take(events), 3 * BATCH));
}

/// One subject, made and withdrawn in turn.
#[divan::bench(sample_size = 1, sample_count = 300)]
fn first_then_retracted(bencher: Bencher<'_, '_>) {
    let bench = Bench::new(1, RECEIPTS, false);
    bench.take(&mut bench.events(1, r#","retract":true"#));
    let ready = || {
        let pair = || [bench.events(1, ""), bench.events(1, r#","retract":true"#)];
        (0..BATCH / 2).flat_map(|_| pair()).flatten().collect::<Vec<Read>>()
    };
    bencher
        .with_inputs(ready)
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| assert_eq!(bench.take(events), 5 * BATCH / 2));
}

/// The same occurrence again: a producer that lost the answer.
#[divan::bench(args = [60_000], sample_size = 1, sample_count = 300)]
fn retried(bencher: Bencher<'_, '_>, subjects: usize) {
    let bench = Bench::new(subjects, RECEIPTS, false);
    let ready = || {
        let mut events = bench.events(BATCH, "");
        let again = events.clone();
        bench.take(&mut events);
        again
    };
    bencher
        .with_inputs(ready)
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| assert_eq!(bench.take(events), BATCH));
}

/// What does not coalesce: it passes, with 1,000 subjects held.
#[divan::bench(sample_size = 1, sample_count = 300)]
fn uncoalesced(bencher: Bencher<'_, '_>) {
    let bench = Bench::new(1_000, RECEIPTS, false);
    bencher
        .with_inputs(|| (0..BATCH).map(|number| (event(number, ""), None)).collect::<Vec<Read>>())
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| assert_eq!(bench.take(events), BATCH));
}

/// The host is about to assemble: 1,000 subjects are released at once.
#[divan::bench(sample_size = 1, sample_count = 300)]
fn release_of_1000(bencher: Bencher<'_, '_>) {
    let bench = Bench::new(BATCH, RECEIPTS, false);
    let out = RefCell::new(Vec::new());
    let ready = || {
        let mut engine = bench.engine.borrow_mut();
        for number in out.borrow_mut().drain(..) {
            let reply =
                HostReply { verdict: Verdict::Accepted, text: Bytes::from_static(b"{}"), error: false };
            engine.handle(Now::at(1), Input::Replied(number, reply));
            while engine.poll().is_some() {}
        }
        drop(engine);
        bench.take(&mut bench.events(BATCH, ""));
    };
    bencher.with_inputs(ready).counter(ItemsCount::new(BATCH)).bench_local_refs(|()| {
        let mut engine = bench.engine.borrow_mut();
        let mut out = out.borrow_mut();
        engine.handle(Now::at(1), Input::Assembling);
        while let Some(output) = engine.poll() {
            if let Output::Forward { number, .. } = black_box(output) {
                out.push(number);
            }
        }
        assert_eq!(out.len(), BATCH);
    });
}
