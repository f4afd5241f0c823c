use proptest::prelude::*;

use super::*;

mod messages;

/// The frames of `chunks`, read one by one.
fn read(limit: usize, chunks: &[&[u8]]) -> Vec<Frame> {
    let mut reader = Framer::new(limit);
    let mut frames = Vec::new();
    for chunk in chunks {
        reader.buf().extend_from_slice(chunk);
        frames.extend(std::iter::from_fn(|| reader.next()));
    }
    frames.extend(std::iter::from_fn(|| reader.finish()));
    frames
}

fn line(text: &str) -> Frame {
    Frame::Line(Line::from_text(text.as_bytes()))
}

fn too_long(head: &[u8]) -> Frame {
    Frame::TooLong(Bytes::copy_from_slice(head))
}

#[test]
fn lines_are_cut_at_line_ends_of_either_kind() {
    assert_eq!(read(99, &[b"{}\n[1]\r\n{\"a\":1}\n"]), [line("{}"), line("[1]"), line("{\"a\":1}")]);
    assert_eq!(read(99, &[b"{}\r\r\n"]).len(), 1, "one of two is a line end");
}

#[test]
fn half_a_line_at_the_end_is_a_line() {
    assert_eq!(read(99, &[b"{}\n{\"a\"", b":1}"]), [line("{}"), line("{\"a\":1}")]);
    assert_eq!(read(99, &[b"{}\r"]), [line("{}")]);
    assert_eq!(read(99, &[b"{}\n", b"  "]), [line("{}")]);
}

#[test]
fn blank_lines_and_a_bom_at_the_start_are_dropped() {
    assert_eq!(read(99, &[b"\xef\xbb\xbf{}\n\n \t\r\n\r\n1\n"]), [line("{}"), line("1")]);
    assert_eq!(read(99, &[b"\xef", b"\xbb", b"\xbf", b"{}\n"]), [line("{}")]);
    assert_eq!(read(99, &[b"\xef\xbb\xbf"]), []);
    assert_eq!(read(99, &[]), []);
}

#[test]
fn a_bom_elsewhere_and_half_a_bom_are_kept() {
    assert_eq!(read(99, &[b"{}\n\xef\xbb\xbf{}\n"]), [line("{}"), line("\u{feff}{}")]);
    for start in [&b"\xef\xbb"[..], b"\xef", b"\xef\xbb{}"] {
        let Some(Frame::Line(line)) = read(99, &[start]).pop() else { panic!("no line") };
        assert_eq!(line.text(), start);
    }
}

#[test]
fn the_limit_itself_is_allowed_and_counts_neither_line_end_nor_bom() {
    for end in ["\n", "\r\n", ""] {
        let text = format!("\u{feff}12345{end}");
        assert_eq!(read(5, &[text.as_bytes()]), [line("12345")], "{end:?}");
        assert_eq!(read(4, &[text.as_bytes()]), [too_long(b"12345")], "{end:?}");
    }
}

#[test]
fn a_line_end_that_comes_in_halves_does_not_count_either() {
    for limit in [5, HEAD_BYTES, HEAD_BYTES + 7] {
        let text = vec![b'1'; limit];
        let expected = [Frame::Line(Line::from_text(&text))];
        assert_eq!(read(limit, &[&text, b"\r", b"\n"]), expected, "{limit}");
        assert_eq!(read(limit, &[&text, b"\r"]), expected, "{limit}");
        let head = too_long(&vec![b'1'; (limit + 1).min(HEAD_BYTES)]);
        assert_eq!(read(limit, &[&text, b"1\r", b"\n"]), [head], "{limit}");
    }
}

#[test]
fn after_a_line_over_the_limit_the_next_is_read() {
    assert_eq!(
        read(3, &[b"[12345]\n{}\n[6789]\r\n"]),
        [too_long(b"[12345]"), line("{}"), too_long(b"[6789]")]
    );
}

#[test]
fn a_limit_counts_from_when_it_is_set() {
    let mut framer = Framer::new(3);
    framer.buf().extend_from_slice(b"[12]\n[12]\n");
    assert_eq!(framer.next(), Some(too_long(b"[12]")));
    framer.set_limit(4);
    assert_eq!(framer.next(), Some(line("[12]")));
}

#[test]
fn the_head_is_the_same_however_the_line_ends() {
    for over in [0, 1, 2, 3] {
        let text = vec![b'x'; HEAD_BYTES + over];
        for end in ["\n", "\r\n", "\rx\n", "\r", ""] {
            let bytes = [&text[..], end.as_bytes()].concat();
            let whole = read(10, &[&bytes]);
            assert_eq!(whole, [too_long(&bytes[..HEAD_BYTES])], "{over} {end:?}");
            for cut in HEAD_BYTES - 2..bytes.len() {
                assert_eq!(read(10, &[&bytes[..cut], &bytes[cut..]]), whole, "{over} {end:?} {cut}");
            }
        }
    }
    let text = vec![b'x'; HEAD_BYTES - 1];
    let bytes = [&text[..], b"\r\n"].concat();
    for cut in HEAD_BYTES - 2..bytes.len() {
        assert_eq!(read(10, &[&bytes[..cut], &bytes[cut..]]), [too_long(&text)]);
    }
}

#[test]
fn a_line_without_end_is_not_buffered() {
    let limit = 1 << 20;
    let mut framer = Framer::new(limit);
    let mut count = 0;
    for _ in 0..1000 {
        framer.buf().extend_from_slice(&[b'x'; 8192]);
        while let Some(frame) = framer.next() {
            assert!(matches!(frame, Frame::TooLong(head) if head.len() == HEAD_BYTES));
            count += 1;
        }
        assert!(framer.buf.len() <= limit + 8192);
    }
    assert_eq!(count, 1);
    assert!(framer.buf().capacity() <= 4 * READ_BYTES, "the memory is given back");
    framer.buf().extend_from_slice(b"x\n{}\n");
    assert_eq!(framer.next(), Some(line("{}")));
}

#[test]
fn memory_is_given_back_after_a_large_line() {
    let mut framer = Framer::new(usize::MAX);
    let large = vec![b'1'; 8 << 20];
    for chunk in large.chunks(READ_BYTES) {
        framer.buf().extend_from_slice(chunk);
        assert_eq!(framer.next(), None);
    }
    framer.buf().extend_from_slice(b"\n{}\n");
    assert!(matches!(framer.next(), Some(Frame::Line(line)) if line.text() == large));
    assert!(framer.buf.capacity() <= 2 * READ_BYTES);
    assert_eq!(framer.next(), Some(line("{}")));
    assert!(framer.buf().capacity() <= 2 * READ_BYTES);
}

#[test]
fn a_read_is_always_offered_room() {
    let mut framer = Framer::new(usize::MAX);
    for len in [0, 1, 60_000, 5_000, 200_000] {
        let buf = framer.buf();
        assert!(buf.capacity() - buf.len() >= SPARE_BYTES);
        buf.extend_from_slice(&vec![b'1'; len]);
        framer.next();
    }
}

#[test]
fn a_line_is_the_read_buffer_itself() {
    let mut framer = Framer::new(99);
    framer.buf().extend_from_slice(b"[1]\r\n[2]\n");
    let start = framer.buf.as_ptr();
    let Some(Frame::Line(first)) = framer.next() else { panic!("no line") };
    assert_eq!(first.text().as_ptr(), start);
    assert_eq!(&first.wire()[..], b"[1]\n");
}

proptest! {
    #[test]
    fn frames_do_not_depend_on_how_the_bytes_come(
        bytes in prop::collection::vec(prop::sample::select(b"\n\n\r {}x\xef\xbb\xbf".to_vec()), 0..60),
        bom: bool,
        limit in 0..12_usize,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = if bom { [BOM, &bytes].concat() } else { bytes };
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<_> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let single: Vec<_> = bytes.chunks(1).collect();
        let whole = read(limit, &[&bytes]);
        prop_assert_eq!(&read(limit, &chunks), &whole);
        prop_assert_eq!(&read(limit, &single), &whole);
        // What an obvious reader makes of it.
        let text = bytes.strip_prefix(BOM).unwrap_or(&bytes);
        let expected: Vec<_> = text
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| line.len() > limit || line.iter().any(|&byte| !scan::is_space(byte)))
            .map(|line| {
                if line.len() > limit {
                    return too_long(line);
                }
                Frame::Line(Line::from_wire(Bytes::from([line, b"\n"].concat())))
            })
            .collect();
        prop_assert_eq!(whole, expected);
    }
}
