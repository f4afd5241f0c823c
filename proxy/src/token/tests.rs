//! Tokens: read, presented, shown; never printed.

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_PROTOCOL};

use super::*;

const HUSH: &str = "mcpl.bearer.aHVzaA";

fn headers(lines: &[(HeaderName, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in lines {
        map.append(name, HeaderValue::from_str(value).unwrap());
    }
    map
}

fn found(lines: &[(HeaderName, &str)], query: Option<&str>) -> Presented {
    presented(&headers(lines), query)
}

fn token(text: &str) -> Presented {
    Presented::Token(Secret(text.as_bytes().to_vec()))
}

fn muddled(lines: &[(HeaderName, &str)], query: Option<&str>) -> bool {
    matches!(found(lines, query), Presented::Muddled(_))
}

#[test]
fn only_the_same_is_the_same() {
    let hush = Secret(b"hush".to_vec());
    assert!(hush.is(b"hush"));
    for given in [&b""[..], b"h", b"hus", b"hush!", b"Hush", b"husH"] {
        assert!(!hush.is(given));
    }
}

#[tokio::test]
async fn a_file_without_a_token_lets_nobody_in() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("token");
    let token = Token::in_file(path.clone());
    assert_eq!(token.check().unwrap_err().kind(), io::ErrorKind::NotFound);
    for text in ["", " \r\n", "one\ntwo", "a\0b", &"x".repeat(TOKEN_FILE_BYTES as usize + 1)] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(token.check().unwrap_err().kind(), io::ErrorKind::InvalidData, "{text:?}");
        assert!(token.is(text.as_bytes()).await.is_err(), "{text:?}");
    }
    std::fs::write(&path, "hush\r\n").unwrap();
    assert!(token.is(b"hush").await.unwrap());
    std::fs::write(&path, "anew").unwrap();
    assert!(token.is(b"anew").await.unwrap() && !token.is(b"hush").await.unwrap(), "it is read at each use");
}

#[tokio::test]
async fn a_variable_holds_a_token() {
    // Set for every test of the workspace, by cargo.
    let token = Token::in_env("CARGO_PKG_NAME");
    assert!(token.is(b"mcpl-sidecar").await.unwrap());
    assert!(!token.is(b"mcpl").await.unwrap());
    let error = Token::in_env("MCPL_NO_SUCH_VARIABLE").check().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().contains("MCPL_NO_SUCH_VARIABLE"), "{error}");
}

#[test]
fn a_token_is_found_in_each_form() {
    assert_eq!(found(&[], None), Presented::Nothing);
    assert_eq!(found(&[], Some("")), Presented::Nothing);
    for value in ["Bearer hush", "bearer hush", "BEARER  hush ", "Bearer hush"] {
        assert_eq!(found(&[(AUTHORIZATION, value)], None), token("hush"), "{value}");
    }
    for value in [HUSH, &format!("mcpl, {HUSH}"), &format!("{HUSH},mcpl"), &format!("a ,\t{HUSH} , mcpl")] {
        assert_eq!(found(&[(SEC_WEBSOCKET_PROTOCOL, value)], None), token("hush"), "{value}");
    }
    let lines = [(SEC_WEBSOCKET_PROTOCOL, "mcpl"), (SEC_WEBSOCKET_PROTOCOL, HUSH)];
    assert_eq!(found(&lines, None), token("hush"), "in a line of its own");
    for (query, text) in [
        ("token=hush", "hush"),
        ("a=1&token=hush&b=2", "hush"),
        ("token=h%75s%68", "hush"),
        ("tok%65n=hush", "hush"),
        ("token=a+b%2Bc%20d%3D%26", "a+b+c d=&"),
        ("token=a=b==", "a=b=="),
        ("token=%zz", "%zz"),
        ("token=%C3%BC", "ü"),
    ] {
        assert_eq!(found(&[], Some(query)), token(text), "{query}");
    }
    for query in ["Token=hush", "tokens=hush", "a=token", "atoken=hush", "a?token=hush"] {
        assert_eq!(found(&[], Some(query)), Presented::Nothing, "{query}");
    }
    assert_eq!(found(&[(AUTHORIZATION, "Basic aHVzaA")], None), Presented::Nothing, "another scheme");
    assert_eq!(found(&[(AUTHORIZATION, "Bearerhush")], None), Presented::Nothing);
    assert_eq!(found(&[(SEC_WEBSOCKET_PROTOCOL, "MCPL.bearer.aHVzaA")], None), Presented::Nothing);
}

#[test]
fn several_forms_have_to_agree() {
    let same = [(AUTHORIZATION, "Bearer hush"), (SEC_WEBSOCKET_PROTOCOL, HUSH)];
    assert_eq!(found(&same, Some("token=hush&token=%68ush")), token("hush"));
    assert!(muddled(&same, Some("token=other")));
    assert!(muddled(&same, Some("token=hush&token=")));
    assert!(muddled(&[(AUTHORIZATION, "Bearer other"), (SEC_WEBSOCKET_PROTOCOL, HUSH)], None));
    assert!(muddled(
        &[(SEC_WEBSOCKET_PROTOCOL, "mcpl.bearer.b3RoZXI"), (SEC_WEBSOCKET_PROTOCOL, HUSH)],
        None
    ));
    assert!(muddled(&[], Some("token=a&token=b")));
}

#[test]
fn what_cannot_be_read_is_no_token_and_is_not_passed_over() {
    for value in ["Bearer", "Bearer "] {
        assert!(muddled(&[(AUTHORIZATION, value)], Some("token=hush")), "{value:?}");
    }
    assert!(muddled(&[(AUTHORIZATION, "Bearer hush"), (AUTHORIZATION, "Bearer hush")], None), "two headers");
    for entry in ["", "aHVzaA==", "aHVzaB", "a", "+/", "aHVz aA"] {
        let value = format!("mcpl, mcpl.bearer.{entry}");
        assert!(muddled(&[(SEC_WEBSOCKET_PROTOCOL, &value)], None), "{entry:?}");
    }
    assert!(muddled(&[], Some("token")) && muddled(&[], Some("token=")));
}

#[test]
fn a_query_is_compared_without_its_tokens() {
    for (query, rest) in [
        ("token=hush", ""),
        ("a=1&token=hush&b=%2f", "a=1&b=%2f"),
        ("tok%65n=x&a", "a"),
        ("b=2&a=1&a=1", "b=2&a=1&a=1"),
        ("", ""),
    ] {
        assert_eq!(without_token(query), rest, "{query}");
    }
}

#[test]
fn what_is_shown_to_a_producer_is_what_a_host_may_present() {
    for text in ["hush", "a+b/c==", "ü~-._", "a b&c=d%?#"] {
        let secret = Secret(text.as_bytes().to_vec());
        let mut lines = HeaderMap::new();
        lines.insert(AUTHORIZATION, secret.authorization().unwrap());
        assert_eq!(presented(&lines, None), token(text));
        let mut lines = HeaderMap::new();
        lines.insert(SEC_WEBSOCKET_PROTOCOL, secret.protocols().unwrap());
        assert_eq!(presented(&lines, None), token(text));
        for (target, rest) in [("/", ""), ("/x?", ""), ("/x?b=2&a=1&a=%2f", "b=2&a=1&a=%2f")] {
            let shown = secret.in_query(target);
            let query = shown.split_once('?').unwrap().1;
            assert_eq!(found(&[], Some(query)), token(text), "{shown}");
            assert_eq!(without_token(query), rest);
            assert!(shown.starts_with(target) && !shown.contains("?&"), "{shown}");
        }
    }
    let hush = Secret(b"hush".to_vec());
    assert_eq!(hush.protocols().unwrap().to_str().unwrap(), format!("mcpl, {HUSH}"));
    assert_eq!(hush.in_query("/x?a=1"), "/x?a=1&token=hush");
    assert!(Secret(b"a\nb".to_vec()).authorization().is_err());
}

#[test]
fn nothing_prints_a_token() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("token");
    std::fs::write(&path, "hush\nhush").unwrap();
    let file = Token::in_file(path);
    let secret = Secret(b"hush".to_vec());
    let (authorization, protocols) = (secret.authorization().unwrap(), secret.protocols().unwrap());
    for printed in [
        format!("{file:?} {0} {0:?}", file.check().unwrap_err()),
        format!("{secret:?}"),
        format!("{:?}", found(&[(AUTHORIZATION, "Bearer hush")], None)),
        format!("{:?}", found(&[(AUTHORIZATION, "Bearer hush")], Some("token=hush2"))),
        format!("{authorization:?} {protocols:?}"),
        format!("{:?}", Secret(b"hush\n".to_vec()).authorization().unwrap_err()),
    ] {
        assert!(!printed.contains("hush") && !printed.contains("aHVzaA"), "{printed}");
    }
}
