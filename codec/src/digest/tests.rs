use proptest::prelude::*;

use super::*;
use crate::sample::{self, Choices};

const KEY: DigestKey = DigestKey(*b"0123456789abcdef");

fn digest(text: &str) -> Digest {
    Digester::new(&KEY).field(Some(text.as_bytes())).finish()
}

#[test]
fn a_digest_is_of_the_value_and_the_key() {
    assert_eq!(digest(r#"{"a":[1,"\u0041"],"b":null}"#), digest(r#" {"b" : null, "a":[1, "A"]}"#));
    let other = Digester::new(&DigestKey([0; 16])).field(Some(b"1")).finish();
    assert_ne!(digest("1"), other);
    assert_ne!(fingerprint(&KEY, "a"), fingerprint(&DigestKey([0; 16]), "a"));
    assert_ne!(fingerprint(&KEY, "a"), fingerprint(&KEY, "b"));
}

#[test]
fn neighbours_are_told_apart() {
    let values = [
        "null",
        "\"null\"",
        "1",
        "1.0",
        "\"1\"",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "[{},{}]",
        "[1,2]",
        "[2,1]",
        "[12]",
        r#"["a","b"]"#,
        r#"["ab"]"#,
        r#"{"a":1}"#,
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"b":2}"#,
        r#"{"a":2,"b":1}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"a":{},"b":1}"#,
        r#"[{"a":1},{}]"#,
        r#"[{},{"a":1}]"#,
        r#""\ud800""#,
        r#""\ud801""#,
        r#"{"a":[1]}"#,
        r#"{"a":"[1]"}"#,
        r#"{"":1}"#,
        r#"{"a":{"c":1},"b":{"d":2}}"#,
        r#"{"a":{"d":2},"b":{"c":1}}"#,
        r#"{"a":{"c":1,"d":2},"b":{}}"#,
        r#"{"b":[1]}"#,
        r#"{"a":{}}"#,
        r#"{"b":{}}"#,
    ];
    for (index, a) in values.iter().enumerate() {
        for b in &values[index + 1..] {
            assert_ne!(digest(a), digest(b), "{a} {b}");
        }
    }
}

#[test]
fn absent_is_not_null_and_fields_do_not_run_together() {
    let of = |parts: &[Option<&str>]| {
        let mut digester = Digester::new(&KEY);
        for raw in parts {
            digester.field(raw.map(str::as_bytes));
        }
        digester.finish()
    };
    assert_ne!(of(&[None]), of(&[Some("null")]));
    assert_ne!(of(&[Some("1"), None]), of(&[None, Some("1")]));
    assert_ne!(of(&[Some("1"), Some("2")]), of(&[Some("12"), None]));
    assert_ne!(of(&[None]), of(&[]));
}

#[test]
fn a_string_counts_the_same_as_its_text() {
    let text = Digester::new(&KEY).text(Some("x\"é")).finish();
    let raw = Digester::new(&KEY).field(Some(br#""x\"\u00e9""#)).finish();
    assert_eq!(text, raw);
    let absent = Digester::new(&KEY).text(None).finish();
    assert_eq!(absent, Digester::new(&KEY).field(None).finish());
}

#[test]
fn a_cleared_digester_is_as_good_as_new_and_gives_back_what_a_large_value_took() {
    let mut digester = Digester::new(&KEY);
    digester.field(Some(format!("[{}{}]", sample::objects(10_000), ",1".repeat(100_000)).as_bytes()));
    digester.clear();
    assert!(digester.said.capacity() <= KEPT_BYTES && digester.open.capacity() <= KEPT_OBJECTS);
    assert_eq!(digester.field(Some(b"[1]")).finish(), digest("[1]"));
}

#[test]
fn depth_costs_neither_stack_nor_square_time() {
    for depth in [10_000, 1_000_000] {
        assert_ne!(digest(&sample::arrays(depth)), digest(&sample::arrays(depth + 1)));
        assert_ne!(digest(&sample::objects(depth)), digest(&sample::objects(depth + 1)));
    }
}

#[test]
fn a_key_is_not_printed() {
    assert_eq!(format!("{KEY:?}"), "DigestKey(***)");
}

proptest! {
    #[test]
    fn values_have_the_same_digest_exactly_if_they_agree(a in sample::tree(), b in sample::tree(), seed: u64) {
        let one = a.spell(&mut Choices::new(seed), true);
        let again = a.spell(&mut Choices::new(!seed), true);
        let two = b.spell(&mut Choices::new(seed), true);
        prop_assert_eq!(digest(&one), digest(&again), "{} {}", &one, again);
        let agree = crate::raw::agree(one.as_bytes(), two.as_bytes());
        prop_assert_eq!(digest(&one) == digest(&two), agree, "{} {}", one, two);
    }
}
