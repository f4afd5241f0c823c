//! What a file comes to, and everything that can be wrong with one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::*;

mod agree;
mod faults;
mod reach;
mod subjects;

const FILE: &str = "/etc/mcpl/sidecar.toml";

fn env(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/op".to_owned()),
        "SECRET" => Some("hush-7731".to_owned()),
        "PORT" => Some("7001".to_owned()),
        _ => None,
    }
}

fn read(text: &str) -> Result<Loaded, Errors> {
    parse(Purpose::Run, Path::new(FILE), text, &env)
}

const LEAST: &str = "[[producer]]\nname = \"main\"\nlisten = \"stdio\"\ncommand = [\"prog\"]\n";

/// The sample of the contract: every key, each with the value it has by default where it has one.
const WHOLE: &str = r#"
state_dir = "state"
max_journal_bytes = 2147483648
max_dead_letters = 10000
journal_wait_ms = 250
drain_ms = 10000
[admin]
listen = "127.0.0.1:9464"
token_file = "admin.token"
show_content = false
[admin.tls]
cert_file = "tls.crt"
key_file = "tls.key"
client_ca_file = "clients.crt"
client_names = ["spiffe://x/ops"]
[telemetry]
otlp_endpoint = "http://127.0.0.1:4317"
log = "info"
log_format = "text"
[[producer]]
name = "discord"
listen = "tcp://127.0.0.1:7000"
command = ["node", "discord.js", "--stdio"]
env = { DISCORD_TOKEN = "${SECRET}" }
cwd = "."
expires_after_ms = 0
connect_timeout_ms = 30000
undelivered = false
preset = "heartbeat-mcpl"
[producer.host]
profile = "generic"
dedup = "push"
in_doubt = "hold"
policy_wait_ms = 10000
shims = []
[producer.coalesce]
mode = "auto"
quiet_ms = 1500
max_hold_ms = 5000
while_busy = true
busy_max_ms = 120000
urgent_tags = ["chat:addressed"]
position = "auto"
initial = true
max_subjects = 65536
max_held_bytes = 67108864
retry_window_ms = 3600000
render_timeout_ms = 5000
[producer.forward]
uncoalesced = "pass"
[producer.limits]
rate_per_s = 0
burst = 0
channel_rate_per_s = 0
channel_burst = 0
forward_rate_per_s = 0
in_flight = 64
max_content_bytes = 1048576
max_message_bytes = 67108864
[producer.refusals]
retry_after_ms = 1000
[[producer.refusals.rule]]
code = -32000
message = "(?i)shutting down"
refusal = "unavailable"
retryable = true
retry_after_ms = 5000
[[producer.refusals.rule]]
reason = "big"
method = "channels/incoming"
refusal = "too_large"
limit_bytes = 9
[[producer.subject]]
method = "push/event"
event_id = '^discord_(msg|edit)_(?<id>\d+)'
message_id = "x"
feature_set = "chat"
channel = "^c"
tags_any = ["a"]
tags_none = ["b"]
key = "message:{id}"
scope = "messages"
initial = false
retract = false
distinct = true
[[producer]]
name = "far"
listen = "wss://0.0.0.0:8443/far?v=1"
connect = "mcpl://Example.org?world=abc"
host.dedup = "push"
[producer.listen_tls]
cert_file = "tls.crt"
key_file = "tls.key"
client_ca_file = "clients.crt"
client_names = ["host.example"]
[producer.listen_auth]
token_file = "host.token"
origins = ["https://app.example"]
[producer.connect_tls]
ca_file = "ca.crt"
cert_file = "me.crt"
key_file = "me.key"
server_name = "discord.internal"
[producer.connect_auth]
token_env = "PRODUCER_TOKEN"
token_as = "subprotocol"
"#;

#[test]
fn a_file_that_says_next_to_nothing_has_the_documented_defaults() {
    let config = read(LEAST).unwrap().config;
    let whole = read(WHOLE).unwrap().config;
    let (least, whole) = (&config.producers[0], &whole.producers[0]);
    assert_eq!(least.host, Host { dedup: None, ..whole.host.clone() });
    assert_eq!(least.coalesce, whole.coalesce);
    assert_eq!((&least.limits, &least.forward), (&whole.limits, &whole.forward));
    assert_eq!(least.forward.uncoalesced, Uncoalesced::Pass);
    assert_eq!((least.expires_after_ms, least.connect_timeout_ms), (0, 30_000));
    assert_eq!(least.refusals, Refusals { retry_after_ms: 1000, rules: Vec::new() });
    assert_eq!(config.state_dir, Path::new("/home/op/.local/state/mcpl-sidecar"));
    assert_eq!(
        (config.max_journal_bytes, config.max_dead_letters, config.journal_wait_ms),
        (2 << 30, 10_000, 250)
    );
    assert_eq!(config.drain_ms, 10_000);
    assert!(least.listen_tls.is_none() && least.listen_auth.is_none());
    assert!(least.connect_tls.is_none() && least.connect_auth.is_none());
    assert_eq!(config.admin, None);
    assert_eq!(
        config.telemetry,
        Telemetry { otlp_endpoint: None, log: LogLevel::Info, log_format: LogFormat::Text }
    );
}

#[test]
fn every_key_is_read() {
    let config = read(WHOLE).unwrap().config;
    assert_eq!(config.state_dir, Path::new("/etc/mcpl/state"));
    let admin = config.admin.unwrap();
    assert_eq!(
        (admin.listen.to_string(), admin.token_file),
        ("127.0.0.1:9464".to_owned(), Some(PathBuf::from("/etc/mcpl/admin.token")))
    );
    assert!(!admin.show_content);
    let shown = WHOLE.replace("show_content = false", "show_content = true");
    assert!(read(&shown).unwrap().config.admin.unwrap().show_content);
    assert_eq!(config.telemetry.otlp_endpoint.as_deref(), Some("http://127.0.0.1:4317"));
    let producer = &config.producers[0];
    let Peer::Command(command) = &producer.peer else { panic!("{:?}", producer.peer) };
    assert_eq!(command.argv, ["node", "discord.js", "--stdio"].map(OsString::from));
    assert_eq!(command.env, [("DISCORD_TOKEN".to_owned(), "hush-7731".to_owned())]);
    assert_eq!(command.cwd.as_deref(), Some(Path::new("/etc/mcpl")));
    assert!(matches!(&producer.listen, Listen::On(e) if e.to_string() == "tcp://127.0.0.1:7000"));
    let [first, second] = &producer.refusals.rules[..] else { panic!() };
    assert_eq!(
        (first.code, first.retryable, first.retry_after_ms, first.limit_bytes),
        (Some(-32000), Some(true), Some(5000), None)
    );
    assert!(first.message.as_ref().unwrap().is_match("is Shutting Down now"));
    assert_eq!(
        (second.method.as_deref(), second.limit_bytes, second.retryable),
        (Some("channels/incoming"), Some(9), None)
    );
}

#[test]
fn the_journals_keys_are_read() {
    let text = format!(
        "max_journal_bytes = 1048576\nmax_dead_letters = 0\njournal_wait_ms = 0\n{LEAST}forward.uncoalesced = 'store'\n"
    );
    let config = read(&text).unwrap().config;
    assert_eq!((config.max_journal_bytes, config.max_dead_letters, config.journal_wait_ms), (1 << 20, 0, 0));
    assert_eq!(config.producers[0].forward.uncoalesced, Uncoalesced::Store);
}

#[test]
fn a_variable_stands_for_its_value_in_any_string() {
    let text = "[[producer]]\nname = \"main\"\nlisten = \"stdio\"\nconnect = \"tcp://127.0.0.1:${PORT}\"\n";
    let config = read(text).unwrap().config;
    assert!(matches!(&config.producers[0].peer, Peer::Connect(e) if e.at.port == 7001));
}

#[test]
fn wrap_needs_no_addresses_and_resends_what_is_in_doubt() {
    let text = "[[producer]]\nname = \"main\"\n";
    assert!(read(text).is_err());
    let wrap = |text| parse(Purpose::Wrap, Path::new(FILE), text, &env).unwrap();
    let loaded = wrap(text);
    assert_eq!(loaded.config.producers[0].host.in_doubt, InDoubt::Resend);
    assert!(loaded.effective().contains("in_doubt = \"resend\""));
    let held = wrap("[[producer]]\nname = \"main\"\nhost.in_doubt = \"hold\"\n");
    assert_eq!(held.config.producers[0].host.in_doubt, InDoubt::Hold);
    let (producer, telemetry) = defaults("main");
    assert_eq!((&producer, &telemetry), (&loaded.config.producers[0], &loaded.config.telemetry));
    assert_eq!(bare("main", loaded.config.state_dir.clone()), loaded.config);
}

#[test]
fn the_effective_configuration_reads_back_as_the_same() {
    for text in [LEAST, &WHOLE.replace("${SECRET}", "***")] {
        let loaded = read(text).unwrap();
        let printed = loaded.effective();
        let again = read(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        let mut config = loaded.config.clone();
        // By profile and said so is the same as said.
        config.producers[0].host.dedup = Some(Dedup::Push);
        assert_eq!(again.config, config, "{printed}");
        assert_eq!(again.effective(), printed);
    }
}

#[test]
fn every_key_with_a_default_is_in_the_effective_configuration() {
    let printed = read(LEAST).unwrap().effective();
    let printed: toml::Table = printed.parse().unwrap();
    let producer = printed["producer"][0].as_table().unwrap();
    assert_eq!(producer["coalesce"]["busy_max_ms"].as_integer(), Some(120_000));
    assert_eq!(producer["limits"]["rate_per_s"].as_float(), Some(0.0));
    let whole: toml::Table = WHOLE.parse().unwrap();
    for (name, table) in whole["producer"][0].as_table().unwrap() {
        let Some(table) = table.as_table().filter(|_| name != "env") else { continue };
        for key in table.keys().filter(|key| *key != "rule") {
            assert!(producer[name].get(key).is_some(), "{name}.{key}");
        }
    }
}

#[test]
fn the_default_of_dedup_is_the_profiles() {
    for (profile, line) in [
        ("generic", "\ndedup = \"push\"\n"),
        ("cc-bridge", "\ndedup = \"none\"\n"),
        ("agent-framework", "\n# dedup: by the host's version: \"both\" from 0.5, \"push\" before\n"),
    ] {
        let loaded = read(&format!("{LEAST}host.profile = \"{profile}\"\n")).unwrap();
        assert_eq!(loaded.config.producers[0].host.dedup, None);
        assert!(loaded.effective().contains(line), "{profile}");
    }
}

#[test]
fn no_secret_is_printed() {
    let text = "state_dir = \"/x/${SECRET}\"\n[[producer]]\nname = \"main\"\nlisten = \"stdio\"\n\
                command = [\"prog\", \"--token=${SECRET}\"]\ncwd = \"${SECRET}\"\n\
                env = { TOKEN = \"${SECRET}\", PLAIN = \"also-hidden\", \"a.b\" = \"hidden-too\" }\n\
                [[producer.refusals.rule]]\nmessage = \"${SECRET}\"\nrefusal = \"x\"\n";
    let loaded = read(text).unwrap();
    let printed = loaded.effective();
    let debug = format!("{:?}", loaded.config);
    for hidden in ["also-hidden", "hidden-too"] {
        assert!(!printed.contains(hidden) && !debug.contains(hidden), "{printed}\n{debug}");
    }
    assert!(!printed.contains("hush") && !format!("{:?}", loaded.config.producers).contains("hush"));
    let table: toml::Table = printed.parse().unwrap();
    let producer = &table["producer"][0];
    assert_eq!(producer["env"]["TOKEN"].as_str(), Some("***"));
    assert_eq!(producer["env"]["a.b"].as_str(), Some("***"));
    assert_eq!(producer["command"][1].as_str(), Some("--token=${SECRET}"), "as it is written");
    assert_eq!(table["state_dir"].as_str(), Some("/x/${SECRET}"));
}

#[test]
fn a_literal_that_looks_like_a_variable_stays_one() {
    let text = "state_dir = \"/x/$${A}\"\n".to_owned() + LEAST;
    let loaded = read(&text).unwrap();
    assert_eq!(loaded.config.state_dir, Path::new("/x/${A}"));
    assert_eq!(read(&loaded.effective()).unwrap().config.state_dir, Path::new("/x/${A}"));
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_no_errors() {
    read(&format!("\u{feff}{}", LEAST.replace('\n', "\r\n"))).unwrap();
}

#[test]
fn load_reads_a_file_and_says_why_it_cannot() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("sidecar.toml");
    let said = load(&path, &env).unwrap_err().to_string();
    assert!(
        said.contains("sidecar.toml:1:1: the file cannot be read: No such file") && said.contains("; hint: "),
        "{said}"
    );
    std::fs::write(&path, format!("state_dir = 'state'\n{LEAST}")).unwrap();
    assert_eq!(load(&path, &env).unwrap().state_dir, tmp.path().join("state"));
    std::fs::write(&path, b"# ok\nname = \"\xff\"\n").unwrap();
    let said = load(&path, &env).unwrap_err().to_string();
    assert!(said.contains("sidecar.toml:2:9: this is not TOML"), "{said}");
    std::fs::write(&path, vec![b'#'; LARGEST_FILE_BYTES as usize + 1]).unwrap();
    assert!(load(&path, &env).unwrap_err().to_string().contains("larger than"));
    assert!(load(tmp.path(), &env).is_err(), "a folder");
}
