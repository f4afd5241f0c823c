//! What is asked, and what is told, over a pipe.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

use super::desk::{
    AccountView, BindingView, Desk, Listed, Portion, ProducerView, ReloadsView, Settlement, Trouble, Word,
};
use super::gate::Gate;
use super::*;
use crate::token::Token;

mod gates;
mod limits;
mod page;
mod routes;
mod secure;

/// A desk with two producers, that notes what it is asked.
#[derive(Default)]
struct Fake {
    asked: RefCell<Vec<String>>,
    unready: RefCell<Vec<String>>,
    /// What the next settlement comes to, if not to a word taken.
    trouble: RefCell<Option<Trouble>>,
    /// It never answers.
    silent: bool,
}

impl Fake {
    async fn note(&self, what: String) {
        self.asked.borrow_mut().push(what);
        if self.silent {
            std::future::pending::<()>().await;
        }
    }
}

impl Desk for Fake {
    async fn unready(&self) -> Vec<String> {
        self.unready.borrow().clone()
    }

    async fn metrics(&self) -> Option<String> {
        self.note("metrics".to_owned()).await;
        Some("# TYPE up gauge\nup 1\n".to_owned())
    }

    async fn producers(&self) -> Vec<ProducerView> {
        self.note("producers".to_owned()).await;
        let said =
            BindingView { session: true, held: 2, held_bytes: 90, store: "good", ..Default::default() };
        vec![
            ProducerView { name: "chat".to_owned(), said: Some(said), ..Default::default() },
            ProducerView { name: "mail".to_owned(), ..Default::default() },
        ]
    }

    fn reloads(&self) -> ReloadsView {
        ReloadsView { applied: 3, rejected: 1, last: None }
    }

    async fn occurrence(&self, event_id: String, producer: Option<String>) -> Result<AccountView, Trouble> {
        self.note(format!("occurrence {event_id:?} {producer:?}")).await;
        match (event_id.as_str(), producer.as_deref()) {
            (_, Some("nobody")) => Err(Trouble::NoProducer),
            ("never", _) => Err(Trouble::NoOccurrence),
            ("both", None) => Err(Trouble::Several(vec!["chat".to_owned(), "mail".to_owned()])),
            ("broken", _) => Err(Trouble::Journal("row 7 of work is spoilt".to_owned())),
            _ => Ok(json!({ "id": "chat/1", "eventId": event_id }).into()),
        }
    }

    async fn work(&self, portion: Portion) -> Result<Listed, Trouble> {
        self.note(format!("work {portion:?}")).await;
        let first = portion.after.map_or(1, |(_, number)| number + 1);
        let last = (first + portion.limit as u64 - 1).min(5);
        let accounts = (first..=last).map(|n| json!({ "id": format!("chat/{n}") })).collect();
        Ok(Listed { accounts, more: (last < 5).then(|| ("chat".to_owned(), last)) })
    }

    async fn flush(&self, producer: String) -> Result<(), Trouble> {
        self.note(format!("flush {producer}")).await;
        if producer == "chat" { Ok(()) } else { Err(Trouble::NoProducer) }
    }

    async fn resolve(&self, settlement: Settlement) -> Result<Value, Trouble> {
        self.note(format!("resolve {settlement:?}")).await;
        match self.trouble.borrow_mut().take() {
            Some(trouble) => Err(trouble),
            None => Ok(json!({ "id": "chat/7", "state": "delivered", "revision": 3 })),
        }
    }
}

/// An answer as it came.
#[derive(Debug)]
struct Told {
    status: u16,
    head: String,
    body: Value,
}

impl Told {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = match body {
            "" => Value::Null,
            text if head.contains("text/plain") => Value::from(text),
            text => serde_json::from_str(text).unwrap(),
        };
        // Names of headers have no case.
        let named = |line: &str| match line.split_once(':') {
            Some((name, value)) => format!("{}:{value}\n", name.to_ascii_lowercase()),
            None => format!("{line}\n"),
        };
        Self { status, head: head.lines().map(named).collect(), body }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Its status, once it is sure that it is an error as all are.
    fn error(&self) -> u16 {
        for part in ["error", "hint"] {
            assert!(self.body[part].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        }
        self.status
    }
}

/// A connection to `desk` through `gate`, given to `client`, until both ends are done.
async fn connected<T, F: Future<Output = T>>(
    gate: Gate,
    desk: &Rc<Fake>,
    client: impl FnOnce(DuplexStream) -> F,
) -> T {
    let (ours, theirs) = duplex(1 << 20);
    let (told, ()) = tokio::join!(client(ours), connection::serve(theirs, Rc::new(gate), Rc::clone(desk)));
    told
}

/// Everything that is said until the other side closes.
async fn rest(mut stream: DuplexStream) -> String {
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

/// What a whole request, as text, is answered.
async fn exchange(gate: Gate, desk: &Rc<Fake>, request: &str) -> Told {
    let text = connected(gate, desk, |mut stream| async move {
        stream.write_all(request.as_bytes()).await.unwrap();
        rest(stream).await
    });
    Told::read(&text.await)
}

/// A request on the socket.
async fn ask(desk: &Rc<Fake>, method: &str, path: &str, body: &str) -> Told {
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}");
    exchange(Gate::Socket, desk, &format!("{head}\r\n\r\n{body}")).await
}

fn desk() -> Rc<Fake> {
    Rc::default()
}
