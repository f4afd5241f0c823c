//! Answers and requests that are written here, and answers that are read.

use std::borrow::Cow;

use crate::line::Line;
use crate::raw;
use crate::sniff::Envelope;

/// The response to the request with the raw id `id` with the raw `result`.
pub fn result(id: &[u8], result: &[u8]) -> Line {
    joined(&[br#"{"jsonrpc":"2.0","id":"#, id, br#","result":"#, result, b"}"])
}

/// The error response to the request with the raw id `id`; `data` is raw JSON.
pub fn error(id: &[u8], code: i64, message: &str, data: Option<&[u8]>) -> Line {
    let error = format!(r#","error":{{"code":{code},"message":{}"#, raw::quote(message));
    let (comma, data): (&[u8], _) = data.map_or((b"", &b""[..]), |data| (br#","data":"#, data));
    joined(&[br#"{"jsonrpc":"2.0","id":"#, id, error.as_bytes(), comma, data, b"}}"])
}

/// A request under the string id `id` with raw `params`.
pub fn request(id: &str, method: &str, params: &[u8]) -> Line {
    let (id, method) = (raw::quote(id), raw::quote(method));
    joined(&[
        br#"{"jsonrpc":"2.0","id":"#,
        id.as_bytes(),
        br#","method":"#,
        method.as_bytes(),
        br#","params":"#,
        params,
        b"}",
    ])
}

fn joined(parts: &[&[u8]]) -> Line {
    let mut text = Vec::with_capacity(parts.iter().map(|part| part.len()).sum::<usize>() + 1);
    for part in parts {
        text.extend_from_slice(part);
    }
    Line::from_vec(text)
}

/// What a response says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<'a> {
    /// A result, raw. A response with neither result nor error counts as the result `null`.
    Result(&'a [u8]),
    /// An error.
    Error {
        /// Its `code`, if that is a whole number.
        code: Option<i64>,
        /// Its `message`, if that is a readable string.
        message: Option<Cow<'a, str>>,
        /// Its `data`, raw.
        data: Option<&'a [u8]>,
        /// The whole error, raw.
        raw: &'a [u8],
    },
}

impl<'a> Reply<'a> {
    /// What the response `envelope` says. With both members it is an error, unless that is `null` (as some
    /// peers still write beside a result).
    pub fn of(envelope: &Envelope<'a>) -> Self {
        let null: &[u8] = b"null";
        match (envelope.error, envelope.result) {
            (Some(error), result) if error != null || result.is_none() => Self::Error {
                code: raw::member(error, "code").and_then(raw::integer),
                message: raw::member(error, "message").and_then(raw::string),
                data: raw::member(error, "data"),
                raw: error,
            },
            (_, result) => Self::Result(result.unwrap_or(null)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str) -> Reply<'_> {
        Reply::of(&Envelope::of(text.as_bytes()))
    }

    #[test]
    fn what_is_written_keeps_raw_parts_and_quotes_words() {
        assert_eq!(
            result(b"1.0", b"{\"a\":1e400}").text(),
            br#"{"jsonrpc":"2.0","id":1.0,"result":{"a":1e400}}"#
        );
        assert_eq!(
            error(b"null", -32600, "say \"why\"", None).text(),
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"say \"why\""}}"#
        );
        assert_eq!(
            error(b"\"7\"", -32030, "later", Some(b"{}")).text(),
            br#"{"jsonrpc":"2.0","id":"7","error":{"code":-32030,"message":"later","data":{}}}"#
        );
        assert_eq!(
            request("a/1", "push/event", b"{}").text(),
            br#"{"jsonrpc":"2.0","id":"a/1","method":"push/event","params":{}}"#
        );
    }

    #[test]
    fn a_null_result_is_an_answer() {
        assert_eq!(reply(r#"{"id":3,"result":null}"#), Reply::Result(b"null"));
        assert_eq!(reply(r#"{"id":3,"error":null,"result":1}"#), Reply::Result(b"1"));
    }

    #[test]
    fn an_error_keeps_its_null_data() {
        let text = r#"{"id":4,"error":{"code":-32000,"message":"no","data":null}}"#;
        let Reply::Error { code, message, data, raw } = reply(text) else { panic!("no error") };
        assert_eq!((code, message.as_deref(), data), (Some(-32000), Some("no"), Some(&b"null"[..])));
        assert_eq!(raw, br#"{"code":-32000,"message":"no","data":null}"#);
    }

    #[test]
    fn an_error_that_is_no_object_is_still_an_error() {
        for text in [r#"{"error":"words"}"#, r#"{"error":null}"#, r#"{"error":{"code":"x"},"result":1}"#] {
            assert!(matches!(reply(text), Reply::Error { code: None, message: None, data: None, .. }));
        }
    }
}
