//! How a session ends: each side is told, in a close code, what can be told of the other.

use mcpl_tests::{BareFrame, BareSocket, Carrier, PATIENCE, World};
use rustix::process::Signal;
use tokio::io::AsyncReadExt as _;
use tokio::time::{Duration, timeout};

use super::{bare, hears, is_closed, world};

/// What one side does, and the code and the reason that the other is told.
async fn told(does: &BareFrame, by_host: bool) -> (u16, String) {
    let mut world = world().await;
    let (host, producer) = bare(&mut world).await;
    let (mut from, mut to) = if by_host { (host, producer) } else { (producer, host) };
    from.send(does.clone()).await;
    is_closed(&mut to).await
}

#[tokio::test]
async fn codes_that_can_be_sent_are_told_and_others_become_one_that_can() {
    let cases: [(BareFrame, (u16, &str)); 8] = [
        (BareFrame::close(4404, "gone"), (4404, "gone")),
        (BareFrame::close(1012, ""), (1012, "")),
        (BareFrame::close(1000, "done"), (1000, "done")),
        (BareFrame::close(3000, &"é".repeat(61)), (3000, "")),
        (BareFrame::close(4999, &"x".repeat(123)), (4999, "")),
        (BareFrame::new(BareFrame::CLOSE, []), (1000, "")),
        (BareFrame::close(999, "never"), (1011, "")),
        (BareFrame::new(BareFrame::CLOSE, [3]), (1011, "")),
    ];
    for (does, (code, reason)) in cases {
        for by_host in [true, false] {
            let told = told(&does, by_host).await;
            assert_eq!(
                told.0,
                code,
                "{does:?} by the {}: {told:?}",
                if by_host { "host" } else { "producer" }
            );
            if !reason.is_empty() {
                assert_eq!(told.1, reason);
            } else if (3000..5000).contains(&code) {
                assert_eq!(told.1.as_bytes(), &does.payload[2..], "a reason was cut");
            }
        }
    }
}

/// Who closes is answered with its own code, and then the connection ends.
#[tokio::test]
async fn a_close_is_answered_and_the_connection_ends() {
    for by_host in [true, false] {
        let mut world = world().await;
        let (mut host, mut producer) = bare(&mut world).await;
        let (from, to) = if by_host { (&mut host, &mut producer) } else { (&mut producer, &mut host) };
        from.send(BareFrame::close(4001, "bye")).await;
        assert_eq!(is_closed(to).await, (4001, "bye".into()));
        to.send(BareFrame::close(4001, "bye")).await;
        assert_eq!(is_closed(from).await.0, 4001);
        for socket in [host, producer] {
            let rest = timeout(PATIENCE, socket.into_inner().read_to_end(&mut Vec::new())).await;
            assert!(rest.is_ok(), "the connection was not ended");
        }
    }
}

#[tokio::test]
async fn both_may_close_at_once() {
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    tokio::join!(host.send(BareFrame::close(4001, "")), producer.send(BareFrame::close(4002, "")));
    for socket in [&mut host, &mut producer] {
        let (code, _) = is_closed(socket).await;
        assert!((4001..=4002).contains(&code), "{code}");
    }
    // And it is served again.
    bare(&mut world).await;
}

#[tokio::test]
async fn a_side_that_is_lost_is_told_as_an_error() {
    for by_host in [true, false] {
        let mut world = world().await;
        let (host, producer) = bare(&mut world).await;
        let (from, mut to) = if by_host { (host, producer) } else { (producer, host) };
        drop(from);
        assert_eq!(
            is_closed(&mut to).await.0,
            1011,
            "lost: the {}",
            if by_host { "host" } else { "producer" }
        );
        bare(&mut world).await;
    }
}

/// What a producer still has to say to a host that closed is delivered: over WebSocket, too, a host's end of input is
/// half a close.
#[tokio::test]
async fn an_answer_that_a_closing_host_waits_for_is_delivered() {
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    host.say(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#).await;
    assert!(hears(&mut producer).await.contains("tools/call"));
    host.send(BareFrame::close(1000, "")).await;
    assert_eq!(is_closed(&mut producer).await.0, 1000);
    producer.say(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).await;
    producer.send(BareFrame::close(1000, "")).await;
    assert_eq!(hears(&mut host).await, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    assert_eq!(is_closed(&mut host).await.0, 1000);
}

/// A producer that closes takes nothing more: few libraries could give it to it. On lines it may go on listening.
#[tokio::test]
async fn a_producer_that_closes_is_gone() {
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    producer.say(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#).await;
    assert!(hears(&mut host).await.contains("roots/list"));
    producer.send(BareFrame::close(1000, "")).await;
    assert_eq!(is_closed(&mut host).await.0, 1000);
    host.say(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).await;
    assert_eq!(is_closed(&mut producer).await.0, 1000);
}

#[tokio::test]
async fn a_newer_host_takes_over_and_the_older_is_told() {
    let mut world = world().await;
    let (mut older, mut its_producer) = bare(&mut world).await;
    let (mut newer, mut producer) = bare(&mut world).await;
    let (code, reason) = is_closed(&mut older).await;
    assert_eq!(code, 1000);
    assert!(reason.contains("took over"), "{reason}");
    assert_eq!(is_closed(&mut its_producer).await.0, 1000);
    newer.say(r#"{"jsonrpc":"2.0","method":"still/here"}"#).await;
    assert!(hears(&mut producer).await.contains("still/here"));
}

#[tokio::test]
async fn a_producer_that_restarts_is_dialled_by_the_next_session() {
    let mut world = world().await;
    for _ in 0..3 {
        let (mut host, mut producer) = bare(&mut world).await;
        producer.send(BareFrame::close(1012, "restarting")).await;
        assert_eq!(is_closed(&mut host).await, (1012, "restarting".into()));
    }
}

#[tokio::test]
async fn who_drains_goes_away() {
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    world.program().signal(Signal::TERM);
    for socket in [&mut host, &mut producer] {
        assert_eq!(is_closed(socket).await.0, 1001);
        socket.send(BareFrame::close(1001, "")).await;
    }
    assert_eq!(world.program().exit().await.code(), Some(0));
}

#[tokio::test]
async fn a_producer_that_is_not_reached_is_to_be_tried_again_later() {
    let world = World::unreachable().over(Carrier::WebSocket).keys("connect_timeout_ms = 300");
    let mut world = world.start().await;
    let mut host = BareSocket::knock(world.dial().await, "/host").await;
    host.say(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
    let answer = hears(&mut host).await;
    assert!(answer.contains("-32000") && answer.contains("refused"), "{answer}");
    let (code, reason) = is_closed(&mut host).await;
    assert_eq!(code, 1013);
    assert!(!reason.is_empty() && reason.len() <= 123, "{reason}");
}

/// A peer that neither reads nor answers a close does not keep anything from ending.
#[tokio::test]
async fn a_close_that_is_never_answered_ends_all_the_same() {
    let mut world = world().await;
    let (mut host, mut producer) = bare(&mut world).await;
    host.send(BareFrame::close(1000, "")).await;
    assert_eq!(is_closed(&mut producer).await.0, 1000);
    // It does not answer, and goes on talking.
    for _ in 0..50 {
        producer.say(r#"{"jsonrpc":"2.0","method":"n"}"#).await;
    }
    let rest =
        timeout(PATIENCE + Duration::from_secs(30), host.into_inner().read_to_end(&mut Vec::new())).await;
    assert!(rest.is_ok(), "the host's connection was not ended");
    bare(&mut world).await;
}
