//! MCPL RFC-004, section 8.

use crate::config::endpoint::{Endpoint, Side};

/// Each vector that resolves: what is written, its canonical form, and what is dialled.
const RESOLVED: [(&str, &str, &str); 13] = [
    ("mcpl://example.com", "mcpl://example.com/", "wss://example.com/"),
    ("mcpl://example.com/path", "mcpl://example.com/path", "wss://example.com/path"),
    ("mcpl://example.com:8443/x", "mcpl://example.com:8443/x", "wss://example.com:8443/x"),
    (
        "mcpl://eidoverse.animalabs.ai?world=abc",
        "mcpl://eidoverse.animalabs.ai/?world=abc",
        "wss://eidoverse.animalabs.ai/?world=abc",
    ),
    ("MCPL://Example.COM/x", "mcpl://example.com/x", "wss://example.com/x"),
    (
        "mcpl://EIDOVERSE.Animalabs.AI:443/x",
        "mcpl://eidoverse.animalabs.ai/x",
        "wss://eidoverse.animalabs.ai/x",
    ),
    ("mcpl://ünicode.example/x", "mcpl://xn--nicode-2ya.example/x", "wss://xn--nicode-2ya.example/x"),
    ("mcpl://[2001:DB8::1]:8443/x", "mcpl://[2001:db8::1]:8443/x", "wss://[2001:db8::1]:8443/x"),
    ("mcpl://localhost/x", "mcpl://localhost/x", "wss://localhost/x"),
    ("mcpl://h/p?b=2&a=1", "mcpl://h/p?b=2&a=1", "wss://h/p?b=2&a=1"),
    ("mcpl://h/x?a=1&a=2", "mcpl://h/x?a=1&a=2", "wss://h/x?a=1&a=2"),
    ("mcpl://h/a%2fb", "mcpl://h/a%2fb", "wss://h/a%2fb"),
    ("mcpl://h/%7Euser", "mcpl://h/%7Euser", "wss://h/%7Euser"),
];

/// Each vector that is refused, and the words.
const REFUSED: [(&str, &str); 7] = [
    ("mcpl:///x", "the host is missing"),
    ("mcpl://u:p@h/x", "a user or password (`…@`) may not be in an address"),
    ("mcpl://h/x#frag", "a fragment (`#…`) may not be in an address"),
    ("mcpl://h/a/../b", "`.` and `..` may not be segments of the path"),
    ("mcpl://h/a/%2e%2e/b", "`.` and `..` may not be segments of the path"),
    ("mcpl://h/a/./b", "`.` and `..` may not be segments of the path"),
    ("mcpl://h:99999/x", "the port is no number from 0 to 65535"),
];

#[test]
fn the_vectors_of_the_scheme_are_reproduced() {
    for (text, canonical, resolved) in RESOLVED {
        let read = Endpoint::read(text, Side::Connect).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!((read.configured(), read.canonical(), read.resolved()), (text, canonical, resolved));
    }
    for (text, why) in REFUSED {
        assert_eq!(
            Endpoint::read(text, Side::Connect).map(|e| e.resolved().to_owned()),
            Err(why.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn what_a_url_would_read_as_something_else_is_refused() {
    for text in [
        "mcpl://\\x",
        "mcpl:////x",
        "mcpl://?x",
        "mcpl://:1/x",
        "mcpl://@h/x",
        "mcpl://h\\a\\..\\b",
        "mcpl://h/a/.%2E/b",
        "mcpl://h/a/..?x",
        "mcpl://h/\tx",
        "mcpl://h /x",
        "mcpl://h/x\n",
        "mcpl://h%40i/x",
        "mcpl://h/x#",
        "mcpl://h:-1/",
        "mcpl://[::1/",
        "mcpls://h/",
        "mcpl:h",
    ] {
        let read = Endpoint::read(text, Side::Connect);
        assert!(read.is_err(), "{text}: {:?}", read.map(|e| e.resolved().to_owned()));
    }
}

#[test]
fn what_only_looks_like_a_dot_segment_is_taken() {
    for text in ["mcpl://h/...", "mcpl://h/a..b/.c", "mcpl://h/x?a=/../b", "mcpl://h/a%2f..%2fb"] {
        assert!(Endpoint::read(text, Side::Connect).is_ok(), "{text}");
    }
}

#[test]
fn two_spellings_of_one_address_have_one_canonical_form() {
    let canonical = |text: &str| Endpoint::read(text, Side::Connect).unwrap().canonical().to_owned();
    assert_eq!(canonical("WSS://Example.org:443"), canonical("wss://example.org/"));
    assert_eq!(canonical("TCP://Example.org:7000/"), canonical("tcp://example.org:7000"));
    assert_ne!(canonical("mcpl://h/%7Euser"), canonical("mcpl://h/~user"));
}

#[test]
fn what_is_shown_has_the_names_of_the_query_and_no_values() {
    let read = |text: &str, written: &str| Endpoint::read(text, Side::Connect).unwrap().written_as(written);
    let plain = "mcpl://H?world=hush&token=hush&hush&empty=&=hush";
    let shown = read(plain, plain).shown();
    assert_eq!(shown.configured, "mcpl://H?world=***&token=***&***&empty=***&=***");
    assert_eq!(shown.canonical, "mcpl://h/?world=***&token=***&***&empty=***&=***");
    assert_eq!(shown.resolved, "wss://h/?world=***&token=***&***&empty=***&=***");
    let shown = read("wss://h:1/hush?a=hush", "wss://h:${PORT}/${SECRET}?a=b").shown();
    assert_eq!(shown.configured, "wss://h:${PORT}/${SECRET}?a=***");
    assert_eq!((&*shown.canonical, &*shown.resolved), ("wss://h:1/***", "wss://h:1/***"));
    let shown = read("tcp://h:1", "tcp://h:${PORT}").shown();
    assert_eq!((&*shown.configured, &*shown.resolved), ("tcp://h:${PORT}", "tcp://h:1"));
    assert!(!format!("{0} {0:?}", read(plain, plain)).contains("hush"));
}
