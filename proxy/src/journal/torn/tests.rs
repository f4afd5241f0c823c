use super::{FRAME, HEAD, Head, Log, PAGE, read};

/// A head that `SQLite` would read, and the log after it: frames of the salt `salt`, each the end of a commit or not.
struct Made {
    bytes: Vec<u8>,
    head: Head,
    sum: [u32; 2],
}

impl Made {
    fn new(salt: u8) -> Self {
        let mut bytes = [0_u8; HEAD];
        bytes[..4].copy_from_slice(&0x377f_0683_u32.to_be_bytes());
        bytes[4..8].copy_from_slice(&3_007_000_u32.to_be_bytes());
        bytes[8..12].copy_from_slice(&(PAGE as u32).to_be_bytes());
        bytes[16..24].fill(salt);
        let page = PAGE;
        let mut head = Head { is_big_endian: true, page, salt: [salt; 8], sum: [0; 2] };
        head.sum = head.add([0; 2], &bytes[..24]);
        bytes[24..28].copy_from_slice(&head.sum[0].to_be_bytes());
        bytes[28..].copy_from_slice(&head.sum[1].to_be_bytes());
        Self { bytes: bytes.to_vec(), sum: head.sum, head }
    }

    /// Frames, each the end of a commit or not.
    fn with(mut self, ends: &[bool]) -> Self {
        for end in ends {
            let mut frame = vec![self.bytes.len() as u8; FRAME + PAGE];
            frame[4..8].copy_from_slice(&u32::from(*end).to_be_bytes());
            frame[8..16].copy_from_slice(&self.head.salt);
            self.sum = self.head.chained(self.sum, &frame);
            frame[16..20].copy_from_slice(&self.sum[0].to_be_bytes());
            frame[20..24].copy_from_slice(&self.sum[1].to_be_bytes());
            self.bytes.extend(frame);
        }
        self
    }

    /// Frames that are not chained to what is before them.
    fn unchained(mut self, ends: &[bool]) -> Self {
        self.sum = [7, self.bytes.len() as u32];
        self.with(ends)
    }
}

fn frame(number: usize) -> usize {
    HEAD + number * (FRAME + PAGE)
}

fn told(bytes: &[u8]) -> Log {
    read(&mut &*bytes).unwrap()
}

/// What is told if one byte is another.
fn flipped(bytes: &[u8], at: usize) -> Log {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    told(&bytes)
}

#[test]
fn a_log_that_is_whole_or_has_nothing_in_it_is_whole() {
    let log = Made::new(1).with(&[true, false, true]).bytes;
    assert_eq!(told(&log), Log::Whole);
    for length in [0, 1, HEAD - 1, HEAD] {
        assert_eq!(told(&log[..length]), Log::Whole, "{length} bytes");
    }
    assert_eq!(told(b"{\"torn\":\"\0\0"), Log::Whole);
    assert_eq!(told(&[9; 400]), Log::Whole, "there is no room for a commit");
}

#[test]
fn a_log_without_a_readable_head_is_damaged() {
    let log = Made::new(1).with(&[true]).bytes;
    for at in 0..HEAD {
        assert_eq!(flipped(&log, at), Log::Headless, "byte {at}");
    }
}

#[test]
fn any_wrong_byte_before_the_last_commit_is_damage() {
    let log = Made::new(1).with(&[true, false, true, true, false, true]).bytes;
    for number in 0..4 {
        // Of the page's number, the length, the salt, the checksum, the page.
        for at in [3, 9, 17, FRAME, FRAME + PAGE - 1] {
            let log = flipped(&log, frame(number) + at);
            assert!(log.is_damaged(), "frame {number}, byte {at}: {log:?}");
        }
    }
    let Log::Damaged { at, commits } = flipped(&log, frame(1) + FRAME) else { panic!("not told") };
    assert_eq!((at, commits), (frame(1) as u64, 3));
}

#[test]
fn the_last_commit_may_be_torn() {
    let log = Made::new(1).with(&[true, true, false, true]).bytes;
    for at in [frame(2) + 3, frame(2) + 9, frame(2) + FRAME, frame(3) + 17, frame(3) + FRAME] {
        let log = flipped(&log, at);
        assert!(matches!(log, Log::Torn { ended: true, .. }), "{at}: {log:?}");
    }
    assert_eq!(told(&log[..frame(3)]), Log::Torn { pages: 1, ended: false });
    assert_eq!(told(&log[..frame(4) - 1]), Log::Torn { pages: 1, ended: false });
    assert_eq!(told(&log[..frame(2) + 5]), Log::Whole);
}

#[test]
fn garbage_and_frames_of_an_older_run_behind_the_end_are_normal() {
    let good = Made::new(2).with(&[true, false, true]).bytes;
    let mut garbage = good.clone();
    garbage.extend((0..60_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8));
    assert_eq!(told(&garbage), Log::Whole);
    let mut older = good;
    older.extend_from_slice(&Made::new(1).with(&[true; 9]).bytes[frame(3)..]);
    assert_eq!(told(&older), Log::Whole);
    let mut begun = Made::new(3).bytes;
    begun.extend_from_slice(&older[HEAD..]);
    assert_eq!(told(&begun), Log::Whole, "begun anew, and nothing written yet");
}

#[test]
fn what_failed_commits_left_behind_the_end_is_no_damage() {
    // Ten pages, then six over them, failed; then three were committed.
    let log = Made::new(1)
        .with(&[false, false, true])
        .unchained(&[false, false, true])
        .unchained(&[false, false, false, true]);
    assert_eq!(told(&log.bytes), Log::Torn { pages: 7, ended: true });
}
