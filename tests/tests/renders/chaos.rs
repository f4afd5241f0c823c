//! Kills at any instant, while batches are pending, rendered and given.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcpl_tests::{Chance, Render, Session, World, push};
use serde_json::Value;
use tokio::time::sleep;

use super::scene::{ids, renders, settles};

const SUBJECTS: usize = 12;

/// What was seen of all sessions.
#[derive(Default)]
struct Seen {
    /// How often each notice was in a request.
    asked: BTreeMap<String, usize>,
    /// Under which ids something was given, with how many different texts.
    given: BTreeMap<String, BTreeSet<String>>,
}

impl Seen {
    fn take(&mut self, session: &Session) {
        for params in renders(&session.producer) {
            for id in ids(&params) {
                *self.asked.entry(id.to_owned()).or_default() += 1;
            }
        }
        for said in session.host.since(0) {
            let message = said.json();
            if message["method"] == "push/event" {
                let params = &message["params"];
                let id = params["eventId"].as_str().unwrap_or_default().to_owned();
                self.given.entry(id).or_default().insert(params["payload"]["content"].to_string());
            }
        }
    }
}

/// However often it is killed: no notice is in two requests, what is given under one id is always the same, and
/// the newest notice of every subject is told.
#[tokio::test]
async fn whenever_it_is_killed_every_batch_is_told_once() {
    let mut chance = Chance::new(4);
    let mut world = World::new().await.table("coalesce", "quiet_ms = 30\nmax_hold_ms = 100").start().await;
    let mut seen = Seen::default();
    // By subject, in order.
    let mut accepted: Vec<Vec<String>> = vec![Vec::new(); SUBJECTS];
    let mut count = 0;
    for round in 0..12 {
        let session = world.session().await;
        let answers = [Render::Text("RENDERED"), Render::Silence, Render::Error];
        session.producer.script.always_render(answers[round % 3].clone());
        for _ in 0..40 {
            count += 1;
            let (id, subject) = (format!("n{count}"), chance.below(SUBJECTS as u64) as usize);
            let event = push(&id, &format!("F{count}")).key(&format!("k{subject}")).deferred();
            let told = session.push(event).await;
            assert_eq!(told["result"]["accepted"], Value::Bool(true), "{told}");
            accepted[subject].push(id);
        }
        sleep(Duration::from_millis(chance.below(120))).await;
        world.restart().await;
        session.producer.ended().await;
        session.host.ended().await;
        seen.take(&session);
    }
    let last = world.session().await;
    for _ in 0..3 {
        settles(&last).await;
        sleep(Duration::from_millis(200)).await;
    }
    let mut left = world.listed(&[]).await;
    for _ in 0..50 {
        if left.is_empty() {
            break;
        }
        sleep(Duration::from_millis(200)).await;
        left = world.listed(&[]).await;
    }
    assert_eq!(left, Vec::<Value>::new(), "something is left");
    seen.take(&last);
    for (id, times) in &seen.asked {
        assert_eq!(*times, 1, "{id} is in several requests");
    }
    for (id, texts) in &seen.given {
        assert_eq!(texts.len(), 1, "{id} was given as {texts:?}");
    }
    for (subject, ids) in accepted.iter().enumerate() {
        // What was given last stands for the newest.
        let newest = ids.last().expect("some");
        assert!(
            seen.given.contains_key(newest),
            "k{subject}: {newest} was never told: {:?}",
            seen.given.keys()
        );
    }
}
