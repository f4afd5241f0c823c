//! What is changed between a host and a producer that would not get on otherwise (contract 13.3). Each is off
//! unless the operator names it, and changes one member only.

use mcpl_codec::{Envelope, Reply, Splice, code, raw};

/// Where the producer says what feature sets it has, in its answer to `initialize`.
const PATH: [&str; 4] = ["capabilities", "experimental", "mcpl", "featureSets"];

/// The answer to `initialize` with its array of feature sets as an object by name, each set in its own bytes;
/// `None`: it has none, or one that cannot be read in one way only.
///
/// A set without a name could be asked for under none, and is left out.
pub(super) fn feature_sets_object(text: &[u8], result: &[u8]) -> Option<Vec<u8>> {
    let array = PATH.iter().try_fold(result, |object, name| raw::only(object, name).ok().flatten())?;
    if raw::kind(array) != raw::Kind::Array {
        return None;
    }
    let mut object = b"{".to_vec();
    let mut shown: Vec<(&[u8], &[u8])> = Vec::new();
    for set in raw::elements(array) {
        let (name, set): (&[u8], &[u8]) = match raw::kind(set) {
            raw::Kind::Object => (raw::only(set, "name").ok()?.unwrap_or(b"null"), set),
            raw::Kind::String => (set, b"{}"),
            _ => continue,
        };
        if raw::string(name).is_none() {
            continue;
        }
        if let Some((_, other)) = shown.iter().find(|(other, _)| raw::agree(other, name)) {
            if raw::agree(other, set) {
                continue;
            }
            return None;
        }
        shown.push((name, set));
        if shown.len() > MAX_SETS {
            return None;
        }
        if object.len() > 1 {
            object.push(b',');
        }
        object.extend_from_slice(name);
        object.push(b':');
        object.extend_from_slice(set);
    }
    object.push(b'}');
    Some(Splice::new(text).replace(array, object).finish())
}

/// Feature sets that are looked at; a producer that declares more is left alone.
const MAX_SETS: usize = 1_024;

/// The answer to a `featureSets/update` as accepted, where the producer does not know the method.
pub(super) fn policy_receipt(text: &[u8], envelope: &Envelope<'_>) -> Option<Vec<u8>> {
    let Reply::Error { code: Some(code::METHOD_NOT_FOUND), .. } = Reply::of(envelope) else { return None };
    let mut splice = Splice::new(text);
    splice.remove_member(text, "error").set_member(text, "result", &b"{\"accepted\":true}"[..]);
    Some(splice.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sets: &str) -> Option<String> {
        let text = format!(
            r#"{{"id":1,"result":{{"a":1e400,"capabilities":{{"experimental":{{"mcpl":{{"featureSets": {sets} ,"z":0}}}}}}}}}}"#
        );
        let result = raw::member(text.as_bytes(), "result").unwrap();
        feature_sets_object(text.as_bytes(), result).map(|told| {
            let told = String::from_utf8(told).unwrap();
            let (before, after) = text.split_once(sets).unwrap();
            told.strip_prefix(before).unwrap().strip_suffix(after).unwrap().to_owned()
        })
    }

    #[test]
    fn an_array_of_sets_is_shown_by_name_and_each_set_keeps_its_bytes() {
        for (sets, object) in [
            (r#"[{"name":"hb","uses":[ "x" ],"n":1.0}]"#, r#"{"hb":{"name":"hb","uses":[ "x" ],"n":1.0}}"#),
            (
                r#"[{"name":"a"}, "b",{"name":"\u0063"}]"#,
                r#"{"a":{"name":"a"},"b":{},"\u0063":{"name":"\u0063"}}"#,
            ),
            ("[]", "{}"),
            (r#"[{"uses":[]},7,{"name":5},{"name":"a"}]"#, r#"{"a":{"name":"a"}}"#),
            (r#"[{"name":"a"},{"name":"\u0061"}]"#, r#"{"a":{"name":"a"}}"#),
        ] {
            assert_eq!(shown(sets).as_deref(), Some(object), "{sets}");
        }
    }

    #[test]
    fn what_is_no_array_or_is_two_things_stays() {
        for sets in [
            r#"{"hb":{}}"#,
            "null",
            r#""x""#,
            r#"[{"name":"a","v":1},{"name":"a","v":2}]"#,
            r#"[{"name":"a","name":"b"}]"#,
        ] {
            assert_eq!(shown(sets), None, "{sets}");
        }
    }

    #[test]
    fn only_a_method_that_is_not_known_is_answered_for() {
        let told = |text: &str| {
            policy_receipt(text.as_bytes(), &Envelope::of(text.as_bytes()))
                .map(|told| String::from_utf8(told).unwrap())
        };
        assert_eq!(
            told(
                r#"{"jsonrpc":"2.0","id":7.0,"error":{"code":-32601,"message":"Method not found"},"x":1e400}"#
            ),
            Some(r#"{"jsonrpc":"2.0","id":7.0,"x":1e400,"result":{"accepted":true}}"#.to_owned())
        );
        for other in [
            r#"{"id":7,"error":{"code":-32602,"message":"no"}}"#,
            r#"{"id":7,"error":{"message":"no"}}"#,
            r#"{"id":7,"result":{"accepted":false}}"#,
        ] {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
