use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mcpl_codec::line::Line;
use mcpl_codec::{Frame, Framer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::time::{Instant, advance, timeout};

use super::super::Progress;
use super::close::Close;
use super::frames::{self, Op};
use super::*;
use crate::outbox::Outbox;

const MOMENT: Duration = Duration::from_millis(1);

/// Our end of a WebSocket, and the peer's bare end; as much may be on its way.
fn ours(role: Role, room: usize) -> (Connection, DuplexStream) {
    let (ours, theirs) = duplex(room);
    (connection(split(ours), role, &Bytes::new(), "peer".to_owned()), theirs)
}

fn outbox(texts: &[&str]) -> Outbox {
    let mut outbox = Outbox::default();
    for text in texts {
        outbox.push(&Line::from_text(text.as_bytes()), None);
    }
    outbox
}

/// Takes what there is to read; `None`: nothing more now.
async fn read(connection: &mut Connection, framer: &mut Framer) -> Option<io::Result<usize>> {
    poll_fn(|cx| match connection.reader.poll_read(cx, framer) {
        Poll::Ready(read) => Poll::Ready(Some(read)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Writes what can be written now.
async fn write(connection: &mut Connection, outbox: &mut Outbox) -> Option<io::Result<Progress>> {
    poll_fn(|cx| match connection.writer.poll_write(cx, outbox) {
        Poll::Ready(wrote) => Poll::Ready(Some(wrote)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// What has come at the peer's end.
async fn heard(theirs: &mut DuplexStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Ok(1..)) = timeout(Duration::ZERO, theirs.read_buf(&mut bytes)).await {}
    bytes
}

fn texts(framer: &mut Framer) -> Vec<String> {
    let mut texts = Vec::new();
    while let Some(frame) = framer.next() {
        let Frame::Line(line) = frame else { panic!("{frame:?}") };
        texts.push(String::from_utf8(line.text().to_vec()).unwrap());
    }
    texts
}

#[tokio::test]
async fn what_one_end_writes_the_other_reads_whatever_its_size_and_the_room_on_the_way() {
    let sizes = [1, 100, 123, 124, 125, 126, 4096, 16_384, 65_533, 65_534, 65_535, 65_536, 200_000, 1 << 20];
    for room in [7, 1000, 100_000] {
        let (client, server) = duplex(room);
        let client = connection(split(client), Role::Client, &Bytes::new(), String::new());
        let server = connection(split(server), Role::Server, &Bytes::new(), String::new());
        let sent: Vec<String> =
            sizes.iter().filter(|size| **size < room * 4000).map(|size| "7".repeat(*size)).collect();
        let run = |end: Connection, sent: Vec<String>| async move {
            let mut framer = end.framer(1 << 27);
            let mut out = outbox(&sent.iter().map(String::as_str).collect::<Vec<_>>());
            end.writer.part(Close::new(4000, "done"));
            let Connection { mut reader, mut writer, .. } = end;
            let write = async {
                writer.write(&mut out).await.unwrap();
                writer.finish().await;
            };
            let read = async {
                let mut got = Vec::new();
                while reader.read(&mut framer).await.unwrap() > 0 {
                    got.extend(texts(&mut framer));
                }
                got.extend(texts(&mut framer));
                got
            };
            let ((), got) = tokio::join!(write, read);
            assert!(got == sent, "room {room}");
            assert_eq!(writer.heard(), Some(Close::new(4000, "done")));
        };
        tokio::join!(run(client, sent.clone()), run(server, sent));
    }
}

/// Takes everything, and counts the writes.
struct Counted(Arc<AtomicUsize>);

impl AsyncWrite for Counted {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn several_small_messages_leave_in_one_write() {
    let writes = Arc::new(AtomicUsize::new(0));
    let streams = (tokio::io::empty(), Counted(Arc::clone(&writes)));
    let mut end = connection(streams, Role::Server, &Bytes::new(), String::new());
    let text = "1".repeat(500);
    let mut out = outbox(&vec![&*text; 100]);
    assert!(write(&mut end, &mut out).await.unwrap().unwrap().empty);
    assert_eq!(writes.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_ping_is_sent_every_thirty_seconds() {
    let (mut ours, mut theirs) = ours(Role::Server, 1 << 16);
    write(&mut ours, &mut outbox(&["1"])).await.unwrap().unwrap();
    assert_eq!(heard(&mut theirs).await, b"\x81\x011");
    for _ in 0..3 {
        advance(PULSE.saturating_sub(MOMENT)).await;
        write(&mut ours, &mut Outbox::default()).await.unwrap().unwrap();
        assert_eq!(heard(&mut theirs).await, b"");
        advance(MOMENT).await;
        write(&mut ours, &mut Outbox::default()).await.unwrap().unwrap();
        assert_eq!(heard(&mut theirs).await, b"\x89\x00");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_silent_for_a_minute_is_gone_and_a_pong_is_no_silence() {
    let (mut ours, mut theirs) = ours(Role::Client, 1 << 16);
    let mut framer = ours.framer(99);
    for _ in 0..3 {
        advance(SILENCE.saturating_sub(MOMENT)).await;
        assert!(read(&mut ours, &mut framer).await.is_none());
        theirs.write_all(b"\x8a\x00").await.unwrap();
        while let Some(read) = read(&mut ours, &mut framer).await {
            read.unwrap();
        }
    }
    let since = Instant::now();
    let error = ours.reader.read(&mut framer).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    let waited = since.elapsed();
    assert!(waited + 2 * MOMENT >= SILENCE && waited <= SILENCE + Duration::from_secs(1), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn what_nobody_reads_is_no_silence_of_the_peer() {
    let (mut ours, _theirs) = ours(Role::Client, 1 << 16);
    let mut framer = ours.framer(99);
    assert!(read(&mut ours, &mut framer).await.is_none());
    advance(Duration::from_mins(5)).await;
    assert!(read(&mut ours, &mut framer).await.is_none(), "it may have had something to say");
    assert_eq!(ours.reader.read(&mut framer).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn control_frames_do_not_cut_into_a_message_and_only_the_newest_ping_is_answered() {
    let (mut ours, mut theirs) = ours(Role::Client, 1000);
    let mut framer = ours.framer(99);
    let text = "1".repeat(200_000);
    let mut out = outbox(&[&text, "2"]);
    assert!(write(&mut ours, &mut out).await.is_none(), "there is no room for all of it");
    for payload in [b"a", b"b", b"c"] {
        let mut ping = vec![0x89, 1];
        ping.extend(payload);
        theirs.write_all(&ping).await.unwrap();
        read(&mut ours, &mut framer).await.unwrap().unwrap();
        assert!(write(&mut ours, &mut out).await.is_none());
    }
    let mut reading = Vec::new();
    while write(&mut ours, &mut out).await.is_none() {
        reading.extend(heard(&mut theirs).await);
    }
    reading.extend(heard(&mut theirs).await);
    // The message, then the pong, then the next message.
    let (end, pong_and_more) = reading.split_at(14 + text.len());
    assert_eq!(end[1], 0x80 | 127);
    assert_eq!(pong_and_more.len(), (6 + 1) + (6 + 1));
    assert_eq!((pong_and_more[0], pong_and_more[7]), (0x8a, 0x81));
    assert_eq!(pong_and_more[6] ^ pong_and_more[2], b'c');
}

#[tokio::test]
async fn what_a_handshake_read_too_much_of_is_not_lost() {
    let (stream, mut theirs) = duplex(100);
    let mut begun = Vec::new();
    frames::control(&mut begun, Op::Text, b"[1]", Role::Client);
    frames::control(&mut begun, Op::Text, b"[2]", Role::Client);
    // Of the second message the last byte is still to come.
    let last = begun.pop().unwrap();
    let mut end = connection(split(stream), Role::Server, &Bytes::from(begun), String::new());
    let mut framer = end.framer(99);
    assert!(read(&mut end, &mut framer).await.unwrap().unwrap() > 0);
    assert_eq!(texts(&mut framer), ["[1]"]);
    theirs.write_all(&[last]).await.unwrap();
    read(&mut end, &mut framer).await.unwrap().unwrap();
    assert_eq!(texts(&mut framer), ["[2]"]);
}

#[tokio::test]
async fn nothing_is_written_after_a_close_frame() {
    let (mut ours, mut theirs) = ours(Role::Server, 1 << 16);
    ours.writer.part(Close::new(Close::AWAY, "bye"));
    ours.writer.part(Close::new(4000, "too late"));
    ours.writer.close_write();
    write(&mut ours, &mut Outbox::default()).await.unwrap().unwrap();
    assert!(ours.writer.is_closed());
    assert_eq!(heard(&mut theirs).await, b"\x88\x05\x03\xe9bye");
    assert!(write(&mut ours, &mut outbox(&["1"])).await.unwrap().is_err());
    assert_eq!(heard(&mut theirs).await, b"");
}
