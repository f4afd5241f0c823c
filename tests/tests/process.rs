//! A wrapped child: drained, ended, and its end passed on (contract sections 1 and 3.1).

use std::process::Stdio;
use std::time::{Duration, Instant};

use mcpl_tests::{Wrap, gone, resident_bytes};
use rustix::process::Signal;
use serde_json::json;

const NOTHING: serde_json::Value = serde_json::Value::Null;

#[tokio::test]
async fn a_child_that_floods_its_stderr_keeps_answering() {
    let mut wrap = Wrap::scripted();
    wrap.introduce().await;
    let before = resident_bytes(wrap.program().pid());
    for n in 0..20 {
        wrap.ask(&n.to_string(), "do/complain", &json!({"bytes": 256 * 1024, "newline": true})).await;
    }
    wrap.ask("\"one line\"", "do/complain", &json!({"bytes": 5 << 20})).await;
    wrap.ask("\"after\"", "ping", &NOTHING).await;
    let after = resident_bytes(wrap.program().pid());
    assert!(after < before + (16 << 20), "memory grew from {before} to {after}");
}

#[tokio::test]
async fn a_stderr_of_ours_that_nobody_reads_stalls_nothing() {
    let mut wrap = Wrap::command_with(["sh", "-c", "exec \"$PRODUCER\""], |command| {
        command.stderr(Stdio::piped());
    });
    wrap.introduce().await;
    for n in 0..12 {
        wrap.ask(&n.to_string(), "do/complain", &json!({"bytes": 256 * 1024, "newline": true})).await;
    }
    assert!(wrap.program().runs());
}

#[tokio::test]
async fn a_child_without_stderr_is_served() {
    let wrap = Wrap::shell("exec \"$PRODUCER\" 2>&-");
    wrap.introduce().await;
    wrap.ask("1", "do/complain", &json!({"bytes": 1000})).await;
    wrap.ask("2", "ping", &NOTHING).await;
}

#[tokio::test]
async fn a_dead_stderr_of_ours_does_not_end_the_session() {
    let mut wrap = Wrap::command_with(["sh", "-c", "exec \"$PRODUCER\""], |command| {
        command.stderr(Stdio::piped());
    });
    wrap.close_stderr();
    wrap.introduce().await;
    wrap.ask("1", "do/complain", &json!({"bytes": 100_000, "newline": true})).await;
    wrap.tell("do/say", &json!({"line": "noise that is logged"})).await;
    wrap.ask("2", "ping", &NOTHING).await;
    assert!(wrap.program().runs());
}

#[tokio::test]
async fn the_answers_come_after_the_end_of_input() {
    let mut wrap = Wrap::scripted();
    wrap.introduce().await;
    let mark = wrap.host.count();
    wrap.host.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await;
    // The last line has no line end.
    wrap.host.send_bytes(br#"{"jsonrpc":"2.0","id":3,"method":"do/rest","params":{"ms":300}}"#).await;
    wrap.host.half_close().await;
    wrap.host.answer(mark, "2").await;
    wrap.host.answer(mark, "3").await;
    assert_eq!(wrap.exit().await.code(), Some(0));
}

#[tokio::test]
async fn the_exit_code_is_the_childs() {
    for (what, params, code) in [
        ("do/exit", json!({"code": 0}), 0),
        ("do/exit", json!({"code": 3}), 3),
        ("do/die", json!({"signal": 9}), 137),
        ("do/die", json!({"signal": 15}), 143),
    ] {
        let mut wrap = Wrap::scripted();
        wrap.introduce().await;
        let mark = wrap.host.count();
        wrap.host.send(r#"{"jsonrpc":"2.0","id":5,"method":"do/nothing"}"#).await;
        wrap.host.send(r#"{"jsonrpc":"2.0","id":"six","method":"do/nothing"}"#).await;
        wrap.tell("do/say", &json!({"line": r#"{"jsonrpc":"2.0","method":"last/words"}"#})).await;
        wrap.tell(what, &params).await;
        let started = Instant::now();
        wrap.host
            .until(mark, "the last line it wrote", |said| said.method().as_deref() == Some("last/words"))
            .await;
        wrap.host.ended().await;
        assert_eq!(wrap.exit().await.code(), Some(code), "{what} {params}");
        assert!(
            started.elapsed() < Duration::from_secs(3),
            "the end was noticed late: {:?}",
            started.elapsed()
        );
        // What was pending is not answered on the child's behalf.
        assert_eq!(wrap.host.texts(mark).len(), 1, "{:?}", wrap.host.texts(mark));
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_exit_69() {
    for command in ["/nowhere/at/all", "/etc/hostname"] {
        let mut wrap = Wrap::command([command]);
        wrap.host.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
        assert_eq!(wrap.exit().await.code(), Some(69), "{command}");
        assert!(
            wrap.program().stderr().contains(command),
            "stderr does not name it: {}",
            wrap.program().stderr()
        );
    }
}

#[tokio::test]
async fn signals_reach_the_child_and_its_code_comes_back() {
    for (signal, name) in
        [(Signal::TERM, "TERM"), (Signal::INT, "INT"), (Signal::HUP, "HUP"), (Signal::QUIT, "QUIT")]
    {
        if ignored(signal) {
            continue;
        }
        let script = format!(
            "trap 'exit 7' {name}; echo '{{\"jsonrpc\":\"2.0\",\"method\":\"ready\"}}'; while :; do sleep 0.02; done"
        );
        let mut wrap = Wrap::shell(&script);
        wrap.host.send(r#"{"jsonrpc":"2.0","method":"hello"}"#).await;
        wrap.host.until(0, "the child's first line", |_| true).await;
        wrap.program().signal(signal);
        assert_eq!(wrap.exit().await.code(), Some(7), "{name}");
    }
}

#[tokio::test]
async fn the_childs_own_children_go_with_it() {
    for end in ["signal", "input"] {
        let mut wrap = Wrap::scripted();
        wrap.introduce().await;
        let child = wrap.child_pid().await;
        let answer = wrap.ask("\"spawn\"", "do/spawn", &NOTHING).await;
        let grandchild = answer["result"]["pid"].as_u64().expect("a process id") as u32;
        match end {
            "signal" => wrap.program().signal(Signal::TERM),
            _ => wrap.host.half_close().await,
        }
        wrap.exit().await;
        assert!(gone(child).await, "the child outlived the end by {end}");
        assert!(gone(grandchild).await, "the grandchild outlived the end by {end}");
    }
}

#[tokio::test]
async fn a_child_that_ignores_everything_is_killed() {
    let script = "trap '' TERM INT HUP; echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"ready\\\"}\"; while :; do sleep 0.1; done";
    let mut wrap = Wrap::shell(script);
    wrap.host.send(r#"{"jsonrpc":"2.0","method":"hello"}"#).await;
    wrap.host.until(0, "the child's first line", |_| true).await;
    let started = Instant::now();
    wrap.host.half_close().await;
    assert_eq!(wrap.exit().await.code(), Some(137));
    let took = started.elapsed();
    assert!(took > Duration::from_millis(1500) && took < Duration::from_secs(6), "killed after {took:?}");
}

#[tokio::test]
async fn a_host_that_goes_away_leaves_no_panic_and_no_process() {
    let mut wrap = Wrap::scripted();
    wrap.introduce().await;
    let child = wrap.child_pid().await;
    wrap.tell("do/bytes", &json!({"text": "{\"jsonrpc\":\"2.0\",\"method\":\"chatty\"}\n", "n": 2000})).await;
    wrap.host.close().await;
    wrap.exit().await;
    assert!(gone(child).await);
    let stderr = wrap.program().stderr();
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[tokio::test]
async fn a_child_that_closes_its_stdin_is_no_panic() {
    let mut wrap = Wrap::shell(
        "exec 0<&-; echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"deaf\\\"}\"; sleep 1; exit 4",
    );
    wrap.host.send(r#"{"jsonrpc":"2.0","method":"hello"}"#).await;
    wrap.host.until(0, "the child's first line", |_| true).await;
    let data = "x".repeat(1 << 20);
    wrap.host.send(format!(r#"{{"jsonrpc":"2.0","method":"big","params":["{data}"]}}"#)).await;
    let status = wrap.exit().await;
    let stderr = wrap.program().stderr();
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert!(matches!(status.code(), Some(4 | 143)), "{status}");
}

#[tokio::test]
async fn stray_lines_of_a_child_are_survived() {
    let wrap = Wrap::scripted();
    wrap.introduce().await;
    let mark = wrap.host.count();
    for line in ["[server] ready (MCPL mode)", "", "42", "{\"jsonrpc\":", "not json"] {
        wrap.ask("9", "do/say", &json!({"line": line})).await;
    }
    let texts = wrap.host.texts(mark);
    assert!(
        texts.iter().all(|text| text == r#"{"jsonrpc":"2.0","id":9,"result":{"producer":"ok"}}"#),
        "{texts:?}"
    );
}

#[tokio::test]
async fn two_wraps_of_one_command_do_not_collide() {
    let state = tempfile::tempdir().expect("a folder");
    let start = || {
        Wrap::command_with(["sh", "-c", "exec \"$PRODUCER\""], |command| {
            command.env("XDG_STATE_HOME", state.path()).stderr(Stdio::null());
        })
    };
    let (mut first, mut second) = (start(), start());
    for wrap in [&first, &second] {
        wrap.introduce().await;
        wrap.ask("1", "ping", &NOTHING).await;
    }
    for wrap in [&mut first, &mut second] {
        wrap.host.half_close().await;
        assert_eq!(wrap.exit().await.code(), Some(0));
    }
}

/// Whether this process was started with the signal ignored, as `nohup` does: then a shell cannot trap it.
fn ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal.as_raw() - 1)) != 0)
}

#[tokio::test]
async fn a_wrap_says_that_it_serves_no_admin_listener() {
    let mut wrap = Wrap::configured("[admin]\nlisten = \"127.0.0.1:0\"");
    wrap.introduce().await;
    wrap.host.half_close().await;
    assert_eq!(wrap.exit().await.code(), Some(0));
    let stderr = wrap.program().stderr();
    assert!(stderr.contains("`wrap` serves no [admin]") && stderr.contains("listen = \"stdio\""), "{stderr}");
}
