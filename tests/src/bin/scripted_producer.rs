//! A producer on stdio that does what the host tells it.
//!
//! Requests are answered with `{"producer":"ok"}` but for these, which also work as notifications:
//! `do/pid` (answers its process id), `do/say {line}` (writes a line as it is), `do/bytes {text, n}` (writes the
//! text n times, byte by byte flushed), `do/complain {bytes, newline}` (writes to stderr),
//! `do/exit {code}`, `do/die {signal}` (by a signal of its own), `do/spawn` (starts a `sleep`, answers its process
//! id), `do/rest {ms}` (answers later than that, on a thread of its own), `do/nothing` (never answers).

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

use mcpl_tests::Said;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};

/// Answers still to come; the end of input waits for them, as a server that finishes its work does.
static RESTING: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

fn main() {
    let mut input = std::io::stdin().lock();
    let mut text = Vec::new();
    while input.read_until(b'\n', &mut text).is_ok_and(|count| count > 0) {
        if text.last() == Some(&b'\n') {
            text.pop();
        }
        hear(&Said { text: std::mem::take(&mut text), at: std::time::Instant::now() });
    }
    let resting = std::mem::take(&mut *RESTING.lock().unwrap());
    for thread in resting {
        let _ = thread.join();
    }
}

fn hear(said: &Said) {
    let Some(method) = said.method() else { return };
    let id = said.raw("id");
    let params =
        said.raw("params").map_or(Value::Null, |raw| serde_json::from_str(&raw).unwrap_or(Value::Null));
    if let Some(result) = act(&method, &params, id.as_deref())
        && let Some(id) = id
    {
        say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }
}

fn act(method: &str, params: &Value, id: Option<&str>) -> Option<Value> {
    let number = |name: &str| params[name].as_u64().unwrap_or_default();
    let ok = json!({"producer": "ok"});
    match method {
        "initialize" => {
            let mcpl = json!({
                "version": "0.5", "pushEvents": true,
                "featureSets": {"doc": {"description": "", "uses": ["pushEvents"]}},
            });
            return Some(json!({
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}, "experimental": {"mcpl": mcpl}},
                "serverInfo": {"name": "scripted-producer", "version": "1"},
            }));
        }
        "featureSets/update" => return Some(json!({"accepted": true})),
        "do/pid" => return Some(json!({"pid": std::process::id()})),
        "do/say" => say(params["line"].as_str().unwrap_or_default()),
        "do/bytes" => {
            let text = params["text"].as_str().unwrap_or_default();
            for byte in text.repeat(number("n") as usize).bytes() {
                let mut out = std::io::stdout();
                let _ = out.write_all(&[byte]).and_then(|()| out.flush());
            }
        }
        "do/complain" => {
            let text = vec![b'x'; number("bytes") as usize];
            let mut err = std::io::stderr();
            let _ = err.write_all(&text);
            if params["newline"] == json!(true) {
                let _ = err.write_all(b"\n");
            }
        }
        "do/exit" => std::process::exit(number("code") as i32),
        "do/die" => {
            let signal = Signal::from_named_raw(number("signal") as i32).expect("a signal's number");
            let _ = kill_process(getpid(), signal);
        }
        "do/spawn" => {
            let mut sleep = Command::new("sleep");
            let child =
                sleep.arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            return Some(json!({"pid": child.expect("sleep can be started").id()}));
        }
        "do/rest" => {
            let (ms, id) = (number("ms"), id.unwrap_or("null").to_owned());
            RESTING.lock().unwrap().push(std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(ms));
                say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"rested":{ms}}}}}"#));
            }));
            return None;
        }
        "do/nothing" => return None,
        _ => {}
    }
    Some(ok)
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
