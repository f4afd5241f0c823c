//! A session without sockets: what each side is given, line by line.

mod batches;
mod events;
mod passing;
mod producers;
mod renders;
mod splitting;

use std::collections::HashMap;

use bytes::Bytes;
use mcpl_codec::{Envelope, Line, raw};
use mcpl_policy::journal::{Change, ReceiptRow, Table};
use mcpl_policy::{Engine, Input, Now, Settings};

use super::{Deed, Exchange, Side, Terms};
use crate::config;

/// A host's `initialize` that speaks MCPL 0.5 and coalesces nothing.
const HELLO: &str = r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"capabilities":{"experimental":{"mcpl":{"version":"0.5","pushEvents":true}}}}}"#;

/// An engine and one session of it, with everything that was written to either side.
struct Bench {
    engine: Engine,
    exchange: Exchange,
    now: Now,
    host: Vec<String>,
    producer: Vec<String>,
    noise: usize,
    /// The receipts on disk.
    receipts: HashMap<u64, Vec<u8>>,
}

impl Bench {
    /// A session whose host has said nothing yet.
    fn silent() -> Self {
        Self::configured("")
    }

    /// The same, with these lines in the producer's table.
    fn configured(lines: &str) -> Self {
        let text = format!("[[producer]]\nname = \"bench\"\n{lines}");
        let file = std::path::Path::new("/x.toml");
        let loaded = config::parse(config::Purpose::Wrap, file, &text, &|_| Some("/home".to_owned()));
        let producer = loaded.unwrap().config.producers.remove(0);
        let terms: Terms = crate::binding::settings::terms(&producer);
        let settings: Settings = crate::binding::settings::settings(&producer, 10);
        Self {
            engine: Engine::new(settings, 1),
            exchange: Exchange::new(terms, "r"),
            now: Now::at(1_000),
            host: Vec::new(),
            producer: Vec::new(),
            noise: 0,
            receipts: HashMap::new(),
        }
    }

    /// A session that is taken over: feature set `doc` and channel `chat` are known to be admitted.
    fn open() -> Self {
        Self::silent().opened()
    }

    fn opened(self) -> Self {
        let mut bench = self;
        bench.host_says(HELLO);
        bench.producer_says(
            r#"{"jsonrpc":"2.0","id":"init","result":{"capabilities":{"experimental":{"mcpl":{"featureSets":{"doc":{"uses":["pushEvents"]}}}}}}}"#,
        );
        bench.host_says(
            r#"{"jsonrpc":"2.0","id":"p","method":"featureSets/update","params":{"effectiveCapabilities":["pushEvents","channels.incoming"],"enabled":["doc"]}}"#,
        );
        bench.producer_says(r#"{"jsonrpc":"2.0","id":"p","result":{"accepted":true}}"#);
        bench.producer_says(r#"{"jsonrpc":"2.0","id":"reg","method":"channels/register","params":{"channels":[{"id":"chat"}]}}"#);
        bench.host_says(r#"{"jsonrpc":"2.0","id":"reg","result":{}}"#);
        bench.host.clear();
        bench.producer.clear();
        bench
    }

    fn host_says(&mut self, text: &str) {
        self.exchange.from_host(&mut self.engine, self.now, Line::from_text(text.as_bytes()));
        self.carry();
    }

    fn producer_says(&mut self, text: &str) {
        self.exchange.from_producer(&mut self.engine, self.now, Line::from_text(text.as_bytes()));
        self.carry();
    }

    fn tell(&mut self, input: Input) {
        self.exchange.tell(&mut self.engine, self.now, input);
        self.carry();
    }

    fn end(&mut self) {
        self.exchange.end(&mut self.engine, self.now);
        self.carry();
    }

    fn carry(&mut self) {
        while let Some(deed) = self.exchange.poll() {
            match deed {
                Deed::Send { to: Side::Host, line, .. } => self.host.push(text(&line)),
                Deed::Send { to: Side::Producer, line, .. } => self.producer.push(text(&line)),
                Deed::Commit(step) => {
                    for change in step.changes {
                        if let Change::Put { table: Table::Receipt, id, row } = change {
                            self.receipts.insert(id, row);
                        }
                    }
                }
                Deed::Read { ticket, receipt } => {
                    let row =
                        self.receipts.get(&receipt).map(|row| ReceiptRow::decode(receipt, row).unwrap());
                    self.exchange.read(ticket, row);
                }
                Deed::Resolved { .. } => panic!("no operator said a word"),
                Deed::Noise { .. } => self.noise += 1,
            }
        }
    }

    /// Takes what the host was given since the last look.
    fn host(&mut self) -> Vec<String> {
        std::mem::take(&mut self.host)
    }

    /// Takes what the producer was given since the last look.
    fn producer(&mut self) -> Vec<String> {
        std::mem::take(&mut self.producer)
    }
}

fn text(line: &Line) -> String {
    String::from_utf8_lossy(line.text()).into_owned()
}

/// The raw value at a path of a line.
fn at<'a>(line: &'a str, path: &[&str]) -> Option<&'a str> {
    raw::at(line.as_bytes(), path).and_then(|value| std::str::from_utf8(value).ok())
}

/// The raw id of a line.
fn id(line: &str) -> String {
    let envelope = Envelope::of(line.as_bytes());
    String::from_utf8_lossy(envelope.id.unwrap_or(b"none")).into_owned()
}

/// A coalesced push of feature set `doc`.
fn push(id: &str, event_id: &str, key: &str, body: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"push/event","params":{{"featureSet":"doc","eventId":"{event_id}","timestamp":"t","coalesce":{{"key":"{key}","initial":true}},"payload":{{"content":[{{"type":"text","text":"{body}"}}]}}}}}}"#
    )
}

/// One channel message; coalesced under a key where one is given.
fn message(message_id: &str, key: Option<&str>) -> String {
    let coalesce = key.map_or_else(String::new, |key| {
        format!(r#","eventId":"e-{message_id}","coalesce":{{"key":"{key}","initial":true}}"#)
    });
    format!(
        r#"{{"channelId":"chat","messageId":"{message_id}","timestamp":"t"{coalesce},"content":[{{"type":"text","text":"{message_id}"}}]}}"#
    )
}

fn incoming(id: &str, messages: &[String]) -> String {
    let messages = messages.join(",");
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"channels/incoming","params":{{"messages":[{messages}],"x":1.0}}}}"#
    )
}

#[test]
fn what_is_over_the_limit_is_answered_where_its_id_is_known() {
    let mut bench = Bench::open();
    let head = Bytes::from_static(br#"{"jsonrpc":"2.0","id":"big","method":"m","params":{"x":"yyyy"#);
    bench.exchange.overlong(&mut bench.engine, bench.now, Side::Producer, &head, 20);
    bench.carry();
    let told = bench.producer();
    assert_eq!(
        (told.len(), id(&told[0]).as_str(), at(&told[0], &["error", "code"])),
        (1, "\"big\"", Some("-32600"))
    );
    assert!(bench.host().is_empty());
    let head =
        Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":foo\xff,\"method\":\"m\",\"params\":{\"x\":\"yyyy");
    bench.exchange.overlong(&mut bench.engine, bench.now, Side::Producer, &head, 20);
    bench.carry();
    assert!(bench.producer().is_empty(), "what is no id is not spelled back");
    // An answer that is too long: the one who asked is told, under its own id.
    bench.host_says(r#"{"jsonrpc":"2.0","id":4.5,"method":"tools/call"}"#);
    bench.host();
    let head = Bytes::from_static(br#"{"jsonrpc":"2.0","id":4.5,"result":{"method":"no"#);
    bench.exchange.overlong(&mut bench.engine, bench.now, Side::Producer, &head, 20);
    bench.carry();
    let told = bench.host();
    assert_eq!(
        (told.len(), id(&told[0]).as_str(), at(&told[0], &["error", "code"])),
        (1, "4.5", Some("-32600"))
    );
    assert_eq!(bench.exchange.host_waits(), 0, "it counts as answered");
}
