//! A producer is told what became a dead letter of what it was told is accepted (contract 13.5).

use mcpl_codec::{Line, Refusal, raw};
use mcpl_policy::engine::{Fate, HostReply};

use super::{Exchange, Gate, Side};

/// The notification.
const METHOD: &str = "mcpl-sidecar/undelivered";
/// As much of the host's own words as is passed on, in characters.
const REASON_CHARS: usize = 500;

impl Exchange {
    /// An accepted occurrence ended; `step` has what the engine recorded of that.
    pub(super) fn tell_undelivered(&mut self, event_id: &str, fate: &Fate, step: u64) {
        let Fate::Dead(refusal) = fate else { return };
        if !self.terms.undelivered || event_id.is_empty() {
            return;
        }
        let event_id = if self.terms.renames { as_sent(event_id) } else { event_id };
        let line = notification(event_id, refusal, self.words.as_deref());
        let after = (step > 0).then_some(step);
        self.send(Side::Producer, line, Gate { after, instead: None });
    }

    /// The host's words on a forward, for as long as its answer is dealt with.
    pub(super) fn note_words(&mut self, reply: &HostReply) {
        if self.terms.undelivered {
            let said = |name| raw::member(&reply.text, name).and_then(raw::string);
            let words = said("reason").or_else(|| said("message"));
            self.words = words.map(|words| words.chars().take(REASON_CHARS).collect());
        }
    }
}

fn notification(event_id: &str, refusal: &Refusal, words: Option<&str>) -> Line {
    let reason = words.filter(|words| !words.is_empty());
    let reason = reason.unwrap_or("the host refused it for good, and gave no reason");
    let text = format!(
        r#"{{"jsonrpc":"2.0","method":"{METHOD}","params":{{"eventId":{},"refusal":{},"reason":{}}}}}"#,
        raw::quote(event_id),
        raw::quote(refusal.kind.as_str()),
        raw::quote(reason),
    );
    Line::from_vec(text.into_bytes())
}

/// The `eventId` that the producer sent, of one that a rule gave a name of its own (contract 13.1).
fn as_sent(event_id: &str) -> &str {
    let hex = |digest: &str| digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    match event_id.rsplit_once('~') {
        Some((sent, digest)) if hex(digest) => sent,
        _ => event_id,
    }
}
