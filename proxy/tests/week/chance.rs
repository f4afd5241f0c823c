//! All the randomness there is: one seed makes one week.

/// A small generator (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// From `low` to below `high`.
    pub fn span(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }

    /// In so many of a thousand cases.
    pub fn permille(&mut self, of: u64) -> bool {
        self.next() % 1000 < of
    }

    pub fn percent(&mut self, of: u64) -> bool {
        self.permille(of * 10)
    }

    /// How long until something that happens every `mean_ms` on average.
    pub fn until(&mut self, mean_ms: u64) -> u64 {
        let unit = ((self.next() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
        1 + (-unit.ln() * mean_ms as f64) as u64
    }

    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[(self.next() % all.len() as u64) as usize]
    }
}
