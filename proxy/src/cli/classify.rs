//! `classify`: a host's responses as the producer would get them (contract section 1).

use std::io::{self, Write};

use mcpl_codec::{Envelope, Frame, Framer, Lane, Sniff, raw, sniff};
use mcpl_policy::refusal::{About, Classifier};

use super::args::{Classify, Method};
use super::{exit, out, wrap};
use crate::config::{self, Env, Purpose};

/// Reads stdin to its end and writes stdout; or the exit code, with the reason on stderr.
pub(super) fn classify(classify: &Classify, env: Env<'_>) -> Result<(), u8> {
    let producer = match &classify.config {
        None => config::defaults("default").0,
        Some(path) => {
            let loaded = super::loaded(Purpose::Wrap, path, env)?;
            wrap::producer_of(&loaded, classify.producer.as_deref(), true)?
        }
    };
    let lane = match classify.method {
        Method::Push => Lane::Push,
        Method::Channel => Lane::Channel,
    };
    let reader = Reader { classifier: producer.classifier(), lane };
    let limit = producer.limits.max_message_bytes;
    out::forgive(reader.all(&mut io::stdin().lock(), limit, &mut io::stdout().lock())).map_err(|why| {
        out::complain(&format!("error: {why}"));
        exit::INTERNAL
    })
}

struct Reader {
    classifier: Classifier,
    lane: Lane,
}

impl Reader {
    fn all(&self, from: &mut dyn io::Read, limit: usize, to: &mut dyn Write) -> io::Result<()> {
        let mut to = io::BufWriter::new(to);
        let mut framer = Framer::new(limit);
        let mut n = 0;
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let read = from.read(&mut chunk)?;
            framer.buf().extend_from_slice(chunk.get(..read).unwrap_or_default());
            let mut next = framer.next();
            if read == 0 && next.is_none() {
                next = framer.finish();
            }
            while let Some(frame) = next {
                n += 1;
                self.frame(&frame, n, &mut to)?;
                next = framer.next();
            }
            // Interactive use shows each answer at once.
            to.flush()?;
            if read == 0 {
                return Ok(());
            }
        }
    }

    fn frame(&self, frame: &Frame, n: usize, to: &mut dyn Write) -> io::Result<()> {
        let text = match frame {
            Frame::Line(line) => line.text(),
            Frame::TooLong(_) => {
                out::complain(&format!("note: message {n} is over max_message_bytes and was left out"));
                return Ok(());
            }
        };
        match sniff::sniff(text) {
            Ok(Sniff::Message(envelope)) if is_response(&envelope) => {
                let channel = envelope.result.is_some_and(|result| raw::member(result, "results").is_some());
                let lane = if channel { Lane::Channel } else { self.lane };
                match self.classifier.translate(lane, text, &envelope, &[About::default()]) {
                    Some(told) => to.write_all(&told)?,
                    None => to.write_all(text)?,
                }
            }
            other => {
                let why = match other {
                    Ok(Sniff::Message(_)) => "is no response".to_owned(),
                    Ok(Sniff::Batch(_)) => "is a batch".to_owned(),
                    Err(noise) => format!("is no JSON: {noise}"),
                };
                out::complain(&format!("note: message {n} {why}; it goes through unchanged"));
                to.write_all(text)?;
            }
        }
        to.write_all(b"\n")
    }
}

fn is_response(envelope: &Envelope<'_>) -> bool {
    envelope.method.is_none()
        && envelope.id.is_some()
        && (envelope.result.is_some() || envelope.error.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lane: Lane, input: &str) -> Vec<String> {
        let reader = Reader { classifier: config::defaults("x").0.classifier(), lane };
        let mut out = Vec::new();
        reader.all(&mut input.as_bytes(), 4096, &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(ToOwned::to_owned).collect()
    }

    #[test]
    fn responses_are_classified_and_keep_their_spelling() {
        let lines = told(
            Lane::Push,
            "{\"jsonrpc\":\"2.0\",\"id\":12345678901234567890123,\"error\":{\"code\":-32000,\"message\":\"x\",\"data\":{\"n\":1.0}}}\n\
             {\"id\":null,\"result\":{\"accepted\":true}}\n\
             {\"id\":3,\"result\":{\"accepted\":false,\"reason\":\"duplicate\"}}",
        );
        assert!(
            lines[0].contains("\"id\":12345678901234567890123") && lines[0].contains("\"n\":1.0"),
            "{lines:?}"
        );
        assert!(lines[0].contains("-32030") && lines[0].contains("\"refusal\":\"unavailable\""), "{lines:?}");
        assert_eq!(lines[1], "{\"id\":null,\"result\":{\"accepted\":true}}");
        assert!(lines[2].contains("\"refusal\":\"duplicate\""), "the last line has no line end: {lines:?}");
    }

    #[test]
    fn what_is_no_response_goes_through_unchanged() {
        let input =
            ["hello", "[1, 2]", "{\"id\":1,\"method\":\"x\"}", "{\"result\":{}}", "{\"id\":1}", "{\"id\":1,"];
        assert_eq!(told(Lane::Push, &input.join("\n")), input);
    }

    #[test]
    fn a_result_with_results_is_the_channel_lanes() {
        let input = "{\"id\":1,\"result\":{\"results\":[{\"messageId\":\"M\",\"accepted\":false}]}}";
        for lane in [Lane::Push, Lane::Channel] {
            assert!(
                told(lane, input)[0]
                    .contains("\"messageId\":\"M\",\"accepted\":false,\"refusal\":\"not_permitted\"")
            );
        }
    }

    #[test]
    fn an_endless_line_is_left_out_and_the_next_is_read() {
        let input = format!("{}\n{{\"id\":1,\"result\":{{}}}}", "x".repeat(100_000));
        assert_eq!(told(Lane::Push, &input), ["{\"id\":1,\"result\":{}}"]);
    }
}
