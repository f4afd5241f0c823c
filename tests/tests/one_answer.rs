//! Every request is answered exactly once, to the side that asked, under the id as it was spelled, whatever was
//! asked and whatever the other side said (contract sections 3.3, 3.5).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use mcpl_tests::{Peer, Reply, Session, World, message, push};
use proptest::prelude::*;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

/// One request of one side.
#[derive(Debug, Clone)]
enum Ask {
    Call { host: bool },
    Plain,
    Coalesced { key: u8, flag: u8 },
    Repeated,
    Malformed,
    Messages { count: u8, coalesced: bool },
    Foreign,
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        any::<bool>().prop_map(|host| Ask::Call { host }),
        Just(Ask::Plain),
        (0..4u8, 0..5u8).prop_map(|(key, flag)| Ask::Coalesced { key, flag }),
        Just(Ask::Repeated),
        Just(Ask::Malformed),
        (0..5u8, any::<bool>()).prop_map(|(count, coalesced)| Ask::Messages { count, coalesced }),
        Just(Ask::Foreign),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        Just(Reply::Accept),
        Just(Reply::Refuse("duplicate")),
        Just(Reply::Refuse("unknown channel \"chat\"")),
        Just(Reply::Error(-32000, "busy")),
        Just(Reply::Error(-32602, "bad")),
        Just(Reply::Error(-32001, "off")),
        Just(Reply::Result(json!({}))),
        Just(Reply::Result(json!({"results": "none"}))),
    ]
}

/// How the nth request spells its id: both sides use the same ones.
fn spell(nth: usize) -> String {
    match nth % 4 {
        0 => format!("{nth}"),
        1 => format!("\"{nth}\""),
        2 => format!("{nth}.50"),
        _ => format!("\"\\u0061{nth}\""),
    }
}

fn write(nth: usize, ask: &Ask, case: u64) -> (bool, String) {
    let id = spell(nth);
    let event = format!("c{case}-{nth}");
    let (host, method, params) = match ask {
        Ask::Call { host } => (*host, "tools/call", json!({"n": nth})),
        Ask::Plain => (false, "push/event", push(&event, "plain").params()),
        Ask::Coalesced { key, flag } => {
            let one = push(&event, "held").key(&format!("k{key}"));
            let one = match flag {
                1 => one.initial(),
                2 => one.retract(),
                3 => one.coalesce("deferred", json!(true)),
                4 => one.channel("chat"),
                _ => one,
            };
            (false, "push/event", one.params())
        }
        Ask::Repeated => (false, "push/event", push(&format!("c{case}-same"), "same").key("same").params()),
        Ask::Malformed => (false, "push/event", push(&event, "bad").key("").params()),
        Ask::Messages { count, coalesced } => {
            let one = |m: u8| {
                let message = message(&format!("{event}-{m}"), "message");
                let message =
                    if *coalesced { message.key(&format!("m{m}"), &format!("{event}-{m}")) } else { message };
                message.value()
            };
            (false, "channels/incoming", json!({"messages": (0..*count).map(one).collect::<Vec<_>>()}))
        }
        Ask::Foreign => (
            false,
            "push/event",
            push(&event, "foreign").with("featureSet", json!("nobody's")).key("k").params(),
        ),
    };
    (host, format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))
}

async fn each_once(session: &Session, asks: &[Ask], case: u64) {
    let marks = (session.host.count(), session.producer.count());
    for (nth, ask) in asks.iter().enumerate() {
        let (host, text) = write(nth, ask, case);
        if host { session.host.send(text).await } else { session.producer.send(text).await }
    }
    session.assemble().await;
    let mut expected: (HashMap<String, usize>, HashMap<String, usize>) = Default::default();
    for (nth, ask) in asks.iter().enumerate() {
        let (peer, mark, ids): (&Peer, _, _) = if matches!(ask, Ask::Call { host: true }) {
            (&session.host, marks.0, &mut expected.0)
        } else {
            (&session.producer, marks.1, &mut expected.1)
        };
        let id = spell(nth);
        peer.answer(mark, &id).await;
        ids.insert(id, 1);
    }
    session.sync().await;
    for (peer, mark, expected) in
        [(&*session.host, marks.0, expected.0), (&*session.producer, marks.1, expected.1)]
    {
        let mut got: HashMap<String, usize> = HashMap::new();
        for said in peer.since(mark) {
            if let Some(id) = said.raw("id").filter(|id| said.answers(id) && !id.starts_with("\"t-")) {
                *got.entry(id).or_default() += 1;
            }
        }
        assert_eq!(got, expected);
    }
}

#[test]
fn every_request_is_answered_exactly_once() {
    static CASE: AtomicU64 = AtomicU64::new(0);
    let runtime = Runtime::new().expect("a runtime");
    let world = Mutex::new(runtime.block_on(World::started()));
    let cases = (prop::collection::vec(ask(), 1..60), prop::collection::vec(reply(), 0..20));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 40,
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&cases, |(asks, replies)| {
        let case = CASE.fetch_add(1, Ordering::Relaxed);
        runtime.block_on(async {
            let mut world = world.lock().await;
            let session = world.session().await;
            for reply in &replies {
                session.host.script.then(reply.clone());
            }
            each_once(&session, &asks, case).await;
        });
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
