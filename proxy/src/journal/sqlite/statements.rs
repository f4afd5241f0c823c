//! The statements that are used over and over, as text: `SQLite`'s are kept prepared by it.

use mcpl_policy::journal::Table;

/// Statements of no table.
pub(super) struct Statements;

impl Statements {
    pub(super) const BEGIN: &'static str = "BEGIN IMMEDIATE";
    pub(super) const COMMIT: &'static str = "COMMIT";
    pub(super) const ROLLBACK: &'static str = "ROLLBACK";
    pub(super) const PAGE_SIZE: &'static str = "PRAGMA page_size";
    pub(super) const PAGE_COUNT: &'static str = "PRAGMA page_count";
    pub(super) const FREE_PAGES: &'static str = "PRAGMA freelist_count";
    pub(super) const GIVE_BACK: &'static str = "PRAGMA incremental_vacuum(64)";
}

/// Statements of a table.
pub(in crate::journal) struct OfTable {
    pub(in crate::journal) put: &'static str,
    pub(in crate::journal) delete: &'static str,
    pub(in crate::journal) clear: &'static str,
    pub(in crate::journal) read: &'static str,
    pub(in crate::journal) page: &'static str,
    /// The first number from one on, without looking at the row.
    pub(in crate::journal) seek: &'static str,
}

macro_rules! of_table {
    ($name:literal) => {
        OfTable {
            put: concat!("REPLACE INTO ", $name, "(id, row) VALUES(?1, ?2)"),
            delete: concat!("DELETE FROM ", $name, " WHERE id = ?1"),
            clear: concat!("DELETE FROM ", $name, " WHERE id >= ?1 AND id <= ?2"),
            read: concat!("SELECT row FROM ", $name, " WHERE id = ?1"),
            page: concat!("SELECT id, row FROM ", $name, " WHERE id >= ?1 AND id <= ?2 ORDER BY id"),
            seek: concat!("SELECT id FROM ", $name, " WHERE id >= ?1 AND id <= ?2 ORDER BY id LIMIT 1"),
        }
    };
}

/// The statements of a table.
pub(in crate::journal) fn of(table: Table) -> &'static OfTable {
    const META: OfTable = of_table!("meta");
    const WORK: OfTable = of_table!("work");
    const CONTENT: OfTable = of_table!("content");
    const SUBJECT: OfTable = of_table!("subject");
    const NOTICE: OfTable = of_table!("notice");
    const RECEIPT: OfTable = of_table!("receipt");
    match table {
        Table::Meta => &META,
        Table::Work => &WORK,
        Table::Content => &CONTENT,
        Table::Subject => &SUBJECT,
        Table::Notice => &NOTICE,
        Table::Receipt => &RECEIPT,
    }
}
