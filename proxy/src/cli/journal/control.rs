//! An operator's word to the sidecar that runs, over the socket in its state directory.
//!
//! One request and one answer of HTTP/1.1, as `admin` reads and writes it.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use mcpl_policy::engine::Word;
use serde_json::{Value, json};

use super::resolve::{Answer, Saying};
use crate::admin::SOCKET;

/// How long an answer may take: longer than the sidecar lets anybody wait.
const WITHIN: Duration = Duration::from_secs(30);

/// The largest answer that is read, in bytes: an account without its text, or an error.
const LARGEST_BYTES: u64 = 8 << 20;

/// Why nobody took the word.
#[derive(Debug)]
pub(super) enum Unsaid {
    /// Nobody listens there.
    Unreached(io::Error),
    /// It was taken, perhaps; what came back is no answer. The reason in words.
    Failed(String),
}

/// Says it, and waits for what comes of it.
pub(super) fn say(dir: &Path, saying: &Saying) -> Result<Answer, Unsaid> {
    let mut stream = UnixStream::connect(dir.join(SOCKET)).map_err(Unsaid::Unreached)?;
    let failed = |why: io::Error| Unsaid::Failed(why.to_string());
    stream.set_read_timeout(Some(WITHIN)).map_err(failed)?;
    stream.set_write_timeout(Some(WITHIN)).map_err(failed)?;
    stream.write_all(request(saying).as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    // The connection is closed after the answer: that is its end.
    stream.take(LARGEST_BYTES).read_to_end(&mut answer).map_err(failed)?;
    read(&answer)
}

fn request(saying: &Saying) -> String {
    let word = match saying.word {
        Word::Submitted => "submitted",
        Word::NotSubmitted => "not-submitted",
        Word::Again => "again",
        Word::Drop => "drop",
    };
    let mut body = json!({ "word": word });
    if let Some(expect) = saying.expect {
        body["expect"] = expect.into();
    }
    let body = body.to_string();
    // The name of a producer needs no encoding.
    format!(
        "POST /v1/work/{}/{}/resolve HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        saying.producer,
        saying.number,
        body.len()
    )
}

fn read(answer: &[u8]) -> Result<Answer, Unsaid> {
    let failed = |why: &str| Unsaid::Failed(why.to_owned());
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .ok_or_else(|| failed("it answered nothing"))?;
    let (head, body) = (&answer[..end], &answer[end + 4..]);
    let status: u16 = std::str::from_utf8(head)
        .ok()
        .and_then(|head| head.strip_prefix("HTTP/1.1 "))
        .and_then(|rest| rest.get(..3)?.parse().ok())
        .ok_or_else(|| failed("its answer is no HTTP"))?;
    let body: Value = serde_json::from_slice(body).map_err(|_| failed("its answer is cut off"))?;
    let word = |name: &str| body[name].as_str().map(ToOwned::to_owned);
    let answer = match status {
        200 => word("state").map(Answer::Done),
        404 => Some(Answer::Unknown),
        409 => Some(word("state").map_or(Answer::NoText, Answer::NotOpen)),
        412 => body["revision"].as_u64().and_then(|n| n.try_into().ok()).map(Answer::Revision),
        _ => None,
    };
    answer.ok_or_else(|| {
        let said = [word("error"), word("hint")].into_iter().flatten().collect::<Vec<_>>().join("; ");
        Unsaid::Failed(format!("{status} {said}"))
    })
}

#[cfg(test)]
mod tests;
