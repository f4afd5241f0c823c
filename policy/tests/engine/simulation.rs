//! A seeded simulation: a producer, a host, a clock and an operator that do anything at any time, and an
//! oracle that checks what the engine makes of it after each step.
//!
//! `MCPL_SIM_SEEDS=N` runs N seeds, `MCPL_SIM_SEED=S` only seed S, with everything it did printed if it fails.

pub(crate) mod chance;
mod oracle;
mod subject;
mod world;

use self::world::World;

const SEEDS: u64 = 600;

pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

/// Says which seed it was if the run panics.
pub(crate) struct Seed(pub(crate) u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay with MCPL_SIM_SEED={}", self.0);
        }
    }
}

#[test]
fn whatever_happens_every_promise_holds_after_each_step() {
    let only = number("MCPL_SIM_SEED");
    let seeds = only.map_or(0..number("MCPL_SIM_SEEDS").unwrap_or(SEEDS), |seed| seed..seed + 1);
    let mut seen = oracle::Seen::default();
    let mut failed = Vec::new();
    for seed in seeds {
        // One that fails does not keep the others from being tried.
        let run = std::panic::catch_unwind(|| {
            let _named = Seed(seed);
            let mut world = World::new(seed);
            world.run();
            world.seen().clone()
        });
        match run {
            Ok(saw) => seen.add(&saw),
            Err(_) => failed.push(seed),
        }
        assert!(failed.len() < 20, "replay any of {failed:?}");
    }
    assert!(failed.is_empty(), "replay any of {failed:?}");
    if only.is_none() {
        eprintln!("{seen:?}");
        seen.assert_everything_happened();
    }
}

#[test]
fn the_same_seed_gives_the_same_outputs() {
    let run = |seed| {
        let mut world = World::new(seed);
        world.run();
        world.outputs()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}
