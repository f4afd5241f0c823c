//! `[[producer.refusals.rule]]`.

use regex::Regex;

use super::errors::Faults;
use super::model::{Pattern, Rule};
use super::read::{Section, Text};

/// The kinds that never carry a time (contract 8.3).
const TIMELESS: [&str; 2] = ["invalid", "duplicate"];

/// The rule a table describes; `None` if it has no kind, which is noted.
pub(super) fn rule(faults: &mut Faults<'_>, section: &Section) -> Option<Rule> {
    let message = section.text("message").and_then(|t| pattern(faults, t, "producer.refusals.rule.message"));
    let reason = section.text("reason").and_then(|t| pattern(faults, t, "producer.refusals.rule.reason"));
    let Some(refusal) = section.text("refusal") else {
        if !section.has("refusal") {
            let hint = "write refusal = \"unavailable\" or another kind";
            faults.add(section.at, "`producer.refusals.rule.refusal` is missing", hint);
        }
        return None;
    };
    if refusal.value.is_empty() || refusal.value.len() > 64 {
        let message = format!("`producer.refusals.rule.refusal` cannot be \"{}\"", refusal.shown());
        faults.add(refusal.at.start, message, "write a word of 1 to 64 bytes, such as \"unavailable\"");
    }
    if section.has("limit_bytes") && refusal.value != "too_large" {
        faults.add(
            section.place("limit_bytes"),
            "`producer.refusals.rule.limit_bytes` goes with refusal = \"too_large\" only",
            "take it out, or make the refusal \"too_large\"",
        );
    }
    if section.has("retry_after_ms") && TIMELESS.contains(&refusal.value.as_str()) {
        faults.add(
            section.place("retry_after_ms"),
            format!(
                "`producer.refusals.rule.retry_after_ms` never goes with refusal = \"{}\"",
                refusal.shown()
            ),
            "take it out, or make the refusal \"unavailable\"",
        );
    }
    Some(Rule {
        code: section.integer("code"),
        message,
        reason,
        method: section.choice("method").map(ToOwned::to_owned),
        refusal: refusal.value.clone(),
        retryable: section.has("retryable").then(|| section.flag("retryable")),
        retry_after_ms: section.integer("retry_after_ms").and_then(|n| u64::try_from(n).ok()),
        limit_bytes: section.integer("limit_bytes").and_then(|n| u64::try_from(n).ok()),
    })
}

/// The regular expression that the value of the key at this dotted path is; what is wrong with it is noted.
pub(super) fn pattern(faults: &mut Faults<'_>, text: &Text, path: &str) -> Option<Pattern> {
    match Regex::new(&text.value) {
        Ok(regex) => Some(Pattern(regex)),
        Err(error) => {
            let (offset, why) = explain(&text.value, &error);
            let mut at = text.at.start;
            let mut place = String::new();
            if let Some(offset) = offset.filter(|_| !text.secret) {
                let n = text.value.get(..offset).unwrap_or_default().chars().count() + 1;
                place = format!(" at its character {n}");
                at = inside(faults.text(), text, offset).unwrap_or(at);
            }
            let hint = "see docs.rs/regex for the syntax; '…' in single quotes needs no doubled backslashes";
            faults.add(at, format!("`{path}` is no regular expression{place}: {why}"), hint);
            None
        }
    }
}

/// Where a pattern goes wrong (a byte offset) and why; nothing of the pattern is in the reason.
fn explain(pattern: &str, error: &regex::Error) -> (Option<usize>, String) {
    if let regex::Error::CompiledTooBig(limit) = error {
        return (None, format!("it needs more than {limit} bytes once compiled"));
    }
    match regex_syntax::Parser::new().parse(pattern) {
        Err(regex_syntax::Error::Parse(e)) => (Some(e.span().start.offset), e.kind().to_string()),
        Err(regex_syntax::Error::Translate(e)) => (Some(e.span().start.offset), e.kind().to_string()),
        _ => (None, "it is not valid".to_owned()),
    }
}

/// The place in the file of a byte of the value, where the value stands there as it is.
pub(super) fn inside(file: &str, text: &Text, offset: usize) -> Option<usize> {
    let source = file.get(text.at.clone())?;
    let quote = source.chars().next().filter(|q| *q == '"' || *q == '\'')?;
    let value = source.strip_prefix(quote)?.strip_suffix(quote)?;
    (value == text.value).then_some(text.at.start + 1 + offset)
}
