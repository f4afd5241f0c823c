use proptest::prelude::*;

use super::*;
use crate::sample::{self, Choices};

#[test]
fn sizes_are_those_of_the_canonical_text() {
    for (raw, canonical) in [
        ("{ \"b\" : 1 , \"a\" : [ ] }", "{\"a\":[],\"b\":1}"),
        ("[1, {}, [2 , 3], \"x\" , null]", "[1,{},[2,3],\"x\",null]"),
        ("-0", "0"),
        ("1.0", "1"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("0.000001", "0.000001"),
        ("1E-7", "1e-7"),
        ("9007199254740993", "9007199254740992"),
        ("999999999999999", "999999999999999"),
        (r#""\u0041\/\u000a\u001f\u00e9\ud83d\ude00""#, "\"A/\\n\\u001fé😀\""),
        (r#"{"\u0061":true}"#, r#"{"a":true}"#),
        ("\"\u{7f}\"", "\"\u{7f}\""),
    ] {
        assert_eq!(size(raw.as_bytes()), Some(canonical.len()), "{raw}");
    }
}

#[test]
fn what_has_no_canonical_form_has_no_size() {
    for raw in ["1e400", "[-1e999]", r#""\ud800""#, r#"{"\udc00":1}"#] {
        assert_eq!(size(raw.as_bytes()), None, "{raw}");
        assert!(!exceeds(raw.as_bytes(), raw.len()), "{raw}: the raw length decides");
        assert!(exceeds(raw.as_bytes(), raw.len() - 1), "{raw}: the raw length decides");
    }
}

#[test]
fn equal_to_the_limit_does_not_exceed_it() {
    let raw = b"[ \"\\u0041\" ]";
    assert!(!exceeds(raw, 5));
    assert!(exceeds(raw, 4));
    assert!(exceeds(b"1e20", 20), "canonical form may be the longer one");
    assert!(!exceeds(b"1e20", 21));
}

#[test]
fn depth_costs_neither_stack_nor_square_time() {
    for depth in [10_000, 1_000_000] {
        assert_eq!(size(sample::arrays(depth).as_bytes()), Some(2 * depth));
        assert_eq!(size(sample::objects(depth).as_bytes()), Some(6 * depth + 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn size_is_what_another_canonicalizer_writes(tree in sample::tree(), seed: u64) {
        let value = tree.value();
        prop_assume!(value.is_some());
        let raw = tree.spell(&mut Choices::new(seed), true);
        let canonical = serde_json_canonicalizer::to_vec(&value).unwrap();
        prop_assert_eq!(size(raw.as_bytes()), Some(canonical.len()), "{}", raw);
    }

    #[test]
    fn a_number_has_the_size_that_another_canonicalizer_writes(number in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL) {
        let canonical = serde_json_canonicalizer::to_vec(&number).unwrap();
        prop_assert_eq!(size(format!("{number:e}").as_bytes()), Some(canonical.len()));
    }

    #[test]
    fn canonical_form_never_grows_past_the_bound(tree in sample::tree(), seed: u64) {
        let raw = tree.spell(&mut Choices::new(seed), true);
        if let Some(size) = size(raw.as_bytes()) {
            prop_assert!(size <= raw.len() * MOST_GROWTH);
            prop_assert_eq!(exceeds(raw.as_bytes(), size), false);
            prop_assert!(size == 0 || exceeds(raw.as_bytes(), size - 1));
        }
    }
}
