//! A render must not start inference.

use mcpl_tests::{Session, error_code, push};
use serde_json::json;

use super::scene::{answer, asked, says, session, tells};

const ASK: &str = r#"{"jsonrpc":"2.0","id":"inf","method":"inference/request","params":{"conversationId":"c","messages":[]}}"#;
const TELL: &str = r#"{"jsonrpc":"2.0","method":"inference/request","params":{"told":true}}"#;

fn heard(session: &Session) -> usize {
    session.host.texts(0).iter().filter(|line| line.contains("inference/request")).count()
}

#[tokio::test]
async fn an_inference_asked_for_during_a_render_is_refused_and_one_after_it_passes() {
    let (_world, session, render) = asked().await;
    let refused = session.producer.ask("\"inf\"", ASK).await;
    assert_eq!(error_code(&refused), Some(-32600), "{refused}");
    session.producer.send(TELL).await;
    session.sync().await;
    assert_eq!(heard(&session), 0, "the host was asked");
    // What else it says during a render passes, and so does what it is asked.
    session
        .passes(&[
            r#"{"jsonrpc":"2.0","method":"inference/chunk","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"inference/Request","params":{}}"#,
        ])
        .await;
    session.producer.send(answer(&render, &says("ONE"))).await;
    session.host.is_given("ONE").await;
    session.passes_to_host(&[TELL]).await;
    session.host.script.mute(true);
    session.passes_to_host(&[ASK]).await;
}

#[tokio::test]
async fn inside_a_json_rpc_batch_an_inference_is_refused_on_its_own() {
    let (_world, session, _render) = asked().await;
    let mark = session.producer.count();
    session.host.script.mute(true);
    session.producer.send(format!(r#"[{ASK},{{"jsonrpc":"2.0","id":7,"method":"x"}},{TELL}]"#)).await;
    let passed = session.host.until(0, "what is left", |said| said.str().contains(r#""id":7"#)).await;
    assert_eq!(passed.str(), r#"[{"jsonrpc":"2.0","id":7,"method":"x"}]"#);
    session.host.send(r#"[{"jsonrpc":"2.0","id":7,"result":1.0}]"#).await;
    let whole = session.producer.until(mark, "one array", |said| said.str().contains("-32600")).await;
    let answers = whole.json();
    let answers = answers.as_array().expect("one array");
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert!(answers.iter().any(|it| it["id"] == json!("inf") && error_code(it) == Some(-32600)));
    assert!(whole.str().contains(r#"{"jsonrpc":"2.0","id":7,"result":1.0}"#), "{}", whole.str());
    assert_eq!(heard(&session), 0);
}

#[tokio::test]
async fn a_batch_with_nothing_but_refused_inferences_is_answered_as_one_array() {
    let (_world, session, _render) = asked().await;
    let mark = session.producer.count();
    session.producer.send(format!("[{ASK}]")).await;
    let whole = session.producer.until(mark, "one array", |said| said.str().contains("-32600")).await.json();
    assert_eq!(whole[0]["id"], json!("inf"), "{whole}");
    session.producer.send(format!("[{TELL}]")).await;
    session.sync().await;
    assert_eq!(heard(&session), 0);
    assert!(!session.host.texts(0).iter().any(|line| line == "[]"), "an empty batch went on");
}

#[tokio::test]
async fn with_no_render_out_an_inference_passes_byte_for_byte() {
    let (_world, session) = session().await;
    session.host.script.mute(true);
    let batch = format!("[ {ASK} , {TELL}]");
    session.passes_to_host(&[ASK, TELL, &batch]).await;
}

/// Whatever reading of it would be one.
#[tokio::test]
async fn a_disguised_inference_does_not_pass_during_a_render() {
    let (_world, session, _render) = asked().await;
    for line in [
        r#"{"jsonrpc":"2.0","id":"d","method":"inference\/request","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":"d","m\u0065thod":"inference/reques\u0074","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":"d","method":"x","method":"inference/request","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":"d","method":"inference/request","method":"x","params":{}}"#,
    ] {
        let refused = session.producer.ask("\"d\"", line).await;
        assert_eq!(error_code(&refused), Some(-32600), "{line}: {refused}");
        let batch = format!("[{line}]");
        let mark = session.producer.count();
        session.producer.send(batch).await;
        session.producer.until(mark, "an array", |said| said.str().contains("-32600")).await;
    }
    session.sync().await;
    assert!(!session.host.texts(0).iter().any(|line| line.contains(r#""id":"d""#)), "it passed");
}

/// The producer does not know that nobody waits for it any more.
#[tokio::test]
async fn a_cancelled_render_is_handled_until_it_is_answered() {
    let (_world, session, render) = asked().await;
    tells(&session, push("p", "PLAIN").key("k"), "replaced").await;
    let refused = session.producer.ask("\"inf\"", ASK).await;
    assert_eq!(error_code(&refused), Some(-32600), "{refused}");
    session.producer.send(answer(&render, &says("LATE"))).await;
    session.host.script.mute(true);
    session.passes_to_host(&[ASK]).await;
}
