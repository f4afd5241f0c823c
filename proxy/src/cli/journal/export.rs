//! `journal export`.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use super::args::Export;
use super::{Place, unreadable, unwritten};
use crate::cli::{exit, out};
use crate::journal::OpenFault;
use crate::journal::account::{Books, Kept, TakeAccount};

/// Places that cannot be read and are named one by one; the rest are counted.
const NAMED: u64 = 100;

/// Writes the journals to a file or to stdout.
pub(super) fn export(export: &Export, places: &[Place]) -> Result<(), u8> {
    let progress = Progress::new(io::stderr().is_terminal());
    match export.output.as_deref().filter(|path| *path != Path::new("-")) {
        None => exported(places, &mut BufWriter::new(io::stdout().lock()), progress).map(drop),
        Some(path) => {
            let refused = |why: io::Error| {
                out::complain(&format!("error: {} cannot be written: {why}", path.display()));
                exit::USAGE
            };
            if let Some(place) = places.iter().find(|place| is_within(path, &place.dir)) {
                out::complain(&format!(
                    "error: {} is in the state directory {}, where the journal itself is; write to another folder",
                    path.display(),
                    place.dir.display()
                ));
                return Err(exit::USAGE);
            }
            let file = private(path).map_err(refused)?;
            let mut to = BufWriter::new(file);
            let result = exported(places, &mut to, progress);
            to.get_ref().sync_all().map_err(refused)?;
            let written = result?;
            let s = if written == 1 { "" } else { "s" };
            out::complain(&format!("{written} occurrence{s} written to {}", path.display()));
            Ok(())
        }
    }
}

/// Whether what would be written to `path` lies in the folder `dir`, by whatever name.
fn is_within(path: &Path, dir: &Path) -> bool {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(dir) = dir.canonicalize() else { return false };
    [path, parent].iter().any(|path| path.canonicalize().is_ok_and(|path| path.starts_with(&dir)))
}

/// A file that only its owner can read, whatever was there.
fn private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// How many were written; or the exit code, with what could not be read on stderr.
fn exported(places: &[Place], to: &mut dyn Write, mut progress: Progress) -> Result<u64, u8> {
    let mut damage = 0;
    let mut named = |what: &str, progress: &mut Progress| {
        damage += 1;
        if damage <= NAMED {
            progress.clear();
            out::complain(what);
        }
    };
    let mut written = Ok(());
    for place in places {
        let accounts = match Books::at(&place.dir) {
            Ok(Some(accounts)) => accounts,
            Ok(None) => continue,
            Err(fault @ OpenFault::Corrupt { .. }) => {
                named(&format!("error: {fault}"), &mut progress);
                continue;
            }
            Err(fault) => return Err(unreadable(&fault)),
        };
        if let Some(why) = accounts.log_damage() {
            named(&format!("not saved: commits of the write-ahead log {why}"), &mut progress);
        }
        for producer in accounts.producers() {
            progress.of(producer, accounts.next(producer));
            let take: TakeAccount<'_> = &mut |account| {
                match account {
                    Ok(mut account) => {
                        place.sign(&mut account);
                        if let Ok(Some(text)) = accounts.text(producer, account.number) {
                            account.show_event(&text);
                        }
                        if let Ok(notices) = accounts.notices(&account) {
                            account.show_notices(&notices);
                        }
                        progress.at(account.number);
                        written = serde_json::to_writer(&mut *to, &account)
                            .map_err(Into::into)
                            .and_then(|()| to.write_all(b"\n"));
                    }
                    Err(spoilt) => {
                        named(&format!("not saved, of {producer:?}: {spoilt}"), &mut progress);
                    }
                }
                if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let read = accounts.read(producer, Kept::All, 0, take);
            if written.is_err() {
                break;
            }
            if let Err(fault) = read {
                named(&format!("error: {fault}"), &mut progress);
            }
        }
    }
    progress.clear();
    out::forgive(written.and_then(|()| to.flush())).map_err(|why| unwritten(&why))?;
    match damage {
        0 => Ok(progress.written),
        damage => {
            out::complain(&format!(
                "error: the journal is damaged: {damage} places could not be read, {} occurrences were saved",
                progress.written
            ));
            Err(exit::INTERNAL)
        }
    }
}

/// The progress line, on a terminal only.
struct Progress {
    shown: bool,
    terminal: bool,
    next: Instant,
    producer: String,
    end: Option<u64>,
    written: u64,
}

impl Progress {
    const EVERY: Duration = Duration::from_millis(200);

    fn new(terminal: bool) -> Self {
        let next = Instant::now() + Self::EVERY;
        Self { shown: false, terminal, next, producer: String::new(), end: None, written: 0 }
    }

    fn of(&mut self, producer: &str, end: Option<u64>) {
        (self.producer, self.end) = (producer.to_owned(), end);
    }

    /// One more was written; its number.
    fn at(&mut self, number: u64) {
        self.written += 1;
        if self.terminal && self.written.is_multiple_of(256) && Instant::now() >= self.next {
            self.next = Instant::now() + Self::EVERY;
            self.shown = true;
            let line = line(&self.producer, self.written, number, self.end);
            let _ = write!(io::stderr(), "\r{line}\x1b[K");
        }
    }

    /// Takes the line away.
    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(producer: &str, written: u64, number: u64, end: Option<u64>) -> String {
    let part = end.filter(|end| *end > number).map(|end| format!(" ({}%)", number * 100 / end));
    format!("{producer}: {written} occurrences{}", part.unwrap_or_default())
}

#[cfg(test)]
mod tests;
