//! What a producer reads in an answer to an event.

use serde_json::Value;

/// The object that says how it went: the result, the only message's result, or an error's `data`.
fn outcome(answer: &Value) -> &Value {
    let result = &answer["result"];
    match (&result["results"][0], &answer["error"]["data"]) {
        (message, _) if message.is_object() => message,
        (_, data) if data.is_object() => data,
        _ => result,
    }
}

/// It was accepted.
pub(super) fn is_accepted(answer: &Value) -> bool {
    outcome(answer)["accepted"] == true
}

/// The `coalesce` member of an acceptance.
pub(super) fn coalesce(answer: &Value) -> &Value {
    &outcome(answer)["coalesce"]
}

/// The refusal, classified; none in a host's plain words.
pub(super) fn refusal(answer: &Value) -> Option<&str> {
    outcome(answer)["refusal"].as_str()
}

/// Whether the sidecar's own rate limit refused it.
pub(super) fn is_over_rate(answer: &Value) -> bool {
    outcome(answer)["reason"] == "rate limit reached"
}

/// When to send the event again, in ms, where that is worth it.
pub(super) fn resend_after_ms(answer: &Value) -> Option<u64> {
    let outcome = outcome(answer);
    outcome["retryAfterMs"].as_u64().filter(|_| outcome["retryable"] == true)
}

/// The answer in its form and its own words.
pub(super) fn words(answer: &Value) -> Vec<String> {
    let error = &answer["error"];
    if error.is_object() {
        return vec![format!("error {} {}", error["code"], error["message"])];
    }
    let outcome = outcome(answer);
    let mut words = vec![format!("accepted: {}", outcome["accepted"])];
    words.extend(outcome["reason"].as_str().map(|reason| format!("\"{reason}\"")));
    words
}

/// The fields a program can act on, each in words.
pub(super) fn fields(answer: &Value) -> Vec<String> {
    let outcome = outcome(answer);
    let mut told = Vec::new();
    let Some(refusal) = refusal(answer) else { return told };
    told.push(match outcome["retryable"].as_bool() {
        Some(retryable) => format!("refusal {refusal}, retryable {retryable}"),
        None => format!("refusal {refusal}"),
    });
    if let Some(ms) = outcome["retryAfterMs"].as_u64() {
        // A rate's figure counts down while the demonstration runs.
        told.push(match ms {
            0..=1000 => format!("retryAfterMs {ms}"),
            _ => format!("retryAfterMs about {}", ms.div_ceil(1000) * 1000),
        });
    }
    told
}
