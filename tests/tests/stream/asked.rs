//! What is asked over the socket, as it should be and otherwise.

use mcpl_tests::{StreamSocket, World, push};
use serde_json::{Value, json};

/// Readers at a time.
const READERS: usize = 64;

#[tokio::test]
async fn what_is_no_request_is_answered_and_what_is_one_is_served_on_the_same_socket() {
    let mut world = World::new().await.watched("").start().await;
    let session = world.session().await;
    let mut socket = StreamSocket::open(world.admin_port()).await;
    session.push(push("one", "x").key("k").initial()).await;
    session.push(push("two", "x").key("l").initial()).await;
    let subscribe = |more: Value| {
        let mut wanted = json!({ "stream": "journal" });
        wanted.as_object_mut().into_iter().for_each(|wanted| {
            wanted.extend(
                more.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())),
            );
        });
        json!({ "subscribe": wanted })
    };
    for wrong in [
        subscribe(json!({ "after": -1 })),
        subscribe(json!({ "after": 1.0 })),
        subscribe(json!({ "after": "1" })),
        subscribe(json!({ "after": true })),
        subscribe(json!({ "after": [1] })),
        subscribe(json!({ "after": 1e20 })),
        subscribe(json!({ "tail": -1 })),
        subscribe(json!({ "tail": null })),
        subscribe(json!({ "since": 1 })),
        json!({ "subscribe": { "stream": "diary" } }),
        json!({ "subscribe": { "stream": null } }),
        json!({ "subscribe": null }),
        json!({ "subscribe": { "stream": "journal" }, "unsubscribe": { "stream": "journal" } }),
        json!({ "unsubscribe": { "stream": "diary" } }),
        json!({ "publish": {} }),
        json!({}),
        json!([]),
        json!(null),
        json!("subscribe"),
    ] {
        socket.say(&wrong).await;
        let told = socket.hear().await.unwrap();
        let error = &told["error"];
        assert!(error["error"].is_string() && error["hint"].is_string(), "{wrong}: {told}");
        assert!(!error["error"].as_str().unwrap_or_default().contains("struct"), "{told}");
    }
    // What it knows ends at 2.
    for (more, after, seqs) in [
        (json!({ "after": 0 }), json!(0), vec![1, 2]),
        (json!({ "after": 1 }), json!(null), vec![]),
        (json!({ "after": null }), json!(null), vec![]),
        (json!({}), json!(null), vec![]),
        (json!({ "tail": 1 }), json!(null), vec![2]),
    ] {
        socket.say(&subscribe(more.clone())).await;
        let told = socket.hear().await.unwrap();
        assert_eq!(told["subscribed"]["after"], after, "{more}: {told}");
        if after.is_null() {
            let told = socket.hear().await.unwrap();
            assert_eq!(told["snapshot"]["occurrences"].as_array().map(Vec::len), Some(2), "{told}");
        }
        let told = socket.hear().await.unwrap();
        let events = told["event.batch"]["events"].as_array().unwrap();
        assert_eq!(
            events.iter().map(|event| event["seq"].as_u64().unwrap()).collect::<Vec<_>>(),
            seqs,
            "{told}"
        );
    }
}

#[tokio::test]
async fn a_cursor_that_never_was_is_told_that_a_snapshot_follows() {
    let world = World::new().await.watched("").start().await;
    let mut socket = StreamSocket::open(world.admin_port()).await;
    socket.say(&json!({ "subscribe": { "stream": "journal" } })).await;
    let stream = socket.hear().await.unwrap()["subscribed"]["stream"].clone();
    socket.hear().await.unwrap();
    socket.hear().await.unwrap();
    for after in [1, 7, u64::MAX] {
        socket.say(&json!({ "subscribe": { "stream": stream, "after": after } })).await;
        let told = socket.hear().await.unwrap();
        assert_eq!((&told["subscribed"]["after"], &told["subscribed"]["stream"]), (&json!(null), &stream));
        assert_eq!(socket.hear().await.unwrap()["snapshot"]["lastSequence"], 0);
        assert_eq!(socket.hear().await.unwrap()["event.batch"]["lastSeq"], json!(null));
    }
}

#[tokio::test]
async fn one_reader_more_than_are_served_is_told_so_and_a_place_is_given_back() {
    let world = World::new().await.watched("").start().await;
    let port = world.admin_port();
    let mut sockets = vec![StreamSocket::open(port).await];
    while sockets.len() < READERS {
        sockets.push(StreamSocket::asked(port, "").await.unwrap().unwrap());
    }
    let answer = StreamSocket::asked(port, "").await.unwrap().map(drop).unwrap_err();
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    drop(sockets.pop());
    let end = tokio::time::Instant::now() + mcpl_tests::PATIENCE;
    // It takes a moment until it is known that one is gone.
    while StreamSocket::asked(port, "").await.unwrap().is_err() {
        assert!(tokio::time::Instant::now() < end, "the place is not given back");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn who_asks_again_and_again_is_answered_each_time_and_costs_no_threads() {
    let mut world = World::new().await.watched("").start().await;
    let pid = world.program().pid();
    let mut socket = StreamSocket::open(world.admin_port()).await;
    let threads = || std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    let (mut asked, mut told, mut most) = (0, 0, 0);
    let before = threads();
    while told < 3_000 {
        while asked < 3_000 && asked - told < 500 {
            socket.say(&json!({ "subscribe": { "stream": "journal" } })).await;
            asked += 1;
        }
        let message = socket.hear().await.unwrap();
        told += usize::from(message.get("subscribed").is_some());
        if told % 50 == 0 {
            most = most.max(threads());
        }
    }
    // The thread of the readers, and those that read parts of snapshots.
    assert!(most <= before + 3, "{most} threads, {before} before");
    // The last one is served to its end.
    assert!(socket.hear().await.unwrap().get("snapshot").is_some());
    assert!(socket.hear().await.unwrap().get("event.batch").is_some());
}
