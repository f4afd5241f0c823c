//! A producer that always has so many events unanswered, and a host that makes calls meanwhile.

use std::collections::VecDeque;
use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::SUBJECTS;
use crate::event::Spelled;
use crate::program::{Peer, Session};
use crate::sum::Rate;

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{}}}"#;
const CALLED: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;

/// How many events there are to be.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) per_s: f64,
    /// So many come at once.
    pub(crate) together: u64,
}

/// Sends events for so long, `most` of them unanswered; answers calls, too. With `per_s` they come as many together,
/// as often as makes that rate.
pub(crate) fn events(session: &mut Session, most: usize, time: Duration, per_s: Option<f64>) -> Rate {
    timed(session, most, time, per_s.map(|per_s| Pace { per_s, together: most as u64 })).0
}

/// The same, and how long each event waited for its answer.
pub(crate) fn timed(
    session: &mut Session,
    most: usize,
    time: Duration,
    pace: Option<Pace>,
) -> (Rate, Vec<Duration>) {
    let (sent, mut times) = (session.sent, Vec::new());
    let done = produce(&mut session.producer, sent, most, time, pace, &mut times);
    session.sent += done.events;
    (done, times)
}

fn produce(
    peer: &mut Peer,
    first: u64,
    most: usize,
    time: Duration,
    pace: Option<Pace>,
    times: &mut Vec<Duration>,
) -> Rate {
    let mut event = Spelled::new();
    let mut since = VecDeque::with_capacity(most);
    let (mut sent, mut answered) = (0_u64, 0_u64);
    let (mut out, mut line) = (Vec::new(), Vec::new());
    let start = Instant::now();
    loop {
        let spent = start.elapsed();
        let over = spent >= time;
        let due = pace.map_or(u64::MAX, |Pace { per_s, together }| {
            (per_s * spent.as_secs_f64()) as u64 / together * together
        });
        while !over && sent - answered < most as u64 && sent < due {
            let number = first + sent;
            out.extend_from_slice(event.line(number, number % SUBJECTS));
            since.push_back(Instant::now());
            sent += 1;
        }
        peer.writer.write_all(&out).expect("a program that reads");
        out.clear();
        if over && answered == sent {
            return Rate { events: answered, time: spent };
        }
        // The next are not due: only a call may come, or an answer, which is not waited for longer than that.
        let is_full = sent - answered == most as u64;
        if pace.is_some() && !over && !is_full && !peer.hears_within(Duration::from_micros(50)) {
            continue;
        }
        // All that is at hand, then the next events together.
        loop {
            let text = peer.hear(&mut line);
            if text.starts_with(br#"{"jsonrpc":"2.0","id":7,"method""#) {
                out.extend_from_slice(CALLED.as_bytes());
                out.push(b'\n');
            } else {
                let accepted = text.windows(15).any(|window| window == br#""accepted":true"#);
                assert!(accepted, "an event was answered {}", String::from_utf8_lossy(text));
                answered += 1;
                times.extend(since.pop_front().map(|since| since.elapsed()));
            }
            if !peer.reader.buffer().contains(&b'\n') {
                break;
            }
        }
    }
}

/// Events, and how long calls took meanwhile.
pub(crate) struct Calls {
    pub(crate) rate: Rate,
    times: Vec<Duration>,
}

impl Calls {
    /// So large a share of the calls took at most so many µs.
    pub(crate) fn at(&self, share: f64) -> f64 {
        self.times[((self.times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6
    }
}

/// The same as [`events`], and the host calls the producer, one call at a time.
pub(crate) fn events_and_calls(session: Session, most: usize, time: Duration, per_s: Option<f64>) -> Calls {
    let Session { mut host, mut producer, sent } = session;
    let over = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&over);
    let calls = thread::spawn(move || {
        let (mut times, mut line) = (Vec::new(), Vec::new());
        while !end.load(Ordering::Relaxed) {
            let start = Instant::now();
            host.say(CALL);
            assert_eq!(host.hear(&mut line).trim_ascii_end(), CALLED.as_bytes());
            times.push(start.elapsed());
            // Not in step with the producer.
            thread::sleep(Duration::from_micros(500 + times.len() as u64 * 379 % 1000));
        }
        times
    });
    let pace = per_s.map(|per_s| Pace { per_s, together: most as u64 });
    let rate = produce(&mut producer, sent, most, time, pace, &mut Vec::new());
    over.store(true, Ordering::Relaxed);
    // The last call is still to be answered.
    let mut line = Vec::new();
    while !calls.is_finished() {
        // At the end of the host's thread the session is closed.
        let near = producer.hears_within(Duration::from_millis(1));
        if near && producer.reader.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {
            producer.hear(&mut line);
            producer.say(CALLED);
        }
    }
    let mut times = calls.join().expect("the host's thread");
    times.sort_unstable();
    Calls { rate, times }
}
