//! JSON-RPC batches (contract 3.3).

use super::{Bench, at, id, incoming, message, push};

const PLAIN: &str = r#"{"jsonrpc":"2.0","id":"u","method":"push/event","params":{"featureSet":"doc","eventId":"u","payload":{"content":[]}}}"#;
const OTHER: &str = r#"{"jsonrpc":"2.0","id":"rq","method":"sampling/createMessage","params":{"x":1.0}}"#;

#[test]
fn an_event_in_a_batch_is_taken_out_and_the_batch_answered_as_one() {
    let mut bench = Bench::open();
    bench.producer_says(&format!("[{}, {OTHER} ,{PLAIN}]", push("\"ev\"", "a", "k", "A")));
    let given = bench.host();
    assert_eq!(given.len(), 1);
    assert!(given[0].starts_with('[') && given[0].contains(OTHER) && given[0].contains(PLAIN));
    assert!(!given[0].contains("\"ev\""));
    assert!(bench.producer().is_empty());
    // The host may answer in one array, or one by one.
    bench.host_says(r#"[{"jsonrpc":"2.0","id":"rq","result":{"n":1.0}}]"#);
    assert!(bench.producer().is_empty());
    bench.host_says(r#"{"jsonrpc":"2.0","id":"u","error":{"code":-32602,"message":"bad"}}"#);
    let told = bench.producer();
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with('[') && told[0].ends_with(']'));
    for part in [
        r#""id":"ev","result":{"accepted":true"#,
        r#"{"jsonrpc":"2.0","id":"rq","result":{"n":1.0}}"#,
        r#""refusal":"invalid""#,
    ] {
        assert!(told[0].contains(part), "{part} in {}", told[0]);
    }
}

#[test]
fn an_answer_to_a_batch_element_beside_others_leaves_the_others() {
    let mut bench = Bench::open();
    bench.producer_says(&format!("[{}]", push("\"ev\"", "a", "k", "A")));
    let told = bench.producer();
    assert!(told[0].starts_with('[') && told[0].contains("\"first\""));
    assert!(bench.host().is_empty(), "nothing is left to pass");
    bench.producer_says(&format!("[{PLAIN}]"));
    assert_eq!(bench.host(), [format!("[{PLAIN}]")], "untouched where nothing was taken");
    bench.host_says(r#"[{"jsonrpc":"2.0","id":"mine","result":1e2},{"jsonrpc":"2.0","id":"u","result":{"accepted":true}}]"#);
    let told = bench.producer();
    assert_eq!(told.len(), 2);
    assert!(told.contains(&r#"[{"jsonrpc":"2.0","id":"mine","result":1e2}]"#.to_owned()), "{told:?}");
    assert!(
        told.contains(&r#"[{"jsonrpc":"2.0","id":"u","result":{"accepted":true}}]"#.to_owned()),
        "{told:?}"
    );
}

#[test]
fn a_batch_with_events_is_answered_even_when_the_session_ends() {
    let mut bench = Bench::open();
    bench.producer_says(&format!("[{PLAIN},{}]", push("\"ev\"", "a", "k", "A")));
    bench.host();
    bench.end();
    let told = bench.producer();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("-32000") && told[0].contains("\"first\""));
}

#[test]
fn an_ambiguous_element_is_refused_in_the_batch_and_the_rest_goes_on() {
    let mut bench = Bench::open();
    bench.producer_says(&format!(
        r#"[{{"jsonrpc":"2.0","id":"two","method":"x","method":"push/event","params":{{}}}},{PLAIN}]"#
    ));
    assert_eq!(bench.host(), [format!("[{PLAIN}]")]);
    bench.host_says(r#"{"jsonrpc":"2.0","id":"u","result":{"accepted":true}}"#);
    let told = bench.producer();
    assert!(told[0].contains("-32600") && told[0].contains("\"u\""), "{told:?}");
}

#[test]
fn ten_thousand_events_in_one_batch_are_one_answer() {
    let mut bench = Bench::open();
    let events: Vec<String> =
        (0..10_000).map(|n| push(&n.to_string(), &format!("e{n}"), &format!("k{n}"), "A")).collect();
    bench.producer_says(&format!("[{}]", events.join(",")));
    let told = bench.producer();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].matches("\"first\"").count(), 10_000);
    assert_eq!(id("{}"), "none");
    assert!(at(&told[0], &["id"]).is_none());
}

#[test]
fn a_batch_of_more_elements_than_are_looked_at_is_refused_if_it_holds_an_event() {
    let mut bench = Bench::open();
    let most = super::super::MAX_ELEMENTS;
    let event = push("\"ev\"", "a", "k", "A");
    bench.producer_says(&format!("[{event}{}]", ",0".repeat(most)));
    assert!(bench.host().is_empty());
    assert_eq!(at(&bench.producer()[0], &["error", "code"]), Some("-32600"));
    bench.producer_says(&format!("[{event}{}]", ",0".repeat(most - 1)));
    assert!(bench.producer()[0].contains("\"first\""), "the last that is looked at");
    let foreign = format!("[{OTHER}{}]", ",0".repeat(most));
    bench.host();
    bench.producer_says(&foreign);
    assert_eq!(bench.host(), [foreign], "without events it passes");
}

#[test]
fn messages_past_the_bound_are_refused_as_a_whole() {
    let mut bench = Bench::open();
    let messages = vec!["0".to_owned(); super::super::MAX_ELEMENTS + 1];
    bench.producer_says(&incoming("1", &messages));
    assert!(bench.host().is_empty());
    assert_eq!(at(&bench.producer()[0], &["error", "data", "refusal"]), Some("\"invalid\""));
}

#[test]
fn an_answer_with_two_readings_passes_and_counts_as_the_answer() {
    let mut bench = Bench::open();
    bench.producer_says(PLAIN);
    bench.host();
    let twice = r#"{"jsonrpc":"2.0","id":"u","result":{"accepted":true},"result":{"accepted":false}}"#;
    bench.host_says(twice);
    assert_eq!(bench.producer(), [twice]);
    bench.end();
    assert!(bench.producer().is_empty(), "answered already");
}

#[test]
fn a_batch_whose_only_answer_of_ours_is_a_refusal_is_answered_as_one_on_either_side() {
    let mut bench = Bench::open();
    bench.producer_says(&format!(
        r#"[{{"jsonrpc":"2.0","id":"two","method":"x","method":"channels/register","params":{{}}}},{OTHER}]"#
    ));
    assert_eq!(bench.host(), [format!("[{OTHER}]")]);
    bench.host_says(r#"{"jsonrpc":"2.0","id":"rq","result":{}}"#);
    let told = bench.producer();
    assert!(told.len() == 1 && told[0].contains("-32600") && told[0].contains("\"rq\""), "{told:?}");
    let list = r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#;
    bench.host_says(&format!(
        r#"[{{"jsonrpc":"2.0","id":"two","method":"x","method":"featureSets/update","params":{{}}}},{list}]"#
    ));
    assert_eq!(bench.producer(), [format!("[{list}]")]);
    bench.producer_says(r#"[{"jsonrpc":"2.0","id":"l","result":{"tools":[]}}]"#);
    let told = bench.host();
    assert!(told.len() == 1 && told[0].contains("-32600") && told[0].contains("tools"), "{told:?}");
}

#[test]
fn a_channel_is_told_in_order_across_the_elements_of_a_batch() {
    let mut bench = Bench::open();
    let plain = |name: &str| incoming(&format!("\"{name}\""), &[message(name, None)]);
    let held = incoming("\"K\"", &[message("K", Some("k"))]);
    bench.producer_says(&format!("[{},{held},{}]", plain("A"), plain("B")));
    let given = bench.host();
    assert_eq!(given.len(), 3);
    assert_eq!(given[0], format!("[{}]", plain("A")));
    assert!(given[1].starts_with('{') && given[1].contains("\"messageId\":\"K\""));
    assert_eq!(given[2], format!("[{}]", plain("B")));
}
