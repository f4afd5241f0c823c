//! Figures that a host gives in a refusal, as they are found in the field.

use mcpl_codec::raw::{self, Kind};

/// The largest whole number that every JSON reader keeps exactly (2^53 - 1). A time beyond it (285,000
/// years) is no time.
const MOST: f64 = 9_007_199_254_740_991.0;

/// A figure that should be a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    /// The member is not there.
    Absent,
    /// It is there as it should be.
    Exact(u64),
    /// It says a number, but not as a whole number: rounded up.
    Meant(u64),
    /// It is there and says nothing.
    Unusable,
}

impl Figure {
    /// Reads a member's raw value; anything below `least` is unusable.
    pub(super) fn of(value: Option<&[u8]>, least: u64) -> Self {
        let Some(value) = value else { return Self::Absent };
        let figure = match (raw::kind(value), number(value)) {
            (Kind::Number, Some(n)) if n.fract() == 0.0 => Self::Exact(n as u64),
            (_, Some(n)) => Self::Meant(n.ceil() as u64),
            (_, None) => Self::Unusable,
        };
        match figure.value() {
            Some(n) if n < least => Self::Unusable,
            _ => figure,
        }
    }

    /// The number, if it says one.
    pub(super) fn value(self) -> Option<u64> {
        match self {
            Self::Exact(n) | Self::Meant(n) => Some(n),
            Self::Absent | Self::Unusable => None,
        }
    }
}

/// A time to wait, in milliseconds, that a host names in the words of HTTP: seconds in `retryAfter`,
/// `retry_after` or a `Retry-After` among `headers`. A date is not read: there is no clock here to hold it
/// against.
pub(super) fn seconds_hint(fields: &[u8]) -> Option<u64> {
    let headers = raw::member(fields, "headers").unwrap_or(b"null");
    let header = raw::members(headers)
        .find(|(name, _)| name.decode().is_some_and(|name| name.eq_ignore_ascii_case("retry-after")))
        .map(|(_, value)| value);
    ["retryAfter", "retry_after"]
        .into_iter()
        .map(|name| raw::member(fields, name))
        .chain([header])
        .flatten()
        .find_map(number)
        // A millionth of a millisecond off, so that 299.997 s is 299,997 ms in spite of binary fractions.
        .map(|seconds| (seconds * 1000.0 - 1e-6).ceil().max(0.0))
        .filter(|ms| *ms <= MOST)
        .map(|ms| ms as u64)
}

/// A JSON number, or a string of digits with at most one point in it; neither negative nor beyond [`MOST`].
fn number(value: &[u8]) -> Option<f64> {
    let number: f64 = match raw::kind(value) {
        Kind::Number => std::str::from_utf8(value).ok()?.parse().ok()?,
        Kind::String => {
            let text = raw::string(value)?;
            let text = text.trim();
            let digits = |c: char| c.is_ascii_digit() || c == '.';
            // Not `parse` alone: that also takes signs, exponents, `inf` and `nan`.
            (text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(digits))
                .then(|| text.parse().ok())??
        }
        _ => return None,
    };
    (0.0..=MOST).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::Figure::{Absent, Exact, Meant, Unusable};
    use super::*;

    #[test]
    fn a_figure_is_a_whole_number_or_is_none() {
        for (text, figure) in [
            ("0", Exact(0)),
            ("120", Exact(120)),
            ("86400000", Exact(86_400_000)),
            ("9007199254740991", Exact(9_007_199_254_740_991)),
            ("1e3", Exact(1000)),
            ("5.0", Exact(5)),
            ("-0", Exact(0)),
            ("299.997", Meant(300)),
            ("0.2", Meant(1)),
            ("\"120\"", Meant(120)),
            ("\"299.997\"", Meant(300)),
            ("\" 5 \"", Meant(5)),
            ("-3", Unusable),
            ("\"-3\"", Unusable),
            ("\"+3\"", Unusable),
            ("1e308", Unusable),
            ("1e999", Unusable),
            ("99999999999999999999", Unusable),
            ("\"99999999999999999999\"", Unusable),
            ("\"soon\"", Unusable),
            ("\"inf\"", Unusable),
            ("\"1.2.3\"", Unusable),
            ("\"1e3\"", Unusable),
            ("\"\"", Unusable),
            ("\"Wed, 21 Oct 2026 07:28:00 GMT\"", Unusable),
            ("null", Unusable),
            ("true", Unusable),
            ("[5]", Unusable),
            ("{}", Unusable),
        ] {
            assert_eq!(Figure::of(Some(text.as_bytes()), 0), figure, "{text}");
        }
        assert_eq!(Figure::of(None, 0), Absent);
        assert_eq!(Figure::of(Some(b"0"), 1), Unusable);
        assert_eq!(Figure::of(Some(b"1"), 1), Exact(1));
    }

    #[test]
    fn hints_in_seconds_are_read_as_seconds() {
        for (fields, ms) in [
            (r#"{"retryAfter":120}"#, Some(120_000)),
            (r#"{"retryAfter":"120"}"#, Some(120_000)),
            (r#"{"retry_after":"299.997"}"#, Some(299_997)),
            (r#"{"retry_after":0.5}"#, Some(500)),
            (r#"{"retryAfter":0.0001}"#, Some(1)),
            (r#"{"retryAfter":0}"#, Some(0)),
            (r#"{"headers":{"retry-AFTER":" 5 "}}"#, Some(5_000)),
            (r#"{"retryAfter":"soon","headers":{"Retry-After":"7"}}"#, Some(7_000)),
            (r#"{"retryAfter":-3}"#, None),
            (r#"{"retryAfter":9007199254740991}"#, None),
            (r#"{"headers":["Retry-After"]}"#, None),
            (r#"{"headers":{"Retry-After":"Wed, 21 Oct 2026 07:28:00 GMT"}}"#, None),
            ("{}", None),
            ("null", None),
        ] {
            assert_eq!(seconds_hint(fields.as_bytes()), ms, "{fields}");
        }
    }
}
