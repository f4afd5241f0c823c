//! One receipt, and a list of them that grows without ever being moved.

use mcpl_codec::Digest;

/// Bits of a digest that are kept.
const DIGEST_BITS: u32 = 48;

/// What is kept of a digest.
pub(super) fn short(digest: &Digest) -> u64 {
    digest.0 as u64 & ((1 << DIGEST_BITS) - 1)
}

/// A receipt in 24 bytes. Of the fingerprint 80 bits are kept: among 5,000,000 receipts, one new occurrence
/// in 2^57 is taken for one of them, and then it is refused as a conflict rather than swallowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The fingerprint's low half.
    pub(super) low: u64,
    /// The 16 bits above it, and then the digest.
    high: u64,
    /// Seconds since the segment began.
    pub(super) seconds: u32,
    /// The number, from the segment's first.
    pub(super) offset: u32,
}

impl Entry {
    pub(super) fn new(fingerprint: u128, digest: &Digest, seconds: u32, offset: u32) -> Self {
        let high = ((fingerprint >> 64) as u64) << DIGEST_BITS | short(digest);
        Self { low: fingerprint as u64, high, seconds, offset }
    }

    /// Whether it is this fingerprint's.
    pub(super) fn is(&self, fingerprint: u128) -> bool {
        self.low == fingerprint as u64 && (self.high >> DIGEST_BITS) as u16 == (fingerprint >> 64) as u16
    }

    /// Whether another is of the same fingerprint.
    pub(super) fn matches(&self, other: &Self) -> bool {
        self.low == other.low && self.high >> DIGEST_BITS == other.high >> DIGEST_BITS
    }

    /// Its digest, as far as it is kept.
    pub(super) fn digest(&self) -> u64 {
        self.high & ((1 << DIGEST_BITS) - 1)
    }
}

/// Entries of one allocation.
const CHUNK: usize = 1024;

/// Entries in chunks; those at the front can be given back, and the others keep their places.
#[derive(Debug, Default)]
pub(super) struct Entries {
    chunks: Vec<Vec<Entry>>,
    len: usize,
}

impl Entries {
    /// How many there are, with those that were given back.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The entry at a place, unless it was given back.
    pub(super) fn get(&self, place: usize) -> Option<&Entry> {
        self.chunks.get(place / CHUNK)?.get(place % CHUNK)
    }

    pub(super) fn push(&mut self, entry: Entry) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(entry);
            self.len += 1;
        }
    }

    /// The first place from `from` on whose entry is not `before`; those that are come first.
    pub(super) fn partition_point(&self, from: usize, before: impl Fn(&Entry) -> bool) -> usize {
        let (mut low, mut high) = (from, self.len);
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(&before) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Gives back what lies before a place, by whole chunks.
    pub(super) fn release(&mut self, from: usize, before: usize) {
        for chunk in self.chunks.iter_mut().take(before / CHUNK).skip(from / CHUNK) {
            *chunk = Vec::new();
        }
    }

    /// Drops what lies at a place and after it.
    pub(super) fn truncate(&mut self, len: usize) {
        self.chunks.truncate(len.div_ceil(CHUNK));
        if let Some(last) = self.chunks.get_mut(len / CHUNK) {
            last.truncate(len % CHUNK);
        }
        self.len = len;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let entries: usize = self.chunks.iter().map(Vec::capacity).sum();
        entries * size_of::<Entry>() + self.chunks.capacity() * size_of::<Vec<Entry>>()
    }
}
