//! Books from a journal, whether it is written at the time or not.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use mcpl_policy::fate::Fate;
use mcpl_policy::journal::{MetaRow, ReceiptRow, Spoilt, Table, WorkRow};

use super::{Account, Clock, Rows, batch};
use crate::journal::{OpenFault, Reader};

/// So many rows of a table are read at a time, or so many bytes of them.
const WINDOW_ROWS: usize = 1024;
const WINDOW_BYTES: usize = 1 << 20;

/// Takes an account, or what of the journal cannot be read.
pub type TakeAccount<'a> = &'a mut dyn FnMut(Result<Account, Spoilt>) -> ControlFlow<()>;

/// Some accounts, and the producer and number of the last of them if there is more after it.
pub type Portion = (Vec<Account>, Option<(String, u64)>);

/// Which accounts are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// What is held, deferred, in doubt or dead.
    Open,
    /// That, and what ended inside the retry window.
    All,
}

/// The accounts of a state directory's journal.
///
/// They are read piece by piece: each account is as it was at some moment since the reading began.
#[derive(Debug)]
pub struct Books {
    pub(super) reader: Reader,
    producers: Vec<(String, u64)>,
}

impl Books {
    /// Opens the journal of a state directory, for reading only and without its lock.
    ///
    /// # Errors
    /// [`OpenFault`]; [`OpenFault::Absent`] if there is none.
    pub fn open(dir: &Path) -> Result<Self, OpenFault> {
        let reader = Reader::open(dir)?;
        Ok(Self { producers: reader.bindings()?, reader })
    }

    /// As [`Books::open`], where it is no error that there is none.
    ///
    /// # Errors
    /// [`OpenFault`], but for its absence.
    pub fn at(dir: &Path) -> Result<Option<Self>, OpenFault> {
        match Self::open(dir) {
            Ok(books) => Ok(Some(books)),
            Err(OpenFault::Absent { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// What is wrong with the journal's write-ahead log, in words: what was in it is not all in these accounts.
    pub fn log_damage(&self) -> Option<String> {
        self.reader.log_damage()
    }

    /// The names of those that have, or had, work in it.
    pub fn producers(&self) -> impl Iterator<Item = &str> {
        self.producers.iter().map(|(name, _)| name.as_str())
    }

    /// The number that a producer's next occurrence gets, where it can be read: a measure of how much there is.
    pub fn next(&self, producer: &str) -> Option<u64> {
        self.meta(self.binding(producer)?).map(|meta| meta.next)
    }

    /// One occurrence; `None`: nothing is known of it.
    ///
    /// # Errors
    /// [`OpenFault`]; [`OpenFault::Corrupt`] if what the account rests on is damaged.
    pub fn account(&self, producer: &str, number: u64) -> Result<Option<Account>, OpenFault> {
        let Some(binding) = self.binding(producer) else { return Ok(None) };
        let Some(mut rows) = self.rows(binding, number)? else { return Ok(None) };
        let meta = self.meta(binding);
        rows.due = meta.as_ref().map_or(0, |meta| meta.due);
        Ok(Account::of(producer, number, rows, meta.as_ref().map(Clock::of).as_ref()))
    }

    /// The text of an occurrence, while it is kept.
    ///
    /// # Errors
    /// As [`Books::account`].
    pub fn text(&self, producer: &str, number: u64) -> Result<Option<Vec<u8>>, OpenFault> {
        match self.binding(producer) {
            Some(binding) => self.reader.get(binding, Table::Content, number),
            None => Ok(None),
        }
    }

    /// The newest occurrence of a producer that is known by this `eventId`. Reads every receipt: a running sidecar is
    /// quicker to ask.
    ///
    /// # Errors
    /// [`OpenFault`] for anything but damage: what cannot be read is passed over.
    pub fn find(&self, producer: &str, event_id: &str) -> Result<Option<Account>, OpenFault> {
        let Some(binding) = self.binding(producer) else { return Ok(None) };
        let (mut newest, mut remembered) = (None, None);
        self.reader.scan(binding, Table::Receipt, 0, &mut |id, row| {
            remembered.get_or_insert(id);
            if let Ok(receipt) = row.and_then(|row| ReceiptRow::decode(id, row))
                && *receipt.event_id == *event_id
            {
                newest = Some(id);
            }
            ControlFlow::Continue(())
        })?;
        // What is older than every receipt says itself what it is known by, or its text does.
        let oldest = remembered.unwrap_or(u64::MAX);
        if newest.is_none() {
            let mut fault = None;
            self.reader.scan(binding, Table::Work, 0, &mut |id, row| {
                if id >= oldest {
                    return ControlFlow::Break(());
                }
                let Ok(work) = row.and_then(|row| WorkRow::decode(id, row)) else {
                    return ControlFlow::Continue(());
                };
                let text = match work.event_id {
                    Some(_) => Ok(None),
                    None => self.reader.get(binding, Table::Content, id),
                };
                let text = match text {
                    Ok(text) => text.map(Into::into),
                    Err(OpenFault::Corrupt { .. }) => None,
                    Err(other) => {
                        fault = Some(other);
                        return ControlFlow::Break(());
                    }
                };
                let rows = Rows { work: Some(work), text, ..Rows::default() };
                if Account::of(producer, id, rows, None).is_some_and(|account| account.event_id == event_id) {
                    newest = Some(id);
                }
                ControlFlow::Continue(())
            })?;
            if let Some(fault) = fault {
                return Err(fault);
            }
        }
        newest.map_or(Ok(None), |id| self.account(producer, id))
    }

    /// The newest number of a producer that is still open and says itself that it is known by this `eventId`: what is
    /// dead or in doubt past the retry window. Reads no receipt.
    ///
    /// # Errors
    /// [`OpenFault`] for anything but damage: what cannot be read is passed over.
    pub fn find_open(&self, producer: &str, event_id: &str) -> Result<Option<u64>, OpenFault> {
        let Some(binding) = self.binding(producer) else { return Ok(None) };
        let mut newest = None;
        self.reader.scan(binding, Table::Work, 0, &mut |id, row| {
            if let Ok(work) = row.and_then(|row| WorkRow::decode(id, row))
                && work.event_id.as_deref() == Some(event_id)
            {
                newest = Some(id);
            }
            ControlFlow::Continue(())
        })?;
        Ok(newest)
    }

    /// Some accounts of what is open, of one producer or of all, in the order of producers and numbers: those after
    /// one, `limit` of them at most; and the last of them, if there is more. What is damaged is left out.
    ///
    /// # Errors
    /// [`OpenFault`] for anything but damage.
    pub fn live(
        &self,
        producer: Option<&str>,
        after: Option<(String, u64)>,
        limit: usize,
    ) -> Result<Portion, OpenFault> {
        let mut accounts: Vec<Account> = Vec::new();
        let mut more = false;
        let (last, mut from) =
            after.map_or((None, 0), |(name, number)| (Some(name), number.saturating_add(1)));
        let names = self.producers().skip_while(|name| last.as_deref().is_some_and(|last| last != *name));
        for name in names.filter(|name| producer.is_none_or(|wanted| wanted == *name)) {
            let start = if last.as_deref() == Some(name) { std::mem::take(&mut from) } else { 0 };
            self.read(name, Kept::Open, start, &mut |account| {
                let Ok(account) = account else { return ControlFlow::Continue(()) };
                more = accounts.len() == limit;
                if more {
                    return ControlFlow::Break(());
                }
                accounts.push(account);
                ControlFlow::Continue(())
            })?;
            if more {
                break;
            }
        }
        let last = accounts.last().filter(|_| more).map(|last| (last.producer.clone(), last.number));
        Ok((accounts, last))
    }

    /// Reads a producer's accounts in the order of their numbers, from a number on, until `take` breaks.
    ///
    /// # Errors
    /// [`OpenFault`] for anything but damage, which `take` is told.
    pub fn read(
        &self,
        producer: &str,
        kept: Kept,
        mut from: u64,
        take: TakeAccount<'_>,
    ) -> Result<(), OpenFault> {
        let Some(binding) = self.binding(producer) else { return Ok(()) };
        let meta = self.meta(binding);
        if meta.is_none()
            && from == 0
            && self.reader.get(binding, Table::Meta, 0).map_or(true, |row| row.is_some())
        {
            let why = "it cannot be read: the times of all others are not known";
            if take(Err(Spoilt { table: Table::Meta, id: 0, why })).is_break() {
                return Ok(());
            }
        }
        let clock = meta.as_ref().map(Clock::of);
        loop {
            // Work first: what ends in between is told as what it was, not as something that never was.
            let works = self.window(binding, Table::Work, from, WorkRow::decode)?;
            let receipts = match kept {
                Kept::Open => Window { rows: Vec::new(), next: None },
                Kept::All => self.window(binding, Table::Receipt, from, ReceiptRow::decode)?,
            };
            let end = [works.next, receipts.next].into_iter().flatten().min();
            let within = |id: u64| end.is_none_or(|end| id < end);
            let mut found: BTreeMap<u64, Rows> = BTreeMap::new();
            let mut spoilt = Vec::new();
            for (id, row) in works.rows.into_iter().filter(|(id, _)| within(*id)) {
                match row {
                    Ok(work) => found.entry(id).or_default().work = Some(work),
                    Err(why) => spoilt.push(why),
                }
            }
            for (id, row) in receipts.rows.into_iter().filter(|(id, _)| within(*id)) {
                match row {
                    Ok(receipt) => found.entry(id).or_default().receipt = Some(receipt),
                    Err(why) => spoilt.push(why),
                }
            }
            for why in spoilt {
                if take(Err(why)).is_break() {
                    return Ok(());
                }
            }
            for (number, rows) in found {
                let (mut rows, spoilt) = self.filled(binding, number, rows)?;
                rows.due = meta.as_ref().map_or(0, |meta| meta.due);
                for why in spoilt {
                    if take(Err(why)).is_break() {
                        return Ok(());
                    }
                }
                let account = Account::of(producer, number, rows, clock.as_ref());
                if account.is_some_and(|account| take(Ok(account)).is_break()) {
                    return Ok(());
                }
            }
            match end {
                Some(end) => from = end,
                None => return Ok(()),
            }
        }
    }

    pub(super) fn binding(&self, producer: &str) -> Option<u64> {
        self.producers.iter().find(|(name, _)| name == producer).map(|(_, binding)| *binding)
    }

    /// The row that all ages rest on; without it there are none.
    fn meta(&self, binding: u64) -> Option<MetaRow> {
        self.reader.get(binding, Table::Meta, 0).ok()?.and_then(|row| MetaRow::decode(&row).ok())
    }

    fn rows(&self, binding: u64, number: u64) -> Result<Option<Rows>, OpenFault> {
        // The receipt last: it says how that ended which the first look found nowhere any more.
        let work = self.row(binding, Table::Work, number, WorkRow::decode)?;
        let receipt = self.row(binding, Table::Receipt, number, ReceiptRow::decode)?;
        if work.is_none() && receipt.is_none() {
            return Ok(None);
        }
        let (rows, _) = self.filled(binding, number, Rows { work, receipt, ..Rows::default() })?;
        Ok(Some(rows))
    }

    /// Rows with the text, the notices and what ended it; and what of that cannot be read.
    fn filled(&self, binding: u64, number: u64, mut rows: Rows) -> Result<(Rows, Vec<Spoilt>), OpenFault> {
        if rows.work.is_none() && rows.receipt.as_ref().is_some_and(|receipt| is_live(&receipt.fate)) {
            // It was admitted after the work was read; or ended after the receipt was, which then says how.
            let work = sound(self.row(binding, Table::Work, number, WorkRow::decode))?;
            if work.is_none()
                && let Some(receipt) = sound(self.row(binding, Table::Receipt, number, ReceiptRow::decode))?
            {
                rows.receipt = Some(receipt);
            }
            rows.work = work;
        }
        if let Some(by) = rows.receipt.as_ref().map(|receipt| receipt.by).filter(|by| *by > 0) {
            let receipt = sound(self.row(binding, Table::Receipt, by, ReceiptRow::decode))?;
            rows.by = receipt.map(|receipt| receipt.event_id.into());
        }
        let mut spoilt = Vec::new();
        let Some(work) = &rows.work else { return Ok((rows, spoilt)) };
        if let Some(batch) = batch::batch_of(work) {
            let (notices, why) = self.kept(binding, &batch)?;
            rows.kept = notices.len();
            spoilt = why;
        }
        match self.reader.get(binding, Table::Content, number) {
            Ok(text) => rows.text = text.map(Into::into),
            Err(OpenFault::Corrupt { .. }) => {
                spoilt.push(Spoilt { table: Table::Content, id: number, why: "its bytes are damaged" });
            }
            Err(fault) => return Err(fault),
        }
        Ok((rows, spoilt))
    }

    fn row<T>(
        &self,
        binding: u64,
        table: Table,
        id: u64,
        decode: fn(u64, &[u8]) -> Result<T, Spoilt>,
    ) -> Result<Option<T>, OpenFault> {
        let row = self.reader.get(binding, table, id)?;
        row.map(|row| decode(id, &row)).transpose().map_err(|spoilt| {
            let what = spoilt.to_string();
            let savable = "the rest".to_owned();
            OpenFault::Corrupt {
                file: self.reader.file().to_owned(),
                table: Some(table),
                id: Some(id),
                what,
                savable,
            }
        })
    }

    /// Some rows of a table from a number on, and the number to go on with.
    fn window<T>(
        &self,
        binding: u64,
        table: Table,
        from: u64,
        decode: fn(u64, &[u8]) -> Result<T, Spoilt>,
    ) -> Result<Window<T>, OpenFault> {
        let mut window = Window { rows: Vec::new(), next: None };
        let mut bytes = 0;
        self.reader.scan(binding, table, from, &mut |id, row| {
            if window.rows.len() == WINDOW_ROWS || bytes >= WINDOW_BYTES {
                window.next = Some(id);
                return ControlFlow::Break(());
            }
            bytes += row.as_ref().map_or(0, |row| row.len());
            window.rows.push((id, row.and_then(|row| decode(id, row))));
            ControlFlow::Continue(())
        })?;
        Ok(window)
    }
}

struct Window<T> {
    rows: Vec<(u64, Result<T, Spoilt>)>,
    /// There is more, from here on.
    next: Option<u64>,
}

/// A row that is damaged is as good as none.
fn sound<T>(row: Result<Option<T>, OpenFault>) -> Result<Option<T>, OpenFault> {
    match row {
        Err(OpenFault::Corrupt { .. }) => Ok(None),
        other => other,
    }
}

/// It is still to be handed over, or answered for.
fn is_live(fate: &Fate) -> bool {
    !fate.is_end() && !fate.is_in_doubt()
}

/// Since when the oldest work of a state directory is held, in ms since 1970: which slot a `wrap` takes (contract 1).
/// `None`: nothing is held there, or it cannot be read.
pub fn oldest_held(dir: &Path) -> Option<u64> {
    let books = Books::open(dir).ok()?;
    let oldest = |binding: u64| {
        let mut oldest = None;
        let scanned = books.reader.scan(binding, Table::Work, 0, &mut |id, row| {
            match row.and_then(|row| WorkRow::decode(id, row)) {
                Ok(work) if is_live(&work.fate) => oldest = Some(work.admitted_ms),
                _ => return ControlFlow::Continue(()),
            }
            // Numbers are given in the order of admission.
            ControlFlow::Break(())
        });
        scanned.ok()?;
        let clock = Clock::of(&books.meta(binding)?);
        Some(u64::try_from(clock.wall_ms(oldest?)).unwrap_or(0))
    };
    books.producers.iter().filter_map(|(_, binding)| oldest(*binding)).min()
}

#[cfg(test)]
mod tests;
