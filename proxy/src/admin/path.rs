//! Paths and queries: cut at their separators first, decoded then.

/// A part of a path or query as it was meant; `None`: the percent signs are not followed by two hexadecimal
/// digits each, or what they mean is not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (&[high, low], after) = rest.split_first_chunk()?;
            bytes.push(hex(high)? << 4 | hex(low)?);
            rest = after;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|digit| digit as u8)
}

/// A text as a part of a path or a value of a query.
pub(crate) fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// The segments of a path, decoded; a slash that was written `%2F` is part of its segment.
pub(super) fn segments(path: &str) -> Option<Vec<String>> {
    path.strip_prefix('/')?.split('/').map(decode).collect()
}

/// What a query asks, by name.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query in which these names may occur, once each.
    pub(super) fn read(query: Option<&str>, names: &[&str]) -> Result<Self, String> {
        let mut read = Self::default();
        for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            // In a query a plus is a blank.
            let (Some(name), Some(value)) = (decode(name), decode(&value.replace('+', " "))) else {
                return Err("the query is not percent-encoded UTF-8".to_owned());
            };
            if !names.contains(&name.as_str()) {
                return Err(match names {
                    [] => "no query is taken here".to_owned(),
                    names => format!("the query may have {} only", names.join(", ")),
                });
            }
            if read.get(&name).is_some() {
                return Err(format!("`{name}` is in the query twice"));
            }
            read.0.push((name, value));
        }
        Ok(read)
    }

    /// The value of that name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_from_a_path() {
        for text in ["", "a", "a/b 1", "ü€😀", "%", "%41", "a+b&c=d?e#f", "\u{0}\n"] {
            assert_eq!(decode(&encode(text)).as_deref(), Some(text));
            assert_eq!(segments(&format!("/x/{}", encode(text))).unwrap(), ["x", text]);
        }
        assert_eq!(segments("/a%2fb/%E2%82%AC").unwrap(), ["a/b", "€"], "either case of digit");
        assert_eq!(decode("a+b").as_deref(), Some("a+b"), "a plus is one in a path");
    }

    #[test]
    fn what_means_nothing_is_told_from_what_does() {
        for text in ["%", "%4", "%zz", "%+1", "a%4", "%ff", "%C3", "%ED%A0%80"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(segments(""), None);
        assert_eq!(segments("*"), None);
    }

    #[test]
    fn a_query_is_read_by_name_and_says_what_it_may_not_have() {
        let names = ["producer", "limit"];
        let query = Query::read(Some("&producer=a%26b+c&&limit"), &names).unwrap();
        assert_eq!((query.get("producer"), query.get("limit")), (Some("a&b c"), Some("")));
        assert_eq!(Query::read(None, &names).unwrap().get("producer"), None);
        for (query, said) in [
            ("producr=a", "the query may have producer, limit only"),
            ("limit=1&limit=2", "`limit` is in the query twice"),
            ("limit=%", "the query is not percent-encoded UTF-8"),
            ("%=1", "the query is not percent-encoded UTF-8"),
        ] {
            assert_eq!(Query::read(Some(query), &names).unwrap_err(), said);
        }
        assert_eq!(Query::read(Some("x"), &[]).unwrap_err(), "no query is taken here");
    }
}
