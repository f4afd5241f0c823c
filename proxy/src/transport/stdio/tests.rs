use std::io::{Read as _, Seek as _, Write as _};
use std::time::Duration;

use mcpl_codec::frame::{Frame, Framer};
use mcpl_codec::line::Line;
use tokio::time::timeout;

use super::*;
use crate::outbox::Outbox;

async fn text(reader: &mut Reader) -> String {
    let mut framer = Framer::new(1 << 20);
    let read = async {
        while reader.read(&mut framer).await.unwrap() > 0 {}
        let mut text = String::new();
        while let Some(Frame::Line(line)) = framer.finish() {
            text.push_str(str::from_utf8(line.wire()).unwrap());
        }
        text
    };
    timeout(Duration::from_secs(10), read).await.unwrap()
}

async fn say(writer: &mut Writer, text: &str) {
    let mut outbox = Outbox::default();
    outbox.push(&Line::from_text(text.as_bytes()), None);
    writer.write(&mut outbox).await.unwrap();
}

fn is_blocking(descriptor: &OwnedFd) -> bool {
    !rustix::fs::fcntl_getfl(descriptor).unwrap().contains(OFlags::NONBLOCK)
}

#[tokio::test]
async fn fifos_are_read_and_written_and_stay_blocking_for_others() {
    let (input, mut feed) = std::io::pipe().unwrap();
    let (mut out, output) = std::io::pipe().unwrap();
    let (others_in, others_out) =
        (OwnedFd::from(input.try_clone().unwrap()), OwnedFd::from(output.try_clone().unwrap()));
    let mut connection = connect(Some(input.into()), Some(output.into())).unwrap();
    assert!(is_blocking(&others_in) && is_blocking(&others_out) || cfg!(not(target_os = "linux")));
    feed.write_all(b"1\n2").unwrap();
    drop(feed);
    assert_eq!(text(&mut connection.reader).await, "1\n2\n");
    say(&mut connection.writer, "3").await;
    drop(others_out);
    connection.writer.close_write();
    let mut heard = String::new();
    out.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "3\n");
    drop(connection);
    assert!(is_blocking(&others_in));
}

#[tokio::test]
async fn sockets_are_read_and_written_and_block_again_afterwards() {
    let (ours_in, mut feed) = StdUnixStream::pair().unwrap();
    let (ours_out, mut out) = StdUnixStream::pair().unwrap();
    let others: Vec<OwnedFd> =
        vec![ours_in.try_clone().unwrap().into(), ours_out.try_clone().unwrap().into()];
    let mut connection = connect(Some(ours_in.into()), Some(ours_out.into())).unwrap();
    feed.write_all(b"1\n").unwrap();
    feed.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(text(&mut connection.reader).await, "1\n");
    say(&mut connection.writer, "2").await;
    connection.writer.close_write();
    out.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut heard = String::new();
    out.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "2\n");
    drop(connection);
    assert!(others.iter().all(is_blocking));
}

#[tokio::test]
async fn one_socket_for_both_directions_stays_non_blocking_until_both_ended() {
    let (ours, mut peer) = StdUnixStream::pair().unwrap();
    let others = OwnedFd::from(ours.try_clone().unwrap());
    let mut connection = connect(Some(ours.try_clone().unwrap().into()), Some(ours.into())).unwrap();
    peer.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(text(&mut connection.reader).await, "");
    assert!(!is_blocking(&others));
    say(&mut connection.writer, "2").await;
    connection.writer.close_write();
    peer.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut heard = String::new();
    peer.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "2\n");
    assert!(is_blocking(&others));
}

#[tokio::test]
async fn regular_files_are_read_and_written() {
    let mut input = tempfile::tempfile().unwrap();
    let mut output = tempfile::tempfile().unwrap();
    let long = "x".repeat(300_000);
    write!(input, "1\n{long}\n2").unwrap();
    input.rewind().unwrap();
    let ours = output.try_clone().unwrap();
    let mut connection = connect(Some(input.into()), Some(ours.into())).unwrap();
    assert_eq!(text(&mut connection.reader).await, format!("1\n{long}\n2\n"));
    say(&mut connection.writer, &long).await;
    say(&mut connection.writer, "end").await;
    timeout(Duration::from_secs(10), connection.writer.finish()).await.unwrap();
    let mut written = String::new();
    output.rewind().unwrap();
    output.read_to_string(&mut written).unwrap();
    assert_eq!(written, format!("{long}\nend\n"));
}

#[tokio::test]
async fn a_closed_descriptor_is_an_end_and_no_error() {
    let mut connection = connect(None, None).unwrap();
    assert_eq!(text(&mut connection.reader).await, "");
    assert!(connection.writer.is_closed());
}

#[tokio::test]
async fn a_host_that_is_gone_before_the_start_is_an_end() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    drop(reader);
    let mut connection = connect(None, Some(writer)).unwrap();
    let mut outbox = Outbox::default();
    outbox.push(&Line::from_text(b"1"), None);
    assert!(super::super::is_gone(&connection.writer.write(&mut outbox).await.unwrap_err()));
}
