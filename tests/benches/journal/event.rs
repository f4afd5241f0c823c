//! The events that are sent: alike but for their numbers.

/// Bytes of an event as a line.
pub(crate) const BYTES: usize = 700;

const ID: &str = "1000000000";
const EVENT_ID: &str = "1000000000000000000";
const KEY: &str = "000000";

/// A `push/event` of which only the numbers change.
pub(crate) struct Spelled {
    line: Vec<u8>,
    id: usize,
    event_id: usize,
    key: usize,
    params: usize,
}

impl Spelled {
    pub(crate) fn new() -> Self {
        let head = format!(
            concat!(
                r#"{{"jsonrpc":"2.0","id":{},"method":"push/event","params":{{"featureSet":"doc","eventId":"{}","#,
                r#""timestamp":"2026-01-01T00:00:00Z","coalesce":{{"key":"doc/{}"}},"#,
                r#""payload":{{"content":[{{"type":"text","text":""#
            ),
            ID, EVENT_ID, KEY
        );
        let place = |text: &str| head.find(text).unwrap_or_default();
        let (id, event_id, key) = (place(ID), place(EVENT_ID), place("doc/") + 4);
        let params = place(r#"{"featureSet"#);
        let mut line = head.into_bytes();
        let tail = b"\"}]}}}\n";
        let words = b"the quick brown fox jumps over the lazy dog, ".iter().cycle();
        let room = BYTES - line.len() - tail.len();
        line.extend(words.take(room));
        line.extend_from_slice(tail);
        Self { line, id, event_id, key, params }
    }

    /// The line of event `number` about `subject`.
    pub(crate) fn line(&mut self, number: u64, subject: u64) -> &[u8] {
        self.number(self.id, ID.len(), 1_000_000_000 + number);
        self.number(self.event_id, EVENT_ID.len(), 1_000_000_000_000_000_000 + number);
        self.number(self.key, KEY.len(), subject);
        &self.line
    }

    /// Its params alone.
    pub(crate) fn params(&mut self, number: u64, subject: u64) -> &[u8] {
        self.line(number, subject);
        &self.line[self.params..self.line.len() - 2]
    }

    fn number(&mut self, at: usize, digits: usize, mut number: u64) {
        for digit in self.line[at..at + digits].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
}
