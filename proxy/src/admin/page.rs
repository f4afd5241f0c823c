//! The live page: three files in the binary, which ask nobody but this listener.

use hyper::header::{self, HeaderName, HeaderValue};

use super::reply::{self, Reply};

/// What a browser lets the page do: nothing but to ask us, and to be styled and run by us. No other page may
/// frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                          img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Page,
    Script,
    Client,
    Style,
    Icon,
}

impl File {
    /// What is at that path, which has one segment.
    pub(super) fn at(segment: &str) -> Option<Self> {
        Some(match segment {
            "" => Self::Page,
            "page.js" => Self::Script,
            "stream.js" => Self::Client,
            "page.css" => Self::Style,
            "icon.svg" => Self::Icon,
            _ => return None,
        })
    }

    pub(super) fn reply(self) -> Reply {
        let (kind, text) = match self {
            Self::Page => ("text/html; charset=utf-8", include_str!("page/index.html")),
            Self::Script => ("text/javascript; charset=utf-8", include_str!("page/page.js")),
            Self::Client => ("text/javascript; charset=utf-8", include_str!("page/stream.js")),
            Self::Style => ("text/css; charset=utf-8", include_str!("page/page.css")),
            Self::Icon => ("image/svg+xml", include_str!("page/icon.svg")),
        };
        let mut reply = reply::fixed(text);
        let isolated = "cross-origin-opener-policy";
        for (name, value) in [
            (header::CONTENT_TYPE, kind),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static(isolated), "same-origin"),
        ] {
            reply::headed(&mut reply, name, HeaderValue::from_static(value));
        }
        reply
    }
}
