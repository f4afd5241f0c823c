use proptest::prelude::*;
use serde::de::IgnoredAny;

use super::*;
use crate::sample::{self, Choices};

fn is_noise(text: &[u8]) -> bool {
    sniff(text).is_err()
}

fn message(text: &str) -> Envelope<'_> {
    match sniff(text.as_bytes()) {
        Ok(Sniff::Message(envelope)) => envelope,
        other => panic!("{text}: {other:?}"),
    }
}

/// What an independent parser thinks of it.
fn is_json(text: &[u8]) -> bool {
    let container = matches!(text.get(scan::space(text, 0)), Some(b'{' | b'['));
    container && std::str::from_utf8(text).is_ok() && serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

#[test]
fn top_level_members_are_found_raw() {
    let text = r#" { "jsonrpc":"2.0", "id" : 1.0 ,"method":"push/event","params":{"id":9, "x":[{}]} } "#;
    let envelope = message(text);
    assert_eq!(envelope.id, Some(&b"1.0"[..]));
    assert_eq!(envelope.method_name().as_deref(), Some("push/event"));
    assert_eq!(envelope.params, Some(&br#"{"id":9, "x":[{}]}"#[..]));
    assert_eq!((envelope.result, envelope.error, envelope.repeated), (None, None, false));
}

#[test]
fn a_null_id_is_not_an_absent_id() {
    assert_eq!(message(r#"{"id":null}"#).id, Some(&b"null"[..]));
    assert_eq!(message("{}").id, None);
}

#[test]
fn an_escaped_name_counts_as_the_member() {
    let envelope = message(r#"{"\u0069d":1,"m\u0065thod":"x","\ud800":2,"id\u0000":3}"#);
    assert_eq!(envelope.id, Some(&b"1"[..]));
    assert_eq!(envelope.method_name().as_deref(), Some("x"));
    assert!(!envelope.repeated);
    assert!(message(r#"{"id":1,"\u0069d":2}"#).repeated);
}

#[test]
fn repeats_that_agree_are_fine_and_others_are_not() {
    assert!(!message(r#"{"params":{"a":1,"b":"\u0041"},"params":{ "b":"A" , "a":1}}"#).repeated);
    assert!(!message(r#"{"u":1,"u":2,"id":1,"id":1,"id":1}"#).repeated);
    for text in [
        r#"{"id":1,"id":"1"}"#,
        r#"{"id":1,"id":1.0}"#,
        r#"{"id":1,"id":1,"id":2}"#,
        r#"{"method":"a","method":"b"}"#,
        r#"{"params":{"a":1},"params":{"a":1,"a":1}}"#,
        r#"{"result":[1,2],"result":[2,1]}"#,
        r#"{"error":null,"error":{}}"#,
    ] {
        assert!(message(text).repeated, "{text}");
    }
    assert_eq!(message(r#"{"id":1,"id":2}"#).id, Some(&b"1"[..]), "the first is kept");
}

#[test]
fn repeats_without_number_cost_no_more_than_their_length() {
    let wide = format!("[{}1]", " ".repeat(200 << 10));
    let text = format!(r#"{{"id":{wide},{}"id":[1]}}"#, r#""id":[1],"#.repeat(100_000));
    assert!(!message(&text).repeated);
}

#[test]
fn the_envelope_of_a_batch_element_is_the_same() {
    let text = r#"{"id":1,"method":"m","params":[1],"result":{},"error":2,"id":3}"#;
    let (sniffed, read) = (message(text), Envelope::of(text.as_bytes()));
    assert_eq!(
        (sniffed.id, sniffed.method, sniffed.params, sniffed.result, sniffed.error, sniffed.repeated),
        (read.id, read.method, read.params, read.result, read.error, read.repeated),
    );
    assert_eq!(Envelope::of(b"[1]").id, None);
}

#[test]
fn a_batch_is_given_without_space_around_it() {
    for (text, batch) in [(" [] ", "[]"), ("[1,{\"id\":2}]\r", "[1,{\"id\":2}]")] {
        match sniff(text.as_bytes()) {
            Ok(Sniff::Batch(found)) => assert_eq!(found, batch.as_bytes()),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_unreadable_method_is_no_name() {
    assert_eq!(message(r#"{"method":"\ud800"}"#).method_name(), None);
    assert_eq!(message(r#"{"method":7}"#).method_name(), None);
}

#[test]
fn scalars_logs_and_halves_are_noise() {
    for text in [
        "",
        " ",
        "1",
        "\"a\"",
        "null",
        "true",
        "Server listening on 7000",
        "[INFO] ready",
        "{",
        "[",
        "{]",
        "[}",
        "}",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1,}",
        "{,}",
        "[1,]",
        "[,]",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "{} x",
        "{}{}",
        "[]]",
        "{\"a\":1",
        "{\"a",
        "{\"a\":\"b",
        "[\"a\\",
        "[\"\\u12\"]",
        "[\"\\u12g4\"]",
        "[\"\\x41\"]",
        "[tru]",
        "[nul]",
        "[True]",
        "[undefined]",
        "[1]//",
        "\u{feff}{}",
        "[\u{a0}]",
        "{\"a\":1,\"b\"}",
        "[:]",
        "{1:2}",
    ] {
        assert!(is_noise(text.as_bytes()), "{text}");
        assert!(!is_json(text.as_bytes()), "{text}");
    }
}

#[test]
fn noise_says_where_and_why() {
    let Err(noise) = sniff(b"{\"a\":01}") else { panic!("no noise") };
    assert_eq!(noise.to_string(), "neither `,` nor `}` at byte 6");
}

#[test]
fn numbers_of_any_size_are_legal_and_their_lookalikes_are_not() {
    for number in ["1e400", "-0", "0", "12345678901234567890123", "-1.5E-7", "0.0", "1E+2", "0e0"] {
        assert!(!is_noise(format!("[{number}]").as_bytes()), "{number}");
    }
    for number in [
        "01",
        "+1",
        ".5",
        "NaN",
        "1.",
        "-",
        "1e",
        "1e+",
        "--1",
        "0x1",
        "Infinity",
        "-Infinity",
        "1_0",
        "-01",
        "1.e1",
    ] {
        assert!(is_noise(format!("[{number}]").as_bytes()), "{number}");
    }
}

#[test]
fn control_characters_in_strings_are_not_legal() {
    for control in 0..0x20_u8 {
        for before in ["", "sixteen bytes ok"] {
            let text = [b"[\"", before.as_bytes(), &[control], b"\"]"].concat();
            assert!(is_noise(&text), "{control:#x}");
        }
    }
    assert!(!is_noise(b"[\"\x7f\"]"));
}

#[test]
fn invalid_utf8_is_noise_and_lone_surrogate_escapes_are_not() {
    for bad in [&b"\xff\xfe"[..], b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"] {
        let text = [b"{\"a\":\"", bad, b"\"}"].concat();
        assert!(is_noise(&text), "{bad:?}");
        let name = [b"{\"", bad, b"\":1}"].concat();
        assert!(is_noise(&name), "{bad:?}");
    }
    for escape in ["\\ud83d", "\\udc00", "\\udc00\\ud83d", "\\ud83d\\ude00", "\\uD83Dx"] {
        assert!(!is_noise(format!("[\"{escape}\"]").as_bytes()), "{escape}");
    }
}

#[test]
fn depth_costs_no_stack_and_is_tracked_past_every_word() {
    for depth in [1, 2, 63, 64, 65, 128, 129, 10_000, 1_000_000] {
        assert!(matches!(sniff(sample::arrays(depth).as_bytes()), Ok(Sniff::Batch(_))));
        assert!(matches!(sniff(sample::objects(depth).as_bytes()), Ok(Sniff::Message(_))));
        let short = "[".repeat(depth) + &"]".repeat(depth - 1);
        assert!(is_noise(short.as_bytes()));
        // An object among arrays, at every position near a word's edge.
        let mixed = "[".repeat(depth) + "{\"a\":[" + "]}" + &"]".repeat(depth);
        assert!(!is_noise(mixed.as_bytes()));
        let crossed = "[".repeat(depth) + "{\"a\":[" + "}]" + &"]".repeat(depth);
        assert!(is_noise(crossed.as_bytes()));
        let wrong_end = "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth - 1) + "]";
        assert!(is_noise(wrong_end.as_bytes()));
    }
}

proptest! {
    #[test]
    fn every_spelling_of_a_value_is_json(tree in sample::object(), seed: u64) {
        let text = tree.spell(&mut Choices::new(seed), true);
        prop_assert!(matches!(sniff(text.as_bytes()), Ok(Sniff::Message(_))), "{}", text);
    }

    #[test]
    fn damaged_text_is_judged_as_another_parser_judges_it(
        tree in sample::object(),
        seed: u64,
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<u8>()), 1..4),
    ) {
        let mut text = tree.spell(&mut Choices::new(seed), false).into_bytes();
        for (at, what, byte) in damage {
            let punctuation = b"{}[]\",:\\0u "[usize::from(byte) % 11];
            let at = at.index(text.len() + 1);
            match what {
                0 => text.truncate(at),
                1 if at < text.len() => { text.remove(at); }
                2 if at < text.len() => text[at] = byte,
                _ => text.insert(at, punctuation),
            }
        }
        prop_assert_eq!(!is_noise(&text), is_json(&text), "{:?}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn no_bytes_make_it_panic(text in prop::collection::vec(any::<u8>(), 0..64)) {
        prop_assert_eq!(!is_noise(&text), is_json(&text));
    }
}
