//! An operator's word to the admin routes as they are served.

use std::future::pending;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;

use tempfile::tempdir;
use tokio::task::LocalSet;

use super::*;
use crate::admin::desk::{AccountView, Listed, Portion, ProducerView, ReloadsView, Settlement, Trouble};
use crate::admin::{Control, Desk, serve_unix};
use crate::cli::exit;
use crate::cli::journal::args::Command;
use crate::cli::journal::resolve::resolved;
use crate::cli::journal::tests::{parsed, place};
use crate::journal::account::sample::{open, work, write};

/// A desk that takes words, and answers as it is told to.
struct Fake {
    heard: mpsc::Sender<Settlement>,
    answer: Result<Value, Trouble>,
}

impl Desk for Fake {
    fn reloads(&self) -> ReloadsView {
        ReloadsView::default()
    }

    async fn unready(&self) -> Vec<String> {
        Vec::new()
    }
    async fn producers(&self) -> Vec<ProducerView> {
        Vec::new()
    }
    async fn occurrence(&self, _: String, _: Option<String>) -> Result<AccountView, Trouble> {
        pending().await
    }
    async fn work(&self, _: Portion) -> Result<Listed, Trouble> {
        pending().await
    }
    async fn flush(&self, _: String) -> Result<(), Trouble> {
        pending().await
    }
    async fn resolve(&self, settlement: Settlement) -> Result<Value, Trouble> {
        self.heard.send(settlement).unwrap();
        self.answer.clone()
    }
}

/// What is heard of a saying, and what comes of it.
fn exchange(dir: &Path, answer: Result<Value, Trouble>, say: impl FnOnce()) -> Settlement {
    let (heard, hearing) = mpsc::channel();
    let (ready, readying) = mpsc::channel();
    let (stop, stopping) = tokio::sync::oneshot::channel::<()>();
    let dir = dir.to_owned();
    let serving = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let set = LocalSet::new();
        set.block_on(&runtime, async move {
            let control = Control::bind(&dir).unwrap();
            ready.send(()).unwrap();
            let serving = serve_unix(control, Rc::new(Fake { heard, answer }));
            tokio::select! { () = serving => {}, _ = stopping => {} }
        });
    });
    readying.recv().unwrap();
    say();
    stop.send(()).unwrap();
    serving.join().unwrap();
    hearing.recv().unwrap()
}

fn saying(word: Word, expect: Option<u32>) -> Saying {
    Saying { producer: "discord".to_owned(), number: 12, word, expect }
}

#[test]
fn every_word_and_every_answer_gets_through() {
    let tmp = tempdir().unwrap();
    let done = || Ok(json!({ "id": "discord/12", "state": "delivered" }));
    for (word, expect, answer, want) in [
        (Word::Submitted, Some(3), done(), Answer::Done("delivered".to_owned())),
        (Word::NotSubmitted, None, Err(Trouble::Revision(4)), Answer::Revision(4)),
        (Word::Again, Some(0), Err(Trouble::NotOpen("held")), Answer::NotOpen("held".to_owned())),
        (Word::Drop, None, Err(Trouble::NoText), Answer::NoText),
        (Word::Drop, None, Err(Trouble::NoOccurrence), Answer::Unknown),
        (Word::Drop, None, Err(Trouble::NoProducer), Answer::Unknown),
    ] {
        let heard = exchange(tmp.path(), answer, || {
            assert_eq!(say(tmp.path(), &saying(word, expect)).unwrap(), want);
        });
        assert_eq!((heard.producer.as_str(), heard.number, heard.expect), ("discord", 12, expect));
        assert_eq!(format!("{:?}", heard.word), format!("{word:?}"));
    }
}

#[test]
fn a_sidecar_that_does_not_do_it_says_why() {
    let tmp = tempdir().unwrap();
    exchange(tmp.path(), Err(Trouble::Busy), || match say(tmp.path(), &saying(Word::Drop, None)) {
        Err(Unsaid::Failed(why)) => assert!(why.starts_with("503 ") && why.contains("; "), "{why}"),
        other => panic!("{other:?}"),
    });
    assert!(matches!(say(tmp.path(), &saying(Word::Drop, None)), Err(Unsaid::Unreached(_))), "it is gone");
}

#[test]
fn what_is_no_answer_is_told_from_one() {
    for text in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "nonsense\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\n\r\n{\"state",
        "HTTP/1.1 200 OK\r\n\r\n[]",
    ] {
        assert!(matches!(read(text.as_bytes()), Err(Unsaid::Failed(_))), "{text}");
    }
}

#[test]
fn while_a_sidecar_holds_the_directory_it_is_the_one_to_ask() {
    let tmp = tempdir().unwrap();
    write(tmp.path(), "discord", open(12, "e", &work(mcpl_policy::fate::Fate::InDoubt)));
    let held = crate::state::hold(tmp.path()).unwrap();
    let Command::Resolve(resolve) = parsed("resolve discord/12 --submitted --expect 1") else { panic!() };
    let heard = exchange(tmp.path(), Ok(json!({ "state": "delivered" })), || {
        assert_eq!(resolved(&resolve, &place(tmp.path())).unwrap(), "discord/12 is settled: delivered\n");
    });
    assert_eq!((heard.number, heard.expect), (12, Some(1)));
    exchange(tmp.path(), Err(Trouble::Revision(2)), || {
        assert_eq!(resolved(&resolve, &place(tmp.path())).unwrap_err(), exit::CHANGED);
    });
    drop(held);
}
