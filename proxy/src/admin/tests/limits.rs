//! Nothing that a client does takes more than its share.

use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::LocalSet;
use tokio::time::Instant;

use super::*;

const LIVE: &str = "GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// What comes back, and after how long, when this much is sent and no more.
async fn after(sent: &str) -> (String, Duration) {
    let begun = Instant::now();
    let text = connected(Gate::Socket, &desk(), |mut stream| async move {
        stream.write_all(sent.as_bytes()).await.unwrap();
        rest(stream).await
    })
    .await;
    (text, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_head_larger_than_the_limit_is_refused() {
    let head = "GET /live HTTP/1.1\r\nConnection: close\r\nA: \r\n\r\n";
    let filled = |n: usize| head.replace("A: ", &format!("A: {}", "x".repeat(n - head.len())));
    assert!(after(&filled(HEADER_BYTES)).await.0.starts_with("HTTP/1.1 200 "));
    let (told, took) = after(&filled(HEADER_BYTES + 1)).await;
    assert!(told.starts_with("HTTP/1.1 431 "), "{told}");
    assert_eq!(took, Duration::ZERO);
    let lines = |n: usize| (0..n).map(|n| format!("A{n}: x\r\n")).collect::<Vec<_>>().concat();
    let with = |n| format!("GET /live HTTP/1.1\r\nConnection: close\r\n{}\r\n", lines(n - 1));
    assert!(after(&with(HEADERS)).await.0.starts_with("HTTP/1.1 200 "));
    assert!(after(&with(HEADERS + 1)).await.0.starts_with("HTTP/1.1 431 "));
}

#[tokio::test(start_paused = true)]
async fn a_path_longer_than_the_limit_is_refused() {
    let path = |n: usize| format!("/v1/occurrences/{}", "x".repeat(n - 16));
    assert_eq!(ask(&desk(), "GET", &path(PATH_BYTES), "").await.status, 200);
    assert_eq!(ask(&desk(), "GET", &path(PATH_BYTES + 1), "").await.error(), 414);
}

#[tokio::test(start_paused = true)]
async fn a_body_larger_than_the_limit_is_refused_and_not_read() {
    let body = |n: usize| format!("{{\"word\":\"drop\"{}}}", " ".repeat(n - 15));
    let path = "/v1/work/chat/7/resolve";
    assert_eq!(ask(&desk(), "POST", path, &body(BODY_BYTES)).await.status, 200);
    let desk = desk();
    assert_eq!(ask(&desk, "POST", path, &body(BODY_BYTES + 1)).await.error(), 413);
    // A length that is said is enough, and so are portions without one.
    let head = format!("POST {path} HTTP/1.1\r\nConnection: close\r\n");
    let said = format!("{head}Content-Length: 99999999999\r\n\r\n");
    assert_eq!(exchange(Gate::Socket, &desk, &said).await.error(), 413);
    let portions = "1000\r\n".to_owned() + &" ".repeat(0x1000) + "\r\n";
    let endless = format!("{head}Transfer-Encoding: chunked\r\n\r\n{}", portions.repeat(17));
    assert_eq!(exchange(Gate::Socket, &desk, &endless).await.error(), 413);
    assert_eq!(*desk.asked.borrow(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn who_sends_no_whole_head_in_time_is_closed() {
    for sent in ["", "GET /li", "GET /live HTTP/1.1\r\nHost: x\r\n"] {
        let (told, took) = after(sent).await;
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 408 "), "{told}");
        assert!((HEADER_WITHIN..HEADER_WITHIN * 2).contains(&took), "{took:?}");
    }
    let (told, took) = after(LIVE).await;
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    assert!((HEADER_WITHIN..HEADER_WITHIN * 2).contains(&took), "idle after an answer: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_head_that_comes_byte_by_byte_takes_no_longer() {
    let begun = Instant::now();
    connected(Gate::Socket, &desk(), |mut stream| async move {
        for byte in LIVE.repeat(10).bytes() {
            if stream.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    })
    .await;
    assert!(begun.elapsed() < HEADER_WITHIN * 2, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_not_waited_for_forever() {
    let head = "POST /v1/work/chat/7/resolve HTTP/1.1\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{";
    let (told, took) = after(head).await;
    assert!(told.starts_with("HTTP/1.1 408 "), "{told}");
    assert!((BODY_WITHIN..BODY_WITHIN * 2).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn who_reads_nothing_is_closed_in_the_end() {
    let (mut ours, theirs) = duplex(64);
    let served = connection::serve(theirs, Rc::new(Gate::Socket), desk());
    let begun = Instant::now();
    let (_, ()) = tokio::join!(ours.write_all(LIVE.as_bytes()), served);
    assert!(begun.elapsed() <= LIFE + PARTING, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_connection_answers_many_requests_and_takes_none_after_its_time() {
    let (requests, took) = connected(Gate::Socket, &desk(), |mut stream| async move {
        let begun = Instant::now();
        let mut answer = [0; 1024];
        let mut requests = 0;
        loop {
            if stream.write_all(LIVE.as_bytes()).await.is_err() {
                break;
            }
            match stream.read(&mut answer).await.unwrap() {
                0 => break,
                n => assert!(answer[..n].starts_with(b"HTTP/1.1 200 ")),
            }
            requests += 1;
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        (requests, begun.elapsed())
    })
    .await;
    assert!((11..=13).contains(&requests), "{requests}");
    assert!(took <= LIFE + PARTING, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_http_ends_the_connection() {
    let (told, took) = after("{\"jsonrpc\":\"2.0\"}\r\n\r\n").await;
    assert!(told.starts_with("HTTP/1.1 400 "), "{told}");
    assert_eq!(took, Duration::ZERO);
}

async fn live(stream: &mut TcpStream) -> Told {
    stream.write_all(LIVE.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    Told::read(&text)
}

#[tokio::test]
async fn one_connection_too_many_is_told_so_and_room_is_made_when_one_ends() {
    let scene = async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let terms = Terms { address: "127.0.0.1".to_owned(), token: None, tls: None };
        tokio::task::spawn_local(serve_tcp(Rc::new(listener), terms, desk(), std::future::pending()));
        let mut open = Vec::new();
        for _ in 0..CONNECTIONS {
            open.push(TcpStream::connect(at).await.unwrap());
        }
        let told = live(&mut TcpStream::connect(at).await.unwrap()).await;
        assert_eq!((told.error(), told.header("retry-after")), (503, Some("1")));
        assert_eq!(live(&mut open.pop().unwrap()).await.status, 200, "those within are served");
        // Its end is noticed before the next is taken, or soon after.
        while live(&mut TcpStream::connect(at).await.unwrap()).await.status != 200 {}
    };
    LocalSet::new().run_until(scene).await;
}

#[tokio::test]
async fn the_same_is_served_on_the_socket_until_it_is_dropped() {
    let scene = async {
        let tmp = tempfile::tempdir().unwrap();
        let control = Control::bind(tmp.path()).unwrap();
        let path = control.path().to_owned();
        let served = tokio::task::spawn_local(serve_unix(control, desk()));
        let mut stream = UnixStream::connect(&path).await.unwrap();
        stream.write_all(b"GET /v1/producers HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert_eq!(Told::read(&text).status, 200);
        let mut open = UnixStream::connect(&path).await.unwrap();
        served.abort();
        assert!(served.await.unwrap_err().is_cancelled());
        assert!(!path.exists());
        assert_eq!(open.read(&mut [0; 8]).await.unwrap_or(0), 0, "its connections go with it");
    };
    LocalSet::new().run_until(scene).await;
}
