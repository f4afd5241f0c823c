//! The signals the program listens to.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals the program listens to.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    hang_up: Signal,
    /// What means nothing to us, but would end the process and leave a child behind.
    others: [Signal; 3],
}

/// What a signal asks for.
pub(super) enum Asked {
    Reload,
    End(i32),
    Nothing(i32),
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            hang_up: signal(SignalKind::hangup())?,
            others: [
                signal(SignalKind::user_defined1())?,
                signal(SignalKind::user_defined2())?,
                signal(SignalKind::alarm())?,
            ],
        })
    }

    pub(super) async fn next(&mut self) -> Asked {
        let [first, second, alarm] = &mut self.others;
        tokio::select! {
            _ = first.recv() => Asked::Nothing(SignalKind::user_defined1().as_raw_value()),
            _ = second.recv() => Asked::Nothing(SignalKind::user_defined2().as_raw_value()),
            _ = alarm.recv() => Asked::Nothing(SignalKind::alarm().as_raw_value()),
            _ = self.terminate.recv() => Asked::End(SignalKind::terminate().as_raw_value()),
            _ = self.interrupt.recv() => Asked::End(SignalKind::interrupt().as_raw_value()),
            _ = self.quit.recv() => Asked::End(SignalKind::quit().as_raw_value()),
            _ = self.hang_up.recv() => Asked::Reload,
        }
    }
}
