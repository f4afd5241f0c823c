//! What is told of occurrences, and who is told.

use mcpl_tests::{Follower, Reply, StreamSocket, World, push};
use serde_json::{Value, json};

/// Types and numbers of what was told of an occurrence.
fn of(follower: &Follower, id: &str) -> Vec<(String, u64)> {
    let of_it = follower.applied.iter().filter(|(_, _, of, _)| of == id);
    of_it
        .map(|(_, kind, _, revision)| (kind.trim_start_matches("occurrence.").to_owned(), *revision))
        .collect()
}

fn named(all: &[(&str, u64)]) -> Vec<(String, u64)> {
    all.iter().map(|(kind, revision)| ((*kind).to_owned(), *revision)).collect()
}

#[tokio::test]
async fn every_change_of_an_occurrence_is_told_with_its_facts_and_nothing_of_its_content() {
    let mut world = World::new().await.watched("").start().await;
    let session = world.session().await;
    let mut socket = StreamSocket::open(world.admin_port()).await;
    let mut follower = Follower::from_the_beginning();
    socket.say(&follower.wanted()).await;
    session.push(push("one", "SECRET ONE").key("SECRET KEY").initial()).await;
    session.push(push("two", "SECRET TWO").key("SECRET KEY")).await;
    session.push(push("gone", "SECRET THREE").key("SECRET OTHER").initial()).await;
    session.push(push("away", "").key("SECRET OTHER").retract()).await;
    session.assemble().await;
    session.host.is_given("SECRET TWO").await;
    session.host.script.then(Reply::Error(-32602, "never"));
    session.push(push("dead", "SECRET FOUR").key("SECRET THIRD").initial()).await;
    session.assemble().await;

    let mut texts = String::new();
    while of(&follower, "main/5").last().is_none_or(|(kind, _)| kind != "dead") {
        let message = socket.hear().await.unwrap();
        texts.push_str(&message.to_string());
        follower.take(&message).unwrap();
    }
    assert!(!texts.contains("SECRET"), "no content and no key");
    assert_eq!(of(&follower, "main/1"), named(&[("held", 1), ("replaced", 2)]));
    assert_eq!(of(&follower, "main/3"), named(&[("held", 1), ("withdrawn", 2)]));
    let two = of(&follower, "main/2");
    assert_eq!(
        (two.first(), two.last()),
        (named(&[("held", 1)]).first(), named(&[("delivered", 3)]).first())
    );
    assert!(two.contains(&("submitted".to_owned(), 2)), "{two:?}");

    let replaced = &follower.known["main/1"];
    assert_eq!(replaced["eventId"], "one");
    assert_eq!(replaced["replacedBy"], json!({ "id": "main/2" }));
    assert_eq!(replaced["delivery"], "failed");
    assert_eq!(replaced["decision"], json!({ "state": "stale", "reason": "stale-objective" }));
    assert_eq!((&replaced["open"], &replaced["state"]), (&json!(false), &json!("replaced")));
    assert_eq!(follower.known["main/3"]["withdrawnBy"], json!({ "id": "main/4" }));
    assert_eq!(follower.known["main/2"]["scope"], json!({ "featureSet": "doc" }));
    assert_eq!(follower.known["main/2"]["coalesce"], json!({ "outcome": "replaced", "priorEventId": "one" }));
    let dead = &follower.known["main/5"];
    assert_eq!((&dead["open"], &dead["waits"]), (&json!(true), &json!("operator")));
    assert_eq!(dead["refusal"]["refusal"], "invalid", "{dead}");
}

#[tokio::test]
async fn what_an_operator_settles_is_told_as_settled() {
    let mut world = World::new().await.watched("").start().await;
    let session = world.session().await;
    session.host.script.then(Reply::Error(-32602, "never"));
    session.push(push("dead", "x").key("k").initial()).await;
    session.assemble().await;
    let mut socket = StreamSocket::open(world.admin_port()).await;
    let mut follower = Follower::default();
    socket.say(&follower.wanted()).await;
    follower
        .follow(&mut socket, |all| all.known.get("main/1").is_some_and(|it| it["state"] == "dead-letter"))
        .await;
    let revision = follower.known["main/1"]["revision"].to_string();
    let resolve =
        ["journal", "resolve", "main/1", "--drop", "--expect", &revision, "--config", "sidecar.toml"];
    assert!(world.output(&resolve).await.status.success());
    follower
        .follow(&mut socket, |all| of(all, "main/1").last().is_some_and(|(kind, _)| kind == "resolved"))
        .await;
    assert_eq!(follower.open(), []);
}

#[tokio::test]
async fn how_producers_stand_is_told_as_it_changes() {
    let mut world = World::new().await.watched("").start().await;
    let mut socket = StreamSocket::open(world.admin_port()).await;
    socket.say(&json!({ "subscribe": { "stream": "notices" } })).await;
    let session = world.session().await;
    session.push(push("one", "x").key("k").initial()).await;
    let (mut diary, mut status) = (String::new(), Value::Null);
    while status["held"] != 1 || !diary.contains("a session with") {
        let message = socket.hear().await.unwrap();
        let notice = &message["event.notify"];
        match notice["type"].as_str() {
            Some("producer.diary") => {
                assert_eq!(notice["data"]["offset"].as_u64(), Some(diary.len() as u64));
                diary.push_str(notice["data"]["text"].as_str().unwrap());
            }
            Some("producer.status") => status = notice["data"].clone(),
            _ => assert!(message.get("subscribed").is_some(), "{message}"),
        }
    }
    assert_eq!(
        (&status["producer"], &status["session"], &status["store"]),
        (&json!("main"), &json!(true), &json!("good"))
    );
    assert_eq!(status["counts"]["accepted"], 1, "{status}");
}

#[tokio::test]
async fn only_who_has_the_token_reads_and_a_browser_can_say_it() {
    let world = World::new().await.watched("token_file = \"token\"");
    std::fs::write(world.folder().join("token"), "open sesame\n").unwrap();
    let world = world.start().await;
    let port = world.admin_port();
    let ask = async |more: &str| {
        let end = tokio::time::Instant::now() + mcpl_tests::PATIENCE;
        loop {
            match StreamSocket::asked(port, more).await {
                Ok(answer) => return answer.map(drop).map_err(|head| head[9..12].to_owned()),
                Err(error) => assert!(tokio::time::Instant::now() < end, "{error}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let refused = |status: &str| Err(status.to_owned());
    assert_eq!(ask("").await, refused("401"));
    assert_eq!(ask("Authorization: Bearer open\r\n").await, refused("401"));
    assert_eq!(ask("Authorization: Bearer open sesame\r\n").await, Ok(()));
    // "open sesame"
    let offered = |token: &str| format!("Sec-WebSocket-Protocol: mcpl, mcpl.bearer.{token}\r\n");
    assert_eq!(ask(&offered("b3BlbiBzZXNhbWU")).await, Ok(()));
    assert_eq!(ask(&offered("b3Blbg")).await, refused("401"));
    let token = "Authorization: Bearer open sesame\r\n";
    assert_eq!(ask(&format!("{token}Origin: http://127.0.0.1:{port}\r\n")).await, Ok(()));
    assert_eq!(ask(&format!("{token}Origin: http://example.org\r\n")).await, refused("403"));
}
