//! When a session ends under work that is on its way, each event is given once, and what was said is heard to
//! its end (contract sections 3.1 and 7.4).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mcpl_tests::{Host, PATIENCE, Reply, Session, World, Wrap, push};
use rustix::process::Signal;
use serde_json::json;
use tokio::time::sleep;

/// Events, and how large each is: more together than the system's buffers take for a host that does not read.
const EVENTS: usize = 60;
const FILL: usize = 200_000;

/// A host that no longer drops what it has had, so that a second delivery is one.
async fn world() -> World {
    World::new().await.table("host", "dedup = \"none\"\nin_doubt = \"hold\"").start().await
}

/// A session whose host was given a start on many events that it neither reads nor answers.
async fn stuck(world: &mut World) -> Session {
    let host = Host::on(world.dial_with_little_room().await);
    let session = Session::open(host, world).await;
    let fill = "x".repeat(FILL);
    for n in 0..EVENTS {
        let event = push(&format!("e{n}"), &format!("{n} {fill}")).key(&format!("k{n}")).initial();
        let answer = session.push(event).await;
        assert_eq!(answer["result"]["accepted"], json!(true), "{answer}");
    }
    session.host.script.always(Reply::Silence);
    session.host.pause();
    session.host.send(r#"{"jsonrpc":"2.0","id":"asm","method":"context/beforeInference","params":{}}"#).await;
    // It is passed on behind the releases.
    session
        .producer
        .until(0, "the host's question", |said| said.method().as_deref() == Some("context/beforeInference"))
        .await;
    session
}

/// Which of the events it was given, each counted.
fn numbers(given: &[String]) -> BTreeSet<usize> {
    let number = |text: &String| text.split(' ').next().and_then(|n| n.parse().ok());
    let numbers: Vec<usize> = given.iter().filter_map(number).collect();
    assert_eq!(numbers.len(), given.len(), "given what nobody sent");
    let set: BTreeSet<usize> = numbers.iter().copied().collect();
    assert_eq!(set.len(), numbers.len(), "given twice in one session: {numbers:?}");
    set
}

/// Every event was given, in one of the two sessions.
async fn each_was_given_once(first: &Session, second: &Session) {
    second.assemble().await;
    let (before, after) = (numbers(&first.host.given()), numbers(&second.host.given()));
    let both: Vec<_> = before.intersection(&after).collect();
    assert!(both.is_empty(), "given in both sessions: {both:?}");
    let lost: Vec<_> = (0..EVENTS).filter(|n| !before.contains(n) && !after.contains(n)).collect();
    assert!(lost.is_empty(), "given in neither session: {lost:?}");
}

#[tokio::test]
async fn a_host_that_said_its_last_is_given_no_more_than_was_on_its_way() {
    let mut world = world().await;
    let mut first = stuck(&mut world).await;
    first.host.half_close().await;
    // The producer is told, so the end was seen.
    first.producer.ended().await;
    first.host.resume();
    first.producer.close().await;
    first.host.ended().await;
    assert!(first.host.given().len() < EVENTS, "nothing was left to be kept back");
    let second = world.session().await;
    each_was_given_once(&first, &second).await;
}

#[tokio::test]
async fn an_older_host_keeps_nothing_that_the_newer_one_is_given() {
    let mut world = world().await;
    let first = stuck(&mut world).await;
    let host = world.host().await;
    let mark = host.count();
    let params = mcpl_tests::initialize_params(&json!({}));
    host.send(format!(r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{params}}}"#)).await;
    // The producer is dialled for the newer one, so the older one's session is over.
    let producer = world.reached().await;
    first.host.resume();
    host.answer(mark, "\"init\"").await;
    host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    first.host.ended().await;
    assert!(first.host.given().len() < EVENTS, "nothing was left to be kept back");
    let second = Session { host, producer }.granted().await;
    each_was_given_once(&first, &second).await;
}

#[tokio::test]
async fn a_producer_that_vanishes_leaves_no_event_behind_and_none_twice() {
    let mut world = world().await;
    let mut first = stuck(&mut world).await;
    first.producer.close().await;
    first.host.resume();
    first.host.ended().await;
    let second = world.session().await;
    each_was_given_once(&first, &second).await;
}

#[tokio::test]
async fn what_a_child_said_before_it_exited_reaches_a_host_that_reads_late() {
    const LINES: usize = 300;
    // Longer than all that is bounded in time at an end, together.
    const LATE: Duration = Duration::from_secs(7);
    let fill = "y".repeat(1000);
    let script = format!(
        "read go; i=0; while [ $i -lt {LINES} ]; do echo '{{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":['$i',\"{fill}\"]}}'; i=$((i+1)); done; : > said; exit 3"
    );
    let mut wrap = Wrap::shell(&script);
    wrap.host.pause();
    wrap.host.send(r#"{"jsonrpc":"2.0","method":"go"}"#).await;
    let said = wrap.folder().join("said");
    let end = Instant::now() + PATIENCE;
    while !said.exists() {
        assert!(Instant::now() < end, "the child cannot say it all while the host does not read");
        sleep(Duration::from_millis(10)).await;
    }
    let late = Instant::now() + LATE;
    while Instant::now() < late {
        assert!(wrap.program().runs(), "the program did not wait for its host");
        sleep(Duration::from_millis(50)).await;
    }
    wrap.host.resume();
    wrap.host.ended().await;
    let heard = wrap.host.texts(0);
    assert_eq!(heard.len(), LINES);
    for (n, line) in heard.iter().enumerate() {
        assert_eq!(line, &format!(r#"{{"jsonrpc":"2.0","method":"n","params":[{n},"{fill}"]}}"#));
    }
    assert_eq!(wrap.exit().await.code(), Some(3));
}

#[tokio::test]
async fn a_signal_that_means_nothing_to_us_is_the_childs_and_ends_nobody() {
    for (signal, name) in [(Signal::USR1, "USR1"), (Signal::USR2, "USR2"), (Signal::ALARM, "ALRM")] {
        let line = |method: &str| format!("echo '{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}'");
        let script = format!(
            "got() {{ {}; }}; trap got {name}; {}; while :; do sleep 0.02; done",
            line("caught"),
            line("ready")
        );
        let mut wrap = Wrap::shell(&script);
        wrap.host.send(r#"{"jsonrpc":"2.0","method":"hello"}"#).await;
        let heard =
            |method: &'static str| move |said: &mcpl_tests::Said| said.method().as_deref() == Some(method);
        wrap.host.until(0, "the child's first line", heard("ready")).await;
        for _ in 0..2 {
            let mark = wrap.host.count();
            wrap.program().signal(signal);
            wrap.host.until(mark, name, heard("caught")).await;
        }
        assert!(wrap.program().runs(), "{name}");
        wrap.host.half_close().await;
        wrap.exit().await;
    }
}

#[tokio::test]
async fn a_signal_that_means_nothing_to_us_does_not_end_those_that_are_served() {
    let mut world = World::started().await;
    let session = world.session().await;
    for signal in [Signal::USR1, Signal::USR2, Signal::ALARM] {
        world.program().signal(signal);
        session.sync().await;
    }
    // A signal is handled before the process runs on, so a deadly one would have ended it by now.
    assert!(world.program().runs());
}
