//! The child process of a session, kept by a task of its own so that nobody else waits for it.

use tokio::sync::{mpsc, oneshot};

use crate::child::{Child, Status};

/// What the task is told.
#[derive(Debug)]
pub(super) enum Word {
    /// The session is over: climb the ladder.
    End,
    /// Pass a signal on to the group.
    Signal(rustix::process::Signal),
    /// At once.
    Kill,
}

/// A child, from the binding's side. Dropped, it is ended all the same.
#[derive(Debug)]
pub(super) struct Offspring {
    words: mpsc::UnboundedSender<Word>,
    pub(super) exited: oneshot::Receiver<Status>,
    pub(super) gone: oneshot::Receiver<Status>,
}

impl Offspring {
    /// Hands a child to its task.
    pub(super) fn keep(child: Child) -> Self {
        let (words, heard) = mpsc::unbounded_channel();
        let (tell_exited, exited) = oneshot::channel();
        let (tell_gone, gone) = oneshot::channel();
        tokio::task::spawn_local(async move {
            let (child, status) = watch(child, heard, tell_exited).await;
            drop(child);
            // Nobody may be left who wants to know.
            let _ = tell_gone.send(status);
        });
        Self { words, exited, gone }
    }

    /// Bounded by who calls: one word a signal or an end.
    pub(super) fn tell(&self, word: Word) {
        // A task that is over needs to hear nothing.
        let _ = self.words.send(word);
    }
}

async fn watch(
    mut child: Child,
    mut heard: mpsc::UnboundedReceiver<Word>,
    tell_exited: oneshot::Sender<Status>,
) -> (Child, Status) {
    let mut ending = false;
    while !ending {
        tokio::select! {
            status = child.exited() => {
                let _ = tell_exited.send(status);
                break;
            }
            word = heard.recv() => match word {
                Some(Word::Signal(signal)) => child.signal(signal),
                Some(Word::Kill) => { child.kill(); ending = true; }
                Some(Word::End) | None => ending = true,
            },
        }
    }
    loop {
        tokio::select! {
            status = child.end() => return (child, status),
            word = heard.recv() => match word {
                Some(Word::Signal(signal)) => child.signal(signal),
                Some(Word::Kill) => child.kill(),
                Some(Word::End) => {}
                None => {
                    let status = child.end().await;
                    return (child, status);
                }
            },
        }
    }
}
