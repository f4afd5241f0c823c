use std::time::Duration;

use mcpl_codec::frame::Frame;
use mcpl_codec::line::Line;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::time::timeout;

use super::*;

async fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (one, other) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
    (one.unwrap(), other.unwrap().0)
}

fn connection(stream: TcpStream) -> Connection {
    let (reader, writer) = stream.into_split();
    Connection::new(reader, writer, "peer".to_owned())
}

/// Reads up to the end; lines and whether it ended as half a close.
async fn lines(reader: &mut Reader) -> (Vec<String>, bool) {
    let mut framer = Framer::new(1 << 27);
    let mut lines = Vec::new();
    let ended = loop {
        match reader.read(&mut framer).await {
            Ok(0) => break true,
            Ok(_) => {}
            Err(error) => {
                assert!(is_gone(&error), "{error}");
                break false;
            }
        }
        while let Some(Frame::Line(line)) = framer.next() {
            lines.push(String::from_utf8(line.text().to_vec()).unwrap());
        }
    };
    while let Some(Frame::Line(line)) = framer.finish() {
        lines.push(String::from_utf8(line.text().to_vec()).unwrap());
    }
    (lines, ended)
}

fn outbox(texts: &[&str]) -> Outbox {
    let mut outbox = Outbox::default();
    for text in texts {
        outbox.push(&Line::from_text(text.as_bytes()), None);
    }
    outbox
}

#[tokio::test]
async fn half_a_close_leaves_the_other_direction_open() {
    let (one, other) = tcp_pair().await;
    let (mut one, mut other) = (connection(one), connection(other));
    one.writer.write(&mut outbox(&["1"])).await.unwrap();
    one.writer.close_write();
    assert_eq!(lines(&mut other.reader).await, (vec!["1".to_owned()], true));
    other.writer.write(&mut outbox(&["2", "3"])).await.unwrap();
    other.writer.close_write();
    assert_eq!(lines(&mut one.reader).await, (vec!["2".to_owned(), "3".to_owned()], true));
}

#[tokio::test]
async fn a_line_in_pieces_and_a_last_line_without_end_arrive_whole() {
    let (mut one, other) = tcp_pair().await;
    let mut other = connection(other);
    let text = "{\"t\":\"h\u{e9}llo \u{2014} \u{8aad}\u{53d6} \u{1f389}\"}";
    let feed = async {
        for byte in text.as_bytes() {
            one.write_all(&[*byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        one.write_all(format!("\n{text}").as_bytes()).await.unwrap();
        drop(one);
    };
    let ((), (lines, ended)) = tokio::join!(feed, lines(&mut other.reader));
    assert_eq!(lines, [text, text]);
    assert!(ended);
}

#[tokio::test]
async fn a_large_message_passes_in_both_directions_at_once() {
    let (one, other) = tcp_pair().await;
    let (one, other) = (connection(one), connection(other));
    let large = format!("[\"{}\"]", "A".repeat(8 << 20));
    let run = |mut end: Connection| {
        let large = large.clone();
        async move {
            let mut out = outbox(&[&large, "1"]);
            let write = async {
                assert!(end.writer.write(&mut out).await.unwrap().empty);
                end.writer.close_write();
            };
            let ((), (lines, ended)) = tokio::join!(write, lines(&mut end.reader));
            assert!(ended && lines.len() == 2 && lines[0] == large && lines[1] == "1");
        }
    };
    tokio::join!(run(one), run(other));
}

#[tokio::test]
async fn a_write_that_waits_can_be_dropped_without_losing_or_doubling_a_byte() {
    let (one, other) = tcp_pair().await;
    let (mut one, mut other) = (connection(one), connection(other));
    let texts: Vec<String> = (0..400).map(|n| format!("{n}{}", "x".repeat(20_000))).collect();
    let mut out = outbox(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    // Nobody reads: it gets stuck, and is given up.
    assert!(timeout(Duration::from_millis(50), one.writer.write(&mut out)).await.is_err());
    assert!(!out.is_empty() && out.bytes() < 400 * 20_000);
    let write = async {
        while !out.is_empty() {
            let _ = timeout(Duration::from_micros(200), one.writer.write(&mut out)).await;
        }
        one.writer.close_write();
    };
    let ((), (read, ended)) = tokio::join!(write, lines(&mut other.reader));
    assert!(ended && read == texts);
}

#[tokio::test]
async fn a_reset_is_the_peers_end_and_no_panic() {
    let (one, other) = tcp_pair().await;
    let mut other = connection(other);
    one.set_zero_linger().unwrap();
    drop(one);
    assert_eq!(lines(&mut other.reader).await, (vec![], false));
    // It is over: more calls are harmless.
    assert_eq!(other.reader.read(&mut Framer::new(10)).await.unwrap(), 0);
    let error = other.writer.write(&mut outbox(&["1"])).await.unwrap_err();
    assert!(is_gone(&error), "{error}");
    assert!(other.writer.is_closed());
    assert!(is_gone(&other.writer.write(&mut outbox(&["1"])).await.unwrap_err()));
    other.writer.close_write();
    other.writer.finish().await;
}

#[tokio::test]
async fn nothing_to_write_is_done_at_once_even_on_a_closed_writer() {
    let mut writer = Writer::closed();
    assert_eq!(writer.write(&mut Outbox::default()).await.unwrap(), Progress { written: 0, empty: true });
}

#[tokio::test]
async fn a_pipe_whose_reader_is_gone_ends_the_writer() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let mut writer = pipe_writer(writer).unwrap();
    drop(reader);
    assert!(is_gone(&writer.write(&mut outbox(&["1"])).await.unwrap_err()));
}

#[tokio::test]
async fn closing_a_pipe_is_the_end_for_its_reader() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let (mut reader, mut writer) = (pipe_reader(reader).unwrap(), pipe_writer(writer).unwrap());
    writer.write(&mut outbox(&["1"])).await.unwrap();
    writer.close_write();
    assert_eq!(lines(&mut reader).await, (vec!["1".to_owned()], true));
}

#[tokio::test]
async fn a_unix_socket_is_a_connection_like_any_other() {
    let (one, other) = UnixStream::pair().unwrap();
    let split = |stream: UnixStream| {
        let (reader, writer) = stream.into_split();
        Connection::new(reader, writer, String::new())
    };
    let (mut one, mut other) = (split(one), split(other));
    one.writer.write(&mut outbox(&["1"])).await.unwrap();
    one.writer.close_write();
    assert_eq!(lines(&mut other.reader).await, (vec!["1".to_owned()], true));
    other.writer.write(&mut outbox(&["2"])).await.unwrap();
    other.writer.close_write();
    assert_eq!(lines(&mut one.reader).await, (vec!["2".to_owned()], true));
}
