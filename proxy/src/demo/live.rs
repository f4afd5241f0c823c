//! The demonstration as one watches it: a producer and a host that go on until they are told to end, the program
//! itself between them, and its live page (contract 10.3).

use std::cell::Cell;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::rc::Rc;
use std::time::Duration;
use std::{fs, io};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};

use super::host::Host;
use super::peer::{self, Mind, Mouth, Reply};
use super::producer::Producer;
use super::script::{Coalesce, DISABLED, Event};
use crate::cli::out;

const SETTINGS: &str = include_str!("live.toml");
const DECLARED: &[&str] = &["chat", "battery", "reminders", DISABLED];
/// Between one step and the next.
const PACE: Duration = Duration::from_millis(700);
/// How long the program may take to end.
const WITHIN: Duration = Duration::from_secs(5);

/// Goes on until SIGINT, SIGTERM or SIGHUP, with the live page at `at`. The exit code is the program's, if that ends first.
///
/// # Errors
/// A connection, a file or the program itself cannot be had.
pub(super) async fn run(at: SocketAddr) -> io::Result<ExitCode> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // Its terminal is closed.
    let mut hangup = signal(SignalKind::hangup())?;
    let folder = Folder::new()?;
    let producers = TcpListener::bind("127.0.0.1:0").await?;
    let (mut program, pipe) = start(&folder, at, producers.local_addr()?.port())?;
    let over = tokio::select! {
        played = play(pipe, at, &producers) => played,
        // It says why, and what is played ends with it.
        _ = program.wait() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        _ = hangup.recv() => Ok(()),
    };
    // Its host is gone with what was played: it ends by itself.
    let Ok(ended) = timeout(WITHIN, program.wait()).await else {
        program.kill().await?;
        return over.map(|()| ExitCode::SUCCESS);
    };
    match ended?.code().map(u8::try_from) {
        Some(Ok(code)) if code > 0 => Ok(ExitCode::from(code)),
        _ => over.map(|()| ExitCode::SUCCESS),
    }
}

/// Where the program keeps its state. Dropped, it is removed.
struct Folder(PathBuf);

impl Folder {
    /// One that was not there, whatever others left: what is at its path already is not taken.
    fn new() -> io::Result<Self> {
        let name = format!("mcpl-sidecar-demo-{:016x}", rand::random::<u64>());
        let path = std::env::temp_dir().join(name);
        let failed = |error: io::Error| io::Error::other(format!("no folder {}: {error}", path.display()));
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        let folder = Self(path);
        fs::write(folder.settings(), SETTINGS)?;
        Ok(folder)
    }

    fn settings(&self) -> PathBuf {
        self.0.join("live.toml")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The system's folder of what is temporary is cleared some day.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn start(folder: &Folder, at: SocketAddr, port: u16) -> io::Result<(Child, (ChildStdout, ChildStdin))> {
    let mut program = Command::new(std::env::current_exe()?)
        .args(["run", "--config"])
        .arg(folder.settings())
        .env("AT", at.to_string())
        .env("PORT", port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let pipe = program.stdout.take().zip(program.stdin.take());
    Ok((program, pipe.ok_or(io::ErrorKind::BrokenPipe)?))
}

async fn play(pipe: (ChildStdout, ChildStdin), at: SocketAddr, producers: &TcpListener) -> io::Result<()> {
    let (host, _hosts) = peer::start(tokio::io::join(pipe.0, pipe.1), Reader::default());
    let greeting = host.ask("initialize", Host::greeting());
    let dialled = async {
        let (stream, _) = producers.accept().await?;
        let coalesced = Rc::new(Cell::new(false));
        Ok(peer::start(stream, Producer { coalesced, declared: DECLARED, listed: false }))
    };
    let (_, (producer, _producers)) = tokio::try_join!(greeting, dialled)?;
    host.tell("notifications/initialized", json!({})).await?;
    host.tell("featureSets/update", Host::policy(DECLARED)).await?;
    let said = format!(
        "A producer edits and deletes its messages, and a host reads now and then; the sidecar is between them.\n\
         Watch them fold at http://{at}/ and end it with Ctrl-C.\n"
    );
    out::print(&said)?;
    for round in 0_u32.. {
        for step in steps(round) {
            match step {
                // What is refused, and why, is on the page.
                Some(event) => {
                    let (method, params) = event.request(true);
                    producer.ask(method, params).await?;
                }
                None => read(&host).await?,
            }
            sleep(PACE).await;
        }
    }
    Ok(())
}

/// The host is about to assemble what the model reads.
async fn read(host: &Mouth) -> io::Result<()> {
    host.ask("context/beforeInference", json!({"conversationId": "demo"})).await.map(drop)
}

/// What happens in one round; `None`: the host reads.
fn steps(round: u32) -> Vec<Option<Event>> {
    let first = 3 * round + 1;
    let say = |set, id: String, text: &str, coalesce| Some(Event::push(set, &id, &id, text, coalesce));
    let key = |n: u32| format!("message:{n}");
    let create =
        |n: u32, text: &str| say("chat", format!("message-{n}"), text, Some(Coalesce::First(key(n))));
    let edit = |n: u32, nth: u32, text: &str| {
        say("chat", format!("edit-{n}-{nth}"), text, Some(Coalesce::Newer(key(n))))
    };
    let delete = |n: u32| {
        say("chat", format!("delete-{n}"), &format!("message {n} deleted"), Some(Coalesce::Gone(key(n))))
    };
    let battery = |nth: u32| {
        let text = format!("battery {} %", 99 - (6 * round + nth) % 90);
        let coalesce = if round + nth == 0 { Coalesce::First } else { Coalesce::Newer };
        say("battery", format!("battery-{round}-{nth}"), &text, Some(coalesce("gauge".to_owned())))
    };
    let mut steps = vec![
        create(first, "good morning"),
        battery(0),
        create(first + 1, "lunch at nonn?"),
        edit(first + 1, 1, "lunch at noon?"),
        battery(1),
        create(first + 2, "wrong window"),
        edit(first + 1, 2, "lunch at 12:30?"),
        delete(first + 2),
        battery(2),
        say(
            "reminders",
            format!("reminder-{round}"),
            "stand-up in 5 min",
            Some(Coalesce::First("stand-up".to_owned())),
        ),
        battery(3),
        None,
        edit(first + 1, 3, "lunch at 13:00?"),
        say(DISABLED, format!("reaction-{round}"), "thumbs up", None),
        delete(first),
        battery(4),
        battery(5),
        None,
    ];
    if round == 0 {
        // One for an operator.
        steps.insert(
            4,
            say(
                "chat",
                "attachment-1".to_owned(),
                ATTACHMENT,
                Some(Coalesce::First("attachment".to_owned())),
            ),
        );
    }
    steps
}

const ATTACHMENT: &str = "a film of three hours";
/// Ids that end so fail once.
const UNLUCKY: &str = "-3";

/// A host that takes nearly everything: some readings at the second try, films and reactions never.
#[derive(Default)]
struct Reader {
    /// The last that failed.
    failed: String,
}

impl Mind for Reader {
    fn hear(&mut self, method: &str, params: &Value) -> Option<Reply> {
        if method != "push/event" {
            return None;
        }
        let id = params["eventId"].as_str().unwrap_or_default();
        Some(if params["payload"]["content"][0]["text"] == ATTACHMENT {
            Reply::Error { code: -32031, message: "the event is too large" }
        } else if params["featureSet"] == DISABLED {
            Reply::Result(
                json!({"accepted": false, "reason": format!("Feature set not enabled: {DISABLED}")}),
            )
        } else if id.ends_with(UNLUCKY) && std::mem::replace(&mut self.failed, id.to_owned()) != id {
            Reply::Error { code: -32000, message: "storage failure" }
        } else {
            Reply::Result(json!({"accepted": true}))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn each_has_a_folder_of_its_own_for_nobody_else_and_leaves_nothing_of_it() {
        let (one, other) = (Folder::new().unwrap(), Folder::new().unwrap());
        assert_eq!(fs::metadata(&one.0).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_to_string(other.settings()).unwrap(), SETTINGS);
        let paths = [one.0.clone(), other.0.clone()];
        drop((one, other));
        assert!(paths.iter().all(|path| !path.exists()));
    }
}
