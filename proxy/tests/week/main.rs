//! A virtual week: four hosts and four producers as they are, each with each, with the sidecar between them and
//! without it; and everything that goes wrong with computers meanwhile.
//!
//! Both are models that answer, refuse, die, forget and send as the real programs were seen to. Real lines go through
//! the real exchange and the real engine; a book is the journal. Time is virtual and one seed makes one week, so that
//! every run of it is the same. A few hours of each pair are played with every test run; the long form, which also
//! prints the table, is
//!
//! ```text
//! MCPL_WEEK=7 cargo test --release -p mcpl-sidecar --test week -- --nocapture
//! ```
//!
//! `MCPL_WEEK` is the days, `MCPL_WEEK_SEED` another seed, `MCPL_WEEK_PAIR=2026-03/discord` one pair only,
//! with what went wrong in words; `MCPL_WEEK_TRACE=1` tells every line.

#![allow(clippy::print_stdout)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::cast_possible_wrap, clippy::cast_sign_loss)]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    unreachable_pub,
    clippy::print_stderr
)]

mod book;
mod chance;
mod host;
mod oracle;
mod pipe;
mod producer;
mod sidecar;
mod table;
mod world;

use std::fmt::Write as _;

use oracle::Sums;
use sidecar::Plant;
use world::{Between, World};

const HOUR_MS: u64 = 3_600_000;

struct Played {
    host: host::Kind,
    producer: producer::Kind,
    between: Between,
    sums: Sums,
    words: Vec<String>,
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

/// Every pair of them, each way.
fn play(lasts_ms: u64, pace: u64, seed: u64) -> Vec<Played> {
    let only = std::env::var("MCPL_WEEK_PAIR").ok();
    let mut played = Vec::new();
    for (place, host) in host::Kind::ALL.into_iter().enumerate() {
        for (other, producer) in producer::Kind::ALL.into_iter().enumerate() {
            let name = format!("{}/{}", host.as_str(), producer.as_str());
            if only.as_ref().is_some_and(|only| *only != name) {
                continue;
            }
            for between in Between::ALL {
                // Everywhere else that is what `wrap` does anyway.
                if between == Between::Always && host != host::Kind::Newer {
                    continue;
                }
                let seed = seed + (place * 4 + other) as u64 * 1_000;
                let mut world = World::new((host, producer), between, (seed, pace), Plant::Nothing);
                let sums = world.run(lasts_ms);
                let words = std::mem::take(&mut world.oracle.words);
                if only.is_some() {
                    println!("{name} {}: {}", between.as_str(), words.join("\n"));
                }
                played.push(Played { host, producer, between, sums, words });
            }
        }
    }
    played
}

#[test]
fn nothing_is_lost_doubled_or_stuck_and_next_to_nothing_is_left_for_the_operator() {
    let days = variable("MCPL_WEEK");
    let seed = variable("MCPL_WEEK_SEED").unwrap_or(1);
    let (lasts_ms, pace) = days.map_or((HOUR_MS / 2, 16), |days| (days * 24 * HOUR_MS, 1));
    let began = std::time::Instant::now();
    let played = play(lasts_ms, pace, seed);
    if days.is_some() {
        print!("{}", table::of(&played));
        println!("seed {seed}, {} ms of virtual time a row, {:?}", lasts_ms, began.elapsed());
    }
    let (mut operator, mut stale, mut meant, mut faults) = (0, 0, 0, String::new());
    for Played { host, producer, between, sums, words } in &played {
        // What a host that coalesces by itself refuses for good is the operator's, once it is stored.
        let is_by_itself = *host == host::Kind::Newer && *between == Between::Store;
        if *between == Between::Pipe || is_by_itself {
            continue;
        }
        stale += sums.stale;
        if (sums.lost, sums.doubled, sums.stuck, sums.undead) != (0, 0, 0, 0) {
            let pair = format!("{}/{} {}", host.as_str(), producer.as_str(), between.as_str());
            let _ = writeln!(faults, "{pair}, seed {seed}: {sums:?}\n{}", words.join("\n"));
        }
        operator += sums.operator;
        meant += sums.meant;
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(operator * 10_000 <= meant, "{operator} of {meant} left for the operator");
    assert!(stale * 10_000 <= meant, "{stale} of {meant} told last in an older state");
}

/// What is done wrong on purpose, by a sidecar that is otherwise itself.
fn planted(plant: Plant) -> Sums {
    let pair = (host::Kind::March, producer::Kind::Discord);
    World::new(pair, Between::Wrap, (7, 8), plant).run(3 * HOUR_MS)
}

#[test]
fn a_forward_that_never_arrives_is_noticed() {
    assert!(planted(Plant::Loss).lost > 0);
}

#[test]
fn a_forward_that_arrives_twice_is_noticed() {
    assert!(planted(Plant::Double).doubled > 0);
}

#[test]
fn a_withdrawal_that_is_not_heeded_is_noticed() {
    let sums = planted(Plant::Deaf);
    assert!(sums.undead > 0 && sums.lost > 0, "{sums:?}");
}
