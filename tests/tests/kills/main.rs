//! The program is killed while it works, again and again, and nothing that it accepted is lost or told twice
//! (contract sections 6.2, 9.1, 9.3).
//!
//! `MCPL_KILLS=200` is the long form; `MCPL_SEED` another course of events.

// A panic is how a test reports, and the long form says how far it is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::format_push_string)]

mod host;
mod load;
mod verdict;

use std::time::{Duration, Instant};

use mcpl_tests::{Chance, World, times};
use tokio::time::sleep;

use host::Model;
use load::{Load, Part};

/// One course of kills under load; how many there were.
async fn course(seed: u64, kills: u64, in_doubt: &str) {
    let coalesce = "quiet_ms = 5\nmax_hold_ms = 40\nwhile_busy = false";
    let mut world = World::new()
        .await
        .table("coalesce", coalesce)
        .table("host", &format!("dedup = \"push\"\nin_doubt = \"{in_doubt}\""))
        .start()
        .await;
    let mut chance = Chance::new(seed);
    let model = Model::new(seed);
    let mut load = Load::new(seed);
    for kill in 0..kills {
        if chance.percent(15) {
            // Killed while it starts, or recovers.
            sleep(Duration::from_micros(chance.below(60_000))).await;
        } else {
            for _ in 0..chance.below(3) {
                let quota = chance.below(160);
                load.session(&mut world, &model, Part::Reconnect, quota).await;
            }
            load.session(&mut world, &model, Part::Kill, chance.below(160)).await;
        }
        eprintln!("seed {seed}: kill {kill}, {}", load.stand());
        world.kill().await;
        if !load.all.is_empty() {
            verdict::knows_what_left(&world, &model).await;
        }
        world.restart().await;
    }
    model.take_everything();
    verdict::settle(&mut world, &model, &mut load, in_doubt == "resend").await;
}

async fn courses(in_doubt: &str) {
    let seed = times("MCPL_SEED", 1);
    let mut left = times("MCPL_KILLS", 10).div_ceil(2);
    let (kills, started) = (left, Instant::now());
    let mut nth = 0;
    while left > 0 {
        let some = left.min(10);
        course(seed * 1000 + nth, some, in_doubt).await;
        left -= some;
        nth += 1;
    }
    eprintln!("in_doubt = {in_doubt:?}: {kills} kills in {:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_it_loses_nothing_and_tells_nothing_twice() {
    courses("hold").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_it_is_told_to_resend_what_is_in_doubt_only_that_comes_twice() {
    courses("resend").await;
}
