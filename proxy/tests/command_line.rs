//! The binary's command line: exit codes, where output goes, what `check`, `schema` and `classify` print.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const LEAST: &str = "state_dir = 'state'\n[[producer]]\nname = 'main'\nlisten = 'tcp://127.0.0.1:0'\nconnect = 'tcp://127.0.0.1:9'\n";

fn sidecar(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpl-sidecar"));
    command.args(args).stdin(Stdio::null()).env("RUST_LOG", "trace");
    command
}

fn ran(args: &[&str]) -> (i32, String, String) {
    told(sidecar(args).output().unwrap())
}

fn told(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn written(folder: &Path, text: &str) -> String {
    let path = folder.join("sidecar.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn usage_errors_are_64_and_say_nothing_on_stdout() {
    for args in [
        &[][..],
        &["frobnicate"],
        &["run"],
        &["run", "--no-such-flag"],
        &["check"],
        &["wrap"],
        &["wrap", "--"],
        &["wrap", "--name", "No Name", "--", "true"],
        &["wrap", "--nmae", "x", "--", "true"],
        &["classify", "--method", "tools/call"],
        &["classify", "--producer", "main"],
    ] {
        let (code, out, err) = ran(args);
        assert_eq!((code, out.as_str()), (64, ""), "{args:?}: {err}");
        assert!(!err.is_empty(), "{args:?}");
    }
}

#[test]
fn help_and_version_are_0_and_on_stdout() {
    for args in [
        &["--help"][..],
        &["--version"],
        &["run", "--help"],
        &["wrap", "-h"],
        &["wrap", "--help"],
        &["check", "--help"],
    ] {
        let (code, out, err) = ran(args);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        assert!(args.contains(&"-h") || args.contains(&"--version") || out.contains("Examples:"), "{out}");
    }
    assert_eq!(ran(&["--version"]).1.trim(), format!("mcpl-sidecar {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn check_prints_the_effective_configuration() {
    let tmp = tempfile::tempdir().unwrap();
    let (code, out, err) = ran(&["check", "--config", &written(tmp.path(), LEAST)]);
    assert_eq!((code, err.as_str()), (0, ""));
    let table: toml::Table = out.parse().unwrap();
    assert_eq!(table["producer"][0]["limits"]["in_flight"].as_integer(), Some(64));
    assert!(!tmp.path().join("state").exists(), "check touches nothing");
}

#[test]
fn configuration_errors_are_78_and_all_on_stderr() {
    let tmp = tempfile::tempdir().unwrap();
    let path = written(tmp.path(), &format!("{LEAST}coalesce.quite_ms = 5\nexpires_after_ms = -1\n"));
    for args in [
        &["check", "--config", &path][..],
        &["run", "--config", &path],
        &["wrap", "--config", &path, "--", "true"],
        &["classify", "--config", &path],
    ] {
        let (code, out, err) = ran(args);
        assert_eq!((code, out.as_str()), (78, ""), "{args:?}");
        assert_eq!(err.lines().count(), 2, "{err}");
        assert!(
            err.contains(&format!("{path}:6:10: unknown key `quite_ms`")) && err.contains("; hint: "),
            "{err}"
        );
    }
    assert_eq!(ran(&["run", "--config", "/no/such/file.toml"]).0, 78);
}

#[test]
fn the_schema_is_json() {
    let (code, out, _) = ran(&["schema"]);
    let schema: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 0);
    assert!(schema["properties"]["producer"].is_object());
}

#[test]
fn a_closed_stdout_is_no_panic() {
    for args in [&["schema"][..], &["--help"], &["classify"]] {
        let mut child = sidecar(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let _ = child.stdin.take().unwrap().write_all(b"{\"id\":1,\"result\":{}}\n");
        let (code, _, err) = told(child.wait_with_output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn a_full_disk_under_stdout_is_told() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (code, _, err) = told(sidecar(&["schema"]).stdout(full).output().unwrap());
    assert_eq!(code, 70);
    assert!(err.contains("stdout cannot be written"), "{err}");
}

#[test]
fn classify_answers_line_by_line() {
    let tmp = tempfile::tempdir().unwrap();
    let rule = "[[producer.refusals.rule]]\ncode = -32000\nmessage = '(?i)full'\nrefusal = 'unavailable'\nretry_after_ms = 42\n";
    let path = written(tmp.path(), &format!("{LEAST}{rule}"));
    let mut child = sidecar(&["classify", "--config", &path])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = "{\"id\":12345678901234567890123,\"error\":{\"code\":-32000,\"message\":\"Queue Full\",\"data\":{\"n\":1.0}}}\nstray\n";
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let (code, out, _) = told(child.wait_with_output().unwrap());
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((code, lines.len(), lines[1]), (0, 2, "stray"), "{out}");
    for part in ["12345678901234567890123", "\"n\":1.0", "-32030", "\"retryAfterMs\":42"] {
        assert!(lines[0].contains(part), "{part}: {out}");
    }
    assert_eq!(ran(&["classify", "--config", &path, "--producer", "other"]).0, 64);
}
