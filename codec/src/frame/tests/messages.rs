//! Message mode: the transport knows where a message ends.

use super::*;

/// The frames of messages, each given in pieces.
fn read_messages(limit: usize, messages: &[&[&[u8]]]) -> Vec<Frame> {
    let mut framer = Framer::messages(limit);
    let mut frames = Vec::new();
    for message in messages {
        for piece in *message {
            framer.buf().extend_from_slice(piece);
            frames.extend(std::iter::from_fn(|| framer.next()));
        }
        framer.end_message();
        frames.extend(std::iter::from_fn(|| framer.next()));
    }
    frames.extend(std::iter::from_fn(|| framer.finish()));
    frames
}

fn message(text: &str) -> Frame {
    Frame::Line(Line::from_message(format!("{text}\n").into()))
}

#[test]
fn a_message_keeps_every_byte_whatever_breaks_it_has() {
    for text in ["{}", "{\n  \"a\": 1\r\n}", "[1]\r\n", "\r\n[1]", "[\"in a\nstring\"]", "[1]\n[2]"] {
        let frames = read_messages(99, &[&[text.as_bytes()]]);
        let [Frame::Line(line)] = &frames[..] else { panic!("{frames:?}") };
        assert_eq!(line.text(), text.as_bytes());
        assert_eq!(line.has_breaks(), text != "{}");
    }
}

#[test]
fn messages_of_one_read_are_given_in_order_and_are_the_read_buffer_itself() {
    let mut framer = Framer::messages(99);
    for text in ["[1]", "", "{\n}", " \n", "[3]"] {
        framer.buf().extend_from_slice(text.as_bytes());
        framer.end_message();
    }
    let start = framer.buf.as_ptr();
    let Some(Frame::Line(first)) = framer.next() else { panic!("no message") };
    assert_eq!(first.text().as_ptr(), start);
    framer.buf().extend_from_slice(b"[4");
    assert_eq!(framer.next(), Some(message("{\n}")));
    assert_eq!(framer.next(), Some(message("[3]")));
    assert_eq!(framer.next(), None);
    framer.buf().extend_from_slice(b"]");
    framer.end_message();
    assert_eq!(framer.next(), Some(message("[4]")));
    assert_eq!(framer.finish(), None);
}

#[test]
fn a_message_that_the_stream_ends_in_is_none() {
    let mut framer = Framer::messages(99);
    framer.buf().extend_from_slice(b"[1]");
    framer.end_message();
    framer.buf().extend_from_slice(b"{\"half\":");
    assert_eq!(framer.finish(), Some(message("[1]")));
    assert_eq!(framer.finish(), None);
}

#[test]
fn a_bom_at_the_start_of_a_message_is_dropped_and_not_counted() {
    assert_eq!(read_messages(3, &[&[b"\xef\xbb", b"\xbf[1]"]]), [message("[1]")]);
    assert_eq!(read_messages(3, &[&[b"\xef\xbb\xbf"]]), []);
}

#[test]
fn the_limit_of_a_message_is_exact_and_the_session_goes_on() {
    for limit in [3, HEAD_BYTES, HEAD_BYTES + 9] {
        let fits = vec![b'1'; limit];
        let over = vec![b'1'; limit + 1];
        let head = too_long(&over[..over.len().min(HEAD_BYTES)]);
        let expected = [message(std::str::from_utf8(&fits).unwrap()), head, message("[]")];
        assert_eq!(read_messages(limit, &[&[&fits], &[&over], &[b"[]"]]), expected, "{limit}");
        let (begin, end) = over.split_at(limit / 2);
        assert_eq!(read_messages(limit, &[&[BOM, &fits], &[BOM, &over], &[b"[]"]]), expected, "{limit}");
        assert_eq!(read_messages(limit, &[&[&fits], &[begin, end], &[b"[]"]]), expected, "{limit}");
    }
}

#[test]
fn a_message_over_the_limit_is_not_buffered_and_told_once() {
    let limit = 1 << 20;
    let mut framer = Framer::messages(limit);
    let mut count = 0;
    for _ in 0..1000 {
        framer.buf().extend_from_slice(&[b'x'; 8192]);
        while let Some(frame) = framer.next() {
            assert!(matches!(frame, Frame::TooLong(head) if head.len() == HEAD_BYTES));
            count += 1;
        }
        assert!(framer.buf.len() <= limit + 8192);
    }
    framer.end_message();
    framer.buf().extend_from_slice(b"{}");
    framer.end_message();
    assert_eq!(framer.next(), Some(message("{}")));
    assert_eq!(count, 1);
    assert!(framer.buf().capacity() <= 4 * READ_BYTES, "the memory is given back");
}

proptest! {
    #[test]
    fn messages_do_not_depend_on_how_their_bytes_come(
        messages in prop::collection::vec(
            prop::collection::vec(
                prop::collection::vec(prop::sample::select(b"\n\r {}x\xef\xbb\xbf".to_vec()), 0..6), 0..4),
            0..6),
        limit in 0..12_usize,
    ) {
        let pieces: Vec<Vec<&[u8]>> =
            messages.iter().map(|message| message.iter().map(Vec::as_slice).collect()).collect();
        let joined: Vec<Vec<u8>> = messages.iter().map(|message| message.concat()).collect();
        let pieces: Vec<&[&[u8]]> = pieces.iter().map(Vec::as_slice).collect();
        let wholes: Vec<[&[u8]; 1]> = joined.iter().map(|message| [&message[..]]).collect();
        let wholes: Vec<&[&[u8]]> = wholes.iter().map(<[_; 1]>::as_slice).collect();
        prop_assert_eq!(read_messages(limit, &pieces), read_messages(limit, &wholes));
    }
}
