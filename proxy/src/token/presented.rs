//! The token a request presents, in whichever form.

use std::borrow::Cow;

use data_encoding::BASE64URL_NOPAD;
use hyper::header::{self, HeaderMap, HeaderValue};
use percent_encoding::percent_decode_str;

use super::{BEARER_PROTOCOL, PARAMETER, Secret};

/// What a request presents. What it is worth is for [`super::Token::is`] to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presented {
    /// No token in any form.
    Nothing,
    /// One token, in one form or the same in several.
    Token(Secret),
    /// Several that differ, or one that cannot be read: to be answered 401. Why, in words without the
    /// token.
    Muddled(&'static str),
}

/// The token of a request with these headers and this query (without its `?`).
///
/// An `Authorization` of another scheme than `Bearer` is no token of ours, and does not count.
pub fn presented(headers: &HeaderMap, query: Option<&str>) -> Presented {
    let mut found = Found(None);
    match read(headers, query, &mut found) {
        Err(why) => Presented::Muddled(why),
        Ok(()) => found.0.map_or(Presented::Nothing, Presented::Token),
    }
}

/// What has been found so far.
struct Found(Option<Secret>);

impl Found {
    fn add(&mut self, token: &[u8]) -> Result<(), &'static str> {
        match &self.0 {
            _ if token.is_empty() => Err("the token is empty"),
            Some(before) if !before.is(token) => Err("there are several tokens, and they differ"),
            Some(_) => Ok(()),
            None => {
                self.0 = Some(Secret(token.to_vec()));
                Ok(())
            }
        }
    }
}

fn read(headers: &HeaderMap, query: Option<&str>, found: &mut Found) -> Result<(), &'static str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => bearer(value).map_or(Ok(()), |token| found.add(token))?,
        (Some(_), Some(_)) => return Err("there are several Authorization headers"),
        (None, _) => {}
    }
    for value in headers.get_all(header::SEC_WEBSOCKET_PROTOCOL) {
        for entry in value.as_bytes().split(|b| *b == b',').map(<[u8]>::trim_ascii) {
            let Some(encoded) = entry.strip_prefix(BEARER_PROTOCOL.as_bytes()) else { continue };
            let token = BASE64URL_NOPAD.decode(encoded);
            found.add(&token.map_err(|_| "the token in Sec-WebSocket-Protocol is not base64url")?)?;
        }
    }
    for part in query.into_iter().flat_map(|query| query.split('&')) {
        if let Some(value) = token_of(part) {
            found.add(&value)?;
        }
    }
    Ok(())
}

/// The token of an `Authorization` header; `None`: it is of another scheme.
pub fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let value = value.as_bytes().trim_ascii();
    match value.split_at_checked(6)? {
        (scheme, []) if scheme.eq_ignore_ascii_case(b"bearer") => Some(&[]),
        (scheme, [b' ', token @ ..]) if scheme.eq_ignore_ascii_case(b"bearer") => Some(token.trim_ascii()),
        _ => None,
    }
}

/// A query (without its `?`) without its tokens, the rest as it is.
pub fn without_token(query: &str) -> String {
    query.split('&').filter(|part| token_of(part).is_none()).collect::<Vec<_>>().join("&")
}

/// The token in a part of a query. A `+` is a `+`: tokens have no spaces, and those in base64 have that.
fn token_of(part: &str) -> Option<Cow<'_, [u8]>> {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    let name: Cow<'_, [u8]> = percent_decode_str(name).into();
    (*name == *PARAMETER.as_bytes()).then(|| percent_decode_str(value).into())
}
