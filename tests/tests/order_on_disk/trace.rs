//! What `strace` tells of the log's writes and syncs and of what was written to sockets.

use std::collections::{HashMap, HashSet};

/// The `eventId` of an event, which is found wherever its bytes are.
pub(crate) fn event(n: usize) -> String {
    format!("mark-{n:06}~")
}

/// The id of the request that brought it.
pub(crate) fn request(n: usize) -> String {
    format!("ask-{n:06}~")
}

/// The numbers behind `what` in a text.
fn numbers<'a>(text: &'a str, what: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(what).filter_map(move |(at, _)| {
        let digits = text.get(at + what.len()..at + what.len() + 7)?;
        digits.strip_suffix('~')?.parse().ok()
    })
}

/// Line numbers of a trace, by the number of the event.
#[derive(Default)]
pub(crate) struct Trace {
    /// Where the first sync came back that covers its record.
    pub(crate) synced: HashMap<usize, usize>,
    /// Where its answer began to be written.
    pub(crate) answered: HashMap<usize, usize>,
    /// Where it began to be written to the host.
    pub(crate) forwarded: HashMap<usize, usize>,
    /// Where syncs of the log came back.
    pub(crate) syncs: Vec<usize>,
    /// Written to the log, and not covered by a sync that has begun.
    written: HashSet<usize>,
    /// What a sync under way covers, by thread.
    covering: HashMap<String, HashSet<usize>>,
}

impl Trace {
    /// Reads the output of `strace -f -y`. A call that another thread interrupts is told in two lines: what it
    /// writes stands in the first, and a sync counts from the second.
    pub(crate) fn read(text: &str) -> Self {
        let mut trace = Self::default();
        for (at, line) in text.lines().enumerate() {
            trace.line(at, line);
        }
        trace
    }

    fn line(&mut self, at: usize, line: &str) {
        let mut parts = line.splitn(2, char::is_whitespace);
        let (thread, rest) =
            (parts.next().unwrap_or_default(), parts.next().unwrap_or_default().trim_start());
        let call = rest.split_once(' ').map_or("", |(_time, call)| call);
        let of_log = call.contains("/journal.db-wal>");
        if call.starts_with("pwrite") && of_log {
            self.written.extend(numbers(call, "mark-").filter(|n| !self.synced.contains_key(n)));
        } else if (call.starts_with("fsync(") || call.starts_with("fdatasync(")) && of_log {
            let covered = std::mem::take(&mut self.written);
            self.covering.insert(thread.to_owned(), covered);
            if !call.contains("<unfinished") {
                self.sync_returned(at, thread, call);
            }
        } else if call.starts_with("<... fsync resumed") || call.starts_with("<... fdatasync resumed") {
            self.sync_returned(at, thread, call);
        } else if call.contains('(') && is_to_socket(call) {
            for n in numbers(call, "ask-") {
                self.answered.entry(n).or_insert(at);
            }
            for n in numbers(call, "mark-") {
                self.forwarded.entry(n).or_insert(at);
            }
        }
    }

    fn sync_returned(&mut self, at: usize, thread: &str, call: &str) {
        let Some(covered) = self.covering.remove(thread) else { return };
        assert!(call.trim_end().ends_with("= 0"), "a sync failed: {call}");
        self.syncs.push(at);
        for n in covered {
            self.synced.entry(n).or_insert(at);
        }
    }
}

/// Whether the first argument of the call is a socket.
fn is_to_socket(call: &str) -> bool {
    let name = call.split('(').next().unwrap_or_default();
    let first = call.split(',').next().unwrap_or_default();
    matches!(name, "write" | "writev" | "sendto" | "sendmsg")
        && (first.contains("<socket:") || first.contains("<TCP"))
}
