//! An operator's word while no sidecar runs (contract 9.3).

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use mcpl_policy::engine::{Recovery, Resolve, Unresolved, Word};
use mcpl_policy::fate::Fate;
use mcpl_policy::journal::{Table, WorkRow};
use mcpl_policy::{Engine, Input, Now, Output, Settings};

use super::{Journal, Ledger, OpenFault};

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ResolveFault {
    /// The journal cannot be read.
    #[error(transparent)]
    Open(#[from] OpenFault),
    /// The word is not for this occurrence.
    #[error("there is nothing to settle")]
    Unresolved(Unresolved),
    /// It could not be put on disk.
    #[error("the change cannot be put on disk; free space there and try again")]
    Unwritten,
}

/// Carries out an operator's word in a journal whose directory is held by the caller; where the occurrence stands
/// then, on disk. Blocks.
///
/// # Errors
/// [`ResolveFault`]: nothing was changed.
pub fn resolve(
    journal: &Journal,
    producer: &str,
    number: u64,
    expect: Option<u32>,
    word: Word,
) -> Result<Fate, ResolveFault> {
    let mut ledger = journal.ledger(producer)?;
    let mut recovery = Recovery::new(RandomState::new().build_hasher().finish());
    let (mut work, mut text) = (None, None);
    ledger.load(&mut |table, id, row| {
        match table {
            Table::Work if id == number => work = Some(WorkRow::decode(id, row)?),
            Table::Content if id == number => text = Some(bytes::Bytes::copy_from_slice(row)),
            _ => {}
        }
        recovery.take(table, id, row)
    })?;
    let wall_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    let mut engine =
        Engine::recover(keeping(), wall_ms, recovery).map_err(|spoilt| ledger.spoilt(&spoilt))?;
    let resolve = Resolve { request: 0, number, expect, word, work, text };
    engine.handle(Now { mono_ms: engine.clock_ms(), wall_ms }, Input::Resolve(Box::new(resolve)));
    let mut told = None;
    let mut steps = Vec::new();
    while let Some(output) = engine.poll() {
        match output {
            Output::Step(step) => steps.push(step),
            Output::Resolved { result, .. } => told = Some(result),
            _ => {}
        }
    }
    let fate = told.unwrap_or(Err(Unresolved::Unknown)).map_err(ResolveFault::Unresolved)?;
    for step in steps {
        ledger.submit(step);
    }
    if settled(&mut ledger) { Ok(fate) } else { Err(ResolveFault::Unwritten) }
}

/// Settings by which nothing is forgotten that the settings of a run would keep.
fn keeping() -> Settings {
    let mut settings = Settings { max_dead_letters: usize::MAX, ..Settings::default() };
    settings.coalesce.retry_window_ms = u64::MAX / 4;
    settings.coalesce.max_subjects = usize::MAX;
    settings
}

fn settled(ledger: &mut Ledger) -> bool {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut cx = std::task::Context::from_waker(&waker);
    let mut settling = std::pin::pin!(ledger.settle());
    loop {
        match settling.as_mut().poll(&mut cx) {
            std::task::Poll::Ready(done) => return done,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
