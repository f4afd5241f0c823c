//! What readers are told of observations and of notices.

use serde_json::json;

use super::stage::{numbers, on_stage};
use super::*;

#[tokio::test]
async fn a_replay_goes_over_into_what_is_live_without_a_gap_or_a_repeat() {
    on_stage(10_000, async |stage| {
        stage.publish(1..=600);
        let mut client = stage.reader(1 << 20);
        client.subscribe(&stage.journal(), Some(100)).await;
        let told = client.hear_of("subscribed").await;
        assert_eq!(
            told,
            json!({ "stream": stage.journal(), "after": 100, "firstSequence": 1, "lastSequence": 600 })
        );
        let mut after = 100;
        while after < 600 {
            let batch = client.batch().await;
            assert_eq!((&batch["reason"], batch["firstSeq"].as_u64()), (&json!("replay"), Some(after + 1)));
            assert_eq!(batch["stream"], stage.journal());
            after = batch["lastSeq"].as_u64().unwrap();
        }
        stage.publish(601..=602);
        let live = client.batch().await;
        assert_eq!((&live["reason"], numbers(&live)), (&json!("live"), vec![601, 602]));
        let event = &live["events"][0];
        assert_eq!((&event["type"], &event["data"]["id"]), (&json!("occurrence.held"), &json!("chat/601")));
        assert_eq!(event["ts"], "2027-01-15T08:00:00.000Z");
        assert_eq!(event["data"]["admitted"], "2027-01-15T07:59:59.000Z");
    })
    .await;
}

#[tokio::test]
async fn who_has_everything_is_told_so_with_an_empty_batch() {
    on_stage(10, async |stage| {
        stage.publish(1..=3);
        let mut client = stage.reader(1 << 20);
        client.subscribe(&stage.journal(), Some(3)).await;
        client.hear_of("subscribed").await;
        let batch = client.batch().await;
        assert_eq!(
            (&batch["reason"], &batch["firstSeq"], &batch["lastSeq"]),
            (&json!("replay"), &json!(null), &json!(null))
        );
    })
    .await;
}

#[tokio::test]
async fn a_cursor_of_another_run_one_that_is_gone_and_one_that_never_was_get_a_snapshot() {
    on_stage(10, async |stage| {
        stage.publish(1..=30);
        let journal = stage.journal();
        for (stream, after) in [
            ("journal", None),
            ("journal", Some(29)),
            ("journal@0000000000000000", Some(29)),
            (journal.as_str(), Some(19)),
            (journal.as_str(), Some(31)),
            (journal.as_str(), None),
        ] {
            let mut client = stage.reader(1 << 20);
            client.subscribe(stream, after).await;
            assert_eq!(client.hear_of("subscribed").await["after"], json!(null), "a snapshot follows");
            let snapshot = client.hear_of("snapshot").await;
            assert_eq!(
                snapshot,
                json!({ "stream": journal, "lastSequence": 30, "part": 0, "isLast": true, "occurrences": [] }),
                "{stream} {after:?}"
            );
            let batch = client.batch().await;
            assert_eq!((&batch["reason"], numbers(&batch)), (&json!("snapshot_delta"), vec![]));
        }
        let mut client = stage.reader(1 << 20);
        client.subscribe(&journal, Some(20)).await;
        client.hear_of("subscribed").await;
        assert_eq!(numbers(&client.batch().await), (21..=30).collect::<Vec<_>>(), "20 is enough");
        client.say(&json!({ "subscribe": { "stream": "journal", "tail": 3 } })).await;
        client.hear_of("subscribed").await;
        assert_eq!(client.hear_of("snapshot").await["lastSequence"], 27);
        assert_eq!(numbers(&client.batch().await), [28, 29, 30], "the tail");
    })
    .await;
}

#[tokio::test]
async fn who_falls_off_the_ring_while_it_does_not_read_gets_a_snapshot_and_others_are_not_slowed() {
    on_stage(2_000, async |stage| {
        let (mut slow, mut quick) = (stage.reader(4096), stage.reader(1 << 20));
        for client in [&mut slow, &mut quick] {
            client.subscribe(&stage.journal(), Some(0)).await;
            client.hear_of("subscribed").await;
            client.batch().await;
        }
        let mut after = 0;
        for portion in 0..20 {
            stage.publish(portion * 500 + 1..=portion * 500 + 500);
            while after < (portion + 1) * 500 {
                let batch = quick.batch().await;
                assert_eq!(batch["firstSeq"].as_u64(), Some(after + 1));
                after = batch["lastSeq"].as_u64().unwrap();
            }
        }
        let (mut cursor, mut snapshots) = (0, 0);
        while cursor < 10_000 {
            let message = slow.hear().await;
            if let Some(last) = message["snapshot"]["lastSequence"].as_u64() {
                assert!(last > cursor && last <= 10_000);
                (cursor, snapshots) = (last, snapshots + 1);
            } else {
                for seq in numbers(&message["event.batch"]) {
                    assert_eq!(seq, cursor + 1, "sequenced events are never folded");
                    cursor = seq;
                }
            }
        }
        assert_eq!(snapshots, 1);
    })
    .await;
}

#[tokio::test]
async fn notices_for_a_slow_reader_are_folded_and_sequenced_events_between_them_are_not() {
    on_stage(10_000, async |stage| {
        let mut client = stage.reader(4096);
        client.subscribe("notices", None).await;
        assert_eq!(client.hear_of("subscribed").await, json!({ "stream": "notices" }));
        client.subscribe(&stage.journal(), Some(0)).await;
        client.hear_of("subscribed").await;
        client.batch().await;
        // So much that the queue of the reader is full.
        stage.publish(1..=4_000);
        let mut text = String::new();
        for held in 0..500 {
            stage.notify(Notice::status("a", 0, json!({ "producer": "a", "served": true, "held": held })));
            stage.notify(Notice::status("b", 0, json!({ "producer": "b", "served": true, "held": held })));
            let line = format!("{held} ü\n");
            stage.notify(Notice::diary("a", 0, text.len() as u64, &line));
            text.push_str(&line);
            tokio::task::yield_now().await;
        }
        let (mut cursor, mut told, mut diary) = (0, 0, String::new());
        let mut newest = std::collections::HashMap::new();
        while cursor < 4_000 || diary.len() < text.len() {
            let message = client.hear().await;
            if let Some(notice) = message.get("event.notify") {
                told += 1;
                assert!(notice["seq"].is_null() && notice["id"].is_string());
                let data = &notice["data"];
                if notice["type"] == "producer.diary" {
                    assert_eq!(data["offset"].as_u64(), Some(diary.len() as u64), "exact");
                    diary.push_str(data["text"].as_str().unwrap());
                } else {
                    newest.insert(data["producer"].to_string(), data["held"].clone());
                }
            } else {
                for seq in numbers(&message["event.batch"]) {
                    assert_eq!(seq, cursor + 1);
                    cursor = seq;
                }
            }
        }
        assert_eq!(diary, text);
        assert_eq!(newest.values().collect::<Vec<_>>(), [&json!(499), &json!(499)], "the newest of each");
        assert!(told < 100, "{told} of 1,500 were told");
    })
    .await;
}

#[tokio::test]
async fn who_comes_later_is_told_how_everything_is_now() {
    on_stage(10, async |stage| {
        for held in 0..3 {
            stage.notify(Notice::status("a", 0, json!({ "producer": "a", "served": true, "held": held })));
        }
        let mut client = stage.reader(1 << 20);
        client.subscribe("notices", None).await;
        client.hear_of("subscribed").await;
        assert_eq!(client.hear_of("event.notify").await["data"]["held"], 2);
        client.say(&json!({ "unsubscribe": { "stream": "notices" } })).await;
        assert_eq!(client.hear_of("unsubscribed").await, json!({ "stream": "notices" }));
        stage.notify(Notice::status("a", 0, json!({ "producer": "a", "served": true, "held": 9 })));
        client.subscribe("journal@x", None).await;
        client.hear_of("subscribed").await;
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_read_is_answered_and_the_socket_goes_on() {
    on_stage(10, async |stage| {
        let mut client = stage.reader(1 << 20);
        for wrong in
            [json!(7), json!({}), json!({ "subscribe": { "stream": "else" } }), json!("x".repeat(70_000))]
        {
            client.say(&wrong).await;
            let error = client.hear_of("error").await;
            assert!(error["error"].is_string() && error["hint"].is_string(), "{error}");
            let is_long = wrong.to_string().len() > REQUEST_BYTES;
            assert_eq!(error["error"] == "the message is too long", is_long, "{error}");
        }
        client.subscribe(&stage.journal(), Some(0)).await;
        client.hear_of("subscribed").await;
    })
    .await;
}

#[tokio::test]
async fn a_journal_that_cannot_be_read_is_told_and_ends_the_subscription() {
    on_stage(10, async |stage| {
        std::fs::write(stage.dir.path().join(crate::journal::FILE), "no database").unwrap();
        let mut client = stage.reader(1 << 20);
        client.subscribe("journal", None).await;
        client.hear_of("subscribed").await;
        let error = client.hear_of("error").await;
        assert_eq!(error["stream"], stage.journal());
        assert!(error["error"].as_str().unwrap().starts_with("there is no snapshot"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn observations_are_told_once_their_step_is_on_disk_and_never_if_it_is_lost() {
    on_stage(10, async |stage| {
        let mut tap = stage.hub.tap("chat");
        let now = Now { mono_ms: 1, wall_ms: 1 };
        tap.note(1, now, vec![seen(1), seen(2)]);
        tap.note(2, now, vec![seen(3)]);
        assert_eq!(stage.hub.shared().last(), 0);
        tap.durable(1);
        assert_eq!(stage.hub.shared().last(), 2);
        tap.lost();
        tap.durable(2);
        assert_eq!(stage.hub.shared().last(), 2);
    })
    .await;
}
