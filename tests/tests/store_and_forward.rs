//! `[producer.forward] uncoalesced = "store"`: what a producer never sends again is kept for it (contract 13.2).

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

use std::sync::{Arc, Mutex};

use mcpl_tests::{Chance, Host, HostScript, Mind, Reply, Said, Say, Session, World, message, push};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

async fn storing() -> World {
    World::new().await.table("forward", "uncoalesced = \"store\"").start().await
}

fn plain(channel: &str, n: usize) -> mcpl_tests::Message {
    let id = format!("{channel}-{n}");
    message(&id, &id).with("channelId", json!(channel))
}

/// Registers a second channel beside `chat`.
async fn second_channel(session: &Session) {
    let channel = json!({"id": "other", "type": "t", "label": "other", "direction": "bidirectional"});
    session.producer_asks("channels/register", &json!({"channels": [channel]})).await;
    session.sync().await;
}

/// What was given of a channel, in order.
fn of_channel(given: &[String], channel: &str) -> Vec<String> {
    given.iter().filter(|text| text.starts_with(channel)).cloned().collect()
}

fn expected(channel: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{channel}-{n}")).collect()
}

#[tokio::test]
async fn it_is_answered_at_once_and_delivered_in_the_order_of_its_channel() {
    let mut world = storing().await;
    let session = world.session().await;
    second_channel(&session).await;
    session.host.script.always(Reply::Silence);
    for n in 0..10 {
        for channel in ["chat", "other"] {
            let answer = session.incoming([plain(channel, n)]).await;
            assert_eq!(answer["result"]["results"][0]["accepted"], json!(true), "{answer}");
        }
    }
    let answer = session.push(push("p1", "PUSHED")).await;
    assert_eq!(answer["result"]["accepted"], json!(true), "{answer}");
    session.host.is_given("PUSHED").await;
    session.host.is_given("chat-0").await;
    session.host.is_given("other-0").await;
    let mut given = session.host.given();
    given.sort();
    assert_eq!(given, ["PUSHED", "chat-0", "other-0"], "one of a channel passed another");
}

#[tokio::test]
async fn a_host_that_says_unavailable_gets_it_later_and_in_order() {
    let mut world = storing().await;
    let session = world.session().await;
    let later = json!({"accepted": false, "refusal": "unavailable", "retryable": true, "retryAfterMs": 20});
    for _ in 0..2 {
        session
            .host
            .script
            .then(Reply::Result(json!({"results": [{"messageId": "chat-0", "accepted": false,
            "refusal": "unavailable", "retryable": true, "retryAfterMs": 20}]})));
    }
    for n in 0..5 {
        let answer = session.incoming([plain("chat", n)]).await;
        assert_eq!(answer["result"]["results"][0]["accepted"], json!(true), "{answer}");
    }
    session.host.is_given("chat-4").await;
    let mut wanted = expected("chat", 5);
    wanted.splice(0..0, ["chat-0".to_owned(), "chat-0".to_owned()]);
    assert_eq!(session.host.given(), wanted);

    session.host.script.then(Reply::Result(later));
    let answer = session.push(push("p1", "PUSHED")).await;
    assert_eq!(answer["result"]["accepted"], json!(true), "{answer}");
    let pushed = |session: &Session| session.host.given().iter().filter(|text| *text == "PUSHED").count();
    let end = Instant::now() + mcpl_tests::PATIENCE;
    while pushed(&session) < 2 {
        assert!(Instant::now() < end, "it was not tried again");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn it_is_there_after_a_kill_and_comes_once_and_in_order() {
    let mut world = storing().await;
    let session = world.session().await;
    session.host.script.always(Reply::Error(-32030, "not now"));
    for n in 0..30 {
        let answer = session.incoming([plain("chat", n)]).await;
        assert_eq!(answer["result"]["results"][0]["accepted"], json!(true), "{answer}");
    }
    drop(session);
    world.restart().await;
    let session = world.session().await;
    // A new one stands behind the old.
    session.incoming([plain("chat", 30)]).await;
    session.host.is_given("chat-30").await;
    session.sync().await;
    assert_eq!(session.host.given(), expected("chat", 31));
    // The host's last answers are on disk once something that came after them is.
    session.push(push("barrier", "").key("barrier").retract()).await;
    world.restart().await;
    let session = world.session().await;
    session.sync().await;
    assert_eq!(session.host.given(), Vec::<String>::new());
}

/// A host that takes, refuses for now or ignores, and remembers what it took, in order, over its sessions.
#[derive(Clone)]
struct Moody {
    taken: Arc<Mutex<Vec<String>>>,
    chance: Chance,
    easy: bool,
    script: HostScript,
}

impl Mind for Moody {
    fn hear(&mut self, said: &Said) -> Vec<Say> {
        let (Some(id), "channels/incoming") = (said.raw("id"), said.method().unwrap_or_default().as_str())
        else {
            return self.script.hear(said);
        };
        let message = said.json()["params"]["messages"][0].clone();
        let name = message["messageId"].clone();
        let accepted = self.easy || self.chance.percent(80);
        let result: Value = if accepted {
            self.taken.lock().unwrap().push(name.as_str().unwrap_or_default().to_owned());
            json!({"messageId": name, "accepted": true})
        } else {
            json!({"messageId": name, "accepted": false, "refusal": "unavailable", "retryable": true,
                "retryAfterMs": 1})
        };
        vec![Say::Line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"results":[{result}]}}}}"#))]
    }
}

#[tokio::test]
async fn over_kills_each_comes_at_least_once_and_in_the_order_of_its_channel() {
    let mut world = World::new()
        .await
        .table("forward", "uncoalesced = \"store\"")
        .table("host", "in_doubt = \"resend\"")
        .start()
        .await;
    let taken = Arc::new(Mutex::new(Vec::new()));
    let mut accepted = 0;
    let mut last = None;
    for life in 0..5 {
        let mind = Moody {
            taken: taken.clone(),
            chance: Chance::new(life),
            easy: life == 4,
            script: HostScript::default(),
        };
        let session = Session::open(Host::with_mind(world.dial().await, mind), &mut world).await;
        second_channel(&session).await;
        for _ in 0..20 {
            for channel in ["chat", "other"] {
                let answer = session.incoming([plain(channel, accepted)]).await;
                assert_eq!(answer["result"]["results"][0]["accepted"], json!(true), "{answer}");
            }
            accepted += 1;
        }
        if life < 4 {
            world.restart().await;
        }
        last = Some(session);
    }
    let end = Instant::now() + mcpl_tests::PATIENCE;
    loop {
        let mut given = taken.lock().unwrap().clone();
        // What was in doubt comes twice, next to itself.
        given.sort_by_key(|name| name.split('-').next().map(str::to_owned));
        given.dedup();
        if given.len() >= 2 * accepted {
            assert_eq!(of_channel(&given, "chat"), expected("chat", accepted));
            assert_eq!(of_channel(&given, "other"), expected("other", accepted));
            drop(last);
            return;
        }
        let late = Instant::now() >= end;
        assert!(!late, "{} of {} came; left: {:#?}", given.len(), 2 * accepted, world.listed(&[]).await);
        sleep(Duration::from_millis(20)).await;
    }
}
