//! What can be read in two ways is read in neither, and is still answered once (contract sections 3.2, 3.3, 3.5).

use mcpl_tests::{Peer, Reply, World, error_code, outcome, push};
use serde_json::{Value, json};

/// Ways in which an answer says two things.
const TWO_ANSWERS: [&str; 3] = [
    r#""result":{"accepted":true},"result":{"accepted":false}"#,
    r#""error":{"code":-32000,"message":"a"},"error":{"code":-32602,"message":"b"}"#,
    r#""result":{"accepted":true},"error":{"code":-32000,"message":"a"},"result":{}"#,
];

#[tokio::test]
async fn an_answer_to_us_that_says_two_things_stays_with_us() {
    for two in TWO_ANSWERS {
        let mut world = World::started().await;
        let mut session = world.session().await;
        session.host.script.then(Reply::Silence);
        session.push(push("e1", "FIRST").key("k").initial()).await;
        session.assemble().await;
        let given = session.host.is_given("FIRST").await;
        let id = given.raw("id").expect("it is a request");
        session.host.send(format!(r#"{{"jsonrpc":"2.0","id":{id},{two}}}"#)).await;
        session.sync().await;
        // It is an answer all the same: the subject waits for no other.
        session.push(push("e2", "SECOND").key("k")).await;
        session.assemble().await;
        session.host.is_given("SECOND").await;
        session.host.close().await;
        session.producer.ended().await;
        let leaked: Vec<String> =
            session.producer.texts(0).into_iter().filter(|text| text.contains("mcpl-sidecar/")).collect();
        assert_eq!(leaked, Vec::<String>::new(), "{two}");
    }
}

#[tokio::test]
async fn an_answer_that_says_two_things_is_the_only_one_there_is() {
    for two in TWO_ANSWERS {
        for batch in [false, true] {
            let mut world = World::started().await;
            let mut session = world.session().await;
            session.host.script.always(Reply::Silence);
            let params = push("plain", "PLAIN").params();
            let mark = session.producer.count();
            let request = format!(r#"{{"jsonrpc":"2.0","id":"p","method":"push/event","params":{params}}}"#);
            session.producer.send(if batch { format!("[{request}]") } else { request }).await;
            // An element of a batch comes as one of an array.
            session.host.until(0, "the event", |said| said.str().contains("PLAIN")).await;
            session.host.send(format!(r#"{{"jsonrpc":"2.0","id":"p",{two}}}"#)).await;
            session.sync().await;
            session.host.close().await;
            session.producer.ended().await;
            let answers: Vec<String> = session
                .producer
                .texts(mark)
                .into_iter()
                .filter(|text| text.contains(r#""id":"p""#))
                .collect();
            assert_eq!(answers.len(), 1, "{two}: {answers:?}");
        }
    }
}

#[tokio::test]
async fn an_ambiguous_element_is_answered_in_the_one_array_of_its_batch() {
    let mut world = World::started().await;
    let session = world.session().await;
    for ambiguous in [
        r#"{"jsonrpc":"2.0","id":"amb","method":"ping","method":"push/event","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":"amb","method":"push/event","params":{},"params":{"eventId":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":"amb","method":"channels/register","params":{"channels":[],"channels":[1]}}"#,
    ] {
        let (mark, asked) = (session.producer.count(), session.host.count());
        session
            .producer
            .send(format!(r#"[{ambiguous},{{"jsonrpc":"2.0","id":"plain","method":"roots/list"}}]"#))
            .await;
        session.host.until(asked, "what is left of it", |said| said.str().contains("roots/list")).await;
        session.host.send(r#"[{"jsonrpc":"2.0","id":"plain","result":{}}]"#).await;
        session.sync().await;
        let answers: Vec<Value> = session
            .producer
            .since(mark)
            .iter()
            .map(|said| said.json())
            .filter(|it| it.to_string().contains("\"amb\"") || it.to_string().contains("\"plain\""))
            .collect();
        let [Value::Array(answers)] = &answers[..] else { panic!("{ambiguous}: not one array: {answers:?}") };
        let mut ids: Vec<&str> = answers.iter().filter_map(|it| it["id"].as_str()).collect();
        ids.sort_unstable();
        assert_eq!(ids, ["amb", "plain"], "{ambiguous}");
        let refused = answers.iter().find(|it| it["id"] == "amb").expect("it is there");
        assert!(matches!(error_code(refused), Some(-32600 | -32602)), "{refused}");
    }
}

/// Everything heard is JSON, in UTF-8.
fn is_json(peer: &Peer, mark: usize) {
    for said in peer.since(mark) {
        let text = std::str::from_utf8(&said.text).unwrap_or_else(|_| panic!("no UTF-8: {}", said.str()));
        assert!(serde_json::from_str::<Value>(text).is_ok(), "no JSON: {text}");
    }
}

#[tokio::test]
async fn an_id_that_is_none_is_never_spelled_back() {
    let mut world = World::new().await.table("limits", "max_message_bytes = 100000").start().await;
    let session = world.session().await;
    let marks = (session.host.count(), session.producer.count());
    let ids: [&[u8]; 10] = [
        b"foo\xff\x01",
        b"\"a\xff\xfe\\q\"",
        b"\"\x01\"",
        b"\"\\ud83\"",
        b"01",
        b"1e",
        b"tru",
        b"{\"a\":}",
        b"\"a\"b",
        b"-",
    ];
    let fill = vec![b'A'; 150_000];
    for from in [&session.host as &Peer, &session.producer] {
        for id in ids {
            for rest in [&b"\"method\":\"m\",\"params\":\""[..], b"\"result\":\"", b"\"error\":\""] {
                let line = [b"{\"jsonrpc\":\"2.0\",\"id\":", id, b",", rest, &fill, b"\"}\n"].concat();
                from.send_bytes(&line).await;
            }
        }
    }
    session.sync().await;
    is_json(&session.host, marks.0);
    is_json(&session.producer, marks.1);
    // One that is an id is answered under it, as it was spelled.
    let mark = session.host.count();
    let line = [br#"{"jsonrpc":"2.0","id":"\u0061 b","method":"m","params":""#, &fill[..], b"\"}"].concat();
    session.host.send(line).await;
    let answer = session.host.answer(mark, r#""\u0061 b""#).await.json();
    assert_eq!(error_code(&answer), Some(-32600), "{answer}");
}

/// What is not known to be registered may be: the host is asked (contract section 5).
#[tokio::test]
async fn channels_are_unregistered_only_where_a_registration_was_answered() {
    let removed = r#"{"jsonrpc":"2.0","id":"r","method":"channels/changed","params":{"removed":["gone"]}}"#;
    let emptied =
        r#"{"jsonrpc":"2.0","id":"r","method":"channels/changed","params":{"removed":["gone"],"added":[]}}"#;
    let told = r#"{"jsonrpc":"2.0","method":"channels/changed","params":{"removed":["gone"]}}"#;
    for change in [removed, emptied, told] {
        let mut world = World::started().await;
        let host = world.host().await;
        let session = mcpl_tests::Session::introduced(host, &mut world, &json!({})).await;
        let policy =
            json!({"effectiveCapabilities": ["pushEvents", "channels.incoming"], "enabled": ["doc"]});
        session.host_asks("featureSets/update", &policy).await;
        session.producer.send(change).await;
        session.sync().await;
        let pushed = session.push(push("e1", "PUSHED").key("k").channel("chat").initial()).await;
        assert_eq!(pushed["result"]["accepted"], json!(true), "{change}: {pushed}");
        assert!(outcome(&pushed).is_some(), "{pushed}");
        let answer = session.incoming([mcpl_tests::message("m1", "SAID").key("k", "e2")]).await;
        assert_eq!(answer["result"]["results"][0]["accepted"], json!(true), "{change}: {answer}");
    }
}
