//! `journal resolve`.

use std::thread;
use std::time::{Duration, Instant};

use mcpl_policy::engine::{Unresolved, Word};
use mcpl_policy::fate::Fate;

use super::args::Resolve;
use super::control::{self, Unsaid};
use super::plain::plain;
use super::{Place, found, unreadable, unwritten};
use crate::cli::{exit, out};
use crate::journal::account::Account;
use crate::journal::offline::{self, ResolveFault};
use crate::journal::{Bounds, Journal};
use crate::state::{self, Taken};

/// How long a sidecar that starts or ends may take until it can be asked, or need not be.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(50);

/// What an operator says of an occurrence, and of which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Saying {
    pub(super) producer: String,
    pub(super) number: u64,
    pub(super) word: Word,
    pub(super) expect: Option<u32>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It stands like this now, on disk: a name of [`Fate::state`].
    Done(String),
    /// Its revision is another one.
    Revision(u32),
    /// It stands like this, and there is nothing to say of it.
    NotOpen(String),
    /// Its text is not kept any more.
    NoText,
    /// Nothing is known of it.
    Unknown,
}

/// Settles the occurrence and says so on stdout.
pub(super) fn resolve(resolve: &Resolve, places: &[Place]) -> Result<(), u8> {
    let text = resolved(resolve, places)?;
    out::print(&text).map_err(|why| unwritten(&why))
}

pub(super) fn resolved(resolve: &Resolve, places: &[Place]) -> Result<String, u8> {
    let found::Found { place, accounts, account } = found::by_id(&resolve.id, places)?;
    // Nothing is read while it is changed.
    drop(accounts);
    let word = match resolve {
        Resolve { submitted: true, .. } => Word::Submitted,
        Resolve { not_submitted: true, .. } => Word::NotSubmitted,
        Resolve { again: true, .. } => Word::Again,
        _ => Word::Drop,
    };
    let Account { producer, number, .. } = account;
    let saying = Saying { producer, number, word, expect: resolve.expect };
    let mut answer = said(place, &saying)?;
    if let (Answer::Unknown | Answer::NotOpen(_), Some(expected)) = (&answer, saying.expect) {
        // Somebody else settled it meanwhile, or it ended: its receipt says so.
        let now = place.accounts()?.map(|accounts| accounts.account(&saying.producer, number));
        let now = now.transpose().map_err(|fault| unreadable(&fault))?.flatten();
        if let Some(now) = now.filter(|now| now.revision != expected) {
            answer = Answer::Revision(now.revision);
        }
    }
    told(&plain(&resolve.id), word, &answer)
}

/// The word is carried out: by the sidecar that runs, or else here.
fn said(place: &Place, saying: &Saying) -> Result<Answer, u8> {
    let until = Instant::now() + PATIENCE;
    loop {
        let taken = match state::hold(&place.dir) {
            Ok(held) => {
                let answer = alone(place, saying);
                drop(held);
                return answer;
            }
            Err(taken) => taken,
        };
        if !matches!(taken, Taken::InUse { .. }) {
            out::complain(&format!("error: {taken}"));
            return Err(exit::STATE);
        }
        match control::say(&place.dir, saying) {
            Ok(answer) => return Ok(answer),
            Err(Unsaid::Unreached(_)) if Instant::now() < until => thread::sleep(LOOK),
            Err(Unsaid::Unreached(why)) => {
                out::complain(&format!(
                    "error: {taken}, and that process cannot be asked ({}: {why})",
                    place.dir.join(crate::admin::SOCKET).display()
                ));
                return Err(exit::STATE);
            }
            Err(Unsaid::Failed(why)) => {
                out::complain(&format!("error: the sidecar that runs did not do it: {why}"));
                return Err(exit::INTERNAL);
            }
        }
    }
}

/// No sidecar runs, and none can start while the directory is held.
fn alone(place: &Place, saying: &Saying) -> Result<Answer, u8> {
    let Saying { producer, number, word, expect } = saying;
    let journal =
        Journal::open(&place.dir, Bounds { max_bytes: u64::MAX }).map_err(|fault| unreadable(&fault))?;
    match offline::resolve(&journal, producer, *number, *expect, *word) {
        Ok(fate) => Ok(Answer::Done(fate.state().to_owned())),
        Err(ResolveFault::Unresolved(why)) => Ok(match why {
            Unresolved::Unknown => Answer::Unknown,
            Unresolved::Revision(revision) => Answer::Revision(revision),
            Unresolved::NotOpen(fate) => Answer::NotOpen(fate.state().to_owned()),
            Unresolved::NoText => Answer::NoText,
        }),
        Err(ResolveFault::Open(fault)) => Err(unreadable(&fault)),
        Err(fault) => {
            out::complain(&format!("error: {fault}"));
            Err(exit::INTERNAL)
        }
    }
}

/// What is said to the operator: on stdout if it was done, else on stderr, with the exit code.
fn told(id: &str, word: Word, answer: &Answer) -> Result<String, u8> {
    let (why, code) = match answer {
        Answer::Done(_) if word == Word::Drop => return Ok(format!("{id} is dropped\n")),
        Answer::Done(state) => {
            return Ok(match state.as_str() {
                "held" => format!("{id} is held again, and goes to the host as soon as it can\n"),
                "outcome-unknown" => format!("{id} is handed over to the host, which has not answered yet\n"),
                "deferred" => format!("{id} is held again; the host is not ready for it yet\n"),
                "replaced" => format!("{id} was replaced meanwhile: a newer one of its subject is held\n"),
                state => format!("{id} is settled: {state}\n"),
            });
        }
        Answer::Revision(revision) => (
            format!(
                "{id} has changed: it is at revision {revision} now; look at it again with `journal show {id}`"
            ),
            exit::CHANGED,
        ),
        Answer::NotOpen(state) => (not_open(id, word, state), exit::USAGE),
        Answer::NoText => {
            (format!("the content of {id} is not kept any more; all that can be done is --drop"), exit::USAGE)
        }
        Answer::Unknown => (
            format!(
                "there is nothing to settle about {id}: it has ended, or the sidecar that runs does not serve its \
                 producer; see `journal show {id}`"
            ),
            exit::USAGE,
        ),
    };
    out::complain(&format!("error: {why}"));
    Err(code)
}

fn not_open(id: &str, word: Word, state: &str) -> String {
    let dead = state == Fate::Dead(mcpl_codec::Refusal::invalid()).state();
    if dead && matches!(word, Word::Submitted | Word::NotSubmitted) {
        return format!("{id} is not in doubt: the host refused it for good; --again or --drop settle it");
    }
    format!("there is nothing to settle about {id}: it is {state}")
}

#[cfg(test)]
mod tests;
