//! Hundreds of producers whose hosts come and go at random leave nothing behind (contract sections 3.1, 3.6).
//!
//! `MCPL_SOAK_SECONDS` says how long they come and go: 5 unless given, 120 for the run that is quoted. Before that
//! every producer has had one session, and the program is quiet for a twelfth of that time, at least a second: what
//! it has then of memory, descriptors, threads and children is what it must have afterwards.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)] // A panic is how a test reports.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcpl_tests::{Chance, Knock, LineSocket, PATIENCE, Refused, World, resident_bytes};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep, timeout};

const PRODUCERS: usize = 500;

/// What a process has.
#[derive(Debug, Clone, Copy)]
struct Belongings {
    descriptors: usize,
    threads: usize,
    children: usize,
    resident: u64,
}

impl Belongings {
    fn of(pid: u32) -> Self {
        let count =
            |what: &str| std::fs::read_dir(format!("/proc/{pid}/{what}")).expect("the process runs").count();
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        Self {
            descriptors: count("fd"),
            threads: count("task"),
            children: children.split_whitespace().count(),
            resident: resident_bytes(pid),
        }
    }
}

/// A producer on any path that answers every request until its connection ends.
async fn produce(listener: TcpListener, sessions: Arc<AtomicUsize>) {
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let sessions = sessions.clone();
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            // The program may have gone already: its host did.
            let Ok((socket, _)) = LineSocket::welcome(stream).await else { return };
            sessions.fetch_add(1, Ordering::Relaxed);
            let (read, mut write) = socket.into_split();
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let Some(id) = line.split_once("\"id\":").and_then(|(_, rest)| rest.split([',', '}']).next())
                else {
                    continue;
                };
                let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"n\":1}}}}\n");
                if write.write_all(answer.as_bytes()).await.is_err() || write.flush().await.is_err() {
                    break;
                }
            }
            let _ = write.shutdown().await;
            sessions.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// A host's end, which asks one thing after the other.
struct Caller {
    lines: tokio::io::Lines<BufReader<mcpl_tests::ReadEnd>>,
    write: mcpl_tests::WriteEnd,
}

impl Caller {
    async fn at(port: u16, n: usize) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("it is listened to");
        let _ = stream.set_nodelay(true);
        let knock = LineSocket::knock(stream, Knock::at(&format!("ws://127.0.0.1:{port}/h{n}")));
        let (socket, _) =
            knock.await.unwrap_or_else(|refused| panic!("host {n} was not let in: {refused:?}"));
        let (read, write) = socket.into_split();
        Self { lines: BufReader::new(read).lines(), write }
    }

    async fn ask(&mut self, id: u64, method: &str) {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{}}}}\n");
        self.write.write_all(text.as_bytes()).await.expect("a write");
        self.write.flush().await.expect("a write");
        let answer = self.lines.next_line().await.expect("a read").expect("an answer before the end");
        assert!(answer.contains(&format!("\"id\":{id},")), "{answer}");
    }

    /// Hears the other side out.
    async fn listen_out(mut self) {
        while let Ok(Some(_)) = self.lines.next_line().await {}
    }
}

/// One host from its coming to its going, in one of the ways that they go.
async fn visit(port: u16, n: usize, mut chance: Chance) {
    let mut caller = Caller::at(port, n).await;
    if chance.percent(5) {
        // It never says anything.
        return;
    }
    caller.ask(1, "initialize").await;
    for id in 2..2 + chance.below(6) {
        caller.ask(id, "ping").await;
        if chance.percent(30) {
            sleep(Duration::from_millis(chance.below(300))).await;
        }
    }
    match chance.below(5) {
        0 | 1 => {
            caller.write.shutdown().await.expect("a close frame");
            caller.listen_out().await;
        }
        // Gone without a word.
        2 => {}
        // In the middle of a message.
        3 => {
            caller.write.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":").await.expect("a write");
            let _ = caller.write.flush().await;
        }
        // A newer one takes over.
        _ => {
            let mut newer = Caller::at(port, n).await;
            newer.ask(1, "initialize").await;
            caller.listen_out().await;
        }
    }
}

/// Waits until the last of the producers is served.
async fn all_listen(world: &mut World) {
    let end = Instant::now() + PATIENCE * 4;
    loop {
        let knock = Knock::at(&format!("ws://127.0.0.1:{}/h{}", world.port(), PRODUCERS - 1));
        match LineSocket::knock(world.dial().await, knock).await {
            Ok(_) => return,
            Err(Refused::Answer(404, _)) if Instant::now() < end => sleep(Duration::from_millis(20)).await,
            Err(refused) => panic!("{refused:?}"),
        }
    }
}

async fn in_time(what: &str, visit: impl Future<Output = ()>) {
    timeout(PATIENCE, visit).await.unwrap_or_else(|_| panic!("{what}: not in time"));
}

/// Waits until no producer has a session, then for the quiet time.
async fn quiet(sessions: &AtomicUsize, rest: Duration) {
    let end = Instant::now() + PATIENCE;
    while sessions.load(Ordering::Relaxed) > 0 {
        assert!(Instant::now() < end, "{} sessions did not end", sessions.load(Ordering::Relaxed));
        sleep(Duration::from_millis(50)).await;
    }
    sleep(rest).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_and_goes_leaves_nothing_behind() {
    let seconds = std::env::var("MCPL_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let rest = Duration::from_secs((seconds / 12).max(1));
    let mut world = World::unreachable();
    let (port, there) = (world.port(), world.producer_port());
    let mut config = String::new();
    for n in 0..PRODUCERS {
        write!(
            config,
            "[[producer]]\nname = \"p{n}\"\nlisten = \"ws://127.0.0.1:{port}/h{n}\"\nconnect = \"ws://127.0.0.1:{there}/p{n}\"\n"
        )
        .expect("a string");
    }
    let listener = TcpListener::bind(("127.0.0.1", there)).await.expect("a port");
    let sessions = Arc::new(AtomicUsize::new(0));
    let producer = tokio::spawn(produce(listener, sessions.clone()));
    world.start_with(&[config]).await;
    all_listen(&mut world).await;
    let pid = world.program().pid();
    let at_start = Belongings::of(pid);

    // Everybody once, and all at the same time.
    let few = Arc::new(Semaphore::new(24));
    let mut callers = Vec::new();
    for n in 0..PRODUCERS {
        let _turn = few.acquire().await;
        let mut caller = Caller::at(port, n).await;
        in_time("the first session", caller.ask(1, "initialize")).await;
        callers.push(caller);
    }
    let full = Belongings::of(pid);
    drop(callers);
    quiet(&sessions, rest).await;
    let before = Belongings::of(pid);

    let (visits, end) = (Arc::new(AtomicUsize::new(0)), Instant::now() + Duration::from_secs(seconds));
    let mut hosts = JoinSet::new();
    for n in 0..PRODUCERS {
        let visits = visits.clone();
        hosts.spawn(async move {
            let mut chance = Chance::new(n as u64);
            sleep(Duration::from_millis(chance.below(1500))).await;
            while Instant::now() < end {
                let own = Chance::new(chance.below(u64::MAX));
                in_time(&format!("host {n}"), visit(port, n, own)).await;
                visits.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(chance.below(2000))).await;
            }
        });
    }
    while let Some(host) = hosts.join_next().await {
        host.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    }
    quiet(&sessions, rest).await;
    let after = Belongings::of(pid);
    eprintln!(
        "soak: {} visits in {seconds} s; at the start {at_start:?}, with {PRODUCERS} sessions {full:?}, quiet {before:?}, afterwards {after:?}",
        visits.load(Ordering::Relaxed)
    );
    producer.abort();

    assert!(visits.load(Ordering::Relaxed) > PRODUCERS, "too few came for this to mean anything");
    assert_eq!(
        (after.descriptors, after.threads, after.children),
        (before.descriptors, before.threads, before.children)
    );
    let most = before.resident + before.resident / 10;
    assert!(after.resident <= most, "memory grew from {} to {} bytes", before.resident, after.resident);
    assert!(world.program().runs());
}
