use proptest::prelude::*;

use super::*;
use crate::raw;
use crate::sample::{self, Choices};
use crate::sniff::sniff;

fn removed(text: &str, names: &[&str]) -> String {
    let mut splice = Splice::new(text.as_bytes());
    for name in names {
        splice.remove_member(text.as_bytes(), name);
    }
    String::from_utf8(splice.finish()).unwrap()
}

#[test]
fn a_member_goes_with_one_comma() {
    let text = r#"{ "a":1, "b" : 2 ,"c":3 }"#;
    assert_eq!(removed(text, &["a"]), r#"{ "b" : 2 ,"c":3 }"#);
    assert_eq!(removed(text, &["b"]), r#"{ "a":1 ,"c":3 }"#);
    assert_eq!(removed(text, &["c"]), r#"{ "a":1, "b" : 2 }"#);
    assert_eq!(removed(text, &["c", "b"]), r#"{ "a":1 }"#);
    assert_eq!(removed(text, &["a", "c"]), r#"{ "b" : 2 }"#);
    assert_eq!(removed(text, &["a", "b"]), r#"{ "c":3 }"#);
    assert_eq!(removed(text, &["b", "a", "c"]), r"{  }");
    assert_eq!(removed(text, &["z"]), text);
    assert_eq!(removed("{\"a\":1}", &["a"]), "{}");
}

#[test]
fn every_repeat_of_a_member_goes() {
    assert_eq!(removed(r#"{"a":1,"b":2,"\u0061":3,"c":4,"a":{"a":5}}"#, &["a"]), r#"{"b":2,"c":4}"#);
    assert_eq!(removed(r#"{"a":1,"a":2}"#, &["a"]), "{}");
}

#[test]
fn a_member_is_set_where_it_was_or_at_the_end() {
    let set = |text: &str, name: &str, value: &str| {
        let edited = Splice::new(text.as_bytes())
            .set_member(text.as_bytes(), "b", value.as_bytes())
            .set_member(text.as_bytes(), "b", value.as_bytes())
            .finish();
        assert_eq!(name, "b");
        String::from_utf8(edited).unwrap()
    };
    assert_eq!(set(r#"{"a":1, "b" : 2 , "c":3}"#, "b", "[]"), r#"{"a":1, "b" : [] , "c":3}"#);
    assert_eq!(set(r#"{"b":1,"a":1,"b":2}"#, "b", "7"), r#"{"b":7,"a":1}"#);
    assert_eq!(set(r#"{ "a":1 }"#, "b", "7"), r#"{ "a":1,"b":7 }"#);
    assert_eq!(set("{}", "b", "7"), r#"{"b":7}"#);
    assert_eq!(set("{ }", "b", "7"), r#"{"b":7 }"#);
}

#[test]
fn edits_of_one_object_go_together() {
    let text = br#"{"a":1,"b":2}"#;
    let mut splice = Splice::new(text);
    splice.set_member(text, "c", &b"3"[..]).remove_member(text, "b").set_member(text, "d\"", b"4".to_vec());
    splice.remove_member(text, "a");
    assert_eq!(splice.finish(), br#"{"c":3,"d\"":4}"#);
    splice.remove_member(text, "c").set_member(text, "a", &b"5"[..]);
    assert_eq!(splice.finish(), br#"{"d\"":4,"a":5}"#);
}

#[test]
fn nested_edits_apply_unless_what_they_are_in_goes() {
    let text = br#"{"x":{"k":{"a":1},"l":[1,2]},"y":0}"#;
    let inner = raw::member(text, "x").unwrap();
    let deepest = raw::member(inner, "k").unwrap();
    let list = raw::member(inner, "l").unwrap();
    let mut splice = Splice::new(text);
    splice.set_member(deepest, "b", &b"2"[..]).keep_elements(list, |index| index == 1);
    splice.replace(raw::member(text, "y").unwrap(), &b"9"[..]);
    assert_eq!(splice.finish(), br#"{"x":{"k":{"a":1,"b":2},"l":[2]},"y":9}"#);
    splice.remove_member(inner, "k");
    assert_eq!(splice.finish(), br#"{"x":{"l":[2]},"y":9}"#);
    splice.set_member(text, "x", &b"null"[..]);
    assert_eq!(splice.finish(), br#"{"x":null,"y":9}"#);
}

#[test]
fn of_edits_that_start_together_the_widest_counts() {
    let text = b"[[1],2]";
    let first = raw::elements(text).next().unwrap();
    let inner = raw::elements(first).next().unwrap();
    let mut splice = Splice::new(text);
    splice.replace(first, &b"7"[..]).replace(inner, &b"8"[..]);
    assert_eq!(splice.finish(), b"[7,2]");
    splice.keep_elements(text, |index| index > 0);
    assert_eq!(splice.finish(), b"[2]");
}

#[test]
fn the_text_around_an_edit_keeps_its_bytes() {
    let text = br#" {"id":1e400, "params" : {"coalesce":{},"x":"\u00e9"},"u":1,"u":2} "#;
    let params = raw::member(text, "params").unwrap();
    let edited = Splice::new(text).remove_member(params, "coalesce").finish();
    assert_eq!(edited, br#" {"id":1e400, "params" : {"x":"\u00e9"},"u":1,"u":2} "#);
}

#[test]
fn what_is_no_such_container_is_left_alone() {
    let text = br#"{"a":[1],"b":"{"}"#;
    let (a, b) = (raw::member(text, "a").unwrap(), raw::member(text, "b").unwrap());
    let edited = Splice::new(text)
        .remove_member(a, "x")
        .set_member(b, "y", &b"1"[..])
        .keep_elements(b, |_| false)
        .finish();
    assert_eq!(edited, text);
}

#[test]
fn nothing_to_remove_is_nothing_copied() {
    assert!(matches!(without_member(b"{\"a\":1}", "b"), Cow::Borrowed(_)));
    assert_eq!(&*without_member(b"{\"a\":1}", "a"), b"{}");
}

#[test]
fn depth_and_width_cost_no_square_time() {
    for depth in [10_000, 1_000_000] {
        let text = sample::objects(depth);
        let edited = Splice::new(text.as_bytes()).set_member(text.as_bytes(), "b", &b"1"[..]).finish();
        assert_eq!(edited.len(), text.len() + 6);
        let text = sample::arrays(depth);
        assert_eq!(Splice::new(text.as_bytes()).keep_elements(text.as_bytes(), |_| false).finish(), b"[]");
    }
    let text = format!("[{}1]", "{\"a\":1,\"b\":2},".repeat(100_000));
    let mut splice = Splice::new(text.as_bytes());
    for element in raw::elements(text.as_bytes()) {
        splice.remove_member(element, "a");
    }
    assert_eq!(splice.finish(), format!("[{}1]", "{\"b\":2},".repeat(100_000)).into_bytes());
}

proptest! {
    #[test]
    fn edits_do_to_the_members_what_they_say_and_nothing_else(
        tree in sample::object(),
        seed: u64,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..6),
    ) {
        let text = tree.spell(&mut Choices::new(seed), false);
        let mut expected: Vec<(String, &[u8])> = raw::members(text.as_bytes())
            .map(|(name, value)| (format!("{:?}", name.bytes()), value))
            .collect();
        let mut names: Vec<String> =
            raw::members(text.as_bytes()).filter_map(|(name, _)| Some(name.decode()?.into_owned())).collect();
        names.push("new".to_owned());
        let mut splice = Splice::new(text.as_bytes());
        for (at, set) in edits {
            let name = at.get(&names);
            let key = format!("{:?}", name.as_bytes());
            if set {
                splice.set_member(text.as_bytes(), name, &b"[7]"[..]);
                let first = expected.iter().position(|(found, _)| *found == key);
                let mut index = 0;
                expected.retain(|(found, _)| {
                    index += 1;
                    *found != key || Some(index - 1) == first
                });
                match first {
                    Some(first) => expected[first].1 = b"[7]",
                    None => expected.push((key, b"[7]")),
                }
            } else {
                splice.remove_member(text.as_bytes(), name);
                expected.retain(|(found, _)| *found != key);
            }
        }
        let edited = splice.finish();
        prop_assert!(sniff(&edited).is_ok(), "{}", String::from_utf8_lossy(&edited));
        let found: Vec<_> =
            raw::members(&edited).map(|(name, value)| (format!("{:?}", name.bytes()), value)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn kept_elements_keep_their_bytes(
        elements in prop::collection::vec(sample::tree(), 0..8), seed: u64, wanted: u8,
    ) {
        let text = sample::Tree::Array(elements).spell(&mut Choices::new(seed), false);
        let keep = |index: usize| wanted >> index & 1 == 1;
        let edited = Splice::new(text.as_bytes()).keep_elements(text.as_bytes(), keep).finish();
        prop_assert!(sniff(&edited).is_ok(), "{}", String::from_utf8_lossy(&edited));
        let expected: Vec<_> = raw::elements(text.as_bytes())
            .enumerate()
            .filter_map(|(index, element)| keep(index).then_some(element))
            .collect();
        prop_assert_eq!(raw::elements(&edited).collect::<Vec<_>>(), expected);
    }
}
