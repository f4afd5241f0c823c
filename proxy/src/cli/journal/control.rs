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
use crate::admin::{SOCKET, encode};
use crate::journal::account::{Account, Past};

/// How long an answer may take: longer than the sidecar lets anybody wait.
const WITHIN: Duration = Duration::from_secs(30);

/// How long what it has seen of an occurrence may take: it is shown without, too.
const HISTORY_WITHIN: Duration = Duration::from_secs(3);

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
    read(&asked(dir, &request(saying), WITHIN)?)
}

/// What a sidecar that runs has seen of an occurrence, oldest first. Empty if none runs there, or it has seen nothing:
/// what the journal says is all there is then.
pub(super) fn history(dir: &Path, account: &Account) -> Vec<Past> {
    let request = format!(
        "GET /v1/occurrences/{}?producer={} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        encode(&account.event_id),
        account.producer
    );
    let told = asked(dir, &request, HISTORY_WITHIN).ok().and_then(|answer| parts(&answer).ok());
    let Some((200, told)) = told else { return Vec::new() };
    // Another of that eventId may be newer, and this one may have changed since its rows were read.
    if told["id"] != *account.id || told["revision"] != account.revision {
        return Vec::new();
    }
    let history = told["history"].as_array().map_or(&[][..], Vec::as_slice);
    let past = |past: &Value| {
        Some(Past {
            at: past["at"].as_str().map(ToOwned::to_owned),
            revision: past["revision"].as_u64().and_then(|n| n.try_into().ok()),
            says: past["says"].as_str()?.to_owned(),
        })
    };
    history.iter().filter_map(past).collect()
}

fn asked(dir: &Path, request: &str, within: Duration) -> Result<Vec<u8>, Unsaid> {
    let mut stream = UnixStream::connect(dir.join(SOCKET)).map_err(Unsaid::Unreached)?;
    let failed = |why: io::Error| Unsaid::Failed(why.to_string());
    stream.set_read_timeout(Some(within)).map_err(failed)?;
    stream.set_write_timeout(Some(within)).map_err(failed)?;
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    // The connection is closed after the answer: that is its end.
    stream.take(LARGEST_BYTES).read_to_end(&mut answer).map_err(failed)?;
    Ok(answer)
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

/// The status and the body of an answer.
fn parts(answer: &[u8]) -> Result<(u16, Value), Unsaid> {
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
    Ok((status, body))
}

fn read(answer: &[u8]) -> Result<Answer, Unsaid> {
    let (status, body) = parts(answer)?;
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
