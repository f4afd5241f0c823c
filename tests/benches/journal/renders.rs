//! Batches that are rendered, next to plain occurrences that are released.

use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::program::{Peer, Program, Session};
use crate::sum::Rate;

/// Subjects, each with something held.
const SUBJECTS: u64 = 10_000;
/// Notices of each batch.
const NOTICES: u64 = 64;
/// Events unanswered at a time.
const UNANSWERED: u64 = 512;
/// Room for all the notices.
const ROOM: &str = "max_held_bytes = 1073741824\n";
const ASSEMBLING: &str = r#"{"jsonrpc":"2.0","id":"a","method":"context/beforeInference","params":{}}"#;
const ASSEMBLED: &str = r#"{"jsonrpc":"2.0","id":"a","result":{}}"#;

/// What is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    Plain,
    Batches,
}

/// What one measurement saw.
pub(crate) struct Seen {
    /// Occurrences given to the host, from when it assembles until it has answered for the last of them.
    pub(crate) rate: Rate,
    /// The most memory that the program had, bytes.
    pub(crate) peak: u64,
}

pub(crate) fn measure(bin: &Path, folder: &Path, held: Held) -> Seen {
    let mut program = Program::start_with(bin, folder, ROOM);
    let Session { mut host, mut producer, .. } = program.session();
    fill(&mut producer, held);
    let start = Instant::now();
    host.say(ASSEMBLING);
    let answering = thread::spawn(move || (answer_renders(&mut producer, held), producer));
    take_all(&mut host);
    let time = start.elapsed();
    // The session ends with its producer.
    let (renders, _producer) = answering.join().expect("the producer's thread");
    assert_eq!(renders, if held == Held::Batches { SUBJECTS } else { 0 }, "renders asked for");
    Seen { rate: Rate { events: SUBJECTS, time }, peak: mcpl_tests::peak_bytes(program.pid()) }
}

/// Sends what is to be held, and hears that it is.
fn fill(peer: &mut Peer, held: Held) {
    let each = if held == Held::Batches { NOTICES } else { 1 };
    let deferred = if held == Held::Batches { r#","deferred":true,"data":{"by":"someone"}"# } else { "" };
    let total = SUBJECTS * each;
    let (mut sent, mut answered) = (0, 0);
    let (mut out, mut line) = (String::new(), Vec::new());
    while answered < total {
        while sent < total && sent - answered < UNANSWERED {
            let subject = sent % SUBJECTS;
            let event = format!(
                r#"{{"jsonrpc":"2.0","id":{sent},"method":"push/event","params":{{"featureSet":"doc","eventId":"event-{sent}","timestamp":"2026-01-01T00:00:00Z","coalesce":{{"key":"doc/{subject}"{deferred}}},"payload":{{"content":[{{"type":"text","text":"someone did something"}}]}}}}}}"#
            );
            out.push_str(&event);
            out.push('\n');
            sent += 1;
        }
        peer.writer.write_all(out.as_bytes()).expect("a program that reads");
        out.clear();
        loop {
            let text = peer.hear(&mut line);
            let accepted = text.windows(15).any(|window| window == br#""accepted":true"#);
            assert!(accepted, "an event was answered {}", String::from_utf8_lossy(text));
            answered += 1;
            if !peer.reader.buffer().contains(&b'\n') {
                break;
            }
        }
    }
}

/// Renders whatever it is asked to, until the host is done; how many.
fn answer_renders(peer: &mut Peer, held: Held) -> u64 {
    let (mut renders, mut assembled) = (0, false);
    let (mut out, mut line) = (Vec::new(), Vec::new());
    while !assembled || (held == Held::Batches && renders < SUBJECTS) {
        let text = peer.hear(&mut line);
        if contains(text, b"\"push/render\"") {
            renders += 1;
            out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            out.extend_from_slice(id(text));
            out.extend_from_slice(br#","result":{"content":[{"type":"text","text":"all that happened"}]}}"#);
        } else {
            assert!(contains(text, b"beforeInference"), "asked for {}", String::from_utf8_lossy(text));
            assembled = true;
            out.extend_from_slice(ASSEMBLED.as_bytes());
        }
        out.push(b'\n');
        if !peer.reader.buffer().contains(&b'\n') {
            peer.writer.write_all(&out).expect("a program that reads");
            out.clear();
        }
    }
    peer.writer.write_all(&out).expect("a program that reads");
    renders
}

/// Accepts all it is given, until that is something of every subject.
fn take_all(peer: &mut Peer) {
    let mut given = 0;
    let (mut out, mut line) = (Vec::new(), Vec::new());
    while given < SUBJECTS {
        let text = peer.hear(&mut line);
        if contains(text, b"\"push/event\"") {
            given += 1;
            out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            out.extend_from_slice(id(text));
            out.extend_from_slice(b",\"result\":{\"accepted\":true}}\n");
        }
        if !out.is_empty() && (given == SUBJECTS || !peer.reader.buffer().contains(&b'\n')) {
            peer.writer.write_all(&out).expect("a program that reads");
            out.clear();
        }
    }
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|window| window == what)
}

/// The raw `id` of a request of the program's.
fn id(text: &[u8]) -> &[u8] {
    let start = text.windows(5).position(|window| window == b"\"id\":").expect("a request") + 5;
    let length = text[start + 1..].iter().position(|&byte| byte == b'"').expect("a string");
    &text[start..start + length + 2]
}
