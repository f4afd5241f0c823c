//! The table of `journal list`: one line an account.

use std::io::{self, Write};

use super::plain::plain;
use crate::journal::account::{Account, By};
use mcpl_policy::fate::Fate;

/// Books that decide how wide the columns are; the rest follow.
const MEASURED: usize = 256;

/// The widest that a column is made for what is in it.
const WIDEST: usize = 40;

const HEAD: [&str; 5] = ["ID", "STATE", "REV", "ADMITTED", "EVENT ID"];

/// A table that is written as it is filled.
pub(super) struct Table<'a> {
    to: &'a mut dyn Write,
    /// Columns of the terminal; `None`: no line is cut.
    width: Option<usize>,
    waiting: Vec<[String; 6]>,
    columns: Option<[usize; 5]>,
    rows: u64,
}

impl<'a> Table<'a> {
    pub(super) fn new(to: &'a mut dyn Write, width: Option<usize>) -> Self {
        Self { to, width, waiting: Vec::new(), columns: None, rows: 0 }
    }

    pub(super) fn add(&mut self, account: &Account) -> io::Result<()> {
        self.rows += 1;
        let row = row(account);
        if self.columns.is_some() {
            return self.line(&row);
        }
        self.waiting.push(row);
        if self.waiting.len() == MEASURED { self.flush() } else { Ok(()) }
    }

    /// Writes what still waits; what was written to, and how many rows there were.
    pub(super) fn end(mut self) -> io::Result<(&'a mut dyn Write, u64)> {
        if self.rows > 0 {
            self.flush()?;
        }
        Ok((self.to, self.rows))
    }

    fn flush(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        if self.columns.is_none() {
            let mut columns = HEAD.map(str::len);
            for row in &waiting {
                for (column, cell) in columns.iter_mut().zip(row) {
                    *column = (*column).max(cell.chars().count()).min(WIDEST);
                }
            }
            self.columns = Some(columns);
            let [id, state, revision, admitted, event_id] = HEAD.map(ToOwned::to_owned);
            self.line(&[id, state, revision, admitted, event_id, String::new()])?;
        }
        waiting.iter().try_for_each(|row| self.line(row))
    }

    fn line(&mut self, row: &[String; 6]) -> io::Result<()> {
        let columns = self.columns.unwrap_or_default();
        let mut line = String::new();
        for (cell, width) in row.iter().zip(columns.iter().map(|width| width + 2).chain([0])) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count()).max(2)));
        }
        let line = line.trim_end();
        match self.width {
            Some(width) if line.chars().count() > width => {
                let cut: String = line.chars().take(width.saturating_sub(1)).collect();
                writeln!(self.to, "{cut}…")
            }
            _ => writeln!(self.to, "{line}"),
        }
    }
}

fn row(account: &Account) -> [String; 6] {
    let slot = account.slot.map_or_else(String::new, |slot| format!(" (slot {slot})"));
    [
        plain(&account.id) + &slot,
        account.state.to_owned(),
        account.revision.to_string(),
        account.admitted.clone().map_or_else(|| "-".to_owned(), |time| to_the_second(&time)),
        plain(&account.event_id),
        remark(account),
    ]
}

/// `2026-11-30T06:50:12.345Z` without what nobody reads in a table.
fn to_the_second(time: &str) -> String {
    time.split_once('.').map_or_else(|| time.to_owned(), |(seconds, _)| format!("{seconds}Z"))
}

/// What matters most of an account beside its state.
fn remark(account: &Account) -> String {
    let by = |how: &str, by: &By| {
        let event_id = by.event_id.as_deref().map_or_else(String::new, |id| format!(" {}", plain(id)));
        format!("{how} {}{event_id}", plain(&by.id))
    };
    match (&account.fate, &account.replaced_by, &account.withdrawn_by) {
        (_, Some(newer), _) => by("by", newer),
        (_, _, Some(notice)) => by("by", notice),
        (Fate::Dead(refusal), ..) => plain(refusal.kind.as_str()),
        (Fate::Deferred(_), ..) => {
            let after = account.not_before.as_deref().map(|time| format!(", next not before {time}"));
            format!("tries: {}{}", account.attempts.unwrap_or(0), after.unwrap_or_default())
        }
        (fate, ..) if fate.is_submitted() && account.doubtful => {
            "goes again with the next session".to_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: Option<usize>, accounts: &[Account]) -> Vec<String> {
        let mut to = Vec::new();
        let mut table = Table::new(&mut to, width);
        for account in accounts {
            table.add(account).unwrap();
        }
        assert_eq!(table.end().unwrap().1, accounts.len() as u64);
        String::from_utf8(to).unwrap().lines().map(ToOwned::to_owned).collect()
    }

    fn account(number: u64, event_id: &str) -> Account {
        crate::journal::account::sample::held("discord", number, event_id)
    }

    #[test]
    fn columns_stand_under_their_heads_and_nothing_is_written_for_nothing() {
        let lines = table(None, &[account(9, "a"), account(1000, "a long name")]);
        assert_eq!(lines[0], "ID            STATE  REV  ADMITTED              EVENT ID");
        assert_eq!(lines[1], "discord/9     held   1    2027-01-15T07:59:59Z  a");
        assert_eq!(lines[2], "discord/1000  held   1    2027-01-15T07:59:59Z  a long name");
        assert!(table(None, &[]).is_empty());
    }

    #[test]
    fn a_line_is_cut_to_a_terminal_and_never_to_a_pipe() {
        let long = "x".repeat(300);
        let lines = table(Some(80), &[account(1, &long)]);
        assert!(lines.iter().all(|line| line.chars().count() <= 80) && lines[1].ends_with('…'), "{lines:?}");
        assert!(table(None, &[account(1, &long)])[1].ends_with(&long));
    }

    #[test]
    fn rows_past_the_measured_ones_are_written_as_they_come() {
        let accounts: Vec<Account> = (1..=MEASURED as u64 + 10).map(|n| account(n, "e")).collect();
        let lines = table(None, &accounts);
        assert_eq!(lines.len(), MEASURED + 11);
        assert!(lines[MEASURED + 10].starts_with("discord/266"));
    }

    #[test]
    fn an_event_id_cannot_write_on_the_terminal() {
        assert!(table(None, &[account(1, "\u{1b}[2J")])[1].ends_with("\\u{1b}[2J"));
    }
}
