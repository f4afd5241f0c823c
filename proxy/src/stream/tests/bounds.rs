//! What is bounded, who is cut off, and what ends when it is said to.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::stage::{Client, numbers, on_stage};
use super::*;
use crate::stream::frame::Reason;
use crate::stream::snapshot::Snapshot;

/// Longer than anything takes that comes at all.
const LONG: Duration = Duration::from_secs(5);

async fn is_told_nothing(client: &mut Client) -> bool {
    timeout(LONG, client.hear()).await.is_err()
}

fn status(producer: &str, held: u64) -> Notice {
    Notice::status(producer, 0, json!({ "producer": producer, "served": true, "held": held }))
}

/// An observation with much in it.
fn long(number: u64) -> Observation {
    let of = Seen { event_id: "e".repeat(3_000).into(), ..seen(number) };
    Observation::new(&"chat".into(), Now { mono_ms: 5_000, wall_ms: 1_800_000_000_000 }, of)
}

#[tokio::test(start_paused = true)]
async fn who_takes_nothing_for_a_minute_is_cut_off() {
    on_stage(10_000, async |stage| {
        stage.publish(1..=5_000);
        let mut client = stage.reader(4096);
        client.subscribe(&stage.journal(), Some(0)).await;
        sleep(Duration::from_secs(58)).await;
        assert!(!client.served.is_finished());
        sleep(Duration::from_secs(10)).await;
        assert!(client.served.is_finished());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_takes_a_little_at_a_time_is_served_for_as_long_as_it_does() {
    on_stage(10_000, async |stage| {
        stage.publish(1..=5_000);
        // It takes so much a second, and what waits for it never ends.
        let mut client = stage.reader(4096);
        client.subscribe(&stage.journal(), Some(0)).await;
        let (began, mut told) = (Instant::now(), 0);
        while began.elapsed() < Duration::from_mins(4) {
            told += client.connection.reader.read(&mut client.framer).await.unwrap();
            while client.framer.next().is_some() {}
            client.pong().await;
            sleep(Duration::from_secs(1)).await;
        }
        assert!(!client.served.is_finished() && told < 1_500_000, "{told}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_reader_is_bounded_and_the_rest_stays_where_it_is() {
    on_stage(100_000, async |stage| {
        let mut client = stage.reader(1024);
        client.subscribe(&stage.journal(), Some(0)).await;
        client.hear_of("subscribed").await;
        client.batch().await;
        stage.publish(1..=5_000);
        sleep(LONG).await;
        client.say(&json!({ "unsubscribe": { "stream": "journal" } })).await;
        let mut bytes = 0;
        loop {
            let message = client.hear().await;
            if message.get("unsubscribed").is_some() {
                break;
            }
            bytes += message.to_string().len();
        }
        // What is queued, what the writer has taken of it, and one batch more.
        assert!(bytes < 2 * READER_BYTES, "{bytes}");
        assert!(is_told_nothing(&mut client).await, "it is unsubscribed");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_unsubscribes_is_told_no_more_of_that_and_all_of_the_other() {
    on_stage(1_000, async |stage| {
        let mut client = stage.reader(1 << 20);
        client.subscribe("notices", None).await;
        client.hear_of("subscribed").await;
        client.subscribe(&stage.journal(), Some(0)).await;
        client.hear_of("subscribed").await;
        client.batch().await;
        client.say(&json!({ "unsubscribe": { "stream": "notices" } })).await;
        assert_eq!(client.hear_of("unsubscribed").await, json!({ "stream": "notices" }));
        stage.notify(status("a", 1));
        stage.publish(1..=2);
        assert_eq!(numbers(&client.batch().await), [1, 2]);
        assert!(is_told_nothing(&mut client).await);

        client.subscribe("notices", None).await;
        client.hear_of("subscribed").await;
        assert_eq!(client.hear_of("event.notify").await["data"]["held"], 1);
        client.say(&json!({ "unsubscribe": { "stream": "journal" } })).await;
        assert_eq!(client.hear_of("unsubscribed").await, json!({ "stream": "journal" }));
        stage.publish(3..=4);
        stage.notify(status("a", 2));
        assert_eq!(client.hear_of("event.notify").await["data"]["held"], 2);
        assert!(is_told_nothing(&mut client).await);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_subscribes_again_begins_anew_and_is_told_everything_once() {
    on_stage(1_000, async |stage| {
        stage.publish(1..=3);
        let mut client = stage.reader(1 << 20);
        for _ in 0..2 {
            client.subscribe(&stage.journal(), Some(1)).await;
            client.hear_of("subscribed").await;
            assert_eq!(numbers(&client.batch().await), [2, 3]);
        }
        stage.publish(4..=4);
        assert_eq!(numbers(&client.batch().await), [4]);
        stage.notify(status("a", 1));
        for _ in 0..2 {
            client.subscribe("notices", None).await;
            client.hear_of("subscribed").await;
            assert_eq!(client.hear_of("event.notify").await["data"]["held"], 1);
        }
        assert!(is_told_nothing(&mut client).await);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_comes_with_a_reader_is_told_once_and_text_stays_exact() {
    on_stage(10, async |stage| {
        stage.notify(Notice::diary("a", 0, 0, "one\n"));
        let mut client = stage.reader(1 << 20);
        // Nobody was told of this yet, nor woken for it.
        stage.hub.notify(Notice::diary("a", 0, 4, "two\n"));
        client.subscribe("notices", None).await;
        client.hear_of("subscribed").await;
        let told = client.hear_of("event.notify").await;
        assert_eq!((&told["data"]["offset"], &told["data"]["text"]), (&json!(0), &json!("one\ntwo\n")));
        stage.notify(Notice::diary("a", 0, 8, "three\n"));
        let told = client.hear_of("event.notify").await;
        assert_eq!((&told["data"]["offset"], &told["data"]["text"]), (&json!(8), &json!("three\n")));
        assert!(is_told_nothing(&mut client).await);
    })
    .await;
}

#[tokio::test]
async fn notices_that_nobody_takes_are_bounded_and_the_newest_are_left() {
    on_stage(10, async |stage| {
        for held in 0..5_000 {
            stage.hub.notify(status("a", held));
        }
        let (untold, current) = stage.hub.shared().notices();
        assert_eq!(
            (untold.len(), untold.last(), &current[..]),
            (4_096, Some(&status("a", 4_999)), &[status("a", 4_999)][..])
        );
        assert_eq!(stage.hub.shared().untold(), [], "each is told once");
    })
    .await;
}

#[tokio::test]
async fn a_batch_ends_with_the_event_that_makes_it_as_long_as_one_is_and_the_next_goes_on() {
    on_stage(1_000, async |stage| {
        stage.hub.publish((1..=100).map(long));
        stage.board.tell();
        let mut client = stage.reader(1 << 20);
        client.subscribe(&stage.journal(), Some(0)).await;
        client.hear_of("subscribed").await;
        let (mut all, mut batches) = (Vec::new(), 0);
        while all.len() < 100 {
            let told = client.batch().await;
            assert_eq!(told["reason"], "replay");
            // It was not as long without its last one.
            let events = told["events"].as_array().unwrap();
            let last = events.last().map_or(0, |event| event.to_string().len());
            assert!(told.to_string().len() - last < BATCH_BYTES + 256);
            all.extend(numbers(&told));
            batches += 1;
        }
        assert_eq!(all, (1..=100).collect::<Vec<_>>());
        assert!((3..=6).contains(&batches), "{batches}");
        let text = || stage.board.batch(Reason::Live, 0, 100).unwrap().0.wire().as_ptr();
        assert_eq!(text(), text(), "made once");
    })
    .await;
}

#[tokio::test]
async fn batches_end_at_the_same_numbers_for_everybody_and_are_made_once() {
    on_stage(2_000, async |stage| {
        stage.publish(1..=1_000);
        for (after, ends) in
            [(0, [256, 512, 768, 1_000]), (100, [256, 512, 768, 1_000]), (255, [256, 512, 768, 1_000])]
        {
            let mut client = stage.reader(1 << 20);
            client.subscribe(&stage.journal(), Some(after)).await;
            client.hear_of("subscribed").await;
            for end in ends {
                assert_eq!(client.batch().await["lastSeq"], end);
            }
        }
        let text = |reason, after, end| {
            let (line, last) = stage.board.batch(reason, after, end).unwrap();
            (line.wire().as_ptr(), last)
        };
        let made = text(Reason::Live, 256, 512);
        assert_eq!(text(Reason::Live, 256, 512), made, "the same text, not one like it");
        assert_ne!(text(Reason::Replay, 256, 512), made);
        // Of one that ended where it had to there is no more; of another there may be.
        let short = text(Reason::Live, 512, 600);
        assert_ne!(text(Reason::Live, 512, 768), short);
        assert_eq!(text(Reason::Live, 512, 600), short);
        assert!(stage.board.batch(Reason::Live, u64::MAX, u64::MAX).is_err());
    })
    .await;
}

#[tokio::test]
async fn why_a_batch_comes_is_said_for_what_was_there_what_came_with_a_snapshot_and_what_is_news() {
    on_stage(1_000, async |stage| {
        stage.publish(1..=3);
        let mut client = stage.reader(1 << 20);
        let mut told = async |message: Value, wanted: &[(&str, &[u64])]| {
            client.say(&message).await;
            let subscribed = client.hear_of("subscribed").await;
            if subscribed["after"].is_null() {
                client.hear_of("snapshot").await;
            }
            for (at, (reason, all)) in wanted.iter().enumerate() {
                if at > 0 {
                    stage.publish(all.iter().copied());
                }
                let batch = client.batch().await;
                assert_eq!((batch["reason"].as_str().unwrap(), &numbers(&batch)[..]), (*reason, *all));
                assert_eq!(batch["batchId"].as_str().unwrap().rsplit('-').next(), Some(*reason));
            }
        };
        let journal = stage.journal();
        let after = |after: u64| json!({ "subscribe": { "stream": journal, "after": after } });
        told(after(1), &[("replay", &[2, 3]), ("live", &[4]), ("live", &[5])]).await;
        told(after(5), &[("replay", &[]), ("live", &[6])]).await;
        let anew = json!({ "subscribe": { "stream": "journal" } });
        told(anew, &[("snapshot_delta", &[]), ("live", &[7])]).await;
        let tail = json!({ "subscribe": { "stream": "journal", "tail": 2 } });
        told(tail, &[("snapshot_delta", &[6, 7]), ("live", &[8])]).await;
    })
    .await;
}

#[tokio::test]
async fn a_tail_is_bounded() {
    on_stage(5_000, async |stage| {
        stage.publish(1..=3_000);
        let mut client = stage.reader(1 << 20);
        client.say(&json!({ "subscribe": { "stream": "journal", "tail": 2_500 } })).await;
        client.hear_of("subscribed").await;
        assert_eq!(client.hear_of("snapshot").await["lastSequence"], 2_000);
        assert_eq!(client.batch().await["firstSeq"], 2_001);
    })
    .await;
}

#[tokio::test]
async fn what_happens_while_a_snapshot_is_made_comes_after_it() {
    on_stage(1_000, async |stage| {
        stage.publish(1..=3);
        let mut snapshot = Snapshot::begin(&stage.hub.shared(), 0);
        // Before a part of it is read, as likely as not; and before it is sent, for certain.
        stage.publish(4..=6);
        let part = std::future::poll_fn(|cx| snapshot.poll(cx)).await.unwrap().unwrap();
        let part: Value = serde_json::from_slice(part.text()).unwrap();
        assert_eq!((&part["snapshot"]["lastSequence"], snapshot.last), (&json!(3), 3));
        assert!(std::future::poll_fn(|cx| snapshot.poll(cx)).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn there_are_as_many_places_as_are_promised_and_each_is_given_back() {
    let hub = Hub::new(std::path::Path::new("nowhere"));
    assert!(!hub.is_wanted() && !hub.is_watched());
    let mut passes: Vec<_> = (0..READERS).map(|_| hub.admit().unwrap()).collect();
    assert!(hub.admit().is_none() && hub.is_wanted() && hub.is_watched());
    passes.pop();
    passes.push(hub.admit().unwrap());
    assert!(hub.admit().is_none());
    drop(passes);
    assert!(hub.admit().is_some() && !hub.is_watched());
}

#[tokio::test]
async fn what_is_published_while_nobody_looks_is_bounded_and_keeps_its_order() {
    on_stage(20_000, async |stage| {
        for first in (1..30_000).step_by(100) {
            stage.hub.publish((first..first + 100).map(observation));
            assert!(stage.hub.shared().incoming() < 8_300);
        }
        let shared = stage.hub.shared();
        assert_eq!((shared.first(), shared.last(), shared.incoming()), (10_001, 30_000, 0));
        let all = shared.read(10_000, u64::MAX, usize::MAX).unwrap();
        assert!(all.iter().map(|one| one.seen.number).eq(10_001..=30_000));
    })
    .await;
}

#[tokio::test]
async fn who_publishes_waits_for_nobody_who_has_the_ring_and_nothing_is_lost() {
    let hub = Hub::new(std::path::Path::new("nowhere"));
    let shared = hub.shared();
    let ring = shared.ring();
    let (told, hears) = std::sync::mpsc::channel();
    let publisher = std::thread::spawn(move || {
        for first in [1, 9_001, 18_001] {
            hub.publish((first..first + 9_000).map(observation));
        }
        // Until the other end is gone, which is not before the ring is free.
        let _ = told.send(());
    });
    assert_eq!(hears.recv_timeout(LONG), Ok(()), "it waits");
    drop(ring);
    publisher.join().unwrap();
    let all = shared.read(0, u64::MAX, usize::MAX).unwrap();
    assert!(all.iter().map(|one| one.seen.number).eq(1..=27_000));
}
