//! Admitted occurrences, remembered so that a retry has no second effect (contract 6.2).

use bytes::Bytes;
use foldhash::quality::FixedState;
use lru::LruCache;
use mcpl_codec::Digest;

use super::output::{Answer, Outcome};

/// Receipts kept at most; past it the oldest go before their window is over.
pub const MAX_RECEIPTS: usize = 1 << 18;

/// What an admitted occurrence was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    pub(super) digest: Digest,
    pub(super) admitted_ms: u64,
    pub(super) answer: Answered,
}

/// The answer, small where it is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// Ours.
    Ours(Outcome, Option<Box<str>>),
    /// The host's own, of a write-through.
    Host(Bytes, Outcome, Option<Box<str>>),
}

impl Receipt {
    pub(super) fn answer(&self) -> Answer {
        match &self.answer {
            Answered::Ours(outcome, prior) => Answer::Accepted { outcome: *outcome, prior: prior.clone() },
            Answered::Host(text, outcome, prior) => {
                Answer::Host { text: text.clone(), error: false, outcome: Some((*outcome, prior.clone())) }
            }
        }
    }
}

/// The receipts, oldest first.
#[derive(Debug)]
pub(super) struct Receipts {
    known: LruCache<u128, Receipt, FixedState>,
}

impl Receipts {
    pub(super) fn new(seed: u64) -> Self {
        Self { known: LruCache::unbounded_with_hasher(FixedState::with_seed(seed)) }
    }

    /// The receipt of an occurrence, if it is inside the window.
    pub(super) fn find(&self, fingerprint: u128) -> Option<&Receipt> {
        self.known.peek(&fingerprint)
    }

    pub(super) fn remember(&mut self, fingerprint: u128, receipt: Receipt) {
        if self.known.len() >= MAX_RECEIPTS {
            self.known.pop_lru();
        }
        self.known.put(fingerprint, receipt);
    }

    /// Forgets what was admitted longer than `window_ms` ago; admissions are in order of time.
    pub(super) fn prune(&mut self, now_ms: u64, window_ms: u64) {
        while let Some((_, oldest)) = self.known.peek_lru() {
            if oldest.admitted_ms + window_ms >= now_ms {
                return;
            }
            self.known.pop_lru();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}
