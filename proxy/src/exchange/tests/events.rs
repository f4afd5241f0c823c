//! Events and their answers (contract 5, 6, 8).

use mcpl_policy::Input;

use super::{Bench, at, id, incoming, message, push};

#[test]
fn a_held_event_is_answered_in_the_spelling_of_its_id_and_forwarded_without_coalesce() {
    let mut bench = Bench::open();
    for spelled in ["12345678901234567890123", "1.50", "0", "\"x\\u0041\"", "-7"] {
        bench.producer_says(&push(
            spelled,
            &format!("e{}", spelled.len()),
            &format!("k{}", spelled.len()),
            "A",
        ));
        let told = bench.producer();
        assert_eq!((told.len(), id(&told[0]).as_str()), (1, spelled));
        assert_eq!(at(&told[0], &["result", "coalesce", "outcome"]), Some("\"first\""));
    }
    assert!(bench.host().is_empty());
    bench.tell(Input::Flush);
    let given = bench.host();
    assert_eq!(given.len(), 5);
    for line in given {
        assert_eq!(at(&line, &["method"]), Some("\"push/event\""));
        assert!(!line.contains("coalesce"), "{line}");
        assert!(id(&line).starts_with("\"mcpl-sidecar/r/"));
    }
}

#[test]
fn an_uncoalesced_event_and_its_acceptance_keep_their_bytes() {
    let mut bench = Bench::open();
    let event = r#"{"id":7.0,"params":{"featureSet":"doc","eventId":"a","n":1.0,"payload":{"content":[]}},"method":"push/event","jsonrpc":"2.0"}"#;
    bench.producer_says(event);
    assert_eq!(bench.host(), [event]);
    let answer = r#"{"jsonrpc":"2.0","result":{"accepted":true,"x":1.00},"id":7.0}"#;
    bench.host_says(answer);
    assert_eq!(bench.producer(), [answer]);
}

#[test]
fn an_english_error_becomes_a_classified_refusal_and_says_what_the_host_said() {
    let mut bench = Bench::open();
    bench.producer_says(r#"{"jsonrpc":"2.0","id":1,"method":"push/event","params":{"featureSet":"doc","eventId":"a","payload":{"content":[]}}}"#);
    bench.host_says(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"storage failure","data":{"n":1.0}}}"#,
    );
    let told = bench.producer();
    assert_eq!(at(&told[0], &["error", "code"]), Some("-32030"));
    assert_eq!(at(&told[0], &["error", "message"]), Some("\"storage failure\""));
    assert_eq!(at(&told[0], &["error", "data", "refusal"]), Some("\"unavailable\""));
    assert_eq!(at(&told[0], &["error", "data", "retryAfterMs"]), Some("1000"));
    assert_eq!(at(&told[0], &["error", "data", "n"]), Some("1.0"));
    assert_eq!(at(&told[0], &["error", "data", "host", "code"]), Some("-32000"));
}

#[test]
fn two_answers_to_one_event_are_two_for_the_producer_only_if_the_host_sent_two() {
    let mut bench = Bench::open();
    bench.producer_says(r#"{"jsonrpc":"2.0","id":1,"method":"push/event","params":{"featureSet":"doc","eventId":"a","payload":{"content":[]}}}"#);
    bench.host();
    let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}"#;
    bench.host_says(refusal);
    bench.host_says(refusal);
    let told = bench.producer();
    assert_eq!(told.len(), 2);
    assert_eq!(told[1], refusal, "the second answers nothing we know of: it passes");
}

#[test]
fn a_mixed_batch_of_messages_is_one_answer_in_message_order() {
    let mut bench = Bench::open();
    bench.producer_says(&incoming(
        "9",
        &[message("A", Some("a")), message("B", None), message("C", Some("c"))],
    ));
    let given = bench.host();
    // B belongs to the channel that holds A, so A goes first, then B alone in the producer's own request.
    assert_eq!(given.len(), 2);
    assert_eq!(id(&given[1]), "9");
    assert!(given[1].contains("\"x\":1.0") && given[1].contains("\"B\"") && !given[1].contains("\"C\""));
    assert!(bench.producer().is_empty(), "the answer waits for the host's part");
    bench.host_says(
        r#"{"jsonrpc":"2.0","id":9,"result":{"results":[{"messageId":"B","accepted":true,"n":2.0}]}}"#,
    );
    let told = bench.producer();
    assert_eq!(
        at(&told[0], &["result", "results"]),
        Some(
            r#"[{"messageId":"A","accepted":true,"coalesce":{"outcome":"first"}},{"messageId":"B","accepted":true,"n":2.0},{"messageId":"C","accepted":true,"coalesce":{"outcome":"first"}}]"#
        )
    );
}

#[test]
fn when_the_session_ends_every_event_still_open_is_answered_once() {
    let mut bench = Bench::open();
    bench.producer_says(r#"{"jsonrpc":"2.0","id":1,"method":"push/event","params":{"featureSet":"doc","eventId":"a","payload":{"content":[]}}}"#);
    bench.producer_says(&incoming("2", &[message("A", None), message("B", None)]));
    bench.producer_says(&incoming("3", &[message("C", Some("c")), message("D", None)]));
    bench.host();
    bench.end();
    let told = bench.producer();
    let ids: Vec<String> = told.iter().map(|line| id(line)).collect();
    assert_eq!(ids, ["1", "2", "3"]);
    assert_eq!(at(&told[0], &["error", "code"]), Some("-32000"));
    assert!(at(&told[0], &["error", "data"]).is_none(), "no classification");
    assert_eq!(at(&told[1], &["error", "code"]), Some("-32000"));
    assert!(told[2].contains(r#"{"messageId":"C","accepted":true"#), "what was accepted stays accepted");
    bench.end();
    assert!(bench.producer().is_empty());
}

#[test]
fn messages_of_no_event_shape_are_the_hosts_to_judge() {
    let mut bench = Bench::open();
    for params in ["{\"messages\":[]}", "{\"messages\":7}", "{}", "null", "[]"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"channels/incoming","params":{params}}}"#);
        bench.producer_says(&line);
        assert_eq!(bench.host(), [line]);
        let answer = r#"{"jsonrpc":"2.0","id":5,"result":{"results":[]}}"#;
        bench.host_says(answer);
        assert_eq!(bench.producer(), [answer]);
    }
}

#[test]
fn an_event_nobody_can_answer_passes_behind_what_its_channel_holds() {
    let mut bench = Bench::open();
    bench.producer_says(&incoming("1", &[message("A", Some("a"))]));
    bench.producer();
    for absent in ["", "\"id\":null,"] {
        let line = format!(
            r#"{{"jsonrpc":"2.0",{absent}"method":"channels/incoming","params":{{"messages":[{}]}}}}"#,
            message("N", Some(""))
        );
        bench.producer_says(&line);
        let given = bench.host();
        assert_eq!(given.last(), Some(&line));
    }
    assert!(bench.producer().is_empty());
}

#[test]
fn a_change_that_registers_nothing_makes_no_other_channel_unregistered() {
    let mut bench = Bench::open();
    let removal = r#"{"jsonrpc":"2.0","id":"c","method":"channels/changed","params":{"removed":["old"]}}"#;
    let mut fresh = Bench::silent();
    fresh.host_says(super::HELLO);
    for bench in [&mut bench, &mut fresh] {
        bench.producer_says(removal);
        bench.host_says(r#"{"jsonrpc":"2.0","id":"c","result":{}}"#);
        bench.host();
        bench.producer();
    }
    fresh.producer_says(&incoming("1", &[message("A", Some("a"))]));
    assert_eq!(fresh.host().len(), 1, "unknown, so written through: not refused");
    bench.producer_says(&incoming("1", &[message("A", Some("a")).replace("chat", "other")]));
    assert!(bench.producer()[0].contains("unknown_channel"), "a registration was answered before");
}

#[test]
fn a_channel_is_told_in_message_order_even_within_one_request() {
    let mut bench = Bench::open();
    bench.producer_says(&incoming("9", &[message("A", None), message("K", Some("k")), message("B", None)]));
    let given = bench.host();
    let told: Vec<&str> = given.iter().filter_map(|line| at(line, &["params", "messages"])).collect();
    assert_eq!(told.len(), 3);
    for (messages, name) in told.iter().zip(["A", "K", "B"]) {
        assert!(messages.contains(&format!("\"messageId\":\"{name}\"")), "{name} in {messages}");
    }
    for (line, name) in given.iter().zip(["A", "K", "B"]) {
        bench.host_says(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"results":[{{"messageId":"{name}","accepted":true,"by":"host"}}]}}}}"#,
            id(line)
        ));
    }
    let told = bench.producer();
    assert_eq!(told.len(), 1);
    assert_eq!(
        at(&told[0], &["result", "results"]),
        Some(
            r#"[{"messageId":"A","accepted":true,"by":"host"},{"messageId":"K","accepted":true,"coalesce":{"outcome":"first"}},{"messageId":"B","accepted":true,"by":"host"}]"#
        )
    );
}

#[test]
fn the_hosts_results_belong_to_the_messages_they_name() {
    let mut bench = Bench::open();
    bench.producer_says(&incoming(
        "9",
        &[message("A", None), message("K", Some("k")).replace("chat", "else"), message("B", None)],
    ));
    bench.host();
    bench.host_says(
        r#"{"jsonrpc":"2.0","id":9,"result":{"results":[{"messageId":"B","accepted":true,"n":2},{"messageId":"A","accepted":true,"n":1}]}}"#,
    );
    let told = bench.producer();
    let results = at(&told[0], &["result", "results"]).unwrap_or_default();
    assert!(results.starts_with(r#"[{"messageId":"A","accepted":true,"n":1},"#), "{results}");
    assert!(results.ends_with(r#",{"messageId":"B","accepted":true,"n":2}]"#), "{results}");
}

#[test]
fn what_is_sent_apart_is_one_request_and_split_where_it_is_refused_as_a_whole() {
    let mut bench = Bench::open();
    let messages = [message("A", None), message("B", None), message("K", Some("k")), message("C", None)];
    bench.producer_says(&incoming("9", &messages));
    let given = bench.host();
    assert_eq!(given.len(), 3, "A and B, K, C");
    bench.host_says(&format!(
        r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32602,"message":"m"}}}}"#,
        id(&given[0])
    ));
    for name in ["A", "B"] {
        let sent = bench.host();
        assert_eq!(
            at(&sent[0], &["params", "messages"]),
            Some(format!("[{}]", message(name, None)).as_str())
        );
        bench.host_says(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"results":[{{"messageId":"{name}","accepted":true}}]}}}}"#,
            id(&sent[0])
        ));
    }
    bench.host_says(r#"{"jsonrpc":"2.0","id":9,"result":{"results":[{"messageId":"C","accepted":true}]}}"#);
    let told = bench.producer();
    assert_eq!((told.len(), told[0].matches("\"accepted\":true").count()), (1, 4), "{told:?}");
}

#[test]
fn what_is_known_of_a_message_goes_with_the_result_that_names_it() {
    let mut bench = Bench::open();
    bench.producer_says(&incoming(
        "9",
        &[message("A", None).replace("chat", "elsewhere"), message("B", None)],
    ));
    bench.host();
    bench.host_says(
        r#"{"jsonrpc":"2.0","id":9,"result":{"results":[{"messageId":"B","accepted":false},{"messageId":"A","accepted":false}]}}"#,
    );
    let told = bench.producer();
    let results = at(&told[0], &["result", "results"]).unwrap_or_default();
    let (b, a) = results.split_once("},").unwrap_or_default();
    assert!(b.contains("\"B\"") && b.contains("not_permitted"), "{results}");
    assert!(a.contains("\"A\"") && a.contains("unknown_channel"), "{results}");
}

#[test]
fn repeats_that_agree_agree_still_in_what_is_passed_on() {
    let mut bench = Bench::open();
    let messages = format!("[{},{}]", message("A", None), message("K", Some("k")).replace("chat", "quiet"));
    let twice = format!(r#"{{"messages":{messages},"messages":{messages}}}"#);
    bench.tell(mcpl_policy::Input::Channel(mcpl_policy::engine::ChannelFact::Opened("quiet".to_owned())));
    bench.producer_says(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"channels/incoming","params":{twice},"params":{twice}}}"#
    ));
    let given = bench.host();
    assert_eq!(given.len(), 1);
    assert!(!given[0].contains("coalesce") && !given[0].contains("\"K\""), "{}", given[0]);
    assert_eq!(given[0].matches("\"params\"").count() + given[0].matches("\"messages\"").count(), 2);
}
