//! 100,000 events, and readers of every kind: no gap, no repeat, and bounded memory.

use std::time::Duration;

use mcpl_tests::{Follower, Session, StreamSocket, World, peak_bytes, push};
use tokio::time::{Instant, sleep};

const MIB: u64 = 1 << 20;
/// Each but the first of a subject is held and replaces one: two observations. All that can be replayed, and no more: on
/// a busy machine readers come late, and nothing is to be gone by then.
const EVENTS: usize = 50_500;
const SUBJECTS: usize = 1_000;
const OBSERVATIONS: u64 = 2 * EVENTS as u64 - SUBJECTS as u64;
const _: () = assert!(OBSERVATIONS <= mcpl_sidecar::stream::OBSERVATIONS as u64);
/// So many are unanswered at a time: few enough for a loaded machine to answer them in time.
const PORTION: usize = 404;

async fn send(session: &Session) {
    for first in (0..EVENTS).step_by(PORTION) {
        let mark = session.producer.count();
        for number in first..first + PORTION {
            let params = push(&format!("e{number}"), "x").key(&format!("k{}", number % SUBJECTS)).params();
            let id = format!("\"p-{number}\"");
            session
                .producer
                .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"push/event","params":{params}}}"#))
                .await;
        }
        session.producer.reach(mark + PORTION, "every answer").await;
    }
}

/// Follows to the end on one socket; `stall`: it does not read for a while in the middle.
async fn follow(port: u16, stall: Duration) -> Follower {
    let mut follower = Follower::from_the_beginning();
    let mut socket = StreamSocket::open(port).await;
    socket.say(&follower.wanted()).await;
    follower.follow(&mut socket, |all| all.last() >= OBSERVATIONS / 10).await;
    sleep(stall).await;
    follower.follow(&mut socket, |all| all.last() >= OBSERVATIONS).await;
    follower
}

/// Follows to the end over many sockets: each is left, or cut in the middle of a batch, and the cursor goes on.
async fn come_back(port: u16, cut: bool) -> Follower {
    let mut follower = Follower::from_the_beginning();
    let mut sockets = 0;
    while follower.last() < OBSERVATIONS {
        let mut socket = StreamSocket::open(port).await;
        socket.say(&follower.wanted()).await;
        let until = (follower.last() + OBSERVATIONS / 8).min(OBSERVATIONS);
        follower.follow(&mut socket, |all| all.last() >= until).await;
        sockets += 1;
        if cut {
            // In the middle of what comes next, which is not applied.
            let mut again = StreamSocket::open(port).await;
            let behind = follower.last().saturating_sub(300);
            let Some((stream, _)) = follower.cursor.clone() else { panic!("it follows something") };
            again.say(&serde_json::json!({ "subscribe": { "stream": stream, "after": behind } })).await;
            again.cut_after(20_000).await;
        }
    }
    assert!(sockets >= 8, "{sockets}");
    follower
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_events_reach_every_reader_without_a_gap_or_a_repeat() {
    let mut world = World::new().await.watched("").start().await;
    let session = world.session().await;
    let (port, pid) = (world.admin_port(), world.program().pid());
    let before = peak_bytes(pid);
    // It is noted what happens from the first reader on.
    let _first = StreamSocket::open(port).await;
    let began = Instant::now();
    let readers = [
        tokio::spawn(follow(port, Duration::ZERO)),
        tokio::spawn(follow(port, Duration::from_secs(5))),
        tokio::spawn(come_back(port, false)),
        tokio::spawn(come_back(port, true)),
    ];
    send(&session).await;
    let sent = began.elapsed();
    let mut followers = Vec::new();
    for reader in readers {
        followers.push(reader.await.unwrap());
    }
    for follower in &followers {
        assert_eq!(follower.applied.len() as u64, OBSERVATIONS, "{:?}", follower.reasons);
        assert!(follower.applied.iter().zip(1..).all(|((seq, ..), wanted)| *seq == wanted), "dense");
        assert_eq!((follower.repeated, follower.snapshots), (0, 0));
        assert!(follower.applied == followers[0].applied, "all are told the same");
        assert_eq!(follower.open().len(), SUBJECTS);
    }
    let grown = peak_bytes(pid).saturating_sub(before);
    assert!(grown < 160 * MIB, "{} MiB", grown / MIB);
    // One that is told of 300 events again skips them.
    let mut again = followers.swap_remove(0);
    let (stream, last) = again.cursor.clone().unwrap();
    let mut socket = StreamSocket::open(port).await;
    socket.say(&serde_json::json!({ "subscribe": { "stream": stream, "after": last - 300 } })).await;
    let told = socket.hear().await.unwrap();
    assert_eq!(told["subscribed"]["lastSequence"].as_u64(), Some(last));
    while again.repeated < 300 {
        again.take(&socket.hear().await.unwrap()).unwrap();
    }
    assert_eq!((again.last(), again.applied.len() as u64), (last, OBSERVATIONS));
    eprintln!("{EVENTS} events took {sent:?} with 4 readers; {} MiB more at the most", grown / MIB);
}
