//! Producers and hosts as they are (contract 13): rules, shims, what is told of dead letters.

use mcpl_policy::Now;

use super::{Bench, HELLO, Input, at, id, push};

/// A push as a producer of today sends it.
fn plain(id: u32, event_id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"push/event","params":{{"featureSet":"doc","eventId":"{event_id}","timestamp":"t","payload":{{"content":[{{"type":"text","text":"{text}"}}]}}}}}}"#
    )
}

impl Bench {
    /// Everything held goes; what the host was given of it.
    fn flush(&mut self) -> Vec<String> {
        self.tell(Input::Flush);
        self.host()
    }
}

#[test]
fn a_batch_of_messages_is_split_by_what_the_rules_match() {
    let rule = "[[producer.subject]]\nmessage_id = '^(?<id>\\d+)$'\nkey = \"{id}\"\n";
    let mut bench = Bench::configured(rule).opened();
    let message = |id: &str| format!(r#"{{"channelId":"chat","messageId":"{id}","content":"x","n":1e400}}"#);
    bench.producer_says(&super::incoming("3", &[message("17"), message("system"), message("18")]));
    let told = bench.host();
    assert_eq!(told.len(), 2, "what was held of the channel goes before what passes: {told:?}");
    assert!(at(&told[0], &["params", "messages"]).unwrap().contains("\"17\""));
    assert!(at(&told[1], &["params", "messages"]).unwrap().contains("\"system\""));
    bench.host_says(&format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"results":[{{"messageId":"system","accepted":true}}]}}}}"#,
        id(&told[1])
    ));
    let answer = &bench.producer()[0];
    assert_eq!(id(answer), "3");
    for message in ["17", "system", "18"] {
        assert!(answer.contains(&format!(r#"{{"messageId":"{message}","accepted":true"#)), "{answer}");
    }
    assert!(bench.flush()[0].contains(r#""messageId":"18","content":"x","n":1e400}"#));
}

#[test]
fn the_first_content_of_an_event_id_is_forwarded_in_its_own_bytes_and_the_next_under_a_name_of_its_own() {
    let mut bench = Bench::configured("preset = \"discord-mcpl\"\n").opened();
    let mut params = Vec::new();
    for (n, text) in ["one", "two"].into_iter().enumerate() {
        let line = plain(n as u32, "discord_edit_5", text);
        bench.producer_says(&line);
        let told = bench.flush();
        params.push((
            at(&line, &["params"]).unwrap().to_owned(),
            at(&told[0], &["params"]).unwrap().to_owned(),
        ));
        bench
            .host_says(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"accepted":true}}}}"#, id(&told[0])));
    }
    assert_eq!(params[0].0, params[0].1);
    let (sent, told) = &params[1];
    let (before, after) = sent.split_once("discord_edit_5").unwrap();
    let name = told.strip_prefix(before).unwrap().strip_suffix(after).unwrap();
    assert!(name.starts_with("discord_edit_5~") && name.len() == "discord_edit_5~".len() + 16, "{name}");
}

#[test]
fn a_shim_that_is_not_named_changes_nothing() {
    let mut bench = Bench::silent();
    bench.host_says(HELLO);
    let hello = r#"{"jsonrpc":"2.0","id":"init","result":{"capabilities":{"experimental":{"mcpl":{"featureSets":[{"name":"hb"}]}}}}}"#;
    bench.producer_says(hello);
    assert_eq!(bench.host(), [hello]);
    bench.host_says(r#"{"jsonrpc":"2.0","id":1,"method":"featureSets/update","params":{}}"#);
    let unknown = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
    bench.producer_says(unknown);
    assert_eq!(bench.host(), [unknown]);
}

#[test]
fn a_host_that_wants_an_object_is_shown_one_and_the_engine_knows_the_same() {
    let mut bench = Bench::configured("host.shims = [\"feature-sets-object\"]\n");
    bench.host_says(HELLO);
    bench.producer_says(
        r#"{"jsonrpc":"2.0","id":"init","result":{"x":1.0,"capabilities":{"experimental":{"mcpl":{"featureSets":[{"name":"hb","uses":["pushEvents"]}]}}}}}"#,
    );
    assert_eq!(
        bench.host(),
        [
            r#"{"jsonrpc":"2.0","id":"init","result":{"x":1.0,"capabilities":{"experimental":{"mcpl":{"featureSets":{"hb":{"name":"hb","uses":["pushEvents"]}}}}}}}"#
        ]
    );
    bench.producer.clear();
    bench.host_says(r#"{"jsonrpc":"2.0","id":1,"method":"featureSets/update","params":{"effectiveCapabilities":["pushEvents"]}}"#);
    bench.producer_says(r#"{"jsonrpc":"2.0","id":1,"result":{"accepted":true}}"#);
    bench.producer.clear();
    bench.producer_says(&push("2", "e", "k", "x").replace("\"doc\"", "\"other\""));
    assert_eq!(at(&bench.producer()[0], &["error", "code"]), Some("-32003"), "no such set was declared");
}

#[test]
fn a_plain_hosts_initialize_is_answered_in_the_producers_bytes() {
    let mut bench = Bench::configured("host.shims = [\"feature-sets-object\"]\n");
    bench.host_says(r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"capabilities":{}}}"#);
    let hello = r#"{"jsonrpc":"2.0","id":"init","result":{"capabilities":{"experimental":{"mcpl":{"featureSets":[{"name":"hb"}]}}}}}"#;
    bench.producer_says(hello);
    assert_eq!(bench.host(), [hello]);
}

#[test]
fn a_policy_that_the_producer_does_not_know_is_answered_for_it_and_counts() {
    let mut bench = Bench::configured("host.shims = [\"policy-receipt\"]\n");
    bench.host_says(HELLO);
    bench.producer_says(r#"{"jsonrpc":"2.0","id":"init","result":{"capabilities":{"experimental":{"mcpl":{"featureSets":{"doc":{"uses":["pushEvents"]}}}}}}}"#);
    bench.host.clear();
    let update = r#"{"jsonrpc":"2.0","id":1,"method":"featureSets/update","params":{"effectiveCapabilities":["pushEvents"],"enabled":["doc"]}}"#;
    bench.host_says(update);
    bench.producer_says(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#);
    assert_eq!(bench.host(), [r#"{"jsonrpc":"2.0","id":1,"result":{"accepted":true}}"#]);
    bench.producer.clear();
    bench.producer_says(&push("2", "e", "k", "x"));
    assert!(bench.producer()[0].contains(r#""outcome":"first""#), "what it grants is granted");
    // In a batch, too.
    bench.host_says(&format!("[{}]", update.replace("\"id\":1", "\"id\":9")));
    bench.producer_says(r#"[{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"no"}}]"#);
    assert!(
        bench
            .host()
            .iter()
            .any(|line| line.contains(r#"{"jsonrpc":"2.0","id":9,"result":{"accepted":true}}"#))
    );
}

/// Plays a held event to its refusal for good; what the producer is told after its answer.
fn refused(lines: &str, event_id: &str, times: usize, refusal: &str) -> Vec<String> {
    let mut bench = Bench::configured(lines).opened();
    for n in 0..times {
        bench.producer_says(&plain(n as u32, event_id, &format!("v{n}")));
        let told = bench.flush();
        let refusal = if n + 1 == times { refusal } else { r#""result":{"accepted":true}"# };
        bench.producer.clear();
        bench.host_says(&format!(r#"{{"jsonrpc":"2.0","id":{},{refusal}}}"#, id(&told[0])));
    }
    bench.producer()
}

const RULE: &str = "[[producer.subject]]\nkey = \"one\"\ndistinct = true\n";

#[test]
fn of_a_dead_letter_the_producer_is_told_where_it_is_to_be() {
    let refusal = r#""error":{"code":-32602,"message":"bad \"content\""}"#;
    assert_eq!(refused(RULE, "e1", 1, refusal), Vec::<String>::new(), "off by default");
    let on = format!("undelivered = true\n{RULE}");
    assert_eq!(
        refused(&on, "e1", 1, refusal),
        [
            r#"{"jsonrpc":"2.0","method":"mcpl-sidecar/undelivered","params":{"eventId":"e1","refusal":"invalid","reason":"bad \"content\""}}"#
        ]
    );
    let said = refused(&on, "e1", 2, r#""result":{"accepted":false}"#);
    assert_eq!(at(&said[0], &["params", "eventId"]), Some("\"e1\""), "by the id it was sent under");
    assert_eq!(at(&said[0], &["params", "refusal"]), Some("\"not_permitted\""));
    assert!(at(&said[0], &["params", "reason"]).unwrap().contains("no reason"));
    assert_eq!(refused(&on, "e1", 1, r#""result":{"accepted":true}"#), Vec::<String>::new());
    assert_eq!(refused(&on, "e1", 1, r#""error":{"code":-32000,"message":"later"}"#), Vec::<String>::new());
}

#[test]
fn a_host_that_coalesces_itself_has_its_events_untouched() {
    let mut bench = Bench::configured("preset = \"discord-mcpl\"\n");
    bench.host_says(&HELLO.replace("\"pushEvents\":true", "\"eventCoalescing\":true"));
    bench.producer_says(r#"{"jsonrpc":"2.0","id":"init","result":{"capabilities":{}}}"#);
    bench.host.clear();
    let line = plain(1, "discord_msg_5", "x");
    bench.producer_says(&line);
    assert_eq!(bench.host(), [line]);
    bench.now = Now::at(60_000);
    assert!(bench.flush().is_empty());
}
