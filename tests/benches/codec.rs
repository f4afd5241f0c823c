//! What the text of a message costs: framing, validation, reading an event, its digest, edits.
//!
//! Every sample is a batch of 64 messages (times are of the batch; `item/s` counts messages), so that the
//! clock does not count. Compare within one run: `envelope` has `serde_json` beside the validator.

#![expect(clippy::unwrap_used, reason = "a benchmark of a wrong message must stop")]
#![expect(clippy::wildcard_imports, reason = "its modules are headings of the report")]
use bytes::{BufMut, Bytes};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use mcpl_codec::sniff::{Sniff, sniff};
use mcpl_codec::{DigestKey, Envelope, Event, Frame, Framer, Splice};

const BATCH: usize = 64;

/// A small edit, an ordinary one, a file.
const SIZES: [usize; 3] = [200, 700, 65_536];

fn main() {
    divan::main();
}

/// One coalesced `push/event` request of exactly `bytes` bytes, without line end.
fn request(bytes: usize) -> Vec<u8> {
    let around = |text: &str| {
        format!(
            concat!(
                r#"{{"jsonrpc":"2.0","id":4711,"method":"push/event","params":{{"featureSet":"doc","#,
                r#""eventId":"ev-1","timestamp":"2026-01-01T00:00:00Z","#,
                r#""coalesce":{{"key":"a"}},"payload":{{"content":"{}"}}}}}}"#
            ),
            text
        )
    };
    let rich = |text: &str| {
        format!(
            concat!(
                r#"{{"jsonrpc":"2.0","id":4711,"method":"push/event","params":{{"featureSet":"documents","#,
                r#""eventId":"01JZ4W8Q3M-000017","timestamp":"2026-01-01T00:00:00.000Z","tags":["#,
                r#""doc:edit","chat:ambient"],"origin":{{"source":"editor","mcplChannelId":"doc:7f3a","#,
                r#""user":{{"id":"u-1902","name":"Ann \u00c9. Example"}},"revision":1841,"dirty":false}},"#,
                r#""coalesce":{{"key":"doc/7f3a/paragraph/12","initial":true}},"#,
                r#""payload":{{"content":[{{"type":"text","text":"{}"}}]}}}}}}"#
            ),
            text
        )
    };
    let empty = if bytes < 500 { around("") } else { rich("") };
    // Sentences with a line break and a quote now and then, as prose has.
    let prose: String = r#"The edit says that the \"second\" clause goes; the first one stays as it is.\n"#
        .chars()
        .cycle()
        .take(bytes - empty.len())
        .collect();
    let cut = prose.trim_end_matches('\\').len();
    let prose = format!("{}{}", &prose[..cut], ".".repeat(prose.len() - cut));
    let text = if bytes < 500 { around(&prose) } else { rich(&prose) };
    assert_eq!(text.len(), bytes);
    text.into_bytes()
}

fn envelope(text: &[u8]) -> Envelope<'_> {
    match sniff(text) {
        Ok(Sniff::Message(envelope)) => envelope,
        other => panic!("no message: {other:?}"),
    }
}

fn params(bytes: usize) -> Bytes {
    let text = Bytes::from(request(bytes));
    text.slice_ref(envelope(&text).params.unwrap())
}

fn batch<T>(bencher: Bencher<'_, '_>, bytes: usize, mut one: impl FnMut() -> T) {
    bencher.counter(ItemsCount::new(BATCH)).counter(BytesCount::new(BATCH * bytes)).bench_local(|| {
        for _ in 0..BATCH {
            black_box(one());
        }
    });
}

mod envelope {
    use super::*;

    #[divan::bench(args = SIZES)]
    fn sniffed(bencher: Bencher<'_, '_>, bytes: usize) {
        let text = request(bytes);
        batch(bencher, bytes, || sniff(black_box(&text)).is_ok());
    }

    /// The least that `serde_json` can be asked for: the same members, unread.
    #[derive(serde::Deserialize)]
    struct Borrowed<'a> {
        #[serde(borrow)]
        id: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        method: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        params: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        result: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        error: Option<&'a serde_json::value::RawValue>,
    }

    #[divan::bench(args = SIZES)]
    fn of_serde_json(bencher: Bencher<'_, '_>, bytes: usize) {
        let text = request(bytes);
        batch(bencher, bytes, || {
            let read: Borrowed<'_> = serde_json::from_slice(black_box(&text)).unwrap();
            [read.id, read.method, read.params, read.result, read.error].map(|member| member.is_some())
        });
    }

    /// What most programs do.
    #[divan::bench(args = SIZES)]
    fn of_serde_json_value(bencher: Bencher<'_, '_>, bytes: usize) {
        let text = request(bytes);
        batch(bencher, bytes, || serde_json::from_slice::<serde_json::Value>(black_box(&text)).unwrap());
    }
}

/// Lines out of a stream that comes in reads of 64 KiB, the copy into the buffer included.
#[divan::bench(args = SIZES)]
fn framer(bencher: Bencher<'_, '_>, bytes: usize) {
    let mut stream = Vec::new();
    for _ in 0..BATCH {
        stream.extend_from_slice(&request(bytes));
        stream.push(b'\n');
    }
    let mut framer = Framer::new(16 << 20);
    bencher.counter(ItemsCount::new(BATCH)).counter(BytesCount::new(stream.len())).bench_local(|| {
        let mut lines = 0;
        for read in stream.chunks(65_536) {
            framer.buf().put_slice(read);
            while let Some(frame) = framer.next() {
                lines += usize::from(matches!(black_box(frame), Frame::Line(_)));
            }
        }
        assert_eq!(lines, BATCH);
    });
}

/// What one coalesced event of 700 bytes costs here, in its four parts and together.
mod event {
    use super::*;

    const BYTES: usize = 700;
    const KEY: DigestKey = DigestKey(*b"a key of 16 byte");

    #[divan::bench]
    fn read(bencher: Bencher<'_, '_>) {
        let params = params(BYTES);
        batch(bencher, BYTES, || Event::push(black_box(params.clone())));
    }

    #[divan::bench]
    fn digest(bencher: Bencher<'_, '_>) {
        let event = Event::push(params(BYTES));
        batch(bencher, BYTES, || black_box(&event).digest(&KEY));
    }

    #[divan::bench]
    fn without_coalesce(bencher: Bencher<'_, '_>) {
        let event = Event::push(params(BYTES));
        batch(bencher, BYTES, || black_box(&event).bare());
    }

    #[divan::bench]
    fn sniffed_read_digest_without_coalesce(bencher: Bencher<'_, '_>) {
        let text = Bytes::from(request(BYTES));
        batch(bencher, BYTES, || {
            let params = envelope(black_box(&text)).params.unwrap();
            let event = Event::push(text.slice_ref(params));
            (event.digest(&KEY), event.bare())
        });
    }
}

/// What stepping in costs: capabilities added to a producer's answer to `initialize`.
#[divan::bench]
fn splice_into_initialize(bencher: Bencher<'_, '_>) {
    let text = concat!(
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"docs","#,
        r#""version":"1.4.2"},"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"#,
        r#""experimental":{"mcpl":{"version":"0.5","pushEvents":true,"channels":{"incoming":true},"#,
        r#""featureSets":{"documents":{"uses":["pushEvents"],"description":"Edits of documents"}}}}}}}"#
    )
    .as_bytes();
    batch(bencher, text.len(), || {
        let result = envelope(black_box(text)).result.unwrap();
        let mcpl = mcpl_codec::raw::at(result, &["capabilities", "experimental", "mcpl"]).unwrap();
        let mut splice = Splice::new(text);
        splice.set_member(mcpl, "coalesce", &br#"{"version":1}"#[..]);
        splice.set_member(mcpl, "refusals", &b"true"[..]);
        splice.finish()
    });
}
