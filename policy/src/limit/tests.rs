use proptest::prelude::*;

use super::*;

fn producer(rate_per_s: f64, burst: u32) -> LimitSettings {
    LimitSettings { rate_per_s, burst, ..LimitSettings::default() }
}

fn both(rate: f64, burst: u32, channel_rate: f64, channel_burst: u32) -> LimitSettings {
    LimitSettings { rate_per_s: rate, burst, channel_rate_per_s: channel_rate, channel_burst }
}

#[test]
fn a_bucket_is_full_at_the_start_and_names_the_time_of_the_next_token() {
    let mut limits = Limits::new(producer(1.0, 2));
    assert_eq!(limits.take(7_000, None), Ok(()));
    assert_eq!(limits.take(7_000, None), Ok(()));
    assert_eq!(limits.take(7_000, None), Err(1_000));
    assert_eq!(limits.take(7_300, None), Err(700));
    assert_eq!(limits.take(8_000, None), Ok(()));
    assert_eq!(limits.take(8_000, None), Err(1_000));
}

#[test]
fn a_rate_of_zero_is_no_limit() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut limits = Limits::new(both(rate, 1, rate, 1));
        assert!((0..10_000).all(|_| limits.take(0, Some("c")).is_ok()), "{rate}");
        assert_eq!(limits.channels(), 0);
    }
}

#[test]
fn a_burst_of_zero_is_a_seconds_worth_and_at_least_one() {
    for (rate, burst) in [(0.5, 1), (1.0, 1), (2.5, 3), (20.0, 20)] {
        let mut limits = Limits::new(producer(rate, 0));
        let passed = (0..100).filter(|_| limits.take(0, None).is_ok()).count();
        assert_eq!(passed, burst, "{rate}");
    }
    assert_eq!(
        {
            let mut limits = Limits::new(producer(0.5, 0));
            let _ = limits.take(0, None);
            limits.take(0, None)
        },
        Err(2_000)
    );
}

#[test]
fn a_channel_has_a_limit_of_its_own_and_other_work_has_none_of_it() {
    let mut limits = Limits::new(both(0.0, 0, 1.0, 1));
    assert_eq!(limits.take(0, Some("chat")), Ok(()));
    assert_eq!(limits.take(0, Some("chat")), Err(1_000));
    assert_eq!(limits.take(0, Some("calm")), Ok(()));
    assert!((0..100).all(|_| limits.take(0, None).is_ok()));
}

#[test]
fn what_one_limit_refuses_costs_the_other_nothing() {
    let mut limits = Limits::new(both(1.0, 2, 0.1, 1));
    assert_eq!(limits.take(0, Some("a")), Ok(()));
    for _ in 0..50 {
        assert_eq!(limits.take(0, Some("a")), Err(10_000), "the channel refuses");
    }
    assert_eq!(limits.take(0, Some("b")), Ok(()), "the producer's second token is still there");
    for _ in 0..50 {
        assert_eq!(limits.take(0, Some("c")), Err(1_000), "the producer refuses");
    }
    assert_eq!(limits.take(1_000, Some("c")), Ok(()), "the token of the channel is still there");
}

#[test]
fn the_longer_of_two_waits_is_named() {
    let mut limits = Limits::new(both(0.1, 1, 1.0, 1));
    assert_eq!(limits.take(0, Some("a")), Ok(()));
    assert_eq!(limits.take(0, Some("a")), Err(10_000));
}

#[test]
fn channels_are_bounded_and_the_oldest_starts_again() {
    let mut limits = Limits::new(both(0.0, 0, 0.001, 1));
    assert_eq!(limits.take(0, Some("first")), Ok(()));
    for i in 1..MAX_CHANNELS {
        assert_eq!(limits.take(0, Some(&i.to_string())), Ok(()));
    }
    assert_eq!(limits.channels(), MAX_CHANNELS);
    assert!(limits.take(0, Some("first")).is_err(), "still known, and now the newest");
    assert_eq!(limits.take(0, Some("one more")), Ok(()));
    assert_eq!(limits.channels(), MAX_CHANNELS);
    assert!(limits.take(0, Some("first")).is_err(), "the least recently used went");
    assert_eq!(limits.take(0, Some("1")), Ok(()), "that one");
}

#[test]
fn a_long_channel_id_is_counted_by_its_first_bytes() {
    let mut limits = Limits::new(both(0.0, 0, 1.0, 1));
    let long = "é".repeat(100_000);
    assert_eq!(limits.take(0, Some(&long)), Ok(()));
    assert_eq!(limits.take(0, Some(&(long + "x"))), Err(1_000));
}

#[test]
fn a_reload_keeps_what_was_used_of_a_limit_that_stays() {
    let mut limits = Limits::new(both(1.0, 1, 1.0, 1));
    assert_eq!(limits.take(0, Some("a")), Ok(()));
    limits.reload(both(1.0, 1, 1.0, 1));
    assert_eq!(limits.take(0, None), Err(1_000));
    limits.reload(both(1.0, 5, 1.0, 1));
    assert_eq!(limits.take(0, None), Ok(()), "a new limit of the producer");
    assert_eq!(limits.take(0, Some("a")), Err(1_000), "the channel's is as it was");
    limits.reload(LimitSettings::default());
    assert_eq!(limits.take(0, Some("a")), Ok(()));

    let mut pace = Pace::new(1.0);
    assert_eq!(pace.take(0), Ok(()));
    pace.reload(1.0);
    assert_eq!(pace.take(0), Err(1_000));
    pace.reload(0.0);
    assert_eq!(pace.take(0), Ok(()));
}

#[test]
fn absurd_figures_neither_panic_nor_overflow() {
    let rates = [1e-300, 1e-9, 1e-3, 1.0, 1e9, 1e10, 1e300, f64::MIN_POSITIVE, f64::MAX];
    for rate in rates {
        for burst in [0, 1, 2, u32::MAX] {
            let mut limits = Limits::new(both(rate, burst, rate, burst));
            for now in [0, 1, u64::MAX / 2, u64::MAX, 5] {
                for _ in 0..3 {
                    if let Err(wait) = limits.take(now, Some("c")) {
                        assert!(wait >= 1);
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn waiting_exactly_the_named_time_lets_the_same_work_in(
        rate in 0.01f64..2_000.0,
        burst in 0u32..5,
        channel_rate in 0.01f64..2_000.0,
        channel_burst in 0u32..5,
        steps in prop::collection::vec((0u64..700, 0usize..4), 1..200),
    ) {
        let mut limits = Limits::new(both(rate, burst, channel_rate, channel_burst));
        let mut now = 1_700_000_000_000;
        for (gap, channel) in steps {
            now += gap;
            let channel = [None, Some("a"), Some("b"), Some("c")][channel];
            if let Err(wait) = limits.take(now, channel) {
                prop_assert!(wait >= 1);
                if wait > 1 {
                    prop_assert!(limits.take(now + wait - 1, channel).is_err(), "and not later than needed");
                }
                now += wait;
                prop_assert_eq!(limits.take(now, channel), Ok(()));
            }
        }
    }

    #[test]
    fn no_more_than_the_rate_and_the_burst_gets_through(
        rate in 0.5f64..500.0,
        burst in 1u32..50,
        gaps in prop::collection::vec(0u64..40, 1..400),
    ) {
        let mut limits = Limits::new(producer(rate, burst));
        let mut now = 0;
        let mut passed = 0.0;
        for gap in gaps {
            now += gap;
            passed += f64::from(u8::from(limits.take(now, None).is_ok()));
            // One millionth of slack for a period that is a whole number of nanoseconds.
            let most = f64::from(burst) + now as f64 / 1000.0 * rate * 1.000_001;
            prop_assert!(passed <= most + 1e-6, "{passed} of {most} at {now}");
        }
    }

    #[test]
    fn a_pace_names_the_time_that_it_takes(rate in 0.01f64..2_000.0, gaps in prop::collection::vec(0u64..50, 1..200)) {
        let mut pace = Pace::new(rate);
        let mut now = 0;
        for gap in gaps {
            now += gap;
            if let Err(wait) = pace.take(now) {
                now += wait;
                prop_assert_eq!(pace.take(now), Ok(()));
            }
        }
    }
}
