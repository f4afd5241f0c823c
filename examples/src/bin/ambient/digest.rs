//! The answer to `push/render`: one digest, made of the notices that are handed back.

use serde_json::{Value, json};

use crate::scene::ACTIVITY_KEY;

/// The content for a batch of notices, or why there is none: then the host is given the newest notice's own.
///
/// Nothing is remembered here: each notice's `data` comes back with the request, so a producer that was started
/// again since can answer it too.
pub(crate) fn render(params: &Value) -> Result<Value, (i64, &'static str)> {
    let Some(room) = params["channelId"].as_str().filter(|_| params["key"] == ACTIVITY_KEY) else {
        return Err((-32602, "ambient renders the activity of a channel and nothing else"));
    };
    let mut counts: Vec<(String, u64)> = Vec::new();
    for notice in params["notices"].as_array().into_iter().flatten() {
        let word = |name: &str| notice["data"][name].as_str().unwrap_or("something");
        let what = format!("{} {}", word("who"), word("did"));
        match counts.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => counts.push((what, 1)),
        }
    }
    let mut parts: Vec<String> = counts.into_iter().map(|(what, count)| what + &times(count)).collect();
    // Only so many notices are kept; how many more there were is known all the same.
    if let Some(dropped) = params["dropped"].as_u64().filter(|count| *count > 0) {
        parts.push(format!("and {dropped} more"));
    }
    if parts.is_empty() {
        return Ok(json!({"content": []}));
    }
    let text = format!("Meanwhile in {room}: {}.", parts.join(", "));
    Ok(json!({"content": [{"type": "text", "text": text}]}))
}

fn times(count: u64) -> String {
    match count {
        1 => String::new(),
        2 => " twice".to_owned(),
        _ => format!(" {count} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(notices: &Value, dropped: u64) -> Value {
        json!({
            "featureSet": "ambient.activity", "channelId": "lobby", "key": "activity", "eventId": "n",
            "notices": notices, "dropped": dropped,
        })
    }

    fn notice(who: &str, did: &str) -> Value {
        json!({"eventId": "n", "timestamp": "2026-03-01T12:00:00Z", "data": {"who": who, "did": did}})
    }

    #[test]
    fn a_digest_counts_what_the_notices_say_and_what_was_dropped() {
        let notices = json!([notice("Ada", "reacted"), notice("Ben", "left"), notice("Ada", "reacted")]);
        let text = "Meanwhile in lobby: Ada reacted twice, Ben left, and 40 more.";
        assert_eq!(render(&asked(&notices, 40)), Ok(json!({"content": [{"type": "text", "text": text}]})));
    }

    #[test]
    fn notices_about_nothing_close_their_batch() {
        assert_eq!(render(&asked(&json!([]), 0)), Ok(json!({"content": []})));
    }

    #[test]
    fn what_is_not_ours_to_render_is_an_error() {
        let mut params = asked(&json!([notice("Ada", "reacted")]), 0);
        params["key"] = json!("presence:ada");
        assert_eq!(render(&params).map_err(|(code, _)| code), Err(-32602));
    }
}
