//! Observe mode: nothing is changed, and what would have been is counted (contract 13.4).

use std::fmt::Write as _;

use mcpl_codec::{Envelope, raw};
use mcpl_policy::{Input, Now};

use super::{Bench, HELLO, at, id, incoming, message, push};
use crate::exchange::{Exchange, Outcomes};

const OBSERVE: &str = "coalesce.mode = \"observe\"\n";

/// What was done, or would have been.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    outcomes: Outcomes,
    stored: u64,
    again: u64,
    delivered: u64,
    folded: u64,
    refused: u64,
    limited: u64,
    expired: u64,
    retried: u64,
    paced: u64,
    held: usize,
}

impl Bench {
    fn counts(&self) -> Counts {
        let shadow = self.exchange.shadow().map(crate::exchange::Shadow::observed);
        let (tally, load) = shadow
            .map_or((*self.exchange.tally(), self.engine.load()), |observed| (observed.tally, observed.load));
        Counts {
            outcomes: tally.outcomes,
            stored: tally.stored,
            again: tally.again,
            delivered: tally.delivered,
            folded: tally.folded,
            refused: tally.refused,
            limited: tally.limited,
            expired: tally.expired,
            retried: tally.retried,
            paced: load.paced,
            held: load.held,
        }
    }

    /// The host answers what it was given, and the producer renders nothing.
    fn answer_all(&mut self) {
        loop {
            let (host, producer) = (self.host(), self.producer());
            if host.is_empty() && producer.is_empty() {
                return;
            }
            for line in host {
                if let Some(answer) = hosts_answer(&line) {
                    self.host_says(&answer);
                }
            }
            for line in producer {
                if at(&line, &["method"]) == Some("\"push/render\"") {
                    let id = id(&line);
                    self.producer_says(&format!(
                        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"no"}}}}"#
                    ));
                }
            }
        }
    }

    fn wait(&mut self, ms: u64) {
        let until = self.now.mono_ms + ms;
        loop {
            let shadow = self.exchange.shadow().and_then(crate::exchange::Shadow::deadline_ms);
            let next = self.engine.deadline_ms().into_iter().chain(shadow).min();
            let at = next.unwrap_or(until).min(until);
            self.now = Now::at(self.now.mono_ms.max(at));
            self.tell(Input::Tick);
            self.answer_all();
            if at == until {
                return;
            }
        }
    }
}

/// What the host says to an event: it takes what the sidecar gives it, and all else but events that say `bad` or
/// `busy`.
fn hosts_answer(line: &str) -> Option<String> {
    if line.starts_with('[') {
        let answers: Vec<String> = raw::elements(line.as_bytes())
            .filter_map(|element| hosts_answer(std::str::from_utf8(element).unwrap()))
            .collect();
        return Some(format!("[{}]", answers.join(",")));
    }
    let envelope = Envelope::of(line.as_bytes());
    let method = envelope.method_name()?;
    let id = String::from_utf8_lossy(envelope.id?).into_owned();
    let ours = id.contains("mcpl-sidecar/");
    let answer = match &*method {
        "push/event" if ours => r#""result":{"accepted":true}"#.to_owned(),
        "push/event" if line.contains("bad") => r#""error":{"code":-32602,"message":"bad"}"#.to_owned(),
        "push/event" if line.contains("busy") => {
            r#""error":{"code":-32000,"message":"busy","data":{"x":1.0}}"#.to_owned()
        }
        "push/event" => r#""result":{"accepted":true}"#.to_owned(),
        "channels/incoming" => {
            let messages = raw::member(envelope.params.unwrap(), "messages").unwrap();
            let mut results = String::new();
            for message in raw::elements(messages) {
                let id = std::str::from_utf8(raw::member(message, "messageId").unwrap()).unwrap();
                let takes = ours || !id.contains("bad");
                let comma = if results.is_empty() { "" } else { "," };
                write!(results, r#"{comma}{{"messageId":{id},"accepted":{takes}}}"#).unwrap();
            }
            format!(r#""result":{{"results":[{results}]}}"#)
        }
        _ => return None,
    };
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#))
}

/// An uncoalesced push.
fn plain(id: &str, event_id: &str, body: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"push/event","params":{{"featureSet":"doc","eventId":"{event_id}","origin":{{"channelId":"chat"}},"payload":{{"content":"{body}"}}}}}}"#
    )
}

/// A push about `key` with these members more in its `coalesce`.
fn coalesced(id: &str, event_id: &str, key: &str, more: &str, body: &str) -> String {
    push(id, event_id, key, body).replace("\"initial\":true", more)
}

/// Lines of every kind that the sidecar would do something about.
fn lines() -> Vec<String> {
    let note = |id, event| coalesced(id, event, "note", "\"deferred\":true,\"data\":[1.0]", "n");
    let mut lines = vec![
        push("1", "e1", "k", "one"),
        push("2", "e2", "k", "two"),
        push("2", "e2", "k", "two"),
        push("3", "e2", "k", "something else under one id"),
        coalesced("4", "e4", "k", "\"retract\":true", ""),
        coalesced("5", "e5", "", "\"initial\":1", "malformed"),
        note("6", "n1"),
        note("7", "n2"),
        plain("8", "p1", "x"),
        plain("9", "p2-bad", "x"),
        plain("10", "p3-busy", "x"),
        plain("11", "p4", &"x".repeat(5_000)),
        incoming("12", &[message("m1", Some("c")), message("m2", None), message("bad", None)]),
        r#"{"jsonrpc":"2.0","id":13,"method":"push/event","params":{"eventId":"a","eventId":"b"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":14,"id":15,"method":"push/event","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":16,"method":"push/event","method":"x/y","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"push/event","params":{"eventId":"nobody answers","coalesce":{"key":"k"}}}"#
            .to_owned(),
        r#"{"jsonrpc":"2.0","id":"i","method":"inference/request","params":{"b":1e400}}"#.to_owned(),
    ];
    let batch = format!("[{} , {},\t{}]", push("20", "e20", "k", "x"), plain("21", "p21", "y"), lines[3]);
    lines.push(batch);
    lines
}

#[test]
fn nothing_is_changed() {
    let more = "limits.rate_per_s = 2.0\nlimits.max_content_bytes = 1000\nlimits.forward_rate_per_s = 1.0\nforward.uncoalesced = \"store\"\n\
        host.profile = \"agent-framework\"\nhost.shims = [\"feature-sets-object\", \"policy-receipt\"]\nundelivered = true\n\
        [[producer.subject]]\nevent_id = '^p(?<id>\\d+)'\nkey = \"{id}\"\n";
    let mut bench = Bench::configured(&format!("{OBSERVE}{more}"));
    let passes = |bench: &mut Bench, from_host: bool, line: &str| {
        if from_host {
            bench.host_says(line);
        } else {
            bench.producer_says(line);
        }
        let (host, producer) = (bench.host(), bench.producer());
        let (there, back) = if from_host { (producer, host) } else { (host, producer) };
        assert_eq!((there, back), (vec![line.to_owned()], Vec::new()));
    };
    passes(&mut bench, true, HELLO);
    for line in [
        r#"{"jsonrpc":"2.0","id":"init","result":{"capabilities":{"experimental":{"mcpl":{"featureSets":[{"name":"doc","uses":["pushEvents"]}]}}}}}"#,
        r#"{"jsonrpc":"2.0","id":"reg","method":"channels/register","params":{"channels":[{"id":"chat"}]}}"#,
    ] {
        passes(&mut bench, false, line);
    }
    for line in [
        r#"{"jsonrpc":"2.0","id":"reg","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"p","method":"featureSets/update","params":{"effectiveCapabilities":["pushEvents"],"enabled":["doc"]}}"#,
        r#"{"jsonrpc":"2.0","id":"q","method":"featureSets/update","params":{"enabled":["doc"],"enabled":[]}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"context/beforeInference","params":{}}"#,
    ] {
        passes(&mut bench, true, line);
    }
    passes(
        &mut bench,
        false,
        r#"{"jsonrpc":"2.0","id":"p","error":{"code":-32601,"message":"no such method"}}"#,
    );
    for line in lines() {
        passes(&mut bench, false, &line);
        if let Some(answer) = hosts_answer(&line) {
            passes(&mut bench, true, &answer);
        }
    }
    for ms in [2_000, 10_000, 4_000_000] {
        bench.wait(ms);
        assert!(bench.host().is_empty() && bench.producer().is_empty(), "nothing is said of its own accord");
    }
    assert_eq!((bench.receipts.len(), bench.engine.load()), (0, mcpl_policy::engine::Load::default()));
    assert!(bench.counts().outcomes.total() > 0 && bench.counts().refused > 0, "{:?}", bench.counts());
    bench.end();
    assert!(bench.host().is_empty() && bench.producer().is_empty());
}

/// A script at random, played in one mode.
fn played(config: &str, seed: u64) -> Counts {
    let mut bench = Bench::configured(config);
    let mut chance = fastrand::Rng::with_seed(seed);
    if chance.bool() {
        bench = bench.opened();
    } else {
        bench.host_says(HELLO);
        bench.answer_all();
    }
    let mut sent: Vec<String> = Vec::new();
    for n in 0..120 {
        let key = ["a", "b", "c"][chance.usize(0..3)];
        let (id, event) = (n.to_string(), format!("e{n}"));
        let line = match chance.u8(0..17) {
            0..=3 => push(&id, &event, key, "x"),
            4 => coalesced(&id, &event, key, "\"deferred\":true", "x"),
            5 => coalesced(&id, &event, key, "\"retract\":true", "gone"),
            6 => coalesced(&id, &event, key, "\"retract\":true", "gone").replace("gone", ""),
            7 => plain(&id, &event, "x"),
            8 => plain(&id, &format!("{event}-bad"), "x"),
            9 => plain(&id, &format!("{event}-busy"), "x"),
            10 => incoming(&id, &[message(&id, Some(key)), message(&format!("u{n}"), None)]),
            11 => coalesced(&id, &event, key, "\"initial\":3", "malformed"),
            12 if !sent.is_empty() => sent[chance.usize(0..sent.len())].clone(),
            13 => format!(
                "[{},{}]",
                push(&format!("\"x{n}\""), &event, key, "x"),
                plain(&id, &format!("p{n}"), "y")
            ),
            14 => {
                bench.host_says(
                    r#"{"jsonrpc":"2.0","id":"a","method":"context/beforeInference","params":{}}"#,
                );
                bench.answer_all();
                continue;
            }
            _ => {
                bench.wait(chance.u64(0..2_500));
                continue;
            }
        };
        sent.push(line.clone());
        bench.producer_says(&line);
        bench.answer_all();
    }
    bench.counts()
}

#[test]
fn what_is_counted_is_what_the_sidecar_then_does() {
    let mut seen = Counts { ..played("", 0) };
    for more in [
        "",
        "limits.rate_per_s = 2.0\nlimits.burst = 3\n",
        "limits.forward_rate_per_s = 1.0\nexpires_after_ms = 1200\n",
        "forward.uncoalesced = \"store\"\nlimits.max_content_bytes = 40\n",
        "[[producer.subject]]\nevent_id = '^e(?<id>\\d)'\nkey = \"{id}\"\n",
    ] {
        for seed in 0..40 {
            let acts = played(more, seed);
            assert_eq!(played(&format!("{OBSERVE}{more}"), seed), acts, "seed {seed} under {more:?}");
            seen.outcomes += acts.outcomes;
            seen.stored += acts.stored;
            seen.again += acts.again;
            seen.limited += acts.limited;
            seen.expired += acts.expired;
            seen.paced += acts.paced;
            seen.folded += acts.folded;
        }
    }
    let Outcomes { first, replaced, appended, retracted, noted, consumed } = seen.outcomes;
    for count in [first, replaced, appended, retracted, noted, consumed] {
        assert!(count > 5, "{seen:?}");
    }
    for count in [seen.stored, seen.again, seen.limited, seen.expired, seen.paced, seen.folded] {
        assert!(count > 5, "{seen:?}");
    }
}

#[test]
fn what_an_earlier_run_held_goes_before_the_first_event_of_its_scope() {
    let mut bench = Bench::open();
    bench.producer_says(&push("1", "held", "k", "x"));
    bench.end();
    let observing = Bench::configured(OBSERVE);
    bench.producer();
    bench.exchange = observing.exchange;
    bench.host_says(HELLO);
    bench.host();
    let event = push("2", "new", "k", "y");
    bench.producer_says(&event);
    let told = bench.host();
    assert_eq!((told.len(), &told[1]), (2, &event));
    assert_eq!(at(&told[0], &["params", "eventId"]), Some("\"held\""));
    bench.host_says(&hosts_answer(&told[0]).unwrap());
    assert_eq!(bench.exchange.tally().delivered, 1);
    let answer = hosts_answer(&event).unwrap();
    bench.producer();
    bench.host_says(&answer);
    assert_eq!(bench.producer(), [answer], "and the answer to that is not told the producer");
}

#[test]
fn what_is_observed_outlives_a_session() {
    let mut bench = Bench::configured(OBSERVE).opened();
    bench.producer_says(&push("1", "e1", "k", "x"));
    bench.end();
    let shadow = bench.exchange.take_shadow().unwrap();
    bench.exchange = Exchange::new(Bench::terms(OBSERVE), "s");
    bench.exchange.observe(shadow);
    let mut bench = bench.opened();
    bench.producer_says(&push("1", "e1", "k", "x"));
    bench.producer_says(&push("2", "e2", "k", "y"));
    let counts = bench.counts();
    assert_eq!((counts.again, counts.outcomes.first, counts.outcomes.replaced), (1, 1, 1), "{counts:?}");
}
