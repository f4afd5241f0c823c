use proptest::prelude::*;

use super::*;
use crate::sample::{self, Choices, Tree};

#[test]
fn members_are_given_in_order_with_repeats() {
    let text = br#" { "a" : 1 , "b":[1,{"a":2}],"\u0061": "x\"}" ,"c":{} } "#;
    let found: Vec<_> = members(text)
        .map(|(name, value)| {
            (name.decode().unwrap().into_owned(), String::from_utf8_lossy(value).into_owned())
        })
        .collect();
    let expected = [("a", "1"), ("b", r#"[1,{"a":2}]"#), ("a", r#""x\"}""#), ("c", "{}")];
    assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn what_is_no_container_has_no_parts() {
    for text in ["1", "\"{\"", "null", "", "[1]", "{}", "{ }"] {
        assert_eq!(members(text.as_bytes()).count(), 0, "{text}");
    }
    for text in ["1", "\"[\"", "", "{\"a\":1}", "[]", "[ ]"] {
        assert_eq!(elements(text.as_bytes()).count(), 0, "{text}");
    }
}

#[test]
fn elements_are_given_without_space() {
    let found: Vec<_> = elements(b" [ 1 ,\"a,]\", [ ] , null\n] ").collect();
    assert_eq!(found, [&b"1"[..], b"\"a,]\"", b"[ ]", b"null"]);
}

#[test]
fn kinds_are_told_by_the_first_byte() {
    for (text, expected) in [
        ("null", Kind::Null),
        ("true", Kind::Bool(true)),
        ("false", Kind::Bool(false)),
        ("-1", Kind::Number),
        ("0", Kind::Number),
        ("\"\"", Kind::String),
        ("[]", Kind::Array),
        (" {}", Kind::Object),
    ] {
        assert_eq!(kind(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn strings_are_decoded_and_halves_of_pairs_are_unreadable() {
    for (text, expected) in [
        (r#""""#, Some("")),
        (r#""plain é""#, Some("plain é")),
        (r#""\"\\\/\b\f\n\r\t\u0041\u00e9""#, Some("\"\\/\u{8}\u{c}\n\r\tAé")),
        (r#""\ud83d\ude00!""#, Some("😀!")),
        (r#""\ud83d""#, None),
        (r#""\ude00\ud83d""#, None),
        (r#""\ud83d\ud83d\ude00""#, None),
        (r#""\ud83dx\ude00""#, None),
        (r#""\ud83d\n""#, None),
        ("7", None),
        ("[\"a\"]", None),
    ] {
        assert_eq!(string(text.as_bytes()).as_deref(), expected, "{text}");
    }
    assert!(matches!(string(b"\"plain\""), Some(Cow::Borrowed("plain"))));
}

#[test]
fn only_is_the_member_unless_its_repeats_differ() {
    assert_eq!(only(br#"{"a":1}"#, "a"), Ok(Some(&b"1"[..])));
    assert_eq!(only(br#"{"a":"x","\u0061":"\u0078"}"#, "a"), Ok(Some(&b"\"x\""[..])));
    assert_eq!(only(br#"{"b":1}"#, "a"), Ok(None));
    assert_eq!(only(br#"{"a":1,"b":0,"a":2}"#, "a"), Err(Repeated));
    assert_eq!(only(br#"{"a":1,"a":2,"a":1}"#, "a"), Err(Repeated));
}

#[test]
fn a_name_is_compared_decoded_only() {
    assert_eq!(member(br#"{"\u0061":1}"#, "a"), Some(&b"1"[..]));
    assert_eq!(member(br#"{"\u0061":1}"#, "\\u0061"), None);
}

#[test]
fn paths_lead_through_objects() {
    let text = br#"{"a":{"b":{"c":7}},"x":[1]}"#;
    assert_eq!(at(text, &["a", "b", "c"]), Some(&b"7"[..]));
    assert_eq!(at(text, &[]), Some(&text[..]));
    assert_eq!(at(text, &["x", "0"]), None);
    assert_eq!(at(text, &["a", "z"]), None);
}

#[test]
fn integers_are_whole_numbers_in_any_exact_spelling() {
    for (text, expected) in [
        ("0", Some(0)),
        ("-32602", Some(-32602)),
        ("-32602.0", Some(-32602)),
        ("1e3", Some(1000)),
        ("9223372036854775807", Some(i64::MAX)),
        ("9223372036854775808", None),
        ("1.5", None),
        ("1e400", None),
        ("\"1\"", None),
        ("null", None),
        ("true", None),
        ("-0", Some(0)),
        (" 5 ", Some(5)),
        ("", None),
    ] {
        assert_eq!(integer(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn agreement_is_of_values_not_of_spelling() {
    for (a, b) in [
        (r#"{"a":1,"b":[true,null]}"#, r#" { "b" : [true , null], "\u0061":1 } "#),
        (r#""\ud83d\ude00""#, "\"😀\""),
        (r#""\uD800""#, r#""\ud800""#),
        (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
        ("[]", "[ ]"),
    ] {
        assert!(agree(a.as_bytes(), b.as_bytes()), "{a} {b}");
    }
    for (a, b) in [
        ("1", "1.0"),
        ("1", "\"1\""),
        ("null", "\"null\""),
        ("[1,2]", "[2,1]"),
        ("[]", "{}"),
        ("[[]]", "[]"),
        (r#"{"a":1}"#, r#"{"a":1,"a":1}"#),
        (r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#),
        (r#""\ud800""#, r#""\ud801""#),
        (r#"["a","b"]"#, r#"["ab"]"#),
        (r#"{"a":{"b":1}}"#, r#"{"a":{},"b":1}"#),
        (r#"[{"a":1},{}]"#, r#"[{},{"a":1}]"#),
        (r#"[["a"],"b"]"#, r#"[["a","b"]]"#),
        (r#"{"a":[1]}"#, r#"{"b":[1]}"#),
        (r#"{"a":{}}"#, r#"{"b":{}}"#),
        (r#"{"a":[[1],2],"b":3}"#, r#"{"a":[[1],3],"b":2}"#),
    ] {
        assert!(!agree(a.as_bytes(), b.as_bytes()), "{a} {b}");
    }
}

#[test]
fn depth_costs_neither_stack_nor_square_time() {
    let spaced = |text: &str| format!(" {text}");
    for depth in [1_000, 40_000] {
        let (arrays, objects) = (sample::arrays(depth), sample::objects(depth));
        assert!(!agree(arrays.as_bytes(), sample::arrays(depth - 1).as_bytes()));
        assert!(agree(objects.as_bytes(), spaced(&objects).as_bytes()));
    }
    let (arrays, objects) = (sample::arrays(1_000_000), sample::objects(1_000_000));
    assert!(agree(arrays.as_bytes(), arrays.clone().as_bytes()), "equal bytes agree whatever their length");
    assert!(!agree(arrays.as_bytes(), spaced(&arrays).as_bytes()), "past the bound nothing else does");
    assert_eq!(elements(arrays.as_bytes()).count(), 1);
    assert_eq!(members(objects.as_bytes()).count(), 1);
    assert_eq!(only(objects.as_bytes(), "b"), Ok(None));
}

proptest! {
    #[test]
    fn spellings_of_one_value_agree(tree in sample::tree(), one: u64, two: u64) {
        let (a, b) = (tree.spell(&mut Choices::new(one), true), tree.spell(&mut Choices::new(two), true));
        prop_assert!(agree(a.as_bytes(), b.as_bytes()), "{} {}", a, b);
    }

    #[test]
    fn different_values_do_not_agree(a in sample::tree(), b in sample::tree(), seed: u64) {
        let (one, two) = (a.spell(&mut Choices::new(seed), true), b.spell(&mut Choices::new(!seed), true));
        prop_assert_eq!(agree(one.as_bytes(), two.as_bytes()), a.sorted() == b.sorted(), "{} {}", one, two);
    }

    #[test]
    fn members_are_those_of_the_value(tree in sample::object(), seed: u64) {
        let text = tree.spell(&mut Choices::new(seed), false);
        let Tree::Object(expected) = tree else { unreachable!() };
        let found: Vec<_> = members(text.as_bytes()).collect();
        prop_assert_eq!(found.len(), expected.len());
        for ((name, value), (units, inner)) in found.into_iter().zip(&expected) {
            prop_assert_eq!(name.decode().map(Cow::into_owned), String::from_utf16(units).ok());
            let spelled = inner.spell(&mut Choices::new(7), false);
            prop_assert!(agree(value, spelled.as_bytes()));
            prop_assert_eq!(scan::trim(value), value);
        }
    }

    #[test]
    fn strings_survive_quoting(text: String) {
        let quoted = quote(&text);
        let read: String = serde_json::from_str(&quoted).unwrap();
        prop_assert_eq!(&read, &text);
        let decoded = string(quoted.as_bytes());
        prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
    }

    #[test]
    fn untrusted_bytes_give_no_panic_and_end(text in prop::collection::vec(
        prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\",:\\u01 ".to_vec())], 0..48)) {
        for (name, value) in members(&text) {
            let _ = (name.decode(), name.is("a"), string(value), integer(value), kind(value));
        }
        let _ = (elements(&text).count(), agree(&text, b"{}"), only(&text, "a"), string(&text));
        let _ = crate::jcs::size(&text);
        let key = crate::digest::DigestKey([1; 16]);
        let _ = crate::digest::Digester::new(&key).field(Some(&text)).finish();
        let _ = crate::splice::Splice::new(&text).remove_member(&text, "a").keep_elements(&text, |_| false).finish();
        let event = crate::event::Event::push(bytes::Bytes::from(text.clone()));
        let _ = (event.digest(&key), event.bare(), event.shape_fault(), event.tags().count());
        let _ = crate::event::Event::merged(&crate::event::Event::message(bytes::Bytes::from(text)), &event);
    }
}
