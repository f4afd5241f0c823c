//! A token as it is shown to a producer.

use data_encoding::BASE64URL_NOPAD;
use hyper::header::{HeaderValue, InvalidHeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::{BEARER_PROTOCOL, PARAMETER, PROTOCOL, Secret};

/// What a query's value need not encode is left (RFC 3986, 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Secret {
    /// `Bearer TOKEN`, the value of `Authorization`, marked sensitive.
    ///
    /// # Errors
    /// The token holds what no header can carry; one that was read by [`super::Token::read`] does not.
    pub fn authorization(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        sensitive([b"Bearer ", &self.0[..]].concat())
    }

    /// `mcpl, mcpl.bearer.…`, the value of `Sec-WebSocket-Protocol`, marked sensitive.
    ///
    /// # Errors
    /// None that can happen: base64url is ASCII.
    pub fn protocols(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        let token = BASE64URL_NOPAD.encode(&self.0);
        sensitive(format!("{PROTOCOL}, {BEARER_PROTOCOL}{token}").into_bytes())
    }

    /// A target (path and query) with `token=…` at the end of its query; the rest is as it was.
    pub fn in_query(&self, target: &str) -> String {
        let joint = match target.split_once('?') {
            None => "?",
            Some((_, "")) => "",
            Some(_) => "&",
        };
        format!("{target}{joint}{PARAMETER}={}", percent_encode(&self.0, ENCODED))
    }
}

fn sensitive(value: Vec<u8>) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut value = HeaderValue::try_from(value)?;
    value.set_sensitive(true);
    Ok(value)
}
