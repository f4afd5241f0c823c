//! A refusal as the producer gets it: the host's own text with the fields put in (contract 8.2).

use mcpl_codec::code::{INTERNAL, SERVER_ERROR, TOO_LARGE, UNAVAILABLE};
use mcpl_codec::refusal::Kind;
use mcpl_codec::{Envelope, Lane, Reply, Splice, raw};

use super::judge::{Manner, Read, Weighed};
use super::{About, Classifier};

impl Classifier {
    /// The response to an event as the producer must get it (contract 8.1 to 8.3), or `None` if that is how
    /// it came: it accepts, it says everything already, or no verdict can be read from it.
    ///
    /// `text` is the whole response and `envelope` what was read of it. The results of a batch are each
    /// classified by themselves; `about` says what is known of each message, by its place. An error keeps
    /// its form, also for a batch of several: see [`Verdict::splits`](super::Verdict::splits).
    pub fn translate(
        &self,
        lane: Lane,
        text: &[u8],
        envelope: &Envelope<'_>,
        about: &[About],
    ) -> Option<Vec<u8>> {
        // Two readings of one answer are not ours to choose from (contract 3.3).
        if envelope.repeated {
            return None;
        }
        let first = about.first().copied().unwrap_or_default();
        let (name, value) = match (envelope.error, envelope.result) {
            (Some(error), _) if raw::kind(error) != raw::Kind::Null => {
                ("error", self.error(lane, &Reply::of(envelope), error, first)?)
            }
            (_, Some(result)) => match raw::member(result, "results") {
                Some(results) if raw::kind(results) == raw::Kind::Array => {
                    ("result", self.results(result, results, about)?)
                }
                _ => ("result", self.result(lane, result, first)?),
            },
            _ => return None,
        };
        // Not a splice of the first occurrence alone: repeats that agree must still agree.
        let mut splice = Splice::new(text);
        splice.set_member(text, name, value);
        Some(splice.finish())
    }

    /// One message's result, an element of `results`, as the producer must get it; `None`: as it came.
    pub fn translate_message(&self, result: &[u8], about: About) -> Option<Vec<u8>> {
        self.result(Lane::Channel, result, about)
    }

    /// An error for a whole batch as the result of one of its messages (contract 8.6). `message_id` is the
    /// raw text of the message's own.
    pub fn as_message(&self, message_id: Option<&[u8]>, error: &Reply<'_>, about: About) -> Vec<u8> {
        let mut result = vec![b'{'];
        if let Some(id) = message_id {
            result.extend_from_slice(br#""messageId":"#);
            result.extend_from_slice(id);
            result.push(b',');
        }
        result.extend_from_slice(br#""accepted":false"#);
        if let Read::Refused(said) = Read::reply(error) {
            if let Some(words) = &said.words {
                result.extend_from_slice(br#","reason":"#);
                result.extend_from_slice(raw::quote(words).as_bytes());
            }
            let refusal = self.weigh(Lane::Channel, &said, about).refusal;
            result.push(b',');
            result.extend_from_slice(refusal.members().as_bytes());
        }
        result.push(b'}');
        result
    }

    fn result(&self, lane: Lane, result: &[u8], about: About) -> Option<Vec<u8>> {
        let Read::Refused(said) = Read::result(result) else { return None };
        let weighed = self.weigh(lane, &said, about);
        if weighed.edits.is_empty() {
            return None;
        }
        let mut splice = Splice::new(result);
        put(&mut splice, result, &weighed);
        Some(splice.finish())
    }

    fn results(&self, result: &[u8], results: &[u8], about: &[About]) -> Option<Vec<u8>> {
        let mut splice = Splice::new(results);
        let mut changed = false;
        for (place, message) in raw::elements(results).enumerate() {
            let about = about.get(place).copied().unwrap_or_default();
            if let Some(classified) = self.translate_message(message, about) {
                splice.replace(message, classified);
                changed = true;
            }
        }
        if !changed {
            return None;
        }
        let mut outer = Splice::new(result);
        outer.set_member(result, "results", splice.finish());
        Some(outer.finish())
    }

    fn error(&self, lane: Lane, reply: &Reply<'_>, error: &[u8], about: About) -> Option<Vec<u8>> {
        if raw::kind(error) != raw::Kind::Object {
            return None;
        }
        let Read::Refused(said) = Read::reply(reply) else { return None };
        let weighed = self.weigh(lane, &said, about);
        let code = match (said.manner, &weighed.refusal.kind) {
            (Manner::Error(Some(SERVER_ERROR | INTERNAL)), Kind::Unavailable) => Some(UNAVAILABLE),
            (Manner::Error(Some(SERVER_ERROR | INTERNAL)), Kind::TooLarge) => Some(TOO_LARGE),
            _ => None,
        };
        let data = raw::member(error, "data");
        if weighed.edits.is_empty() && code.is_none() {
            return None;
        }

        // What the host said that has no place of its own any more.
        let mut host = Vec::new();
        if code.is_some() {
            host.extend(["code", "message"].map(|name| (name, raw::member(error, name))));
        }
        match said.fields {
            // A `host` that was there already is something the host said too.
            Some(fields) if code.is_some() => host.push(("host", raw::member(fields, "host"))),
            Some(_) => {}
            None => host.push(("data", data)),
        }

        let fields = said.fields.unwrap_or(b"{}");
        let mut splice = Splice::new(fields);
        put(&mut splice, fields, &weighed);
        if host.iter().any(|(_, value)| value.is_some()) {
            splice.set_member(fields, "host", object(&host));
        }
        let data = splice.finish();

        let mut splice = Splice::new(error);
        if let Some(code) = code {
            splice.set_member(error, "code", code.to_string().into_bytes());
        }
        splice.set_member(error, "data", data);
        Some(splice.finish())
    }
}

/// Puts the fields of a weighed refusal into the object that holds them.
fn put(splice: &mut Splice<'_>, object: &[u8], weighed: &Weighed) {
    for (name, value) in &weighed.edits {
        match value {
            Some(value) => splice.set_member(object, name, value.clone().into_bytes()),
            None => splice.remove_member(object, name),
        };
    }
}

fn object(members: &[(&str, Option<&[u8]>)]) -> Vec<u8> {
    let mut text = vec![b'{'];
    for (name, value) in members {
        let Some(value) = value else { continue };
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(raw::quote(name).as_bytes());
        text.push(b':');
        text.extend_from_slice(value);
    }
    text.push(b'}');
    text
}
