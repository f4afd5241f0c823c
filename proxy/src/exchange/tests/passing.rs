//! What is not ours goes through in its own bytes (contract 3.3, 4).

use super::{Bench, HELLO, at};

#[test]
fn foreign_messages_keep_every_byte_both_ways() {
    let mut bench = Bench::open();
    for line in [
        r#"{"jsonrpc":"2.0","method":"x/y","params":{"b":1e400,"a":12345678901234567890123,"c":-0}}"#,
        r#"{ "method" : "x/y" , "jsonrpc":"2.0","params":{"k":"\u00e9\/","k":"dup"},"unknown":[[],{}] }"#,
        r#"{"params":[null,true,"\ud800"],"jsonrpc":"2.0","method":"\u0078/y"}"#,
        r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse","data":1e2}}"#,
        r#"{"jsonrpc":"2.0","id":1e3,"result":null}"#,
        r#"[{"jsonrpc":"2.0","id":1.0,"method":"a"}, {"jsonrpc":"2.0","method":"n"}]"#,
        r"[]",
        r"{}",
    ] {
        bench.host_says(line);
        assert_eq!(bench.producer(), [line]);
        bench.producer_says(line);
        assert_eq!(bench.host(), [line]);
    }
}

#[test]
fn noise_goes_nowhere() {
    let mut bench = Bench::open();
    for line in ["Listening on 3000", "42", "\"hi\"", "{} trailing", "{'a':1}", "NaN"] {
        bench.producer_says(line);
        bench.host_says(line);
    }
    assert_eq!((bench.noise, bench.host().len(), bench.producer().len()), (12, 0, 0));
}

#[test]
fn a_plain_host_and_its_producer_are_left_alone() {
    let mut bench = Bench::silent();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"experimental":{"x":1.0}}}}"#;
    bench.host_says(hello);
    assert_eq!(bench.producer(), [hello]);
    let event =
        r#"{"jsonrpc":"2.0","id":7,"method":"push/event","params":{"eventId":"a","coalesce":{"key":""}}}"#;
    bench.producer_says(event);
    assert_eq!(bench.host(), [event]);
    let refusal = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no"}}"#;
    bench.host_says(refusal);
    assert_eq!(bench.producer(), [refusal]);
}

#[test]
fn initialize_gains_two_members_and_loses_no_byte() {
    let mut bench = Bench::silent();
    bench.host_says(HELLO);
    let seen = bench.producer();
    let mcpl = ["params", "capabilities", "experimental", "mcpl"];
    let own = at(HELLO, &mcpl).unwrap_or_default();
    let grown = at(&seen[0], &mcpl).unwrap_or_default();
    assert!(grown.starts_with(&own[..own.len() - 1]), "{grown}");
    assert!(grown.contains(r#""retryWindowMs":3600000"#) && grown.contains(r#""structuredRefusals":true"#));
    assert_eq!(seen[0].replace(grown, own), HELLO);
}

#[test]
fn an_initialize_with_two_readings_is_refused() {
    let mut bench = Bench::silent();
    bench.host_says(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"experimental":{"mcpl":{}}},"capabilities":{}}}"#);
    assert!(bench.producer().is_empty());
    assert_eq!(at(&bench.host()[0], &["error", "code"]), Some("-32600"));
}

#[test]
fn a_request_that_one_reading_makes_ours_reaches_nobody() {
    let mut bench = Bench::open();
    for (method, params) in [("\"push/event\"", "{}"), ("\"channels/register\"", "{\"channels\":[]}")] {
        bench.producer_says(&format!(
            r#"{{"jsonrpc":"2.0","id":"two","method":"x/y","method":{method},"params":{params}}}"#
        ));
        assert!(bench.host().is_empty());
        assert_eq!(at(&bench.producer()[0], &["error", "code"]), Some("-32600"));
    }
    for line in [
        r#"{"jsonrpc":"2.0","method":"x/y","method":"push/event","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"a":1},"params":{"a":2}}"#,
        r#"{"jsonrpc":"2.0","id":"mcpl-sidecar/r/1","id":"other","result":{}}"#,
    ] {
        bench.producer_says(line);
        assert_eq!(bench.host(), [line], "not ours, so untouched");
    }
}

#[test]
fn answers_under_ids_of_ours_stay_here_and_others_of_the_same_look_pass() {
    let mut bench = Bench::open();
    for own in ["mcpl-sidecar/r/1", "mcpl-sidecar/r/99999999999999999999999", "mcpl-sidecar/r/x"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"{own}","result":{{}}}}"#);
        bench.host_says(&line);
        bench.producer_says(&line);
        assert!(bench.host().is_empty() && bench.producer().is_empty(), "{own}");
    }
    let line = r#"{"jsonrpc":"2.0","id":"mcpl-sidecar/other/1","result":{}}"#;
    bench.host_says(line);
    assert_eq!(bench.producer(), [line]);
}

#[test]
fn when_the_producer_is_not_reached_every_request_hears_why() {
    let mut bench = Bench::silent();
    bench.host_says(HELLO);
    bench.host_says(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    bench.host_says(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    bench.exchange.unreachable("it is not there");
    bench.carry();
    let told = bench.host();
    assert_eq!(told.len(), 2);
    for line in told {
        assert_eq!(at(&line, &["error", "code"]), Some("-32000"));
        assert_eq!(at(&line, &["error", "message"]), Some("\"it is not there\""));
    }
}

#[test]
fn an_initialize_whose_repeats_agree_is_taken_over_in_every_reading() {
    let mcpl = r#"{"mcpl":{"version":"0.5"}}"#;
    let caps = format!(r#"{{"experimental":{mcpl},"experimental":{mcpl}}}"#);
    let mut bench = Bench::silent();
    bench.host_says(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"capabilities":{caps},"capabilities":{caps}}}}}"#
    ));
    let seen = bench.producer();
    assert_eq!(seen[0].matches("mcpl").count(), 1, "{}", seen[0]);
    assert!(seen[0].contains("eventCoalescing"));
}
