//! What was sent of an occurrence, for those who may see it (`[admin] show_content`).

use mcpl_codec::Lane;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Account, Books, json, read};
use crate::journal::OpenFault;

/// The longest content that is shown, in bytes as it was sent. What is longer is only told of: `journal show --content`
/// shows it.
pub const SHOWN_BYTES: usize = 64 * 1024;

/// The content of an occurrence: `payload.content` of a `push/event`, `content` of a message. Never its key, nor
/// anything else of what was sent.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// The JSON text as it was sent; `None`: [`Content::content_says`] why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Box<RawValue>>,
    /// Its length in bytes, where there is some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_bytes: Option<u64>,
    /// Why it is not here, or what else there is, in a sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_says: Option<String>,
}

impl Content {
    fn says(says: impl Into<String>) -> Self {
        Self { content_says: Some(says.into()), ..Self::default() }
    }

    /// The content of an event that came on this lane, as far as it is shown.
    fn of(lane: Lane, text: Vec<u8>, id: &str) -> Self {
        let Some(content) = read(lane, text.into()).content else {
            return Self::says("it was sent without any");
        };
        let length = content.len();
        let mut shown = Self { content_bytes: Some(length as u64), ..Self::default() };
        if length > SHOWN_BYTES {
            shown.content_says = Some(format!(
                "it is {length} bytes, and at most {SHOWN_BYTES} are shown here: `journal show {id} --content` shows all of it"
            ));
        } else {
            shown.content = json(&content);
            if shown.content.is_none() {
                shown.content_says = Some("it cannot be read".to_owned());
            }
        }
        shown
    }
}

impl Books {
    /// What was sent of an occurrence, at most [`SHOWN_BYTES`] of it; why it cannot be shown, where that is so.
    ///
    /// # Errors
    /// As [`Books::account`].
    pub fn content(&self, account: &Account) -> Result<Content, OpenFault> {
        let (true, Some(lane)) = (account.open, account.sent_on) else {
            return Ok(Content::says("it has ended, and then content is kept no longer"));
        };
        let Some(text) = self.text(&account.producer, account.number)? else {
            return Ok(Content::says("it is not kept any more"));
        };
        let mut shown = Content::of(lane, text, &account.id);
        if let Some(batch) = account.batch {
            let more = format!(
                "it stands for {} notices, which `journal show {} --content` shows",
                batch.notices, account.id
            );
            shown.content_says = Some(match shown.content_says.take() {
                Some(says) => format!("{says}; {more}"),
                None => format!("this is what the host gets if its producer does not render it; {more}"),
            });
        }
        Ok(shown)
    }
}

#[cfg(test)]
mod tests {
    use mcpl_policy::fate::Fate;
    use mcpl_policy::journal::Table;
    use serde_json::{Value, json};
    use tempfile::tempdir;

    use super::*;
    use crate::journal::account::sample::{batch, ended, open, put, work, write};

    /// The content of the occurrences 1 to 7 of a journal, as JSON text.
    fn contents() -> Vec<String> {
        let tmp = tempdir().unwrap();
        let sent = |number, text: String| {
            let mut changes = open(number, "e", &work(Fate::Held));
            changes[1] = put(Table::Content, number, text.into_bytes());
            changes
        };
        let push = |content: &str| {
            format!(
                r#"{{"featureSet":"hush-1","eventId":"e","payload":{{"content": {content} }},"coalesce":{{"key":"hush-2"}},"origin":"hush-3"}}"#
            )
        };
        let mut changes = sent(1, push(r#"[ {"type":"text","text":"<b>\u00fc",  "n":1.0e400}]"#));
        changes.extend(sent(2, push(&format!("\"{}\"", "x".repeat(SHOWN_BYTES - 2)))));
        changes.extend(sent(3, push(&format!("\"{}\"", "x".repeat(SHOWN_BYTES - 1)))));
        changes.extend(sent(4, r#"{"featureSet":"fs","eventId":"e","payload":{}}"#.to_owned()));
        changes.extend(open(5, "e", &work(Fate::Held)).into_iter().filter(|change| {
            !matches!(change, mcpl_policy::journal::Change::Put { table: Table::Content, .. })
        }));
        changes.extend(ended(6, "e", Fate::Delivered));
        changes.extend(batch(7, "e", 3));
        write(tmp.path(), "chat", changes);
        let books = Books::open(tmp.path()).unwrap();
        (1..=7)
            .map(|number| {
                let account = books.account("chat", number).unwrap().unwrap();
                serde_json::to_string(&books.content(&account).unwrap()).unwrap()
            })
            .collect()
    }

    #[test]
    fn content_is_shown_as_it_was_sent_and_nothing_else_of_the_event_is() {
        let all = contents();
        let sent = r#"[ {"type":"text","text":"<b>\u00fc",  "n":1.0e400}]"#;
        assert_eq!(all[0], format!(r#"{{"content":{sent},"contentBytes":{}}}"#, sent.len()));
        assert!(!all.concat().contains("hush-"), "no key, no scope and no origin");
    }

    #[test]
    fn content_is_shown_up_to_its_bound_and_beyond_it_only_told_of() {
        let all = contents();
        let longest: Value = serde_json::from_str(&all[1]).unwrap();
        assert_eq!(longest["contentBytes"], SHOWN_BYTES);
        assert_eq!(longest["content"].as_str().map(str::len), Some(SHOWN_BYTES - 2));
        let longer: Value = serde_json::from_str(&all[2]).unwrap();
        assert_eq!((longer.get("content"), &longer["contentBytes"]), (None, &json!(SHOWN_BYTES + 1)));
        let says = longer["contentSays"].as_str().unwrap();
        assert!(says.contains("65537 bytes") && says.contains("journal show chat/3 --content"), "{says}");
    }

    #[test]
    fn where_there_is_no_content_it_is_said_why() {
        let all = contents();
        for (at, says) in [
            (3, "it was sent without any"),
            (4, "it is not kept any more"),
            (5, "it has ended, and then content is kept no longer"),
        ] {
            assert_eq!(all[at], json!({ "contentSays": says }).to_string());
        }
        let batch: Value = serde_json::from_str(&all[6]).unwrap();
        assert_eq!(batch["content"], "hush", "what the host gets, should its producer not render it");
        assert!(batch["contentSays"].as_str().unwrap().contains("3 notices"), "{batch}");
    }
}
