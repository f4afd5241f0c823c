//! `journal list`.

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::ops::ControlFlow;

use super::args::List;
use super::table::Table;
use super::{Place, unreadable, unwritten};
use crate::cli::{exit, out};
use crate::config;
use crate::journal::account::{Account, Books, Kept, OPEN_STATES, TakeAccount};

/// Writes the list to stdout.
pub(super) fn list(list: &List, places: &[Place]) -> Result<(), u8> {
    let stdout = io::stdout().lock();
    let width = columns(&stdout);
    let mut to = BufWriter::new(stdout);
    listed(list, places, &mut to, width)
}

fn listed(list: &List, places: &[Place], to: &mut dyn Write, width: Option<usize>) -> Result<(), u8> {
    let mut journals = Vec::new();
    for place in places {
        if let Some(accounts) = place.accounts()? {
            journals.push((place, accounts));
        }
    }
    if let Some(wanted) = &list.producer {
        known(wanted, &journals)?;
    }
    let mut rows = Rows::of(list, to, width);
    let (mut damage, mut spoilt) = (0_u64, false);
    let mut written = rows.begin();
    'all: for (place, accounts) in &journals {
        for producer in
            accounts.producers().filter(|name| list.producer.as_deref().is_none_or(|p| p == *name))
        {
            let take: TakeAccount<'_> = &mut |account| {
                let Ok(mut account) = account else {
                    damage += 1;
                    return ControlFlow::Continue(());
                };
                if wanted(list, &account) {
                    place.sign(&mut account);
                    written = rows.add(&account);
                }
                if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            accounts.read(producer, kept(list), 0, take).map_err(|fault| unreadable(&fault))?;
            if written.is_err() {
                break 'all;
            }
        }
    }
    out::forgive(written.and_then(|()| rows.end(list))).map_err(|why| unwritten(&why))?;
    for why in journals.iter().filter_map(|(_, accounts)| accounts.log_damage()) {
        out::complain(&format!(
            "error: the journal's write-ahead log is damaged, so that this is not all: {why}"
        ));
        spoilt = true;
    }
    if damage > 0 {
        out::complain(&format!(
            "error: the journal is damaged in {damage} places; `mcpl-sidecar journal export` names them and saves the rest"
        ));
        spoilt = true;
    }
    if spoilt { Err(exit::INTERNAL) } else { Ok(()) }
}

/// Whether the account is one that was asked for.
fn wanted(list: &List, account: &Account) -> bool {
    list.states.is_empty() || list.states.iter().any(|state| state == account.state)
}

/// A state that only receipts have asks for them.
fn kept(list: &List) -> Kept {
    let ended = |state: &String| !OPEN_STATES.contains(&state.as_str());
    if list.all || list.states.iter().any(ended) { Kept::All } else { Kept::Open }
}

/// A name that nobody has is a slip of the pen, not an empty list; where there is no journal yet, nobody knows.
fn known(wanted: &str, journals: &[(&Place, Books)]) -> Result<(), u8> {
    let names: Vec<&str> = journals.iter().flat_map(|(_, accounts)| accounts.producers()).collect();
    if names.is_empty() || names.contains(&wanted) {
        return Ok(());
    }
    out::complain(&match config::nearest(wanted, &names) {
        Some(near) => format!("error: the journal knows no producer {wanted:?}; did you mean {near:?}?"),
        None => format!("error: the journal knows no producer {wanted:?}; there are {}", names.join(", ")),
    });
    Err(exit::USAGE)
}

/// The rows of the list, in either form.
enum Rows<'a> {
    Json { to: &'a mut dyn Write, first: bool },
    Table(Table<'a>),
}

impl<'a> Rows<'a> {
    fn of(list: &List, to: &'a mut dyn Write, width: Option<usize>) -> Self {
        if list.json { Self::Json { to, first: true } } else { Self::Table(Table::new(to, width)) }
    }

    fn begin(&mut self) -> io::Result<()> {
        match self {
            Self::Json { to, .. } => to.write_all(b"["),
            Self::Table(_) => Ok(()),
        }
    }

    fn add(&mut self, account: &Account) -> io::Result<()> {
        match self {
            Self::Json { to, first } => {
                to.write_all(if std::mem::take(first) { b"\n" } else { b",\n" })?;
                serde_json::to_writer(&mut *to, account).map_err(Into::into)
            }
            Self::Table(table) => table.add(account),
        }
    }

    fn end(self, list: &List) -> io::Result<()> {
        match self {
            Self::Json { to, first } => {
                to.write_all(if first { b"]\n" } else { b"\n]\n" })?;
                to.flush()
            }
            Self::Table(table) => {
                let (to, rows) = table.end()?;
                if rows == 0 {
                    let all = kept(list) == Kept::All;
                    let nothing = if !list.states.is_empty() || list.producer.is_some() {
                        "Nothing like that."
                    } else if all {
                        "The journal is empty."
                    } else {
                        "Nothing is held, in doubt or dead."
                    };
                    writeln!(to, "{nothing}")?;
                }
                to.flush()
            }
        }
    }
}

/// The columns of the terminal that `to` is, if it is one.
fn columns(to: &io::StdoutLock<'_>) -> Option<usize> {
    if !to.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(to).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns >= 20)
}

#[cfg(test)]
mod tests;
