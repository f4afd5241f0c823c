use std::io::Read as _;

use super::*;

const LONG: Duration = Duration::from_secs(10);

#[test]
fn what_is_passed_comes_out_in_order_and_can_be_waited_for() {
    let (mut out, end) = std::io::pipe().unwrap();
    let stderr = Stderr::start(Some(end.into()), 1000);
    assert!(stderr.flush_within(Duration::ZERO), "nothing was passed yet");
    assert!(stderr.pass(b"1\n"));
    stderr.clone().write_all(b"2\n").unwrap();
    assert!(stderr.flush_within(LONG));
    let mut heard = [0; 4];
    out.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"1\n2\n");
}

#[test]
fn a_stderr_that_nobody_reads_blocks_nobody_and_is_told_of_what_it_missed() {
    let (mut out, end) = std::io::pipe().unwrap();
    let stderr = Stderr::start(Some(end.into()), 100_000);
    let mut passed = 0;
    // More than the pipe and the queue hold.
    for _ in 0..100 {
        passed += usize::from(stderr.pass(&[b'x'; 10_000])) * 10_000;
    }
    assert_eq!(stderr.dropped() as usize, 1_000_000 - passed);
    assert!(stderr.dropped() > 0 && passed >= 100_000);
    assert!(!stderr.flush_within(Duration::from_millis(1)));
    let mut heard = Vec::new();
    while !heard.ends_with(b"dropped\n") {
        let mut piece = [0; 4096];
        let count = out.read(&mut piece).unwrap();
        heard.extend_from_slice(&piece[..count]);
    }
    assert_eq!(heard.split(|&byte| byte == b'x').count() - 1, passed);
    assert!(stderr.flush_within(LONG));
}

#[test]
fn a_dead_or_missing_stderr_drops_and_counts() {
    let stderr = Stderr::start(None, 1000);
    assert!(!stderr.pass(b"1234"));
    assert_eq!(stderr.dropped(), 4);
    let (out, end) = std::io::pipe().unwrap();
    drop(out);
    let stderr = Stderr::start(Some(end.into()), 1000);
    stderr.pass(b"1");
    assert!(!stderr.flush_within(LONG));
    assert!(!stderr.pass(b"2"));
}
