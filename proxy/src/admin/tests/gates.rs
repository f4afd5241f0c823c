//! Who is let in, and who is not.

use std::path::Path;

use super::*;

/// What a request with these header lines is answered by a listener at `host`.
async fn at(host: &str, token: Option<&Path>, request: &str, headers: &str) -> Told {
    let token = token.map(|path| Token::in_file(path.to_owned()));
    let text = format!("{request}\r\nConnection: close\r\n{headers}\r\n");
    exchange(Gate::tcp(host, token), &desk(), &text).await
}

const LIST: &str = "GET /v1/producers HTTP/1.1";

#[tokio::test]
async fn a_loopback_listener_is_called_by_its_own_names_only() {
    for host in
        ["localhost", "LocalHost:9464", "127.0.0.1", "127.0.0.1:80", "[::1]:9464", "[::1]", "127.0.0.9"]
    {
        assert_eq!(at("127.0.0.1", None, LIST, &format!("Host: {host}\r\n")).await.status, 200, "{host}");
    }
    for host in
        ["evil.example", "evil.example:9464", "127.0.0.1.evil.example", "10.0.0.1", "localhost.evil", "a"]
    {
        assert_eq!(at("127.0.0.1", None, LIST, &format!("Host: {host}\r\n")).await.error(), 421, "{host}");
        let live = at("127.0.0.1", None, "GET /live HTTP/1.1", &format!("Host: {host}\r\n")).await;
        assert_eq!(live.error(), 421, "{host}");
    }
    for host in ["", "a b", "x@localhost", "[::1"] {
        let status = at("127.0.0.1", None, LIST, &format!("Host: {host}\r\n")).await.status;
        assert!([400, 421].contains(&status), "{host}: {status}");
    }
    assert_eq!(at("127.0.0.1", None, LIST, "").await.error(), 400, "none");
    assert_eq!(at("127.0.0.1", None, LIST, "Host: localhost\r\nHost: localhost\r\n").await.error(), 400);
    assert_eq!(at("127.0.0.1", None, "GET /live HTTP/1.0", "").await.status, 200, "as probes do");
}

#[tokio::test]
async fn a_listener_is_known_by_its_host_however_its_address_is_written() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("token");
    std::fs::write(&path, "hush").unwrap();
    let evil = "Host: evil.example\r\nAuthorization: Bearer hush\r\n";
    for address in ["127.0.0.1:9464", "[::1]:9464", "[::1]", "::1", "LOCALHOST:1"] {
        assert_eq!(at(address, Some(&path), LIST, evil).await.error(), 421, "{address}");
    }
    for address in ["0.0.0.0:9464", "[::]:9464", "sidecar.example:9464"] {
        assert_eq!(at(address, Some(&path), LIST, evil).await.status, 200, "{address}");
    }
    let named = "Host: sidecar.example\r\n";
    assert_eq!(at("sidecar.example:9464", None, LIST, named).await.status, 200);
}

#[tokio::test]
async fn a_target_with_a_host_of_its_own_counts_as_the_host() {
    let target = |host: &str| format!("GET http://{host}/v1/producers HTTP/1.1");
    let named = "Host: localhost\r\n";
    assert_eq!(at("127.0.0.1", None, &target("localhost"), named).await.status, 200);
    assert_eq!(at("127.0.0.1", None, &target("evil.example"), named).await.error(), 400);
    assert_eq!(at("127.0.0.1", None, &target("evil.example"), "Host: evil.example\r\n").await.error(), 421);
}

#[tokio::test]
async fn a_page_of_another_site_cannot_ask_for_anything() {
    let flush = "POST /v1/producers/chat/flush HTTP/1.1";
    let from = |origin: &str| format!("Host: localhost:9464\r\nOrigin: {origin}\r\n");
    for origin in ["http://evil.example", "null", "http://localhost:1", "http://127.0.0.1:9464", "file://"] {
        assert_eq!(at("127.0.0.1", None, flush, &from(origin)).await.error(), 403, "{origin}");
    }
    assert_eq!(at("127.0.0.1", None, flush, &from("http://localhost:9464")).await.status, 204, "its own");
    assert_eq!(at("127.0.0.1", None, flush, "Host: localhost\r\n").await.status, 204, "a program");
}

#[tokio::test]
async fn with_a_token_all_but_the_probes_ask_for_it() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("token");
    std::fs::write(&path, "hush-7731\n").unwrap();
    let with = |header: &str| format!("Host: sidecar.example\r\n{header}");
    let token = Some(path.as_path());
    for probe in ["/live", "/ready"] {
        let request = format!("GET {probe} HTTP/1.1");
        assert_eq!(at("0.0.0.0", token, &request, &with("")).await.status, 200, "{probe}");
    }
    for header in ["Authorization: Bearer hush-7731\r\n", "authorization: bearer  hush-7731 \r\n"] {
        assert_eq!(at("0.0.0.0", token, LIST, &with(header)).await.status, 200, "{header}");
    }
    let wrong = [
        "",
        "Authorization: Bearer\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: Bearer hush-773\r\n",
        "Authorization: Bearer hush-77311\r\n",
        "Authorization: Bearer Hush-7731\r\n",
        "Authorization: Basic hush-7731\r\n",
        "Authorization: Bearer hush-7731\r\nAuthorization: Bearer hush-7731\r\n",
    ];
    for request in
        [LIST, "GET /nope HTTP/1.1", "POST /v1/work/chat/1/resolve HTTP/1.1", "POST /live/x HTTP/1.1"]
    {
        for header in wrong {
            let told = at("0.0.0.0", token, request, &with(header)).await;
            assert_eq!(told.error(), 401, "{request} {header}");
            assert!(told.header("www-authenticate").unwrap().starts_with("Bearer"));
            assert!(!told.body.to_string().contains("hush") && !told.head.contains("hush"));
        }
    }
}

#[tokio::test]
async fn a_new_token_counts_at_once_and_none_lets_nobody_in() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("token");
    let named = |token: &str| format!("Host: localhost\r\nAuthorization: Bearer {token}\r\n");
    for token in ["one", "two"] {
        std::fs::write(&path, token).unwrap();
        assert_eq!(at("127.0.0.1", Some(&path), LIST, &named(token)).await.status, 200);
    }
    assert_eq!(at("127.0.0.1", Some(&path), LIST, &named("one")).await.error(), 401);
    std::fs::write(&path, "").unwrap();
    assert_eq!(
        at("127.0.0.1", Some(&path), LIST, &named("x")).await.error(),
        503,
        "an empty file is no token"
    );
    std::fs::remove_file(&path).unwrap();
    let told = at("127.0.0.1", Some(&path), LIST, &named("two")).await;
    assert_eq!(told.error(), 503);
    assert!(!told.body.to_string().contains(tmp.path().to_str().unwrap()), "{:?}", told.body);
    assert_eq!(at("127.0.0.1", Some(&path), "GET /live HTTP/1.1", &named("x")).await.status, 200);
}

#[tokio::test]
async fn a_loopback_listener_with_a_token_still_goes_by_its_names() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("token");
    std::fs::write(&path, "hush").unwrap();
    let headers = "Host: evil.example\r\nAuthorization: Bearer hush\r\n";
    assert_eq!(at("localhost", Some(&path), LIST, headers).await.error(), 421);
    assert_eq!(
        at("sidecar.example", None, LIST, "Host: evil.example\r\n").await.error(),
        421,
        "no token, no guests"
    );
    assert_eq!(at("sidecar.example", None, LIST, "Host: sidecar.example:1\r\n").await.status, 200);
}

#[tokio::test]
async fn the_socket_asks_nothing() {
    let text = format!("{LIST}\r\nConnection: close\r\n\r\n");
    assert_eq!(exchange(Gate::Socket, &desk(), &text).await.status, 200);
}
