//! A row as it lies in a file: four bytes of checksum, then its bytes.

use mcpl_policy::journal::Table;

/// What is wrong with a row that does not match its checksum.
pub(super) const MISMATCH: &str = "its bytes do not match their checksum";

/// Spells a row. The checksum is over the table and the number too: a row that turns up elsewhere is a wrong one.
pub(super) fn seal(out: &mut Vec<u8>, table: Table, rowid: u64, row: &[u8]) {
    out.clear();
    out.extend_from_slice(&checksum(table, rowid, row).to_le_bytes());
    out.extend_from_slice(row);
}

/// Reads a row back; `None`: its checksum is wrong.
pub(super) fn unseal(table: Table, rowid: u64, sealed: &[u8]) -> Option<&[u8]> {
    let (sum, row) = sealed.split_first_chunk::<4>()?;
    (u32::from_le_bytes(*sum) == checksum(table, rowid, row)).then_some(row)
}

fn checksum(table: Table, rowid: u64, row: &[u8]) -> u32 {
    let mut head = [0; 9];
    head[0] = table as u8;
    head[1..].copy_from_slice(&rowid.to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head);
    sum.update(row);
    sum.finalize()
}
