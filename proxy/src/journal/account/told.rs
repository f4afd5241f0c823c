//! What both kinds of rows say of an occurrence.

use mcpl_policy::engine::Outcome;
use mcpl_policy::fate::Fate;
use mcpl_policy::journal::{ReceiptRow, WorkRow};

/// What an open occurrence and one that has ended say alike.
pub(super) struct Told<'a> {
    pub(super) fate: &'a Fate,
    pub(super) revision: u32,
    pub(super) admitted_ms: u64,
    pub(super) outcome: Option<Outcome>,
    pub(super) prior: Option<&'a str>,
}

impl<'a> Told<'a> {
    pub(super) fn by_work(work: &'a WorkRow) -> Self {
        let WorkRow { fate, revision, admitted_ms, outcome, prior, .. } = work;
        let prior = prior.as_deref();
        Self { fate, revision: *revision, admitted_ms: *admitted_ms, outcome: *outcome, prior }
    }

    pub(super) fn by_receipt(receipt: &'a ReceiptRow) -> Self {
        let ReceiptRow { fate, revision, admitted_ms, outcome, prior, .. } = receipt;
        let prior = prior.as_deref();
        Self { fate, revision: *revision, admitted_ms: *admitted_ms, outcome: *outcome, prior }
    }
}
