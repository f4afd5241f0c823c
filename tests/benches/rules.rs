//! What subject rules cost at the door of the engine (contract 13.1): events of 700 bytes, read before, with no
//! rule and with twenty in the same run.
//!
//! `item/s` counts events. What `none` costs is what an event that passes costs without rules; the difference to
//! `twenty_of_which_none_matches` is what rules cost an event that they have nothing to say of. `alone` is the
//! rules without the engine.

use std::cell::RefCell;

use bytes::Bytes;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use mcpl_codec::Event;
use mcpl_policy::engine::{Arrival, Host, Stance, Ticket};
use mcpl_policy::profile::Dedup;
use mcpl_policy::rules::{Patterns, Place, Rule, Rules, Template};
use mcpl_policy::{Engine, Input, Now, Settings};
use regex::Regex;

const BATCH: usize = 1_000;
const RULES: usize = 20;

fn main() {
    divan::main();
}

fn rule(number: usize, service: &str) -> Rule {
    let pattern = |text: String| Regex::new(&text).ok();
    let event_id = pattern(format!(r"^{service}_(?:msg|edit)_(?<id>\d+)(?:_|$)"));
    // As files have them: most know their events by an id, some look at more.
    let patterns = match number % 5 {
        3 => Patterns { event_id, feature_set: pattern("^(?:chat|doc)".to_owned()), ..Patterns::default() },
        4 => Patterns { event_id, channel: pattern(r"^\w+:\d+".to_owned()), ..Patterns::default() },
        _ => Patterns { event_id, ..Patterns::default() },
    };
    Rule {
        lane: None,
        key: Template::parse("message:{id}", Some(&patterns)).unwrap_or_else(|fault| panic!("{fault}")),
        patterns,
        tags_any: Vec::new(),
        tags_none: if number % 5 == 2 { vec!["chat:system".to_owned()] } else { Vec::new() },
        scope: Place::Named("messages".into()),
        initial: false,
        retract: false,
        distinct: true,
    }
}

/// Twenty rules, of which the last alone is about `service`.
fn twenty(service: &str) -> Rules {
    let service = |number| if number + 1 == RULES { service.to_owned() } else { format!("svc{number}") };
    Rules::new((0..RULES).map(|number| rule(number, &service(number))).collect())
}

/// A push of 700 bytes, as a chat bridge of today sends it.
fn event(number: usize) -> Event {
    let head = format!(
        r#"{{"featureSet":"doc","eventId":"discord_msg_{number:018}","timestamp":"2026-01-01T00:00:00Z","tags":["chat:ambient","chat:from-human"],"origin":{{"source":"discord","guildId":"77","channelId":"501","mcplChannelId":"discord:77:501"}},"payload":{{"content":[{{"type":"text","text":""#
    );
    Event::push(Bytes::from(format!("{head}{:.<1$}\"}}]}}}}", "", 695_usize.saturating_sub(head.len()))))
}

fn engine(rules: Rules) -> Engine {
    let settings = Settings { rules, in_flight: 4 * BATCH, ..Settings::default() };
    let mut engine = Engine::new(settings, 7);
    let host = Host {
        stance: Stance::Over,
        max_content_bytes: None,
        dedup: Dedup::Push,
        enforces_policy: false,
        dies_of_malformed: false,
    };
    engine.handle(Now::at(1), Input::Began(host));
    while engine.poll().is_some() {}
    engine
}

fn pass(bencher: Bencher<'_, '_>, rules: Rules) {
    let engine = RefCell::new(engine(rules));
    bencher
        .with_inputs(|| (0..BATCH).map(event).collect::<Vec<_>>())
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| {
            let mut engine = engine.borrow_mut();
            for event in events.drain(..) {
                let arrival =
                    Arrival { ticket: Ticket(1), answerable: true, event, digest: None, thread: None };
                engine.handle(Now::at(1), Input::Event(arrival));
                while let Some(output) = engine.poll() {
                    black_box(output);
                }
            }
        });
}

#[divan::bench(sample_size = 1, sample_count = 500)]
fn none(bencher: Bencher<'_, '_>) {
    pass(bencher, Rules::default());
}

#[divan::bench(sample_size = 1, sample_count = 500)]
fn twenty_of_which_none_matches(bencher: Bencher<'_, '_>) {
    pass(bencher, twenty("other"));
}

fn alone(bencher: Bencher<'_, '_>, rules: &Rules) {
    bencher
        .with_inputs(|| (0..BATCH).map(event).collect::<Vec<_>>())
        .counter(ItemsCount::new(BATCH))
        .bench_local_refs(|events| {
            for event in events {
                black_box(rules.apply(event));
            }
        });
}

#[divan::bench(sample_size = 1, sample_count = 500)]
fn alone_none_matches(bencher: Bencher<'_, '_>) {
    alone(bencher, &twenty("other"));
}

#[divan::bench(sample_size = 1, sample_count = 500)]
fn alone_the_last_matches(bencher: Bencher<'_, '_>) {
    alone(bencher, &twenty("discord"));
}
