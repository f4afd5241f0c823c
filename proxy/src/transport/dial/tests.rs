use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::super::listen::{accept, bind};
use super::*;
use crate::config::{self, Peer};

/// The destination that a configuration of a producer reached there, with more lines, has.
fn destination(connect: &str, more: &str) -> Destination {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sidecar.toml");
    let text = format!(
        "state_dir = \"s\"\n[[producer]]\nname = \"p\"\nlisten = \"tcp://127.0.0.1:1\"\nconnect = \"{connect}\"\n{more}"
    );
    std::fs::write(&path, text).unwrap();
    let config = config::load(&path, &|_| None).unwrap();
    let producer = &config.producers[0];
    let Peer::Connect(endpoint) = &producer.peer else { panic!("it is dialled") };
    Destination::new(endpoint, producer.connect_tls.as_ref(), producer.connect_auth.as_ref())
}

async fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

async fn dial(connect: &str, within_ms: u64) -> Result<Connection, DialError> {
    Dialer::default().dial(&destination(connect, ""), Duration::from_millis(within_ms)).await
}

#[tokio::test]
async fn a_producer_that_listens_late_is_reached() {
    let port = free_port().await;
    let late = async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        let listener = bind(&format!("127.0.0.1:{port}"), "here").await.unwrap();
        accept(&listener).await.unwrap()
    };
    let to = format!("tcp://127.0.0.1:{port}");
    let (dialled, _accepted) = tokio::join!(dial(&to, 10_000), late);
    assert_eq!(dialled.unwrap().peer, format!("127.0.0.1:{port}"));
}

#[tokio::test]
async fn a_producer_that_never_listens_is_given_up_in_time_with_the_reason() {
    for scheme in ["tcp", "ws"] {
        let (port, began) = (free_port().await, Instant::now());
        let path = if scheme == "ws" { "/p?token=hush" } else { "" };
        let error = dial(&format!("{scheme}://127.0.0.1:{port}{path}"), 200).await.unwrap_err();
        assert!((200..=1000).contains(&began.elapsed().as_millis()), "it is tried until the time is over");
        let text = error.to_string();
        assert!(error.attempts > 2 && text.contains("connection refused"), "{text}");
        assert!(text.contains(&format!("{scheme}://127.0.0.1:{port}")), "{text}");
        assert!(text.contains("was not reached within 200 ms"), "{text}");
        assert!(!text.contains("hush"), "{text}");
    }
}

#[tokio::test]
async fn a_name_that_is_not_found_is_told_as_that() {
    let error = dial("ws://no-such-host.invalid:1/", 3000).await.unwrap_err().to_string();
    assert!(error.contains("the name of its host is not found"), "{error}");
}

/// What a dial says of a listener that answers each request with this.
async fn answered(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let answering = async {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    };
    let to = format!("ws://127.0.0.1:{port}/p?token=hush");
    tokio::select! {
        dialled = dial(&to, 100) => dialled.unwrap_err().to_string(),
        () = answering => unreachable!(),
    }
}

#[tokio::test]
async fn an_answer_that_is_no_websocket_is_told_in_words_to_act_on() {
    for (answer, words) in [
        ("HTTP/1.1 401 No\r\ncontent-length: 4\r\n\r\nhush", "HTTP 401: the token is missing or wrong"),
        ("HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n", "HTTP 403: we may not connect"),
        ("HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n", "HTTP 404: no WebSocket is at that path"),
        (
            "HTTP/1.1 302 No\r\nlocation: ws://hush/\r\ncontent-length: 0\r\n\r\n",
            "a redirect, which is not followed",
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "HTTP 200, which is no WebSocket"),
        ("SSH-2.0-OpenSSH\r\n\r\n", "what came is no HTTP"),
        ("", "the connection was closed before an answer came"),
        (
            "HTTP/1.1 101 Ok\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: x\r\n\r\n",
            "Sec-WebSocket-Accept is not that of our key",
        ),
        ("HTTP/1.1 101 Ok\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", "it upgraded to something else"),
    ] {
        let error = answered(answer).await;
        assert!(error.contains(words), "{answer:?}: {error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_our_own_files_is_told_without_a_connection() {
    let token = "[producer.connect_auth]\ntoken_file = \"/nowhere/token\"\n";
    let tls = "[producer.connect_tls]\nca_file = \"/nowhere/ca.crt\"\n";
    for (connect, more, words) in [
        ("ws://127.0.0.1:1/", token, "the token of `connect_auth` cannot be read"),
        ("wss://127.0.0.1:1/", tls, "/nowhere/ca.crt"),
    ] {
        let to = destination(connect, more);
        let error = Dialer::default().dial(&to, Duration::from_secs(3)).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test]
async fn an_address_in_use_is_named_with_the_remedy() {
    let first = bind("127.0.0.1:0", "here").await.unwrap();
    let taken = first.local_addr().unwrap().to_string();
    let error = bind(&taken, &format!("tcp://{taken}")).await.unwrap_err().to_string();
    assert!(error.contains(&taken) && error.contains("another port"), "{error}");
}

#[tokio::test]
async fn accepted_connections_have_no_delay_and_keep_alive() {
    let listener = bind("127.0.0.1:0", "here").await.unwrap();
    let to = listener.local_addr().unwrap();
    let (stream, accepted) = tokio::join!(TcpStream::connect(to), listener.accept());
    let accepted = accepted.unwrap();
    let watched = rustix::io::fcntl_dupfd_cloexec(&accepted.0, 3).unwrap();
    let _connection = lines(accepted.0, accepted.1).unwrap();
    assert!(rustix::net::sockopt::socket_keepalive(&watched).unwrap());
    assert!(rustix::net::sockopt::tcp_nodelay(&watched).unwrap());
    drop(stream);
}
