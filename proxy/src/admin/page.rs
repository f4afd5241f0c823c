//! The live page: files in the binary, which ask nobody but this listener. Its scripts are native modules, without a
//! build step.

use hyper::header::{self, HeaderName, HeaderValue};

use super::reply::{self, Reply};

/// What a browser lets the page do: nothing but to ask us, and to be styled and run by us. No other page may
/// frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                          img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// What a file is called in the path, what it is, and what is in it.
type Entry = (&'static str, &'static str, &'static str);

/// The page, its modules as its `index.html` names them, and what it looks like.
static FILES: [Entry; 15] = [
    ("", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("access.js", SCRIPT, include_str!("page/access.js")),
    ("alarms.js", SCRIPT, include_str!("page/alarms.js")),
    ("element.js", SCRIPT, include_str!("page/element.js")),
    ("figures.js", SCRIPT, include_str!("page/figures.js")),
    ("found.js", SCRIPT, include_str!("page/found.js")),
    ("known.js", SCRIPT, include_str!("page/known.js")),
    ("lists.js", SCRIPT, include_str!("page/lists.js")),
    ("needs.js", SCRIPT, include_str!("page/needs.js")),
    ("occurrence.js", SCRIPT, include_str!("page/occurrence.js")),
    ("page.js", SCRIPT, include_str!("page/page.js")),
    ("stream.js", SCRIPT, include_str!("page/stream.js")),
    ("words.js", SCRIPT, include_str!("page/words.js")),
    ("page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct File(&'static Entry);

impl File {
    /// What is at that path, which has one segment.
    pub(super) fn at(segment: &str) -> Option<Self> {
        FILES.iter().find(|(name, ..)| *name == segment).map(Self)
    }

    pub(super) fn reply(self) -> Reply {
        let (_, kind, text) = *self.0;
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
