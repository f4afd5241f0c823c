//! Every kind of error, word for word.

use super::*;

/// What is said of a file, without the file's name.
fn said(text: &str) -> Vec<String> {
    let errors = read(text).map(|l| l.config).unwrap_err().to_string();
    errors
        .lines()
        .map(|l| l.strip_prefix(FILE).and_then(|l| l.strip_prefix(':')).unwrap_or(l).to_owned())
        .collect()
}

/// A sound file with one more line at the end of its producer.
fn with(line: &str) -> Vec<String> {
    said(&format!("{LEAST}{line}\n"))
}

#[test]
fn many_errors_are_all_shown_in_the_order_of_the_file() {
    let text = r#"statedir = "x"
[telemetry]
log = "loud"
[[producer]]
name = "One"
listen = "http://127.0.0.1:1"
command = "prog"
env = { TOKEN = "${NO_SUCH}" }
expires_after_ms = -1
[producer.coalesce]
quite_ms = 5
  position = "middle"
retry_window_ms = 1000
while_busy = "yes"
[producer.limits]
in_flight = 0
[[producer.refusals.rule]]
message = "(x"
"#;
    let said = said(text);
    let places: Vec<&str> = said.iter().map(|l| l.split(": ").next().unwrap()).collect();
    assert_eq!(
        places,
        [
            "1:1", "3:7", "5:8", "6:10", "7:11", "8:17", "9:20", "11:1", "12:14", "13:19", "14:14", "16:13",
            "17:1", "18:12"
        ],
        "{said:#?}"
    );
    assert!(said.iter().all(|l| l.split("; hint: ").nth(1).is_some_and(|h| !h.is_empty())), "{said:#?}");
}

#[test]
fn each_kind_of_error_has_its_words() {
    let r = "[[producer.refusals.rule]]\n";
    for (line, words) in [
        (
            "quiet_ms = 5",
            "5:1: unknown key `quiet_ms` in [[producer]]; hint: it belongs in [producer.coalesce]",
        ),
        (
            "coalesce.quite_ms = 5",
            "5:10: unknown key `quite_ms` in [producer.coalesce]; hint: did you mean `quiet_ms`?",
        ),
        (
            "state_dir = 'x'",
            "5:1: unknown key `state_dir` in [[producer]]; hint: it belongs before the first table",
        ),
        (
            "refusals.zzz = 1",
            "5:10: unknown key `zzz` in [producer.refusals]; hint: the keys here are retry_after_ms, rule",
        ),
        (
            "\"a\\nb\" = 1",
            "5:1: unknown key `a\\nb` in [[producer]]; hint: the keys here are name, listen, command, connect, env, cwd, expires_after_ms, connect_timeout_ms, undelivered, preset, listen_tls, listen_auth, connect_tls, connect_auth, host, coalesce, forward, limits, refusals, subject",
        ),
        (
            "forward.uncoalesced = 'keep'",
            "5:23: `producer.forward.uncoalesced` cannot be \"keep\"; hint: write one of \"pass\", \"store\"",
        ),
        ("cwd = 1", "5:7: `producer.cwd` must be a string, not an integer; hint: put the value in quotes"),
        (
            "expires_after_ms = '5s'",
            "5:20: `producer.expires_after_ms` must be an integer, not a string; hint: write milliseconds as a plain integer, such as 1500",
        ),
        (
            "expires_after_ms = 1.5",
            "5:20: `producer.expires_after_ms` must be an integer, not a float; hint: write milliseconds as a plain integer, such as 1500",
        ),
        (
            "limits.max_message_bytes = '1M'",
            "5:28: `producer.limits.max_message_bytes` must be an integer, not a string; hint: write bytes as a plain integer, such as 1048576",
        ),
        (
            "limits.in_flight = true",
            "5:20: `producer.limits.in_flight` must be an integer, not a boolean; hint: write a plain integer, without quotes or a fraction",
        ),
        (
            "limits.rate_per_s = '1'",
            "5:21: `producer.limits.rate_per_s` must be a number, not a string; hint: write a plain number, such as 10 or 0.5",
        ),
        (
            "coalesce.initial = 1",
            "5:20: `producer.coalesce.initial` must be a boolean, not an integer; hint: write true or false, without quotes",
        ),
        (
            "coalesce.mode = 1",
            "5:17: `producer.coalesce.mode` must be a string, not an integer; hint: write one of \"auto\", \"always\", \"off\", \"observe\"",
        ),
        (
            "coalesce.urgent_tags = 'x'",
            "5:24: `producer.coalesce.urgent_tags` must be an array of strings, not a string; hint: write [\"…\", \"…\"]",
        ),
        (
            "coalesce.urgent_tags = ['x', 1]",
            "5:30: `producer.coalesce.urgent_tags[1]` must be a string, not an integer; hint: put the value in quotes",
        ),
        (
            "env = 'x'",
            "5:7: `producer.env` must be a table of strings, not a string; hint: write { NAME = \"value\" }",
        ),
        (
            "env = { A = 1 }",
            "5:13: `producer.env.A` must be a string, not an integer; hint: put the value in quotes",
        ),
        (
            "env = { 'A=B' = 'x' }",
            "5:9: `producer.env.A=B` is no name of a variable; hint: a variable's name is not empty and has no `=`",
        ),
        (
            "coalesce = 'x'",
            "5:12: `producer.coalesce` must be a table, not a string; hint: write [producer.coalesce]",
        ),
        (
            "refusals.rule = 1979-05-27",
            "5:17: `producer.refusals.rule` must be an array of tables, not a date or time; hint: write [[producer.refusals.rule]]",
        ),
        (
            "host.dedup = 'event_id'",
            "5:14: `producer.host.dedup` cannot be \"event_id\"; hint: write one of \"none\", \"push\", \"both\"",
        ),
        (
            "host.in_doubt = 'rsend'",
            "5:17: `producer.host.in_doubt` cannot be \"rsend\"; hint: did you mean \"resend\"? write one of \"hold\", \"resend\"",
        ),
        (
            "coalesce.mode = '${SECRET}'",
            "5:17: `producer.coalesce.mode` cannot be \"${SECRET}\"; hint: write one of \"auto\", \"always\", \"off\", \"observe\"",
        ),
        (
            "host.policy_wait_ms = -1",
            "5:23: `producer.host.policy_wait_ms` = -1 may not be negative; hint: write 0 to 315360000000",
        ),
        (
            "coalesce.retry_window_ms = 3599999",
            "5:28: `producer.coalesce.retry_window_ms` = 3599999 is too small; hint: write 3600000 (an hour) to 315360000000",
        ),
        (
            "limits.burst = 99999999999999999999",
            "5:16: `producer.limits.burst` = 99999999999999999999 is too large; hint: write 0 to 1000000000",
        ),
        (
            "limits.rate_per_s = -0.5",
            "5:21: `producer.limits.rate_per_s` may not be negative; hint: write 0 (unlimited) or 0.000001 to 1000000",
        ),
        (
            "limits.rate_per_s = nan",
            "5:21: `producer.limits.rate_per_s` is not a number; hint: write 0 (unlimited) or 0.000001 to 1000000",
        ),
        (
            "limits.rate_per_s = inf",
            "5:21: `producer.limits.rate_per_s` is too large; hint: write 0 (unlimited) or 0.000001 to 1000000",
        ),
        (
            "limits.rate_per_s = 1e-9",
            "5:21: `producer.limits.rate_per_s` is too small; hint: write 0 (unlimited) or 0.000001 to 1000000",
        ),
        (
            "cwd = '${NO_SUCH}'",
            "5:7: `producer.cwd`: the environment variable NO_SUCH is not set; hint: set NO_SUCH, or write the value into the file",
        ),
        (
            "cwd = '${NO'",
            "5:7: `producer.cwd`: `${` without its `}`; hint: write `${NAME}`, or `$${` for a literal `${`",
        ),
        ("cwd = ''", "5:7: `producer.cwd` is empty; hint: write a path, `.` for the folder of this file"),
        ("cwd = \"\\u0000\"", "5:7: `producer.cwd` holds a NUL character; hint: take it out"),
        (
            "connect = 'tcp://x:1'",
            "5:11: `producer.command` and `producer.connect` exclude each other; hint: take one of the two out",
        ),
        (
            &format!("{r}code = 1"),
            "5:1: `producer.refusals.rule.refusal` is missing; hint: write refusal = \"unavailable\" or another kind",
        ),
        (
            &format!("{r}refusal = ''"),
            "6:11: `producer.refusals.rule.refusal` cannot be \"\"; hint: write a word of 1 to 64 bytes, such as \"unavailable\"",
        ),
        (
            &format!("{r}refusal = 'x'\nlimit_bytes = 1"),
            "7:15: `producer.refusals.rule.limit_bytes` goes with refusal = \"too_large\" only; hint: take it out, or make the refusal \"too_large\"",
        ),
        (
            &format!("{r}refusal = 'invalid'\nretry_after_ms = 1"),
            "7:18: `producer.refusals.rule.retry_after_ms` never goes with refusal = \"invalid\"; hint: take it out, or make the refusal \"unavailable\"",
        ),
        (
            &format!("{r}refusal = 'x'\nmethod = 'push'"),
            "7:10: `producer.refusals.rule.method` cannot be \"push\"; hint: write one of \"push/event\", \"channels/incoming\"",
        ),
        (
            &format!("{r}refusal = 'x'\nmessage = 'ab(c'"),
            "7:14: `producer.refusals.rule.message` is no regular expression at its character 3: unclosed group; hint: see docs.rs/regex for the syntax; '…' in single quotes needs no doubled backslashes",
        ),
        (
            &format!("{r}refusal = 'x'\nreason = \"a\\\\d(\""),
            "7:10: `producer.refusals.rule.reason` is no regular expression at its character 4: unclosed group; hint: see docs.rs/regex for the syntax; '…' in single quotes needs no doubled backslashes",
        ),
        (
            &format!("{r}refusal = 'x'\nreason = '${{SECRET}}['"),
            "7:10: `producer.refusals.rule.reason` is no regular expression: unclosed character class; hint: see docs.rs/regex for the syntax; '…' in single quotes needs no doubled backslashes",
        ),
        (
            &format!("{r}refusal = 'x'\nreason = '((a{{999}}){{999}}){{999}}'"),
            "7:10: `producer.refusals.rule.reason` is no regular expression: it needs more than 10485760 bytes once compiled; hint: see docs.rs/regex for the syntax; '…' in single quotes needs no doubled backslashes",
        ),
    ] {
        assert_eq!(with(line), [words], "{line}");
    }
}

#[test]
fn each_kind_of_error_of_a_whole_file_has_its_words() {
    let no_producer =
        "1:1: there is no [[producer]]; hint: add one: [[producer]] with name, listen and command or connect";
    let second = |listen: &str| {
        format!("{LEAST}[[producer]]\nname = \"two\"\nlisten = \"{listen}\"\ncommand = [\"x\"]\n")
    };
    for (text, words) in [
        (String::new(), vec![no_producer]),
        (
            "producer = []".to_owned(),
            vec![
                "1:12: `producer` is empty; hint: add a [[producer]] with name, listen and command or connect",
            ],
        ),
        (
            "producer = [1]".to_owned(),
            vec!["1:13: `producer` must be an array of tables, not an integer; hint: write [[producer]]"],
        ),
        (
            "[producer]\nname = 'x'".to_owned(),
            vec!["1:1: `producer` must be an array of tables, not a table; hint: write [[producer]]"],
        ),
        (
            "[[producer]]".to_owned(),
            vec![
                "1:1: `producer.name` is missing; hint: write name = \"…\": a-z, 0-9, `.`, `_`, `-`",
                "1:1: `producer.listen` is missing; hint: write `stdio`, `tcp://HOST:PORT`, `ws://HOST:PORT` or `wss://HOST:PORT`",
                "1:1: neither `producer.command` nor `producer.connect` is there; hint: write command = [\"program\"] to spawn it, or connect = \"tcp://HOST:PORT\" to dial it",
            ],
        ),
        (
            LEAST.replace("main", "Main"),
            vec![
                "2:8: `producer.name` cannot be \"Main\"; hint: 1 to 64 of a-z, 0-9, `.`, `_`, `-`, a letter or digit first",
            ],
        ),
        (
            LEAST.replace("command = [\"prog\"]", "connect = \"wss://u:hush/h@x/a?token=hush&hush#hush\""),
            vec![
                "4:11: `producer.connect` = \"wss://***@x/a?token=***&***#***\" is no address: a fragment (`#…`) may not be in an address; hint: write `tcp://HOST:PORT`, `ws://HOST…`, `wss://HOST…` or `mcpl://HOST…`",
            ],
        ),
        (
            format!("{LEAST}[telemetry]\notlp_endpoint = 'http://u:hush@x:1'"),
            vec![
                "6:17: `telemetry.otlp_endpoint` = \"http://***@x:1\": a user or password may not be in it; use OTEL_EXPORTER_OTLP_HEADERS; hint: write http://HOST:PORT or https://HOST:PORT",
            ],
        ),
        (
            LEAST.replace("stdio", "http://x:1"),
            vec![
                "3:10: `producer.listen` = \"http://x:1\" is no address: that scheme is not taken here; hint: write `stdio`, `tcp://HOST:PORT`, `ws://HOST:PORT` or `wss://HOST:PORT`",
            ],
        ),
        (
            LEAST.replace("command = [\"prog\"]", "connect = \"tcp://x:${SECRET}\""),
            vec![
                "4:11: `producer.connect` = \"tcp://x:${SECRET}\" is no address: the port is no number; hint: write `tcp://HOST:PORT`, `ws://HOST…`, `wss://HOST…` or `mcpl://HOST…`",
            ],
        ),
        (
            LEAST.replace("[\"prog\"]", "[]"),
            vec![
                "4:11: `producer.command` names no program; hint: write command = [\"program\", \"argument\"]",
            ],
        ),
        (
            second("stdio"),
            vec![
                "7:10: `producer.listen` = \"stdio\" is listened to already by another producer; hint: only one producer can have our stdin and stdout: give the other a tcp:// address",
            ],
        ),
        (
            second("tcp://127.0.0.1:1").replace("stdio", "tcp://127.0.0.1:1"),
            vec![
                "7:10: `producer.listen` = \"tcp://127.0.0.1:1\" is listened to already by another producer; hint: give each listener an address of its own",
            ],
        ),
        (
            second("tcp://127.0.0.1:1").replace("two", "main"),
            vec!["6:8: two producers are named \"main\"; hint: give each [[producer]] a name of its own"],
        ),
        (
            format!("max_journal_bytes = 1048575\njournal_wait_ms = 60001\n{LEAST}"),
            vec![
                "1:21: `max_journal_bytes` = 1048575 is too small; hint: write 1048576 to 1099511627776",
                "2:19: `journal_wait_ms` = 60001 is too large; hint: write 0 to 60000",
            ],
        ),
        (
            format!("{LEAST}[admin]\nlisten = '0.0.0.0:1'"),
            vec![
                "6:10: `admin.listen` = \"0.0.0.0:1\" is not a loopback address, and there is no `admin.token_file`; hint: add token_file = \"admin.token\", or listen on 127.0.0.1",
            ],
        ),
        (
            format!("{LEAST}[admin]\nlisten = '127.0.0.1'"),
            vec![
                "6:10: `admin.listen` = \"127.0.0.1\" is no address: the port is missing; hint: write ADDRESS:PORT, such as 127.0.0.1:9464",
            ],
        ),
        (
            format!("{LEAST}[admin]"),
            vec!["5:1: `admin.listen` is missing; hint: write ADDRESS:PORT, such as 127.0.0.1:9464"],
        ),
        (
            format!("{}[admin]\nlisten = '127.0.0.1:1'", LEAST.replace("stdio", "tcp://127.0.0.1:1")),
            vec![
                "3:10: `producer.listen` = \"tcp://127.0.0.1:1\" is listened to already by the admin listener; hint: give each listener an address of its own",
            ],
        ),
        (
            format!("{LEAST}[telemetry]\notlp_endpoint = '127.0.0.1:4317'"),
            vec![
                "6:17: `telemetry.otlp_endpoint` = \"127.0.0.1:4317\": it is no http:// or https:// URL; hint: write http://HOST:PORT or https://HOST:PORT",
            ],
        ),
        (
            format!("{LEAST}[telemetry]\notlp_endpoint = 'http://${{SECRET}}@x'"),
            vec![
                "6:17: `telemetry.otlp_endpoint` = \"http://***@x\": a user or password may not be in it; use OTEL_EXPORTER_OTLP_HEADERS; hint: write http://HOST:PORT or https://HOST:PORT",
            ],
        ),
        (
            format!("{LEAST}broken = = 1\nmore = = 2"),
            vec!["5:10: this is not TOML: extra `=`, expected nothing; hint: see toml.io for the syntax"],
        ),
        (
            format!("{LEAST}name = 'again'"),
            vec!["5:1: this is not TOML: duplicate key; hint: see toml.io for the syntax"],
        ),
        (
            "# ü\nü = 1".to_owned(),
            vec![
                "2:1: this is not TOML: invalid unquoted key, expected letters, numbers, `-`, `_`; hint: see toml.io for the syntax",
            ],
        ),
        (
            format!("a = {}", "[".repeat(100_000)),
            vec![
                "1:85: this is not TOML: cannot recurse further; max recursion depth met; hint: see toml.io for the syntax",
            ],
        ),
    ] {
        assert_eq!(said(&text), words, "{text}");
    }
}

#[test]
fn without_a_place_for_state_one_has_to_be_named() {
    let text = LEAST.replace("command", "cwd = '.'\ncommand");
    let errors = parse(Purpose::Run, Path::new(FILE), &text, &|_| None).unwrap_err();
    assert_eq!(errors.problems().len(), 1);
    assert!(errors.to_string().contains("1:1: `state_dir` has no default here"), "{errors}");
    assert!(parse(Purpose::Run, Path::new(FILE), &format!("state_dir = 'x'\n{text}"), &|_| None).is_ok());
}

#[test]
fn columns_count_characters() {
    assert!(with("cwd = 'é'; # no")[0].starts_with("5:10: "));
    assert!(with("env = { 'é' = 1 }")[0].starts_with("5:15: "), "{:?}", with("env = { 'é' = 1 }"));
}

#[test]
fn a_hundred_errors_are_shown_and_the_rest_counted() {
    let more: Vec<String> = (0..150).map(|n| format!("zzz{n} = 1\n")).collect();
    let said = said(&format!("{LEAST}{}", more.concat()));
    assert_eq!(said.len(), SHOWN + 1);
    assert_eq!(said[SHOWN], " 50 more errors; hint: correct those above first");
    assert!(said[99].starts_with("104:1: "), "{}", said[99]);
}

#[test]
fn addresses_that_cannot_collide_are_no_errors() {
    let two = |a: &str, b: &str| {
        let text = format!(
            "{}[[producer]]\nname = \"two\"\nlisten = \"{b}\"\ncommand = [\"x\"]\n",
            LEAST.replace("stdio", a)
        );
        read(&text).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(two("tcp://127.0.0.1:0", "tcp://127.0.0.1:0"), Ok(()), "any free port");
    assert_eq!(two("tcp://127.0.0.1:1", "tcp://127.0.0.1:2"), Ok(()));
    assert_eq!(two("stdio", "ws://127.0.0.1:1"), Ok(()));
}

#[test]
fn env_and_cwd_go_with_connect_without_meaning_anything() {
    let text =
        LEAST.replace("command = [\"prog\"]", "connect = \"tcp://x:1\"\ncwd = \"x\"\nenv = { A = \"b\" }");
    let printed = read(&text).unwrap().effective();
    assert!(printed.contains("env = { \"A\" = \"***\" }"), "{printed}");
}
