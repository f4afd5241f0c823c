//! How a group is ended: end of input at once, SIGTERM after 1 s, SIGKILL after 2.5 s (contract 3.1).

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep_until, timeout};

use super::{Child, Status, group};

const TERM_AFTER: Duration = Duration::from_secs(1);
const KILL_AFTER: Duration = Duration::from_millis(2500);
/// A process that the kernel does not let die (it hangs in a device) is not waited for any longer.
const GIVE_UP_AFTER: Duration = Duration::from_millis(3500);
/// Nobody tells when the last of a group without its leader ends, so it is looked at, first after this long.
const LOOK_FIRST: Duration = Duration::from_millis(5);
const LOOK_EVERY: Duration = Duration::from_millis(80);
/// How long the last words on a dead child's stderr are waited for, should somebody else hold that pipe.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How far the ladder has been climbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rung {
    #[default]
    Input,
    Term,
    Kill,
}

impl Child {
    /// The end begins now, if it has not: the times of the ladder count from here. The caller closes the
    /// child's stdin.
    pub fn begin_end(&mut self) {
        self.ending.get_or_insert_with(Instant::now);
    }

    /// SIGKILL to the whole group at once: somebody asked twice.
    pub fn kill(&mut self) {
        self.begin_end();
        self.rung = Rung::Kill;
        self.signal(Signal::KILL);
    }

    /// Ends the group and waits for it: who is left is sent SIGTERM 1 s after the end began, SIGKILL 2.5 s
    /// after. The caller has closed the child's stdin and may go on reading its stdout meanwhile. Returns when
    /// nothing of the group is left (at the latest 3.5 s after the end began) how the leader ended.
    /// Cancel-safe: called again it goes on where it was.
    pub async fn end(&mut self) -> Status {
        self.begin_end();
        let began = self.ending.unwrap_or_else(Instant::now);
        let mut look = LOOK_FIRST;
        while !self.gone {
            if self.reap() && !group::lives(self.pid) {
                self.gone = true;
                break;
            }
            let now = Instant::now();
            if now >= began + KILL_AFTER && self.rung < Rung::Kill {
                self.rung = Rung::Kill;
                self.signal(Signal::KILL);
            } else if now >= began + TERM_AFTER && self.rung < Rung::Term {
                self.rung = Rung::Term;
                self.signal(Signal::TERM);
            }
            if now >= began + GIVE_UP_AFTER {
                break;
            }
            let step = began
                + match self.rung {
                    Rung::Input => TERM_AFTER,
                    Rung::Term => KILL_AFTER,
                    Rung::Kill => GIVE_UP_AFTER,
                };
            let mut wake = step;
            if self.reaped {
                wake = step.min(now + look);
                look = (look * 2).min(LOOK_EVERY);
            }
            tokio::select! {
                _ = self.changes.recv() => {}
                () = sleep_until(wake) => {}
            }
        }
        if let Some(drain) = &mut self.drain {
            if timeout(LAST_WORDS, &mut *drain).await.is_err() {
                drain.abort();
            }
            self.drain = None;
        }
        self.status.unwrap_or(Status::Unknown)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.gone {
            return;
        }
        self.signal(Signal::KILL);
        // A killed process ends at once, but not before the signal is delivered; a moment is enough.
        for _ in 0..50 {
            if self.reap() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
