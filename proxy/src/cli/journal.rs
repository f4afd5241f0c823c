//! `journal`: what is held, in doubt, delivered, dead, and what an operator says of it (contract 1, 9).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{exit, out};
use crate::config::{self, Env, Purpose};
use crate::journal::OpenFault;
use crate::journal::account::{Account, Books};
use crate::state;

pub(super) mod args;
mod control;
mod export;
mod found;
mod list;
pub(super) mod plain;
mod resolve;
mod show;
mod table;

use self::args::{Command, Journal, Where};

/// What can be said about what somebody gave that is not there.
const HINT: &str = "`mcpl-sidecar journal list --all` shows what is known";

/// Does what the arguments say; or the exit code, with the reason on stderr.
pub(super) fn journal(journal: Journal, env: Env<'_>) -> Result<ExitCode, u8> {
    match journal.command {
        Command::List(list) => list::list(&list, &places(&list.at, env)?),
        Command::Show(show) => show::show(&show, &places(&show.at, env)?),
        Command::Resolve(resolve) => resolve::resolve(&resolve, &places(&resolve.at, env)?),
        Command::Export(export) => export::export(&export, &places(&export.at, env)?),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// A state directory that may have a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    dir: PathBuf,
    /// The slot of a `wrap`.
    slot: Option<usize>,
}

impl Place {
    /// The accounts of its journal; `None`: it has none.
    fn accounts(&self) -> Result<Option<Books>, u8> {
        Books::at(&self.dir).map_err(|fault| unreadable(&fault))
    }

    /// Says where an account is from.
    fn sign(&self, account: &mut Account) {
        account.slot = self.slot;
    }
}

/// The state directories that the arguments name.
fn places(at: &Where, env: Env<'_>) -> Result<Vec<Place>, u8> {
    let state_dir = match &at.config {
        Some(path) => state_dir(path, env)?,
        None if at.name.is_none() => {
            out::complain(
                "error: whose journal? Give --config FILE for that of a `run`, or --name N for those of a `wrap`",
            );
            return Err(exit::USAGE);
        }
        None => state::default_dir(env).ok_or_else(|| {
            out::complain("error: there is no place for state: neither XDG_STATE_HOME nor HOME is set");
            exit::STATE
        })?,
    };
    let Some(name) = &at.name else { return Ok(vec![Place { dir: state_dir, slot: None }]) };
    if !config::is_name(name) {
        out::complain("error: --name takes 1 to 64 of a-z, 0-9, `.`, `_`, `-`, a letter or digit first");
        return Err(exit::USAGE);
    }
    let folder = state::slot::folder(&state_dir, name);
    let slots = at.slot.map_or(0..state::slot::MOST, |slot| slot..slot + 1);
    let places = slots.map(|slot| Place { dir: folder.join(slot.to_string()), slot: Some(slot) });
    Ok(places.filter(|place| place.dir.is_dir()).collect())
}

/// What a file says of `state_dir`. What a file for `wrap` leaves out is not needed here either, nor are variables that
/// only the service has: an operator's shell knows no tokens.
fn state_dir(path: &Path, env: Env<'_>) -> Result<PathBuf, u8> {
    const UNSET: &str = "unset-variable";
    let stand_in = |name: &str| match name {
        // Where state lies by default is not to be made up.
        "XDG_STATE_HOME" | "HOME" => env(name),
        _ => env(name).or_else(|| Some(UNSET.to_owned())),
    };
    match config::load_for(Purpose::Wrap, path, &stand_in) {
        Ok(loaded) if !loaded.config.state_dir.to_string_lossy().contains(UNSET) => {
            Ok(loaded.config.state_dir)
        }
        // With the variables as they are, it is said what is wrong.
        _ => super::loaded(Purpose::Wrap, path, env).map(|loaded| loaded.config.state_dir),
    }
}

/// The exit code for a journal that cannot be read, once that is said.
fn unreadable(fault: &OpenFault) -> u8 {
    out::complain(&format!("error: {fault}"));
    exit::STATE
}

/// The exit code for stdout that cannot be written.
fn unwritten(why: &std::io::Error) -> u8 {
    out::complain(&format!("error: stdout cannot be written: {why}"));
    exit::INTERNAL
}

#[cfg(test)]
mod tests;
