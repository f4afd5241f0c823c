//! TLS, tokens, and the addresses they go with.

use super::*;

/// What is said of a file whose producer listens and connects there and has these lines besides.
fn said(listen: &str, peer: &str, lines: &str) -> Vec<String> {
    let text = format!("[[producer]]\nname = 'x'\nlisten = '{listen}'\n{peer}\n{lines}\n");
    let Err(errors) = read(&text) else { return Vec::new() };
    let errors = errors.to_string();
    errors.lines().map(|line| line.strip_prefix(FILE).unwrap().trim_start_matches(':').to_owned()).collect()
}

const SPAWN: &str = "command = ['prog']";
const TLS: &str = "listen_tls = { cert_file = 'c', key_file = 'k' }";

#[test]
fn the_keys_of_reach_are_read() {
    let far = &read(WHOLE).unwrap().config.producers[1];
    let at = |name: &str| Path::new("/etc/mcpl").join(name);
    assert_eq!(
        far.listen_tls,
        Some(ListenTls {
            cert_file: at("tls.crt"),
            key_file: at("tls.key"),
            client_ca_file: Some(at("clients.crt")),
            client_names: vec!["host.example".to_owned()],
        })
    );
    assert_eq!(
        far.listen_auth,
        Some(ListenAuth {
            token: Some(TokenSource::File(at("host.token"))),
            origins: vec!["https://app.example".to_owned()],
        })
    );
    assert_eq!(
        far.connect_tls,
        Some(ConnectTls {
            ca_file: Some(at("ca.crt")),
            cert_file: Some(at("me.crt")),
            key_file: Some(at("me.key")),
            server_name: Some("discord.internal".to_owned()),
        })
    );
    let token = TokenSource::Env("PRODUCER_TOKEN".to_owned());
    assert_eq!(far.connect_auth, Some(ConnectAuth { token, form: TokenForm::Subprotocol }));
    let Listen::On(listen) = &far.listen else { panic!() };
    assert_eq!((listen.path(), listen.query(), listen.at.port), ("/far", Some("v=1"), 8443));
    let Peer::Connect(connect) = &far.peer else { panic!() };
    assert_eq!(connect.configured(), "mcpl://Example.org?world=abc");
    assert_eq!(connect.resolved(), "wss://example.org/?world=abc");
    assert_eq!((&*connect.at.host, connect.at.port, &*connect.target), ("example.org", 443, "/?world=abc"));
}

#[test]
fn tables_are_there_only_if_the_file_has_them() {
    let printed = read(LEAST).unwrap().effective();
    assert!(!printed.contains("tls") && !printed.contains("auth"), "{printed}");
    let text = format!("{}\n{TLS}\n", LEAST.replace("stdio", "wss://127.0.0.1:0"));
    let printed = read(&text).unwrap().effective();
    assert!(printed.contains("[producer.listen_tls]\ncert_file = \"/etc/mcpl/c\"\n"), "{printed}");
    assert!(!printed.contains("client_names"), "an empty list would say something else: {printed}");
}

#[test]
fn what_is_wrong_with_tls_is_said() {
    for (listen, peer, lines, words) in [
        (
            "wss://127.0.0.1:1",
            SPAWN,
            "",
            "3:10: `producer.listen` is wss://, and there is no [producer.listen_tls]; hint: add [producer.listen_tls] with cert_file and key_file, or listen on ws://",
        ),
        (
            "ws://127.0.0.1:1",
            SPAWN,
            TLS,
            "5:14: `producer.listen_tls` goes with a wss:// `listen` only; hint: take the table out, or change the address",
        ),
        (
            "wss://127.0.0.1:1",
            SPAWN,
            "listen_tls = { cert_file = 'c' }",
            "5:14: `producer.listen_tls.key_file` is missing; hint: write key_file = \"tls.key\": PEM, its private key",
        ),
        (
            "wss://127.0.0.1:1",
            SPAWN,
            "listen_tls = { cert_file = 'c', key_file = 'k', client_names = ['a'] }",
            "5:64: `producer.listen_tls.client_names` goes with `client_ca_file` only; hint: add client_ca_file = \"clients.crt\": without it no certificate is asked for",
        ),
        (
            "wss://127.0.0.1:1",
            SPAWN,
            "listen_tls = { cert_file = 'c', key_file = 'k', client_ca_file = 'a', client_names = [] }",
            "5:86: `producer.listen_tls.client_names` is empty: nobody would be let in; hint: name who may come in, or leave it out for every certificate of the CA",
        ),
        (
            "stdio",
            "connect = 'ws://x'",
            "connect_tls = {}",
            "5:15: `producer.connect_tls` goes with a wss:// or mcpl:// `connect` only; hint: take the table out, or change the address",
        ),
        (
            "stdio",
            SPAWN,
            "connect_tls = {}",
            "5:15: `producer.connect_tls` goes with a wss:// or mcpl:// `connect` only; hint: take the table out, or change the address",
        ),
        (
            "stdio",
            "connect = 'mcpl://x'",
            "connect_tls = { cert_file = 'c' }",
            "5:29: `producer.connect_tls.cert_file` goes with `key_file` only; hint: add key_file, or take cert_file out",
        ),
        (
            "stdio",
            "connect = 'mcpl://x'",
            "connect_tls = { server_name = 'a b' }",
            "5:31: `producer.connect_tls.server_name` = \"a b\" is no name: the host is neither a name nor an IP address; hint: write a DNS name or an IP address, as it stands in the certificate",
        ),
    ] {
        assert_eq!(said(listen, peer, lines), [words], "{lines}");
    }
    assert!(said("stdio", "connect = 'wss://x'", "connect_tls = { server_name = '[::1]' }").is_empty());
}

#[test]
fn what_is_wrong_with_tokens_is_said() {
    let ws = "ws://127.0.0.1:1";
    for (listen, peer, lines, words) in [
        (
            "tcp://127.0.0.1:1",
            SPAWN,
            "listen_auth.token_env = 'T'",
            "5:1: `producer.listen_auth` goes with a ws:// or wss:// `listen` only; hint: take the table out, or change the address",
        ),
        (
            ws,
            SPAWN,
            "[producer.listen_auth]",
            "5:1: `producer.listen_auth` asks for nothing; hint: add token_file, token_env or origins, or take the table out",
        ),
        (
            ws,
            SPAWN,
            "listen_auth = { token_file = 't', token_env = 'T' }",
            "5:47: `producer.listen_auth.token_file` and `producer.listen_auth.token_env` exclude each other; hint: take one of the two out",
        ),
        (
            ws,
            SPAWN,
            "listen_auth.token_env = '$T'",
            "5:25: `producer.listen_auth.token_env` = \"$T\" is no name of a variable; hint: write the variable's name, without `$`: letters, digits and `_`, no digit first",
        ),
        (
            ws,
            SPAWN,
            "listen_auth.origins = ['app.example']",
            "5:24: `producer.listen_auth.origins`: \"app.example\" is no origin; hint: write scheme and host, and the port if it is not the scheme's own: https://app.example",
        ),
        (
            "ws://127.0.0.1:1/?token=hush",
            SPAWN,
            "",
            "3:10: `producer.listen` has a `token` in its query, which is not compared; hint: take it out, and name the token in [producer.listen_auth] token_file or token_env",
        ),
        (
            "stdio",
            "connect = 'tcp://x:1'",
            "connect_auth.token_env = 'T'",
            "5:1: `producer.connect_auth` goes with a ws://, wss:// or mcpl:// `connect` only; hint: take the table out, or change the address",
        ),
        (
            "stdio",
            "connect = 'ws://x'",
            "connect_auth.token_as = 'query'",
            "5:1: `producer.connect_auth` names no token; hint: add token_file = \"producer.token\" or token_env = \"NAME\"",
        ),
        (
            "stdio",
            "connect = 'ws://x?tok%65n=a'",
            "connect_auth = { token_env = 'T', token_as = 'query' }",
            "4:11: `producer.connect` has a `token` in its query, and [producer.connect_auth] would add another; hint: take one of the two out",
        ),
        (
            "stdio",
            "connect = 'ws://x'",
            "connect_auth = { token_env = 'T', token_as = 'cookie' }",
            "5:46: `producer.connect_auth.token_as` cannot be \"cookie\"; hint: write one of \"header\", \"query\", \"subprotocol\"",
        ),
    ] {
        assert_eq!(said(listen, peer, lines), [words], "{lines}");
    }
    assert!(said("stdio", "connect = 'ws://x?token=a'", "").is_empty(), "the user's own business");
}

#[test]
fn origins_are_kept_as_browsers_write_them() {
    let list = "['HTTPS://App.Example:443/', 'http://localhost:5173', 'moz-extension://ab-1']";
    let text = format!("{}listen_auth.origins = {list}\n", LEAST.replace("stdio", "ws://127.0.0.1:1"));
    let config = read(&text).unwrap().config;
    let auth = config.producers[0].listen_auth.as_ref().unwrap();
    assert_eq!(auth.origins, ["https://app.example", "http://localhost:5173", "moz-extension://ab-1"]);
    for none in ["null", "*", "https://", "https://a/b", "https://a?", "https://a#b", "https://u@a", "data:x"]
    {
        let said = said("ws://127.0.0.1:1", SPAWN, &format!("listen_auth.origins = ['{none}']"));
        assert!(said.len() == 1 && said[0].contains("is no origin"), "{none}: {said:?}");
    }
}

#[test]
fn two_producers_share_a_websocket_address_by_their_paths() {
    let two = |a: &str, tls_a: &str, b: &str, tls_b: &str| {
        let one =
            |name, listen, tls| format!("[[producer]]\nname='{name}'\nlisten='{listen}'\n{SPAWN}\n{tls}\n");
        read(&(one("a", a, tls_a) + &one("b", b, tls_b))).err().map_or_else(String::new, |e| e.to_string())
    };
    assert_eq!(two("ws://127.0.0.1:1/a", "", "ws://127.0.0.1:1/b", ""), "");
    assert_eq!(two("wss://127.0.0.1:1/a", TLS, "wss://127.0.0.1:1/b", TLS), "");
    let taken = |said: String| said.contains(":8:8: `producer.listen`");
    assert!(taken(two("ws://127.0.0.1:1/a", "", "ws://127.0.0.1:1/a?v=2", "")), "one path twice");
    assert!(taken(two("ws://127.0.0.1:1", "", "ws://127.0.0.1:1/", "")), "one path, spelled twice");
    assert!(two("ws://127.0.0.1:1/a", "", "tcp://127.0.0.1:1", "").contains("listened to already"));
    assert!(two("tcp://127.0.0.1:1", "", "ws://127.0.0.1:1/a", "").contains("listened to already"));
    let said = two("wss://127.0.0.1:1/a", TLS, "ws://127.0.0.1:1/b", "");
    assert!(said.contains("listened to already by another producer with wss://"), "{said}");
    let other = TLS.replace('c', "d");
    let said = two("wss://127.0.0.1:1/a", TLS, "wss://127.0.0.1:1/b", &other);
    assert_eq!(said.matches("with unlike `listen_tls`").count(), 2, "{said}");
    assert!(said.contains(":5:") && said.contains(":10:"), "at both tables: {said}");
}

#[test]
fn a_token_in_an_address_is_not_printed() {
    let text = LEAST.replace("command = [\"prog\"]", "connect = 'wss://x/?world=abc&token=hush'");
    let printed = read(&text).unwrap().effective();
    assert!(printed.contains("connect = \"wss://x/?world=abc&token=***\"\n"), "{printed}");
}
