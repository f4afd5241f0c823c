//! Renders: what the producer is asked, and what it says and asks meanwhile (contract 6.5).

use mcpl_codec::Sniff;
use mcpl_codec::sniff::sniff;
use mcpl_policy::engine::Rendering;

use super::super::{Cargo, MAX_ELEMENTS, MAX_RENDERS};
use super::{Bench, Bytes, Deed, Exchange, Line, Now, Side, at, id, text};

const PARAMS: &str = r#"{"featureSet":"doc","key":"k","eventId":"n1","notices":[{"eventId":"n1","timestamp":"t","data":1.0}],"dropped":0}"#;
const OTHER: &str = r#"{"jsonrpc":"2.0","id":"other","result":{"content":1.0}}"#;

/// What the producer is asked by a render of the engine's, and the number under which it is sent.
fn asked(bench: &mut Bench, number: u64) -> (String, u64) {
    assert!(bench.exchange.render(
        bench.now,
        number,
        (&Bytes::from_static(PARAMS.as_bytes()), None),
        Some(7)
    ));
    let Some(Deed::Send { to: Side::Producer, line, after: Some(7), cargo: Cargo::Render(wire) }) =
        bench.exchange.poll()
    else {
        panic!("no render is sent to the producer once its step is durable")
    };
    assert!(bench.exchange.poll().is_none());
    (text(&line), wire)
}

/// A render that the producer has in hand: the raw id of the request.
fn rendering(bench: &mut Bench) -> String {
    let (line, wire) = asked(bench, 1);
    bench.exchange.render_written(bench.now, wire);
    id(&line)
}

fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn inference(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"inference/request","params":{{"messages":[]}}}}"#)
}

/// What the engine is told of an answer.
fn told(exchange: &mut Exchange, now: Now, wire: u64, text: &str) -> Option<(u64, Rendering)> {
    let line = Line::from_text(text.as_bytes());
    let Ok(Sniff::Message(envelope)) = sniff(line.text()) else { panic!("{text}") };
    exchange.rendered(now, wire, &envelope, &line)
}

#[test]
fn a_render_is_a_request_of_ours_to_the_producer_with_the_engines_own_bytes() {
    let mut bench = Bench::open();
    let (first, _) = asked(&mut bench, 5);
    assert_eq!(at(&first, &["method"]), Some("\"push/render\""));
    assert_eq!(at(&first, &["params"]), Some(PARAMS));
    let (second, _) = asked(&mut bench, 5);
    assert!(id(&first).starts_with("\"mcpl-sidecar/r/") && id(&first) != id(&second), "{first} {second}");
    assert!(bench.host().is_empty());
}

#[test]
fn what_was_rendered_is_told_in_its_own_bytes_and_with_a_time() {
    const CAME: &str = "\"2027-01-15T08:00:00.123Z\"";
    let mut bench = Bench::open();
    bench.now.wall_ms = 1_800_000_000_123;
    for (answer, content, timestamp) in [
        (
            r#"{"content":[{"type":"text","text":"\u00e9"}],"timestamp":"t\u0031"}"#,
            r#"[{"type":"text","text":"\u00e9"}]"#,
            r#""t\u0031""#,
        ),
        (r#"{"content":"x"}"#, "\"x\"", CAME),
        (r#"{"timestamp":5,"content":[]}"#, "[]", CAME),
        (r#"{"timestamp":null,"content":null}"#, "null", CAME),
        (r#"{"content":[ 1.0 ],"content":[ 1.0 ],"timestamp":"t"}"#, "[ 1.0 ]", "\"t\""),
    ] {
        let (line, wire) = asked(&mut bench, 5);
        let expected = Rendering::Content { content: content.into(), timestamp: timestamp.into() };
        let said = told(&mut bench.exchange, bench.now, wire, &result(&id(&line), answer));
        assert_eq!(said, Some((5, expected)), "{answer}");
    }
}

#[test]
fn what_says_no_content_or_two_of_them_has_failed() {
    let mut bench = Bench::open();
    for answer in [
        r#""error":{"code":-32603,"message":"cannot"}"#,
        r#""error":{"code":1,"message":"cannot"},"result":{"content":[]}"#,
        r#""error":"words""#,
        r#""result":{}"#,
        r#""result":null"#,
        r#""result":[]"#,
        r#""result":"content""#,
        r#""result":{"content":"a","content":"b"}"#,
        r#""result":{"content":"a","timestamp":"1","timestamp":"2"}"#,
        r#""result":{"content":"a"},"result":{"content":"b"}"#,
        r#""error":null,"result":{"content":"a"},"error":{"code":1}"#,
        r#""x":1"#,
    ] {
        let (line, wire) = asked(&mut bench, 5);
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#, id(&line));
        let said = told(&mut bench.exchange, bench.now, wire, &text);
        assert_eq!(said, Some((5, Rendering::Failed)), "{answer}");
    }
}

#[test]
fn no_answer_under_an_id_of_ours_reaches_the_host_and_only_the_first_counts() {
    let mut bench = Bench::open();
    let id = rendering(&mut bench);
    let answer = result(&id, r#"{"content":"x"}"#);
    bench.host_says(&answer);
    assert_eq!(bench.exchange.tally().strays, 0, "the host was not asked");
    bench.producer_says(&answer);
    assert_eq!(bench.exchange.tally().strays, 0, "the first is the answer");
    bench.producer_says(&answer);
    bench.producer_says(&result("\"mcpl-sidecar/r/999\"", "{}"));
    bench.producer_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"late"}}}}"#));
    assert_eq!(bench.exchange.tally().strays, 3);
    assert!(bench.host().is_empty() && bench.producer().is_empty());
}

#[test]
fn an_answer_past_its_time_is_the_engines_to_discard() {
    let mut bench = Bench::open();
    let id = rendering(&mut bench);
    bench.now = Now::at(1_000 + 5_000);
    bench.producer_says(&result(&id, r#"{"content":"x"}"#));
    assert_eq!(bench.exchange.tally().strays, 0);
    assert!(bench.host().is_empty());
}

#[test]
fn answers_in_a_batch_are_taken_out_of_it() {
    let mut bench = Bench::open();
    let (first, second) = (rendering(&mut bench), rendering(&mut bench));
    let failed = format!(r#"{{"jsonrpc":"2.0","id":{second},"error":{{"code":1,"message":"no"}}}}"#);
    bench.producer_says(&format!("[{}, {OTHER} ,{failed}]", result(&first, r#"{"content":"x"}"#)));
    assert_eq!(bench.host(), [format!("[ {OTHER} ]").replace("[ ", "[").replace(" ]", "]")]);
    assert!(bench.producer().is_empty());
    bench.producer_says(&inference("1"));
    assert_eq!(bench.host().len(), 1, "both are answered");
    bench.producer_says(&format!("[{failed}]"));
    assert_eq!((bench.host().len(), bench.exchange.tally().strays), (0, 1));
}

#[test]
fn an_answer_to_us_in_a_batch_too_long_to_look_at_passes_neither() {
    let mut bench = Bench::open();
    let answer = result(&rendering(&mut bench), r#"{"content":"x"}"#);
    bench.producer_says(&format!("[{answer}{}]", ",0".repeat(MAX_ELEMENTS)));
    assert!(bench.host().is_empty());
    assert_eq!(at(&bench.producer()[0], &["error", "code"]), Some("-32600"));
    bench.producer_says(&format!("[{answer}{}]", ",0".repeat(MAX_ELEMENTS - 1)));
    assert!(!bench.host()[0].contains("mcpl-sidecar"), "the last that is looked at");
}

#[test]
fn an_answer_over_the_limit_is_an_answer_and_goes_nowhere() {
    let mut bench = Bench::open();
    let id = rendering(&mut bench);
    let head = Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":"xxxx"#));
    bench.exchange.overlong(&mut bench.engine, bench.now, Side::Producer, &head, 20);
    bench.carry();
    assert_eq!((bench.host().len(), bench.producer().len(), bench.noise), (0, 0, 1));
    bench.producer_says(&inference("1"));
    assert_eq!(bench.host().len(), 1, "the render is answered");
    bench.producer_says(&result(&id, r#"{"content":"x"}"#));
    assert_eq!(bench.exchange.tally().strays, 1);
}

#[test]
fn no_inference_is_asked_for_while_a_render_is_handled() {
    let mut bench = Bench::open();
    let (line, wire) = asked(&mut bench, 1);
    bench.producer_says(&inference("1"));
    assert_eq!(bench.host(), [inference("1")], "the producer has no render yet");
    bench.exchange.render_written(bench.now, wire);
    for spelled in ["7", "\"x\\u0041\"", "1.50"] {
        bench.producer_says(&inference(spelled));
        let told = bench.producer();
        assert_eq!((told.len(), id(&told[0]).as_str()), (1, spelled));
        assert_eq!(at(&told[0], &["error", "code"]), Some("-32600"));
        assert!(at(&told[0], &["error", "message"]).unwrap().contains("push/render"));
    }
    bench.producer_says(r#"{"jsonrpc":"2.0","method":"inference\/request","params":{}}"#);
    assert!(bench.host().is_empty() && bench.producer().is_empty(), "a notification is dropped");
    bench.host_says(&inference("8"));
    assert_eq!(bench.producer(), [inference("8")], "the host may");
    bench.producer_says(&result(&id(&line), r#"{"content":"x"}"#));
    bench.producer_says(&inference("9"));
    assert_eq!(bench.host(), [inference("9")]);
}

#[test]
fn a_render_that_is_never_answered_bars_inference_until_its_time_is_over() {
    let mut bench = Bench::open();
    rendering(&mut bench);
    bench.now = Now::at(1_000 + 4_999);
    bench.producer_says(&inference("1"));
    assert_eq!((bench.host().len(), bench.producer().len()), (0, 1));
    bench.now = Now::at(1_000 + 5_000);
    bench.producer_says(&inference("1"));
    assert_eq!((bench.host().len(), bench.producer().len()), (1, 0));
    let mut terms = bench.exchange.terms.clone();
    terms.render_timeout_ms = 10;
    bench.exchange.set_terms(terms);
    rendering(&mut bench);
    bench.now = Now::at(6_010);
    bench.producer_says(&inference("1"));
    assert_eq!(bench.host().len(), 1, "a reload counts for the next render");
}

#[test]
fn an_inference_in_a_batch_is_refused_in_its_answer_and_the_rest_goes_on() {
    let mut bench = Bench::open();
    let render = rendering(&mut bench);
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"inference/request"}"#;
    bench.producer_says(&format!("[{},{ping},{notification}]", inference("\"i\"")));
    assert_eq!(bench.host(), [format!("[{ping}]")]);
    assert!(bench.producer().is_empty(), "answered as one");
    bench.host_says(r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    let told = bench.producer();
    assert!(told.len() == 1 && told[0].contains("-32600") && told[0].contains("\"p\""), "{told:?}");
    bench.producer_says(&format!("[{notification}]"));
    assert!(bench.host().is_empty() && bench.producer().is_empty());
    // The elements are taken in their order.
    let answer = result(&render, r#"{"content":"x"}"#);
    bench.producer_says(&format!("[{},{answer},{}]", inference("1"), inference("2")));
    assert_eq!(bench.host(), [format!("[{}]", inference("2"))]);
    bench.host_says(&result("2", "{}"));
    let told = bench.producer();
    assert!(
        told.len() == 1 && told[0].contains("-32600") && told[0].contains("\"id\":2,\"result\""),
        "{told:?}"
    );
}

#[test]
fn a_request_that_one_reading_makes_an_inference_is_refused_only_while_a_render_is_handled() {
    let mut bench = Bench::open();
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"x/y","method":"inference/request","params":{}}"#;
    bench.producer_says(twice);
    assert_eq!(bench.host(), [twice]);
    rendering(&mut bench);
    bench.producer_says(twice);
    assert!(bench.host().is_empty());
    assert_eq!(at(&bench.producer()[0], &["error", "code"]), Some("-32600"));
    bench.host_says(twice);
    assert_eq!(bench.producer(), [twice], "the host may");
}

#[test]
fn renders_that_are_not_answered_are_bounded_and_make_room_in_time() {
    let mut bench = Bench::open();
    let params = Bytes::from_static(PARAMS.as_bytes());
    let wires: Vec<u64> = (0..MAX_RENDERS as u64).map(|number| asked(&mut bench, number).1).collect();
    assert!(!bench.exchange.render(bench.now, 9_999, (&params, None), None), "too many wait to be written");
    for wire in &wires[1..] {
        bench.exchange.render_written(bench.now, *wire);
    }
    assert!(!bench.exchange.render(bench.now, 9_999, (&params, None), None), "too many are handled");
    assert!(bench.exchange.poll().is_none(), "and what is not noted is not sent");
    bench.exchange.render_dropped(wires[1]);
    asked(&mut bench, 9_999);
    assert!(!bench.exchange.render(bench.now, 9_999, (&params, None), None));
    bench.now = Now::at(1_000 + 5_000);
    asked(&mut bench, 9_999);
    let mut told_of = |wire| told(&mut bench.exchange, bench.now, wire, &result("1", "{}"));
    assert_eq!(told_of(wires[2]), None, "forgotten");
    assert_eq!(told_of(wires[0]), Some((0, Rendering::Failed)), "not sent, so not past its time");
}

#[test]
fn a_render_whose_step_is_lost_is_forgotten() {
    let mut bench = Bench::open();
    let (line, wire) = asked(&mut bench, 1);
    bench.exchange.render_dropped(wire);
    bench.producer_says(&inference("1"));
    assert_eq!(bench.host().len(), 1);
    bench.producer_says(&result(&id(&line), r#"{"content":"x"}"#));
    assert_eq!((bench.host().len(), bench.exchange.tally().strays), (0, 1));
}

#[test]
fn the_answers_of_a_session_that_is_over_are_nothing_to_it_or_to_the_next() {
    let mut bench = Bench::open();
    let id = rendering(&mut bench);
    let answer = result(&id, r#"{"content":"x"}"#);
    bench.end();
    bench.producer_says(&answer);
    assert_eq!((bench.host().len(), bench.exchange.tally().strays), (0, 1));
    bench.exchange = Exchange::new(bench.exchange.terms.clone(), "s");
    bench.producer_says(&answer);
    assert_eq!(bench.host(), [answer], "nobody's in the next session: it passes");
    bench.producer_says(&inference("1"));
    assert_eq!(bench.host().len(), 1);
    assert_eq!(bench.exchange.tally().strays, 0);
}
