//! What reaches the disk before what leaves: the program's own system calls, in their order (contract 9.1, 9.3).
//!
//! As far as a machine that keeps its power can show it: no byte that rests on a record leaves before the call that
//! puts the record on disk has come back.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A panic is how a test reports.

mod trace;

use std::path::Path;

use mcpl_tests::{PATIENCE, World, not_run, push};
use rustix::process::Signal;
use serde_json::json;
use tokio::time::{Duration, Instant, sleep};

use trace::Trace;

/// Events a run, the first ones with one outstanding.
const ALONE: usize = 200;
const TOGETHER: usize = 640;
const OUTSTANDING: usize = 64;

/// Every third is released at once: it is accepted and handed over by one commit.
fn is_urgent(n: usize) -> bool {
    n.is_multiple_of(3)
}

fn request(n: usize) -> String {
    let event = push(&trace::event(n), "TEXT").key(&format!("k{n}")).initial();
    let event = if is_urgent(n) { event.with("tags", json!(["chat:addressed"])) } else { event };
    let (id, params) = (trace::request(n), event.params());
    format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"push/event\",\"params\":{params}}}\n")
}

/// Why nothing can be traced here, if so.
fn hindrance() -> Option<String> {
    let tried = std::process::Command::new("strace").args(["-qq", "-e", "trace=none", "true"]).output();
    match tried {
        Err(error) => Some(format!("strace: {error}")),
        Ok(said) if !said.status.success() => Some(String::from_utf8_lossy(&said.stderr).trim().to_owned()),
        Ok(_) => None,
    }
}

/// The whole trace, once the program has ended.
async fn whole(file: &Path) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned();
        // The first thread is the last that is told of.
        if text.trim_end().lines().last().is_some_and(|line| line.contains("+++ exited with 0 +++")) {
            return text;
        }
        assert!(Instant::now() < end, "the trace has no end");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn no_answer_and_no_forward_leaves_before_the_sync_that_covers_it() {
    if let Some(why) = hindrance() {
        return not_run("the order of writes and syncs", &why);
    }
    let calls = "trace=fsync,fdatasync,write,writev,sendto,sendmsg,pwrite64,pwritev,pwritev2";
    // -D: the program is our child, the tracer is not.
    let front = [
        "strace",
        "-D",
        "-f",
        "-y",
        "-ttt",
        "-s",
        "1000000",
        "-e",
        calls,
        "-e",
        "signal=none",
        "-o",
        "trace",
    ];
    let mut world = World::new().await.behind(front).start().await;
    let session = world.session().await;
    for n in 0..ALONE {
        let mark = session.producer.count();
        session.producer.send_bytes(request(n).as_bytes()).await;
        session.producer.answer(mark, &format!("\"{}\"", trace::request(n))).await;
    }
    let mark = session.producer.count();
    for n in ALONE..ALONE + TOGETHER {
        session.producer.send_bytes(request(n).as_bytes()).await;
        let sent = n + 1 - ALONE;
        if sent > OUTSTANDING {
            session.producer.reach(mark + sent - OUTSTANDING, "answers").await;
        }
    }
    session.producer.reach(mark + TOGETHER, "all answers").await;
    for said in session.producer.since(mark) {
        assert_eq!(said.json()["result"]["accepted"], json!(true), "{}", said.str());
    }
    session.assemble().await;
    let end = Instant::now() + PATIENCE;
    while session.host.given().len() < ALONE + TOGETHER {
        assert!(Instant::now() < end, "not everything was forwarded");
        sleep(Duration::from_millis(20)).await;
    }
    session.sync().await;
    world.program().signal(Signal::TERM);
    world.program().exit().await;

    let trace = Trace::read(&whole(&world.folder().join("trace")).await);
    for n in 0..ALONE + TOGETHER {
        let Some(synced) = trace.synced.get(&n) else { panic!("event {n} is never on disk") };
        let (answered, forwarded) = (trace.answered[&n], trace.forwarded[&n]);
        assert!(
            *synced < answered,
            "event {n} was answered (line {answered}) before it was on disk ({synced})"
        );
        assert!(*synced < forwarded, "event {n} left (line {forwarded}) before it was on disk ({synced})");
        if !is_urgent(n) {
            // It was held for a while: that it leaves is a record of its own.
            let again = trace.syncs.iter().any(|&sync| answered < sync && sync < forwarded);
            assert!(again, "event {n} left (line {forwarded}) without a word of it on disk since {answered}");
        }
    }
    // With many outstanding they share commits, and with one there is one each.
    let shared = trace.syncs.len();
    assert!(shared >= ALONE, "{shared} syncs for {ALONE} events that came alone");
    assert!(shared < ALONE * 3 + TOGETHER, "{shared} syncs: nothing is shared");
}
