use tokio::net::TcpListener;

use super::super::listen::{ListenError, Listener, listen};
use super::*;

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

#[test]
fn addresses_are_read_as_written() {
    for text in ["stdio", "tcp://127.0.0.1:0", "tcp://[::1]:7000", "tcp://example.org:65535"] {
        assert_eq!(address(text).to_string(), text);
    }
    assert_eq!(address("wss://h/?token=secret").to_string(), "wss://\u{2026}");
    for text in [
        "tcp://",
        "tcp://h",
        "tcp://:1",
        "tcp://h:",
        "tcp://h:65536",
        "tcp://h:+1",
        "tcp://::1:7",
        "tcp://a@h:1",
        "tcp://h:1/x",
    ] {
        assert_eq!(text.parse::<Address>(), Err(AddressError::Port(text.to_owned())));
    }
    for text in ["", "tcp", "127.0.0.1:1", "http://h:1", "STDIO"] {
        assert_eq!(text.parse::<Address>(), Err(AddressError::Scheme(text.to_owned())));
    }
}

#[tokio::test]
async fn a_producer_that_listens_late_is_reached() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let late = async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        let mut listener = listen(&address(&format!("tcp://127.0.0.1:{port}"))).await.unwrap();
        listener.accept().await.unwrap()
    };
    let to = address(&format!("tcp://127.0.0.1:{port}"));
    let (dialled, _accepted) = tokio::join!(dial(&to, Duration::from_secs(10)), late);
    assert_eq!(dialled.unwrap().peer, format!("127.0.0.1:{port}"));
}

#[tokio::test]
async fn a_producer_that_never_listens_is_given_up_in_time_with_the_reason() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let began = Instant::now();
    let error =
        dial(&address(&format!("tcp://127.0.0.1:{port}")), Duration::from_millis(200)).await.unwrap_err();
    assert!(began.elapsed() <= Duration::from_secs(1));
    let DialError::Unreachable { attempts, source, .. } = &error else { panic!("{error}") };
    assert!(*attempts > 2 && source.kind() == io::ErrorKind::ConnectionRefused, "{error}");
    assert!(error.to_string().contains(&format!("tcp://127.0.0.1:{port} was not reached within 200 ms")));
}

#[tokio::test]
async fn what_this_build_does_not_speak_is_said() {
    let error = dial(&address("mcpl://host"), Duration::ZERO).await.unwrap_err();
    assert!(error.to_string().contains("not supported by this build yet"), "{error}");
    let error = listen(&address("ws://127.0.0.1:1")).await.unwrap_err();
    assert!(matches!(error, ListenError::Unsupported { .. }));
    assert!(error.to_string().contains("ws://"), "{error}");
}

#[tokio::test]
async fn an_address_in_use_is_named_with_the_remedy() {
    let first = listen(&address("tcp://127.0.0.1:0")).await.unwrap();
    let taken = format!("tcp://{}", first.local().unwrap());
    let error = listen(&address(&taken)).await.unwrap_err().to_string();
    assert!(error.contains(&taken) && error.contains("another port"), "{error}");
}

#[tokio::test]
async fn accepted_connections_have_no_delay_and_keep_alive() {
    let Listener::Tcp(listener) = listen(&address("tcp://127.0.0.1:0")).await.unwrap() else { panic!() };
    let to = listener.local_addr().unwrap();
    let (stream, accepted) = tokio::join!(TcpStream::connect(to), listener.accept());
    let accepted = accepted.unwrap();
    let watched = rustix::io::fcntl_dupfd_cloexec(&accepted.0, 3).unwrap();
    let _connection = tcp(accepted.0, accepted.1).unwrap();
    assert!(rustix::net::sockopt::socket_keepalive(&watched).unwrap());
    assert!(rustix::net::sockopt::tcp_nodelay(&watched).unwrap());
    drop(stream);
}
