//! The example producer, behind the program: the host is given what `docs/ambient.md` says (contract sections 6
//! and 7).
//!
//! The tables of that page are the expectation. Of the deferred events only one test speaks, the last: it needs a
//! program that renders (contract section 6.5).

// The page is read by functions of its own, where a broken expectation fails the test that called them.
#![allow(clippy::expect_used)]

use std::collections::BTreeSet;

use mcpl_tests::{Said, Wrap, ambient_binary};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../docs/ambient.md");
const ACTIVITY: &str = "`ambient.activity`";
/// What follows every id on the wire.
const RUN: &str = "@test";

/// One line of a table of events sent, or of what was answered.
type Told = (String, String);

/// One line of a table of what the host is given: id, as what, text.
type Given = [String; 3];

/// The cells of every line of the page's tables that begins with an id, if it has so many.
fn rows(width: usize) -> Vec<Vec<&'static str>> {
    let lines = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix('|'));
    let rows = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    rows.filter(|row| row.len() == width).collect()
}

fn page_answers() -> Vec<Told> {
    let bare = |cell: &str| cell.trim_matches('`').to_owned();
    rows(4).iter().map(|row| (bare(row[0]), bare(row[3]))).collect()
}

fn page_given() -> Vec<Given> {
    rows(3).iter().map(|row| [row[0].trim_matches('`').into(), row[1].into(), row[2].into()]).collect()
}

/// The notices, by the page.
fn notices() -> BTreeSet<String> {
    let rows = rows(4);
    let notices = rows.iter().filter(|row| row[1].starts_with("notice"));
    notices.map(|row| row[0].trim_matches('`').to_owned()).collect()
}

/// What the page would say of a line that the host received, if that is an event.
fn given(said: &Said) -> Option<Given> {
    let message = said.json();
    let bare = |id: &Value| id.as_str().and_then(|id| id.strip_suffix(RUN)).map(str::to_owned);
    let text = |content: &Value| content[0]["text"].as_str().unwrap_or_default().to_owned();
    let string = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let params = &message["params"];
    match message["method"].as_str()? {
        "push/event" => {
            let on = format!(
                "`{}` in `{}`",
                string(&params["featureSet"]),
                string(&params["origin"]["channelId"])
            );
            Some([bare(&params["eventId"])?, on, text(&params["payload"]["content"])])
        }
        "channels/incoming" => {
            assert_eq!(params["messages"].as_array().map(Vec::len), Some(1), "{message}");
            let one = &params["messages"][0];
            let on = format!("message `{}` in `{}`", bare(&one["messageId"])?, string(&one["channelId"]));
            Some([bare(&one["eventId"])?, on, text(&one["content"])])
        }
        _ => None,
    }
}

/// A run of the example, with a host that reads once a scene is over.
struct Run {
    wrap: Wrap,
}

impl Run {
    /// Plays all scenes.
    async fn played() -> Self {
        let ambient = ambient_binary().to_str().expect("a path that is text");
        // It is the host that drives: the producer's own patience never ends.
        let wrap = Wrap::command([ambient, "--pause-ms", "3600000", "--run", "test"]);
        wrap.introduce().await;
        let capabilities = ["pushEvents", "channels.register", "channels.incoming"];
        let enabled = ["ambient.presence", "ambient.activity"];
        let policy = json!({"effectiveCapabilities": capabilities, "enabled": enabled});
        wrap.ask("\"policy\"", "featureSets/update", &policy).await;
        let run = Self { wrap };
        run.is_over("scene 1 of 3 was played").await;
        assert_eq!(run.given(), Vec::<Given>::new(), "the host was given something while nobody read");
        run.reads("1").await;
        run.is_over("scene 2 of 3 was played").await;
        run.reads("2").await;
        run.is_over("scene 3 of 3 was played").await;
        run.wrap.host.is_given("@agent What did I miss?").await;
        run
    }

    async fn is_over(&self, scene: &str) {
        let over = |said: &Said| said.method().is_some_and(|method| method == "notifications/message");
        self.wrap.host.until(0, scene, |said| over(said) && said.str().contains(scene)).await;
    }

    /// The host is about to read; what can be written for it has arrived.
    async fn reads(&self, turn: &str) {
        let params = json!({"inferenceId": turn, "conversationId": "c", "turnIndex": 0, "userMessage": null});
        self.wrap.ask(&format!("\"turn {turn}\""), "context/beforeInference", &params).await;
    }

    fn given(&self) -> Vec<Given> {
        self.wrap.host.since(0).iter().filter_map(|said| given(said)).collect()
    }

    /// Ends it; how each event was answered, by what the producer wrote to stderr.
    async fn answers(mut self) -> Vec<Told> {
        self.wrap.host.half_close().await;
        assert!(self.wrap.exit().await.success());
        let stderr = self.wrap.program().stderr();
        let lines = stderr.lines().filter_map(|line| line.strip_prefix("ambient: ")?.split_once(' '));
        lines.map(|(id, outcome)| (id.to_owned(), outcome.to_owned())).collect()
    }
}

#[test]
fn the_page_counts_what_its_tables_show() {
    let counted = format!("{} events were sent and {} were given", rows(4).len(), rows(3).len());
    assert!(PAGE.contains(&counted), "{counted}");
    assert_eq!(notices().len(), 6);
}

#[tokio::test]
async fn chat_and_presence_are_given_as_the_page_says() {
    let run = Run::played().await;
    // Nothing is left for another turn.
    run.reads("3").await;
    let is_told = |it: &Given| !it[1].starts_with(ACTIVITY);
    let given: Vec<Given> = run.given().into_iter().filter(is_told).collect();
    assert_eq!(given, page_given().into_iter().filter(is_told).collect::<Vec<_>>());
    let notices = notices();
    let plain = |told: &Told| !notices.contains(&told.0);
    let answers: Vec<Told> = run.answers().await.into_iter().filter(plain).collect();
    assert_eq!(answers, page_answers().into_iter().filter(plain).collect::<Vec<_>>());
}

/// Every assertion here needs `push/render` (contract section 6.5).
#[tokio::test]
async fn each_channel_has_one_digest_as_the_page_says() {
    let run = Run::played().await;
    run.wrap.host.is_given("Meanwhile in lobby: Cleo reacted.").await;
    run.reads("3").await;
    // The order too: a digest follows what was ready when it was begun.
    assert_eq!(run.given(), page_given());
    let data = |said: &&std::sync::Arc<Said>| said.str().contains(r#""did""#);
    assert_eq!(run.wrap.host.since(0).iter().filter(data).count(), 0, "a notice's data reached the host");
    assert_eq!(run.answers().await, page_answers());
}
