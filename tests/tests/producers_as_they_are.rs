//! Producers as they are, in front of the host of March 2026: no `coalesce`, one `eventId` for every edit, nothing
//! sent twice (contract 13). Each test plays what the program itself sends.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

use mcpl_tests::{AgentFramework, Host, Mind, Said, Say, Session, World, error_code, outcome};
use serde_json::{Value, json};

const CHANNEL: &str = "discord:77:501";

async fn with_mind(keys: &str, host: &str, mind: impl Mind) -> (World, Session) {
    let host = format!("profile = \"agent-framework\"\n{host}");
    let mut world = World::new().await.keys(keys).table("host", &host).start().await;
    let session = opened(&mut world, mind).await;
    (world, session)
}

/// A session as that host opens one: its policy is a notification, its channels are registered.
async fn opened(world: &mut World, mind: impl Mind) -> Session {
    let host = Host::with_mind(world.dial().await, mind);
    let session = Session::introduced(host, world, &json!({"version": "0.4"})).await;
    session
        .host
        .send(
            r#"{"jsonrpc":"2.0","method":"featureSets/update","params":{"enabled":["chat"],"disabled":[]}}"#,
        )
        .await;
    session.host_asks("tools/list", &json!({})).await;
    let channel =
        json!({"id": CHANNEL, "type": "discord", "label": "#general", "direction": "bidirectional"});
    session.producer_asks("channels/register", &json!({"channels": [channel]})).await;
    session
}

fn chat_host() -> AgentFramework {
    AgentFramework::new(&["chat"], &["chat"])
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn push(event_id: &str, said: &str, tags: &[&str], origin: &Value) -> Value {
    let mut params = json!({"featureSet": "chat", "eventId": event_id, "timestamp": "2026-11-02T10:00:00.000Z",
        "origin": origin, "payload": {"content": text(said)}});
    if !tags.is_empty() {
        params["tags"] = json!(tags);
    }
    params
}

/// discord-mcpl 0.1.4: a message of a channel that is open.
fn open_message(id: &str, said: &str) -> Value {
    json!({"messages": [{"channelId": CHANNEL, "messageId": id, "author": {"id": "u1", "name": "ann"},
        "timestamp": "2026-11-02T10:00:00.000Z", "content": text(said), "tags": ["chat:ambient", "chat:from-human"],
        "metadata": {"guildId": "77", "authorName": "ann", "isBot": false}}]})
}

fn origin() -> Value {
    json!({"source": "discord", "guildId": "77", "channelId": "501", "mcplChannelId": CHANNEL})
}

struct Discord<'s>(&'s Session);

impl Discord<'_> {
    async fn says(&self, params: &Value) -> Value {
        self.0.producer_asks("push/event", params).await
    }

    async fn open(&self, id: &str, said: &str) -> Value {
        let answer = self.0.producer_asks("channels/incoming", &open_message(id, said)).await;
        answer["result"]["results"][0].clone()
    }

    async fn closed(&self, id: &str, said: &str) -> Value {
        self.says(&push(&format!("discord_msg_{id}"), said, &["chat:ambient", "chat:from-human"], &origin()))
            .await
    }

    async fn edit(&self, id: &str, said: &str) -> Value {
        let origin = json!({"source": "discord", "channelId": "501"});
        self.says(&push(&format!("discord_edit_{id}"), said, &[], &origin)).await
    }

    async fn delete(&self, id: &str) -> Value {
        let origin = json!({"source": "discord", "channelId": "501"});
        self.says(&push(&format!("discord_delete_{id}"), &format!("{id} deleted"), &[], &origin)).await
    }

    /// What the host was given, once everything held has gone.
    async fn given(&self) -> Vec<String> {
        self.0.assemble_unanswered().await;
        self.0.producer_asks("channels/register", &json!({"channels": []})).await;
        self.0.host.given()
    }
}

#[tokio::test]
async fn discord_edits_of_one_message_become_one_and_deletions_leave_as_much_as_was_read() {
    let (_world, session) = with_mind("preset = \"discord-mcpl\"", "", chat_host()).await;
    let discord = Discord(&session);
    // Nothing is known of what the host takes: the first goes through, and it says.
    assert_eq!(discord.open("1", "hello").await["accepted"], json!(true));
    assert_eq!(session.host.given(), ["hello"]);

    discord.open("900", "teh").await;
    for said in ["the", "the q", "the quick"] {
        let answer = discord.edit("900", said).await;
        assert_eq!(outcome(&answer), Some("replaced"), "{answer}");
    }
    discord.open("901", "regretted").await;
    discord.edit("901", "more so").await;
    assert_eq!(outcome(&discord.delete("901").await), Some("retracted"));
    assert_eq!(discord.given().await, ["hello", "the quick"]);
    let told =
        session.host.since(0).into_iter().rfind(|said| said.str().contains("the quick")).unwrap().json();
    assert_eq!(told["method"], json!("channels/incoming"), "as that message: {told}");
    let message = &told["params"]["messages"][0];
    assert_eq!((&message["messageId"], &message["metadata"]["guildId"]), (&json!("900"), &json!("77")));

    // It was read: the host, which drops an eventId that it has had, is given each edit all the same.
    for said in ["the quick b", "the quick brown", "the quick brown fox"] {
        let answer = discord.edit("900", said).await;
        assert_eq!(answer["result"]["accepted"], json!(true), "{answer}");
        assert_eq!(discord.given().await.last().map(String::as_str), Some(said));
    }
    assert_eq!(outcome(&discord.delete("900").await), Some("noted"));
    assert_eq!(discord.given().await.last().map(String::as_str), Some("900 deleted"));
    assert_eq!(session.host.given().len(), 6);
}

#[tokio::test]
async fn discord_messages_of_a_closed_channel_fold_as_those_of_an_open_one() {
    let (_world, session) = with_mind("preset = \"discord-mcpl\"", "", chat_host()).await;
    let discord = Discord(&session);
    discord.closed("1", "hello").await;
    let created = discord.closed("900", "teh").await;
    assert_eq!(outcome(&created), Some("first"), "{created}");
    discord.edit("900", "the").await;
    discord.closed("901", "regretted").await;
    discord.delete("901").await;
    // A mention is told at once, and what its channel holds before it.
    let mention = push("discord_msg_902", "@bot hi", &["chat:mention", "chat:from-human"], &origin());
    discord.says(&mention).await;
    session.host.is_given("@bot hi").await;
    assert_eq!(session.host.given(), ["hello", "the", "@bot hi"]);
    // Reactions and what was missed are no subjects: each passes, and is answered by the host.
    let reaction = push("discord_reaction_add_900_x_u1_17", "ann reacted", &["chat:reaction"], &origin());
    let answer = discord.says(&reaction).await;
    assert!(answer["result"]["inferenceId"].is_string() && outcome(&answer).is_none(), "{answer}");
}

#[tokio::test]
async fn the_successor_of_discord_mcpl_speaks_for_itself_and_its_other_ids_are_known() {
    let (_world, session) = with_mind("preset = \"discord-mcpl\"", "", chat_host()).await;
    let discord = Discord(&session);
    discord.closed("1", "hello").await;
    let coalesced = |mut params: Value, coalesce: Value| {
        params["coalesce"] = coalesce;
        params
    };
    let edit_id = "discord_edit_900_2026-11-02T10:00:00.000Z_2";
    let own = |id: &str, said: &str, coalesce| coalesced(push(id, said, &[], &origin()), coalesce);
    discord.says(&own("discord_msg_900", "teh", json!({"key": "message:900", "initial": true}))).await;
    let edit = discord.says(&own(edit_id, "the", json!({"key": "message:900"}))).await;
    assert_eq!(outcome(&edit), Some("replaced"), "{edit}");
    let delete = own(
        "discord_delete_900_2026-11-02T10:00:00.000Z_3",
        "gone",
        json!({"key": "message:900", "retract": true}),
    );
    assert_eq!(outcome(&discord.says(&delete).await), Some("retracted"));
    // Without `coalesce` its ids mean the same.
    discord.closed("901", "teh").await;
    let edit = push("discord_edit_901_2026-11-02T10:00:00.000Z_2", "the", &["chat:edited"], &origin());
    assert_eq!(outcome(&discord.says(&edit).await), Some("replaced"));
    let delete = push("discord_delete_901_2026-11-02T10:00:00.000Z_3", "gone", &["chat:deleted"], &origin());
    assert_eq!(outcome(&discord.says(&delete).await), Some("retracted"));
    assert_eq!(discord.given().await, ["hello"]);
}

#[tokio::test]
async fn portal_messages_are_withdrawn_on_whichever_lane_they_came() {
    let (_world, session) = with_mind("preset = \"portal-mcpl\"", "", chat_host()).await;
    let discord = Discord(&session);
    let portal =
        json!({"source": "portal", "channelId": "501", "mcplChannelId": CHANNEL, "messageId": "m-1"});
    discord.open("m-0", "hello").await;
    discord.says(&push("portal_msg_m-1_1", "one", &["chat:ambient"], &portal)).await;
    let unread = push("portal_msg_m_2_2", "two", &["chat:ambient"], &portal);
    assert_eq!(outcome(&discord.says(&unread).await), Some("first"));
    discord.open("m-3", "three").await;
    for (id, expected) in [("m-1", "noted"), ("m_2", "retracted"), ("m-3", "retracted"), ("m-0", "noted")] {
        let answer = discord
            .says(&push(&format!("portal_del_{id}"), &format!("{id} gone"), &["chat:deleted"], &portal))
            .await;
        assert_eq!(outcome(&answer), Some(expected), "{id}: {answer}");
    }
    let caught_up = push("portal_catchup_m-9_4", "missed", &["chat:addressed", "chat:mention"], &portal);
    assert_eq!(outcome(&discord.says(&caught_up).await), None, "what it catches up on passes");
    assert_eq!(discord.given().await, ["hello", "one", "m-1 gone", "m-0 gone", "missed"]);
}

/// The host of March 2026 with its own reading of what a producer declares: it takes the names of an object, and
/// of an array the indices.
struct ByIndex(AgentFramework);

impl Mind for ByIndex {
    fn hear(&mut self, said: &Said) -> Vec<Say> {
        if said.answers("\"init\"") {
            let declared =
                said.json()["result"]["capabilities"]["experimental"]["mcpl"]["featureSets"].clone();
            let named = |name: &'static str| declared.get(name).is_some();
            let sets: Vec<&'static str> = ["heartbeat"].into_iter().filter(|name| named(name)).collect();
            self.0 = AgentFramework::new(&sets, &sets);
        }
        self.0.hear(said)
    }
}

/// What heartbeat-mcpl 0.1.3 says of itself.
fn heartbeat_sets() -> Value {
    json!([{"name": "heartbeat", "description": "Periodic wake-ups", "uses": ["tools"], "rollback": false}])
}

fn heartbeat(id: &str, reason: &str, said: &str) -> Value {
    json!({"featureSet": "heartbeat", "eventId": id, "timestamp": "2026-11-02T10:00:00.000Z",
        "origin": {"source": "heartbeat", "reason": reason}, "payload": {"content": text(said)}})
}

fn reminder(id: &str, of: &str, said: &str) -> Value {
    let mut params = heartbeat(id, "", said);
    params["origin"] = json!({"source": "reminder", "reminderId": of, "recurring": true});
    params
}

async fn heart(shims: &str) -> (World, Session) {
    let host = format!("profile = \"agent-framework\"\n{shims}");
    let mut world = World::new().await.keys("preset = \"heartbeat-mcpl\"").table("host", &host).start().await;
    world.producer.feature_sets(heartbeat_sets());
    let host = Host::with_mind(world.dial().await, ByIndex(AgentFramework::new(&[], &[])));
    let session = Session::introduced(host, &mut world, &json!({"version": "0.4"})).await;
    (world, session)
}

#[tokio::test]
async fn heartbeats_are_accepted_by_a_host_that_takes_an_array_for_an_object() {
    let (_world, session) = heart("").await;
    let beat = heartbeat("heartbeat_1793613600000_k3x9qz", "schedule", "beat");
    let answer = session.producer_asks("push/event", &beat).await;
    assert_eq!(
        answer["result"]["reason"],
        json!("Unknown feature set: heartbeat"),
        "as it is without the shim"
    );

    let (_world, session) = heart("shims = [\"feature-sets-object\"]").await;
    let asked = &session;
    let say = |params: Value| async move { asked.producer_asks("push/event", &params).await };
    let mut accepted = 0;
    for (n, (reason, said)) in
        [("schedule", "one"), ("schedule", "two"), ("manual", "asked"), ("schedule", "three")]
            .into_iter()
            .enumerate()
    {
        let answer = say(heartbeat(&format!("heartbeat_17936136{n:05}_k3x9qz"), reason, said)).await;
        accepted += usize::from(answer["result"]["accepted"] == json!(true));
    }
    for (n, (of, said)) in [("r1", "tea"), ("r2", "call"), ("r1", "tea again")].into_iter().enumerate() {
        let answer = say(reminder(&format!("reminder_17936136{n:05}_0aab1z"), of, said)).await;
        accepted += usize::from(answer["result"]["accepted"] == json!(true));
    }
    assert_eq!(accepted, 7, "every one of them");
    // The one that was written through was read; of those that were not, the newest of its kind is told.
    session.assemble_unanswered().await;
    session.host.is_given("tea again").await;
    let mut given = session.host.given();
    given.sort();
    assert_eq!(given, ["asked", "call", "one", "tea again", "three"]);
}

#[tokio::test]
async fn a_policy_that_the_producer_does_not_know_is_answered_for_it() {
    struct Unknowing;
    impl Mind for Unknowing {
        fn hear(&mut self, said: &Said) -> Vec<Say> {
            let (Some(id), Some(method)) = (said.raw("id"), said.method()) else { return Vec::new() };
            let outcome = match method.as_str() {
                "initialize" => r#""result":{"protocolVersion":"2024-11-05","capabilities":{}}"#.to_owned(),
                _ => format!(r#""error":{{"code":-32601,"message":"Method not found: {method}"}}"#),
            };
            vec![Say::Line(format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#))]
        }
    }
    for (shims, error) in [("", Some(-32601)), ("shims = [\"policy-receipt\"]", None)] {
        let mut world = World::new().await.table("host", shims).start().await;
        let host = world.host().await;
        let params = mcpl_tests::initialize_params(&json!({}));
        host.send(format!(r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{params}}}"#))
            .await;
        let (read, write) = world.reached_bare().await.into_split();
        let _producer = mcpl_tests::Peer::new("producer", read, write, Unknowing);
        host.answer(0, "\"init\"").await;
        let ask = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{}}}}"#);
        let answer = host.ask("7", &ask("featureSets/update")).await;
        assert_eq!(error_code(&answer), error, "{answer}");
        assert_eq!(answer["result"]["accepted"] == json!(true), error.is_none(), "{answer}");
        let answer = host.ask("7", &ask("ping")).await;
        assert_eq!(error_code(&answer), Some(-32601), "nothing else is: {answer}");
    }
}

#[tokio::test]
async fn what_is_held_by_a_rule_outlives_a_kill_and_the_hosts_memory_is_not_in_its_way() {
    let (mut world, session) = with_mind("preset = \"discord-mcpl\"", "", chat_host()).await;
    let discord = Discord(&session);
    discord.open("1", "hello").await;
    discord.edit("1", "hello!").await;
    discord.open("900", "teh").await;
    discord.edit("900", "the").await;
    drop(session);
    world.restart().await;
    // Another host, with a memory of its own.
    let session = opened(&mut world, chat_host()).await;
    let discord = Discord(&session);
    assert_eq!(outcome(&discord.edit("900", "the end").await), Some("replaced"));
    let retried = discord.edit("1", "hello!").await;
    assert_eq!(retried["result"]["accepted"], json!(true), "{retried}");
    // Unknown once more: what is held goes when something of its channel does.
    discord.open("902", "more").await;
    session.host.is_given("more").await;
    let given = session.host.given();
    assert!(!given.contains(&"teh".to_owned()) && !given.contains(&"hello!".to_owned()), "{given:?}");
}

#[tokio::test]
async fn a_producer_is_told_what_became_a_dead_letter() {
    let keys = "undelivered = true\npreset = \"discord-mcpl\"";
    let mut world = World::new().await.keys(keys).start().await;
    let session = world.session().await;
    let edit = |said: &str| {
        let mut params = push("discord_edit_900", said, &[], &origin());
        params["featureSet"] = json!("doc");
        params
    };
    for (said, reply) in [("one", mcpl_tests::Reply::Accept), ("two", mcpl_tests::Reply::Refuse("no thanks"))]
    {
        session.host.script.then(reply);
        let answer = session.producer_asks("push/event", &edit(said)).await;
        assert_eq!(answer["result"]["accepted"], json!(true), "{answer}");
        session.assemble().await;
    }
    let told = session
        .producer
        .until(0, "word of it", |said| said.method().as_deref() == Some("mcpl-sidecar/undelivered"))
        .await;
    assert_eq!(
        told.json(),
        json!({"jsonrpc": "2.0", "method": "mcpl-sidecar/undelivered",
            "params": {"eventId": "discord_edit_900", "refusal": "not_permitted", "reason": "no thanks"}})
    );
    let dead = world.listed(&["--state", "dead-letter"]).await;
    assert_eq!(dead.len(), 1, "and the operator sees it");
}

#[tokio::test]
async fn check_prints_the_rules_of_a_preset_after_the_users_own() {
    let keys = "preset = \"portal-mcpl\"\n[[producer.subject]]\nevent_id = 'mine'\nkey = \"mine\"";
    let world = World::new().await.keys(keys).start().await;
    let said = world.output(&["check", "--config", "sidecar.toml"]).await;
    let printed = String::from_utf8(said.stdout).unwrap();
    assert!(said.status.success(), "{printed}");
    let places: Vec<usize> = ["'mine'", "\"mine\"", "portal_msg_", "portal_del_"]
        .into_iter()
        .filter_map(|what| printed.find(what))
        .collect();
    assert!(places.len() >= 3 && places.is_sorted(), "{printed}");
}
