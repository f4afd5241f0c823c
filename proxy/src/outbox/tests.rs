use mcpl_codec::{Frame, Framer};
use proptest::prelude::*;

use super::*;

fn line(text: &str) -> Line {
    Line::from_text(text.as_bytes())
}

/// Writes what may leave, `most` bytes a call, and returns it.
fn drain(outbox: &mut Outbox, most: usize) -> String {
    let mut out = Vec::new();
    while !outbox.is_empty() {
        let copied = outbox.copy(most);
        assert!(!copied.is_empty(), "queued, but nothing leaves");
        outbox.wrote(copied.len());
        out.extend(copied);
    }
    String::from_utf8(out).unwrap()
}

fn events(outbox: &mut Outbox) -> Vec<Event> {
    std::iter::from_fn(|| outbox.event()).collect()
}

#[test]
fn small_lines_leave_in_one_piece_and_large_ones_are_not_copied() {
    let mut outbox = Outbox::default();
    let large = line(&"x".repeat(COPY_MAX));
    for text in ["1", "2"] {
        outbox.push(&line(text), None);
    }
    outbox.push(&large, None);
    outbox.push(&line("3"), None);
    let mut slices = [IoSlice::new(&[]); 8];
    assert_eq!(outbox.slices(&mut slices), 3);
    assert_eq!(&*slices[0], b"1\n2\n");
    assert_eq!(slices[1].as_ptr(), large.wire().as_ptr());
    assert_eq!(&*slices[2], b"3\n");
}

#[test]
fn a_small_line_does_not_keep_the_buffer_it_came_in() {
    let mut framer = Framer::new(99);
    framer.buf().extend_from_slice(b"[1]\n[2]\n");
    let lines: Vec<_> = std::iter::from_fn(|| framer.next()).collect();
    drop(framer);
    let [Frame::Line(one), Frame::Line(other)] = &lines[..] else { panic!("two lines") };
    let (one, other) = (one.clone(), other.clone());
    drop(lines);
    let mut outbox = Outbox::default();
    outbox.push(&one, None);
    outbox.push(&other, Some(1));
    drop(other);
    assert!(one.wire().is_unique());
}

#[test]
fn full_is_from_the_limit_on_and_one_message_always_fits() {
    let mut outbox = Outbox::new(100);
    assert!(!outbox.is_full());
    outbox.push(&line(&"x".repeat(1000)), None);
    assert!(outbox.is_full());
    assert_eq!(outbox.bytes(), 1001);
    outbox.wrote(1000);
    assert!(!outbox.is_full());
    outbox.wrote(1);
    assert!(outbox.is_empty());
}

#[test]
fn tiny_lines_with_tags_are_bounded_too() {
    let mut outbox = Outbox::default();
    let mut count = 0;
    while !outbox.is_full() {
        outbox.push(&line("1"), Some(count));
        count += 1;
    }
    assert!(count < 5000, "{count}");
}

#[test]
fn lines_with_a_tag_leave_the_room_of_the_others_to_them() {
    let mut outbox = Outbox::new(100);
    let tagged = line(&"t".repeat(1000));
    outbox.push(&tagged, Some(1));
    outbox.push(&tagged, Some(2));
    assert!(outbox.is_full() && !outbox.is_full_of_untagged());
    outbox.push(&line(&"x".repeat(99)), None);
    assert!(outbox.is_full_of_untagged());
    assert!(outbox.withdraw(2) && outbox.is_full_of_untagged());
    outbox.wrote(1001);
    assert!(outbox.is_full_of_untagged(), "what was written leaves no room behind");
    outbox.wrote(90);
    assert!(!outbox.is_full_of_untagged() && !outbox.is_full());
    outbox.wrote(10);
    assert!(outbox.is_empty());
}

#[test]
fn the_first_and_the_last_byte_of_a_tagged_line_are_reported_once() {
    let mut outbox = Outbox::default();
    outbox.push(&line("aa"), None);
    outbox.push(&line("bb"), Some(1));
    outbox.push(&line("cc"), Some(2));
    outbox.wrote(3);
    assert_eq!(events(&mut outbox), []);
    assert_eq!(outbox.unstarted().collect::<Vec<_>>(), [1, 2]);
    outbox.wrote(1);
    assert_eq!(events(&mut outbox), [Event::Started(1)]);
    outbox.wrote(1);
    assert_eq!(events(&mut outbox), []);
    assert_eq!(outbox.unstarted().collect::<Vec<_>>(), [2]);
    outbox.wrote(4);
    assert_eq!(events(&mut outbox), [Event::Written(1), Event::Started(2), Event::Written(2)]);
}

#[test]
fn a_withdrawn_line_leaves_no_byte_and_a_started_one_cannot_be_withdrawn() {
    let mut outbox = Outbox::default();
    for (text, tag) in [("aa", 1), ("bb", 2), ("cc", 3)] {
        outbox.push(&line(text), Some(tag));
    }
    outbox.wrote(1);
    assert!(!outbox.withdraw(1));
    assert!(outbox.withdraw(2));
    assert!(!outbox.withdraw(2));
    assert_eq!(drain(&mut outbox, 64), "a\ncc\n");
    let all = [Event::Started(1), Event::Written(1), Event::Started(3), Event::Written(3)];
    assert_eq!(events(&mut outbox), all);
}

proptest! {
    /// Whatever the sizes, tags and write lengths: the bytes leave in order, each tag is started and written
    /// once, in order.
    #[test]
    fn order_and_tags_hold_for_any_mix(
        lines in prop::collection::vec((0usize..9000, any::<bool>()), 1..40),
        steps in prop::collection::vec(1usize..20_000, 1..40),
    ) {
        let mut outbox = Outbox::default();
        let mut expected = String::new();
        let mut tags = Vec::new();
        for (number, (length, tagged)) in lines.into_iter().enumerate() {
            let text = format!("{number}{}", "x".repeat(length));
            let tag = tagged.then_some(number as u64);
            tags.extend(tag.iter().flat_map(|&tag| [Event::Started(tag), Event::Written(tag)]));
            outbox.push(&line(&text), tag);
            expected.push_str(&text);
            expected.push('\n');
        }
        let mut out = Vec::new();
        let mut reported = Vec::new();
        let mut steps = steps.iter().cycle();
        while !outbox.is_empty() {
            let copied = outbox.copy(*steps.next().unwrap());
            outbox.wrote(copied.len());
            out.extend(copied);
            reported.extend(std::iter::from_fn(|| outbox.event()));
        }
        prop_assert_eq!(String::from_utf8(out).unwrap(), expected);
        prop_assert_eq!(reported, tags);
        prop_assert!(outbox.is_empty() && outbox.segments.is_empty() && outbox.marks.is_empty());
    }
}

/// A message as a WebSocket brings it.
fn message(text: &str) -> Line {
    let mut framer = Framer::messages(99);
    framer.buf().extend_from_slice(text.as_bytes());
    framer.end_message();
    let Some(Frame::Line(line)) = framer.next() else { panic!("no message") };
    line
}

/// Takes the queue line by line, `most` bytes a time.
fn taken(outbox: &mut Outbox, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    while let Some(rest) = outbox.front() {
        let piece = &rest[..rest.len().min(most)];
        let (piece, last) = (String::from_utf8(piece.to_vec()).unwrap(), piece.len() == rest.len());
        outbox.wrote(piece.len());
        lines.last_mut().unwrap().push_str(&piece);
        if last {
            lines.push(String::new());
        }
    }
    assert_eq!(lines.pop().unwrap(), "");
    lines
}

#[test]
fn towards_messages_every_byte_is_kept_and_each_message_is_one() {
    for most in [1, 2, 99] {
        let mut outbox = Outbox::default();
        outbox.keep_breaks(true);
        for (text, tag) in [("1", None), ("[\n\r\n2]", None), ("3", None), ("{\n}", Some(7)), ("4\r", None)] {
            outbox.push(&message(text), tag);
        }
        assert_eq!(taken(&mut outbox, most), ["1\n", "[\n\r\n2]\n", "3\n", "{\n}\n", "4\r\n"], "{most}");
        assert_eq!(events(&mut outbox), [Event::Started(7), Event::Written(7)]);
    }
}

#[test]
fn towards_lines_each_byte_of_a_line_break_is_a_space() {
    let texts = ["1", "[\n\r\n2]", "3", "{\n}"];
    let mut outbox = Outbox::default();
    for text in texts {
        outbox.push(&message(text), None);
    }
    assert_eq!(drain(&mut outbox, 99), "1\n[   2]\n3\n{ }\n");
    // Queued before it was known what the peer is.
    outbox.keep_breaks(true);
    for text in texts {
        outbox.push(&message(text), None);
    }
    outbox.keep_breaks(false);
    assert_eq!(drain(&mut outbox, 99), "1\n[   2]\n3\n{ }\n");
}
