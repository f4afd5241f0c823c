//! What a reader asks for.

use serde::Deserialize;

use super::{JOURNAL, NOTICES};

/// One message of a reader.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum Request {
    /// From now on, or anew.
    Subscribe(Wanted),
    /// Not any more.
    Unsubscribe(Named),
}

/// What is subscribed to.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object with a stream")]
pub(super) struct Wanted {
    pub(super) stream: String,
    /// The last event that the reader has applied; none: it knows nothing.
    #[serde(default)]
    pub(super) after: Option<u64>,
    /// With a snapshot: so many of the observations before it are sent as well.
    #[serde(default)]
    pub(super) tail: u64,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, expecting = "an object with a stream")]
pub(super) struct Named {
    pub(super) stream: String,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// The observations of this run.
    Journal,
    /// Those of another run, which cannot be replayed.
    Elsewhere,
    /// Observations, of which run is not said.
    Bare,
    Notices,
}

impl Stream {
    /// What that name stands for in this run; `None`: nothing.
    pub(super) fn named(name: &str, journal: &str) -> Option<Self> {
        match name {
            NOTICES => Some(Self::Notices),
            JOURNAL => Some(Self::Bare),
            name if name == journal => Some(Self::Journal),
            name if name.strip_prefix(JOURNAL).is_some_and(|epoch| epoch.starts_with('@')) => {
                Some(Self::Elsewhere)
            }
            _ => None,
        }
    }

    /// Where to go on from; `None`: from a snapshot.
    pub(super) fn cursor(self, after: Option<u64>) -> Option<u64> {
        match self {
            Self::Journal => after,
            // Numbers of no known run say nothing, but for the beginning.
            Self::Bare => after.filter(|after| *after == 0),
            Self::Elsewhere | Self::Notices => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_counts_for_the_run_it_is_of_only() {
        let named = |name| Stream::named(name, "journal@a");
        for (name, after, cursor) in [
            ("journal@a", Some(7), Some(7)),
            ("journal@a", Some(0), Some(0)),
            ("journal@a", None, None),
            ("journal@b", Some(7), None),
            ("journal@b", Some(0), None),
            ("journal", Some(7), None),
            ("journal", Some(0), Some(0)),
            ("journal", None, None),
        ] {
            assert_eq!(named(name).unwrap().cursor(after), cursor, "{name} {after:?}");
        }
        assert_eq!(named("notices"), Some(Stream::Notices));
        for name in ["", "journals", "notices@a", "Journal"] {
            assert_eq!(named(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_asked_is_read_strictly() {
        let read = |text| serde_json::from_str::<Request>(text);
        let wanted = |after, tail| Request::Subscribe(Wanted { stream: "journal".into(), after, tail });
        assert_eq!(read(r#"{"subscribe":{"stream":"journal","after":null}}"#).unwrap(), wanted(None, 0));
        assert_eq!(read(r#"{"subscribe":{"stream":"journal"}}"#).unwrap(), wanted(None, 0));
        assert_eq!(
            read(r#"{"subscribe":{"stream":"journal","after":3,"tail":9}}"#).unwrap(),
            wanted(Some(3), 9)
        );
        for text in [
            "",
            "{}",
            r#"{"subscribe":{}}"#,
            r#"{"subscribe":{"stream":"journal","after":-1}}"#,
            r#"{"subscribe":{"stream":"journal","afters":1}}"#,
            r#"{"subscribe":{"stream":"journal"},"unsubscribe":{"stream":"journal"}}"#,
            r#"{"publish":{"stream":"journal"}}"#,
            "[]",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
