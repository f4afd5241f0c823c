//! What is not interpreted passes byte for byte, and what is keeps every byte but those the contract names
//! (contract sections 3.3, 3.4, 4.2, 8.2).

use mcpl_tests::{Said, Session, World, error_code, outcome};
use serde_json::{Value, json};

/// A push, coalesced, with spellings that a value would lose.
const ODD_PUSH: &str = concat!(
    r#"{ "jsonrpc" : "2.0" , "id":7.0,"method":"push/event","params":{"featureSet":"doc","eventId":"odd","#,
    r#""timestamp":"2026-01-01T00:00:00Z","n":[1915883588174806058,123456789012345678901234567890,1E400,-0,1.0,1e2],"#,
    r#""coalesce": {"key":"odd", "x":1} ,"zebra":1,"apple":{"t":"\u00e9\/\ud83d\ude00 cut \ud83d"},"#,
    r#""payload":{"content":[{"type":"text","text":"caf\u00e9 \udc00"}], "more":null}}}"#,
);

/// The same params as the host must get them.
const ODD_PARAMS: &str = concat!(
    r#"{"featureSet":"doc","eventId":"odd","#,
    r#""timestamp":"2026-01-01T00:00:00Z","n":[1915883588174806058,123456789012345678901234567890,1E400,-0,1.0,1e2],"#,
    r#""zebra":1,"apple":{"t":"\u00e9\/\ud83d\ude00 cut \ud83d"},"#,
    r#""payload":{"content":[{"type":"text","text":"caf\u00e9 \udc00"}], "more":null}}"#,
);

async fn muted() -> (World, Session) {
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    (world, session)
}

/// Text without the whitespace between tokens; enough for texts whose strings hold none of it in runs.
fn tight(text: &str) -> String {
    text.replace(", ", ",").replace(": ", ":").replace(" ,", ",")
}

#[tokio::test]
async fn numbers_keep_their_spelling() {
    let (_world, session) = muted().await;
    session
        .passes(&[
            r#"{"jsonrpc":"2.0","id":2,"result":{"structuredContent":{"rec":1915883588174806058,"big":123456789012345678901234567890,"d":0.1000000000000000055511151231257827,"e":1E400,"z":-0,"t":1.0,"x":1e2}}}"#,
            r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"n","params":[1.50,1E+2,5e-7,0.10]}"#,
        ])
        .await;
}

#[tokio::test]
async fn nulls_stay() {
    let (_world, session) = muted().await;
    session
        .passes(&[
            r#"{"jsonrpc":"2.0","id":3,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"no","data":null}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"x","params":null}"#,
            r#"{"jsonrpc":"2.0","id":6,"result":{"nextCursor":null}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}"#,
        ])
        .await;
}

#[tokio::test]
async fn lone_surrogates_pass() {
    let (_world, session) = muted().await;
    session
        .passes(&[
            r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"cut \ud83d"}]}}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{"t":"\udc00 alone, \udc00\ud800 reversed, \ud83d\ude00 whole"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":{"\ud800":"in a name"}}"#,
            r#"{"jsonrpc":"2.0","id":"\ud800","method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","method":"\ud800","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":6,"result":{"healthy":true}}"#,
        ])
        .await;
}

#[tokio::test]
async fn member_order_spacing_escapes_and_repeats_stay() {
    let (_world, session) = muted().await;
    session
        .passes(&[
            r#"{"jsonrpc":"2.0","result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"zebra":{},"apple":{},"mango":{}},"required":["zebra"]}}]},"id":2}"#,
            r#"{ "jsonrpc" : "2.0" , "id":2 , "result":{"a":1.50,"u":"\u00e9\/","é":"é"} }"#,
            r#"{"jsonrpc":"2.0","method":"x/y","params":{"k":1,"k":2},"unknown":[[],{}]}"#,
            r#"{"params":[],"jsonrpc":"2.0","method":"\u0078/y"}"#,
        ])
        .await;
}

#[tokio::test]
async fn unknown_members_versions_and_capabilities_stay() {
    let (_world, session) = muted().await;
    session
        .passes(&[
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2031-01-01","instructions":"do","serverInfo":{"name":"p","title":"P","icons":[{"src":"x"}]},"capabilities":{"experimental":{"acme":{}}},"_meta":{"a":1}}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","outputSchema":{},"annotations":{"x":1},"x-acme":2}]}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"structuredContent":{"a":1},"_meta":{}},"trace":"abc"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"_meta":{"progressToken":0.10}}}"#,
        ])
        .await;
}

#[tokio::test]
async fn unknown_methods_pass() {
    let (_world, session) = muted().await;
    let long = format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "m".repeat(10 * 1024));
    session
        .passes(&[
            r#"{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":3,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","method":"acme/event","params":[1,"two"]}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/lifecycle","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":""}"#,
            r#"{"jsonrpc":"2.0","method":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":"no object"}"#,
            r#"{"level":"info","msg":"an object that is no JSON-RPC"}"#,
            &long,
        ])
        .await;
    session
        .passes_to_host(&[
            r#"{"jsonrpc":"2.0","method":"channels/changed","params":{"added":[{"id":"c", "x":1.0}]}}"#,
            r#"{"jsonrpc":"2.0","id":9,"method":"push/event","params":{"featureSet":"doc","eventId":"u1","x-acme":{"b":1,"a":2},"payload":{"content":[]}}}"#,
            r#"{"jsonrpc":"2.0","method":"push/event","params":{"featureSet":"doc","eventId":"u2","coalesce":{"key":"k"}}}"#,
        ])
        .await;
}

#[tokio::test]
async fn initialize_gets_two_members_and_keeps_the_rest() {
    let mut world = World::started().await;
    let host = world.host().await;
    let head = r#"{ "jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2031-01-01","capabilities":{"roots":{},"experimental":{"acme":1.0,"mcpl":{"version":"0.5","pushEvents":true"#;
    let tail = r#"}}},"clientInfo":{"name":"hosty","version":"1"},"_meta":{"z":1,"a":1e0}}}"#;
    host.send(format!("{head}{tail}")).await;
    let producer = world.reached().await;
    let said = producer.until(0, "initialize", |_| true).await.str();
    let added = said.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
    let added = added.unwrap_or_else(|| panic!("more than the mcpl object was changed: {said}"));
    let added: Value = serde_json::from_str(&format!(r#"{{"x":0{added}}}"#)).expect("members were added");
    let expected = json!({
        "x": 0,
        "eventCoalescing": {
            "pushEvents": true, "channelsIncoming": true, "deferred": true, "channelScopedPush": true,
            "retryWindowMs": 3_600_000,
        },
        "eventAdmission": {"structuredRefusals": true, "maxContentBytes": 1_048_576},
    });
    assert_eq!(added, expected);
}

#[tokio::test]
async fn a_plain_mcp_host_gets_everything_untouched() {
    let mut world = World::started().await;
    let host = world.host().await;
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"experimental":{"acme":{}}},"clientInfo":{"name":"h","version":"1"}}}"#;
    host.send(hello).await;
    let producer = world.reached().await;
    assert_eq!(producer.until(0, "initialize", |_| true).await.str(), hello);
    host.answer(0, "1").await;
    let session = Session { host, producer };
    session.mute();
    session.passes_to_host(&[ODD_PUSH]).await;
    session
        .passes_to_producer(&[
            r#"{"jsonrpc":"2.0","id":7.0,"error":{"code":-32000,"message":"busy"}}"#,
            r#"{"jsonrpc":"2.0","id":8,"result":{"accepted":false,"reason":"duplicate"}}"#,
        ])
        .await;
}

#[tokio::test]
async fn a_held_event_keeps_every_byte_but_coalesce() {
    let mut world = World::started().await;
    let session = world.session().await;
    let mark = session.producer.count();
    session.producer.send(ODD_PUSH).await;
    let answer = session.producer.answer(mark, "7.0").await;
    assert_eq!(outcome(&answer.json()), Some("appended"), "{}", answer.str());
    session.assemble().await;
    let given = session.host.until(0, "the event", is_push).await;
    let params = given.raw("params").expect("params");
    assert_eq!(tight(&params), tight(ODD_PARAMS));
    assert!(params.contains(r#""t":"\u00e9\/\ud83d\ude00 cut \ud83d""#), "an escape was rewritten: {params}");
    assert!(
        params.ends_with(r#""text":"caf\u00e9 \udc00"}], "more":null}}"#),
        "the payload was rewritten: {params}"
    );
}

#[tokio::test]
async fn the_data_of_a_notice_is_for_its_producer_only() {
    let mut world = World::started().await;
    let session = world.session().await;
    let data = r#"{"big":12345678901234567890,"e":1E400,"s":"\u00e9\ud800","o":{"b":1.0,"a":-0}}"#;
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":"n","method":"push/event","params":{{"featureSet":"doc","eventId":"n1","timestamp":"2026-01-01T00:00:00Z","coalesce":{{"key":"k","deferred":true,"data":{data}}},"payload":{{"content":[{{"type":"text","text":"FALLBACK"}}]}}}}}}"#
    );
    let mark = session.producer.count();
    session.producer.send(text).await;
    session.producer.answer(mark, "\"n\"").await;
    session.assemble().await;
    let given = session.host.until(0, "the event", is_push).await.str();
    assert!(given.contains("RENDERED") || given.contains("FALLBACK"), "{given}");
    assert!(!given.contains("12345678901234567890"), "data reached the host: {given}");
    for render in
        session.producer.since(mark).iter().filter(|said| said.method().as_deref() == Some("push/render"))
    {
        assert!(render.str().contains(data), "data came back with other bytes: {}", render.str());
    }
}

#[tokio::test]
async fn an_unreadable_key_is_malformed_and_the_session_goes_on() {
    let mut world = World::started().await;
    let session = world.session().await;
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"push/event","params":{"featureSet":"doc","eventId":"s","timestamp":"t","coalesce":{"key":"\ud800"},"payload":{"content":[]}}}"#;
    let answer = session.producer.ask("1", text).await;
    assert_eq!(error_code(&answer), Some(-32602), "{answer}");
    session.sync().await;
}

#[tokio::test]
async fn a_classified_refusal_keeps_the_hosts_bytes() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    let mark = session.producer.count();
    session.passes_to_host(&[&mcpl_push("5")]).await;
    let head = r#"{ "jsonrpc" : "2.0" , "trace":"abc","id":5,"result":{"reason":"no \u00e9\/","accepted":false,"n":1.50"#;
    session.host.send(format!("{head}}}}}")).await;
    let answer = session.producer.answer(mark, "5").await;
    let added = answer.str();
    let added = added.strip_prefix(head).unwrap_or_else(|| panic!("the host's bytes changed: {added}"));
    assert_eq!(added, r#","refusal":"not_permitted","retryable":false}}"#);
}

#[tokio::test]
async fn null_data_of_a_translated_error_is_kept() {
    let mut world = World::started().await;
    let session = world.session().await;
    session.mute();
    let mark = session.producer.count();
    session.passes_to_host(&[&mcpl_push("4")]).await;
    session.host.send(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"no","data":null}}"#).await;
    let answer = session.producer.answer(mark, "4").await.json();
    assert_eq!(error_code(&answer), Some(-32030), "{answer}");
    let expected = json!({"code": -32000, "message": "no", "data": null});
    assert_eq!(answer["error"]["data"]["host"], expected, "{answer}");
    assert_eq!(answer["error"]["message"], json!("no"));
}

fn mcpl_push(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"push/event","params":{{"featureSet":"doc","eventId":"e{id}","payload":{{"content":[]}}}}}}"#
    )
}

fn is_push(said: &Said) -> bool {
    said.method().as_deref() == Some("push/event")
}
