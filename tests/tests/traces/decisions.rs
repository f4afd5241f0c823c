//! Each decision is one line of the log at `debug`: which producer, which event, what and why (contract 10).

use mcpl_tests::{Render, Reply, Session, World, message, outcome, push};
use serde_json::{Value, json};

use super::collector::Collector;
use super::{SpanKind, endpoint, hex, is, meta, trace_id, with_parent};

async fn logged(world: World, collector: &Collector) -> World {
    let top = format!("{}\nlog_format = \"json\"", endpoint(collector));
    let front = ["env", "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_TRACES_SAMPLER=parentbased_always_off"];
    world.top(&top).behind(front).start().await
}

/// Every line, which is one JSON object.
fn lines(world: &mut World) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
    world.program().stderr().lines().map(read).collect()
}

/// What is said of an event, in that order: the message, and a word that says why.
fn said(lines: &[Value], event_id: &str) -> Vec<String> {
    let of = lines.iter().filter(|line| line["fields"]["event_id"] == json!(event_id));
    of.map(|line| {
        let fields = &line["fields"];
        assert_eq!(fields["producer"], json!("main"), "{line}");
        let text =
            |name: &str| fields[name].as_str().map(|word| format!(" {name}={word}")).unwrap_or_default();
        let words: String =
            ["outcome", "prior", "end", "refusal", "why", "by", "word"].into_iter().map(text).collect();
        format!("{}{words}", fields["message"].as_str().expect("a message"))
    })
    .collect()
}

fn is_outcome(answer: &Value, what: &str) {
    assert_eq!(outcome(answer), Some(what), "{answer}");
}

async fn until_said(world: &mut World, what: &str) {
    world.says(what, 1).await;
}

#[tokio::test]
async fn each_decision_about_an_event_is_one_line() {
    let collector = Collector::listening(false).await;
    let mut world = logged(World::new().await, &collector).await;
    let session = world.session().await;
    is_outcome(&session.push(push("a1", "A1").key("a").initial()).await, "first");
    is_outcome(&session.push(with_parent(push("a2", "A2").key("a"), 0x21, 1)).await, "replaced");
    is_outcome(&session.push(push("a2", "A2").key("a").with("_meta", meta(0x21, 1))).await, "replaced");
    session.push(push("b1", "B1").key("b").initial()).await;
    session.push(push("b2", "").key("b").retract()).await;
    session.push(push("u", "U")).await;
    session.push(push("bad", "X").coalesce("key", json!(""))).await;
    session.host.script.then(Reply::Error(-32031, "too large"));
    session.push(push("big", "Y")).await;
    let long = "é".repeat(300);
    session.push(push(&long, "L").key("long").initial()).await;
    session.producer.script.render(Render::Text("RENDERED"));
    session.push(push("n", "FALLBACK").key("n").initial().deferred()).await;
    session.incoming([message("m", "M").key("m", "m")]).await;
    session.assemble().await;
    session.host.is_given("RENDERED").await;
    session.host.is_given("M").await;
    session.push(push("dead", "DEAD").key("dead").initial()).await;
    session.host.script.then(Reply::Error(-32602, "never"));
    session.assemble().await;
    session.push(push("later", "LATER").key("later").initial()).await;
    session.host.script.then(Reply::Error(-32030, "not now"));
    session.assemble().await;
    let mut given = 0;
    let twice = session.host.until(0, "LATER twice", |said| {
        given += usize::from(said.str().contains("LATER"));
        given == 2
    });
    twice.await;
    session.sync().await;
    let dead = world.listed(&[]).await;
    let id = dead[0]["id"].to_string();
    let dropped = world
        .output(&["journal", "resolve", "--config", "sidecar.toml", id.trim_matches('"'), "--drop"])
        .await;
    assert!(dropped.status.success(), "{}", String::from_utf8_lossy(&dropped.stderr));
    until_said(&mut world, "an operator settled an occurrence").await;
    let server = collector.span("in", |span| is(span, SpanKind::Server, "push/event", 0x21)).await;

    let lines = lines(&mut world);
    let accepted = |how: &str| format!("an occurrence is accepted {how} by=sidecar");
    let gone = ["an occurrence is released why=inference", "an occurrence is handed to the host"];
    let delivered = "an occurrence ended end=delivered";
    let all = |first: String, more: &[&str]| {
        std::iter::once(first).chain(more.iter().map(|line| (*line).to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(said(&lines, "a1"), all(accepted("outcome=first"), &["an occurrence ended end=replaced"]));
    let again = "an event came again: it is answered as it was";
    let a2 = [again, gone[0], gone[1], delivered];
    assert_eq!(said(&lines, "a2"), all(accepted("outcome=replaced prior=a1"), &a2));
    assert_eq!(said(&lines, "b1"), all(accepted("outcome=first"), &["an occurrence ended end=withdrawn"]));
    assert_eq!(said(&lines, "b2"), [accepted("outcome=retracted prior=b1")]);
    assert_eq!(said(&lines, "u"), ["an event passes"]);
    assert_eq!(said(&lines, "bad"), ["an event is refused refusal=invalid why=malformed by=sidecar"]);
    assert_eq!(
        said(&lines, "big"),
        ["an event passes", "an event that passed is refused refusal=too_large by=host"]
    );
    assert_eq!(
        said(&lines, &"é".repeat(128)),
        all(accepted("outcome=first"), &[gone[0], gone[1], delivered])
    );
    let rendered = [gone[0], "the producer is asked to render", gone[1], delivered];
    assert_eq!(said(&lines, "n"), all(accepted("outcome=first"), &rendered));
    assert_eq!(said(&lines, "m"), all(accepted("outcome=appended"), &[gone[0], gone[1], delivered]));
    let dead = "the host refused an accepted occurrence for good: dead letter refusal=invalid";
    let settled = "an operator settled an occurrence word=drop";
    assert_eq!(said(&lines, "dead"), all(accepted("outcome=first"), &[gone[0], gone[1], dead, settled]));
    let retried = "the host cannot take an occurrence now; it is tried again";
    let later = said(&lines, "later");
    let wanted = all(accepted("outcome=first"), &[gone[0], gone[1], retried]);
    assert_eq!(later[..4], wanted);
    assert_eq!(later[later.len() - 2..], [gone[1], delivered]);

    let of_trace = |line: &&Value| line.to_string().contains(&trace_id(0x21));
    let told: Vec<&str> =
        lines.iter().filter(of_trace).filter_map(|line| line["fields"]["message"].as_str()).collect();
    for message in ["an occurrence is accepted", again, gone[1], "an occurrence ended"] {
        assert!(told.contains(&message), "{message}: {told:?}");
    }
    let first = lines.iter().find(of_trace).expect("a line");
    assert_eq!(first["span"]["span_id"], json!(hex(&server.span_id)), "{first}");
}

async fn is_refused(session: &Session, id: &str) {
    let answer = session.push(push(id, id).key(id).initial()).await;
    assert_eq!(answer["result"]["refusal"], json!("unavailable"), "{answer}");
}

#[tokio::test]
async fn limits_say_what_they_do_to_which_event() {
    let collector = Collector::listening(false).await;
    let world = World::new()
        .await
        .table("coalesce", "quiet_ms = 600000\nmax_hold_ms = 1")
        .table("limits", "rate_per_s = 0.000001\nburst = 2\nforward_rate_per_s = 0.5");
    let mut world = logged(world, &collector).await;
    let session = world.session().await;
    session.push(push("first", "F").key("f").initial()).await;
    session.push(push("paced", "P").key("p").initial()).await;
    is_refused(&session, "over").await;
    session.host.is_given("F").await;
    until_said(&mut world, "an occurrence is kept back").await;
    let lines = lines(&mut world);
    assert_eq!(said(&lines, "over"), ["an event is refused refusal=unavailable why=rate by=sidecar"]);
    let paced = said(&lines, "paced");
    assert_eq!(paced[1..], ["an occurrence is released why=time", "an occurrence is kept back why=pace"]);
}

#[tokio::test]
async fn what_is_stored_or_may_not_go_or_expires_says_so() {
    let collector = Collector::listening(false).await;
    let world = World::new().await.table("forward", "uncoalesced = \"store\"");
    let mut world = logged(world, &collector).await;
    let session = world.session().await;
    session.push(push("stored", "S")).await;
    session.host.is_given("S").await;
    session.push(push("stuck", "K").key("k").initial()).await;
    let gone = json!({"effectiveCapabilities": ["tools"], "enabled": []});
    session.host_asks("featureSets/update", &gone).await;
    session.assemble().await;
    session.push(push("none", "N").key("n").initial()).await;
    until_said(&mut world, "an occurrence is kept back").await;
    let lines = lines(&mut world);
    assert_eq!(said(&lines, "stored")[0], "an event is stored");
    let stuck = said(&lines, "stuck");
    assert_eq!(
        stuck[1..],
        ["an occurrence is released why=inference", "an occurrence is kept back why=scope"]
    );
    assert_eq!(said(&lines, "none"), ["an event is refused refusal=not_permitted why=authority by=sidecar"]);
}
