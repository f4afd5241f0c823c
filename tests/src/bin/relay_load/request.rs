//! What is sent, and whether the reply to it is right.

use std::io;

use super::{METHOD, RESULT};

/// A request of fixed size, of which only the id changes.
pub(super) struct Request {
    text: Vec<u8>,
    tail: Vec<u8>,
}

const HEAD: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
const ID_DIGITS: usize = 9;

impl Request {
    pub(super) fn new(size: usize) -> Self {
        let mut text = HEAD.to_vec();
        text.extend_from_slice(b"100000000,");
        text.extend_from_slice(METHOD);
        text.extend_from_slice(br#":{"name":"echo","arguments":{"text":""#);
        let end = b"\"}}}\n";
        let words = b"the quick brown fox jumps over the lazy dog, ".iter().cycle();
        let room = size.saturating_sub(text.len() + end.len());
        text.extend(words.take(room));
        text.extend_from_slice(end);
        let tail = text[text.len().saturating_sub(64)..].to_vec();
        Self { text, tail }
    }

    pub(super) fn with_id(&mut self, id: usize) -> &[u8] {
        let digits = format!("{}", 100_000_000 + id);
        self.text[HEAD.len()..HEAD.len() + ID_DIGITS].copy_from_slice(digits.as_bytes());
        &self.text
    }

    /// The reply to `id`, in order, with the request's own text.
    pub(super) fn check(&self, reply: &[u8], id: usize) -> io::Result<()> {
        let expected = self.text.len() - METHOD.len() + RESULT.len();
        let digits = reply.get(HEAD.len()..HEAD.len() + ID_DIGITS);
        let right = digits.and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
        if reply.len() == expected && reply.ends_with(&self.tail) && right == Some(100_000_000 + id) {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(&reply[..reply.len().min(120)]).into_owned();
        Err(io::Error::other(format!("wrong reply to {id}: {} bytes, {shown}", reply.len())))
    }
}
