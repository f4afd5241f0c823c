//! Looking for changes: of the configuration file, and of everything it names (contract 2, 12).

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpl_certs::Fault;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::config::{Config, TokenSource};
use crate::keyring::Keyring;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What tells one state of a file from another, found through all symbolic links on the way to it: device,
/// inode, time of its last change, length. `None`: there is no file.
type Stamp = Option<(u64, u64, (i64, i64), u64)>;

/// What a look has found.
#[derive(Debug)]
pub(super) enum Found {
    /// The configuration file has changed, and holds still.
    Config,
    /// A token file has.
    Token(PathBuf),
    /// The certificates of a store were renewed, and are published; or were changed for the worse, and
    /// those before stay.
    Certificates(Result<String, Fault>),
}

/// The files that are looked at, each second, by a thread that may wait for the disk.
#[derive(Debug)]
pub(super) struct Watch {
    files: Arc<Mutex<Files>>,
    found: mpsc::Receiver<Found>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Files {
    config: PathBuf,
    /// As it was taken over, or refused.
    seen: Stamp,
    /// As it was at the last look: a file that is still being written is not read.
    last: Stamp,
    tokens: Vec<(PathBuf, Stamp)>,
    keyring: Keyring,
}

impl Watch {
    /// Begins to look, at what this configuration names.
    pub(super) fn begin(path: &Path, config: &Config, keyring: &Keyring) -> Self {
        let now = stamp(path);
        let tokens = tokens(config);
        let files = Files { config: path.to_owned(), seen: now, last: now, tokens, keyring: keyring.clone() };
        let files = Arc::new(Mutex::new(files));
        let (finder, found) = mpsc::channel(1);
        let task = tokio::task::spawn_local(look_each_second(Arc::clone(&files), finder));
        Self { files, found, task }
    }

    /// What has changed, one at a time. Cancel-safe.
    pub(super) async fn next(&mut self) -> Found {
        match self.found.recv().await {
            Some(found) => found,
            // The task ends with this, or by a panic of its own, and then nothing is found any more.
            None => std::future::pending().await,
        }
    }

    /// The configuration file is read now, as it is.
    pub(super) fn seen(&self) {
        let mut files = lock(&self.files);
        files.seen = stamp(&files.config);
        files.last = files.seen;
    }

    /// From now on the token files of this configuration count.
    pub(super) fn names(&self, config: &Config) {
        let mut files = lock(&self.files);
        let known = std::mem::take(&mut files.tokens);
        files.tokens = tokens(config);
        for (path, stamp) in &mut files.tokens {
            if let Some((_, before)) = known.iter().find(|(known, _)| known == path) {
                *stamp = *before;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn look_each_second(files: Arc<Mutex<Files>>, finder: mpsc::Sender<Found>) {
    let mut next = tokio::time::interval(LOOK_EVERY);
    next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    next.tick().await;
    loop {
        next.tick().await;
        let files = Arc::clone(&files);
        let Ok(found) = tokio::task::spawn_blocking(move || look(&files)).await else { return };
        for found in found {
            if finder.send(found).await.is_err() {
                return;
            }
        }
    }
}

fn look(shared: &Mutex<Files>) -> Vec<Found> {
    let (config, tokens, keyring) = {
        let files = lock(shared);
        let tokens: Vec<PathBuf> = files.tokens.iter().map(|(path, _)| path.clone()).collect();
        (files.config.clone(), tokens, files.keyring.clone())
    };
    // Not under the lock: the file system may take its time.
    let now = stamp(&config);
    let tokens: Vec<(PathBuf, Stamp)> = tokens.into_iter().map(|path| (path.clone(), stamp(&path))).collect();
    let mut found: Vec<Found> = keyring.refresh().into_iter().map(Found::Certificates).collect();
    let mut files = lock(shared);
    for (path, now) in tokens {
        let known = files.tokens.iter_mut().find(|(known, _)| *known == path);
        if let Some((_, seen)) = known.filter(|(_, seen)| *seen != now) {
            *seen = now;
            found.push(Found::Token(path));
        }
    }
    // A file that is not there is one that is being replaced.
    if now.is_some() && now != files.seen && now == files.last {
        files.seen = now;
        found.push(Found::Config);
    }
    files.last = now;
    found
}

fn stamp(path: &Path) -> Stamp {
    let about = std::fs::metadata(path).ok()?;
    Some((about.dev(), about.ino(), (about.mtime(), about.mtime_nsec()), about.len()))
}

/// The token files of a configuration, as they are.
fn tokens(config: &Config) -> Vec<(PathBuf, Stamp)> {
    let admin = config.admin.iter().filter_map(|admin| admin.token_file.as_ref());
    let sources = config.producers.iter().flat_map(|producer| {
        let asked = producer.listen_auth.as_ref().and_then(|auth| auth.token.as_ref());
        [asked, producer.connect_auth.as_ref().map(|auth| &auth.token)].into_iter().flatten()
    });
    let sources = sources.filter_map(|source| match source {
        TokenSource::File(path) => Some(path),
        TokenSource::Env(_) => None,
    });
    let mut paths: Vec<PathBuf> = admin.chain(sources).cloned().collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
}

fn lock(files: &Mutex<Files>) -> MutexGuard<'_, Files> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}
