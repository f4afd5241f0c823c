//! The page is there without a token, says nothing, and may do nothing but ask us (contract 10.3, 12).

use super::*;

/// The head and the body of an answer that is no JSON.
async fn text(gate: Gate, path: &str, more: &str) -> (String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n");
    let desk = desk();
    let told = connected(gate, &desk, |mut stream| async move {
        stream.write_all(request.as_bytes()).await.unwrap();
        rest(stream).await
    });
    let told = told.await;
    let (head, body) = told.split_once("\r\n\r\n").unwrap();
    assert_eq!(*desk.asked.borrow(), [""; 0], "nothing is asked for it");
    (head.to_ascii_lowercase(), body.to_owned())
}

fn gate() -> Gate {
    Gate::tcp("127.0.0.1:9464", Some(Token::in_file("/nowhere/token".into())))
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: [(&str, &str); 15] = [
    ("/", "text/html; charset=utf-8"),
    ("/access.js", SCRIPT),
    ("/alarms.js", SCRIPT),
    ("/element.js", SCRIPT),
    ("/figures.js", SCRIPT),
    ("/found.js", SCRIPT),
    ("/known.js", SCRIPT),
    ("/lists.js", SCRIPT),
    ("/needs.js", SCRIPT),
    ("/occurrence.js", SCRIPT),
    ("/page.js", SCRIPT),
    ("/stream.js", SCRIPT),
    ("/words.js", SCRIPT),
    ("/page.css", "text/css; charset=utf-8"),
    ("/icon.svg", "image/svg+xml"),
];

#[tokio::test]
async fn the_page_is_served_without_a_token_under_a_strict_policy() {
    for (path, kind) in FILES {
        let (head, body) = text(gate(), path, "").await;
        assert!(head.starts_with("http/1.1 200 "), "{path}: {head}");
        for line in [
            &format!("content-type: {kind}"),
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(head.contains(line), "{path} has {line}: {head}");
        }
        assert!(body.len() > 100, "{path}");
    }
}

#[tokio::test]
async fn the_page_asks_nobody_else_and_runs_nothing_that_is_written_into_it() {
    for (path, _) in FILES {
        let (_, body) = text(gate(), path, "").await;
        for (at, _) in body.match_indices("://") {
            let scheme = &body[at - 5..at + 3];
            let of_ours = body[at..].starts_with("://${location.host}")
                || body[at..].starts_with("://…/")
                || body[at..].starts_with("://www.w3.org/2000/svg");
            assert!(of_ours, "{path} names somebody else: {scheme}");
        }
        for word in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", " style=", "onclick=\"", "localStorage"]
        {
            assert!(!body.contains(word), "{path} has {word}");
        }
        assert!(!body.contains("<script>") && !body.contains("<style"), "{path} has its own files");
    }
}

#[tokio::test]
async fn every_module_that_one_imports_is_served_and_told_in_advance() {
    let (_, page) = text(gate(), "/", "").await;
    for (path, kind) in FILES {
        let (_, body) = text(gate(), path, "").await;
        for (_, rest) in body.split("\nimport ").skip(1).filter_map(|line| line.split_once(" from \"")) {
            let (named, _) = rest.split_once('"').unwrap();
            assert!(FILES.contains(&(named, SCRIPT)), "{path} imports {named}");
        }
        assert!(kind != SCRIPT || page.contains(&format!("=\"{path}\"")), "the page names {path}");
    }
}

#[tokio::test]
async fn a_page_of_another_site_does_not_get_it_and_neither_does_who_calls_it_by_another_name() {
    let (head, _) = text(gate(), "/page.js", "Origin: http://evil.example\r\n").await;
    assert!(head.starts_with("http/1.1 403 "), "{head}");
    let desk = desk();
    let told =
        exchange(gate(), &desk, "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").await;
    assert_eq!(told.error(), 421);
}

#[tokio::test]
async fn the_stream_is_where_it_is_kept_only() {
    let told = ask(&desk(), "GET", "/v1/stream", "").await;
    assert_eq!(told.error(), 404, "there is none at this desk");
    let request = "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(exchange(gate(), &desk(), request).await.error(), 401, "it asks for the token");
}
