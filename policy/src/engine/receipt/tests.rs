use proptest::prelude::*;

use super::entry::Entry;
use super::segment::MAX_ENTRIES;
use super::*;

const WINDOW_MS: u64 = 3_600_000;

/// A fingerprint as good as any: the keyed hash spreads them.
fn fingerprint(number: u64) -> u128 {
    u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

/// The digest that goes with it.
fn digest(number: u64) -> Digest {
    Digest(fingerprint(number) >> 40)
}

fn filled(count: u64, admitted_ms: impl Fn(u64) -> u64) -> Receipts {
    let mut receipts = Receipts::new(1, 1);
    for number in 1..=count {
        let given = receipts.remember(Some(fingerprint(number)), digest(number), admitted_ms(number));
        assert_eq!(given, number);
    }
    receipts
}

fn found(receipts: &Receipts, number: u64) -> Option<u64> {
    let found = receipts.find(fingerprint(number))?;
    assert!(found.is(&digest(number)) && !found.is(&digest(number + 1)));
    Some(found.number)
}

#[test]
fn five_million_are_remembered_in_32_bytes_each_while_time_goes_on() {
    let count = 5_000_000;
    let mut receipts = filled(count, |number| number);
    assert_eq!(receipts.len() as u64, count);
    let each = |receipts: &Receipts| receipts.memory_bytes() as f64 / receipts.len() as f64;
    assert!(each(&receipts) <= 32.0, "{} bytes each", each(&receipts));
    for number in (1..=count).step_by(4999).chain([1, count]) {
        assert_eq!(found(&receipts, number), Some(number));
        assert!(receipts.find(fingerprint(count + number)).is_none());
    }
    // What is forgotten is given back before its segment goes.
    let before = receipts.memory_bytes();
    receipts.prune(WINDOW_MS + 500_000, WINDOW_MS);
    assert!(before - receipts.memory_bytes() >= 24 * (498_000 - 1024));
    // A window later by a million ms, a million of them are out of it.
    let below = receipts.prune(WINDOW_MS + 1_000_000, WINDOW_MS);
    assert_eq!(below, Some(1_000_000 - 999));
    assert_eq!(receipts.len() as u64, count - 1_000_000 + 1000);
    assert_eq!((found(&receipts, 999_000), found(&receipts, 999_001)), (None, Some(999_001)));
    assert!(each(&receipts) <= 32.0, "{} bytes each", each(&receipts));
    assert_eq!(receipts.prune(u64::MAX, WINDOW_MS), Some(count + 1));
    assert_eq!(receipts.len(), 0);
    assert!(receipts.memory_bytes() < 4096, "{}", receipts.memory_bytes());
}

#[test]
fn an_entry_takes_24_bytes() {
    assert_eq!(size_of::<Entry>(), 24);
}

#[test]
fn a_table_that_is_full_is_followed_by_a_small_one() {
    let count = MAX_ENTRIES as u64;
    let mut receipts = filled(count, |_| 1);
    let before = receipts.memory_bytes();
    receipts.remember(Some(fingerprint(count + 1)), digest(count + 1), 1);
    assert!(receipts.memory_bytes() - before < 32 << 10);
    assert!((1..=count + 1).step_by(1001).all(|number| found(&receipts, number) == Some(number)));
    // Both are cut, across the boundary.
    receipts.truncate(count);
    assert_eq!((receipts.len() as u64, receipts.next()), (count - 1, count));
    assert_eq!((found(&receipts, count - 1), found(&receipts, count)), (Some(count - 1), None));
}

#[test]
fn nothing_is_forgotten_before_its_window_is_over_or_a_second_after_it() {
    for admitted_ms in [0, 1, 999, 1000, 1001, 5_000_000_000_123] {
        let mut receipts = Receipts::new(1, 1);
        receipts.remember(Some(7), Digest(7), admitted_ms);
        assert_eq!(receipts.prune(admitted_ms + WINDOW_MS, WINDOW_MS), None);
        assert!(receipts.find(7).is_some() && receipts.keeps(1));
        assert_eq!(receipts.prune(admitted_ms + WINDOW_MS + 1000, WINDOW_MS), Some(2));
        assert!(receipts.find(7).is_none() && !receipts.keeps(1));
    }
}

#[test]
fn what_a_failed_commit_forgot_is_said_again() {
    let mut receipts = filled(3, |number| number * 10_000);
    assert_eq!(receipts.prune(WINDOW_MS + 20_000, WINDOW_MS), Some(2));
    assert_eq!(receipts.prune(WINDOW_MS + 20_000, WINDOW_MS), None);
    receipts.truncate(3);
    assert_eq!(receipts.prune(WINDOW_MS + 20_000, WINDOW_MS), Some(2));
    // And never so that it took what gets the numbers next.
    assert_eq!(receipts.prune(WINDOW_MS + 60_000, WINDOW_MS), Some(3));
    receipts.truncate(1);
    assert_eq!(receipts.remember(Some(fingerprint(1)), digest(1), WINDOW_MS + 60_000), 1);
    assert_eq!(receipts.prune(WINDOW_MS + 60_000, WINDOW_MS), Some(1));
    assert!(receipts.keeps(1) && found(&receipts, 1) == Some(1));
}

#[test]
fn few_that_come_for_years_take_what_a_window_of_them_takes() {
    let mut receipts = Receipts::new(1, 1);
    let mut most = 0;
    for number in 1..=200_000 {
        let now_ms = number * 10_000;
        receipts.prune(now_ms, WINDOW_MS);
        receipts.remember(Some(fingerprint(number)), digest(number), now_ms);
        most = most.max(receipts.memory_bytes());
        assert!(receipts.segments.len() <= 3);
    }
    assert_eq!(receipts.len(), 361);
    assert!(most < 100 << 10, "{most} bytes");
}

/// What the receipts are to be taken for: number, fingerprint, digest and second of each.
#[derive(Debug)]
struct Model {
    kept: VecDeque<(u64, u128, u128, u64)>,
    next: u64,
    below: u64,
    untold: bool,
}

impl Model {
    fn find(&self, fingerprint: u128) -> Option<(u64, u128)> {
        let found = self.kept.iter().rev().find(|kept| kept.1 == fingerprint)?;
        Some((found.0, found.2))
    }

    fn remember(&mut self, fingerprint: Option<u128>, digest: u128, admitted_ms: u64) -> u64 {
        if let Some(fingerprint) = fingerprint {
            self.kept.push_back((self.next, fingerprint, digest, admitted_ms.div_ceil(1000)));
        }
        self.next += 1;
        self.next - 1
    }

    fn prune(&mut self, now_ms: u64, window_ms: u64) -> Option<u64> {
        while let Some(oldest) = self.kept.pop_front_if(|oldest| oldest.3 * 1000 + window_ms < now_ms) {
            (self.below, self.untold) = (oldest.0 + 1, true);
        }
        std::mem::take(&mut self.untold).then_some(self.below)
    }

    fn truncate(&mut self, from: u64) {
        self.kept.retain(|kept| kept.0 < from);
        self.next = self.next.min(from);
        self.below = self.below.min(from);
        self.untold = true;
    }
}

#[derive(Clone, Debug)]
enum Deed {
    /// An occurrence, found or not, is remembered after a while.
    Remember(Option<u8>, u8, u64),
    /// Many new ones in a row.
    Burst(u16),
    Prune(u64),
    Truncate(u64),
    Skip(u64),
    Restart,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let while_ms = prop_oneof![9 => 0..3000_u64, 1 => Just(5_000_000_000_000)];
    let id = prop_oneof![9 => (0..12_u8).prop_map(Some), 1 => Just(None)];
    let deed = prop_oneof![
        12 => (id, 0..3_u8, while_ms).prop_map(|(id, digest, ms)| Deed::Remember(id, digest, ms)),
        1 => (0..3000_u16).prop_map(Deed::Burst),
        4 => (0..20_000_u64).prop_map(Deed::Prune),
        2 => prop_oneof![0..10_u64, 0..3000_u64].prop_map(Deed::Truncate),
        1 => prop_oneof![0..10_u64, Just(1 << 32)].prop_map(Deed::Skip),
        1 => Just(Deed::Restart),
    ];
    prop::collection::vec(deed, 0..60)
}

/// Fingerprints that differ in either part of what is kept of them.
fn of_id(id: u8) -> u128 {
    u128::from(id % 4) << 77 | u128::from(id / 4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn they_are_what_a_plain_list_would_be(deeds in deeds()) {
        let mut receipts = Receipts::new(1, 5);
        let mut model = Model { kept: VecDeque::new(), next: 5, below: 5, untold: false };
        let mut now_ms = 0;
        for deed in deeds {
            match deed {
                Deed::Remember(id, digest, while_ms) => {
                    now_ms += while_ms;
                    let (id, digest) = (id.map(of_id), u128::from(digest));
                    let given = receipts.remember(id, Digest(digest), now_ms);
                    prop_assert_eq!(given, model.remember(id, digest, now_ms));
                }
                Deed::Burst(count) => for _ in 0..count {
                    let id = fingerprint(model.next);
                    let given = receipts.remember(Some(id), Digest(9), now_ms);
                    prop_assert_eq!(given, model.remember(Some(id), 9, now_ms));
                },
                Deed::Prune(window_ms) => {
                    prop_assert_eq!(receipts.prune(now_ms, window_ms), model.prune(now_ms, window_ms));
                }
                Deed::Truncate(back) => {
                    let from = model.next.saturating_sub(back).max(5);
                    receipts.truncate(from);
                    model.truncate(from);
                }
                Deed::Skip(by) => {
                    let next = model.next + by;
                    receipts.skip_to(next);
                    model.next = next;
                    if model.kept.is_empty() {
                        model.below = next;
                    }
                }
                Deed::Restart => {
                    receipts = Receipts::new(2, 1);
                    for &(number, id, digest, second) in &model.kept {
                        receipts.restore(number, Some(id), Digest(digest), second * 1000);
                    }
                    receipts.skip_to(model.next);
                    model.below = model.kept.front().map_or(model.next, |oldest| oldest.0);
                    model.untold = false;
                }
            }
            prop_assert_eq!((receipts.len(), receipts.next()), (model.kept.len(), model.next));
            for id in (0..12).map(of_id).chain((1..4).map(|back| fingerprint(model.next.saturating_sub(back)))) {
                let found = receipts.find(id);
                prop_assert_eq!(found.map(|found| found.number), model.find(id).map(|found| found.0));
                if let (Some(found), Some((_, digest))) = (found, model.find(id)) {
                    prop_assert!(found.is(&Digest(digest)) && !found.is(&Digest(digest + 1)));
                }
            }
            for number in [model.below.saturating_sub(1), model.below, model.next - 1, model.next] {
                prop_assert_eq!(receipts.keeps(number), (model.below..model.next).contains(&number));
            }
        }
    }
}
