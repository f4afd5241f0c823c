//! Says back what it is told, over the program's own WebSocket transport: the other side of a test suite for
//! WebSocket peers, such as Autobahn's.
//!
//! ```text
//! ws_echo serve ADDRESS               answer who connects
//! ws_echo dial URL AGENT              ask URL/getCaseCount, then be the AGENT of URL/runCase?case=N for each N
//! ```

use std::error::Error;
use std::io::Write as _;
use std::rc::Rc;
use std::time::Duration;

use mcpl_codec::Frame;
use mcpl_sidecar::binding::OUTBOX_BYTES;
use mcpl_sidecar::config::{self, Peer};
use mcpl_sidecar::outbox::Outbox;
use mcpl_sidecar::transport::Connection;
use mcpl_sidecar::transport::dial::{Destination, Dialer};
use mcpl_sidecar::transport::ws::front::{Front, Route};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};

type Outcome<T> = Result<T, Box<dyn Error>>;

const LIMIT: usize = 32 << 20;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        match words[..] {
            ["serve", address] => serve(address).await,
            ["dial", url, agent] => dial(url, agent).await,
            _ => Err("usage: ws_echo serve ADDRESS | ws_echo dial URL AGENT".into()),
        }
    })
}

async fn serve(address: &str) -> Outcome<()> {
    let front = Front::open(TcpListener::bind(address).await?, None)?;
    let (to, mut connections) = mpsc::channel(16);
    let (origins, names) = (Vec::new(), Vec::new());
    let route = Route { producer: "echo".to_owned(), query: None, token: None, origins, names, to };
    front.add("/", route);
    while let Some(connection) = connections.recv().await {
        spawn_local(echo(connection));
    }
    Ok(())
}

async fn dial(url: &str, agent: &str) -> Outcome<()> {
    let dialer = Rc::new(Dialer::default());
    let mut count = 0;
    let mut asked = reach(&dialer, &format!("{url}/getCaseCount")).await?;
    let mut framer = asked.framer(LIMIT);
    loop {
        let came = asked.reader.read(&mut framer).await?;
        while let Some(frame) = framer.next() {
            if let Frame::Line(line) = frame {
                count = std::str::from_utf8(line.text())?.trim().parse()?;
            }
        }
        if came == 0 {
            break;
        }
    }
    for case in 1..=count {
        echo(reach(&dialer, &format!("{url}/runCase?case={case}&agent={agent}")).await?).await;
    }
    echo(reach(&dialer, &format!("{url}/updateReports?agent={agent}")).await?).await;
    writeln!(std::io::stdout(), "{count} cases")?;
    Ok(())
}

async fn reach(dialer: &Dialer, url: &str) -> Outcome<Connection> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(
        file.path(),
        format!("[[producer]]\nname = \"x\"\nlisten = \"stdio\"\nconnect = \"{url}\"\n"),
    )?;
    let config = config::load(file.path(), &|_| Some("/nowhere".to_owned()))?;
    let Some(Peer::Connect(endpoint)) = config.producers.first().map(|producer| &producer.peer) else {
        return Err("nothing to dial".into());
    };
    Ok(dialer.dial(&Destination::new(endpoint, None, None), Duration::from_secs(5)).await?)
}

/// Says back every message until the peer has closed.
async fn echo(mut connection: Connection) {
    let mut framer = connection.framer(LIMIT);
    let mut outbox = Outbox::new(OUTBOX_BYTES);
    outbox.keep_breaks(true);
    loop {
        let came = connection.reader.read(&mut framer).await;
        while let Some(frame) = framer.next() {
            if let Frame::Line(line) = frame {
                outbox.push(&line, None);
            }
        }
        // What was asked is answered also when it was the last of it.
        let wrote = connection.writer.write(&mut outbox).await;
        if !matches!(came, Ok(1..)) || wrote.is_err() {
            break;
        }
    }
    connection.writer.close_write();
    connection.writer.finish().await;
    connection.reader.finish().await;
}
