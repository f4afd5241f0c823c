//! No input and no slow peer makes memory grow past its bounds, or keeps what is behind it waiting
//! (contract section 3.6).

use std::time::Duration;

use mcpl_tests::{Peer, Reply, Session, World, message, peak_bytes, push, resident_bytes};
use serde_json::json;

const MIB: u64 = 1 << 20;
const STALLED: Duration = Duration::from_secs(2);

async fn session() -> (World, Session) {
    let mut world = World::started().await;
    let session = world.session().await;
    (world, session)
}

/// `[0,0,…]` of so many bytes.
fn zeros(bytes: usize) -> String {
    format!("[0{}]", ",0".repeat(bytes / 2))
}

/// A line of many small parts costs a small multiple of itself, and a round trip behind it comes back.
async fn costs_little(line: &str, from_host: bool) {
    costs_little_and(line, from_host, true).await;
}

/// The same; `passes`: it comes out at the other side as it is, else its sender is refused.
async fn costs_little_and(line: &str, from_host: bool, passes: bool) {
    let (mut world, session) = session().await;
    let pid = world.program().pid();
    let before = peak_bytes(pid);
    let (from, to) = if from_host {
        (&session.host as &Peer, &session.producer as &Peer)
    } else {
        (&session.producer as &Peer, &session.host as &Peer)
    };
    // What these fakes make of the answers to it is their own affair.
    session.mute();
    let (mark, back) = (to.count(), from.count());
    from.send(line).await;
    if passes {
        let said = to.until(mark, "what was sent", |said| said.text.len() > 1000).await;
        assert!(said.text == line.as_bytes(), "passed on with other bytes");
    } else {
        let refused = |text: &[u8]| String::from_utf8_lossy(text).contains("\"refusal\":\"invalid\"");
        from.until(back, "a refusal", |said| refused(&said.text)).await;
    }
    session.host.script.mute(false);
    session.producer.script.mute(false);
    session.sync().await;
    let after = peak_bytes(pid);
    assert!(after < before + 64 * MIB, "{} bytes took {} bytes of memory", line.len(), after - before);
}

fn messages(array: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"z","method":"channels/incoming","params":{{"messages":{array}}}}}"#)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_of_millions_of_elements_passes_at_its_own_size_from_the_host() {
    costs_little(&zeros(8 << 20), true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_of_millions_of_elements_passes_at_its_own_size_from_the_producer() {
    costs_little(&zeros(8 << 20), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_of_millions_of_messages_is_refused_at_its_own_size() {
    costs_little_and(&messages(&zeros(8 << 20)), false, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_elements_as_are_looked_at_fit_in_the_same_memory() {
    costs_little(&zeros(120_000), true).await;
    costs_little(&zeros(120_000), false).await;
    costs_little(&messages(&zeros(120_000)), false).await;
    let event = push("plain", "PLAIN").params();
    let event = format!(r#"{{"jsonrpc":"2.0","id":"p","method":"push/event","params":{event}}}"#);
    costs_little(&format!("[{event},{}", &zeros(120_000)[1..]), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_millions_of_results_costs_little_and_is_one_answer() {
    let (mut world, session) = session().await;
    session.host.script.always(Reply::Silence);
    let pid = world.program().pid();
    let before = peak_bytes(pid);
    let plain = message("plain", "PLAIN").value();
    let held = message("held", "HELD").key("k", "e").value();
    for (id, messages) in [("\"one\"", json!([plain])), ("\"two\"", json!([plain, held]))] {
        let (mark, asked) = (session.producer.count(), session.host.count());
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"channels/incoming","params":{{"messages":{messages}}}}}"#
        );
        session.producer.send(request).await;
        session.host.until(asked, "the message", |said| said.str().contains("PLAIN")).await;
        let results = zeros(8 << 20);
        session.host.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"results":{results}}}}}"#)).await;
        session.host_asks("ping", &json!({})).await;
        session.producer.answer(mark, id).await;
    }
    let after = peak_bytes(pid);
    assert!(after < before + 64 * MIB, "the answers took {} bytes of memory", after - before);
}

/// One side asks for refusals of ours and reads none of them: it is stopped, memory stays, and once it reads each
/// of its requests has its answer.
async fn refused_unread(from_host: bool, request: &str, answered: &str, tables: Option<(&str, &str)>) {
    const MOST: usize = 200 << 20;
    let mut world = World::new().await;
    if let Some((name, lines)) = tables {
        world = world.table(name, lines);
    }
    let mut world = world.start().await;
    let session = world.session().await;
    let peer: &Peer = if from_host { &session.host } else { &session.producer };
    let pid = world.program().pid();
    let before = resident_bytes(pid);
    let mark = peer.count();
    peer.pause();
    let line = format!("{request}\n");
    let several = (256 << 10) / line.len() + 1;
    let part = line.repeat(several);
    let mut taken = 0;
    while taken * part.len() < MOST && peer.offer_bytes(part.as_bytes(), STALLED).await {
        taken += 1;
    }
    assert!(taken * part.len() < MOST, "refusals that nobody reads were written without an end");
    let after = resident_bytes(pid);
    assert!(after < before + 48 * MIB, "memory grew from {before} to {after} bytes");
    peer.resume();
    let mut left = taken * several;
    peer.until(mark, "an answer to each request", |said| {
        left -= usize::from(said.answers(answered));
        left == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_reads_none_of_its_refusals_is_not_read_either() {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"featureSets/update","params":{"enabled":["a"],"enabled":["b"]}}"#;
    refused_unread(true, request, "1", None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_that_reads_none_of_its_refusals_is_not_read_either() {
    let event = push("e", "TEXT").key("").params();
    let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"push/event","params":{event}}}"#);
    refused_unread(false, &request, "1", None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_long_a_request_again_and_again_costs_no_memory_when_the_answers_are_not_read() {
    let fill = "x".repeat(2000);
    let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":["{fill}"]}}"#);
    for from_host in [true, false] {
        refused_unread(from_host, &request, "1", Some(("limits", "max_message_bytes = 1500"))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_of_retries_is_bounded_in_bytes_whatever_the_events_are_called() {
    let (mut world, session) = session().await;
    let pid = world.program().pid();
    let long = "E".repeat(1_000_000);
    session.push(push(&format!("first{long}"), "x").key("k")).await;
    let before = resident_bytes(pid);
    for n in 0..150 {
        // Refused for its size, or taken: never kept whole for an hour.
        session.push(push(&format!("{n:06}{long}"), "x").key("k")).await;
    }
    let after = resident_bytes(pid);
    assert!(after < before + 80 * MIB, "memory grew from {before} to {after} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_of_retries_is_bounded_in_bytes_whatever_the_host_answers() {
    let mut world = World::started().await;
    let host = world.host().await;
    // A host that tells no policy: every event is written through, and the host's own answer is given back.
    let session = Session::introduced(host, &mut world, &json!({})).await;
    session.host.script.always(Reply::Result(json!({"accepted": true, "blob": "B".repeat(1_000_000)})));
    let pid = world.program().pid();
    session.push(push("warm", "x").key("k").with("featureSet", json!("doc"))).await;
    let before = resident_bytes(pid);
    for n in 0..150 {
        let answer = session.push(push(&format!("t{n}"), "x").key(&format!("k{n}"))).await;
        assert_eq!(answer["result"]["accepted"], json!(true));
        // What was learnt by that is forgotten with a change of the grant.
        let change = format!(
            r#"{{"jsonrpc":"2.0","method":"featureSets/update","params":{{"disabled":["nope{n}"]}}}}"#
        );
        session.host.send(change).await;
        session.host_asks("ping", &json!({})).await;
    }
    let after = resident_bytes(pid);
    assert!(after < before + 80 * MIB, "memory grew from {before} to {after} bytes");
}
