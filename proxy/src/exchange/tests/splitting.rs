//! An error for a whole `channels/incoming` condemns no message (contract 8.6).

use super::{Bench, at, id, incoming, message};

fn error(id: &str, code: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"all of it"}}}}"#)
}

fn accepted(id: &str, message: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"results":[{{"messageId":"{message}","accepted":true}}]}}}}"#
    )
}

#[test]
fn messages_are_sent_one_at_a_time_in_order_and_answered_each() {
    let mut bench = Bench::open();
    bench.producer_says(&incoming("1", &[message("A", None), message("B", None), message("C", None)]));
    bench.host();
    bench.host_says(&error("1", -32602));
    for (name, code) in [("A", None), ("B", Some(-32602)), ("C", None)] {
        let sent = bench.host();
        assert_eq!(sent.len(), 1, "one at a time");
        assert_eq!(
            at(&sent[0], &["params", "messages"]),
            Some(format!("[{}]", message(name, None)).as_str())
        );
        assert_eq!(at(&sent[0], &["params", "x"]), Some("1.0"), "the other members of the request stay");
        assert!(bench.producer().is_empty());
        match code {
            None => bench.host_says(&accepted(&id(&sent[0]), name)),
            Some(code) => bench.host_says(&error(&id(&sent[0]), code)),
        }
    }
    let told = bench.producer();
    let results = at(&told[0], &["result", "results"]).unwrap_or_default();
    assert_eq!(
        results,
        r#"[{"messageId":"A","accepted":true},{"messageId":"B","accepted":false,"reason":"all of it","refusal":"invalid","retryable":false},{"messageId":"C","accepted":true}]"#
    );
}

#[test]
fn by_kind_and_by_number_the_error_is_given_to_each_instead() {
    for (code, count, splits) in [
        (-32602, 2, true),
        (-32031, 2, true),
        (-32023, 2, true),
        (-32017, 2, true),
        (-32000, 2, false),
        (-32001, 2, false),
        (-32601, 2, false),
        (-32602, 100, true),
        (-32602, 101, false),
    ] {
        let mut bench = Bench::open();
        let messages: Vec<String> = (0..count).map(|n| message(&format!("m{n}"), None)).collect();
        bench.producer_says(&incoming("1", &messages));
        bench.host();
        bench.host_says(&error("1", code));
        assert_eq!(bench.host().len(), usize::from(splits), "{code} for {count}");
        let told = bench.producer();
        assert_eq!(told.is_empty(), splits);
        if let [told] = &told[..] {
            assert_eq!(told.matches("\"accepted\":false").count(), count);
            assert!(at(told, &["error"]).is_none());
        }
    }
}

#[test]
fn a_batch_of_one_keeps_the_form_of_its_error() {
    let mut bench = Bench::open();
    bench.producer_says(&incoming("1", &[message("A", None)]));
    bench.host();
    bench.host_says(&error("1", -32602));
    assert!(bench.host().is_empty());
    assert_eq!(at(&bench.producer()[0], &["error", "data", "refusal"]), Some("\"invalid\""));
}

#[test]
fn a_session_that_ends_between_two_of_them_leaves_no_message_unanswered() {
    let mut bench = Bench::open();
    bench.producer_says(&incoming("1", &[message("A", None), message("B", None)]));
    bench.host();
    bench.host_says(&error("1", -32602));
    let sent = bench.host();
    bench.host_says(&accepted(&id(&sent[0]), "A"));
    bench.end();
    let told = bench.producer();
    assert_eq!(told.len(), 1);
    let results = at(&told[0], &["result", "results"]).unwrap_or_default();
    assert!(
        results.starts_with(r#"[{"messageId":"A","accepted":true},{"messageId":"B","accepted":false"#),
        "{results}"
    );
    assert!(!results.contains("refusal"), "no answer is no refusal");
}

#[test]
fn what_is_kept_for_it_is_given_back_and_bounded() {
    let mut bench = Bench::open();
    let long = message("A", None).replace("\"t\"", &format!("\"{}\"", "t".repeat(9 << 20)));
    bench.producer_says(&incoming("1", &[long.clone(), message("B", None)]));
    bench.producer_says(&incoming("2", &[long, message("B", None)]));
    bench.host();
    bench.host_says(&error("2", -32602));
    assert!(bench.host().is_empty(), "past the bound the error is given to each");
    assert_eq!(bench.producer().len(), 1);
    bench.host_says(&error("1", -32602));
    assert_eq!(bench.host().len(), 1);
    bench.end();
    assert_eq!(bench.exchange.kept_bytes, 0);
}
